//! What all viewers share, and where each of them can be seen.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use rand::RngExt as _;
use tokio::{
    sync::Semaphore,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::{
    locked,
    place::Net,
    state::{Lane, State},
    tally::Tally,
};
use crate::protocol::Limit;

/// What all viewers share.
pub struct Stage {
    /// The servers.
    pub net: Net,
    /// `/api/contests/x`
    pub path: String,
    /// The boards, by limit.
    pub lanes: [Lane; Limit::ALL.len()],
    /// What is counted.
    pub tally: Tally,
    /// Cancelled, and another one put in its place, when all viewers are to drop their connections.
    pub wave: Mutex<CancellationToken>,
    /// They come back within this time.
    pub wave_within: Duration,
    /// Cancelled when everybody is to read all that there is.
    pub settling: CancellationToken,
    /// Of a slow viewer's sleep: no longer than this, so that a short test sees it wake.
    pub asleep_max: Duration,
    /// Of fetched boards.
    pub fetches: Semaphore,
    /// The last problems message that was found to be one, by limit: it is the same for all.
    pub problems: Mutex<[Bytes; Limit::ALL.len()]>,
}

impl Stage {
    /// The boards of those who watch so much.
    pub fn lane(&self, limit: Limit) -> &Lane {
        &self.lanes[limit.index()]
    }

    /// Cancelled when all are to drop their connections.
    pub fn wave(&self) -> CancellationToken {
        locked(&self.wave).clone()
    }

    /// Drops all connections.
    pub fn drop_all(&self) {
        let next = CancellationToken::new();
        let wave = std::mem::replace(&mut *locked(&self.wave), next);
        wave.cancel();
    }
}

/// What a viewer is, and where others can see how it is doing.
pub struct Seat {
    /// Its number.
    pub index: usize,
    /// How much of the board it watches.
    pub limit: Limit,
    /// By server-sent events.
    pub events: bool,
    /// It stops reading for long stretches.
    pub slow: bool,
    held: Mutex<Held>,
}

/// What a viewer has.
#[derive(Clone, Default)]
pub struct Held {
    /// The board.
    pub state: Option<Arc<State>>,
    /// It is connected, and not fetching a board.
    pub following: bool,
}

impl Seat {
    /// A viewer that has nothing yet.
    pub fn new(index: usize, limit: Limit, events: bool, slow: bool) -> Self {
        Self {
            index,
            limit,
            events,
            slow,
            held: Mutex::default(),
        }
    }

    /// What it has now.
    pub fn held(&self) -> Held {
        locked(&self.held).clone()
    }

    /// It has a board now, or another one; it follows it, or does not.
    pub fn hold(&self, state: Option<&Arc<State>>, following: bool) {
        let mut held = locked(&self.held);
        if let Some(state) = state {
            held.state = Some(state.clone());
        }
        held.following = following;
    }
}

/// A time between two.
pub fn random(from: Duration, to: Duration) -> Duration {
    if from >= to {
        return from;
    }
    rand::rng().random_range(from..to)
}

/// When the viewer with this number comes, if so many come in a second.
pub async fn turn(start: Instant, index: usize, rate: f64) {
    sleep_until(start + Duration::from_secs_f64(index as f64 / rate)).await;
}
