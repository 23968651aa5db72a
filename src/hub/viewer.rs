//! Viewers: a connection is a cursor on a lane. It has no queue, so memory does not grow with slowness: one that lags gets a
//! merged delta from its cursor to now, or is told to reload.

use std::{sync::Arc, time::Duration};

use rand::RngExt as _;
use tokio::{sync::watch, time::Instant};

use super::{
    contest::Live,
    lane::{self, CatchUp},
};
use crate::{
    board::{Id, Values},
    contest::Side,
    protocol::{Close, Frame, Limit, Message, Position, message::Followed},
};

/// The largest snapshot, in bytes of JSON, that goes through a socket. Larger ones are fetched over HTTP, where they are
/// compressed once for all: thousands of large writes would hold up everybody else's small ones.
pub const SNAPSHOT_INLINE_MAX: usize = 32 * 1024;

/// The largest merged delta, in bytes, before a reload is cheaper for both sides.
pub const MERGED_MAX: usize = 64 * 1024;

/// How many members a viewer may follow.
pub const FOLLOW_MAX: usize = 5;

/// How often the followed rows are looked at, at the most.
pub const FOLLOW_EVERY: Duration = Duration::from_secs(1);

/// Reloads after an event that concerns everybody are spread over this much time a thousand viewers, in ms.
pub const RELOAD_SPREAD_MS_PER_THOUSAND: u64 = 500;

/// What a viewer gets next.
#[derive(Debug)]
pub enum Next {
    /// A message.
    Frame(Arc<Frame>),
    /// The end.
    Close(Close),
}

/// What a viewer asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// Which view.
    pub side: Side,
    /// How many rows.
    pub limit: Limit,
    /// Where it stands already.
    pub since: Option<Position>,
    /// Members to follow wherever they stand.
    pub follow: Vec<Id>,
}

/// A connection: what it was told last.
pub struct Viewer {
    live: Arc<Live>,
    request: Request,
    wake: watch::Receiver<u64>,
    /// The epoch and version of its window; `None`: it has none yet.
    cursor: Option<Position>,
    /// The version of the problems that it was told of.
    problems: u64,
    state_revision: Option<u64>,
    followed: Vec<Followed>,
    followed_at: Option<Instant>,
    followed_version: Option<u64>,
}

impl Viewer {
    pub(super) fn new(live: Arc<Live>, request: Request, wake: watch::Receiver<u64>) -> Self {
        live.viewers(1);
        Self {
            live,
            cursor: request.since.clone(),
            // Where somebody resumes says nothing of the problems that it was told: their messages come later than rows.
            problems: 0,
            request,
            wake,
            state_revision: None,
            followed: Vec::new(),
            followed_at: None,
            followed_version: None,
        }
    }

    /// Where it stands.
    pub fn position(&self) -> Option<&Position> {
        self.cursor.as_ref()
    }

    /// Waits for the next message. Safe to drop while it waits: nothing is lost.
    pub async fn next(&mut self) -> Next {
        loop {
            // Seen before looking, so that whatever comes while we look wakes us.
            self.wake.mark_unchanged();
            if let Some(next) = self.poll() {
                return next;
            }
            let later = self.followed_later();
            tokio::select! {
                changed = self.wake.changed() => {
                    if changed.is_err() {
                        return Next::Close(Close::Restarting);
                    }
                }
                () = async { tokio::time::sleep_until(later.unwrap_or_else(Instant::now)).await }, if later.is_some() => {}
            }
        }
    }

    /// The message that says how things are: fresh clock, phase, connection to the store.
    pub fn state(&self) -> Frame {
        Frame::new(
            &Message::State(self.live.state(self.request.side)),
            self.cursor.clone(),
        )
    }

