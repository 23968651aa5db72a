//! The ceremony: how the jury conducts it.

use axum::{
    Json, Router,
    body::Bytes,
    extract::{State, rejection::BytesRejection},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    ContestId, Shared,
    auth::Admin,
    judge::{FOLD_PATIENCE, append},
    problem::Problem,
};
use crate::{
    board::Id,
    contest::{
        Contest, Kind, Notification, Phase, View,
        ceremony::{AUTO_MAX_MS, AUTO_MIN_MS, Mode, Progress, Scene},
        clock,
    },
    hub::ceremony_event,
    store::Append,
};

/// How often an action is tried that another one overtakes.
const TRIES_MAX: usize = 5;

/// The most submissions that an answer lists.
const LISTED_MAX: usize = 100;

/// The routes of this file.
pub fn router() -> Router<Shared> {
    Router::new().route("/api/contests/{id}/ceremony", get(look).post(conduct))
}

/// What the jury can do.
#[derive(Debug, Deserialize)]
#[serde(tag = "action", rename_all = "lowercase", deny_unknown_fields)]
enum Action {
    /// Begins, at the frozen board.
    Start {
        #[serde(default)]
        rehearsal: bool,
    },
    /// One step on.
    Next {
        /// Where the operator's screen was: pressed twice, or on two remotes at once, it counts once.
        from: Option<usize>,
    },
    /// One step back.
    Back { from: Option<usize> },
    /// To a step, to the last look at a team before it gets its place, or to the first look at a place, counted from 1.
    Jump {
        step: Option<usize>,
        team: Option<String>,
        rank: Option<usize>,
    },
    /// The next steps come by themselves, until an award; `null`: they do no more.
    Auto { every_ms: Option<u32> },
    /// Ends without opening the board: what was revealed is hidden again.
    Stop {},
    /// Ends, and opens the board.
    Finish {},
}

/// Where the ceremony stands.
#[derive(Debug, Serialize)]
struct Standing {
    /// What is shown; `null`: there is no ceremony.
    ceremony: Option<Scene>,
    /// What the next step shows; of a ceremony that has not begun, the first one.
    next: Option<Scene>,
    /// Whether it could begin.
    #[serde(flatten)]
    ready: Option<Ready>,
}

/// What stands in the way of a ceremony.
#[derive(Debug, Serialize)]
struct Ready {
    /// Frozen submissions without a verdict: a ceremony for the hall does not begin while there are any.
    unjudged: Vec<Id>,
    /// How many of them there are.
    unjudged_total: usize,
}

impl Standing {
    fn of(contest: &Contest) -> Self {
        let ceremony = contest.status(View::Jury).ceremony;
        let progress = contest.ceremony().unwrap_or(Progress {
            mode: Mode::Rehearsal,
            step: 0,
            auto_ms: None,
            turn: 0,
        });
        let script = contest.ceremony_script();
        let next = script.by_itself(progress).map(|next| script.scene(next));
        Self {
            ceremony,
            next,
            ready: None,
        }
    }
}

impl Ready {
    fn of(contest: &Contest) -> Self {
        let mut unjudged = contest.unjudged();
        let unjudged_total = unjudged.len();
        unjudged.truncate(LISTED_MAX);
        Self {
            unjudged,
            unjudged_total,
        }
    }
}

/// `GET /api/contests/{id}/ceremony`: where it stands, what comes next, what is still unjudged.
async fn look(
    _: Admin,
    State(app): State<Shared>,
    ContestId(id): ContestId,
) -> Result<Response, Problem> {
    let live = app.contest(&id).await?;
    let standing = {
        let core = live.core();
        Standing {
            ready: Some(Ready::of(&core.fold)),
            ..Standing::of(&core.fold)
        }
    };
    Ok(answer(&standing))
}

/// `POST /api/contests/{id}/ceremony` with `{"action":"start","rehearsal":true}`, `next`, `back` (both with `from`: the step
/// where the operator is), `{"action":"jump","team":"t1"}` (or `rank`, `step`), `{"action":"auto","every_ms":1500}`, `stop`
/// or `finish`. Answers what is shown then. 409 where it cannot be done now.
async fn conduct(
    _: Admin,
    State(app): State<Shared>,
    ContestId(id): ContestId,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    let action: Action = serde_json::from_slice(&body?).map_err(|error| {
        Problem::unprocessable(format!(
            "expected {{\"action\": start, next, back, jump, auto, stop or finish}}: {error}"
        ))
    })?;
    let live = app.contest(&id).await?;
    for _ in 0..TRIES_MAX {
        // Another server may know more.
        live.pull(FOLD_PATIENCE).await;
        let batch = events(&live.core().fold, &action)?;
        if batch.is_empty() {
            break;
        }
        let said = batch.last().map(|event| event.data.clone());
        let appended = app.hub.append(&id, batch).ended().await?;
        live.wait_for(&appended.tip, FOLD_PATIENCE).await;
        // A step that came by itself at the same moment may have been heard in its place.
        if said == Some(ceremony_event(live.core().fold.ceremony_word(), "").data) {
            break;
        }
    }
    let standing = Standing::of(&live.core().fold);
    Ok(answer(&standing))
}

