//! Views: one standing of a contest as it is watched: its lanes, its snapshots, what is shown beside the rows.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use tokio::{sync::watch, time::Instant};

use super::{
    Snapshot,
    edition::{Edition, Seen},
    lane::{CatchUp, Flushed, Lane},
    sweep::Audience,
};
use crate::{
    board::Id,
    contest::{Change, Contest, View, clics},
    protocol::{Frame, Limit, Message, message::State},
};

/// How often changed statistics of problems are told, at the most.
pub const PROBLEMS_EVERY: Duration = Duration::from_secs(1);

/// How much longer they may wait for a delta to go along with: a sweep of their own holds up the delta that comes meanwhile.
const PROBLEMS_GRACE: Duration = Duration::from_millis(500);

/// What came of making editions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Made {
    /// There was something to say.
    pub(super) any: bool,
    /// When to do it again, if something waits for a time.
    pub(super) again: Option<Instant>,
}

/// One view of a contest, as it is watched.
#[derive(Debug)]
pub(super) struct Watched {
    view: View,
    /// By [`Limit::index`]; there from the first viewer on.
    lanes: [Option<Lane>; Limit::ALL.len()],
    /// Those who watch each lane over a WebSocket.
    audiences: [Arc<Audience>; Limit::ALL.len()],
    snapshots: [Option<Arc<Snapshot>>; Limit::ALL.len()],
    /// The version at which each problem's statistics changed last.
    problems: BTreeMap<Id, u64>,
    /// The version up to which viewers were told of them, and when.
    problems_told: u64,
    problems_told_at: Option<Instant>,
    /// What was told then: from which version on, and the message.
    problems_frame: Option<(u64, Arc<Frame>)>,
    /// The same for those who come back, and may have been told nothing: all problems.
    problems_all: Option<Arc<Frame>>,
    /// Counts the changes of phase, clock, store and feed.
    state_revision: u64,
    /// Wakes the viewers of each lane when there is something for them; the values count the wakings.
    wake: [watch::Sender<u64>; Limit::ALL.len()],
    /// Wakes those who follow members, wherever they stand.
    wake_followers: watch::Sender<u64>,
    /// There is something for everybody, which does not wait for a sweep to end.
    for_all: bool,
    /// A lane could not be flushed, because its last edition was still being written.
    pub(super) waits_for_sweep: bool,
    /// The rows of the CLICS scoreboard, at a version.
    scoreboard: Option<(u64, Arc<Vec<clics::scoreboard::Row>>)>,
    /// The rank of everybody, at a version.
    ranks: Option<(u64, Arc<Vec<Option<usize>>>)>,
}

impl Watched {
    pub(super) fn new(view: View, audience: impl Fn() -> Arc<Audience>) -> Self {
        Self {
            view,
            lanes: Default::default(),
            audiences: std::array::from_fn(|_| audience()),
            snapshots: Default::default(),
            problems: BTreeMap::new(),
            problems_told: 0,
            problems_told_at: None,
            problems_frame: None,
            problems_all: None,
            state_revision: 0,
            wake: Default::default(),
            wake_followers: watch::Sender::default(),
            for_all: false,
            waits_for_sweep: false,
            scoreboard: None,
            ranks: None,
        }
    }

    /// Takes in what one event changed.
    pub(super) fn absorb(&mut self, contest: &Contest, change: &Change) {
        let board = contest.board(self.view);
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
        let board = contest.board(self.view);
        for lane in self.lanes.iter_mut().flatten() {
            lane.restart(board);
        }
        // A snapshot tells the problems; who resumes without one is told all of them.
        let version = board.version();
        self.problems = contest
            .problems(self.view)
            .into_iter()
            .map(|line| (line.id, version))
            .collect();
        self.problems_told = version;
        self.problems_frame = None;
        self.problems_all = None;
        self.snapshots = Default::default();
        self.scoreboard = None;
        self.ranks = None;
        self.for_all = true;
    }

