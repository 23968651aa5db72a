//! Errors at the HTTP edge: problem+json (RFC 9457) with CLICS' `code` and `message` too. What happened inside never leaks.

use std::any::Any;

use axum::{
    Json,
    extract::rejection::{BytesRejection, QueryRejection},
    http::{HeaderValue, Method, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use serde::{Deserialize, Serialize};

use crate::store::StoreError;

/// Seconds after which a client may try again when the store is away.
const RETRY_AFTER_S: u64 = 2;

/// An error as a client gets it.
#[derive(Debug)]
pub struct Problem {
    status: StatusCode,
    detail: String,
    errors: Vec<LineError>,
    errors_total: Option<usize>,
}

/// One bad line of a body with many.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineError {
    /// Its number, from 1; the number of the object in an array.
    pub line: usize,
    /// What is wrong with it, and what was expected.
    pub error: String,
}

impl Problem {
    /// An error with a status and what is wrong.
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self {
            status,
            detail: detail.into(),
            errors: Vec::new(),
            errors_total: None,
        }
    }

    /// 422: the body is read, but what it says cannot be taken.
    pub fn unprocessable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
    }

    /// 400: the request makes no sense.
    pub fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    /// 404 for a contest.
    pub fn no_contest(id: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, format!("no such contest: {id}"))
    }

    /// 400 for an id that no contest can have.
    pub fn bad_contest_id(id: &str) -> Self {
        let shown: String = id.chars().take(40).collect();
        Self::bad_request(format!(
            "contest id {shown:?}: expected 1 to 36 of A-Z a-z 0-9 _ . -, not starting with - or ., not ending with ."
        ))
    }

    /// The same, with lines that are wrong, and how many are in all.
    #[must_use]
    pub fn with_lines(self, errors: Vec<LineError>, total: usize) -> Self {
        Self {
            errors,
            errors_total: Some(total),
            ..self
        }
    }

    /// The status.
    pub fn status(&self) -> StatusCode {
        self.status
    }
}

#[derive(Serialize)]
struct Body<'a> {
    r#type: &'static str,
    title: &'a str,
    status: u16,
    detail: &'a str,
    /// CLICS.
    code: u16,
    message: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    errors: &'a [LineError],
    #[serde(skip_serializing_if = "Option::is_none")]
    errors_total: Option<usize>,
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = Body {
            r#type: "about:blank",
            title: self.status.canonical_reason().unwrap_or("error"),
            status: self.status.as_u16(),
            detail: &self.detail,
            code: self.status.as_u16(),
            message: &self.detail,
            errors: &self.errors,
            errors_total: self.errors_total,
        };
        let mut response = (self.status, Json(body)).into_response();
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        headers.insert(
            header::ACCESS_CONTROL_ALLOW_ORIGIN,
            HeaderValue::from_static("*"),
        );
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(
                header::WWW_AUTHENTICATE,
                HeaderValue::from_static("Bearer, Basic realm=\"rankcast\""),
            );
        }
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(RETRY_AFTER_S));
        }
        response
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NoSuchContest(id) => Self::no_contest(&id),
            StoreError::Away(_) => {
                tracing::warn!(%error, "the store is away");
                Self::new(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "the store does not answer; nothing was lost: send it again",
                )
            }
            StoreError::Refused(_) | StoreError::Damaged(_) => {
                tracing::error!(%error, "the store refuses");
                Self::new(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "the store refuses to work; the server's log says why",
                )
            }
        }
    }
}

impl From<BytesRejection> for Problem {
    fn from(rejection: BytesRejection) -> Self {
        match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => Self::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "the body is over the server's limit (--max-body); send it in parts",
            ),
            status => Self::new(status, "the body could not be read"),
        }
    }
}

impl From<QueryRejection> for Problem {
    fn from(rejection: QueryRejection) -> Self {
        Self::bad_request(format!("query: {}", rejection.body_text()))
    }
}

/// 404 for paths that lead nowhere.
pub async fn no_route(uri: Uri) -> Problem {
    let path: String = uri.path().chars().take(80).collect();
    Problem::new(StatusCode::NOT_FOUND, format!("nothing is at {path}"))
}

/// 405 for methods that a path does not have.
pub async fn no_method(method: Method) -> Problem {
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        format!("this path has no {method}"),
    )
}

/// 500, if something panics all the same: logged, and nothing of it shown.
#[allow(clippy::needless_pass_by_value)] // the signature that the layer asks for
pub fn panicked(cause: Box<dyn Any + Send + 'static>) -> Response {
    let text = cause
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| cause.downcast_ref::<&str>().copied());
    tracing::error!(panic = text.unwrap_or("?"), "a request panicked");
    Problem::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "an error of the server; its log says more",
    )
    .into_response()
}
