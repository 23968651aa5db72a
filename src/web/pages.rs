//! The pages: files of `static/`, embedded in the binary.

use axum::{
    Router,
    body::Body,
    extract::{Path, rejection::PathRejection},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use rust_embed::RustEmbed;

use super::{Shared, boards::matches, problem::Problem};

/// No page loads anything from elsewhere, runs inline script or is framed by strangers.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
    font-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

#[derive(RustEmbed)]
#[folder = "$CARGO_MANIFEST_DIR/static"]
struct Files;

/// The routes of this file.
pub fn router() -> Router<Shared> {
    Router::new()
        .route(
            "/",
            get(|headers: HeaderMap| async move { file("index.html", &headers) }),
        )
        .route(
            "/contests/{id}",
            get(|headers: HeaderMap| async move { file("contest.html", &headers) }),
        )
        .route(
            "/current",
            get(|headers: HeaderMap| async move { file("current.html", &headers) }),
        )
        .route(
            "/favicon.ico",
            get(|headers: HeaderMap| async move { file("icon.svg", &headers) }),
        )
        .route(
            "/static/{*path}",
            get(
                |path: Result<Path<String>, PathRejection>, headers: HeaderMap| async move {
                    // A path that is not UTF-8 leads nowhere either.
                    file(path.as_deref().map_or("", |path| path), &headers)
                },
            ),
        )
}

fn file(path: &str, headers: &HeaderMap) -> Response {
    let Some(file) = Files::get(path) else {
        return Problem::new(StatusCode::NOT_FOUND, "no such file").into_response();
    };
    let hash = file.metadata.sha256_hash();
    let etag = hash[..8]
        .iter()
        .fold("\"".to_owned(), |tag, byte| format!("{tag}{byte:02x}"))
        + "\"";
    let known = headers
        .get(header::IF_NONE_MATCH)
        .is_some_and(|known| matches(known, &etag));
    let mut response = if known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let kind = HeaderValue::from_static(kind(path));
        (
            [(header::CONTENT_TYPE, kind)],
            Body::from(file.data.into_owned()),
        )
            .into_response()
    };
    let out = response.headers_mut();
    if let Ok(etag) = HeaderValue::from_str(&etag) {
        out.insert(header::ETAG, etag);
    }
    // Asked for again each time, answered with 304: a new server never runs with an old page.
    out.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    out.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(POLICY),
    );
    out.insert(
        header::REFERRER_POLICY,
        HeaderValue::from_static("same-origin"),
    );
    response
}

fn kind(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("json") => "application/json",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}
