//! Balloons: what is to be brought to whom, what has been brought, and every change as it happens.

use std::{collections::BTreeMap, convert::Infallible, fmt::Write as _, sync::Arc, time::Duration};

use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::{State, rejection::BytesRejection},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use futures_util::stream;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use super::{
    ContestId, Shared,
    adjustments::REASON_MAX,
    auth::{Access, Admin},
    clics::{open_to_pages, public},
    feed::seat,
    judge::{FOLD_PATIENCE, append},
    problem::Problem,
};
use crate::{
    board::Id,
    contest::{Kind, Notification, balloons::Balloon},
    hub::Live,
};

/// How long a stream is silent at the most.
const SILENCE_MAX: Duration = Duration::from_secs(25);

/// The routes of this file.
pub fn router() -> Router<Shared> {
    Router::new().route("/api/contests/{id}/balloons", get(balloons).post(deliver))
}

/// `GET /api/contests/{id}/balloons`: the balloons by what the public may see, in the order of the solves; with the key also those
/// that `balloons_minimum` asks for. For `Accept: text/event-stream` as messages `balloon`, first all and then each that is
/// new or changed; `gone` for one that is not to be brought any more.
async fn balloons(
    State(app): State<Shared>,
    ContestId(id): ContestId,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let runners = app.keys.access(&headers)? == Access::Admin;
    let live = app.contest(&id).await?;
    let streamed = headers
        .get(header::ACCEPT)
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains("text/event-stream"));
    if !streamed {
        let all = live.core().fold.balloons(runners);
        return Ok(public(json!(all)));
    }
    let watching = Watching {
        live,
        runners,
        told: BTreeMap::new(),
        begun: false,
        stop: app.stop.clone(),
        _seat: seat(&app)?,
    };
    let body = Body::from_stream(stream::unfold(watching, |mut watching| async move {
        let text = watching.next().await?;
        Some((Ok::<_, Infallible>(text), watching))
    }));
    let mut response = body.into_response();
    let headers = response.headers_mut();
    open_to_pages(headers);
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/event-stream"),
    );
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

/// Somebody who watches the balloons.
struct Watching {
    live: Arc<Live>,
    runners: bool,
    told: BTreeMap<(Id, Id), Balloon>,
    begun: bool,
    stop: CancellationToken,
    _seat: OwnedSemaphorePermit,
}

impl Watching {
    async fn next(&mut self) -> Option<Bytes> {
        let silence = tokio::time::sleep(SILENCE_MAX);
        tokio::pin!(silence);
        let mut moved = self.live.moved();
        loop {
            moved.mark();
            if self.live.core().deleted {
                return None;
            }
            let text = self.changes();
            if !text.is_empty() || !std::mem::replace(&mut self.begun, true) {
                return Some(if text.is_empty() {
                    Bytes::from_static(b":\n\n")
                } else {
                    text.into()
                });
            }
            tokio::select! {
                () = moved.again() => {}
                () = &mut silence => return Some(Bytes::from_static(b":\n\n")),
                () = self.stop.cancelled() => return None,
            }
        }
    }

    fn changes(&mut self) -> String {
        let all = self.live.core().fold.balloons(self.runners);
        let mut gone = std::mem::take(&mut self.told);
        let mut text = String::new();
        let mut say = |event: &str, data: &Value| {
            let _ = write!(text, "event: {event}\ndata: {data}\n\n");
        };
        for balloon in all {
            let key = (balloon.team.clone(), balloon.problem.clone());
            if gone.remove(&key).as_ref() != Some(&balloon) {
                say("balloon", &json!(balloon));
            }
            self.told.insert(key, balloon);
        }
        for (team, problem) in gone.into_keys() {
            say("gone", &json!({ "team_id": team, "problem_id": problem }));
        }
        text
    }
}

/// What a runner says.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Word {
    team_id: String,
    problem_id: String,
    delivered: bool,
    by: Option<String>,
}

/// `POST /api/contests/{id}/balloons` with `{"team_id":"t1","problem_id":"A","delivered":true,"by":"…"}`: it has been brought; or, with
/// false, it has not. Answers the balloon.
async fn deliver(
    _: Admin,
    State(app): State<Shared>,
    ContestId(id): ContestId,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    let word: Word = serde_json::from_slice(&body?).map_err(|error| {
        Problem::unprocessable(format!(
            "expected {{\"team_id\", \"problem_id\", \"delivered\", \"by\"}}: {error}"
        ))
    })?;
    if word.by.as_ref().is_some_and(|by| by.len() > REASON_MAX) {
        return Err(Problem::unprocessable(format!(
            "by: expected a text of at most {REASON_MAX} bytes"
        )));
    }
    let live = app.contest(&id).await?;
    let find = |live: &Live| {
        let all = live.core().fold.balloons(true);
        let asked = |one: &Balloon| *one.team == *word.team_id && *one.problem == *word.problem_id;
        all.into_iter().find(asked)
    };
    if find(&live).is_none() {
        let short = |text: &str| text.chars().take(40).collect::<String>();
        let (team, problem) = (short(&word.team_id), short(&word.problem_id));
        return Err(Problem::new(
            StatusCode::NOT_FOUND,
            format!("no balloon of {team:?} for {problem:?}"),
        ));
    }
    let own = format!("{}.{}", word.team_id, word.problem_id);
    let notification = Notification {
        kind: Kind::Balloons.name().to_owned(),
        id: Some(own.clone()),
        data: json!({
            "id": own, "team_id": word.team_id, "problem_id": word.problem_id,
            "delivered": word.delivered, "by": word.by,
        }),
        token: None,
    };
    notification
        .event()
        .map_err(|error| Problem::unprocessable(error.to_string()))?;
    let batch = vec![append(notification, "")];
    let appended = app.hub.append(&id, batch).ended().await?;
    live.wait_for(&appended.tip, FOLD_PATIENCE).await;
    let balloon = find(&live);
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(balloon)).into_response())
}
