//! The settings of a contest that CLICS does not have: the object `rankcast` of `PUT /api/contests/{id}`.

use serde::{Deserialize, Serialize};

use super::{awards::AwardSettings, clock};
use crate::board::{Id, Ties, Unit};

/// How a contest is scored and shown. Fields left out have the values given here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// `icpc` or `ioi`; left out, `scoreboard_type` of the contest decides.
    pub scoring: Option<Scoring>,
    /// How times become penalty: `minutes` (default), `seconds` or `sum-then-minutes`.
    pub penalty_rounding: Rounding,
    /// How many leading columns decide the rank; the rest only order. Default: all of IOI, 2 of ICPC: solved and penalty.
    pub rank_by: Option<usize>,
    /// How ties share ranks: `competition` (default), `dense`, `modified`, `ordinal`.
    pub ties: Ties,
    /// Whether compile errors cost penalty. Default: no.
    pub compile_error_penalty: bool,
    /// Groups whose teams are listed without a rank. Default: `["unofficial"]`.
    pub unofficial_groups: Vec<Id>,
    /// Whether a submission of an unknown team makes that team. Default: no, it is kept aside.
    pub auto_teams: bool,
    /// Who opens the frozen board: `manual` (default), our jury; `upstream`, the feed's `thawed` too.
    pub thaw: Thaw,
    /// What the public board does during the ceremony: `follow` (default) or open `after` it.
    pub public_during_ceremony: PublicDuringCeremony,
    /// How many get which award.
    pub awards: AwardSettings,
    /// How many balloons a team gets at the least, though their solves be frozen; those who bring them are told, nobody else.
    pub balloons_minimum: usize,
    /// Which submission of a problem gives its points: the `best` (default) or the `last` that has any.
    pub problem_score: ProblemScore,
    /// Contest times that do not count (a power cut): submissions inside have the contest time of the start, later ones come so
    /// much earlier, and the contest ends so much later. In order, without overlap.
    pub removed_intervals: Vec<Interval>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            scoring: None,
            penalty_rounding: Rounding::default(),
            rank_by: None,
            ties: Ties::default(),
            compile_error_penalty: false,
            unofficial_groups: vec!["unofficial".into()],
            auto_teams: false,
            thaw: Thaw::default(),
            public_during_ceremony: PublicDuringCeremony::default(),
            awards: AwardSettings::default(),
            balloons_minimum: 0,
            problem_score: ProblemScore::default(),
            removed_intervals: Vec::new(),
        }
    }
}

impl Settings {
    /// Checks what types cannot: the error says what was expected.
    pub fn check(&self) -> Result<(), String> {
        match self.rank_by {
            Some(columns) if !(1..=3).contains(&columns) => {
                return Err(format!("rank_by: expected 1, 2 or 3, got {columns}"));
            }
            _ => {}
        }
        self.awards.check()?;
        if self.removed_intervals.len() > REMOVED_MAX {
            return Err(format!("removed_intervals: expected at most {REMOVED_MAX}"));
        }
        let mut free = 0;
        for Interval { start, end } in &self.removed_intervals {
            if *start < free || end <= start {
                return Err(format!(
                    "removed_intervals: expected each to start at 0 or later, to end after its start, and before the next; got {} to {}",
                    clock::format_relative(*start),
                    clock::format_relative(*end)
                ));
            }
            free = *end;
        }
        Ok(())
    }
}

/// The most intervals that may be removed from a contest.
pub const REMOVED_MAX: usize = 100;

/// A part of the contest, from a contest time (in ms) up to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// Its first moment.
    #[serde(with = "clock::relative")]
    pub start: i64,
    /// The first moment after it.
    #[serde(with = "clock::relative")]
    pub end: i64,
}

/// Which submission of a problem gives its points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProblemScore {
    /// The one with the most; a later one with less changes nothing.
    #[default]
    Best,
    /// The last one.
    Last,
}

/// What a row is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scoring {
    /// Solved problems, then penalty time.
    Icpc,
    /// The sum of the best score of each problem.
    Ioi,
}

/// How times become penalty. All three occur in real contests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rounding {
    /// Each time is floored to whole minutes, then they are summed (CCSR).
    #[default]
    Minutes,
    /// Whole seconds are summed.
    Seconds,
    /// Whole seconds are summed, the sum is floored to minutes.
    SumThenMinutes,
}

impl Rounding {
    /// The unit of the penalty and of times on the board.
    pub fn unit(self) -> Unit {
        match self {
            Self::Minutes | Self::SumThenMinutes => Unit::Minutes,
            Self::Seconds => Unit::Seconds,
        }
    }
}

/// Who opens the frozen board.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Thaw {
    /// Only our own jury.
    #[default]
    Manual,
    /// The feed's state too.
    Upstream,
}

/// What the public board does during the ceremony.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PublicDuringCeremony {
    /// It shows what the ceremony reveals.
    #[default]
    Follow,
    /// It opens when the ceremony is over.
    After,
}
