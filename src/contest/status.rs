//! What is shown beside the rows: the phase of the contest and a line for each problem.

use serde::{Deserialize, Serialize};

use super::{
    ceremony::Scene,
    event::{Info, Times},
    judging::Side,
};
use crate::board::Id;

/// Where the contest stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Not started.
    Before,
    /// Going on.
    Running,
    /// Not started, and the countdown is paused.
    Paused,
    /// Going on; the public board stands still.
    Frozen,
    /// Over; what was frozen is frozen still.
    Ended,
    /// Over; the board is open.
    Thawed,
    /// Over; the results are final.
    Finalized,
}

/// The contest as one view may see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Its short name.
    pub name: String,
    /// Its full name.
    pub formal_name: Option<String>,
    /// Where it stands.
    pub phase: Phase,
    /// When it starts, in ms since 1970 UTC.
    pub start: Option<i64>,
    /// Its length in ms.
    pub duration: Option<i64>,
    /// How long before the end the board is frozen, in ms.
    pub freeze: Option<i64>,
    /// With the countdown paused: how long before the start, in ms.
    pub countdown_pause: Option<i64>,
    /// The times of its phases, as CLICS has them.
    pub times: Times,
    /// What a ceremony shows, while there is one.
    pub ceremony: Option<Scene>,
}

impl Status {
    /// `open`: nothing is frozen; `opened`: because the jury said so.
    pub(super) fn new(
        side: Side,
        info: &Info,
        times: &Times,
        open: bool,
        opened: bool,
        ceremony: Option<Scene>,
    ) -> Self {
        let mut times = *times;
        if side == Side::Public && !open {
            // The results are neither open nor final for those who cannot see them.
            (times.thawed, times.finalized, times.end_of_updates) = (None, None, None);
        }
        let phase = if times.finalized.is_some() {
            Phase::Finalized
        } else if times.thawed.is_some() || (opened && times.ended.is_some()) {
            Phase::Thawed
        } else if times.ended.is_some() {
            Phase::Ended
        } else if times.frozen.is_some() && !open {
            Phase::Frozen
        } else if times.started.is_some() {
            Phase::Running
        } else if info.countdown_pause.is_some() {
            Phase::Paused
        } else {
            Phase::Before
        };
        Self {
            name: info.name.clone(),
            formal_name: info.formal_name.clone(),
            phase,
            start: info.start,
            duration: info.duration,
            freeze: info.freeze,
            countdown_pause: info.countdown_pause,
            times,
            ceremony,
        }
    }
}

/// A problem and its statistics, over all visible teams.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProblemLine {
    /// The problem.
    pub id: Id,
    /// Its letter.
    pub label: String,
    /// Its name.
    pub name: String,
    /// The colour of its balloon, `#rgb` or `#rrggbb`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rgb: Option<String>,
    /// The name of that colour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// Teams that solved it; in point scoring, that have points.
    pub solved: u32,
    /// Judged attempts that count.
    pub tries: u32,
    /// Attempts without a known verdict.
    pub pending: u32,
    /// Who was first to solve it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Id>,
}
