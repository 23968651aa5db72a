//! Viewers: a connection is a cursor on a lane. It has no queue, so memory does not grow with slowness: one that lags gets a
//! merged delta from its cursor to now, or is told to reload.

use std::{sync::Arc, time::Duration};

use rand::RngExt as _;
use tokio::{sync::watch, time::Instant};

use super::{
    contest::Live,
    core::Core,
    edition::{Edition, Seen},
    lane::CatchUp,
};
use crate::{
    board::{Id, Values},
    contest::View,
    protocol::{Close, Frame, Limit, Message, Position, message::Followed},
};

/// The largest snapshot, in bytes of JSON, that goes through a socket. Larger ones are fetched over HTTP, where they are
/// compressed once for all: thousands of large writes would hold up everybody else's small ones. Of the views that need a key
/// all go through the socket.
pub const SNAPSHOT_INLINE_MAX: usize = 32 * 1024;

/// How many members a viewer may follow.
pub const FOLLOW_MAX: usize = 5;

/// How often the followed rows are looked at, at the most: twice as often as sockets are visited for it, so that no visit
/// comes too early.
pub const FOLLOW_EVERY: Duration = Duration::from_millis(500);

/// Reloads after an event that concerns everybody are spread over this much time a thousand viewers, in ms.
pub const RELOAD_SPREAD_MS_PER_THOUSAND: u64 = 500;

/// The state that a viewer which was told none has seen.
const NO_STATE: u64 = u64::MAX;

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
    pub view: View,
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
    view: View,
    limit: Limit,
    seen: Seen,
    /// For the few who follow members wherever they stand.
    follow: Option<Box<Follow>>,
}

/// What somebody who follows members was told of them.
struct Follow {
    ids: Vec<Id>,
    told: Vec<Followed>,
    at: Option<Instant>,
    /// In which history, and at which version.
    version: Option<(u64, u64)>,
}

impl Viewer {
    pub(super) fn new(live: Arc<Live>, request: Request) -> Self {
        live.viewers(1);
        let core = live.core();
        let since = request
            .since
            .filter(|since| since.epoch == core.epoch)
            // Where somebody resumes says nothing of the problems that it was told: their messages come later than rows.
            .map(|since| Seen {
                history: core.history,
                version: since.version,
                ..Seen::default()
            });
        drop(core);
        let follow = (!request.follow.is_empty()).then(|| {
            Box::new(Follow {
                ids: request.follow,
                told: Vec::new(),
                at: None,
                version: None,
            })
        });
        Self {
            live,
            view: request.view,
            limit: request.limit,
            seen: Seen {
                state: NO_STATE,
                ..since.unwrap_or_default()
            },
            follow,
        }
    }

    /// Which view it watches.
    pub fn view(&self) -> View {
        self.view
    }

    /// How much of it.
    pub fn limit(&self) -> Limit {
        self.limit
    }

    /// Does it follow members?
    pub fn follows(&self) -> bool {
        self.follow.is_some()
    }

    /// The message that says how things are: fresh clock, phase, connection to the store.
    pub fn state(&self) -> Frame {
        self.state_in(&self.live.core())
    }

    /// The same, for whoever looks at the core already.
    fn state_in(&self, core: &Core) -> Frame {
        let position = (self.seen.history == core.history).then(|| Position {
            epoch: core.epoch.clone(),
            version: self.seen.version,
        });
        Frame::new(&Message::State(Box::new(core.state(self.view))), position)
    }

    /// Has it been told all that an edition says?
    pub(super) fn knows(&self, edition: &Edition) -> bool {
        edition.is_known(&self.seen)
    }

    /// Takes an edition, if it leads on from where this viewer stands: then its messages are to be sent.
    pub(super) fn take(&mut self, edition: &Edition) -> bool {
        match edition.takes(&self.seen) {
            Some(seen) => {
                self.seen = seen;
                true
            }
            None => false,
        }
    }

