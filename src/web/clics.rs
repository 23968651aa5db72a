//! The CLICS Contest API, 2023-06: the contest, its state, scoreboard and awards. Collections of objects are in
//! [`super::collections`], their changes in [`super::feed`]. Who sends the key reads what the jury sees, unless `view=public` is
//! asked for; all others read what is public.

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

use super::{
    ContestId, Shared,
    auth::Access,
    boards::{no_past, past_of, turn_for_past, view_of},
    problem::Problem,
};
use crate::contest::{
    Kind, Side, View,
    clics::{self, scoreboard},
};

/// The routes of this file.
pub fn router() -> Router<Shared> {
    Router::new()
        .route("/api", get(api))
        .route("/api/", get(api))
        .route("/api/contests", get(contests))
        .route("/api/contests/{id}", get(contest))
        .route("/api/contests/{id}/access", get(access))
        .route("/api/contests/{id}/state", get(state))
        .route("/api/contests/{id}/scoreboard", get(scoreboard_of))
        .route("/api/contests/{id}/awards", get(awards))
        .route("/api/contests/{id}/awards/{award}", get(award))
}

/// A JSON answer that any page may read.
pub(super) fn public(value: Value) -> Response {
    let mut response = Json(value).into_response();
    open_to_pages(response.headers_mut());
    response
}

/// Any page may read the answer; it depends on the key.
pub(super) fn open_to_pages(headers: &mut HeaderMap) {
    let words = [
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        (header::CACHE_CONTROL, "no-cache"),
        (header::VARY, "authorization"),
    ];
    for (name, word) in words {
        headers.insert(name, HeaderValue::from_static(word));
    }
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

/// `GET /api/contests/{id}/access`: the types and properties that the asker may see.
async fn access(
    State(app): State<Shared>,
    ContestId(id): ContestId,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let side = side(&app, &headers, None)?;
    app.contest(&id).await?;
    Ok(public(clics::access::access(side)))
}

/// `GET /api/contests/{id}/state`: the phases as the asker may see them.
async fn state(
    State(app): State<Shared>,
    ContestId(id): ContestId,
    query: Result<Query<Ask>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let side = side(&app, &headers, query?.view.as_deref())?;
    let live = app.contest(&id).await?;
    let answer = clics::state(&live.core().fold, side);
    Ok(public(answer))
}

#[derive(Deserialize)]
struct Ask {
    view: Option<String>,
}

#[derive(Deserialize)]
struct AskScoreboard {
    view: Option<String>,
    group_id: Option<String>,
    at: Option<String>,
}

/// `GET /api/contests/{id}/scoreboard`: the ranked teams of the lowest section. `view=public|jury|ceremony`; `group_id=`: the teams
/// of that group, ranked among themselves; `at=1:23:00`: as it was at that contest time.
async fn scoreboard_of(
    State(app): State<Shared>,
    ContestId(id): ContestId,
    query: Result<Query<AskScoreboard>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let Query(ask) = query?;
    let view = match ask.view.as_deref() {
        Some("ceremony") => View::Ceremony,
        view => side(&app, &headers, view)?.into(),
    };
    app.keys.view(&headers, view)?;
    let at = past_of(ask.at.as_deref(), view)?;
    let live = app.contest(&id).await?;
    if let Some(group) = &ask.group_id {
        let side = if view == View::Jury {
            Side::Jury
        } else {
            Side::Public
        };
        let known = live
            .core()
            .fold
            .shape(side, Kind::Groups, group, true)
            .is_some();
        if !known {
            let shown: String = group.chars().take(40).collect();
            return Err(Problem::new(
                StatusCode::NOT_FOUND,
                format!("no such group: {shown}"),
            ));
        }
    }
    let group = ask.group_id;
    if let Some(time) = at {
        let turn = turn_for_past(&app).await?;
        let read = move |contest: &crate::contest::Contest| {
            let moment = contest
                .info()
                .start
                .map_or(0, |start| start + contest.with_removed(time));
            let mut answer = scoreboard::head(contest, view, moment);
            answer["rows"] = json!(scoreboard::rows(contest, view, group.as_deref()));
            answer
        };
        let answer = live.past(time, turn, read).await;
        return answer.map(public).ok_or_else(no_past);
    }
    let now = Timestamp::now().as_millisecond();
    let (mut answer, rows) = {
        let mut core = live.core();
        let head = scoreboard::head(&core.fold, view, now);
        let rows = match &group {
            Some(group) => scoreboard::rows(&core.fold, view, Some(group)).into(),
            None => core.scoreboard(view),
        };
        (head, rows)
    };
    answer["rows"] = json!(*rows);
    Ok(public(answer))
}

/// `GET /api/contests/{id}/awards`: who would get what if the contest ended with what the asker may see.
async fn awards(
    State(app): State<Shared>,
    ContestId(id): ContestId,
    query: Result<Query<Ask>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let side = side(&app, &headers, query?.view.as_deref())?;
    let live = app.contest(&id).await?;
    let all = live.core().awards(side);
    Ok(public(all.iter().map(clics::award).collect()))
}

/// `GET /api/contests/{id}/awards/{award}`: one of them.
async fn award(
    State(app): State<Shared>,
    path: Result<Path<(String, String)>, PathRejection>,
    query: Result<Query<Ask>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let Path((id, award)) = path.map_err(|_| Problem::bad_request("the path is not UTF-8"))?;
    let side = side(&app, &headers, query?.view.as_deref())?;
    let live = app.contest(&id).await?;
    let all = live.core().awards(side);
    let found = all.iter().find(|one| *one.id == *award).map(clics::award);
    found.map(public).ok_or_else(|| {
        let shown: String = award.chars().take(40).collect();
        Problem::new(StatusCode::NOT_FOUND, format!("no such award: {shown}"))
    })
}

/// What the asker may see, or asks to see of it.
pub(super) fn side(app: &Shared, headers: &HeaderMap, view: Option<&str>) -> Result<Side, Problem> {
    let access = app.keys.access(headers)?;
    let Some(view) = view else {
        return Ok(match access {
            Access::Admin => Side::Jury,
            Access::Public => Side::Public,
        });
    };
    let view = view_of(Some(view))?;
    app.keys.view(headers, view)?;
    match view {
        View::Public => Ok(Side::Public),
        View::Jury => Ok(Side::Jury),
        View::Ceremony => Err(Problem::bad_request(
            "view: expected public or jury; of a ceremony there are board, live and scoreboard",
        )),
    }
}
