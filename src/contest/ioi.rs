//! IOI scoring of one problem: the best score counts; a later lower one changes nothing.

use std::collections::BTreeMap;

use super::judging::Verdict;

/// The running result of one team on one problem, in one view.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many attempts have each score, in millionths.
    scores: BTreeMap<i64, u32>,
    judged: u32,
    pending: u32,
}

impl Tally {
    /// The best score, in millionths; `None` while nothing is judged, which is not the same as 0.
    pub fn best(&self) -> Option<i64> {
        self.scores.last_key_value().map(|(score, _)| *score)
    }

    /// Attempts that have a score.
    pub fn judged(&self) -> u32 {
        self.judged
    }

    /// Attempts that have none yet.
    pub fn pending(&self) -> u32 {
        self.pending
    }

    /// Takes in that an attempt changed from one verdict to another.
    pub fn change(&mut self, was: Option<Verdict>, is: Option<Verdict>) {
        match was {
            Some(Verdict::Score(score)) => {
                self.judged -= 1;
                if let Some(count) = self.scores.get_mut(&score) {
                    *count -= 1;
                    if *count == 0 {
                        self.scores.remove(&score);
                    }
                }
            }
            Some(Verdict::Pending) => self.pending -= 1,
            _ => {}
        }
        match is {
            Some(Verdict::Score(score)) => {
                self.judged += 1;
                *self.scores.entry(score).or_default() += 1;
            }
            Some(Verdict::Pending) => self.pending += 1,
            _ => {}
        }
    }
}