    /// The next message, if there is one.
    pub(super) fn poll(&mut self) -> Option<Next> {
        let live = self.live.clone();
        let mut core = live.core();
        let core = &mut *core;
        if core.deleted {
            return Some(Next::Close(Close::Deleted));
        }
        let watched = &mut core.views[self.view];
        let revision = watched.state_revision();
        if std::mem::replace(&mut self.seen.state, revision) != revision {
            return Some(Next::Frame(Arc::new(self.state_in(core))));
        }
        let catch_up = if self.seen.history == core.history && core.history != 0 {
            watched.catch_up(&core.fold, &core.epoch, self.limit, self.seen.version)
        } else {
            CatchUp::Whole
        };
        match catch_up {
            CatchUp::Nothing => {}
            CatchUp::Frame(frame, version) => {
                self.seen.version = version;
                return Some(Next::Frame(frame));
            }
            CatchUp::Whole => return Some(self.whole(core)),
        }
        let told = watched.problems_told();
        if told > self.seen.problems
            && let Some(frame) =
                watched.problems_for(&core.fold, std::mem::replace(&mut self.seen.problems, told))
        {
            return Some(Next::Frame(frame));
        }
        self.follow(core).map(|frame| Next::Frame(Arc::new(frame)))
    }

    /// The whole board: through the socket if it is small, else over HTTP.
    fn whole(&mut self, core: &mut Core) -> Next {
        let snapshot = core.snapshot(self.view, self.limit);
        let position = &snapshot.position;
        let first = self.seen.history == 0;
        self.seen = Seen {
            history: core.history,
            version: position.version,
            problems: position.version,
            ..self.seen
        };
        if let Some(follow) = &mut self.follow {
            follow.version = None;
            follow.told.clear();
        }
        // Whoever came with a ticket could not fetch it, and those are few.
        if self.view != View::Public
            || (snapshot.rows.len() <= SNAPSHOT_INLINE_MAX / 100
                && snapshot.json().len() <= SNAPSHOT_INLINE_MAX)
        {
            return Next::Frame(snapshot.frame().clone());
        }
        let spread = self.live.viewer_count() as u64 * RELOAD_SPREAD_MS_PER_THOUSAND / 1000;
        let retry_ms = if first {
            0
        } else {
            rand::rng().random_range(0..=spread)
        };
        metrics::counter!("rankcast_reloads_total").increment(1);
        Next::Frame(Arc::new(Frame::new(
            &Message::Reload {
                epoch: &position.epoch,
                version: position.version,
                retry_ms,
            },
            None,
        )))
    }

    /// When to look at the followed rows again, if a change waits for it.
    fn followed_later(&self) -> Option<Instant> {
        let follow = self.follow.as_ref()?;
        let at = follow.at? + FOLLOW_EVERY;
        let core = self.live.core();
        let version = (core.history, core.fold.board(self.view).version());
        (follow.version != Some(version)).then_some(at)
    }

    fn follow(&mut self, core: &mut Core) -> Option<Frame> {
        let follow = self.follow.as_mut()?;
        let version = core.fold.board(self.view).version();
        let early = follow.at.is_some_and(|at| at.elapsed() < FOLLOW_EVERY);
        if early || follow.version == Some((core.history, version)) {
            return None;
        }
        follow.at = Some(Instant::now());
        follow.version = Some((core.history, version));
        let ranks = core.views[self.view].ranks(&core.fold);
        let board = core.fold.board(self.view);
        let row = |id: &Id| {
            let values: Option<Values> = board.get(id).map(|entry| entry.values);
            let rank = board
                .position(id)
                .and_then(|position| ranks.get(position).copied().flatten());
            Followed {
                id: id.clone(),
                values,
                rank,
            }
        };
        let rows: Vec<Followed> = follow.ids.iter().map(row).collect();
        let changed: Vec<Followed> = rows
            .iter()
            .filter(|row| !follow.told.contains(row))
            .cloned()
            .collect();
        follow.told = rows;
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

/// A viewer that waits for each message by itself: server-sent events.
pub struct Watching {
    viewer: Viewer,
    wake: watch::Receiver<u64>,
}

impl Watching {
    pub(super) fn new(viewer: Viewer, wake: watch::Receiver<u64>) -> Self {
        Self { viewer, wake }
    }

    /// The message that says how things are.
    pub fn state(&self) -> Frame {
        self.viewer.state()
    }

    /// Waits for the next message. Safe to drop while it waits: nothing is lost.
    pub async fn next(&mut self) -> Next {
        loop {
            // Seen before looking, so that whatever comes while we look wakes us.
            self.wake.mark_unchanged();
            if let Some(next) = self.viewer.poll() {
                return next;
            }
            let later = self.viewer.followed_later();
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
}
