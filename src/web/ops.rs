//! For those who run the server: is it there, can it serve, how is it doing, is what it serves right.

use axum::{
    Json, Router,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use serde_json::json;

use super::{ContestId, Shared, auth::Admin, problem::Problem};
use crate::{protocol::message::FeedState, store::StoreError};

/// The routes of this file.
pub fn router() -> Router<Shared> {
    Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .route("/api/contests/{id}/verify", get(verify))
}

/// `GET /healthz`: the process answers.
async fn healthz() -> &'static str {
    "ok\n"
}

/// `GET /readyz`: 200 if it can serve and take results; 503 with what is wrong otherwise, in a word: anybody may ask, and
/// the log tells the rest. `feeds` has each contest that follows one: `live` or `silent`.
async fn readyz(State(app): State<Shared>) -> Response {
    let stopping = app.stop.is_cancelled();
    let store = match app.hub.store().check().await {
        Ok(()) => "ok",
        Err(error) => {
            tracing::warn!(%error, "not ready");
            match error {
                StoreError::Away(_) => "away",
                StoreError::Refused(_) => "refuses",
                StoreError::Damaged(_) | StoreError::NoSuchContest(_) => "damaged",
            }
        }
    };
    let ready = !stopping && store == "ok";
    let mut body = json!({ "ready": ready, "store": store });
    let feeds: serde_json::Map<String, serde_json::Value> = app
        .hub
        .followed()
        .iter()
        .filter_map(|live| {
            let state = live.feed().0;
            (state != FeedState::None).then(|| (live.id().to_owned(), json!(state)))
        })
        .collect();
    if !feeds.is_empty() {
        body["feeds"] = feeds.into();
    }
    if stopping {
        body["stopping"] = true.into();
    }
    let status = if ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    (status, [(header::CACHE_CONTROL, "no-store")], Json(body)).into_response()
}

/// `GET /metrics`: in the text form of Prometheus. Needs the key.
async fn metrics(_: Admin, State(app): State<Shared>) -> impl IntoResponse {
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4")];
    (kind, app.metrics.render())
}

/// `GET /api/contests/{id}/verify`: folds the log again, compares with what this server serves and with the projection.
/// 200 with the report, also where something differs: `equal` says it. Needs the key, since it tells what the jury sees.
async fn verify(
    _: Admin,
    State(app): State<Shared>,
    ContestId(id): ContestId,
) -> Result<Response, Problem> {
    let live = app.contest(&id).await?;
    Ok(Json(app.hub.verify(&live).await?).into_response())
}
