//! The HTTP edge: the router, and one file for each room of the API.
//!
//! Every file owns its routes. Errors become problem+json in [`problem`]; keys are checked in [`auth`]. Nothing here knows
//! how standings come about: it reads [`crate::hub`] and appends events.

pub mod adjustments;
pub mod auth;
pub mod balloons;
pub mod boards;
pub mod ceremony;
pub mod clics;
pub mod collections;
pub mod current;
pub mod feed;
pub mod judge;
pub mod live;
pub mod ops;
pub mod pace;
pub mod pages;
pub mod problem;
pub mod sources;
pub mod websocket;

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{DefaultBodyLimit, FromRequestParts, Path},
    http::{HeaderValue, request::Parts},
};
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::sync::Semaphore;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower_http::{
    catch_panic::CatchPanicLayer, set_header::SetResponseHeaderLayer, trace::TraceLayer,
};

use self::{auth::Keys, pace::Pace};
use crate::{
    contest::is_id,
    hub::{Hub, Live},
    store::StoreError,
    web::problem::Problem,
};

/// What strangers may ask of a server, at the most.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of a request body.
    pub body: usize,
    /// Live connections.
    pub viewers: usize,
    /// How long a viewer's socket may take nothing of what is written to it.
    pub write: Duration,
    /// Live connections that are let in a second. Nothing else waits for them.
    pub joins: u32,
    /// Answers about earlier standings that are worked out at once.
    pub pasts: usize,
    /// Those who follow event feeds.
    pub feeds: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 16 * 1024 * 1024,
            viewers: 50_000,
            write: Duration::from_secs(20),
            joins: 2_000,
            pasts: 1,
            feeds: 200,
        }
    }
}

/// What every request needs.
pub struct App {
    /// The contests.
    pub hub: Arc<Hub>,
    /// Who may do what.
    pub keys: Keys,
    /// What may be asked.
    pub limits: Limits,
    /// Renders `/metrics`.
    pub metrics: PrometheusHandle,
    /// A permit for each live connection.
    pub viewers: Arc<Semaphore>,
    /// A permit for each answer about earlier standings under way.
    pub pasts: Arc<Semaphore>,
    /// A permit for each event feed that is followed.
    pub feeds: Arc<Semaphore>,
    /// The pace at which viewers are let in.
    pub pace: Pace,
    /// Cancelled when the server is to stop: viewers are told, and leave.
    pub stop: CancellationToken,
    /// The live connections, to wait for.
    pub sockets: TaskTracker,
}

/// The state that handlers take.
pub type Shared = Arc<App>;

impl App {
    /// The contest of that id.
    async fn contest(&self, id: &str) -> Result<Arc<Live>, Problem> {
        if !is_id(id) {
            return Err(Problem::bad_contest_id(id));
        }
        match self.hub.contest(id).await {
            Ok(live) => Ok(live),
            Err(StoreError::NoSuchContest(_)) => Err(Problem::no_contest(id)),
            Err(error) => Err(error.into()),
        }
    }
}

/// The contest's id in a path: what no contest can be called is refused here.
pub struct ContestId(pub String);

impl FromRequestParts<Shared> for ContestId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Shared) -> Result<Self, Problem> {
        let Path(id) = Path::<String>::from_request_parts(parts, app)
            .await
            .map_err(|_| Problem::bad_request("the path is not UTF-8"))?;
        if is_id(&id) {
            Ok(Self(id))
        } else {
            Err(Problem::bad_contest_id(&id))
        }
    }
}

/// Everything that the server answers.
pub fn router(app: Shared) -> Router {
    let body = app.limits.body;
    Router::new()
        .merge(judge::router())
        .merge(ceremony::router())
        .merge(adjustments::router())
        .merge(balloons::router())
        .merge(clics::router())
        .merge(collections::router())
        .merge(feed::router())
        .merge(current::router())
        .merge(sources::router())
        .merge(boards::router())
        .merge(live::router())
        .merge(ops::router())
        .merge(pages::router())
        .fallback(problem::no_route)
        .method_not_allowed_fallback(problem::no_method)
        .layer(DefaultBodyLimit::max(body))
        .layer(SetResponseHeaderLayer::if_not_present(
            axum::http::header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        ))
        .layer(CatchPanicLayer::custom(problem::panicked))
        .layer(TraceLayer::new_for_http())
        .with_state(app)
}
