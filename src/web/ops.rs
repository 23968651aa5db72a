//! For those who run the server: is it there, can it serve, how is it doing, is what it serves right.

use axum::{
    Json, Router,
    extract::{Path, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use serde_json::json;

use super::{Shared, problem::Problem};

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

/// `GET /readyz`: 200 if it can serve and take results; 503 with what is wrong otherwise.
async fn readyz(State(app): State<Shared>) -> Response {
    if app.stop.is_cancelled() {
        return (
            StatusCode::SERVICE_UNAVAILABLE,
            Json(json!({ "ready": false, "store": "ok", "stopping": true })),
        )
            .into_response();
    }
    match app.hub.store().check().await {
        Ok(()) => Json(json!({ "ready": true, "store": "ok" })).into_response(),
        Err(error) => {
            tracing::warn!(%error, "not ready");
            let body = json!({ "ready": false, "store": error.to_string() });
            (StatusCode::SERVICE_UNAVAILABLE, Json(body)).into_response()
        }
    }
}

/// `GET /metrics`: in the text form of Prometheus. Needs the key.
async fn metrics(State(app): State<Shared>, headers: HeaderMap) -> Result<Response, Problem> {
    app.keys.admin(&headers)?;
    Ok((
        [(header::CONTENT_TYPE, "text/plain; version=0.0.4")],
        app.metrics.render(),
    )
        .into_response())
}

/// `GET /api/contests/{id}/verify`: folds the log again, compares with what this server serves and with the projection.
/// 200 with the report, also where something differs: `equal` says it. Needs the key, since it tells what the jury sees.
async fn verify(
    State(app): State<Shared>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    app.keys.admin(&headers)?;
    let live = app.contest(&id).await?;
    Ok(Json(app.hub.verify(&live).await?).into_response())
}
