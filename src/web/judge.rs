//! What the judge's program sends: the contest, events, judgements. All of it becomes CLICS events in one log.

use std::collections::HashSet;

use axum::{
    Json, Router,
    body::Bytes,
    extract::{
        Query, State,
        rejection::{BytesRejection, QueryRejection},
    },
    http::StatusCode,
    routing::{post, put},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    ContestId, Shared,
    auth::Admin,
    problem::{LineError, Problem},
};
use crate::{
    contest::{Kind, Notification, clics},
    hub::{Appending, Live, clock::CLOCK_SOURCE},
    store::{APPEND_MAX, Append, Outcome, Tip},
};

/// The most bad lines that an answer lists; it counts all of them.
pub const ERRORS_LISTED_MAX: usize = 100;

/// The most objects in one `POST …/judgements`.
pub const JUDGEMENTS_MAX: usize = 10_000;

/// The longest name of a source, in bytes.
pub const SOURCE_MAX: usize = 256;

/// How long an answer waits until this server has folded what it tells about.
pub(super) const FOLD_PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);

/// The routes of this file.
pub fn router() -> Router<Shared> {
    Router::new()
        .route(
            "/api/contests/{id}",
            put(put_contest).delete(delete_contest),
        )
        .route("/api/contests/{id}/events", post(post_events))
        .route("/api/contests/{id}/judgements", post(post_judgements))
}

/// What became of what was posted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Posted {
    /// Objects that are new, or say something new.
    pub accepted: usize,
    /// Objects that said what was known.
    pub repeated: usize,
    /// Objects, new or repeated, that count for nothing yet: they refer to what is not there, or lie outside of the
    /// contest's time. `null`: this server could not tell in time.
    pub kept_aside: Option<usize>,
    /// The bad lines, the first 100 of them.
    pub errors: Vec<LineError>,
    /// How many bad lines there were in all, if more than are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors_total: Option<usize>,
    /// The newest sequence number of the contest's log.
    pub sequence: u64,
}

#[derive(Deserialize)]
struct Source {
    source: Option<String>,
}

impl Source {
    fn name(self) -> Result<String, Problem> {
        let source = self.source.unwrap_or_default();
        if source.len() > SOURCE_MAX {
            return Err(Problem::bad_request(format!(
                "source: expected at most {SOURCE_MAX} bytes"
            )));
        }
        if source == CLOCK_SOURCE {
            return Err(Problem::bad_request(format!(
                "source: {CLOCK_SOURCE} is the server's own"
            )));
        }
        Ok(source)
    }
}

/// `PUT /api/contests/{id}`: makes or changes a contest. 201 if it is new.
async fn put_contest(
    _: Admin,
    State(app): State<Shared>,
    ContestId(id): ContestId,
    body: Result<Bytes, BytesRejection>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let batch = contest_events(&body?)?;
    let fresh = app.hub.store().create(&id).await?;
    if !batch.is_empty() {
        let appended = app.hub.append(&id, batch).ended().await?;
        let live = app.contest(&id).await?;
        live.wait_for(&appended.tip, FOLD_PATIENCE).await;
    }
    let live = app.contest(&id).await?;
    let core = live.core();
    let mut answer = clics::contest(&core.fold);
    answer["rankcast"] = json!(core.fold.settings());
    drop(core);
    Ok((
        if fresh {
            StatusCode::CREATED
        } else {
            StatusCode::OK
        },
        Json(answer),
    ))
}

/// The events that a contest object stands for: CLICS' own part, and our settings.
fn contest_events(body: &[u8]) -> Result<Vec<Append>, Problem> {
    let mut object = match serde_json::from_slice(if body.is_empty() { b"{}" } else { body }) {
        Ok(Value::Object(object)) => object,
        Ok(_) => return Err(Problem::unprocessable("expected a contest object")),
        Err(error) => return Err(Problem::bad_request(format!("not JSON: {error}"))),
    };
    let settings = object.remove("rankcast");
    let mut batch = Vec::new();
    let mut add = |kind: Kind, data: Value| -> Result<(), Problem> {
        let notification = Notification {
            kind: kind.name().to_owned(),
            id: None,
            data,
            token: None,
        };
        notification
            .event()
            .map_err(|error| Problem::unprocessable(error.to_string()))?;
        batch.push(append(notification, ""));
        Ok(())
    };
    object.remove("id");
    if !object.is_empty() {
        add(Kind::Contest, Value::Object(object))?;
    }
    if let Some(settings) = settings {
        add(Kind::Settings, settings)?;
    }
    Ok(batch)
}

/// `DELETE /api/contests/{id}`: forgets a contest and its log. There is no way back.
async fn delete_contest(
    _: Admin,
    State(app): State<Shared>,
    ContestId(id): ContestId,
) -> Result<StatusCode, Problem> {
    if app.hub.delete(&id).await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(Problem::no_contest(&id))
    }
}