    fn poll(&mut self) -> Option<Next> {
        let live = self.live.clone();
        let mut core = live.core();
        if core.deleted {
            return Some(Next::Close(Close::Deleted));
        }
        let side = self.request.side;
        let revision = core.views[side].state_revision();
        if self.state_revision.replace(revision) != Some(revision) {
            let state = core.state(side);
            let frame = Frame::new(&Message::State(state), self.cursor.clone());
            return Some(Next::Frame(Arc::new(frame)));
        }
        let (epoch, limit) = (core.epoch.clone(), self.request.limit);
        let version = self
            .cursor
            .as_ref()
            .filter(|cursor| cursor.epoch == epoch)
            .map(|cursor| cursor.version);
        let catch_up = version.map_or(CatchUp::Whole, |version| {
            core.views[side].catch_up(&core.fold, limit, version)
        });
        match catch_up {
            CatchUp::Nothing => {}
            CatchUp::Frame(frame, version) => {
                self.cursor = Some(Position { epoch, version });
                return Some(Next::Frame(frame));
            }
            CatchUp::Merged(delta) => {
                let frame = lane::frame(&delta, &epoch);
                if frame.json().len() <= MERGED_MAX {
                    metrics::counter!("rankcast_merged_deltas_total").increment(1);
                    self.cursor = Some(Position {
                        epoch,
                        version: delta.version,
                    });
                    return Some(Next::Frame(Arc::new(frame)));
                }
                return Some(self.whole(&mut core));
            }
            CatchUp::Whole => return Some(self.whole(&mut core)),
        }
        if let Some((frame, told)) = core.views[side].problems_for(&core.fold, self.problems) {
            self.problems = told;
            return Some(Next::Frame(frame));
        }
        self.follow(&mut core)
            .map(|frame| Next::Frame(Arc::new(frame)))
    }

    /// The whole board: through the socket if it is small, else over HTTP.
    fn whole(&mut self, core: &mut super::core::Core) -> Next {
        let snapshot = core.snapshot(self.request.side, self.request.limit);
        let position = snapshot.position.clone();
        self.problems = position.version;
        let small = snapshot.rows.len() <= SNAPSHOT_INLINE_MAX / 100
            && snapshot.json().len() <= SNAPSHOT_INLINE_MAX;
        let frame = if small {
            Frame::encoded("snapshot", snapshot.json().clone(), Some(position.clone()))
        } else {
            let spread = self.live.viewer_count() as u64 * RELOAD_SPREAD_MS_PER_THOUSAND / 1000;
            let retry_ms = if self.cursor.is_some() {
                rand::rng().random_range(0..=spread)
            } else {
                0
            };
            metrics::counter!("rankcast_reloads_total").increment(1);
            Frame::new(
                &Message::Reload {
                    epoch: &position.epoch,
                    version: position.version,
                    retry_ms,
                },
                None,
            )
        };
        self.cursor = Some(position);
        Next::Frame(Arc::new(frame))
    }

    /// When to look at the followed rows again, if a change waits for it.
    fn followed_later(&self) -> Option<Instant> {
        let at = self.followed_at? + FOLLOW_EVERY;
        let version = self.live.core().fold.board(self.request.side).version();
        (self.followed_version != Some(version)).then_some(at)
    }

    fn follow(&mut self, core: &mut super::core::Core) -> Option<Frame> {
        if self.request.follow.is_empty() {
            return None;
        }
        let side = self.request.side;
        let version = core.fold.board(side).version();
        let early = self
            .followed_at
            .is_some_and(|at| at.elapsed() < FOLLOW_EVERY);
        if early || self.followed_version == Some(version) {
            return None;
        }
        self.followed_at = Some(Instant::now());
        self.followed_version = Some(version);
        let ranks = core.views[side].ranks(&core.fold);
        let board = core.fold.board(side);
        let rows: Vec<Followed> = self
            .request
            .follow
            .iter()
            .map(|id| {
                let values: Option<Values> = board.get(id).map(|entry| entry.values);
                let rank = board.position(id).and_then(|position| ranks[position]);
                Followed {
                    id: id.clone(),
                    values,
                    rank,
                }
            })
            .collect();
        let changed: Vec<Followed> = rows
            .iter()
            .filter(|row| !self.followed.contains(row))
            .cloned()
            .collect();
        self.followed = rows;
        (!changed.is_empty()).then(|| {
            Frame::new(
                &Message::Follow {
                    version,
                    rows: changed,
                },
                None,
            )
        })
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        self.live.viewers(-1);
    }
}
