//! The state of a contest: the fold of its events.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use super::{
    decimal,
    event::{
        Adjustment, Event, Group, Info, Judgement, JudgementType, Kind, Object, Organization,
        Problem, Submission, Team, Times,
    },
    first::Race,
    judging::{self, Attempt, Both, Side, Unit, Verdict},
    rules::Rules,
    settings::{Scoring, Settings},
    status::{ProblemLine, Status},
};
use crate::board::{Board, Cell, Cells, Entry, Id, Label, Step, Values};

/// A contest as its log tells it. Every row of every view is derived from the objects here; the order in which objects
/// arrived does not matter, and for one object the last event holds.
#[derive(Clone, Debug)]
pub struct Contest {
    id: String,
    sequence: u64,
    info: Info,
    settings: Settings,
    times: Times,
    /// `times` came from our own clock, because no feed gave any.
    times_are_ours: bool,
    /// The jury opened the frozen board.
    opened: bool,
    types: BTreeMap<Id, JudgementType>,
    groups: BTreeMap<Id, Group>,
    organizations: HashMap<Id, Organization>,
    teams: HashMap<Id, Team>,
    problems: HashMap<Id, Problem>,
    adjustments: HashMap<Id, Adjustment>,
    judgements: HashMap<Id, Judgement>,
    /// Submissions, and what is known of those that have not come yet.
    submissions: HashMap<Id, Known>,

    // Derived from the above.
    /// The sum of the adjustments of each team that has any, in ms.
    adjusted: HashMap<Id, i64>,
    rules: Rules,
    /// How many scores that a view may see need so many decimals. Counted apart: a finer column would tell the public
    /// of a frozen score.
    decimals: Both<Decimals>,
    /// Decimals of the score column.
    scales: Both<u8>,
    members: HashMap<Id, Member>,
    races: HashMap<(i64, Id), Both<Running>>,
    stats: Both<HashMap<Id, Stat>>,
    boards: Both<Board>,
}

/// A submission, or the judgements that wait for it.
#[derive(Clone, Debug, Default)]
struct Known {
    object: Option<Submission>,
    judgements: BTreeSet<Id>,
    /// Where it counts now.
    placed: Option<Placed>,
}

#[derive(Clone, Debug, PartialEq)]
struct Placed {
    team: Id,
    problem: Id,
    at: Attempt,
    verdicts: Both<Verdict>,
}

/// A team, or the submissions that wait for it.
#[derive(Clone, Debug, Default)]
struct Member {
    /// What the team is; `None` while nobody said that it exists.
    standing: Option<Standing>,
    units: BTreeMap<Id, Unit>,
}

type Decimals = [u32; decimal::SCALE as usize + 1];

/// What of a team decides where its results count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Standing {
    hidden: bool,
    official: bool,
    section: i64,
}

impl Standing {
    /// Takes part in the races of its section.
    fn races(self) -> bool {
        self.official && !self.hidden
    }

    /// Has a row in that view.
    fn shown_to(self, side: Side) -> bool {
        side == Side::Jury || !self.hidden
    }
}

#[derive(Clone, Debug, Default)]
struct Running {
    race: Race,
    /// Who is marked as first on the rows now.
    first: Option<Id>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stat {
    solved: u32,
    tries: u32,
    pending: u32,
}

impl Stat {
    fn of(cell: &Cell) -> Self {
        let solved = cell.time.is_some() || cell.score.is_some_and(|score| score > 0);
        Self {
            solved: u32::from(solved),
            tries: cell.tries,
            pending: cell.pending,
        }
    }

    fn add(&mut self, other: Self) {
        self.solved += other.solved;
        self.tries += other.tries;
        self.pending += other.pending;
    }

    fn take(&mut self, other: Self) {
        self.solved -= other.solved;
        self.tries -= other.tries;
        self.pending -= other.pending;
    }
}

/// What one event changed in one view.
#[derive(Clone, Debug, Default)]
pub struct Change {
    /// The rows.
    pub step: Option<Step>,
    /// Columns or the list of problems changed: no delta says it, viewers need the whole board.
    pub reshaped: bool,
    /// Problems whose statistics changed.
    pub problems: Vec<Id>,
    /// The phase, the clock or the name.
    pub status: bool,
}

/// What an event may touch, gathered while it is taken in.
#[derive(Default)]
struct Dirty {
    /// Rows, with the cells to look at.
    rows: BTreeMap<Id, BTreeSet<Id>>,
    races: BTreeSet<(i64, Id)>,
    /// The list of problems is another one.
    listing: bool,
}

impl Dirty {
    fn cell(&mut self, team: &Id, problem: &Id) {
        self.rows
            .entry(team.clone())
            .or_default()
            .insert(problem.clone());
    }

