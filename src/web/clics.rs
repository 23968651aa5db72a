//! The CLICS Contest API, 2023-06, as far as standings need it.

use axum::{
    Json, Router,
    extract::{
        Path, Query, State,
        rejection::{PathRejection, QueryRejection},
    },
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{ContestId, Shared, auth::Access, boards::view_of, problem::Problem};
use crate::contest::{Side, clics};

/// The routes of this file.
pub fn router() -> Router<Shared> {
    Router::new()
        .route("/api", get(api))
        .route("/api/", get(api))
        .route("/api/contests", get(contests))
        .route("/api/contests/{id}", get(contest))
        .route("/api/contests/{id}/state", get(state))
        .route("/api/contests/{id}/scoreboard", get(scoreboard))
        .route("/api/contests/{id}/awards", get(awards))
        .route("/api/contests/{id}/awards/{award}", get(award))
}

/// A JSON answer that any page may read.
pub(super) fn public(value: Value) -> Response {
    let mut response = Json(value).into_response();
    let headers = response.headers_mut();
    headers.insert(
        header::ACCESS_CONTROL_ALLOW_ORIGIN,
        HeaderValue::from_static("*"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(header::VARY, HeaderValue::from_static("authorization"));
    response
}

/// `GET /api/`: which API this is.
async fn api() -> Response {
    public(json!({
        "version": "2023-06",
        "version_url": "https://ccs-specs.icpc.io/2023-06/contest_api",
        "provider": { "name": "rankcast", "version": env!("CARGO_PKG_VERSION") },
    }))
}

/// `GET /api/contests`: all contests.
async fn contests(State(app): State<Shared>, headers: HeaderMap) -> Result<Response, Problem> {
    app.keys.access(&headers)?;
    let mut all = Vec::new();
    for id in app.hub.store().contests().await? {
        // One that is deleted at this moment is no error.
        if let Ok(live) = app.contest(&id).await {
            all.push(clics::contest(&live.core().fold));
        }
    }
    Ok(public(Value::Array(all)))
}

/// `GET /api/contests/{id}`: the contest object.
async fn contest(
    State(app): State<Shared>,
    ContestId(id): ContestId,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    app.keys.access(&headers)?;
    let live = app.contest(&id).await?;
    let answer = clics::contest(&live.core().fold);
    Ok(public(answer))
}

/// `GET /api/contests/{id}/state`: the phases as the asker may see them.
async fn state(
    State(app): State<Shared>,
    ContestId(id): ContestId,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let side = side(&app, &headers)?;
    let live = app.contest(&id).await?;
    let answer = clics::state(&live.core().fold, side);
    Ok(public(answer))
}

#[derive(Deserialize)]
struct Ask {
    view: Option<String>,
}

/// `GET /api/contests/{id}/scoreboard`: the ranked teams of the lowest section; `view=` as for the board.
async fn scoreboard(
    State(app): State<Shared>,
    ContestId(id): ContestId,
    query: Result<Query<Ask>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let view = view_of(query?.0.view.as_deref())?;
    app.keys.view(&headers, view)?;
    let live = app.contest(&id).await?;
    let (mut answer, rows) = {
        let mut core = live.core();
        let head = clics::scoreboard_head(&core.fold, view, Timestamp::now().as_millisecond());
        (head, core.scoreboard(view))
    };
    answer["rows"] = json!(*rows);
    Ok(public(answer))
}

/// `GET /api/contests/{id}/awards`: who would get what if the contest ended with what the asker may see.
async fn awards(
    State(app): State<Shared>,
    ContestId(id): ContestId,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let side = side(&app, &headers)?;
    let live = app.contest(&id).await?;
    let all = clics::awards(&live.core().fold, side);
    Ok(public(Value::Array(all)))
}

/// `GET /api/contests/{id}/awards/{award}`: one of them.
async fn award(
    State(app): State<Shared>,
    path: Result<Path<(String, String)>, PathRejection>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let Path((id, award)) = path.map_err(|_| Problem::bad_request("the path is not UTF-8"))?;
    let side = side(&app, &headers)?;
    let live = app.contest(&id).await?;
    let all = clics::awards(&live.core().fold, side);
    let found = all.into_iter().find(|one| one["id"] == award.as_str());
    found.map(public).ok_or_else(|| {
        let shown: String = award.chars().take(40).collect();
        Problem::new(StatusCode::NOT_FOUND, format!("no such award: {shown}"))
    })
}

/// What the asker may see.
fn side(app: &Shared, headers: &HeaderMap) -> Result<Side, Problem> {
    Ok(match app.keys.access(headers)? {
        Access::Admin => Side::Jury,
        Access::Public => Side::Public,
    })
}
