//! The event feed of the CLICS Contest API: every object that the asker may see, then every change, a line each.

use std::convert::Infallible;

use axum::{
    Router,
    body::Body,
    extract::{Query, State, rejection::QueryRejection},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use futures_util::stream;
use serde::Deserialize;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use super::{
    ContestId, Shared,
    clics::{open_to_pages, side},
    collections::strict,
    problem::Problem,
};
use crate::hub::feed::{Reader, UnknownToken};

/// The routes of this file.
pub fn router() -> Router<Shared> {
    Router::new().route("/api/contests/{id}/event-feed", get(event_feed))
}

#[derive(Deserialize)]
struct Ask {
    view: Option<String>,
    strict: Option<String>,
    since_token: Option<String>,
    since_id: Option<String>,
    stream: Option<String>,
}

/// `GET /api/contests/{id}/event-feed`: NDJSON. `since_token=`: what came after that line, 400 if it is not known; `stream=false`: ends
/// when all that there is now has been sent; `view=public|jury`, `strict=false` as for the collections. It goes on until the contest
/// is deleted or begins anew (then the token is not known any more), or the server stops.
async fn event_feed(
    State(app): State<Shared>,
    ContestId(id): ContestId,
    query: Result<Query<Ask>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let Query(ask) = query?;
    let side = side(&app, &headers, ask.view.as_deref())?;
    let strict = strict(ask.strict.as_deref())?;
    let goes_on = match ask.stream.as_deref() {
        None | Some("" | "true" | "1") => true,
        Some("false" | "0") => false,
        Some(_) => return Err(Problem::bad_request("stream: expected true or false")),
    };
    if ask.since_id.is_some() {
        return Err(Problem::bad_request(
            "since_id: of an older form; lines have tokens here, go on with since_token",
        ));
    }
    let live = app.contest(&id).await?;
    let seat = seat(&app)?;
    let reader = Reader::new(live, side, strict, ask.since_token.as_deref()).await;
    let reader = reader
        .map_err(|unknown: UnknownToken| Problem::bad_request(format!("since_token: {unknown}")))?;
    let following = Following {
        reader,
        goes_on,
        stop: app.stop.clone(),
        _seat: seat,
    };
    let body = Body::from_stream(stream::unfold(following, |mut following| async move {
        let lines = if following.goes_on {
            tokio::select! {
                lines = following.reader.next() => lines?,
                () = following.stop.cancelled() => return None,
            }
        } else {
            following.reader.now()?
        };
        Some((Ok::<_, Infallible>(lines), following))
    }));
    let mut response = body.into_response();
    let headers = response.headers_mut();
    open_to_pages(headers);
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/x-ndjson"),
    );
    // Proxies that collect an answer before they pass it on would hold a feed for ever.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

/// A seat among those who follow feeds.
pub(super) fn seat(app: &Shared) -> Result<OwnedSemaphorePermit, Problem> {
    let seat = app.feeds.clone().try_acquire_owned();
    seat.map_err(|_| {
        Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "too many follow event feeds (--max-feeds)",
        )
    })
}

/// A feed on its way to whom follows it.
struct Following {
    reader: Reader,
    goes_on: bool,
    stop: CancellationToken,
    _seat: OwnedSemaphorePermit,
}