    fn row(&mut self, team: &Id) {
        self.rows.entry(team.clone()).or_default();
    }
}

/// Something that refers to what is not there (yet), and so counts for nothing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Aside {
    /// `submissions` or `judgements`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The object.
    pub id: Id,
    /// What is missing.
    pub reason: String,
}

impl Contest {
    /// A contest without events.
    pub fn new(id: &str) -> Self {
        let (info, settings, times) = (
            Info {
                penalty: super::event::PENALTY_DEFAULT_MS,
                ..Info::default()
            },
            Settings::default(),
            Times::default(),
        );
        let rules = Rules::new(
            &info,
            &settings,
            &times,
            false,
            &BTreeMap::new(),
            &BTreeMap::new(),
        );
        let boards = Both::from_fn(|side| Board::new(rules.shape(side, 0)));
        Self {
            id: id.to_owned(),
            sequence: 0,
            info,
            settings,
            times,
            times_are_ours: true,
            opened: false,
            types: BTreeMap::new(),
            groups: BTreeMap::new(),
            organizations: HashMap::new(),
            teams: HashMap::new(),
            problems: HashMap::new(),
            adjustments: HashMap::new(),
            judgements: HashMap::new(),
            submissions: HashMap::new(),
            adjusted: HashMap::new(),
            rules,
            decimals: Both::default(),
            scales: Both::default(),
            members: HashMap::new(),
            races: HashMap::new(),
            stats: Both::default(),
            boards,
        }
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The sequence number of the last event folded.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The rows of a view. Its version is the sequence number of the last event that changed the view.
    pub fn board(&self, side: Side) -> &Board {
        &self.boards[side]
    }

    /// The contest object.
    pub fn info(&self) -> &Info {
        &self.info
    }

    /// Its settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The times of its phases, and whether our own clock gave them.
    pub fn times(&self) -> (&Times, bool) {
        (&self.times, self.times_are_ours)
    }

    /// Is the frozen board open?
    pub fn is_open(&self) -> bool {
        self.rules.frozen_from.is_none()
    }

    /// How it is scored.
    pub fn scoring(&self) -> Scoring {
        self.rules.scoring
    }

    /// The phase and clock as a view may see them.
    pub fn status(&self, side: Side) -> Status {
        Status::new(side, &self.info, &self.times, self.is_open(), self.opened)
    }

    /// The problems with their statistics, in order. The public sees none before the start (RULES 14).
    pub fn problems(&self, side: Side) -> Vec<ProblemLine> {
        if !self.shows_problems(side) {
            return Vec::new();
        }
        let mut problems: Vec<&Problem> = self.problems.values().collect();
        problems.sort_by(|a, b| (a.ordinal, &a.label, &a.id).cmp(&(b.ordinal, &b.label, &b.id)));
        problems
            .into_iter()
            .map(|problem| self.line(side, problem))
            .collect()
    }

    /// One problem with its statistics; none for the public before the start (RULES 14).
    pub fn problem(&self, side: Side, id: &str) -> Option<ProblemLine> {
        let problem = self
            .problems
            .get(id)
            .filter(|_| self.shows_problems(side))?;
        Some(self.line(side, problem))
    }

    /// May a view see problems and results?
    fn shows_problems(&self, side: Side) -> bool {
        side == Side::Jury || self.rules.begun
    }

    fn line(&self, side: Side, problem: &Problem) -> ProblemLine {
        let stat = self.stats[side]
            .get(&problem.id)
            .copied()
            .unwrap_or_default();
        // Each section has a first of its own; the line names that of the uppermost.
        let first = self
            .races
            .iter()
            .filter(|((_, of), _)| *of == problem.id)
            .filter_map(|((section, _), running)| Some((*section, running[side].first.clone()?)))
            .min()
            .map(|(_, team)| team);
        ProblemLine {
            id: problem.id.clone(),
            label: problem.label.clone(),
            name: problem.name.clone(),
            rgb: problem.rgb.clone(),
            color: problem.color.clone(),
            solved: stat.solved,
            tries: stat.tries,
            pending: stat.pending,
            first,
        }
    }

    /// Why a submission or judgement counts for nothing though it is in the log; `None` if nothing is missing.
    pub fn aside(&self, kind: Kind, id: &str) -> Option<String> {
        match kind {
            Kind::Submissions => self.submission_aside(self.submissions.get(id)?.object.as_ref()?),
            Kind::Judgements => {
                let judgement = self.judgements.get(id)?;
                self.judgement_aside(judgement).or_else(|| {
                    let known = self.submissions.get(&judgement.submission)?;
                    self.submission_aside(known.object.as_ref()?)
                })
            }
            _ => None,
        }
    }

    /// What a judgement itself lacks; not what its submission does.
    fn judgement_aside(&self, judgement: &Judgement) -> Option<String> {
        let known = self.submissions.get(&judgement.submission);
        if known.is_none_or(|known| known.object.is_none()) {
            return Some(format!("no submission {}", judgement.submission));
        }
        let kind = judgement.verdict.as_ref()?;
        self.rules
            .meaning(kind)
            .is_none()
            .then(|| format!("no judgement type {kind}"))
    }

    fn submission_aside(&self, submission: &Submission) -> Option<String> {
        let Some(team) = &submission.team else {
            return Some("it has no team".to_owned());
        };
        let Some(problem) = &submission.problem else {
            return Some("it has no problem".to_owned());
        };
        if !self.teams.contains_key(team) && !self.rules.auto_teams {
            return Some(format!("no team {team}"));
        }
        if !self.problems.contains_key(problem) {
            return Some(format!("no problem {problem}"));
        }
        match self.rules.contest_time(submission) {
            None => Some("it has no contest time, and the contest no start".to_owned()),
            Some(time) if !self.rules.counts(time) => {
                Some("outside of the contest's time".to_owned())
            }
            Some(_) => None,
        }
    }

    /// Everything that is kept aside now, by type and id.
    pub fn all_aside(&self) -> Vec<Aside> {
        let submissions = self
            .submissions
            .iter()
            .filter(|(_, known)| known.object.is_some())
            .filter_map(|(id, _)| {
                Some(Aside {
                    kind: "submissions",
                    id: id.clone(),
                    reason: self.aside(Kind::Submissions, id)?,
                })
            });
        let judgements = self.judgements.values().filter_map(|judgement| {
            // One whose submission is aside is told once, with the submission.
            let reason = self.judgement_aside(judgement)?;
            Some(Aside {
                kind: "judgements",
                id: judgement.id.clone(),
                reason,
            })
        });
        let mut all: Vec<Aside> = submissions.chain(judgements).collect();
        all.sort();
        all
    }

    /// Takes in the event with the next sequence number, and tells what it changed in each view. `from_clock`: a state
    /// that a server's own clock made; a feed's state takes its place for good.
    pub fn fold(&mut self, sequence: u64, event: &Event, from_clock: bool) -> Both<Change> {
        debug_assert!(sequence > self.sequence, "events come in order");
        self.sequence = sequence;
        let mut dirty = Dirty::default();
        let before = sets_rules(event).then(|| Surroundings::of(self));
        match event {
            Event::Put(object) => self.put(object, from_clock, &mut dirty),
            Event::Delete(kind, id) => self.delete(*kind, id, &mut dirty),
            Event::Replace(kind, objects) => {
                let stay: HashSet<&Id> = objects.iter().filter_map(Object::id).collect();
                for id in self.ids(*kind).into_iter().filter(|id| !stay.contains(id)) {
                    self.delete(*kind, &id, &mut dirty);
                }
                for object in objects {
                    self.put(object, from_clock, &mut dirty);
                }
            }
            Event::Other => return Both::default(),
        }
        self.settle(sequence, dirty, before.as_ref())
    }

    /// The ids of all objects of a kind.
    fn ids(&self, kind: Kind) -> Vec<Id> {
        match kind {
            Kind::JudgementTypes => self.types.keys().cloned().collect(),
            Kind::Groups => self.groups.keys().cloned().collect(),
            Kind::Organizations => self.organizations.keys().cloned().collect(),
            Kind::Teams => self.teams.keys().cloned().collect(),
            Kind::Problems => self.problems.keys().cloned().collect(),
            Kind::Adjustments => self.adjustments.keys().cloned().collect(),
            Kind::Judgements => self.judgements.keys().cloned().collect(),
            Kind::Submissions => self
                .submissions
                .iter()
                .filter(|(_, known)| known.object.is_some())
                .map(|(id, _)| id.clone())
                .collect(),
            Kind::Contest | Kind::State | Kind::Settings | Kind::Thaw | Kind::Other => Vec::new(),
        }
    }

    fn put(&mut self, object: &Object, from_clock: bool, dirty: &mut Dirty) {
        match object {
            Object::Contest(info) => self.info = info.as_ref().clone(),
            Object::Settings(settings) => self.settings = settings.as_ref().clone(),
            Object::State(times) => {
                if !from_clock || self.times_are_ours {
                    self.times = *times;
                    self.times_are_ours = from_clock;
                }
            }
            Object::Thaw(opened) => self.opened = *opened,
            Object::JudgementType(object) => {
                self.types.insert(object.id.clone(), object.clone());
            }
            Object::Group(object) => {
                self.groups.insert(object.id.clone(), object.clone());
            }
            Object::Organization(object) => {
                let old = self.organizations.insert(object.id.clone(), object.clone());
                if old.as_ref() != Some(object) {
                    self.organization_changed(&object.id, dirty);
                }
            }
            Object::Team(object) => {
                self.teams.insert(object.id.clone(), object.clone());
                self.team_changed(&object.id, dirty);
            }
            Object::Problem(object) => {
                let old = self.problems.insert(object.id.clone(), object.clone());
                if old.as_ref() != Some(object) {
                    self.problem_changed(&object.id, dirty);
                }
            }
            Object::Adjustment(object) => {
                if let Some(old) = self.adjustments.insert(object.id.clone(), object.clone()) {
                    self.adjust(&old.team, -old.penalty, dirty);
                }
                self.adjust(&object.team, object.penalty, dirty);
            }
            Object::Submission(object) => {
                self.submissions
                    .entry(object.id.clone())
                    .or_default()
                    .object = Some(object.clone());
                self.place(&object.id, dirty);
            }
            Object::Judgement(object) => {
                if let Some(old) = self.judgements.insert(object.id.clone(), object.clone()) {
                    self.forget_judgement(&old, old.submission != object.submission, dirty);
                }
                let known = self
                    .submissions
                    .entry(object.submission.clone())
                    .or_default();
                known.judgements.insert(object.id.clone());
                self.place(&object.submission, dirty);
            }
        }
    }

    fn delete(&mut self, kind: Kind, id: &Id, dirty: &mut Dirty) {
        match kind {
            Kind::JudgementTypes => {
                self.types.remove(id);
            }
            Kind::Groups => {
                self.groups.remove(id);
            }
            Kind::Organizations => {
                self.organizations.remove(id);
                self.organization_changed(id, dirty);
            }
            Kind::Teams => {
                self.teams.remove(id);
                self.team_changed(id, dirty);
            }
            Kind::Problems => {
                if self.problems.remove(id).is_some() {
                    self.problem_changed(id, dirty);
                }
            }
            Kind::Adjustments => {
                if let Some(old) = self.adjustments.remove(id) {
                    self.adjust(&old.team, -old.penalty, dirty);
                }
            }
            Kind::Submissions => {
                if let Some(known) = self.submissions.get_mut(id) {
                    known.object = None;
                    self.place(id, dirty);
                    self.drop_if_empty(id);
                }
            }
            Kind::Judgements => {
                if let Some(old) = self.judgements.remove(id) {
                    self.forget_judgement(&old, true, dirty);
                }
            }
            Kind::Contest | Kind::State | Kind::Settings | Kind::Thaw | Kind::Other => {}
        }
    }

    fn adjust(&mut self, team: &Id, by: i64, dirty: &mut Dirty) {
        let sum = self.adjusted.entry(team.clone()).or_default();
        *sum += by;
        if *sum == 0 {
            self.adjusted.remove(team);
        }
        dirty.row(team);
    }

    /// A judgement is not what it was; with `detach` its submission has it no more.
    fn forget_judgement(&mut self, old: &Judgement, detach: bool, dirty: &mut Dirty) {
        if detach {
            if let Some(known) = self.submissions.get_mut(&old.submission) {
                known.judgements.remove(&old.id);
            }
            self.place(&old.submission, dirty);
            self.drop_if_empty(&old.submission);
        }
    }

    fn drop_if_empty(&mut self, submission: &Id) {
        if self
            .submissions
            .get(submission)
            .is_some_and(|known| known.object.is_none() && known.judgements.is_empty())
        {
            self.submissions.remove(submission);
        }
    }

    /// Derives anew where a submission counts, and moves it there.
    fn place(&mut self, id: &Id, dirty: &mut Dirty) {
        let Some(known) = self.submissions.get(id) else {
            return;
        };
        let is = self.placement(known);
        let known = self
            .submissions
            .get_mut(id)
            .expect("it was there a moment ago");
        if known.placed == is {
            return;
        }
        let was = std::mem::replace(&mut known.placed, is.clone());
        let moved = match (&was, &is) {
            (Some(was), Some(is)) => {
                was.team != is.team || was.problem != is.problem || was.at != is.at
            }
            _ => true,
        };
        if let Some(was) = was {
            self.weigh(&was, false, dirty);
            if moved {
                self.attempt(&was, None, dirty);
            }
        }
        if let Some(is) = is {
            // Before the attempt is there: if that makes the team, all its attempts are weighed, this one among them.
            self.weigh(&is, true, dirty);
            self.attempt(&is, Some(is.verdicts), dirty);
        }
    }

    fn attempt(&mut self, placed: &Placed, verdicts: Option<Both<Verdict>>, dirty: &mut Dirty) {
        let scoring = self.rules.scoring;
        let fresh = !self.members.contains_key(&placed.team);
        let member = self.members.entry(placed.team.clone()).or_default();
        member
            .units
            .entry(placed.problem.clone())
            .or_insert_with(|| Unit::new(scoring))
            .set(&placed.at, verdicts);
        if member.units[&placed.problem].attempts().is_empty() {
            member.units.remove(&placed.problem);
        }
        dirty.cell(&placed.team, &placed.problem);
        if member.standing.is_none() && member.units.is_empty() {
            self.members.remove(&placed.team);
        } else if self.rules.auto_teams && (fresh || verdicts.is_none()) {
            self.team_changed(&placed.team, dirty);
        }
    }

    fn placement(&self, known: &Known) -> Option<Placed> {
        let submission = known.object.as_ref()?;
        let (team, problem) = (submission.team.as_ref()?, submission.problem.as_ref()?);
        let time = self
            .rules
            .contest_time(submission)
            .filter(|time| self.rules.counts(*time))?;
        let judgements = known
            .judgements
            .iter()
            .filter_map(|id| self.judgements.get(id));
        let verdict = judging::verdict(
            judging::deciding(judgements, self.rules.start),
            |kind| self.rules.meaning(kind),
            self.rules.scoring,
            self.rules.compile_error_penalty,
        )
        .unwrap_or(Verdict::Pending);
        let frozen = self.rules.is_frozen(time);
        Some(Placed {
            team: team.clone(),
            problem: problem.clone(),
            at: Attempt {
                time,
                id: submission.id.clone(),
            },
            verdicts: Both::from_fn(|side| {
                if frozen && side == Side::Public {
                    Verdict::Pending
                } else {
                    verdict
                }
            }),
        })
    }

    /// An attempt of a team that is there counts beyond its own row, or does so no more.
    fn weigh(&mut self, placed: &Placed, enter: bool, dirty: &mut Dirty) {
        let member = self.members.get(&placed.team);
        if let Some(standing) = member.and_then(|member| member.standing) {
            self.weigh_as(standing, placed, enter, dirty);
        }
    }

    /// Puts an attempt into the races of a section, and among the scores that ask for decimals, or takes it out.
    fn weigh_as(&mut self, standing: Standing, placed: &Placed, enter: bool, dirty: &mut Dirty) {
        if standing.races() {
            self.race(standing.section, placed, enter, dirty);
        }
        for side in Side::ALL {
            if let Verdict::Score(score) = placed.verdicts[side]
                && standing.shown_to(side)
            {
                let count = &mut self.decimals[side][usize::from(decimal::decimals(score))];
                *count = if enter { *count + 1 } else { *count - 1 };
            }
        }
    }

    fn race(&mut self, section: i64, placed: &Placed, enter: bool, dirty: &mut Dirty) {
        let key = (section, placed.problem.clone());
        let running = self.races.entry(key.clone()).or_default();
        for side in Side::ALL {
            let race = &mut running[side].race;
            if enter {
                race.enter(&placed.at, &placed.team, placed.verdicts[side]);
            } else {
                race.leave(&placed.at, &placed.team, placed.verdicts[side]);
            }
        }
        dirty.races.insert(key);
    }

    /// A team came, went or changed: where its attempts race, and its row.
    fn team_changed(&mut self, id: &Id, dirty: &mut Dirty) {
        let team = self.teams.get(id);
        let member = self.members.entry(id.clone()).or_default();
        let is = match team {
            Some(team) => Some(standing(&self.rules, team)),
            None if self.rules.auto_teams && !member.units.is_empty() => Some(Standing {
                hidden: false,
                official: true,
                section: 0,
            }),
            None => None,
        };
        let was = std::mem::replace(&mut member.standing, is);
        if was != is {
            let placed: Vec<Placed> = member
                .units
                .iter()
                .flat_map(|(problem, unit)| {
                    unit.attempts().iter().map(|(at, verdicts)| Placed {
                        team: id.clone(),
                        problem: problem.clone(),
                        at: at.clone(),
                        verdicts: *verdicts,
                    })
                })
                .collect();
            for (standing, enter) in [(was, false), (is, true)] {
                if let Some(standing) = standing {
                    for placed in &placed {
                        self.weigh_as(standing, placed, enter, dirty);
                    }
                }
            }
        }
        let problems: Vec<Id> = self.members[id].units.keys().cloned().collect();
        dirty.row(id);
        for problem in &problems {
            dirty.cell(id, problem);
        }
        if team_is_gone(&self.members[id]) {
            self.members.remove(id);
        }
    }

    fn organization_changed(&mut self, id: &Id, dirty: &mut Dirty) {
        for team in self
            .teams
            .values()
            .filter(|team| team.organization.as_ref() == Some(id))
        {
            dirty.row(&team.id);
        }
    }

    fn problem_changed(&mut self, id: &Id, dirty: &mut Dirty) {
        dirty.listing = true;
        for (team, member) in &self.members {
            if member.units.contains_key(id) {
                dirty.cell(team, id);
            }
        }
    }

    /// Brings everything derived up to date, and the boards to the version of this event. `before`: how things stood, if
    /// the event may change the rules.
    fn settle(
        &mut self,
        sequence: u64,
        mut dirty: Dirty,
        before: Option<&Surroundings>,
    ) -> Both<Change> {
        let mut new_rules = false;
        if before.is_some() {
            let rules = Rules::new(
                &self.info,
                &self.settings,
                &self.times,
                self.opened,
                &self.types,
                &self.groups,
            );
            new_rules = rules != self.rules;
            if new_rules {
                let begun = std::mem::replace(&mut self.rules, rules).begun;
                dirty.listing |= begun != self.rules.begun;
                self.derive_all(&mut dirty);
            }
        }
        let rescaled = self.rescale(&mut dirty);
        let firsts = self.settle_races(&mut dirty);
        let mut out = Both::<Change>::default();
        for side in Side::ALL {
            let change = &mut out[side];
            let mut problems = firsts[side].clone();
            let mut rows = Vec::with_capacity(dirty.rows.len());
            for (team, cells) in &dirty.rows {
                let old = self.boards[side].get(team).cloned();
                let cells = (!new_rules && !rescaled[side]).then_some(cells);
                let new = self.entry(side, team, old.as_deref(), cells);
                self.count(side, old.as_deref(), new.as_deref(), &mut problems);
                rows.push((team.clone(), new));
            }
            let sees_problems = self.shows_problems(side);
            let shape = self.rules.shape(side, self.scales[side]);
            let board = &mut self.boards[side];
            let version = board.version();
            if **board.shape() == shape {
                change.step = board.update(sequence, rows);
            } else {
                let entries = rows.into_iter().filter_map(|(_, entry)| entry).collect();
                board.reshape(sequence, shape, entries);
                change.reshaped = true;
            }
            if dirty.listing && (sees_problems || new_rules) && !change.reshaped {
                board.seal(sequence);
                change.reshaped = true;
                change.step = None;
            }
            if let Some(before) = before {
                change.status = before.status[side] != self.status(side);
                if new_rules {
                    // Races and rows began anew: what was gathered tells nothing, compare what is shown.
                    problems.clear();
                    let old = before.problems[side]
                        .iter()
                        .map(|line| (&line.id, line))
                        .collect::<HashMap<_, _>>();
                    let new = self.problems(side);
                    problems.extend(
                        new.into_iter()
                            .filter(|line| old.get(&line.id) != Some(&line))
                            .map(|line| line.id),
                    );
                }
            }
            if sees_problems {
                change.problems = problems
                    .into_iter()
                    .filter(|id| self.problems.contains_key(id))
                    .collect();
            }
            let board = &mut self.boards[side];
            if (change.status || !change.problems.is_empty()) && board.version() == version {
                board.touch(sequence);
            }
        }
        out
    }

    /// Brings the decimals of the score columns up to date; tells in which view they changed, and with them every row.
    fn rescale(&mut self, dirty: &mut Dirty) -> Both<bool> {
        let scales = Both::from_fn(|side| {
            let finest = self.decimals[side].iter().rposition(|count| *count > 0);
            finest.filter(|_| self.shows_problems(side)).unwrap_or(0) as u8
        });
        let was = std::mem::replace(&mut self.scales, scales);
        let rescaled = Both::from_fn(|side| was[side] != scales[side]);
        if Side::ALL.iter().any(|side| rescaled[*side]) {
            for id in self.members.keys() {
                dirty.row(id);
            }
        }
        rescaled
    }

    /// After the rules changed: every placement, standing, race and row.
    fn derive_all(&mut self, dirty: &mut Dirty) {
        self.members.clear();
        self.races.clear();
        self.decimals = Both::default();
        for known in self.submissions.values_mut() {
            known.placed = None;
        }
        let teams: Vec<Id> = self.teams.keys().cloned().collect();
        for id in &teams {
            self.team_changed(id, dirty);
        }
        let submissions: Vec<Id> = self.submissions.keys().cloned().collect();
        for id in &submissions {
            self.place(id, dirty);
        }
        for side in Side::ALL {
            // Rows of teams that are not there any more, and with them their part of the statistics.
            let ids: Vec<Id> = self.boards[side]
                .window(None)
                .map(|entry| entry.id.clone())
                .collect();
            for id in &ids {
                dirty.row(id);
            }
        }
    }

    /// Looks who is first now; marks the cells of those who became it or are it no more. Answers the problems.
    fn settle_races(&mut self, dirty: &mut Dirty) -> Both<BTreeSet<Id>> {
        let mut changed = Both::<BTreeSet<Id>>::default();
        for key in std::mem::take(&mut dirty.races) {
            let Some(running) = self.races.get_mut(&key) else {
                continue;
            };
            for side in Side::ALL {
                let running = &mut running[side];
                let is = running.race.first().cloned();
                if running.first != is {
                    let was = std::mem::replace(&mut running.first, is.clone());
                    for team in [was, is].into_iter().flatten() {
                        dirty.rows.entry(team).or_default().insert(key.1.clone());
                    }
                    changed[side].insert(key.1.clone());
                }
            }
            if Side::ALL.iter().all(|side| running[*side].race.is_empty()) {
                self.races.remove(&key);
            }
        }
        changed
    }

    /// Counts a row's cells into the statistics: out with the old, in with the new.
    fn count(
        &mut self,
        side: Side,
        old: Option<&Entry>,
        new: Option<&Entry>,
        changed: &mut BTreeSet<Id>,
    ) {
        let hidden = |entry: &Entry| entry.label.hidden;
        let (old, new) = (
            old.filter(|entry| !hidden(entry)),
            new.filter(|entry| !hidden(entry)),
        );
        let none = Cells::new();
        let (old, new) = (
            old.map_or(&none, |entry| &entry.cells),
            new.map_or(&none, |entry| &entry.cells),
        );
        let stats = &mut self.stats[side];
        for (problem, cell) in old
            .iter()
            .filter(|(problem, cell)| new.get(*problem) != Some(cell))
        {
            stats
                .entry(problem.clone())
                .or_default()
                .take(Stat::of(cell));
            changed.insert(problem.clone());
        }
        for (problem, cell) in new
            .iter()
            .filter(|(problem, cell)| old.get(*problem) != Some(cell))
        {
            stats
                .entry(problem.clone())
                .or_default()
                .add(Stat::of(cell));
            changed.insert(problem.clone());
        }
    }

    /// A team's row in a view; `None` if it has none. With `cells` only those are looked at, the others are as in `old`.
    fn entry(
        &self,
        side: Side,
        team: &Id,
        old: Option<&Entry>,
        cells: Option<&BTreeSet<Id>>,
    ) -> Option<Arc<Entry>> {
        let member = self.members.get(team)?;
        let standing = member.standing.filter(|standing| standing.shown_to(side))?;
        let shown = self.shows_problems(side);
        let mut all = Cells::new();
        match (old, cells) {
            _ if !shown => {}
            (Some(old), Some(cells)) => {
                all.clone_from(&old.cells);
                for problem in cells {
                    match self.cell(side, standing, team, problem, member) {
                        Some(cell) => all.insert(problem.clone(), cell),
                        None => all.remove(problem),
                    };
                }
            }
            _ => {
                for problem in member.units.keys() {
                    if let Some(cell) = self.cell(side, standing, team, problem, member) {
                        all.insert(problem.clone(), cell);
                    }
                }
            }
        }
        let values = self.values(side, team, standing, member, shown);
        let label = self.label(team, standing);
        let label = match old {
            Some(old) if *old.label == label => old.label.clone(),
            _ => Arc::new(label),
        };
        Some(Arc::new(Entry {
            id: team.clone(),
            values,
            label,
            cells: all,
        }))
    }

    fn label(&self, team: &Id, standing: Standing) -> Label {
        match self.teams.get(team) {
            None => Label {
                name: team.clone(),
                official: standing.official,
                ..Label::default()
            },
            Some(team) => Label {
                name: team.name.as_str().into(),
                organization: team
                    .organization
                    .as_ref()
                    .and_then(|id| self.organizations.get(id))
                    .map(|organization| organization.name.as_str().into()),
                groups: team
                    .groups
                    .iter()
                    .filter(|id| self.groups.contains_key(*id))
                    .cloned()
                    .collect(),
                official: standing.official,
                hidden: standing.hidden,
            },
        }
    }

    fn cell(
        &self,
        side: Side,
        standing: Standing,
        team: &Id,
        problem: &Id,
        member: &Member,
    ) -> Option<Cell> {
        let unit = member
            .units
            .get(problem)
            .filter(|_| self.problems.contains_key(problem))?;
        if let Some(tally) = unit.icpc(side) {
            let solved = tally.solved_at();
            let (tries, pending) = (tally.wrong() + u32::from(solved.is_some()), tally.pending());
            let first = standing.races()
                && self
                    .races
                    .get(&(standing.section, problem.clone()))
                    .is_some_and(|running| running[side].first.as_ref() == Some(team));
            let time = solved.map(|time| self.rules.in_unit(time));
            (tries + pending > 0).then_some(Cell {
                tries,
                pending,
                time,
                first,
                score: None,
            })
        } else {
            let tally = unit.ioi(side)?;
            let (tries, pending) = (tally.judged(), tally.pending());
            let score = tally
                .best()
                .map(|score| decimal::at_scale(score, self.scales[side]));
            (tries + pending > 0).then_some(Cell {
                tries,
                pending,
                score,
                ..Cell::default()
            })
        }
    }

    fn values(
        &self,
        side: Side,
        team: &Id,
        standing: Standing,
        member: &Member,
        shown: bool,
    ) -> Values {
        let section = self.rules.has_sections(side).then_some(standing.section);
        let units = member
            .units
            .iter()
            .filter(|(problem, _)| shown && self.problems.contains_key(*problem));
        let numbers: Vec<i64> = match self.rules.scoring {
            Scoring::Icpc => {
                let solved: Vec<(i64, u32)> = units
                    .filter_map(|(_, unit)| unit.icpc(side))
                    .filter_map(|tally| Some((tally.solved_at()?, tally.wrong())))
                    .collect();
                let adjustment = self
                    .adjusted
                    .get(team)
                    .filter(|_| shown)
                    .copied()
                    .unwrap_or(0);
                let last = solved.iter().map(|(time, _)| *time).max().unwrap_or(0);
                vec![
                    solved.len() as i64,
                    self.rules.penalty_of(solved.into_iter(), adjustment),
                    self.rules.in_unit(last),
                ]
            }
            Scoring::Ioi => {
                // Ten thousand problems of the largest score would not fit.
                let total = units
                    .filter_map(|(_, unit)| unit.ioi(side)?.best())
                    .fold(0_i64, i64::saturating_add);
                vec![decimal::at_scale(total, self.scales[side])]
            }
        };
        section.into_iter().chain(numbers).collect()
    }
}

/// What is shown beside the rows, before an event that may change all of it.
struct Surroundings {
    status: Both<Status>,
    problems: Both<Vec<ProblemLine>>,
}

impl Surroundings {
    fn of(contest: &Contest) -> Self {
        Self {
            status: Both::from_fn(|side| contest.status(side)),
            problems: Both::from_fn(|side| contest.problems(side)),
        }
    }
}

/// May the event change the rules by which every row is derived, or the status?
fn sets_rules(event: &Event) -> bool {
    match event {
        Event::Put(object) => matches!(
            object,
            Object::Contest(_)
                | Object::Settings(_)
                | Object::State(_)
                | Object::Thaw(_)
                | Object::JudgementType(_)
                | Object::Group(_)
        ),
        Event::Delete(kind, _) | Event::Replace(kind, _) => {
            matches!(kind, Kind::JudgementTypes | Kind::Groups)
        }
        Event::Other => false,
    }
}

fn standing(rules: &Rules, team: &Team) -> Standing {
    let groups = || team.groups.iter().filter_map(|id| rules.groups.get(id));
    let hidden = team.hidden || groups().any(|(hidden, _)| *hidden);
    Standing {
        hidden,
        official: !hidden && !team.groups.iter().any(|id| rules.unofficial.contains(id)),
        section: groups()
            .filter_map(|(_, section)| *section)
            .min()
            .unwrap_or(0),
    }
}

fn team_is_gone(member: &Member) -> bool {
    member.standing.is_none() && member.units.is_empty()
}
