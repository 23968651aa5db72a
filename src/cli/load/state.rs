//! What viewers hold. Each follows its own chain of frames, but the frames of a lane are the same bytes for all of its viewers:
//! so a board is a shared state that never changes, and what a frame makes of a state is worked out once.

use std::{
    collections::{HashMap, VecDeque},
    io::Read as _,
    sync::{
        Arc, Mutex, MutexGuard, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use flate2::read::GzDecoder;

use super::{
    attempt::{Attempt, Attempts},
    locked,
};
use crate::{
    board::{Delta, Entry, Window},
    protocol::message::{DeltaIn, SnapshotIn},
};

/// How many transitions a state remembers: viewers that come back to different versions each need one of their own.
const STEPS_KEPT: usize = 64;

/// How many states are kept alive though nobody holds them, so that a transition that everyone makes is not worked out again
/// for the second one: 3 s of a board that changes at every tick.
const STATES_KEPT: usize = 64;

/// How many rows those states may have in all, a few hundred bytes each.
const ROWS_KEPT: usize = 60_000;

/// How many whole boards are remembered by their bytes.
const WHOLES_KEPT: usize = 8;

/// The largest board, in bytes of JSON.
const WHOLE_MAX: u64 = 256 * 1024 * 1024;

/// A window at a position. Two viewers that have the same one share it, however they came there.
#[derive(Debug)]
pub struct State {
    epoch: String,
    window: Window,
    /// `epoch-version`
    position: String,
    steps: Mutex<VecDeque<Arc<Step>>>,
    /// The lowest version that a known delta leads to from here: that of the lane's own next frame.
    next: AtomicU64,
}

impl State {
    /// A state of its own, from a snapshot.
    pub fn of(snapshot: &SnapshotIn) -> Self {
        Self::new(snapshot.epoch.clone(), snapshot.window())
    }

    fn new(epoch: String, window: Window) -> Self {
        Self {
            position: format!("{epoch}-{}", window.version()),
            epoch,
            window,
            steps: Mutex::default(),
            next: AtomicU64::new(u64::MAX),
        }
    }

    /// Where it stands, as `since=` takes it.
    pub fn position(&self) -> &str {
        &self.position
    }

    /// Names the history that the version belongs to.
    pub fn epoch(&self) -> &str {
        &self.epoch
    }

    /// What is shown.
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// The same rows with the same ranks, of the same history? The version may be another one: it also counts what changed
    /// outside of the window.
    pub fn shows(&self, other: &Self) -> bool {
        self.epoch == other.epoch
            && self.window.rows() == other.window.rows()
            && self.window.total() == other.window.total()
            && self.window.ranks() == other.window.ranks()
    }
}

/// What some bytes make of a state. States are held by viewers, not by the steps to them: otherwise one viewer that
/// lags would keep all that came after it.
#[derive(Debug)]
pub struct Step {
    bytes: Bytes,
    to: Weak<State>,
    version: u64,
    /// The attempts that are seen by this for the first time.
    pub shows: Box<[Arc<Attempt>]>,
}

/// Where a viewer is after some bytes.
pub struct Taken {
    /// What it holds now.
    pub to: Arc<State>,
    /// How it got there; `None`: it held nothing before.
    pub step: Option<Arc<Step>>,
    /// If it was a delta: it spans what others got in several frames.
    pub merged: bool,
}

/// All states of the viewers of one limit.
#[derive(Debug)]
pub struct Lane {
    attempts: Arc<Attempts>,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// By version, so that equal states become one.
    states: HashMap<u64, Vec<Weak<State>>>,
    recent: VecDeque<Arc<State>>,
    wholes: VecDeque<(Bytes, Arc<State>)>,
}

impl Lane {
    /// Knows nothing yet.
    pub fn new(attempts: Arc<Attempts>) -> Self {
        Self {
            attempts,
            known: Mutex::default(),
        }
    }

    /// Applies a delta. `None`: it is old news. An error says why it does not fit, or what is wrong with it.
    pub fn delta(&self, from: &Arc<State>, bytes: &Bytes) -> Result<Option<Taken>, String> {
        let mut steps = locked(&from.steps);
        if let Some(taken) = find(from, &steps, bytes) {
            return Ok(Some(taken));
        }
        let delta: DeltaIn =
            serde_json::from_slice(bytes).map_err(|error| format!("not a delta: {error}"))?;
        let delta = Delta::from(delta);
        let mut window = from.window.clone();
        if !window.apply(&delta).map_err(|gap| gap.to_string())? {
            return Ok(None);
        }
        let mut shows = Vec::new();
        for row in delta.rows() {
            let place = |window: &Window| window.rows().iter().position(|entry| entry.id == row.id);
            // A row that was outside of the window says nothing of when its attempts were made.
            if let (Some(old), Some(new)) = (place(&from.window), place(&window)) {
                let (old, new) = (&from.window.rows()[old], &window.rows()[new]);
                self.attempts.shown(old, new, &mut shows);
            }
        }
        let to = self.one(State::new(from.epoch.clone(), window));
        from.next.fetch_min(delta.version, Ordering::Relaxed);
        Ok(Some(remember(from, &mut steps, bytes, to, shows)))
    }

    /// Takes a whole board, compressed or not.
    pub fn whole(
        &self,
        from: Option<&Arc<State>>,
        bytes: &Bytes,
        gzip: bool,
    ) -> Result<Taken, String> {
        let Some(from) = from else {
            return Ok(Taken {
                to: self.read(bytes, gzip)?,
                step: None,
                merged: false,
            });
        };
        let mut steps = locked(&from.steps);
        if let Some(taken) = find(from, &steps, bytes) {
            return Ok(taken);
        }
        let to = self.read(bytes, gzip)?;
        let mut shows = Vec::new();
        if !Arc::ptr_eq(from, &to) {
            let old: HashMap<&str, &Entry> = from
                .window
                .rows()
                .iter()
                .map(|entry| (&*entry.id, entry))
                .collect();
            for new in to.window.rows() {
                if let Some(old) = old.get(&*new.id) {
                    self.attempts.shown(old, new, &mut shows);
                }
            }
        }
        Ok(remember(from, &mut steps, bytes, to, shows))
    }

    fn read(&self, bytes: &Bytes, gzip: bool) -> Result<Arc<State>, String> {
        let known = self.lock();
        if let Some((_, state)) = known.wholes.iter().rev().find(|(known, _)| known == bytes) {
            return Ok(state.clone());
        }
        drop(known);
        let unreadable = |error: &dyn std::fmt::Display| format!("not a snapshot: {error}");
        let mut json = Vec::new();
        if gzip {
            GzDecoder::new(&**bytes)
                .take(WHOLE_MAX)
                .read_to_end(&mut json)
                .map_err(|error| unreadable(&error))?;
        }
        let json = if gzip { &json } else { &**bytes };
        let snapshot: SnapshotIn =
            serde_json::from_slice(json).map_err(|error| unreadable(&error))?;
        let state = self.one(State::of(&snapshot));
        let mut known = self.lock();
        known
            .wholes
            .push_back((Bytes::copy_from_slice(bytes), state.clone()));
        if known.wholes.len() > WHOLES_KEPT {
            known.wholes.pop_front();
        }
        Ok(state)
    }

    /// The state that is equal to this one, if somebody holds it, so that viewers who came by different ways go on together.
    fn one(&self, state: State) -> Arc<State> {
        let version = state.window.version();
        let mut known = self.lock();
        let known = &mut *known;
        let alike = known.states.entry(version).or_default();
        alike.retain(|weak| weak.strong_count() > 0);
        let equal = alike
            .iter()
            .filter_map(Weak::upgrade)
            .find(|known| known.epoch == state.epoch && known.window == state.window);
        if let Some(equal) = equal {
            return equal;
        }
        let state = Arc::new(state);
        alike.push(Arc::downgrade(&state));
        known.recent.push_back(state.clone());
        let mut rows: usize = known
            .recent
            .iter()
            .map(|state| state.window.rows().len())
            .sum();
        while known.recent.len() > 2 && (known.recent.len() > STATES_KEPT || rows > ROWS_KEPT) {
            if let Some(old) = known.recent.pop_front() {
                rows -= old.window.rows().len();
            }
        }
        if known.states.len() > 4 * STATES_KEPT {
            known
                .states
                .retain(|_, alike| alike.iter().any(|weak| weak.strong_count() > 0));
        }
        state
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        locked(&self.known)
    }
}

/// What is known already of these bytes, newest first.
fn find(from: &State, steps: &VecDeque<Arc<Step>>, bytes: &Bytes) -> Option<Taken> {
    let step = steps.iter().rev().find(|step| step.bytes == bytes)?;
    Some(Taken {
        to: step.to.upgrade()?,
        merged: step.version > from.next.load(Ordering::Relaxed),
        step: Some(step.clone()),
    })
}

fn remember(
    from: &State,
    steps: &mut VecDeque<Arc<Step>>,
    bytes: &Bytes,
    to: Arc<State>,
    shows: Vec<Arc<Attempt>>,
) -> Taken {
    let step = Arc::new(Step {
        // The bytes that came may be a part of a larger buffer.
        bytes: Bytes::copy_from_slice(bytes),
        to: Arc::downgrade(&to),
        version: to.window.version(),
        shows: shows.into(),
    });
    steps.retain(|step| step.to.strong_count() > 0);
    if steps.len() >= STEPS_KEPT {
        steps.pop_front();
    }
    steps.push_back(step.clone());
    Taken {
        merged: step.version > from.next.load(Ordering::Relaxed),
        to,
        step: Some(step),
    }
}

#[cfg(test)]
mod tests;