/// `POST /api/contests/{id}/events`: NDJSON, one CLICS notification a line, in any order, repeated or not.
async fn post_events(
    _: Admin,
    State(app): State<Shared>,
    ContestId(id): ContestId,
    query: Result<Query<Source>, QueryRejection>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<Posted>, Problem> {
    let source = query?.0.name()?;
    let live = app.contest(&id).await?;
    let body = body?;
    let mut posting = Posting::new(&app, live);
    for (index, text) in body.split(|byte| *byte == b'\n').enumerate() {
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        match Notification::parse(text).and_then(|read| read.map(checked).transpose()) {
            Ok(Some(events)) => {
                let events = events.into_iter().map(|event| append(event, &source));
                posting.add(index + 1, events.collect()).await?;
            }
            Ok(None) => {}
            Err(error) => posting.wrong(index + 1, error.to_string()),
        }
    }
    posting.finish().await
}

/// Checks a notification; a contest object that carries our settings is two.
fn checked(
    mut notification: Notification,
) -> Result<Vec<Notification>, crate::contest::EventError> {
    let mut events = Vec::with_capacity(1);
    if Kind::of(&notification.kind) == Kind::Contest
        && let Some(settings) = notification
            .data
            .as_object_mut()
            .and_then(|contest| contest.remove("rankcast"))
    {
        events.push(Notification {
            kind: Kind::Settings.name().to_owned(),
            id: None,
            data: settings,
            token: None,
        });
    }
    events.insert(0, notification);
    events
        .iter()
        .try_for_each(|event| event.event().map(drop))?;
    Ok(events)
}

/// `POST /api/contests/{id}/judgements`: one object or an array. A judgement that names `team_id`, `problem_id` and
/// `contest_time` (or `time`) brings its submission along; one that names some of them only is refused.
async fn post_judgements(
    _: Admin,
    State(app): State<Shared>,
    ContestId(id): ContestId,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<Posted>, Problem> {
    let live = app.contest(&id).await?;
    let body: Value = serde_json::from_slice(&body?)
        .map_err(|error| Problem::bad_request(format!("not JSON: {error}")))?;
    let objects = match body {
        Value::Array(objects) if objects.len() > JUDGEMENTS_MAX => {
            return Err(Problem::unprocessable(format!(
                "expected at most {JUDGEMENTS_MAX} judgements in one call"
            )));
        }
        Value::Array(objects) => objects,
        object => vec![object],
    };
    let mut posting = Posting::new(&app, live);
    for (index, object) in objects.into_iter().enumerate() {
        match judgement_events(object) {
            Ok(events) => posting.add(index + 1, events).await?,
            Err(error) => posting.wrong(index + 1, error),
        }
    }
    posting.finish().await
}

/// The events of a judgement object: its submission, where it tells of one, and itself.
fn judgement_events(object: Value) -> Result<Vec<Append>, String> {
    let Value::Object(mut object) = object else {
        return Err("expected a judgement object".to_owned());
    };
    let id = match object.get("id") {
        Some(Value::String(id)) => id.clone(),
        None | Some(Value::Null) => return Err("field `id`: is missing".to_owned()),
        Some(_) => return Err("field `id`: expected a text".to_owned()),
    };
    let mut events = Vec::with_capacity(2);
    let mut submission = Map::new();
    for field in [
        "team_id",
        "problem_id",
        "contest_time",
        "time",
        "language_id",
    ] {
        if let Some(value) = object.remove(field).filter(|value| !value.is_null()) {
            submission.insert(field.to_owned(), value);
        }
    }
    let submission_id = object
        .entry("submission_id")
        .or_insert_with(|| Value::String(id.clone()))
        .clone();
    if !submission.is_empty() {
        let Value::String(submission_id) = &submission_id else {
            return Err("judgements: field `submission_id`: expected an id".to_owned());
        };
        for field in ["team_id", "problem_id"] {
            if !submission.contains_key(field) {
                return Err(format!(
                    "field `{field}`: is missing; a judgement that tells of its submission needs it"
                ));
            }
        }
        // Without a time it would never count, and take the place of one that does.
        if !["contest_time", "time"]
            .iter()
            .any(|field| submission.contains_key(*field))
        {
            return Err(
                "field `contest_time`: is missing; a judgement that tells of its submission needs it, or `time`"
                    .to_owned(),
            );
        }
        submission.insert("id".to_owned(), submission_id.clone().into());
        events.push((Kind::Submissions, submission_id.clone(), submission));
    }
    events.push((Kind::Judgements, id, object));
    events
        .into_iter()
        .map(|(kind, id, data)| {
            let notification = Notification {
                kind: kind.name().to_owned(),
                id: Some(id),
                data: Value::Object(data),
                token: None,
            };
            notification.event().map_err(|error| error.to_string())?;
            Ok(append(notification, ""))
        })
        .collect()
}

/// A checked notification as it goes into the log.
pub(super) fn append(notification: Notification, source: &str) -> Append {
    Append::of(notification, source)
}

/// A batch that is being appended, with the line of each event.
type Sent = (Appending, Vec<usize>);

/// A body on its way into the log, in batches.
struct Posting<'a> {
    app: &'a Shared,
    live: std::sync::Arc<Live>,
    /// Events that wait, with the line that each came from.
    batch: Vec<Append>,
    lines: Vec<usize>,
    /// The batch before, on its way into the store while this one is read.
    sent: Option<Sent>,
    tip: Option<Tip>,
    answer: Posted,
    wrong: usize,
    /// What may be kept aside: told when all is folded.
    referring: Vec<(usize, Kind, String)>,
}

impl<'a> Posting<'a> {
    fn new(app: &'a Shared, live: std::sync::Arc<Live>) -> Self {
        Self {
            app,
            live,
            batch: Vec::new(),
            lines: Vec::new(),
            sent: None,
            tip: None,
            answer: Posted::default(),
            wrong: 0,
            referring: Vec::new(),
        }
    }

    /// The events of one line: they stay in one batch.
    async fn add(&mut self, line: usize, events: Vec<Append>) -> Result<(), Problem> {
        if self.batch.len() + events.len() > APPEND_MAX {
            self.send().await?;
        }
        for event in events {
            let kind = Kind::of(&event.kind);
            if let (Kind::Submissions | Kind::Judgements, Some(id)) = (kind, &event.id)
                && event.data != "null"
            {
                self.referring.push((line, kind, id.clone()));
            }
            self.batch.push(event);
            self.lines.push(line);
        }
        Ok(())
    }

    fn wrong(&mut self, line: usize, error: String) {
        self.wrong += 1;
        if self.answer.errors.len() < ERRORS_LISTED_MAX {
            self.answer.errors.push(LineError { line, error });
        }
    }

    async fn send(&mut self) -> Result<(), Problem> {
        self.settle().await?;
        if !self.batch.is_empty() {
            let (batch, lines) = (
                std::mem::take(&mut self.batch),
                std::mem::take(&mut self.lines),
            );
            metrics::counter!("rankcast_events_posted_total").increment(batch.len() as u64);
            self.sent = Some((self.app.hub.append(self.live.id(), batch), lines));
        }
        Ok(())
    }

    /// Waits for the batch that is on its way: batches reach the log in order.
    async fn settle(&mut self) -> Result<(), Problem> {
        let Some((appending, lines)) = self.sent.take() else {
            return Ok(());
        };
        let appended = appending.ended().await?;
        // A line is new if any of its events is.
        let mut outcomes = appended.outcomes.iter().zip(&lines).peekable();
        while let Some((outcome, line)) = outcomes.next() {
            let mut new = matches!(outcome, Outcome::Accepted(_));
            while let Some((outcome, _)) = outcomes.next_if(|(_, other)| *other == line) {
                new |= matches!(outcome, Outcome::Accepted(_));
            }
            if new {
                self.answer.accepted += 1;
            } else {
                self.answer.repeated += 1;
            }
        }
        self.tip = Some(appended.tip);
        Ok(())
    }

    async fn finish(mut self) -> Result<Json<Posted>, Problem> {
        self.send().await?;
        self.settle().await?;
        let taken = self.answer.accepted + self.answer.repeated;
        if self.wrong > 0 && taken == 0 {
            let detail = match self.answer.errors.first() {
                Some(first) if self.wrong == 1 => first.error.clone(),
                _ => format!("none of {} lines can be taken", self.wrong),
            };
            return Err(Problem::unprocessable(detail).with_lines(self.answer.errors, self.wrong));
        }
        if self.wrong > self.answer.errors.len() {
            self.answer.errors_total = Some(self.wrong);
        }
        // A body without events tells where the log stands.
        if let Some(tip) = self.tip.clone().or_else(|| self.live.tip()) {
            self.answer.sequence = tip.sequence;
            let folded = self.live.wait_for(&tip, FOLD_PATIENCE).await;
            self.answer.kept_aside = folded.then(|| self.count_aside());
        }
        Ok(Json(self.answer))
    }

    /// How many of the objects posted are kept aside. A submission and its judgement in one line are one.
    fn count_aside(&self) -> usize {
        let core = self.live.core();
        let mut aside = HashSet::new();
        let mut line_is_aside = 0;
        for (line, kind, id) in &self.referring {
            if line_is_aside != *line && core.fold.aside(*kind, id).is_some() {
                line_is_aside = *line;
                aside.insert((*kind, id));
            }
        }
        aside.len()
    }
}
