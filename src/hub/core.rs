//! The state of a followed contest: its fold, and the views on it. One task writes it; viewers and requests take short looks.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use tokio::time::Instant;

use super::{Snapshot, clock::CLOCK_SOURCE, sweep::Audience, view::View};
use crate::{
    contest::{self, Both, Contest, Event, Kind, Side, clock, event::Object},
    protocol::{
        Limit,
        message::{FeedState, State, StoreState},
    },
    store::{Record, Stored},
};

/// What viewers and requests read, and the contest's task alone writes.
pub struct Core {
    /// The fold up to what was read.
    pub fold: Contest,
    /// The epoch of the log with the revision of the fold: versions mean the same to all who agree on it.
    pub epoch: String,
    /// Counts the epochs that this server has seen, from 1; 0: nothing read yet.
    pub history: u64,
    pub(super) views: Both<View>,
    /// The contest is gone.
    pub deleted: bool,
    /// Events that could not be read, by sequence number: another version of the program wrote them.
    pub unreadable: BTreeMap<u64, String>,
    pub(super) store: StoreState,
}

impl Core {
    /// Nothing read yet.
    pub(super) fn new(id: &str, audience: impl Fn() -> Arc<Audience>) -> Self {
        Self {
            fold: Contest::new(id),
            epoch: String::new(),
            history: 0,
            views: Both::from_fn(|side| View::new(side, &audience)),
            deleted: false,
            unreadable: BTreeMap::new(),
            store: StoreState::Live,
        }
    }

    /// Phase, clock and freshness, now.
    pub fn state(&self, side: Side) -> State {
        state(&self.fold, self.store, side)
    }

    /// Makes editions of what waits, and has them written. Answers when to flush again, if something waits for a time.
    pub(super) fn flush(&mut self, now: Instant) -> Option<Instant> {
        let (fold, store) = (&self.fold, self.store);
        let history = (self.history, self.epoch.as_str());
        let flush = |side| {
            let state = || state(fold, store, side);
            self.views[side].flush(fold, history, now, state)
        };
        Side::ALL.into_iter().filter_map(flush).min()
    }

    /// Does something wait for a sweep to end?
    pub(super) fn waits_for_sweep(&self) -> bool {
        self.views.iter().any(|(_, view)| view.waits_for_sweep)
    }

    /// The rows of the CLICS scoreboard, made once a version.
    pub fn scoreboard(&mut self, side: Side) -> Arc<Vec<contest::clics::Row>> {
        self.views[side].scoreboard(&self.fold)
    }

    /// The window as it is now, encoded once a version.
    pub fn snapshot(&mut self, side: Side, limit: Limit) -> Arc<Snapshot> {
        let (fold, store) = (&self.fold, self.store);
        self.views[side].snapshot(fold, &self.epoch, limit, || state(fold, store, side))
    }
}

fn state(fold: &Contest, store: StoreState, side: Side) -> State {
    let status = fold.status(side);
    State {
        name: status
            .formal_name
            .or(Some(status.name))
            .filter(|name| !name.is_empty())
            .unwrap_or_else(|| fold.id().to_owned()),
        phase: status.phase,
        start_time: status.start.map(clock::format_instant),
        duration_ms: status.duration,
        freeze_ms: status.freeze,
        countdown_pause_ms: status.countdown_pause,
        now: clock::format_instant(Timestamp::now().as_millisecond()),
        store,
        feed: FeedState::None,
        feed_since: None,
    }
}

/// Folds one event of a log.
pub fn fold(contest: &mut Contest, stored: &Stored) -> Result<Both<contest::Change>, String> {
    let event = read(&stored.record)?;
    let from_clock =
        stored.record.source == CLOCK_SOURCE && matches!(event, Event::Put(Object::State(_)));
    Ok(contest.fold(stored.sequence, &event, from_clock))
}

fn read(record: &Record) -> Result<Event, String> {
    if Kind::of(&record.kind) == Kind::Other {
        return Ok(Event::Other);
    }
    let data = serde_json::from_str(record.data.get()).map_err(|error| error.to_string())?;
    Event::read(&record.kind, record.id.as_deref(), &data).map_err(|error| error.to_string())
}
