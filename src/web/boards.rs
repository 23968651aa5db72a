//! Boards: the whole window over HTTP, encoded and compressed once a version.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Query, State, rejection::QueryRejection},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::Response,
    routing::get,
};
use serde::Deserialize;
use tokio::sync::OwnedSemaphorePermit;

use super::{ContestId, Shared, problem::Problem};
use crate::{
    contest::{View, clock},
    hub::Snapshot,
    protocol::{Limit, Position},
};

/// How long `min=` waits for a version that this server does not have yet.
pub const MIN_PATIENCE: Duration = Duration::from_secs(3);

/// How long a question for earlier standings waits for its turn.
const PAST_PATIENCE: Duration = Duration::from_secs(5);

/// Below this many bytes compression is not worth its header.
const COMPRESS_MIN: usize = 1024;

/// The routes of this file.
pub fn router() -> Router<Shared> {
    Router::new().route("/api/contests/{id}/board", get(board))
}

/// The view that was asked for; `public` if none was.
pub(super) fn view_of(view: Option<&str>) -> Result<View, Problem> {
    let Some(name) = view else {
        return Ok(View::Public);
    };
    View::named(name).ok_or_else(|| {
        let shown: String = name.chars().take(40).collect();
        Problem::bad_request(format!(
            "view: expected public, jury or ceremony, got {shown:?}"
        ))
    })
}

/// The limit that was asked for; all rows if none was.
pub(super) fn limit_of(limit: Option<&str>) -> Result<Limit, Problem> {
    limit
        .map_or(Ok(Limit::All), str::parse)
        .map_err(|error: String| Problem::bad_request(format!("limit: {error}")))
}

/// The position in the parameter of that name, if it is there.
pub(super) fn position_of(name: &str, position: Option<&str>) -> Result<Option<Position>, Problem> {
    position
        .map(str::parse)
        .transpose()
        .map_err(|error: String| Problem::bad_request(format!("{name}: {error}")))
}

#[derive(Deserialize)]
struct Ask {
    view: Option<String>,
    limit: Option<String>,
    min: Option<String>,
    at: Option<String>,
}

/// `GET /api/contests/{id}/board`: the snapshot message. `view=public|jury|ceremony`, `limit=1…1000|all` (all), `min=POSITION`: not
/// older than that; `at=1:23:00`: as it was at that contest time, of public and jury.
async fn board(
    State(app): State<Shared>,
    ContestId(id): ContestId,
    query: Result<Query<Ask>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let Query(ask) = query?;
    let view = view_of(ask.view.as_deref())?;
    let limit = limit_of(ask.limit.as_deref())?;
    let min = position_of("min", ask.min.as_deref())?;
    app.keys.view(&headers, view)?;
    let at = past_of(ask.at.as_deref(), view)?;
    let live = app.contest(&id).await?;
    if let Some(time) = at {
        let turn = turn_for_past(&app).await?;
        let snapshot = live.past_snapshot(view, limit, time, turn).await;
        return earlier(&snapshot.ok_or_else(no_past)?, view);
    }
    if let Some(min) = min {
        live.reach(view, &min, MIN_PATIENCE).await;
    }
    let snapshot = live.snapshot(view, limit);
    answer(snapshot, &headers, view).await
}

/// The contest time of `at=`, in ms.
pub(super) fn past_of(at: Option<&str>, view: View) -> Result<Option<i64>, Problem> {
    let Some(at) = at else { return Ok(None) };
    if view == View::Ceremony {
        return Err(Problem::bad_request(
            "at: of the views public and jury; a ceremony is stepped back",
        ));
    }
    clock::parse_relative(at).map(Some).ok_or_else(|| {
        let shown: String = at.chars().take(40).collect();
        Problem::bad_request(format!(
            "at: expected a contest time such as 1:23:00, got {shown:?}"
        ))
    })
}

/// A turn to work out earlier standings. Each takes as much work as the contest has submissions, so they wait for each other.
pub(super) async fn turn_for_past(app: &Shared) -> Result<OwnedSemaphorePermit, Problem> {
    let busy = || {
        Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "too many ask for earlier standings at once (--max-pasts)",
        )
    };
    let turn = tokio::time::timeout(PAST_PATIENCE, app.pasts.clone().acquire_owned()).await;
    turn.ok().and_then(Result::ok).ok_or_else(busy)
}

