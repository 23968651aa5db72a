//! The projector: writes the public standings to the store's sorted set, behind the fold and never in its way.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::sync::Notify;

use super::{core::Core, lock};
use crate::{
    board::Id,
    contest::{Side, projection},
    store::{Projected, SharedStore},
};

/// The pause after a write that failed.
const RETRY: Duration = Duration::from_secs(1);

/// What waits to be written for one contest. Several servers may write the same: the store keeps the newest.
pub(super) struct Projector {
    shared: Arc<Shared>,
}

struct Shared {
    contest: String,
    store: SharedStore,
    waiting: Mutex<Waiting>,
    /// A write is under way; what comes meanwhile goes with the next one.
    busy: AtomicBool,
    /// A write is over: what came meanwhile may go.
    done: Notify,
}

#[derive(Default)]
struct Waiting {
    whole: bool,
    teams: BTreeSet<Id>,
    /// The standings cannot be projected; that has been said, and the set is empty.
    beyond: bool,
    /// The section whose teams have places.
    uppermost: Option<i64>,
}

impl Projector {
    pub(super) fn new(contest: &str, store: SharedStore) -> Self {
        Self {
            shared: Arc::new(Shared {
                contest: contest.to_owned(),
                store,
                waiting: Mutex::default(),
                busy: AtomicBool::new(false),
                done: Notify::new(),
            }),
        }
    }

    /// Every place has to be written.
    pub(super) fn whole(&self) {
        if self.shared.store.projects() {
            self.shared.waiting().whole = true;
        }
    }

    /// The places of these teams have to be written.
    pub(super) fn changed(&self, teams: Vec<Id>) {
        if self.shared.store.projects() && !teams.is_empty() {
            self.shared.waiting().teams.extend(teams);
        }
    }

    /// Writes what waits, unless a write is under way. The whole is written by every server that starts, so that what a crash
    /// left undone heals.
    pub(super) fn flush(&self, core: &Core) {
        if !self.shared.store.projects() {
            return;
        }
        let (whole, places) = {
            let mut waiting = self.shared.waiting();
            let uppermost = projection::uppermost(&core.fold);
            if std::mem::replace(&mut waiting.uppermost, uppermost) != uppermost {
                waiting.whole = true; // Who has a place changes, touched or not.
            }
            if (!waiting.whole && waiting.teams.is_empty())
                || self.shared.busy.swap(true, Ordering::AcqRel)
            {
                return;
            }
            let whole = std::mem::take(&mut waiting.whole);
            let teams = std::mem::take(&mut waiting.teams);
            let board = core.fold.board(Side::Public);
            let place = |id: &Id| {
                let score = board
                    .get(id)
                    .map_or(Ok(None), |entry| projection::score(&core.fold, entry))?;
                Ok(Projected {
                    member: id.to_string(),
                    score,
                    version: board.version(),
                })
            };
            let places: Result<Vec<Projected>, projection::Beyond> = if whole {
                board.window(None).map(|entry| place(&entry.id)).collect()
            } else {
                teams.iter().map(place).collect()
            };
            match places {
                Ok(places) => {
                    waiting.beyond = false;
                    (whole, places)
                }
                Err(error) => {
                    waiting.whole = true; // Once it fits again, all of it is due.
                    if std::mem::replace(&mut waiting.beyond, true) {
                        self.shared.busy.store(false, Ordering::Release);
                        return;
                    }
                    tracing::warn!(contest = self.shared.contest, %error, "no sorted set is kept");
                    (true, Vec::new())
                }
            }
        };
        // The epoch of the log stands before the revision of the fold.
        let epoch = core
            .epoch
            .rsplit_once('.')
            .map_or("", |(epoch, _)| epoch)
            .to_owned();
        let shared = self.shared.clone();
        tokio::spawn(async move {
            if let Err(error) = shared
                .store
                .project(&shared.contest, &epoch, &places, whole)
                .await
            {
                tracing::debug!(contest = shared.contest, %error, "the projection waits");
                shared.give_back(whole, places);
                tokio::time::sleep(RETRY).await;
            }
            shared.busy.store(false, Ordering::Release);
            shared.done.notify_one();
        });
    }

    /// Waits until a write is over.
    pub(super) async fn written(&self) {
        self.shared.done.notified().await;
    }
}

impl Shared {
    /// What could not be written waits again.
    fn give_back(&self, whole: bool, places: Vec<Projected>) {
        let mut waiting = self.waiting();
        waiting.whole |= whole;
        waiting
            .teams
            .extend(places.into_iter().map(|place| Id::from(place.member)));
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, Waiting> {
        lock(&self.waiting)
    }
}
