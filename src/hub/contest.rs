//! One contest as this server follows it: a task that tails the log and folds it, and the state that viewers read.

use std::{
    cmp::Ordering as CmpOrdering,
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use jiff::Timestamp;
use tokio::{
    sync::{Notify, watch},
    time::Instant,
};

use super::{
    Snapshot, Viewer, clock,
    core::{self, Core, fold},
    lock,
    projector::Projector,
    sources::Sources,
    sweep::{Audience, Sweep},
    viewer::{Request, Watching},
};
use crate::{
    board::Id,
    contest::{Both, Contest, REVISION, View},
    protocol::{
        Limit, Position,
        message::{FeedState, State, StoreState},
    },
    store::{Append, Appended, SharedStore, Slice, StoreError, Stored, Tip},
};

/// How many events are read from the store in one piece.
pub(super) const READ_MAX: usize = 1000;

/// How many events are folded before others may look: about 1 ms.
const FOLD_CHUNK: usize = 64;

/// The longest wait between two attempts to reach a store that is away.
const RETRY_MAX: Duration = Duration::from_secs(1);

/// The epoch of earlier standings: nobody resumes from there.
const PAST_EPOCH: &str = "past";

/// A contest that this server follows.
pub struct Live {
    id: String,
    store: SharedStore,
    core: Mutex<Core>,
    /// Something may have happened to the log: it was said to have events up to this one, or it has to be read in any case.
    look: Notify,
    said: AtomicU64,
    look_anyway: AtomicBool,
    /// Everybody has been written what was there, so that what came meanwhile may follow.
    swept: Arc<Notify>,
    /// How far the log is folded; `None` until that is known for the first time.
    folded: watch::Sender<Option<Folded>>,
    viewers: AtomicI64,
    reachable: AtomicBool,
    /// Appends of this server under way, and the newest event that it appended: whoever appends writes the projection.
    appending: AtomicUsize,
    appended: AtomicU64,
    projector: Projector,
    /// The shortest time between two frames of a lane.
    tick: Duration,
}

/// Waits for a contest's log to move on.
pub struct Moved {
    folded: watch::Receiver<Option<Folded>>,
    tick: Duration,
}

impl Moved {
    /// What has happened so far is known.
    pub fn mark(&mut self) {
        self.folded.mark_unchanged();
    }

    /// More was folded since the last mark, and what came with it within a tick.
    pub async fn again(&mut self) {
        // An end of the contest is one more change; without its task nothing changes any more.
        if self.folded.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(self.tick).await;
    }
}

/// How far a log is folded, and what became of it.
#[derive(Clone, Debug)]
struct Folded {
    tip: Tip,
    /// Why the contest cannot be served, if it cannot.
    failed: Option<StoreError>,
}

impl Live {
    pub(super) fn new(
        id: &str,
        store: SharedStore,
        tick: Duration,
        sweep: &Arc<Sweep>,
    ) -> Arc<Self> {
        let swept = Arc::new(Notify::new());
        let audience = || Audience::new(sweep.clone(), swept.clone());
        Arc::new(Self {
            id: id.to_owned(),
            projector: Projector::new(id, store.clone()),
            store,
            core: Mutex::new(Core::new(id, audience)),
            look: Notify::new(),
            said: AtomicU64::new(0),
            look_anyway: AtomicBool::new(false),
            swept,
            folded: watch::Sender::new(None),
            viewers: AtomicI64::new(0),
            reachable: AtomicBool::new(true),
            tick,
            appending: AtomicUsize::new(0),
            appended: AtomicU64::new(0),
        })
    }

    /// The contest's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The state, for a short look. Nothing waits while holding it.
    pub fn core(&self) -> MutexGuard<'_, Core> {
        lock(&self.core)
    }

    /// Phase, clock and freshness, now.
    pub fn state(&self, view: View) -> State {
        self.core().state(view)
    }

    /// The window as it is now.
    pub fn snapshot(&self, view: View, limit: Limit) -> Arc<Snapshot> {
        self.core().snapshot(view, limit)
    }

    /// What `read` makes of the contest as it was at a contest time, in ms. Deriving that takes a while, and happens on a thread
    /// that may block; `turn` is dropped after it, whoever has gone meanwhile.
    pub async fn past<T: Send + 'static, R: Send + 'static>(
        &self,
        time: i64,
        turn: T,
        read: impl FnOnce(&Contest) -> R + Send + 'static,
    ) -> Option<R> {
        let past = self.core().fold.past(time);
        let derive = move || {
            let answer = read(&past.derive());
            drop(turn);
            answer
        };
        tokio::task::spawn_blocking(derive).await.ok()
    }

    /// The window as it was at a contest time, in ms, encoded.
    pub async fn past_snapshot<T: Send + 'static>(
        &self,
        view: View,
        limit: Limit,
        time: i64,
        turn: T,
    ) -> Option<Snapshot> {
        let fresh = self.core().freshness();
        let encode = move |contest: &Contest| {
            let state = core::state(contest, fresh.clone(), view);
            let snapshot = Snapshot::of(contest, view, limit, PAST_EPOCH, state);
            snapshot.json();
            snapshot
        };
        self.past(time, turn, encode).await
    }

    /// Where a view stands.
    pub fn position(&self, view: View) -> Position {
        let core = self.core();
        Position {
            epoch: core.epoch.clone(),
            version: core.fold.board(view).version(),
        }
    }

    /// How far the log is folded.
    pub fn tip(&self) -> Option<Tip> {
        self.folded
            .borrow()
            .as_ref()
            .map(|folded| folded.tip.clone())
    }

    /// Tells whenever more of the log is folded.
    pub fn moved(&self) -> Moved {
        Moved {
            folded: self.folded.subscribe(),
            tick: self.tick,
        }
    }

    /// Does the store answer?
    pub fn store_is_live(&self) -> bool {
        self.reachable.load(Ordering::Relaxed)
    }

    /// Joins as a viewer that waits for each message.
    pub fn watch(self: &Arc<Self>, request: Request) -> Watching {
        let viewer = Viewer::new(self.clone(), request);
        let wake = {
            let mut core = self.core();
            let core = &mut *core;
            core.views[viewer.view()].wake(&core.fold, viewer.limit(), viewer.follows())
        };
        Watching::new(viewer, wake)
    }

    /// Joins as a viewer that is written to, with those who watch the same.
    pub fn attend(self: &Arc<Self>, request: Request) -> (Viewer, Arc<Audience>) {
        let viewer = Viewer::new(self.clone(), request);
        let mut core = self.core();
        let core = &mut *core;
        let audience = core.views[viewer.view()].audience(&core.fold, viewer.limit());
        (viewer, audience)
    }

    /// How many viewers there are.
    pub fn viewer_count(&self) -> usize {
        usize::try_from(self.viewers.load(Ordering::Relaxed)).unwrap_or(0)
    }

    pub(super) fn viewers(&self, change: i64) {
        self.viewers.fetch_add(change, Ordering::Relaxed);
        metrics::gauge!("rankcast_viewers").increment(change as f64);
    }

    /// Waits until the log is folded up to a tip, or `longest` is over. Answers whether it is.
    pub async fn wait_for(&self, tip: &Tip, longest: Duration) -> bool {
        let mut folded = self.folded.subscribe();
        let reached = |folded: &Option<Folded>| {
            folded.as_ref().is_some_and(|folded| {
                folded.failed.is_some()
                    || (folded.tip.epoch == tip.epoch && folded.tip.sequence >= tip.sequence)
            })
        };
        let wait = folded.wait_for(reached);
        matches!(tokio::time::timeout(longest, wait).await, Ok(Ok(folded)) if folded.as_ref().is_some_and(|folded| folded.failed.is_none()))
    }

    /// Waits until the task has seen that the contest is gone, or `longest` is over.
    pub(super) async fn wait_gone(&self, longest: Duration) {
        let mut folded = self.folded.subscribe();
        let gone = folded.wait_for(|folded| {
            folded
                .as_ref()
                .is_some_and(|folded| folded.failed.is_some())
        });
        let _ = tokio::time::timeout(longest, gone).await;
    }

    /// Writes what waits of the projection, and waits for it, at most `longest`.
    pub(super) async fn finish_projection(&self, longest: Duration) {
        let _ = tokio::time::timeout(longest, self.projector.finish(|| self.core())).await;
    }

    /// Writes places that another server should have written long ago.
    pub(super) fn heal_projection(&self) {
        if self.projector.heal() {
            self.projector.flush(&self.core());
        }
    }

    /// Somebody was elsewhere at a position that this server may not have reached yet: then it reads on, and waits until that is
    /// folded, or `longest` is over.
    pub async fn reach(&self, view: View, position: &Position, longest: Duration) {
        let here = self.position(view);
        if here.epoch == position.epoch && here.version < position.version {
            self.pull(longest).await;
        }
    }

    /// Reads the log once more, and waits until that is folded, or `longest` is over.
    pub async fn pull(&self, longest: Duration) {
        if let Ok(tips) = self.store.tips(std::slice::from_ref(&self.id)).await
            && let Some(Some(tip)) = tips.into_iter().next()
        {
            self.log_moved(&tip.epoch, tip.sequence);
            self.wait_for(&tip, longest).await;
        }
    }

    /// Waits until the contest can be served.
    pub(super) async fn ready(&self) -> Result<(), StoreError> {
        let mut folded = self.folded.subscribe();
        match folded.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(Folded {
                failed: Some(error),
                ..
            })) => Err(error.clone()),
            Ok(_) => Ok(()),
            Err(_) => Err(StoreError::Away("the server stops".to_owned())),
        }
    }

    /// Somebody says where the log is. Only a difference is worth a look.
    pub(super) fn log_moved(&self, epoch: &str, sequence: u64) {
        let tip = self
            .folded
            .borrow()
            .as_ref()
            .filter(|folded| folded.failed.is_none() && folded.tip.epoch == epoch)
            .map(|folded| folded.tip.sequence);
        match tip {
            Some(known) if self.store_is_live() => match sequence.cmp(&known) {
                CmpOrdering::Equal => {}
                CmpOrdering::Less => self.look(),
                CmpOrdering::Greater => {
                    self.said.fetch_max(sequence, Ordering::AcqRel);
                    self.look.notify_one();
                }
            },
            _ => self.look(),
        }
    }

    /// Reads the log soon.
    pub(super) fn look(&self) {
        self.look_anyway.store(true, Ordering::Release);
        self.look.notify_one();
    }

    /// An event is told of more than once, by the one who appended it and by hints: once it is folded that is no news.
    fn has_to_look(&self) -> bool {
        self.look_anyway.swap(false, Ordering::AcqRel)
            || self.said.load(Ordering::Acquire) > self.sequence()
    }

    /// Appends events, and lets viewers know.
    pub(super) async fn append(&self, batch: &[Append]) -> Result<Appended, StoreError> {
        // What is folded meanwhile may be ours.
        self.appending.fetch_add(1, Ordering::AcqRel);
        let appended = self.store.append(&self.id, batch).await;
        if let Ok(appended) = &appended {
            self.appended
                .fetch_max(appended.tip.sequence, Ordering::AcqRel);
            self.log_moved(&appended.tip.epoch, appended.tip.sequence);
        }
        self.appending.fetch_sub(1, Ordering::AcqRel);
        appended
    }

    /// May this server have appended the event? It is asked too often rather than too seldom: a place written twice does no
    /// harm.
    fn is_ours(&self, sequence: u64) -> bool {
        self.appending.load(Ordering::Acquire) > 0
            || sequence <= self.appended.load(Ordering::Acquire)
    }

    pub(super) fn store_failed(&self, error: &StoreError) {
        if self.reachable.swap(false, Ordering::Relaxed) {
            tracing::warn!(contest = self.id, %error, "the store does not answer");
            self.set_store(StoreState::Stale);
        }
        self.look();
    }

    fn store_answers(&self) {
        if !self.reachable.swap(true, Ordering::Relaxed) {
            tracing::info!(contest = self.id, "the store answers again");
            self.set_store(StoreState::Live);
        }
    }

    fn set_store(&self, state: StoreState) {
        self.tell_freshness(|core| core.store = state);
    }

    /// How the feed goes that this contest follows, and since when it is silent.
    pub fn feed(&self) -> (FeedState, Option<String>) {
        self.core().feed.clone()
    }

    /// The feed goes otherwise now.
    pub fn set_feed(&self, state: FeedState, since: Option<String>) {
        self.tell_freshness(|core| core.feed = (state, since));
    }

    fn tell_freshness(&self, change: impl FnOnce(&mut Core)) {
        let mut core = self.core();
        let core = &mut *core;
        if core.deleted {
            return;
        }
        change(core);
        for view in View::ALL {
            core.views[view].state_changed();
        }
        core.flush(Instant::now());
    }

    /// Follows the log until the contest is deleted.
    pub(super) async fn run(self: Arc<Self>) {
        let mut flushed = Instant::now()
            .checked_sub(self.tick)
            .unwrap_or_else(Instant::now);
        let mut retry = Duration::from_millis(50);
        // When to make frames of what waits.
        let mut due: Option<Instant> = None;
        // When to look at the contest's clock, and how far the log was folded when that was decided.
        let mut clock: Option<(Instant, u64)> = None;
        // The log may have moved; when it was read last: at most once a tick.
        let mut look = true;
        let mut read: Option<Instant> = None;
        loop {
            if look && read.is_none_or(|read| read + self.tick <= Instant::now()) {
                look = false;
                read = Some(Instant::now());
                match self.read_on(&mut flushed, &mut due).await {
                    Ok(()) => retry = Duration::from_millis(50),
                    Err(StoreError::NoSuchContest(_)) => return self.gone(),
                    Err(error) => {
                        self.store_failed(&error);
                        self.folded.send_if_modified(|folded| {
                            let first = folded.is_none();
                            if first {
                                let tip = Tip {
                                    epoch: String::new(),
                                    sequence: 0,
                                };
                                *folded = Some(Folded {
                                    tip,
                                    failed: Some(error),
                                });
                            }
                            first
                        });
                        if due.is_some_and(|due| due <= Instant::now()) {
                            self.flush(&mut flushed, &mut due);
                        }
                        tokio::time::sleep(retry).await;
                        retry = (retry * 2).min(RETRY_MAX);
                        look = true;
                        continue;
                    }
                }
            }
            if due.is_some_and(|due| due <= Instant::now()) {
                self.flush(&mut flushed, &mut due);
            }
            // A log that moved may have another plan; a write that failed is not tried at every turn.
            if clock
                .is_none_or(|(at, sequence)| at <= Instant::now() || sequence != self.sequence())
            {
                clock = self.keep_clock().await.map(|at| (at, self.sequence()));
            }
            let again = read.filter(|_| look).map(|read| read + self.tick);
            let at = [due, again, clock.map(|(at, _)| at)]
                .into_iter()
                .flatten()
                .min();
            tokio::select! {
                () = self.look.notified(), if !look => look = self.has_to_look(),
                () = self.swept.notified() => {
                    if self.core().waits_for_sweep() {
                        let next = flushed + self.tick;
                        due = Some(due.map_or(next, |due| due.min(next)));
                    }
                }
                () = self.projector.written() => self.projector.flush(&self.core()),
                () = async { tokio::time::sleep_until(at.unwrap_or_else(Instant::now)).await }, if at.is_some() => {}
            }
        }
    }

    /// How far the log is folded.
    fn sequence(&self) -> u64 {
        self.folded
            .borrow()
            .as_ref()
            .map_or(0, |folded| folded.tip.sequence)
    }

    /// Reads and folds all that is new, making frames on the way: the first change after quiet at once, then one a tick.
    async fn read_on(
        &self,
        flushed: &mut Instant,
        due: &mut Option<Instant>,
    ) -> Result<(), StoreError> {
        loop {
            let known = self
                .folded
                .borrow()
                .clone()
                .filter(|folded| folded.failed.is_none());
            let after = known.as_ref().map_or(0, |folded| folded.tip.sequence);
            metrics::counter!("rankcast_store_reads_total").increment(1);
            let slice = self.store.read(&self.id, after, READ_MAX).await?;
            self.store_answers();
            let Some(known) = known else {
                self.fold_anew(slice).await?;
                *due = Some(Instant::now());
                continue;
            };
            if slice.tip.epoch != known.tip.epoch {
                tracing::info!(
                    contest = self.id,
                    from = known.tip.epoch,
                    to = slice.tip.epoch,
                    "a new epoch: folding anew"
                );
                let first = self.store.read(&self.id, 0, READ_MAX).await?;
                self.fold_anew(first).await?;
                *due = Some(Instant::now());
                continue;
            }
            if slice.tip.sequence < after {
                tracing::warn!(
                    contest = self.id,
                    had = after,
                    has = slice.tip.sequence,
                    "the log went back"
                );
                self.store.renew(&self.id, &known.tip.epoch).await?;
                continue;
            }
            let done = slice
                .events
                .last()
                .is_none_or(|last| last.sequence >= slice.tip.sequence);
            for chunk in slice.events.chunks(FOLD_CHUNK) {
                self.fold_chunk(chunk);
                let tip = Tip {
                    epoch: known.tip.epoch.clone(),
                    sequence: chunk.last().map_or(after, |last| last.sequence),
                };
                self.folded.send_replace(Some(Folded { tip, failed: None }));
                let tick = *flushed + self.tick;
                *due = Some(due.map_or(tick, |due| due.min(tick)));
                if tick <= Instant::now() {
                    self.flush(flushed, due);
                    *flushed = Instant::now();
                }
                tokio::task::yield_now().await;
            }
            if done {
                return Ok(());
            }
        }
    }

    fn fold_chunk(&self, events: &[Stored]) {
        let mut core = self.core();
        let core = &mut *core;
        let mut projected: Vec<Id> = Vec::new();
        let began = Instant::now();
        for stored in events {
            core.sources.note(stored);
            let change = match fold(&mut core.fold, stored) {
                Ok(change) => change,
                Err(reason) => {
                    tracing::error!(
                        contest = self.id,
                        sequence = stored.sequence,
                        reason,
                        "an event cannot be read"
                    );
                    core.unreadable.insert(stored.sequence, reason);
                    continue;
                }
            };
            for (view, change) in change.iter() {
                core.views[view].absorb(&core.fold, change);
            }
            let public = &change[View::Public];
            if public.reshaped {
                self.projector.whole();
            }
            let teams = public
                .step
                .iter()
                .flat_map(|step| &step.touched)
                .map(|touched| touched.id.clone());
            if self.is_ours(stored.sequence) {
                projected.extend(teams);
            } else {
                self.projector.leave_to_others(teams);
            }
        }
        metrics::counter!("rankcast_events_folded_total").increment(events.len() as u64);
        metrics::histogram!("rankcast_fold_seconds")
            .record(began.elapsed().as_secs_f64() / events.len().max(1) as f64);
        self.projector.changed(projected);
    }

    /// Folds the whole log into a new state, and puts it in the place of the old one when it is complete.
    async fn fold_anew(&self, first: Slice) -> Result<(), StoreError> {
        let mut fold_state = Contest::new(&self.id);
        let mut unreadable = BTreeMap::new();
        let mut sources = Sources::default();
        let epoch = first.tip.epoch.clone();
        let mut slice = first;
        while let Some(last) = slice.events.last().map(|last| last.sequence) {
            for chunk in slice.events.chunks(FOLD_CHUNK) {
                for stored in chunk {
                    sources.note(stored);
                    if let Err(reason) = fold(&mut fold_state, stored) {
                        tracing::error!(
                            contest = self.id,
                            sequence = stored.sequence,
                            reason,
                            "an event cannot be read"
                        );
                        unreadable.insert(stored.sequence, reason);
                    }
                }
                tokio::task::yield_now().await;
            }
            slice = self.store.read(&self.id, last, READ_MAX).await?;
            if slice.tip.epoch != epoch {
                // Half of this log, half of that: the caller looks again, and begins anew.
                return Ok(());
            }
        }
        let sequence = fold_state.sequence();
        {
            let mut core = self.core();
            let core = &mut *core;
            core.fold = fold_state;
            core.awards = Both::default();
            core.unreadable = unreadable;
            core.sources = sources;
            core.epoch = format!("{epoch}.{REVISION}");
            core.history += 1;
            self.said.store(0, Ordering::Release);
            for view in View::ALL {
                core.views[view].restart(&core.fold);
                core.views[view].state_changed();
            }
        }
        self.projector.whole();
        self.folded.send_replace(Some(Folded {
            tip: Tip { epoch, sequence },
            failed: None,
        }));
        Ok(())
    }

    fn flush(&self, flushed: &mut Instant, due: &mut Option<Instant>) {
        let now = Instant::now();
        let mut core = self.core();
        let core = &mut *core;
        let made = core.flush(now);
        *due = made.again;
        // A time came, and there was nothing to say: the next change does not wait for that.
        if made.any {
            *flushed = now;
        }
        self.projector.flush(core);
    }

    /// Where no feed tells the phases, the contest's own clock does; and a ceremony may go by itself. Answers when to look
    /// again.
    async fn keep_clock(&self) -> Option<Instant> {
        let now = Timestamp::now().as_millisecond();
        let phases = clock::phases(&self.core().fold, now);
        let step = self.core().next_step();
        let (phase, phase_at) = match phases {
            Some(clock::Phases { due, next }) => (
                due,
                next.map(|at| Instant::now() + Duration::from_millis((at - now).unsigned_abs())),
            ),
            None => (None, None),
        };
        let (step, step_at) = match step {
            Some((at, event)) if at <= Instant::now() => (Some(event), None),
            Some((at, _)) => (None, Some(at)),
            None => (None, None),
        };
        let due: Vec<Append> = [phase, step].into_iter().flatten().collect();
        if !due.is_empty()
            && let Err(error) = self.append(&due).await
        {
            tracing::warn!(contest = self.id, %error, "what the clock says could not be written");
            return Some(Instant::now() + RETRY_MAX);
        }
        [phase_at, step_at].into_iter().flatten().min()
    }

    fn gone(&self) {
        let mut core = self.core();
        let core = &mut *core;
        core.deleted = true;
        let failed = Some(StoreError::NoSuchContest(self.id.clone()));
        self.folded.send_modify(|folded| {
            let tip = folded.take().map_or(
                Tip {
                    epoch: String::new(),
                    sequence: 0,
                },
                |folded| folded.tip,
            );
            *folded = Some(Folded { tip, failed });
        });
        for view in View::ALL {
            core.views[view].end();
        }
        core.flush(Instant::now());
    }
}
