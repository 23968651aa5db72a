//! Views: one standing of a contest as it is watched: its lanes, its snapshots, what is shown beside the rows.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
    time::Duration,
};

use tokio::{sync::watch, time::Instant};

use super::{
    Snapshot,
    lane::{CatchUp, Lane},
};
use crate::{
    board::Id,
    contest::{Change, Contest, Side},
    protocol::{Frame, Limit, Message, Position, message::State},
};

/// How often changed statistics of problems are told, at the most.
pub const PROBLEMS_EVERY: Duration = Duration::from_secs(1);

/// One view of a contest.
#[derive(Debug)]
pub(super) struct View {
    side: Side,
    /// By [`Limit::index`]; there from the first viewer on.
    lanes: [Option<Lane>; Limit::ALL.len()],
    snapshots: [Option<Arc<Snapshot>>; Limit::ALL.len()],
    /// The version at which each problem's statistics changed last.
    problems: BTreeMap<Id, u64>,
    /// The version up to which viewers were told of them, and when.
    problems_told: u64,
    problems_told_at: Option<Instant>,
    /// What was told then: from which version on, and the message.
    problems_frame: Option<(u64, Arc<Frame>)>,
    /// Counts the changes of phase, clock, store and feed.
    state_revision: u64,
    /// Wakes the viewers of each lane when there is something for them; the values count the wakings.
    wake: [watch::Sender<u64>; Limit::ALL.len()],
    /// Wakes those who follow members, wherever they stand.
    wake_followers: watch::Sender<u64>,
    /// There is something for everybody.
    for_all: bool,
    /// The rank of everybody, at a version.
    ranks: Option<(u64, Arc<Vec<Option<usize>>>)>,
}

impl View {
    pub(super) fn new(side: Side) -> Self {
        Self {
            side,
            lanes: Default::default(),
            snapshots: Default::default(),
            problems: BTreeMap::new(),
            problems_told: 0,
            problems_told_at: None,
            problems_frame: None,
            state_revision: 0,
            wake: Default::default(),
            wake_followers: watch::Sender::default(),
            for_all: false,
            ranks: None,
        }
    }

    /// Takes in what one event changed.
    pub(super) fn absorb(&mut self, contest: &Contest, change: &Change) {
        let board = contest.board(self.side);
        if change.reshaped {
            self.restart(contest);
        } else if let Some(step) = &change.step {
            for lane in self.lanes.iter_mut().flatten() {
                lane.absorb(board, step);
            }
        }
        for id in &change.problems {
            self.problems.insert(id.clone(), board.version());
        }
        if change.status {
            self.state_changed();
        }
    }

    /// Every viewer needs the whole board.
    pub(super) fn restart(&mut self, contest: &Contest) {
        let board = contest.board(self.side);
        for lane in self.lanes.iter_mut().flatten() {
            lane.restart(board);
        }
        // A snapshot tells the problems; who resumes without one is told all of them.
        let version = board.version();
        self.problems = contest
            .problems(self.side)
            .into_iter()
            .map(|line| (line.id, version))
            .collect();
        self.problems_told = version;
        self.problems_frame = None;
        self.snapshots = Default::default();
        self.for_all = true;
    }

    /// The store or the feed is not what it was.
    pub(super) fn state_changed(&mut self) {
        self.state_revision += 1;
        self.for_all = true;
    }

    pub(super) fn state_revision(&self) -> u64 {
        self.state_revision
    }