    /// The contest is gone: every viewer has to look.
    pub(super) fn end(&mut self) {
        for lane in self.lanes.iter_mut().flatten() {
            lane.broken = true;
        }
        self.for_all = true;
    }

    /// The store or the feed is not what it was.
    pub(super) fn state_changed(&mut self) {
        self.state_revision += 1;
        // They tell the state, too.
        self.snapshots = Default::default();
        self.for_all = true;
    }

    pub(super) fn state_revision(&self) -> u64 {
        self.state_revision
    }

    /// Makes editions of what waits, and has them written. A lane whose last one is still being written waits for the end of
    /// that, and its next carries all that came meanwhile.
    pub(super) fn flush(
        &mut self,
        contest: &Contest,
        (history, epoch): (u64, &str),
        now: Instant,
        state: impl Fn() -> State,
    ) -> Made {
        let version = contest.board(self.view).version();
        // Nobody waits where nobody ever watched.
        let waits = self.lanes.iter().any(Option::is_some)
            && self
                .problems
                .values()
                .any(|version| *version > self.problems_told);
        let due = self.problems_told_at.map(|told| told + PROBLEMS_EVERY);
        let alone = due.map(|due| due + PROBLEMS_GRACE);
        let in_company = self.for_all || self.lanes.iter().flatten().any(Lane::has_pending);
        let passed = |time: Option<Instant>| time.is_none_or(|time| time <= now);
        let told = waits && (passed(alone) || (in_company && passed(due)));
        if told {
            let from = std::mem::replace(&mut self.problems_told, version);
            self.problems_told_at = Some(now);
            self.problems_all = None;
            self.problems_frame = self
                .problems_since(contest, from)
                .map(|frame| (from, Arc::new(frame)));
        }
        let for_all = std::mem::take(&mut self.for_all);
        let mut state_frame = None;
        let mut any = false;
        self.waits_for_sweep = false;
        for limit in Limit::ALL {
            let index = limit.index();
            if self.lanes[index].is_none() {
                continue;
            }
            if !for_all && self.audiences[index].is_busy() {
                self.waits_for_sweep = true;
                continue;
            }
            let state = || Arc::new(Frame::new(&Message::State(Box::new(state())), None));
            let state_frame = || state_frame.get_or_insert_with(state).clone();
            if let Some(edition) = self.edition(contest, limit, history, epoch, state_frame) {
                any = true;
                self.audiences[index].publish(edition);
                self.wake[index].send_modify(|wakings| *wakings += 1);
            }
        }
        self.wake_followers.send_modify(|wakings| *wakings += 1);
        Made {
            any,
            again: alone.filter(|_| waits && !told),
        }
    }

    /// What a lane has to say, if anything.
    fn edition(
        &mut self,
        contest: &Contest,
        limit: Limit,
        history: u64,
        epoch: &str,
        state: impl FnOnce() -> Arc<Frame>,
    ) -> Option<Edition> {
        let board = contest.board(self.view);
        let lane = self.lanes[limit.index()].as_mut()?;
        let mut from = lane.told;
        let mut frames: Vec<Arc<Frame>> = Vec::new();
        let bytes = match lane.flush(board, epoch) {
            Flushed::Nothing => 0,
            Flushed::Frame(frame, since) => {
                from.version = since;
                frames.push(frame);
                frames[0].json().len()
            }
            Flushed::TooLarge(bytes) => bytes,
        };
        if bytes > 0 {
            metrics::counter!("rankcast_delta_frames_total", "limit" => limit.name()).increment(1);
            metrics::counter!("rankcast_delta_frame_bytes_total", "limit" => limit.name())
                .increment(bytes as u64);
        }
        let to = Seen {
            history,
            version: lane.head(),
            problems: self.problems_told,
            state: self.state_revision,
        };
        lane.told = to;
        if std::mem::take(&mut lane.broken) {
            return Some(Edition::default());
        }
        if to.state != from.state {
            frames.insert(0, state());
        }
        if from.problems < to.problems {
            frames.extend(self.problems_for(contest, from.problems));
        }
        let wire = match frames.as_slice() {
            [] => return None,
            [frame] => frame.wire().clone(),
            frames => {
                let parts: Vec<&[u8]> = frames.iter().map(|frame| &frame.wire()[..]).collect();
                parts.concat().into()
            }
        };
        Some(Edition {
            from,
            to,
            wire,
            messages: frames.len() as u64,
        })
    }

