//! Live connections: WebSocket, and server-sent events for those who ask for `text/event-stream`.

use std::{convert::Infallible, time::Duration};

use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::{
        FromRequestParts, Query, Request, State,
        rejection::{BytesRejection, QueryRejection},
        ws::{CloseFrame, Message as WsMessage, Utf8Bytes, WebSocket, WebSocketUpgrade},
    },
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use futures_util::{SinkExt as _, StreamExt as _, stream};
use rand::RngExt as _;
use serde::{Deserialize, Serialize};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    time::{Instant, MissedTickBehavior, interval, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    ContestId, Shared,
    auth::{self, Admin},
    boards::{MIN_PATIENCE, limit_of, position_of, side_of},
    problem::Problem,
};
use crate::{
    contest::Side,
    hub::{
        Next, Viewer,
        viewer::{FOLLOW_MAX, Request as Watch},
    },
    protocol::{Close, Frame, Message},
};

/// How often a quiet connection is pinged, and told the state: proxies cut sockets that are idle for 60 s.
pub const PING_EVERY: Duration = Duration::from_secs(25);

/// How long a WebSocket may be silent, pongs included, before it counts as dead.
pub const SILENCE_MAX: Duration = Duration::from_secs(75);

/// The largest message that is read from a viewer, which need never send one.
pub const MESSAGE_MAX: usize = 16 * 1024;

/// What a connection may hold of frames that the kernel does not take.
const WRITE_BUFFER_MAX: usize = 1024 * 1024;

/// Viewers of a server that stops come back within this many ms.
const BYE_SPREAD_MS: u64 = 2_000;

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

/// `GET /api/contests/{id}/live`: `view=public|jury`, `limit=1…1000|all` (all), `since=POSITION`, `follow=` up to five ids,
/// `ticket=` for a view that needs a key.
async fn live(
    State(app): State<Shared>,
    id: Result<ContestId, Problem>,
    query: Result<Query<Ask>, QueryRejection>,
    headers: HeaderMap,
    request: Request,
) -> Response {
    let (mut parts, _) = request.into_parts();
    let joined = match (id, query) {
        (Ok(ContestId(id)), Ok(Query(ask))) => join(&app, &id, ask, &headers).await,
        (Err(problem), _) => Err(problem),
        (_, Err(rejection)) => Err(rejection.into()),
    };
    let upgrade = match WebSocketUpgrade::from_request_parts(&mut parts, &app).await {
        Ok(upgrade) => upgrade,
        Err(_) if wants_events(&headers) => {
            return joined.map_or_else(IntoResponse::into_response, |seat| events(&app, seat));
        }
        Err(_) => {
            // What is wrong with the question itself is the better answer.
            return joined
                .err()
                .unwrap_or_else(|| {
                    Problem::new(
                        StatusCode::UPGRADE_REQUIRED,
                        "open a WebSocket here, or ask for text/event-stream",
                    )
                })
                .into_response();
        }
    };
    let upgrade = upgrade
        .read_buffer_size(1024)
        .write_buffer_size(0)
        .max_write_buffer_size(WRITE_BUFFER_MAX)
        .max_message_size(MESSAGE_MAX)
        .max_frame_size(MESSAGE_MAX);
    let (stop, patience, sockets) = (app.stop.clone(), app.limits.write, app.sockets.clone());
    upgrade.on_upgrade(move |socket| {
        sockets.track_future(async move {
            match joined {
                Ok(seat) => serve(socket, seat, &stop, patience).await,
                Err(problem) => refuse(socket, &problem).await,
            }
        })
    })
}

/// A viewer with its place among those that the server allows.
struct Seat {
    viewer: Viewer,
    _permit: OwnedSemaphorePermit,
}

async fn join(app: &Shared, id: &str, ask: Ask, headers: &HeaderMap) -> Result<Seat, Problem> {
    let side = side_of(ask.view.as_deref())?;
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
        Some(ticket) if side != Side::Public => {
            if !auth::take_ticket(app.hub.store(), ticket, &scope(id)).await? {
                return Err(Problem::new(
                    StatusCode::UNAUTHORIZED,
                    "the ticket is not good here, used, or too old",
                ));
            }
        }
        _ => app.keys.view(headers, side)?,
    }
    let live = app.contest(id).await?;
    if let Some(since) = &since {
        live.reach(side, since, MIN_PATIENCE).await;
    }
    let permit = Semaphore::try_acquire_owned(app.viewers.clone()).map_err(|_| {
        Problem::new(
            StatusCode::TOO_MANY_REQUESTS,
            "the server has as many viewers as it may (--max-viewers)",
        )
    })?;
    Ok(Seat {
        viewer: live.watch(Watch {
            side,
            limit,
            since,
            follow,
        }),
        _permit: permit,
    })
}

