//! The current contest: the one that `/current` shows, so that a projector needs no touch between practice and final.
//!
//! The choice is an event in the log of the contest that is chosen; the newest such event holds, on every server.

use std::sync::Arc;

use axum::{
    Json, Router,
    body::Bytes,
    extract::{State, rejection::BytesRejection},
    response::Response,
    routing::get,
};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Shared,
    auth::Admin,
    clics::public,
    judge::{FOLD_PATIENCE, append},
    problem::Problem,
};
use crate::{
    contest::{Kind, Notification, Phase, View, clock},
    hub::Live,
};

/// The routes of this file.
pub fn router() -> Router<Shared> {
    Router::new().route("/api/current", get(current).put(choose))
}

/// `GET /api/current`: `{"contest":ID,"chosen":true}`; where none was chosen the contest that is going on, else the next, else the last
/// one, with `chosen` false; `null` where there is none at all.
async fn current(State(app): State<Shared>) -> Result<Response, Problem> {
    Ok(public(shown(&app).await?))
}

/// What is to be chosen.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Choice {
    contest: Option<String>,
}

/// `PUT /api/current` with `{"contest":ID}`: this one from now on; with `null` none is chosen any more. Answers as GET.
async fn choose(
    _: Admin,
    State(app): State<Shared>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<Value>, Problem> {
    let Choice { contest } = serde_json::from_slice(&body?).map_err(|error| {
        Problem::unprocessable(format!("expected {{\"contest\": ID or null}}: {error}"))
    })?;
    match contest {
        Some(id) => {
            let now = clock::format_instant(Timestamp::now().as_millisecond());
            say(&app, &*app.contest(&id).await?, json!({ "chosen": now })).await?;
        }
        None => {
            for live in all(&app).await? {
                if live.core().fold.chosen().is_some() {
                    say(&app, &live, Value::Null).await?;
                }
            }
        }
    }
    Ok(Json(shown(&app).await?))
}

async fn say(app: &Shared, live: &Live, data: Value) -> Result<(), Problem> {
    let notification = Notification {
        kind: Kind::Current.name().to_owned(),
        id: None,
        data,
        token: None,
    };
    let batch = vec![append(notification, "")];
    let appended = app.hub.append(live.id(), batch).ended().await?;
    live.wait_for(&appended.tip, FOLD_PATIENCE).await;
    Ok(())
}

async fn all(app: &Shared) -> Result<Vec<Arc<Live>>, Problem> {
    let mut all = Vec::new();
    for id in app.hub.store().contests().await? {
        // One that is deleted at this moment is no error.
        if let Ok(live) = app.contest(&id).await {
            all.push(live);
        }
    }
    Ok(all)
}

async fn shown(app: &Shared) -> Result<Value, Problem> {
    let all = all(app).await?;
    let chosen = all
        .iter()
        .filter_map(|live| Some((live.core().fold.chosen()?, live.id())))
        .max();
    if let Some((_, id)) = chosen {
        return Ok(json!({ "contest": id, "chosen": true }));
    }
    let by_itself = all.iter().max_by_key(|live| {
        let status = live.core().fold.status(View::Public);
        match (status.phase, status.start) {
            (Phase::Running | Phase::Frozen, start) => (2, start.unwrap_or(0)),
            // The next one: that with the earliest start.
            (Phase::Before | Phase::Paused, start) => (1, -start.unwrap_or(i64::MAX)),
            (Phase::Ended | Phase::Thawed | Phase::Finalized, start) => (0, start.unwrap_or(0)),
        }
    });
    Ok(json!({ "contest": by_itself.map(|live| live.id()), "chosen": false }))
}