    /// The problems that changed after a version, as a message.
    fn problems_since(&self, contest: &Contest, from: u64) -> Option<Frame> {
        let changed = self.problems.iter().filter(|(_, version)| **version > from);
        let problems: Vec<_> = changed
            .filter_map(|(id, _)| contest.problem(self.view, id))
            .collect();
        let version = contest.board(self.view).version();
        (!problems.is_empty()).then(|| Frame::new(&Message::Problems { version, problems }, None))
    }

    /// The version at which viewers were told of the problems last.
    pub(super) fn problems_told(&self) -> u64 {
        self.problems_told
    }

    /// What somebody has to be told who was told of the problems at an older version.
    pub(super) fn problems_for(&mut self, contest: &Contest, told: u64) -> Option<Arc<Frame>> {
        match (&self.problems_frame, &self.problems_all) {
            (Some((from, frame)), _) if *from <= told => return Some(frame.clone()),
            (_, Some(all)) => return Some(all.clone()),
            _ => {}
        }
        self.problems_all = self.problems_since(contest, 0).map(Arc::new);
        self.problems_all.clone()
    }

    /// Makes sure that the lane is there, and tells who else watches it over a WebSocket.
    pub(super) fn audience(&mut self, contest: &Contest, limit: Limit) -> Arc<Audience> {
        self.lanes[limit.index()].get_or_insert_with(|| Lane::new(limit, contest.board(self.view)));
        self.audiences[limit.index()].clone()
    }

    /// Makes sure that the lane is there, and gives a way to wait for its editions.
    pub(super) fn wake(
        &mut self,
        contest: &Contest,
        limit: Limit,
        follows: bool,
    ) -> watch::Receiver<u64> {
        self.audience(contest, limit);
        if follows {
            self.wake_followers.subscribe()
        } else {
            self.wake[limit.index()].subscribe()
        }
    }

    /// How a viewer gets from its version to where the lane is.
    pub(super) fn catch_up(
        &mut self,
        contest: &Contest,
        epoch: &str,
        limit: Limit,
        version: u64,
    ) -> CatchUp {
        let board = contest.board(self.view);
        self.lanes[limit.index()]
            .as_mut()
            .map_or(CatchUp::Whole, |lane| lane.catch_up(board, epoch, version))
    }

    /// The window as it is now; the same one for all who ask while nothing changes. `state` is asked for a new one only.
    pub(super) fn snapshot(
        &mut self,
        contest: &Contest,
        epoch: &str,
        limit: Limit,
        state: impl FnOnce() -> State,
    ) -> Arc<Snapshot> {
        let board = contest.board(self.view);
        let kept = &mut self.snapshots[limit.index()];
        if let Some(kept) = kept
            .as_ref()
            .filter(|kept| kept.position.version == board.version())
        {
            return kept.clone();
        }
        let snapshot = Arc::new(Snapshot::of(contest, self.view, limit, epoch, state()));
        *kept = Some(snapshot.clone());
        snapshot
    }

    /// The rows of the CLICS scoreboard; made once a version.
    pub(super) fn scoreboard(&mut self, contest: &Contest) -> Arc<Vec<clics::scoreboard::Row>> {
        let version = contest.board(self.view).version();
        match &self.scoreboard {
            Some((made, rows)) if *made == version => rows.clone(),
            _ => {
                let rows = Arc::new(clics::scoreboard::rows(contest, self.view, None));
                self.scoreboard = Some((version, rows.clone()));
                rows
            }
        }
    }

    /// The rank of everybody in the order of the board; counted once a version.
    pub(super) fn ranks(&mut self, contest: &Contest) -> Arc<Vec<Option<usize>>> {
        let board = contest.board(self.view);
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