fn wants_events(headers: &HeaderMap) -> bool {
    headers
        .get(header::ACCEPT)
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains("text/event-stream"))
}

/// Serves one WebSocket until it ends.
async fn serve(socket: WebSocket, mut seat: Seat, stop: &CancellationToken, patience: Duration) {
    let (mut send, mut receive) = socket.split();
    let mut ping = interval(PING_EVERY);
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ping.reset();
    let mut heard = Instant::now();
    let close = loop {
        tokio::select! {
            next = seat.viewer.next() => match next {
                Next::Frame(frame) => match timeout(patience, send.send(text(&frame))).await {
                    Ok(Ok(())) => metrics::counter!("rankcast_deliveries_total").increment(1),
                    Ok(Err(_)) => return,
                    Err(_) => break Close::TooSlow,
                },
                Next::Close(close) => break close,
            },
            message = receive.next() => match message {
                // What viewers say has no meaning; a message that is too large or broken ends in an error.
                Some(Ok(WsMessage::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => heard = Instant::now(),
            },
            _ = ping.tick() => {
                if heard.elapsed() > SILENCE_MAX {
                    return;
                }
                let beat = async {
                    send.send(WsMessage::Ping(Bytes::new())).await?;
                    send.send(text(&seat.viewer.state())).await
                };
                match timeout(patience, beat).await {
                    Ok(Ok(())) => {}
                    Ok(Err(_)) => return,
                    Err(_) => break Close::TooSlow,
                }
            }
            () = stop.cancelled() => {
                let bye = timeout(patience, send.send(text(&bye()))).await;
                if matches!(bye, Ok(Ok(()))) {
                    break Close::Restarting;
                }
                return;
            }
        }
    };
    metrics::counter!("rankcast_closed_total", "code" => close.code().to_string()).increment(1);
    let frame = CloseFrame {
        code: close.code(),
        reason: Utf8Bytes::from_static(close.reason()),
    };
    let _ = timeout(Duration::from_secs(1), async {
        send.send(WsMessage::Close(Some(frame))).await?;
        send.close().await
    })
    .await;
}

/// A browser sees no status of a refused upgrade, but it sees a close code.
async fn refuse(mut socket: WebSocket, problem: &Problem) {
    let close = match problem.status() {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Close::Unauthorized,
        StatusCode::NOT_FOUND => Close::NotFound,
        StatusCode::TOO_MANY_REQUESTS => Close::TooMany,
        StatusCode::SERVICE_UNAVAILABLE => Close::Restarting,
        _ => Close::BadRequest,
    };
    let frame = CloseFrame {
        code: close.code(),
        reason: Utf8Bytes::from_static(close.reason()),
    };
    let _ = timeout(
        Duration::from_secs(1),
        socket.send(WsMessage::Close(Some(frame))),
    )
    .await;
}

fn text(frame: &Frame) -> WsMessage {
    WsMessage::Text(Utf8Bytes::try_from(frame.json().clone()).expect("JSON is UTF-8"))
}

fn bye() -> Frame {
    let retry_ms = rand::rng().random_range(100..=BYE_SPREAD_MS);
    Frame::new(&Message::Bye { retry_ms }, None)
}

/// The same messages as server-sent events.
fn events(app: &Shared, seat: Seat) -> Response {
    // One event on its way: a browser that does not read holds nothing else, and not for ever.
    let (send, receive) = mpsc::channel::<Bytes>(1);
    app.sockets
        .spawn(tell(seat, send, app.stop.clone(), app.limits.write));
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
    mut seat: Seat,
    send: mpsc::Sender<Bytes>,
    stop: CancellationToken,
    patience: Duration,
) {
    let mut beat = interval(PING_EVERY);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    beat.reset();
    loop {
        let (bytes, last) = tokio::select! {
            next = seat.viewer.next() => match next {
                Next::Frame(frame) => (event(&frame), false),
                Next::Close(_) => return,
            },
            _ = beat.tick() => (event(&seat.viewer.state()), false),
            () = stop.cancelled() => (event(&bye()), true),
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