    /// Makes frames of what waits, and wakes viewers. Answers when to flush again, if something still waits.
    pub(super) fn flush(
        &mut self,
        contest: &Contest,
        epoch: &str,
        now: Instant,
    ) -> Option<Instant> {
        let board = contest.board(self.side);
        let mut news = [false; Limit::ALL.len()];
        for (lane, limit) in self.lanes.iter_mut().zip(Limit::ALL) {
            if let Some(bytes) = lane.as_mut().and_then(|lane| lane.flush(board, epoch)) {
                news[limit.index()] = true;
                metrics::counter!("rankcast_delta_frames_total", "limit" => limit.name())
                    .increment(1);
                metrics::counter!("rankcast_delta_frame_bytes_total", "limit" => limit.name())
                    .increment(bytes as u64);
            }
        }
        let waits = self
            .problems
            .values()
            .any(|version| *version > self.problems_told);
        let due = self
            .problems_told_at
            .map_or(now, |told| told + PROBLEMS_EVERY);
        if waits && due <= now {
            let from = std::mem::replace(&mut self.problems_told, board.version());
            self.problems_told_at = Some(now);
            self.for_all = true;
            self.problems_frame = self
                .problems_since(contest, from)
                .map(|frame| (from, Arc::new(frame)));
        }
        let for_all = std::mem::take(&mut self.for_all);
        for (wake, news) in self.wake.iter().zip(news) {
            if news || for_all {
                wake.send_modify(|wakings| *wakings += 1);
            }
        }
        self.wake_followers.send_modify(|wakings| *wakings += 1);
        (waits && due > now).then_some(due)
    }

    /// The problems that changed after a version, as a message.
    fn problems_since(&self, contest: &Contest, from: u64) -> Option<Frame> {
        let changed = self.problems.iter().filter(|(_, version)| **version > from);
        let problems: Vec<_> = changed
            .filter_map(|(id, _)| contest.problem(self.side, id))
            .collect();
        let version = contest.board(self.side).version();
        (!problems.is_empty()).then(|| Frame::new(&Message::Problems { version, problems }, None))
    }

    /// What a viewer that was told of the problems at a version has to be told, and the version that it is told of then.
    pub(super) fn problems_for(&self, contest: &Contest, told: u64) -> Option<(Arc<Frame>, u64)> {
        if told >= self.problems_told {
            return None;
        }
        let frame = match &self.problems_frame {
            Some((from, frame)) if *from == told => Some(frame.clone()),
            _ => self.problems_since(contest, told).map(Arc::new),
        };
        frame.map(|frame| (frame, self.problems_told))
    }

    /// Makes sure that the lane is there, and gives a way to wait for its frames.
    pub(super) fn join(
        &mut self,
        contest: &Contest,
        limit: Limit,
        follows: bool,
    ) -> watch::Receiver<u64> {
        self.lanes[limit.index()].get_or_insert_with(|| Lane::new(limit, contest.board(self.side)));
        if follows {
            self.wake_followers.subscribe()
        } else {
            self.wake[limit.index()].subscribe()
        }
    }

    pub(super) fn catch_up(&self, contest: &Contest, limit: Limit, version: u64) -> CatchUp {
        self.lanes[limit.index()]
            .as_ref()
            .map_or(CatchUp::Whole, |lane| {
                lane.catch_up(contest.board(self.side), version)
            })
    }

    /// The window as it is now; the same one for all who ask while nothing changes. `state` is asked for a new one only.
    pub(super) fn snapshot(
        &mut self,
        contest: &Contest,
        epoch: &str,
        limit: Limit,
        state: impl FnOnce() -> State,
    ) -> Arc<Snapshot> {
        let board = contest.board(self.side);
        let kept = &mut self.snapshots[limit.index()];
        if let Some(kept) = kept
            .as_ref()
            .filter(|kept| kept.position.version == board.version())
        {
            return kept.clone();
        }
        let snapshot = Arc::new(Snapshot {
            position: Position {
                epoch: epoch.to_owned(),
                version: board.version(),
            },
            limit,
            shape: board.shape().clone(),
            total: board.len(),
            tied_beyond: board.tied_beyond(limit.rows()),
            rows: board.window(limit.rows()).cloned().collect(),
            problems: contest.problems(self.side),
            state: state(),
            json: OnceLock::new(),
            gzip: OnceLock::new(),
        });
        *kept = Some(snapshot.clone());
        snapshot
    }

    /// The rank of everybody in the order of the board; counted once a version.
    pub(super) fn ranks(&mut self, contest: &Contest) -> Arc<Vec<Option<usize>>> {
        let board = contest.board(self.side);
        match &self.ranks {
            Some((version, ranks)) if *version == board.version() => ranks.clone(),
            _ => {
                let ranks = Arc::new(board.ranks());
                self.ranks = Some((board.version(), ranks.clone()));
                ranks
            }
        }
    }
}
