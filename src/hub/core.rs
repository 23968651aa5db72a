//! The state of a followed contest: its fold, and the views on it. One task writes it; viewers and requests take short looks.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jiff::Timestamp;
use tokio::time::Instant;

use super::{
    Snapshot,
    clock::CLOCK_SOURCE,
    sources::Sources,
    sweep::Audience,
    view::{Made, Watched},
};
use crate::{
    contest::{
        self, Both, Contest, Event, Kind, Side, View, Views, awards::Award, ceremony::Progress,
        clock, event::Object,
    },
    protocol::{
        Limit,
        message::{FeedState, State, StoreState},
    },
    store::{Append, Record, Stored},
};

/// What viewers and requests read, and the contest's task alone writes.
pub struct Core {
    /// The fold up to what was read.
    pub fold: Contest,
    /// The epoch of the log with the revision of the fold: versions mean the same to all who agree on it.
    pub epoch: String,
    /// Counts the epochs that this server has seen, from 1; 0: nothing read yet.
    pub history: u64,
    pub(super) views: Views<Watched>,
    /// The contest is gone.
    pub deleted: bool,
    /// Events that could not be read, by sequence number: another version of the program wrote them.
    pub unreadable: BTreeMap<u64, String>,
    pub(super) store: StoreState,
    /// The feed that is followed, and since when it is silent.
    pub(super) feed: (FeedState, Option<String>),
    /// Who sent the events.
    pub sources: Sources,
    /// The awards by the standing of each side, at a sequence number.
    pub(super) awards: Both<Option<(u64, Arc<Vec<Award>>)>>,
    /// Where the ceremony stands, and since when this server knows.
    pub(super) conducted: Option<(Progress, Instant)>,
}

impl Core {
    /// Nothing read yet.
    pub(super) fn new(id: &str, audience: impl Fn() -> Arc<Audience>) -> Self {
        Self {
            fold: Contest::new(id),
            epoch: String::new(),
            history: 0,
            views: Views::from_fn(|view| Watched::new(view, &audience)),
            deleted: false,
            unreadable: BTreeMap::new(),
            store: StoreState::Live,
            feed: (FeedState::None, None),
            sources: Sources::default(),
            awards: Both::default(),
            conducted: None,
        }
    }

    /// Phase, clock and freshness, now.
    pub fn state(&self, view: View) -> State {
        state(&self.fold, self.freshness(), view)
    }

    /// Whether what is shown can be up to date.
    pub(super) fn freshness(&self) -> Freshness {
        Freshness {
            store: self.store,
            feed: self.feed.0,
            feed_since: self.feed.1.clone(),
        }
    }

    /// Makes editions of what waits, and has them written.
    pub(super) fn flush(&mut self, now: Instant) -> Made {
        let fresh = self.freshness();
        let fold = &self.fold;
        let history = (self.history, self.epoch.as_str());
        let flush = |view| {
            let state = || state(fold, fresh.clone(), view);
            self.views[view].flush(fold, history, now, state)
        };
        let made = View::ALL.map(flush);
        Made {
            any: made.iter().any(|made| made.any),
            again: made.iter().filter_map(|made| made.again).min(),
        }
    }

    /// The next step of a ceremony that goes by itself, and when it is due.
    pub(super) fn next_step(&mut self) -> Option<(Instant, Append)> {
        let progress = self.fold.ceremony();
        if self.conducted.map(|(progress, _)| progress) != progress {
            self.conducted = progress.map(|progress| (progress, Instant::now()));
        }
        let (progress, since) = self.conducted?;
        let pause = Duration::from_millis(progress.auto_ms?.into());
        let next = self.fold.ceremony_script().by_itself(progress)?;
        Some((since + pause, ceremony_event(Some(next), CLOCK_SOURCE)))
    }

    /// Does something wait for a sweep to end?
    pub(super) fn waits_for_sweep(&self) -> bool {
        self.views.iter().any(|(_, view)| view.waits_for_sweep)
    }

    /// The rows of the CLICS scoreboard, made once a version.
    pub fn scoreboard(&mut self, view: View) -> Arc<Vec<contest::clics::scoreboard::Row>> {
        self.views[view].scoreboard(&self.fold)
    }

    /// The awards by a side's standing, worked out once while nothing happens.
    pub fn awards(&mut self, side: Side) -> Arc<Vec<Award>> {
        let sequence = self.fold.sequence();
        match &self.awards[side] {
            Some((known, awards)) if *known == sequence => awards.clone(),
            _ => {
                let awards = Arc::new(self.fold.awards(side));
                self.awards[side] = Some((sequence, awards.clone()));
                awards
            }
        }
    }

    /// The window as it is now, encoded once a version.
    pub fn snapshot(&mut self, view: View, limit: Limit) -> Arc<Snapshot> {
        let fresh = self.freshness();
        let fold = &self.fold;
        self.views[view].snapshot(fold, &self.epoch, limit, || state(fold, fresh, view))
    }
}

/// Whether what is shown can be up to date.
#[derive(Clone, Debug)]
pub(super) struct Freshness {
    store: StoreState,
    feed: FeedState,
    feed_since: Option<String>,
}

/// Phase, clock and freshness of a state of the contest.
pub(super) fn state(fold: &Contest, fresh: Freshness, view: View) -> State {
    let status = fold.status(view);
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
        store: fresh.store,
        feed: fresh.feed,
        feed_since: fresh.feed_since,
        ceremony: status.ceremony,
    }
}

/// The event that says where a ceremony stands; `None`: there is none any more.
pub fn ceremony_event(progress: Option<Progress>, source: &str) -> Append {
    Append {
        kind: Kind::Ceremony.name().to_owned(),
        id: None,
        replaces: false,
        source: source.to_owned(),
        token: None,
        data: serde_json::json!(progress).to_string(),
    }
}

/// Folds one event of a log.
pub fn fold(contest: &mut Contest, stored: &Stored) -> Result<Views<contest::Change>, String> {
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
