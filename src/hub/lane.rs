//! Lanes: the stream of frames shared by all viewers of one view and limit.

use std::{collections::VecDeque, sync::Arc};

use crate::{
    board::{Board, Delta, Step},
    protocol::{Frame, Limit, Message, Position},
};

/// How many frames a lane keeps for viewers that lag: 12 s of a board that changes at every tick. Older ones are brought
/// up to date from the board's own memory of changes.
pub const FRAMES_KEPT: usize = 256;

/// The stream of one view and limit. Frames hang together: each starts at the version where the one before ended.
#[derive(Debug)]
pub struct Lane {
    limit: Limit,
    /// The version of the newest frame. Later versions have changed nothing in this window, or wait in `pending`.
    head: u64,
    /// What changed since `head`, one step after the other.
    pending: Option<Delta>,
    frames: VecDeque<(Delta, Arc<Frame>)>,
    /// The last `tied_beyond` that viewers were told.
    tied_beyond: usize,
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
    }

    /// Ends the stream so far: no delta leads to the board as it is now.
    pub fn restart(&mut self, board: &Board) {
        *self = Self::new(self.limit, board);
    }

    /// Makes what waits into a frame. Answers its length in bytes; `None` if nothing in this window changed.
    pub fn flush(&mut self, board: &Board, epoch: &str) -> Option<usize> {
        let mut delta = self.pending.take()?;
        let tied_beyond = board.tied_beyond(self.limit.rows());
        if tied_beyond != self.tied_beyond {
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
        self.frames.push_back((delta, Arc::new(frame)));
        if self.frames.len() > FRAMES_KEPT {
            self.frames.pop_front();
        }
        Some(bytes)
    }

    /// How a viewer gets from its version to where the lane is.
    pub fn catch_up(&self, board: &Board, version: u64) -> CatchUp {
        if version > board.version() {
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
