//! Lanes: the stream of frames shared by all viewers of one view and limit.

use std::{collections::VecDeque, sync::Arc};

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
}

/// How a viewer gets to where the lane is.
#[derive(Debug)]
pub enum CatchUp {
    /// It is there.
    Nothing,
    /// By the newest frame, which everybody gets.
    Frame(Arc<Frame>, u64),
    /// By a delta of its own.
    Merged(Delta),
    /// Not by deltas: it needs the whole board.
    Whole,
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
        }
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

    /// Makes what waits into a frame. Answers its length in bytes; `None` if nothing in this window changed.
    pub fn flush(&mut self, board: &Board, epoch: &str) -> Option<usize> {
        let mut delta = self.pending.take()?;
        let tied_beyond = board.tied_beyond(self.limit.rows());
        if std::mem::take(&mut self.tied_moved) || tied_beyond != self.tied_beyond {
            delta.tied_beyond = Some(tied_beyond);
            self.tied_beyond = tied_beyond;
        }
        if delta.is_empty() {
            return None;
        }
        delta.version = board.version();
        self.head = delta.version;
        let frame = frame(&delta, epoch);
        let bytes = frame.json().len();
        if bytes > FRAME_MAX {
            self.frames.clear();
            self.whole_before = self.head;
            return Some(bytes);
        }
        self.frames.push_back((delta, Arc::new(frame)));
        if self.frames.len() > FRAMES_KEPT {
            self.frames.pop_front();
        }
        Some(bytes)
    }

    /// How a viewer gets from its version to where the lane is.
    pub fn catch_up(&self, board: &Board, version: u64) -> CatchUp {
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
        let first = self
            .frames
            .partition_point(|(delta, _)| delta.version <= version);
        match self.frames.get(first) {
            Some((delta, frame)) if delta.from <= version => {
                if first + 1 == self.frames.len() {
                    return CatchUp::Frame(frame.clone(), delta.version);
                }
                let mut merged = delta.clone();
                for (delta, _) in self.frames.range(first + 1..) {
                    merged.then(delta.clone());
                }
                CatchUp::Merged(merged)
            }
            _ if board.changes_since(version) > RESUME_ROWS_MAX => CatchUp::Whole,
            _ => board
                .since(version, self.limit.rows())
                .map_or(CatchUp::Whole, CatchUp::Merged),
        }
    }
}

/// A delta as a frame.
pub fn frame(delta: &Delta, epoch: &str) -> Frame {
    let position = Position {
        epoch: epoch.to_owned(),
        version: delta.version,
    };
    Frame::new(&Message::Delta(delta), Some(position))
}
