//! The hub: turns every change of a log into frames for those who watch.
//!
//! One task a contest ([`contest`]) tails its log and folds it; each view and limit that is watched has a [`lane`] of
//! frames, encoded once; a [`viewer`] is a cursor on a lane, without a queue. What a lane has to say at one moment is an
//! [`edition`]; a [`sweep`] writes it to every [`socket`], and those who wait for each message by themselves are woken. Other tools
//! read the contest's objects from a [`feed`].

pub mod clock;
pub mod contest;
pub mod core;
pub mod edition;
pub mod feed;
pub mod lane;
pub mod projector;
pub mod snapshot;
pub mod socket;
pub mod sources;
pub mod sweep;
pub mod verify;
pub mod view;
pub mod viewer;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::broadcast::error::RecvError, task::JoinHandle};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use self::core::{Core, ceremony_event};
pub use contest::Live;
pub use snapshot::Snapshot;
pub use socket::Socket;
pub use sweep::Sweep;
pub use viewer::{Next, Viewer, Watching};

use crate::store::{Append, Appended, SharedStore, StoreError};

/// How long after one frame of a board the next may follow: under load, one frame a tick.
pub const TICK: Duration = Duration::from_millis(50);

/// How often the tips of all watched logs are read in one batch, to heal what lost hints left behind.
pub const POLL: Duration = Duration::from_secs(1);

/// The most tips asked for in one round trip.
const POLL_BATCH: usize = 256;

/// The contests that this server follows.
pub struct Hub {
    store: SharedStore,
    /// A contest is here from the first time somebody asks for it until it is deleted.
    contests: Mutex<HashMap<String, Arc<Live>>>,
    tick: Duration,
    sweep: Arc<Sweep>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Hub {
    /// A hub over a store, following nothing yet, with so much time between two frames ([`TICK`], unless somebody knows
    /// better). Its tasks run until [`Hub::shutdown`].
    pub fn start(store: SharedStore, tick: Duration) -> Arc<Self> {
        let hub = Arc::new(Self {
            store,
            contests: Mutex::new(HashMap::new()),
            tick,
            sweep: Sweep::start(),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
        });
        hub.tasks.spawn(hub.clone().listen());
        hub.tasks.spawn(hub.clone().poll());
        hub
    }

    /// Who writes to viewers' sockets.
    pub fn sweep(&self) -> &Arc<Sweep> {
        &self.sweep
    }

    /// The store below.
    pub fn store(&self) -> &SharedStore {
        &self.store
    }

    /// The contest, folded up to what the store has. It is followed from then on.
    pub async fn contest(self: &Arc<Self>, id: &str) -> Result<Arc<Live>, StoreError> {
        if let Some(live) = self.known(id) {
            live.ready().await?;
            return Ok(live);
        }
        // Ask the store before making anything: strangers ask for contests that are not there.
        if self
            .store
            .tips(&[id.to_owned()])
            .await?
            .first()
            .is_none_or(Option::is_none)
        {
            return Err(StoreError::NoSuchContest(id.to_owned()));
        }
        let fresh = {
            let mut contests = lock(&self.contests);
            contests.get(id).cloned().unwrap_or_else(|| {
                let live = Live::new(id, self.store.clone(), self.tick, &self.sweep);
                contests.insert(id.to_owned(), live.clone());
                let (hub, task) = (self.clone(), live.clone());
                self.tasks.spawn(async move {
                    tokio::select! {
                        () = task.clone().run() => hub.forget(&task),
                        () = hub.stop.cancelled() => {}
                    }
                });
                live
            })
        };
        fresh.ready().await?;
        Ok(fresh)
    }

    /// Appends events to a contest, and lets its viewers know. It goes on whether the caller waits for its end or not.
    pub fn append(&self, id: &str, batch: Vec<Append>) -> Appending {
        let (live, store, id) = (self.known(id), self.store.clone(), id.to_owned());
        Appending(self.tasks.spawn(async move {
            match live {
                Some(live) => live.append(&batch).await,
                None => store.append(&id, &batch).await,
            }
        }))
    }

    /// Forgets a contest; its viewers are told. Answers false if it was not there.
    pub async fn delete(&self, id: &str) -> Result<bool, StoreError> {
        let deleted = self.store.delete(id).await?;
        if let Some(live) = self.known(id) {
            live.look();
            live.wait_gone(POLL).await;
            self.forget(&live);
        }
        Ok(deleted)
    }

    /// The contests that are followed now.
    pub fn followed(&self) -> Vec<Arc<Live>> {
        lock(&self.contests).values().cloned().collect()
    }

    /// Ends all tasks, and waits until they have ended.
    pub async fn shutdown(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        let sweep = self.sweep.clone();
        let _ = tokio::task::spawn_blocking(move || sweep.stop()).await;
        for live in self.followed() {
            live.finish_projection(POLL).await;
        }
    }

    fn known(&self, id: &str) -> Option<Arc<Live>> {
        lock(&self.contests).get(id).cloned()
    }

    fn forget(&self, live: &Arc<Live>) {
        let mut contests = lock(&self.contests);
        if contests
            .get(live.id())
            .is_some_and(|known| Arc::ptr_eq(known, live))
        {
            contests.remove(live.id());
        }
    }

    /// Passes hints on. A lost one does no harm: the poll finds it.
    async fn listen(self: Arc<Self>) {
        let mut hints = self.store.hints();
        loop {
            let hint = tokio::select! {
                hint = hints.recv() => hint,
                () = self.stop.cancelled() => return,
            };
            match hint {
                Ok(hint) => {
                    if let Some(live) = self.known(&hint.contest) {
                        live.log_moved(&hint.epoch, hint.version);
                    }
                }
                Err(RecvError::Lagged(_)) => self.followed().iter().for_each(|live| live.look()),
                Err(RecvError::Closed) => return,
            }
        }
    }

    async fn poll(self: Arc<Self>) {
        let mut every = tokio::time::interval(POLL);
        every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = every.tick() => {}
                () = self.stop.cancelled() => return,
            }
            let followed = self.followed();
            for live in &followed {
                live.heal_projection();
            }
            for some in followed.chunks(POLL_BATCH) {
                let ids: Vec<String> = some.iter().map(|live| live.id().to_owned()).collect();
                match self.store.tips(&ids).await {
                    Ok(tips) => some.iter().zip(tips).for_each(|(live, tip)| match tip {
                        Some(tip) => live.log_moved(&tip.epoch, tip.sequence),
                        None => live.look(),
                    }),
                    Err(error) => some.iter().for_each(|live| live.store_failed(&error)),
                }
            }
        }
    }
}

/// A batch on its way into the log.
#[derive(Debug)]
pub struct Appending(JoinHandle<Result<Appended, StoreError>>);

impl Appending {
    /// Waits until the batch is in the log, or is refused.
    pub async fn ended(self) -> Result<Appended, StoreError> {
        self.0
            .await
            .unwrap_or_else(|error| Err(StoreError::Away(error.to_string())))
    }
}

/// Locks; a panic of another holder is no reason to stop serving.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
