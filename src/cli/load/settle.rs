//! The end of a test: has every viewer what is served, and is that what was posted?

use std::{collections::HashMap, sync::Arc, time::Duration};

use tokio::time::{Instant, sleep};

use super::{
    stage::{Seat, Stage},
    state::State,
};
use crate::protocol::{Limit, message::SnapshotIn};

/// How often it is looked whether all viewers are there.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// How the viewers stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Viewers that are connected and have exactly the board that is served, with its ranks.
    pub exact: usize,
    /// All of them.
    pub of: usize,
    /// Of those that are not exact: how many are not connected, or are fetching a board.
    pub away: usize,
    /// Attempts that the board shows; `None`: no server gave it.
    pub shown: Option<u64>,
}

/// Waits until all viewers have the final boards, or time is up. `accepted`: so many attempts have to be shown.
pub async fn settle(
    stage: &Stage,
    seats: &[Arc<Seat>],
    accepted: Option<u64>,
    patience: Duration,
) -> Standing {
    let deadline = Instant::now() + patience;
    loop {
        // Asked for anew each time: a server may have been away, or behind.
        let standing = compare(stage, seats).await;
        let all_shown = accepted.is_none() || standing.shown == accepted;
        if all_shown && standing.exact == standing.of || Instant::now() >= deadline {
            return standing;
        }
        sleep(LOOK_AGAIN).await;
    }
}

async fn compare(stage: &Stage, seats: &[Arc<Seat>]) -> Standing {
    let mut finals: HashMap<&str, Option<State>> = HashMap::new();
    // The whole board, to count what it shows.
    let all = newest(stage, Limit::All).await;
    let shown = all.as_ref().map(|all| {
        let cells = all
            .window()
            .rows()
            .iter()
            .flat_map(|row| row.cells.values());
        cells.map(|cell| u64::from(cell.tries)).sum()
    });
    finals.insert(Limit::All.name(), all);
    let mut result = Standing {
        of: seats.len(),
        shown,
        ..Standing::default()
    };
    // Many viewers share a state: each is compared once.
    let mut compared: HashMap<*const State, (Arc<State>, bool)> = HashMap::new();
    for seat in seats {
        let limit = seat.limit.name();
        if !finals.contains_key(limit) {
            finals.insert(limit, newest(stage, seat.limit).await);
        }
        let held = seat.held();
        if !held.following {
            result.away += 1;
            continue;
        }
        let (Some(mine), Some(board)) = (&held.state, &finals[limit]) else {
            continue;
        };
        let (_, exact) = compared
            .entry(Arc::as_ptr(mine))
            .or_insert_with(|| (mine.clone(), mine.shows(board)));
        result.exact += usize::from(*exact);
    }
    result
}

/// The newest board that any of the servers has.
async fn newest(stage: &Stage, limit: Limit) -> Option<State> {
    let mut newest: Option<State> = None;
    for place in &stage.net.places {
        let url = format!("{}{}/board?limit={}", place.base, stage.path, limit.name());
        let Ok(answer) = stage.net.http.get(url).send().await else {
            continue;
        };
        let Ok(bytes) = answer.bytes().await else {
            continue;
        };
        let Ok(snapshot) = serde_json::from_slice::<SnapshotIn>(&bytes) else {
            continue;
        };
        let version = newest.as_ref().map(|state| state.window().version());
        if version.is_none_or(|version| snapshot.version > version) {
            newest = Some(State::of(&snapshot));
        }
    }
    newest
}
