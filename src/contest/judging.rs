//! Judging: from a submission and its judgements to the verdict that counts, in each view.

use std::{
    collections::BTreeMap,
    ops::{Index, IndexMut},
};

use super::{
    event::{Judgement, JudgementType},
    icpc, ioi,
    settings::Scoring,
};
use crate::board::Id;

/// The two standing views of a contest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// What everybody may see: frozen while it is frozen, hidden teams not there.
    Public,
    /// What the jury sees: everything.
    Jury,
}

impl Side {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Public, Self::Jury];
}

/// Something for each of the two views.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Both<T> {
    public: T,
    jury: T,
}

impl<T> Both<T> {
    /// What `make` gives for each view.
    pub fn from_fn(mut make: impl FnMut(Side) -> T) -> Self {
        Self {
            public: make(Side::Public),
            jury: make(Side::Jury),
        }
    }

    /// Each with its view.
    pub fn iter(&self) -> impl Iterator<Item = (Side, &T)> {
        [(Side::Public, &self.public), (Side::Jury, &self.jury)].into_iter()
    }
}

impl<T> Index<Side> for Both<T> {
    type Output = T;

    fn index(&self, side: Side) -> &T {
        match side {
            Side::Public => &self.public,
            Side::Jury => &self.jury,
        }
    }
}

impl<T> IndexMut<Side> for Both<T> {
    fn index_mut(&mut self, side: Side) -> &mut T {
        match side {
            Side::Public => &mut self.public,
            Side::Jury => &mut self.jury,
        }
    }
}

/// What an attempt is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Not known yet, or not known here; a judging error is one too.
    Pending,
    /// Judged, but neither accepted nor penalized: a compile error.
    Free,
    /// Costs penalty if it precedes the acceptance.
    Wrong,
    /// Solves the problem.
    Accepted,
    /// So many millionths of a point.
    Score(i64),
}

/// One submission among those of a team on a problem: ordered by when it came, then by id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Attempt {
    /// When it came: contest time in ms, with what is removed from the contest. What came in a removed time is still ordered.
    pub came: i64,
    /// When that was for the score: contest time in ms.
    pub time: i64,
    /// The submission.
    pub id: Id,
}

/// The submissions of one team on one problem that count, with their verdicts.
pub type Attempts = BTreeMap<Attempt, Both<Verdict>>;

/// One team's attempts on one problem, with the running result of each view.
#[derive(Clone, Debug)]
pub struct Unit {
    attempts: Attempts,
    tally: Tally,
}

#[derive(Clone, Debug)]
enum Tally {
    Icpc(Both<icpc::Tally>),
    Ioi(Both<ioi::Tally>),
}

impl Unit {
    /// Nothing tried yet.
    pub fn new(scoring: Scoring) -> Self {
        let tally = match scoring {
            Scoring::Icpc => Tally::Icpc(Both::default()),
            Scoring::Ioi => Tally::Ioi(Both::default()),
        };
        Self {
            attempts: Attempts::new(),
            tally,
        }
    }

    /// Puts an attempt, changes its verdicts, or takes it away.
    pub fn set(&mut self, at: &Attempt, is: Option<Both<Verdict>>) {
        let was = match is {
            Some(verdicts) => self.attempts.insert(at.clone(), verdicts),
            None => self.attempts.remove(at),
        };
        for side in Side::ALL {
            let (was, is) = (was.map(|was| was[side]), is.map(|is| is[side]));
            match &mut self.tally {
                Tally::Icpc(tally) => tally[side].change(side, &self.attempts, at, was, is),
                Tally::Ioi(tally) => tally[side].change(was, is),
            }
        }
    }

    /// The attempts that count.
    pub fn attempts(&self) -> &Attempts {
        &self.attempts
    }

    /// The result by ICPC rules, if the contest has them.
    pub fn icpc(&self, side: Side) -> Option<&icpc::Tally> {
        match &self.tally {
            Tally::Icpc(tally) => Some(&tally[side]),
            Tally::Ioi(_) => None,
        }
    }

    /// The result by IOI rules, if the contest has them.
    pub fn ioi(&self, side: Side) -> Option<&ioi::Tally> {
        match &self.tally {
            Tally::Ioi(tally) => Some(&tally[side]),
            Tally::Icpc(_) => None,
        }
    }
}

/// The judgement of a submission that counts: of those with `current` not false the latest by end time (start time where
/// it has none), then by id (RULES 10). `start` is the start of the contest, for feeds that give instants only.
pub fn deciding<'a>(
    judgements: impl IntoIterator<Item = &'a Judgement>,
    start: Option<i64>,
) -> Option<&'a Judgement> {
    judgements
        .into_iter()
        .filter(|judgement| judgement.current)
        .max_by(|a, b| {
            let when = |judgement: &Judgement| {
                judgement
                    .end
                    .in_contest(start)
                    .or_else(|| judgement.start.in_contest(start))
                    .unwrap_or(i64::MIN)
            };
            when(a).cmp(&when(b)).then_with(|| a.id.cmp(&b.id))
        })
}

/// The verdict of a judgement under a scoring. `None`: the judgement type is not known (yet).
pub fn verdict(
    judgement: Option<&Judgement>,
    known: impl FnOnce(&str) -> Option<Meaning>,
    scoring: Scoring,
    compile_error_penalty: bool,
) -> Option<Verdict> {
    let Some(judgement) = judgement else {
        return Some(Verdict::Pending);
    };
    let Some(kind) = &judgement.verdict else {
        return Some(Verdict::Pending);
    };
    if &**kind == "JE" {
        return Some(Verdict::Pending);
    }
    let meaning = known(kind)?;
    Some(match scoring {
        Scoring::Ioi => judgement.score.map_or(Verdict::Free, Verdict::Score),
        Scoring::Icpc if meaning.solved => Verdict::Accepted,
        Scoring::Icpc if meaning.penalty || (compile_error_penalty && is_compile_error(kind)) => {
            Verdict::Wrong
        }
        Scoring::Icpc => Verdict::Free,
    })
}

fn is_compile_error(kind: &str) -> bool {
    matches!(kind, "CE" | "CTL")
}

/// What a judgement type means for the score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meaning {
    /// It solves the problem.
    pub solved: bool,
    /// It costs penalty.
    pub penalty: bool,
}

/// The meaning of a type: as it was defined; what the definition leaves open, or a type that no one defined, as in the
/// list of well-known identifiers (Contest API, "Known judgement types").
pub fn meaning(kind: &str, defined: Option<&JudgementType>) -> Option<Meaning> {
    let known = well_known(kind);
    let Some(defined) = defined else { return known };
    let solved = defined
        .solved
        .or(known.map(|known| known.solved))
        .unwrap_or(false);
    let penalty = defined
        .penalty
        .or(known.map(|known| known.penalty))
        .unwrap_or(!solved);
    Some(Meaning { solved, penalty })
}

fn well_known(kind: &str) -> Option<Meaning> {
    match kind {
        "AC" | "APE" => Some(Meaning {
            solved: true,
            penalty: false,
        }),
        "CE" | "CTL" | "JE" | "SE" | "CS" => Some(Meaning {
            solved: false,
            penalty: false,
        }),
        "RE" | "WA" | "TLE" | "RTE" | "OLE" | "PE" | "EO" | "IO" | "NO" | "WTL" | "ILE" | "TCO"
        | "TWA" | "TPE" | "TEO" | "TIO" | "TNO" | "MLE" | "SV" | "IF" | "RCO" | "RWA" | "RPE"
        | "REO" | "RIO" | "RNO" => Some(Meaning {
            solved: false,
            penalty: true,
        }),
        _ => None,
    }
}
