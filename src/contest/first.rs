//! First to solve (RULES 9): one race a problem and section.

use std::collections::BTreeSet;

use super::judging::{Attempt, Verdict};
use crate::board::Id;

/// The race for a problem in one view, among the official, visible teams of one section.
#[derive(Clone, Debug, Default)]
pub struct Race {
    accepted: BTreeSet<(Attempt, Id)>,
    /// Attempts that have no verdict: an earlier one may still turn out to be the first.
    waiting: BTreeSet<Attempt>,
}

impl Race {
    /// A team's attempt has this verdict now.
    pub fn enter(&mut self, attempt: &Attempt, team: &Id, verdict: Verdict) {
        match verdict {
            Verdict::Accepted => {
                self.accepted.insert((attempt.clone(), team.clone()));
            }
            Verdict::Pending => {
                self.waiting.insert(attempt.clone());
            }
            _ => {}
        }
    }

    /// A team's attempt has this verdict no more.
    pub fn leave(&mut self, attempt: &Attempt, team: &Id, verdict: Verdict) {
        match verdict {
            Verdict::Accepted => {
                self.accepted.remove(&(attempt.clone(), team.clone()));
            }
            Verdict::Pending => {
                self.waiting.remove(attempt);
            }
            _ => {}
        }
    }

    /// The team with the earliest accepted attempt, once no earlier attempt waits for its verdict.
    pub fn first(&self) -> Option<&Id> {
        let (attempt, team) = self.accepted.first()?;
        match self.waiting.first() {
            Some(waiting) if waiting < attempt => None,
            _ => Some(team),
        }
    }

    /// True when nobody is in it.
    pub fn is_empty(&self) -> bool {
        self.accepted.is_empty() && self.waiting.is_empty()
    }
}
