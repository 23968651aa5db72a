//! Manual adjustments of penalties (RULES 12): who decided what, when and why, kept in the log for ever.

use std::collections::HashMap;

use axum::{
    Json, Router,
    body::Bytes,
    extract::{State, rejection::BytesRejection},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    ContestId, Shared,
    auth::{Admin, new_secret},
    judge::{FOLD_PATIENCE, append},
    problem::Problem,
};
use crate::{
    board::Id,
    contest::{Contest, Decision, Kind, Notification, Scoring, clock},
    protocol::message::FeedState,
};

/// The longest reason or name, in bytes.
pub const REASON_MAX: usize = 2_000;

/// The routes of this file.
pub fn router() -> Router<Shared> {
    Router::new().route("/api/contests/{id}/adjustments", get(list).post(adjust))
}

/// What the jury decided.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    /// Of an earlier one: this takes its place. With a penalty of 0 it takes it back.
    id: Option<String>,
    team_id: String,
    /// Minutes, or a relative time; may be negative.
    penalty: Value,
    reason: String,
    by: String,
}

/// `GET /api/contests/{id}/adjustments`: all that was ever decided, the oldest first; `in_force` tells which
/// still holds.
async fn list(
    _: Admin,
    State(app): State<Shared>,
    ContestId(id): ContestId,
) -> Result<Response, Problem> {
    let live = app.contest(&id).await?;
    let all: Vec<Value> = {
        let core = live.core();
        let decisions = core.fold.decisions();
        let last: HashMap<&Id, usize> = decisions
            .iter()
            .enumerate()
            .map(|(index, decision)| (&decision.id, index))
            .collect();
        let shown = |(index, decision): (usize, &Decision)| {
            let newest = last.get(&decision.id) == Some(&index);
            shown(decision, newest && decision.adjustment.is_some())
        };
        decisions.iter().enumerate().map(shown).collect()
    };
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(all)).into_response())
}

/// `POST /api/contests/{id}/adjustments` with `{"team_id":"t1","penalty":"-0:20:00","reason":"…","by":"…"}`: adds to a team's
/// penalty. 201 with the adjustment; with the `id` of an earlier one it takes its place.
async fn adjust(
    _: Admin,
    State(app): State<Shared>,
    ContestId(id): ContestId,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    let decision: Asked = serde_json::from_slice(&body?).map_err(|error| {
        Problem::unprocessable(format!(
            "expected {{\"team_id\", \"penalty\", \"reason\", \"by\"}}: {error}"
        ))
    })?;
    for (field, text) in [("reason", &decision.reason), ("by", &decision.by)] {
        if text.trim().is_empty() || text.len() > REASON_MAX {
            return Err(Problem::unprocessable(format!(
                "{field}: expected a text of at most {REASON_MAX} bytes"
            )));
        }
    }
    let live = app.contest(&id).await?;
    if live.feed().0 != FeedState::None {
        return Err(Problem::new(
            StatusCode::CONFLICT,
            "this contest follows a judge's feed: decide it there, or the two would part",
        ));
    }
    check(&live.core().fold, &decision)?;
    let own = decision
        .id
        .unwrap_or_else(|| new_secret("a-")[..18].to_owned());
    let notification = Notification {
        kind: Kind::Adjustments.name().to_owned(),
        id: Some(own.clone()),
        data: json!({
            "id": own, "team_id": decision.team_id, "penalty": decision.penalty,
            "reason": decision.reason, "by": decision.by,
            "time": clock::format_instant(Timestamp::now().as_millisecond()),
        }),
        token: None,
    };
    notification
        .event()
        .map_err(|error| Problem::unprocessable(error.to_string()))?;
    let answer = (StatusCode::CREATED, Json(notification.data.clone()));
    let batch = vec![append(notification, "")];
    let appended = app.hub.append(&id, batch).ended().await?;
    live.wait_for(&appended.tip, FOLD_PATIENCE).await;
    Ok(([(header::CACHE_CONTROL, "no-store")], answer).into_response())
}

/// Refuses what would mean nothing.
fn check(contest: &Contest, decision: &Asked) -> Result<(), Problem> {
    let short = |text: &str| text.chars().take(40).collect::<String>();
    if contest.scoring() == Scoring::Ioi {
        return Err(Problem::unprocessable(
            "in point scoring there is no penalty to adjust",
        ));
    }
    if !contest.has_team(&decision.team_id) {
        let team = short(&decision.team_id);
        return Err(Problem::unprocessable(format!("team_id: no team {team:?}")));
    }
    let known = |id: &String| contest.decisions().iter().any(|one| *one.id == **id);
    if let Some(unknown) = decision.id.as_ref().filter(|id| !known(id)) {
        let id = short(unknown);
        return Err(Problem::new(
            StatusCode::NOT_FOUND,
            format!("id: no adjustment {id:?}; a new one has none"),
        ));
    }
    Ok(())
}

/// A decision; without a team it takes the adjustment back.
fn shown(decision: &Decision, in_force: bool) -> Value {
    let adjustment = decision.adjustment.as_ref();
    json!({
        "id": decision.id, "in_force": in_force,
        "team_id": adjustment.map(|one| &one.team),
        "penalty": adjustment.map(|one| clock::format_relative(one.penalty)),
        "reason": adjustment.and_then(|one| one.reason.as_ref()),
        "by": adjustment.and_then(|one| one.by.as_ref()),
        "time": adjustment.and_then(|one| one.time).map(clock::format_instant),
    })
}
