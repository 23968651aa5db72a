//! Lanes: the stream of frames shared by all viewers of one view and limit.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use super::edition::Seen;
use crate::{
    board::{Board, Delta, Step},
    protocol::{Frame, Limit, Message, Position},
};

/// How many frames a lane keeps for viewers that lag: 12 s of a board that changes at every tick. Older ones are brought
/// up to date from the board's own memory of changes.
pub const FRAMES_KEPT: usize = 256;

/// The largest frame, in bytes, that goes to everybody: what is larger (an opened board, a changed penalty) is fetched as a
/// whole, compressed once.
pub const FRAME_MAX: usize = 64 * 1024;

/// How many changed rows a viewer that comes back is told one by one; after more the whole board is cheaper.
pub const RESUME_ROWS_MAX: usize = 200;

/// The largest merged delta, in bytes, before a reload is cheaper for both sides.
pub const MERGED_MAX: usize = 64 * 1024;

/// How many merged deltas to where the board is now are kept for others who come from the same version.
const MERGED_KEPT: usize = 1024;

/// The stream of one view and limit. Frames hang together: each starts at the version where the one before ended.
#[derive(Debug)]
pub struct Lane {
    limit: Limit,
    /// The version of the newest frame. Later versions have changed nothing in this window, or wait in `pending`.
    head: u64,
    /// What changed since `head`, one step after the other.
    pending: Option<Delta>,
    frames: VecDeque<(Delta, Arc<Frame>)>,
    /// The last `tied_beyond` that viewers were told, and whether it was another one since.
    tied_beyond: usize,
    tied_moved: bool,
    /// No delta leads to here from an older version: it would be too large.
    whole_before: u64,
    /// What was merged for viewers that lag or come back, by the version they come from: thousands may come from the same.
    /// The first number is the board's version that they lead to.
    merged: (u64, HashMap<u64, Arc<Frame>>),
    /// What those who follow each frame have seen.
    pub(super) told: Seen,
    /// The next edition is for nobody who was there before: each needs the whole board.
    pub(super) broken: bool,
}

/// How a viewer gets to where the lane is.
#[derive(Debug)]
pub enum CatchUp {
    /// It is there.
    Nothing,
    /// By a delta to this version.
    Frame(Arc<Frame>, u64),
    /// Not by deltas: it needs the whole board.
    Whole,
}

/// What became of what waited.
#[derive(Debug)]
pub enum Flushed {
    /// Nothing in this window changed.
    Nothing,
    /// A frame for everybody, and the version where the one before ended.
    Frame(Arc<Frame>, u64),
    /// A change too large for a frame, which would have had so many bytes.
    TooLarge(usize),
}

impl Lane {
    /// A lane that starts where the board is.
    pub fn new(limit: Limit, board: &Board) -> Self {
        let tied_beyond = board.tied_beyond(limit.rows());
        Self {
            limit,
            head: board.version(),
            pending: None,
            frames: VecDeque::new(),
            tied_beyond,
            tied_moved: false,
            whole_before: 0,
            merged: (0, HashMap::new()),
            told: Seen::default(),
            broken: true,
        }
    }

    /// The version of the newest frame.
    pub fn head(&self) -> u64 {
        self.head
    }

    /// Did something change in this window since the newest frame?
    pub fn has_pending(&self) -> bool {
        self.pending.as_ref().is_some_and(|delta| !delta.is_empty())
    }

    /// Takes in a step, right after the board made it.
    pub fn absorb(&mut self, board: &Board, step: &Step) {
        let mut delta = board.step_delta(step, self.limit.rows());
        let pending = self
            .pending
            .get_or_insert_with(|| Delta::empty(self.head, self.head));
        // Versions between, if any, changed no row.
        delta.from = pending.version;
        pending.then(delta);
        self.tied_moved |= board.tied_beyond(self.limit.rows()) != self.tied_beyond;
    }

    /// Ends the stream so far: no delta leads to the board as it is now.
    pub fn restart(&mut self, board: &Board) {
        *self = Self::new(self.limit, board);
    }

    /// Makes what waits into a frame.
    pub fn flush(&mut self, board: &Board, epoch: &str) -> Flushed {
        let Some(mut delta) = self.pending.take() else {
            return Flushed::Nothing;
        };
        let tied_beyond = board.tied_beyond(self.limit.rows());
        if std::mem::take(&mut self.tied_moved) || tied_beyond != self.tied_beyond {
            delta.tied_beyond = Some(tied_beyond);
            self.tied_beyond = tied_beyond;
        }
        if delta.is_empty() {
            return Flushed::Nothing;
        }
        delta.version = board.version();
        self.head = delta.version;
        let frame = Arc::new(frame(&delta, epoch));
        let bytes = frame.json().len();
        if bytes > FRAME_MAX {
            self.frames.clear();
            self.whole_before = self.head;
            self.broken = true;
            return Flushed::TooLarge(bytes);
        }
        let from = delta.from;
        self.frames.push_back((delta, frame.clone()));
        if self.frames.len() > FRAMES_KEPT {
            self.frames.pop_front();
        }
        Flushed::Frame(frame, from)
    }

    /// How a viewer gets from its version to where the lane is.
    pub fn catch_up(&mut self, board: &Board, epoch: &str, version: u64) -> CatchUp {
        if version > board.version() || version < self.whole_before {
            return CatchUp::Whole;
        }
        if version >= self.head {
            return if board.remembers(version) {
                CatchUp::Nothing
            } else {
                CatchUp::Whole
            };
        }
        if let Some((delta, frame)) = self.frames.back()
            && delta.from <= version
        {
            return CatchUp::Frame(frame.clone(), delta.version);
        }
        let to = board.version();
        if self.merged.0 != to || self.merged.1.len() >= MERGED_KEPT {
            self.merged = (to, HashMap::new());
        }
        if let Some(frame) = self.merged.1.get(&version) {
            let reached = frame.position().map_or(to, |position| position.version);
            return CatchUp::Frame(frame.clone(), reached);
        }
        let Some(delta) = self.merge(board, version) else {
            return CatchUp::Whole;
        };
        let frame = Arc::new(frame(&delta, epoch));
        metrics::counter!("rankcast_merged_deltas_total").increment(1);
        if frame.json().len() > MERGED_MAX {
            return CatchUp::Whole;
        }
        self.merged.1.insert(version, frame.clone());
        CatchUp::Frame(frame, delta.version)
    }

    /// One delta from an older version: of the frames since then, or of what the board remembers.
    fn merge(&self, board: &Board, version: u64) -> Option<Delta> {
        let first = self
            .frames
            .partition_point(|(delta, _)| delta.version <= version);
        match self.frames.get(first) {
            Some((delta, _)) if delta.from <= version => {
                let mut merged = delta.clone();
                for (delta, _) in self.frames.range(first + 1..) {
                    merged.then(delta.clone());
                }
                Some(merged)
            }
            _ if board.changes_since(version) > RESUME_ROWS_MAX => None,
            _ => board.since(version, self.limit.rows()),
        }
    }
}

/// A delta as a frame.
fn frame(delta: &Delta, epoch: &str) -> Frame {
    let position = Position {
        epoch: epoch.to_owned(),
        version: delta.version,
    };
    Frame::new(&Message::Delta(delta), Some(position))
}
