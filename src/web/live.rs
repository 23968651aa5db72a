//! Live connections: WebSocket, and server-sent events for those who ask for `text/event-stream`.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::{
        Query, Request, State,
        rejection::{BytesRejection, QueryRejection},
    },
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use futures_util::stream;
use serde::{Deserialize, Serialize};
use tokio::{
    net::TcpStream,
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    time::{MissedTickBehavior, interval, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    ContestId, Shared,
    auth::{self, Admin},
    boards::{MIN_PATIENCE, limit_of, position_of, view_of},
    problem::Problem,
    websocket::{self, Connection},
};
use crate::{
    contest::View,
    hub::{
        Live, Next, Socket, Sweep, Watching,
        sweep::BEAT,
        viewer::{FOLLOW_MAX, Request as Watch},
    },
    protocol::{Close, Frame},
};

/// The routes of this file.
pub fn router() -> Router<Shared> {
    Router::new()
        .route("/api/contests/{id}/live", get(live))
        .route("/api/tickets", post(ticket))
}

#[derive(Deserialize)]
struct Ask {
    view: Option<String>,
    limit: Option<String>,
    since: Option<String>,
    follow: Option<String>,
    ticket: Option<String>,
}

/// `GET /api/contests/{id}/live`: `view=public|jury|ceremony`, `limit=1…1000|all` (all), `since=POSITION`, `follow=` up to five ids,
/// `ticket=` for a view that needs a key.
async fn live(
    State(app): State<Shared>,
    id: Result<ContestId, Problem>,
    query: Result<Query<Ask>, QueryRejection>,
    headers: HeaderMap,
    request: Request,
) -> Response {
    let (mut parts, _) = request.into_parts();
    let is_live = websocket::is_asked(&parts) || wants_events(&headers);
    let joined = match (id, query) {
        (Ok(ContestId(id)), Ok(Query(ask))) if is_live => join(&app, &id, ask, &headers).await,
        (Ok(_), Ok(_)) => Err(Problem::new(
            StatusCode::UPGRADE_REQUIRED,
            "open a WebSocket here, or ask for text/event-stream",
        )),
        (Err(problem), _) => Err(problem),
        (_, Err(rejection)) => Err(rejection.into()),
    };
    if websocket::is_asked(&parts) {
        return match websocket::accept(&mut parts) {
            Ok((response, upgrade)) => {
                let (tracker, patience) = (app.sockets.clone(), app.limits.write);
                app.sockets.spawn(async move {
                    match websocket::connection(upgrade).await {
                        // A task of its own: this one has room for a handshake, and would keep it for hours.
                        Ok((stream, early)) => match joined {
                            Ok(seat) => drop(tracker.spawn(seat.serve(stream, early, patience))),
                            Err(problem) => websocket::refuse(stream, refusal(&problem)).await,
                        },
                        Err(error) => tracing::debug!(%error, "handshake"),
                    }
                });
                response
            }
            Err(problem) => {
                let version = [(header::SEC_WEBSOCKET_VERSION, websocket::VERSION)];
                (version, problem).into_response()
            }
        };
    }
    match joined {
        Ok(seat) => events(&app, seat),
        Err(problem) => problem.into_response(),
    }
}

/// What a viewer asked for, with its place among those that the server allows.
struct Seat {
    live: Arc<Live>,
    watch: Watch,
    permit: OwnedSemaphorePermit,
}

impl Seat {
    /// Serves a WebSocket until it ends.
    fn serve(
        self,
        stream: TcpStream,
        early: Bytes,
        patience: Duration,
    ) -> impl Future<Output = ()> {
        let (socket, membership) = Socket::join(stream, &self.live, self.watch);
        Connection::new(socket, early, patience, (membership, self.permit))
    }
}

async fn join(app: &Shared, id: &str, ask: Ask, headers: &HeaderMap) -> Result<Seat, Problem> {
    let view = view_of(ask.view.as_deref())?;
    let limit = limit_of(ask.limit.as_deref())?;
    // The id of the last event that a browser saw beats what its page was opened with.
    let since = headers
        .get("last-event-id")
        .and_then(|id| id.to_str().ok().map(str::to_owned))
        .or(ask.since);
    let since = position_of("since", since.as_deref().filter(|since| !since.is_empty()))?;
    let follow: Vec<_> = ask
        .follow
        .iter()
        .flat_map(|ids| ids.split(','))
        .filter(|id| !id.is_empty())
        .map(Into::into)
        .collect();
    if follow.len() > FOLLOW_MAX {
        return Err(Problem::bad_request(format!(
            "follow: expected at most {FOLLOW_MAX} ids"
        )));
    }
    match &ask.ticket {
        Some(ticket) if view != View::Public => {
            if !auth::take_ticket(app.hub.store(), ticket, &scope(id)).await? {
                return Err(Problem::new(
                    StatusCode::UNAUTHORIZED,
                    "the ticket is not good here, used, or too old",
                ));
            }
        }
        _ => app.keys.view(headers, view)?,
    }
    let live = app.contest(id).await?;
    let permit = Semaphore::try_acquire_owned(app.viewers.clone()).map_err(|_| {
        Problem::new(
            StatusCode::TOO_MANY_REQUESTS,
            "the server has as many viewers as it may (--max-viewers)",
        )
    })?;
    // Whoever has a key or a ticket does not queue with the crowd.
    if view == View::Public && !app.pace.turn().await {
        return Err(Problem::new(
            StatusCode::TOO_MANY_REQUESTS,
            "too many viewers come at once (--join-rate)",
        ));
    }
    if let Some(since) = &since {
        live.reach(view, since, MIN_PATIENCE).await;
    }
    Ok(Seat {
        live,
        watch: Watch {
            view,
            limit,
            since,
            follow,
        },
        permit,
    })
}

fn wants_events(headers: &HeaderMap) -> bool {
    headers
        .get(header::ACCEPT)
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains("text/event-stream"))
}

