//! Who sent a contest's events: what a follower of a feed asks before it goes on.

use std::collections::{BTreeMap, BTreeSet};

use axum::{
    Json, Router,
    extract::{Query, State, rejection::QueryRejection},
    http::header,
    response::{IntoResponse, Response},
    routing::get,
};
use serde::{Deserialize, Serialize};

use super::{ContestId, Shared, auth::Admin, problem::Problem};

/// The routes of this file.
pub fn router() -> Router<Shared> {
    Router::new().route("/api/contests/{id}/sources", get(sources))
}

/// Who sent a contest's events.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Sources {
    /// Each that gave tokens, the one that was heard last first.
    pub sources: Vec<Source>,
    /// There is no team, problem or submission yet.
    pub empty: bool,
    /// The ids of all objects by type, if they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objects: Option<BTreeMap<String, BTreeSet<String>>>,
}

/// A source and the newest token that it gave.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Source {
    pub source: String,
    pub token: String,
    /// Where in the log that event is.
    pub sequence: u64,
}

#[derive(Deserialize)]
struct Ask {
    #[serde(default)]
    objects: bool,
}

/// `GET /api/contests/{id}/sources`: the newest token of each source; with `objects=true` also the ids of all objects. Needs the key.
async fn sources(
    _: Admin,
    State(app): State<Shared>,
    ContestId(id): ContestId,
    query: Result<Query<Ask>, QueryRejection>,
) -> Result<Response, Problem> {
    let Query(ask) = query?;
    let live = app.contest(&id).await?;
    let answer = {
        let core = live.core();
        let each = |(source, token, sequence): (&str, &str, u64)| Source {
            source: source.to_owned(),
            token: token.to_owned(),
            sequence,
        };
        Sources {
            sources: core.sources.all().into_iter().map(each).collect(),
            empty: core.fold.is_bare(),
            objects: ask.objects.then(|| core.fold.objects()),
        }
    };
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(answer)).into_response())
}
