//! The server: the one place that knows every part and puts them together.

use std::{
    future::IntoFuture as _,
    io,
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use axum::serve::ListenerExt as _;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tokio::{net::TcpListener, sync::Semaphore};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    feed::{inside, upstream::Upstream},
    hub::Hub,
    store::{Digest, SharedStore, StoreError, embedded::Embedded, redis::Redis},
    web::{
        self, App, Limits,
        auth::{Keys, new_secret},
        pace::Pace,
    },
};

/// How long viewers and requests under way have to end when the server stops.
pub const DRAIN: Duration = Duration::from_secs(5);

/// How often the metrics recorder tidies up; without it histograms grow for ever.
const METRICS_UPKEEP: Duration = Duration::from_secs(5);

/// Where the server keeps what it is told.
#[derive(Clone, Debug)]
pub enum StoreChoice {
    /// In one file in this directory, by this process alone.
    Embedded(PathBuf),
    /// In the Redis at this URL, which several servers may share.
    Redis(String),
}

/// How a server is to be.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it keeps what it is told.
    pub store: StoreChoice,
    /// The admin key; left out, the one that was made for this store holds, and if there is none one is made.
    pub admin_key: Option<String>,
    /// The shortest time between two frames of a board.
    pub tick: Duration,
    /// What may be asked of it.
    pub limits: Limits,
    /// The feeds that it follows.
    pub follow: Vec<Followed>,
}

/// A judge's feed that a contest follows.
#[derive(Clone, Debug)]
pub struct Followed {
    /// The contest.
    pub contest: String,
    /// The feed.
    pub upstream: Upstream,
    /// How long it may be silent.
    pub silence: Duration,
}

/// What is to be said about the admin key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdminKey {
    /// It was given, or made at an earlier start.
    Known,
    /// It was made now, and this is the only time that it can be seen.
    Made(String),
}

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The store cannot be opened or reached.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Something panicked while the store was opened.
    #[error("the store could not be opened")]
    Opening,
}

/// A server, inert until it listens.
pub struct Server {
    app: Arc<App>,
    admin_key: AdminKey,
    follow: Vec<Followed>,
}

impl Server {
    /// Opens the store and puts all parts together. Nothing is served yet.
    pub async fn new(options: Options) -> Result<Self, StartError> {
        let store: SharedStore = match options.store {
            StoreChoice::Embedded(dir) => tokio::task::spawn_blocking(move || Embedded::open(&dir))
                .await
                .map_err(|_| StartError::Opening)??,
            StoreChoice::Redis(url) => Redis::connect(&url).await?,
        };
        let (admin, admin_key) = match options.admin_key {
            Some(key) => (Keys::digest(&key), AdminKey::Known),
            None => stored_key(&store).await?,
        };
        let app = Arc::new(App {
            hub: Hub::start(store, options.tick),
            keys: Keys::new(admin),
            viewers: Arc::new(Semaphore::new(
                options.limits.viewers.min(Semaphore::MAX_PERMITS),
            )),
            pace: Pace::new(options.limits.joins),
            pasts: Arc::new(Semaphore::new(
                options.limits.pasts.clamp(1, Semaphore::MAX_PERMITS),
            )),
            feeds: Arc::new(Semaphore::new(
                options.limits.feeds.min(Semaphore::MAX_PERMITS),
            )),
            limits: options.limits,
            metrics: recorder(),
            stop: CancellationToken::new(),
            sockets: TaskTracker::new(),
        });
        Ok(Self {
            app,
            admin_key,
            follow: options.follow,
        })
    }

    /// What is to be said about the admin key.
    pub fn admin_key(&self) -> &AdminKey {
        &self.admin_key
    }

    /// Cancel it to stop the server.
    pub fn stopper(&self) -> CancellationToken {
        self.app.stop.clone()
    }

    /// Serves until it is stopped: then viewers are told, requests under way end, and the store is closed.
    pub async fn listen(self, listener: TcpListener) -> io::Result<()> {
        let app = self.app;
        let stop = app.stop.clone();
        let upkeep = tokio::spawn(keep_metrics(app.metrics.clone()));
        for feed in self.follow {
            let (hub, stop) = (app.hub.clone(), stop.clone());
            tokio::spawn(async move {
                tokio::select! {
                    () = keep_following(hub, feed) => {}
                    () = stop.cancelled() => {}
                }
            });
        }
        let listener = listener.tap_io(|socket| {
            // Deltas are small and must not wait for one another.
            if let Err(error) = socket.set_nodelay(true) {
                tracing::debug!(%error, "nodelay");
            }
        });
        let (stopping, sweep) = (stop.clone(), app.hub.sweep().clone());
        let serving = axum::serve(listener, web::router(app.clone()))
            .with_graceful_shutdown(async move {
                stopping.cancelled().await;
                sweep.farewell();
            })
            .into_future();
        let drained = async {
            stop.cancelled().await;
            tokio::time::sleep(DRAIN).await;
        };
        let served = tokio::select! {
            served = serving => served,
            () = drained => Ok(()),
        };
        app.sockets.close();
        if tokio::time::timeout(DRAIN, app.sockets.wait())
            .await
            .is_err()
        {
            tracing::warn!(
                left = app.sockets.len(),
                "some viewers did not leave in time"
            );
        }
        app.hub.shutdown().await;
        app.hub.store().close().await;
        upkeep.abort();
        served
    }
}

/// How long after a feed could not be followed it is tried again: somebody has to mend something.
const FOLLOW_AGAIN: Duration = Duration::from_secs(30);

/// Follows a feed until it is over.
async fn keep_following(hub: Arc<Hub>, feed: Followed) {
    let Followed {
        contest,
        upstream,
        silence,
    } = feed;
    while let Err(error) =
        inside::follow(hub.clone(), contest.clone(), upstream.clone(), silence).await
    {
        let error = format!("{error:#}");
        tracing::error!(contest, error, "the feed cannot be followed; again in 30 s");
        tokio::time::sleep(FOLLOW_AGAIN).await;
    }
}

/// The admin key that was made for this store; it is made if there is none yet.
async fn stored_key(store: &SharedStore) -> Result<(Digest, AdminKey), StoreError> {
    if let Some(known) = store.admin_key().await? {
        return Ok((known, AdminKey::Known));
    }
    let key = new_secret("rck_");
    let digest = Keys::digest(&key);
    let holds = store.claim_admin_key(digest).await?;
    // Another server may have been faster.
    let said = if holds == digest {
        AdminKey::Made(key)
    } else {
        AdminKey::Known
    };
    Ok((holds, said))
}

/// The process has one recorder, whatever the number of servers in it.
fn recorder() -> PrometheusHandle {
    static RECORDER: OnceLock<PrometheusHandle> = OnceLock::new();
    RECORDER
        .get_or_init(|| {
            let recorder = PrometheusBuilder::new().build_recorder();
            let handle = recorder.handle();
            if metrics::set_global_recorder(recorder).is_err() {
                tracing::warn!("another metrics recorder is in place");
            }
            handle
        })
        .clone()
}

async fn keep_metrics(handle: PrometheusHandle) {
    let mut every = tokio::time::interval(METRICS_UPKEEP);
    loop {
        every.tick().await;
        handle.run_upkeep();
    }
}