/// The answer where earlier standings could not be worked out.
pub(super) fn no_past() -> Problem {
    Problem::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "the earlier standings could not be worked out",
    )
}

/// Standings that do not change any more, and that nobody resumes from.
fn earlier(snapshot: &Snapshot, view: View) -> Result<Response, Problem> {
    let cache = if view == View::Public {
        "no-cache"
    } else {
        "private, no-cache"
    };
    Response::builder()
        .header(header::CACHE_CONTROL, cache)
        .header(header::VARY, "authorization")
        .header(header::ACCESS_CONTROL_ALLOW_ORIGIN, "*")
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(snapshot.json().clone()))
        .map_err(unwritten)
}

fn unwritten(_: axum::http::Error) -> Problem {
    Problem::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "the board could not be written",
    )
}

async fn answer(
    snapshot: Arc<Snapshot>,
    headers: &HeaderMap,
    view: View,
) -> Result<Response, Problem> {
    let etag = format!("\"{}\"", snapshot.position);
    let mut response = Response::builder()
        .header(header::ETAG, &etag)
        .header(
            header::CACHE_CONTROL,
            if view == View::Public {
                "no-cache"
            } else {
                "private, no-cache"
            },
        )
        .header(header::VARY, "accept-encoding, authorization")
        .header(header::ACCESS_CONTROL_ALLOW_ORIGIN, "*")
        .header(
            header::ACCESS_CONTROL_EXPOSE_HEADERS,
            "etag, retry-after, date",
        );
    if headers
        .get(header::IF_NONE_MATCH)
        .is_some_and(|known| matches(known, &etag))
    {
        return response
            .status(StatusCode::NOT_MODIFIED)
            .body(Body::empty())
            .map_err(unwritten);
    }
    let gzip = headers
        .get(header::ACCEPT_ENCODING)
        .is_some_and(accepts_gzip);
    let (bytes, compressed) = tokio::task::spawn_blocking(move || encoded(&snapshot, gzip))
        .await
        .map_err(|_| {
            Problem::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "the board could not be encoded",
            )
        })?;
    if compressed {
        response = response.header(header::CONTENT_ENCODING, "gzip");
    }
    response
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(bytes))
        .map_err(unwritten)
}

fn encoded(snapshot: &Snapshot, gzip: bool) -> (Bytes, bool) {
    let json = snapshot.json();
    if gzip && json.len() >= COMPRESS_MIN {
        (snapshot.gzip().clone(), true)
    } else {
        (json.clone(), false)
    }
}

/// If-None-Match (RFC 9110, 13.1.2): a list of tags, weak or not, or `*`.
pub(super) fn matches(known: &HeaderValue, etag: &str) -> bool {
    known.to_str().is_ok_and(|known| {
        known
            .split(',')
            .map(str::trim)
            .any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag)
    })
}

/// Accept-Encoding (RFC 9110, 12.5.3): is gzip among those accepted?
fn accepts_gzip(accepted: &HeaderValue) -> bool {
    accepted.to_str().is_ok_and(|accepted| {
        accepted.split(',').any(|coding| {
            let mut parts = coding.split(';').map(str::trim);
            let name = parts.next().unwrap_or("");
            let refused = parts.any(|part| {
                part.split_once('=').is_some_and(|(name, weight)| {
                    name.trim() == "q"
                        && weight.trim().parse().is_ok_and(|weight: f32| weight <= 0.0)
                })
            });
            (name.eq_ignore_ascii_case("gzip") || name == "*") && !refused
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_sent_to_those_who_accept_it() {
        let accepts = |text: &'static str| accepts_gzip(&HeaderValue::from_static(text));
        assert!(
            accepts("gzip") && accepts("br, GZIP;q=0.5") && accepts("*") && accepts("gzip;q=1.0")
        );
        assert!(
            !accepts("") && !accepts("br") && !accepts("gzip;q=0") && !accepts("gzip; q=0.000")
        );
    }

    #[test]
    fn known_tags_are_recognized() {
        let known = |text: &'static str| matches(&HeaderValue::from_static(text), "\"k-1\"");
        assert!(known("\"k-1\"") && known("W/\"k-1\"") && known("\"x\", \"k-1\"") && known("*"));
        assert!(!known("\"k-2\"") && !known("k-1") && !known(""));
    }
}
