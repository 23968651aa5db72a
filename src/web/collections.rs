//! The collections of the CLICS Contest API: what each asker may see of teams, problems, submissions and so on. What is public is
//! a whitelist of fields; before the start there is no problem in it, and during the freeze no frozen judgement.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{
        Path, Query, State,
        rejection::{PathRejection, QueryRejection},
    },
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use futures_util::stream;
use serde_json::Value;

use super::{
    Shared,
    clics::{open_to_pages, public, side},
    problem::Problem,
};
use crate::{
    board::Id,
    contest::{COLLECTIONS, Kind, Side, clics::object::Shape},
    hub::Live,
};

/// Objects that are read while others wait for the contest: less than 1 ms.
const SLICE: usize = 256;

/// Parameters that are no filters.
const OPTIONS: [&str; 2] = ["view", "strict"];

/// Collections that CLICS asks for and that have nothing to do with standings: they are empty.
const EMPTY: [&str; 2] = ["runs", "clarifications"];

/// The routes of this file.
pub fn router() -> Router<Shared> {
    let mut router = Router::new();
    for kind in COLLECTIONS {
        let path = format!("/api/contests/{{id}}/{}", kind.name());
        router = router
            .route(
                &format!("{path}/{{object}}"),
                get(move |app, path, query, headers| object(kind, app, path, query, headers)),
            )
            .route(
                &path,
                get(move |app, path, query, headers| collection(kind, app, path, query, headers)),
            );
    }
    for name in EMPTY {
        router = router.route(&format!("/api/contests/{{id}}/{name}"), get(empty));
    }
    router
}

/// What was asked beside the path.
type Asked = Result<Query<BTreeMap<String, String>>, QueryRejection>;

/// Is `strict` asked for? It is the default; without it there are fields beyond those of CLICS: `hidden` and `sortorder` of groups.
pub(super) fn strict(asked: Option<&str>) -> Result<bool, Problem> {
    match asked {
        None | Some("" | "true" | "1") => Ok(true),
        Some("false" | "0") => Ok(false),
        Some(other) => {
            let shown: String = other.chars().take(40).collect();
            Err(Problem::bad_request(format!(
                "strict: expected true or false, got {shown:?}"
            )))
        }
    }
}

/// `GET /api/contests/{id}/{collection}`: all objects that the asker may see, or those for which each `…_id=` given is equal.
async fn collection(
    kind: Kind,
    State(app): State<Shared>,
    path: Result<Path<String>, PathRejection>,
    asked: Asked,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let Path(id) = path.map_err(|_| Problem::bad_request("the path is not UTF-8"))?;
    let Query(mut asked) = asked?;
    let side = side(&app, &headers, asked.get("view").map(String::as_str))?;
    let strict = strict(asked.get("strict").map(String::as_str))?;
    asked.retain(|name, _| !OPTIONS.contains(&name.as_str()));
    let live = app.contest(&id).await?;
    let ids = live.core().fold.listed(side, kind);
    let listing = Listing {
        live,
        kind,
        side,
        strict,
        filters: asked,
        ids: ids.into_iter(),
        begun: false,
        ended: false,
    };
    let body = Body::from_stream(stream::unfold(listing, |mut listing| async move {
        let part = listing.part()?;
        Some((Ok::<_, std::convert::Infallible>(part), listing))
    }));
    let mut response = body.into_response();
    let headers = response.headers_mut();
    open_to_pages(headers);
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    Ok(response)
}

/// A collection on its way to whom asked for it.
struct Listing {
    live: Arc<Live>,
    kind: Kind,
    side: Side,
    strict: bool,
    filters: BTreeMap<String, String>,
    ids: std::vec::IntoIter<Id>,
    begun: bool,
    ended: bool,
}

impl Listing {
    /// The next part of the array's text.
    fn part(&mut self) -> Option<Bytes> {
        if self.ended {
            return None;
        }
        let mut out = Vec::new();
        if self.ids.len() > 0 {
            let core = self.live.core();
            for id in self.ids.by_ref().take(SLICE) {
                let shape = core.fold.shape(self.side, self.kind, &id, self.strict);
                if let Some(shape) =
                    shape.filter(|shape| self.filters.iter().all(|one| fits(shape, one)))
                {
                    out.push(if self.begun { b',' } else { b'[' });
                    self.begun = true;
                    // The shapes are plain JSON: nothing in them cannot be written.
                    let _ = serde_json::to_writer(&mut out, &shape);
                }
            }
        }
        if self.ids.len() == 0 {
            if !self.begun {
                out.push(b'[');
            }
            out.extend_from_slice(b"]\n");
            self.ended = true;
        }
        Some(out.into())
    }
}

/// Does an object have that id in that property? An empty one asks for null.
fn fits(shape: &Shape, (name, wanted): (&String, &String)) -> bool {
    match shape.reference(name) {
        Some(id) => id == wanted,
        None => wanted.is_empty(),
    }
}

/// `GET /api/contests/{id}/{collection}/{object}`: one object.
async fn object(
    kind: Kind,
    State(app): State<Shared>,
    path: Result<Path<(String, String)>, PathRejection>,
    asked: Asked,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let Path((id, object)) = path.map_err(|_| Problem::bad_request("the path is not UTF-8"))?;
    let Query(asked) = asked?;
    let side = side(&app, &headers, asked.get("view").map(String::as_str))?;
    let strict = strict(asked.get("strict").map(String::as_str))?;
    let live = app.contest(&id).await?;
    let shape = live.core().fold.shape(side, kind, &object, strict);
    let value = shape.and_then(|shape| serde_json::to_value(shape).ok());
    value.map(public).ok_or_else(|| {
        let shown: String = object.chars().take(40).collect();
        Problem::new(StatusCode::NOT_FOUND, format!("no such {kind}: {shown}"))
    })
}

/// A collection that is always empty.
async fn empty(
    State(app): State<Shared>,
    path: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let Path(id) = path.map_err(|_| Problem::bad_request("the path is not UTF-8"))?;
    app.keys.access(&headers)?;
    app.contest(&id).await?;
    Ok(public(Value::Array(Vec::new())))
}
