//! A viewer over a real socket: holds a window, and follows the protocol to the letter.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::StreamExt as _;
use rankcast::{
    board::{Delta, Window},
    contest::ProblemLine,
    protocol::message::{DeltaIn, SnapshotIn},
};
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio_tungstenite::{
    connect_async_with_config,
    tungstenite::{Message, protocol::WebSocketConfig},
};

use super::server::http;

/// What a viewer does, besides watching.
#[derive(Clone, Debug, Default)]
pub(crate) struct Habits {
    /// After so many messages it hangs up, and resumes by its position on the next server.
    pub(crate) hop_after: Option<usize>,
    /// It takes so long for each message.
    pub(crate) slowness: Duration,
}

/// What a viewer has, and what it has seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) window: Option<Window>,
    pub(crate) epoch: String,
    /// The problems as it was told of them, and at which version.
    pub(crate) problems: Vec<ProblemLine>,
    pub(crate) problems_version: u64,
    pub(crate) deltas: usize,
    /// Whole boards after the first.
    pub(crate) wholes: usize,
    pub(crate) hops: usize,
    /// The code of the last close frame.
    pub(crate) closed: Option<u16>,
    pub(crate) states: Vec<Value>,
    pub(crate) follows: Vec<Value>,
    pub(crate) byes: usize,
    /// What broke the protocol: nothing may.
    pub(crate) faults: Vec<String>,
}

/// A viewer at work.
pub(crate) struct Viewer {
    pub(crate) seen: Arc<Mutex<Seen>>,
    task: JoinHandle<()>,
}

impl Viewer {
    /// Starts to watch `path` (`/api/contests/x`) with the query (`view=…&limit=…`) on the first of some servers.
    pub(crate) fn watch(bases: Vec<String>, path: &str, query: &str, habits: Habits) -> Self {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let at = format!("{path}/live?{query}");
        let board = format!("{path}/board?{query}");
        let task = tokio::spawn(run(bases, at, board, habits, seen.clone()));
        Self { seen, task }
    }

    /// Looks at what it has.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&Seen) -> T) -> T {
        look(&self.seen.lock().expect("no panic under the lock"))
    }

    /// Does it have exactly this board, and was nothing wrong on the way?
    pub(crate) fn has(&self, board: &SnapshotIn) -> bool {
        self.look(|seen| {
            assert!(seen.faults.is_empty(), "{:?}", seen.faults);
            let expected = board.window();
            seen.epoch == board.epoch
                && seen.problems == board.problems
                && seen.window.as_ref().is_some_and(|window| {
                    window.rows() == expected.rows()
                        && window.total() == expected.total()
                        && window.ranks() == expected.ranks()
                })
        })
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn run(
    bases: Vec<String>,
    live: String,
    board: String,
    habits: Habits,
    seen: Arc<Mutex<Seen>>,
) {
    for turn in 0.. {
        let base = &bases[turn % bases.len()];
        connection(base, &live, &board, &habits, &seen).await;
        let closed = seen.lock().expect("no panic under the lock").closed;
        if closed.is_some_and(|code| (4400..4405).contains(&code) || code == 4410) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn connection(base: &str, live: &str, board: &str, habits: &Habits, seen: &Arc<Mutex<Seen>>) {
    let position = {
        let seen = seen.lock().expect("no panic under the lock");
        seen.window
            .as_ref()
            .map(|window| format!("&since={}-{}", seen.epoch, window.version()))
    };
    let url = format!(
        "{}{live}{}",
        base.replacen("http", "ws", 1),
        position.unwrap_or_default()
    );
    let config = WebSocketConfig::default().read_buffer_size(4096);
    let Ok((mut socket, _)) = connect_async_with_config(url, Some(config), true).await else {
        return;
    };
    let mut count = 0;
    // Deltas that came while a whole board was being fetched are kept by the socket itself: we fetch before reading on.
    while let Some(Ok(message)) = socket.next().await {
        match message {
            Message::Text(text) => {
                let message: Value = serde_json::from_str(&text).expect("JSON");
                let reload = take(&message, seen);
                if let Some((min, after)) = reload {
                    tokio::time::sleep(after).await;
                    let Ok(answer) = http().get(format!("{base}{board}&min={min}")).send().await
                    else {
                        return;
                    };
                    let Ok(bytes) = answer.bytes().await else {
                        return;
                    };
                    let snapshot: Value = serde_json::from_slice(&bytes).expect("JSON");
                    take(&snapshot, seen);
                }
            }
            Message::Close(frame) => {
                seen.lock().expect("no panic under the lock").closed =
                    frame.map(|frame| frame.code.into());
            }
            _ => {}
        }
        count += 1;
        if habits.hop_after.is_some_and(|after| count >= after) {
            seen.lock().expect("no panic under the lock").hops += 1;
            return;
        }
        tokio::time::sleep(habits.slowness).await;
    }
}

/// Takes a message in. Answers what to fetch, and after which time.
fn take(message: &Value, seen: &Arc<Mutex<Seen>>) -> Option<(String, Duration)> {
    let mut seen = seen.lock().expect("no panic under the lock");
    let seen = &mut *seen;
    match message["type"].as_str() {
        Some("snapshot") => {
            let snapshot: SnapshotIn = serde_json::from_value(message.clone()).expect("a snapshot");
            if seen.window.is_some() {
                seen.wholes += 1;
            }
            seen.window = Some(snapshot.window());
            seen.problems = snapshot.problems;
            seen.problems_version = snapshot.version;
            seen.epoch = snapshot.epoch;
        }
        Some("delta") => {
            let delta: DeltaIn = serde_json::from_value(message.clone()).expect("a delta");
            let delta: Delta = delta.into();
            seen.deltas += 1;
            match &mut seen.window {
                None => seen
                    .faults
                    .push(format!("a delta before a window: {message}")),
                Some(window) => {
                    if let Err(gap) = window.apply(&delta) {
                        seen.faults.push(gap.to_string());
                    }
                }
            }
        }
        Some("reload") => {
            let min = format!("{}-{}", message["epoch"].as_str()?, message["version"]);
            return Some((min, Duration::from_millis(message["retry_ms"].as_u64()?)));
        }
        Some("state") => seen.states.push(message.clone()),
        Some("follow") => seen.follows.push(message.clone()),
        Some("bye") => seen.byes += 1,
        Some("problems") => {
            let version = message["version"].as_u64().expect("a version");
            let lines: Vec<ProblemLine> =
                serde_json::from_value(message["problems"].clone()).expect("problems");
            if version >= seen.problems_version {
                seen.problems_version = version;
                for line in lines {
                    match seen.problems.iter_mut().find(|known| known.id == line.id) {
                        Some(known) => *known = line,
                        None => seen.faults.push(format!("an unknown problem: {message}")),
                    }
                }
            }
        }
        _ => seen.faults.push(format!("an unknown message: {message}")),
    }
    None
}