/// The close code that says what a status would.
fn refusal(problem: &Problem) -> Close {
    match problem.status() {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Close::Unauthorized,
        StatusCode::NOT_FOUND => Close::NotFound,
        StatusCode::TOO_MANY_REQUESTS => Close::TooMany,
        StatusCode::SERVICE_UNAVAILABLE => Close::Restarting,
        _ => Close::BadRequest,
    }
}

/// The same messages as server-sent events.
fn events(app: &Shared, seat: Seat) -> Response {
    // One event on its way: a browser that does not read holds nothing else, and not for ever.
    let (send, receive) = mpsc::channel::<Bytes>(1);
    app.sockets.spawn(tell(
        seat.live.watch(seat.watch),
        seat.permit,
        send,
        app.stop.clone(),
        app.hub.sweep().clone(),
        app.limits.write,
    ));
    let body = stream::unfold(receive, |mut receive| async move {
        receive
            .recv()
            .await
            .map(|bytes| (Ok::<Bytes, Infallible>(bytes), receive))
    });
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        // nginx buffers answers unless told not to.
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (headers, Body::from_stream(body)).into_response()
}

/// Tells one viewer its events until it leaves, does not take one in time, or the server stops.
async fn tell(
    mut viewer: Watching,
    _permit: OwnedSemaphorePermit,
    send: mpsc::Sender<Bytes>,
    stop: CancellationToken,
    sweep: Arc<Sweep>,
    patience: Duration,
) {
    let mut beat = interval(BEAT);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    beat.reset();
    loop {
        let (bytes, last) = tokio::select! {
            next = viewer.next() => match next {
                Next::Frame(frame) => (event(&frame), false),
                Next::Close(_) => return,
            },
            _ = beat.tick() => (event(&viewer.state()), false),
            () = stop.cancelled() => (event(&sweep.bye()), true),
            () = send.closed() => return,
        };
        if !matches!(timeout(patience, send.send(bytes)).await, Ok(Ok(()))) || last {
            return;
        }
    }
}

fn event(frame: &Frame) -> Bytes {
    metrics::counter!("rankcast_deliveries_total").increment(1);
    frame.event().clone()
}

#[derive(Deserialize)]
struct TicketFor {
    contest: String,
}

#[derive(Serialize)]
struct Ticket {
    ticket: String,
    expires_in_s: u64,
}

/// `POST /api/tickets` with `{"contest":"x"}`: a ticket that opens one live connection to the contest's jury view.
async fn ticket(
    _: Admin,
    State(app): State<Shared>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    let ask: TicketFor = serde_json::from_slice(&body?).map_err(|error| {
        Problem::bad_request(format!("expected {{\"contest\":\"id\"}}: {error}"))
    })?;
    app.contest(&ask.contest).await?;
    let ticket = auth::make_ticket(app.hub.store(), &scope(&ask.contest)).await?;
    let answer = Ticket {
        ticket,
        expires_in_s: auth::TICKET_TTL.as_secs(),
    };
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(answer)).into_response())
}

fn scope(contest: &str) -> String {
    format!("contest {contest} jury")
}
