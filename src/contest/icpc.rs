//! ICPC scoring of one problem (RULES 1 to 3, 8): what counts up to the first accepted attempt.

use std::ops::Bound::{Excluded, Unbounded};

use super::judging::{Attempt, Attempts, Side, Verdict};

/// The running result of one team on one problem, in one view. Kept without looking at all attempts again: only an
/// acceptance that comes, moves or goes walks over the attempts between.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The first accepted attempt.
    solved: Option<Attempt>,
    /// Penalized attempts before it; all of them while there is none.
    wrong: u32,
    /// Attempts before it without a verdict; all of them while there is none.
    pending: u32,
}

impl Tally {
    /// When it was solved, in ms of contest time.
    pub fn solved_at(&self) -> Option<i64> {
        self.solved.as_ref().map(|attempt| attempt.time)
    }

    /// Penalized attempts that count.
    pub fn wrong(&self) -> u32 {
        self.wrong
    }

    /// Attempts that count and have no verdict yet.
    pub fn pending(&self) -> u32 {
        self.pending
    }

    /// Takes in that an attempt changed from one verdict to another (`None`: it was not, or is not there any more).
    /// `attempts` is the state after the change.
    pub fn change(
        &mut self,
        side: Side,
        attempts: &Attempts,
        at: &Attempt,
        was: Option<Verdict>,
        is: Option<Verdict>,
    ) {
        if was == is {
            return;
        }
        let was_first = self.solved.as_ref() == Some(at);
        if !was_first && self.solved.as_ref().is_some_and(|solved| solved < at) {
            return; // What comes after the acceptance counts for nothing.
        }
        self.count(was, -1);
        if was_first {
            // The acceptance went: what follows counts, up to the next one.
            self.solved = None;
            self.count(is, 1);
            for (attempt, verdicts) in attempts.range((Excluded(at), Unbounded)) {
                if verdicts[side] == Verdict::Accepted {
                    self.solved = Some(attempt.clone());
                    break;
                }
                self.count(Some(verdicts[side]), 1);
            }
        } else if is == Some(Verdict::Accepted) {
            // The acceptance is new, or earlier than before: what follows counts no more.
            let until = self.solved.replace(at.clone());
            for (attempt, verdicts) in attempts.range((Excluded(at), Unbounded)) {
                if until.as_ref().is_some_and(|until| attempt >= until) {
                    break;
                }
                self.count(Some(verdicts[side]), -1);
            }
        } else {
            self.count(is, 1);
        }
    }

    fn count(&mut self, verdict: Option<Verdict>, by: i32) {
        match verdict {
            Some(Verdict::Wrong) => self.wrong = self.wrong.wrapping_add_signed(by),
            Some(Verdict::Pending) => self.pending = self.pending.wrapping_add_signed(by),
            _ => {}
        }
    }
}
