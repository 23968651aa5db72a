//! The ceremony: the frozen results, revealed one by one from the last place up.
//!
//! What happens is fixed by the results alone: [`Script`] lists the steps. Where the ceremony stands is one number in the
//! log, so every server shows the same, and stepping back is stepping to a smaller number.

use serde::{Deserialize, Serialize};

use super::awards::{Award, DisplayMode};
use crate::board::Id;

/// The shortest time between two steps that go by themselves, in ms.
pub const AUTO_MIN_MS: u32 = 200;

/// The longest, in ms.
pub const AUTO_MAX_MS: u32 = 60_000;

/// Where the ceremony stands: the event `rankcast-ceremony`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// For whom it is.
    pub mode: Mode,
    /// How many steps of the script are done.
    pub step: usize,
    /// The next step comes by itself after so many ms.
    #[serde(default)]
    pub auto_ms: Option<u32>,
    /// The number of this word among all that the contest's log has about its ceremonies, from 1: one that comes too late, after
    /// another that its writer did not know, is not heard. 0: heard in any case.
    #[serde(default)]
    pub turn: u64,
}

/// For whom a ceremony is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// For the jury alone.
    Rehearsal,
    /// For the hall, and for the public if the contest's settings say so.
    Live,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// This team is looked at: all below its place, counted from 1, have theirs.
    Focus(Id, usize),
    /// The team's result on a problem is revealed, and the team moves up if it has to.
    Reveal {
        /// The team.
        team: Id,
        /// The problem.
        problem: Id,
    },
    /// The team has its place, and gets these awards, by their index among [`Script::awards`].
    Award(Id, Vec<usize>),
    /// All who get this award have their place.
    List(usize),
}

impl Step {
    /// Whom it concerns.
    pub fn team(&self) -> Option<&Id> {
        match self {
            Self::Focus(team, _) | Self::Reveal { team, .. } | Self::Award(team, _) => Some(team),
            Self::List(_) => None,
        }
    }

    /// Does a ceremony that goes by itself stop here?
    pub fn pauses(&self) -> bool {
        matches!(self, Self::Award(..) | Self::List(_))
    }
}

/// All steps of a ceremony, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// The steps.
    pub steps: Vec<Step>,
    /// The awards that they mention.
    pub awards: Vec<Award>,
}

impl Script {
    /// After how many steps a team is looked at for the last time before it gets its place.
    pub fn step_of_team(&self, team: &str) -> Option<usize> {
        let of_team = |step: &Step| matches!(step, Step::Focus(of, _) if **of == *team);
        self.steps.iter().rposition(of_team).map(|index| index + 1)
    }

    /// After how many steps whoever stands at a place, counted from 1, is looked at for the first time.
    pub fn step_of_place(&self, place: usize) -> Option<usize> {
        let of_place = |step: &Step| matches!(step, Step::Focus(_, at) if *at == place);
        self.steps.iter().position(of_place).map(|index| index + 1)
    }

    /// Where a ceremony that goes by itself stands after the next step; `None` at the end. It stops where somebody has to
    /// speak.
    pub fn by_itself(&self, progress: Progress) -> Option<Progress> {
        let step = self.steps.get(progress.step)?;
        let last = progress.step + 1 == self.steps.len();
        Some(Progress {
            step: progress.step + 1,
            auto_ms: progress.auto_ms.filter(|_| !step.pauses() && !last),
            turn: progress.turn + 1,
            ..progress
        })
    }

    /// After how many steps all these results are revealed.
    pub fn step_with(&self, results: &std::collections::BTreeSet<(Id, Id)>) -> usize {
        let mut left = results.len();
        if left == 0 {
            return 0;
        }
        let reveals = |step: &Step| match step {
            Step::Reveal { team, problem } => {
                left -= usize::from(results.contains(&(team.clone(), problem.clone())));
                left == 0
            }
            _ => false,
        };
        // What cannot be revealed any more, because it is not hidden, is not waited for.
        self.steps
            .iter()
            .position(reveals)
            .map_or(self.steps.len(), |index| index + 1)
    }

    /// The results that these steps reveal.
    pub fn revealed(
        &self,
        steps: std::ops::Range<usize>,
    ) -> impl DoubleEndedIterator<Item = (&Id, &Id)> {
        self.steps[steps].iter().filter_map(|step| match step {
            Step::Reveal { team, problem } => Some((team, problem)),
            _ => None,
        })
    }

    /// What is to be seen after so many steps.
    pub fn scene(&self, progress: Progress) -> Scene {
        let step = progress.step.min(self.steps.len());
        let mut scene = Scene {
            mode: progress.mode,
            step,
            steps: Some(self.steps.len()),
            shows: Shows::Start,
            team: None,
            problem: None,
            awards: Vec::new(),
            auto_ms: progress.auto_ms,
        };
        // Whom else an award goes to is not known yet, except in a list.
        let award = |index: &usize, listed: bool| {
            let award = &self.awards[*index];
            Shown {
                id: award.id.clone(),
                citation: award.citation.clone(),
                detail: award.display_mode == DisplayMode::Detail,
                team_ids: award.team_ids.clone().filter(|_| listed),
            }
        };
        let Some(last) = step.checked_sub(1).map(|last| &self.steps[last]) else {
            return scene;
        };
        scene.team = last.team().cloned();
        match last {
            Step::Focus(..) => scene.shows = Shows::Team,
            Step::Reveal { problem, .. } => {
                scene.shows = Shows::Result;
                scene.problem = Some(problem.clone());
            }
            Step::Award(_, awards) => {
                scene.shows = Shows::Award;
                scene.awards = awards.iter().map(|index| award(index, false)).collect();
            }
            Step::List(index) => {
                scene.shows = Shows::List;
                scene.awards = vec![award(index, true)];
            }
        }
        scene
    }
}

/// What a ceremony shows at one moment, beside the board.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scene {
    /// For whom it is.
    pub mode: Mode,
    /// How many steps are done.
    pub step: usize,
    /// How many there are; told to the jury and the hall only: it says how often teams will pass each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<usize>,
    /// What the last one was.
    pub shows: Shows,
    /// The team that is looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<Id>,
    /// The problem whose result was revealed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Id>,
    /// The awards that are given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub awards: Vec<Shown>,
    /// The next step comes by itself after so many ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_ms: Option<u32>,
}

/// What a step shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shows {
    /// The frozen board; nothing is revealed.
    Start,
    /// A team.
    Team,
    /// A team's result on a problem.
    Result,
    /// A team's awards.
    Award,
    /// All who get an award.
    List,
}

/// An award as a ceremony shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// The award.
    pub id: Id,
    /// What is read out.
    pub citation: String,
    /// The team fills the screen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub detail: bool,
    /// Who gets it, where all of them have their place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team_ids: Option<Vec<Id>>,
}
