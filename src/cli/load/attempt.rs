//! Attempts: when each judgement was sent, found again by what a viewer sees of it.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::time::Instant;

use super::locked;
use crate::board::Entry;

/// One judgement that was sent.
#[derive(Debug)]
pub struct Attempt {
    /// When its first POST began.
    pub start: Instant,
    /// After how many microseconds the last of the steady viewers saw it; 0: none has yet.
    last: AtomicU64,
}

impl Attempt {
    /// A steady viewer sees it so many microseconds after it was sent.
    pub fn seen(&self, micros: u64) {
        // The common case costs a read only: who is not the last so far changes nothing.
        if self.last.load(Ordering::Relaxed) < micros {
            self.last.fetch_max(micros, Ordering::Relaxed);
        }
    }
}

/// All attempts of a run, by team, problem and number. The n-th attempt at a problem is the one that makes `tries` n: the
/// judge sends those of one cell one after the other.
#[derive(Debug, Default)]
pub struct Attempts(Mutex<HashMap<String, Team>>);

/// The attempts of a team, by problem.
type Team = HashMap<String, Vec<Arc<Attempt>>>;

impl Attempts {
    /// The next attempt of a team at a problem begins now.
    pub fn begin(&self, team: &str, problem: &str) {
        let attempt = Arc::new(Attempt {
            start: Instant::now(),
            last: AtomicU64::new(0),
        });
        let mut all = self.lock();
        let team = all.entry(team.to_owned()).or_default();
        team.entry(problem.to_owned()).or_default().push(attempt);
    }

    /// Adds what a row shows that it did not show before.
    pub fn shown(&self, old: &Entry, new: &Entry, out: &mut Vec<Arc<Attempt>>) {
        let all = self.lock();
        let Some(team) = all.get(&*new.id) else {
            return;
        };
        for (problem, cell) in &new.cells {
            let before = old.cells.get(problem).map_or(0, |cell| cell.tries);
            if cell.tries > before
                && let Some(attempts) = team.get(&**problem)
            {
                let until = (cell.tries as usize).min(attempts.len());
                let from = (before as usize).min(until);
                out.extend_from_slice(&attempts[from..until]);
            }
        }
    }

    /// For each attempt that a steady viewer saw: after how many microseconds the last of them did.
    pub fn last_seen(&self) -> Vec<u64> {
        let all = self.lock();
        let attempts = all.values().flat_map(HashMap::values).flatten();
        attempts
            .map(|attempt| attempt.last.load(Ordering::Relaxed))
            .filter(|last| *last > 0)
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Team>> {
        locked(&self.0)
    }
}
