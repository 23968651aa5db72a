//! Snapshots: a whole window, encoded and compressed once a version, whatever the number of those who ask.

use std::{
    io::Write as _,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};

use crate::{
    board::{Entry, Shape},
    contest::{Contest, ProblemLine, View},
    protocol::{
        Frame, Limit, Message, Position,
        message::{self, State, WholeRow},
    },
};

/// A window as it was at one version.
#[derive(Debug)]
pub struct Snapshot {
    /// Where it stands.
    pub position: Position,
    /// How many rows it holds at the most.
    pub limit: Limit,
    shape: Arc<Shape>,
    total: usize,
    tied_beyond: usize,
    pub(super) rows: Vec<Arc<Entry>>,
    problems: Vec<ProblemLine>,
    state: State,
    json: OnceLock<Bytes>,
    gzip: OnceLock<Bytes>,
    frame: OnceLock<Arc<Frame>>,
}

impl Snapshot {
    /// The window of a view as it is in this state of the contest.
    pub(super) fn of(
        contest: &Contest,
        view: View,
        limit: Limit,
        epoch: &str,
        state: State,
    ) -> Self {
        let board = contest.board(view);
        Self {
            position: Position {
                epoch: epoch.to_owned(),
                version: board.version(),
            },
            limit,
            shape: board.shape().clone(),
            total: board.len(),
            tied_beyond: board.tied_beyond(limit.rows()),
            rows: board.window(limit.rows()).cloned().collect(),
            problems: contest.problems(view),
            state,
            json: OnceLock::new(),
            gzip: OnceLock::new(),
            frame: OnceLock::new(),
        }
    }

    /// The snapshot message. The first call encodes.
    pub fn json(&self) -> &Bytes {
        self.json.get_or_init(|| {
            metrics::counter!("rankcast_snapshot_encodings_total").increment(1);
            Message::Snapshot(Box::new(message::Snapshot {
                epoch: &self.position.epoch,
                version: self.position.version,
                columns: &self.shape.columns,
                ids: self.shape.ids,
                ties: self.shape.ties,
                tied_beyond: self.tied_beyond,
                limit: self.limit.rows(),
                total: self.total,
                rows: self.rows.iter().map(|entry| WholeRow::of(entry)).collect(),
                problems: &self.problems,
                state: self.state.clone(),
            }))
            .encode()
        })
    }

    /// The same as a frame for live connections.
    pub fn frame(&self) -> &Arc<Frame> {
        self.frame.get_or_init(|| {
            let position = Some(self.position.clone());
            Arc::new(Frame::encoded("snapshot", self.json().clone(), position))
        })
    }

    /// The same, compressed with gzip. The first call compresses; at about 10 ms for a board of 2,554 teams it belongs on a
    /// thread that may block.
    ///
    /// # Panics
    /// Never: writing to memory cannot fail.
    pub fn gzip(&self) -> &Bytes {
        self.gzip.get_or_init(|| {
            let json = self.json();
            let mut encoder =
                GzEncoder::new(Vec::with_capacity(json.len() / 4), Compression::default());
            encoder
                .write_all(json)
                .and_then(|()| encoder.finish())
                .expect("writing to memory cannot fail")
                .into()
        })
    }
}