fn answer(standing: &Standing) -> Response {
    ([(header::CACHE_CONTROL, "no-store")], Json(standing)).into_response()
}

fn conflict(detail: impl Into<String>) -> Problem {
    Problem::new(StatusCode::CONFLICT, detail)
}

/// What an action writes into the log.
fn events(contest: &Contest, action: &Action) -> Result<Vec<Append>, Problem> {
    let progress = contest.ceremony();
    if let Action::Start { rehearsal } = action {
        return start(contest, *rehearsal).map(|progress| vec![to(progress)]);
    }
    let progress = progress.ok_or_else(|| conflict("there is no ceremony; start one first"))?;
    let script = contest.ceremony_script();
    let here = progress.step.min(script.steps.len());
    // Whoever was elsewhere meant another step.
    let meant = |from: &Option<usize>| from.is_none_or(|from| from == here);
    let turn = contest.ceremony_turns() + 1;
    let by_hand = |step: usize| {
        vec![to(Progress {
            step,
            auto_ms: None,
            turn,
            ..progress
        })]
    };
    Ok(match action {
        Action::Next { from } if meant(from) => by_hand((here + 1).min(script.steps.len())),
        Action::Back { from } if meant(from) => by_hand(here.saturating_sub(1)),
        Action::Start { .. } | Action::Next { .. } | Action::Back { .. } => Vec::new(),
        Action::Jump { step, team, rank } => by_hand(match (step, team, rank) {
            (Some(step), None, None) if *step <= script.steps.len() => *step,
            (Some(step), None, None) => {
                return Err(Problem::unprocessable(format!(
                    "step: expected 0 to {}, got {step}",
                    script.steps.len()
                )));
            }
            (None, Some(team), None) => script.step_of_team(team).ok_or_else(|| {
                let shown: String = team.chars().take(40).collect();
                Problem::unprocessable(format!("team: {shown:?} is not on the public board"))
            })?,
            (None, None, Some(rank)) => script.step_of_place(*rank).ok_or_else(|| {
                Problem::unprocessable(format!("rank: nobody stands at place {rank}"))
            })?,
            _ => {
                return Err(Problem::unprocessable(
                    "jump: expected one of step, team and rank",
                ));
            }
        }),
        Action::Auto { every_ms } => {
            if let Some(every) = every_ms
                && !(AUTO_MIN_MS..=AUTO_MAX_MS).contains(every)
            {
                return Err(Problem::unprocessable(format!(
                    "every_ms: expected {AUTO_MIN_MS} to {AUTO_MAX_MS}, got {every}"
                )));
            }
            vec![to(Progress {
                auto_ms: *every_ms,
                turn,
                ..progress
            })]
        }
        Action::Stop {} => vec![ceremony_event(None, "")],
        Action::Finish {} if progress.mode == Mode::Rehearsal => {
            return Err(conflict(
                "this is a rehearsal: it opens nothing; end it with stop",
            ));
        }
        // Open first: nothing that was revealed is hidden on the way.
        Action::Finish {} => vec![thaw(), ceremony_event(None, "")],
    })
}

fn to(progress: Progress) -> Append {
    ceremony_event(Some(progress), "")
}

fn start(contest: &Contest, rehearsal: bool) -> Result<Progress, Problem> {
    if contest.ceremony().is_some() {
        return Err(conflict(
            "a ceremony is under way; end it with stop or finish",
        ));
    }
    if contest.is_open() {
        return Err(conflict(
            "nothing is frozen: the contest has no freeze, or the board is open already",
        ));
    }
    if !rehearsal {
        let phase = contest.status(View::Jury).phase;
        if matches!(
            phase,
            Phase::Before | Phase::Paused | Phase::Running | Phase::Frozen
        ) {
            return Err(conflict(
                "the contest has not ended; a rehearsal can be held",
            ));
        }
        let unjudged = contest.unjudged();
        if !unjudged.is_empty() {
            let listed: Vec<&str> = unjudged
                .iter()
                .take(LISTED_MAX)
                .map(AsRef::as_ref)
                .collect();
            return Err(conflict(format!(
                "{} frozen submissions have no verdict: {}",
                unjudged.len(),
                listed.join(", ")
            )));
        }
    }
    Ok(Progress {
        mode: if rehearsal {
            Mode::Rehearsal
        } else {
            Mode::Live
        },
        step: 0,
        auto_ms: None,
        turn: contest.ceremony_turns() + 1,
    })
}

/// The event that opens the frozen board.
fn thaw() -> Append {
    let now = clock::format_instant(Timestamp::now().as_millisecond());
    let notification = Notification {
        kind: Kind::Thaw.name().to_owned(),
        id: None,
        data: json!({ "thawed": now }),
        token: None,
    };
    append(notification, "")
}
