//! A client of the HTTP API, for the commands that talk to a server.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use anyhow::{Context as _, bail};
use reqwest::{Method, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Access, Target, serve::KEY_FILE};
use crate::web::judge::Posted;

/// How long one request may take: a large verification is a minute's work.
const TIMEOUT: Duration = Duration::from_secs(300);

/// How long it may take to reach the server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How often a request is tried while a server that answered before, or its store, is away: 10 s in all.
const TRIES: u32 = 8;

/// How often one that never answered is tried: it may be about to start, but an address that is wrong is said soon.
const TRIES_FIRST: u32 = 4;

/// The pauses between tries.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(3);

/// An answer that asking again does not change.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Refused(String);

/// Talks to one server with one key.
pub struct Client {
    http: reqwest::Client,
    base: String,
    key: Option<String>,
    /// The server has answered once.
    reached: AtomicBool,
}

impl Client {
    /// A client of the server that the options name.
    pub fn new(target: &Target) -> anyhow::Result<Self> {
        Self::with_key(&target.server, target.access.find())
    }

    /// A client with this key.
    pub fn with_key(server: &str, key: Option<String>) -> anyhow::Result<Self> {
        let url = reqwest::Url::parse(server)
            .with_context(|| format!("--server: {server} is not a URL"))?;
        if !matches!(url.scheme(), "http" | "https") {
            bail!("--server: expected http:// or https://, got {server}");
        }
        // An error means that it is installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(TIMEOUT)
            .build()?;
        Ok(Self::with_http(http, server, key))
    }

    /// A client that talks in a way of its own.
    pub fn with_http(http: reqwest::Client, server: &str, key: Option<String>) -> Self {
        Self {
            http,
            base: server.trim_end_matches('/').to_owned(),
            key,
            reached: AtomicBool::new(false),
        }
    }

    /// Where a path is on the server.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// Sends JSON.
    pub async fn put(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        self.ask(
            Method::PUT,
            path,
            "application/json",
            body.to_string().into_bytes(),
        )
        .await?
        .read()
    }

    /// Sends lines of JSON. Bad lines are part of the answer, also where all of them are bad.
    pub async fn post_lines(&self, path: &str, lines: Vec<u8>) -> anyhow::Result<Posted> {
        let answer = self
            .ask(Method::POST, path, "application/x-ndjson", lines)
            .await?;
        match (
            answer.status,
            serde_json::from_slice::<Posted>(&answer.bytes),
        ) {
            (StatusCode::UNPROCESSABLE_ENTITY, Ok(posted)) if !posted.errors.is_empty() => {
                Ok(posted)
            }
            _ => answer.read(),
        }
    }

    /// Deletes what is there. False: nothing was.
    pub async fn delete(&self, path: &str) -> anyhow::Result<bool> {
        let answer = self.ask(Method::DELETE, path, "", Vec::new()).await?;
        match answer.status {
            StatusCode::NO_CONTENT => Ok(true),
            StatusCode::NOT_FOUND => Ok(false),
            _ => answer.read::<Value>().map(|_| true),
        }
    }

    /// Reads JSON; `None` where nothing is.
    pub async fn get_if_there<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<Option<T>> {
        let answer = self.ask(Method::GET, path, "", Vec::new()).await?;
        if answer.status == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        answer.read().map(Some)
    }

    /// Reads JSON.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        self.ask(Method::GET, path, "", Vec::new()).await?.read()
    }

    /// Reads a text.
    pub async fn get_text(&self, path: &str) -> anyhow::Result<String> {
        let answer = self.ask(Method::GET, path, "", Vec::new()).await?;
        if answer.status.is_success() {
            return String::from_utf8(answer.bytes.to_vec())
                .with_context(|| format!("{}: not UTF-8", answer.url));
        }
        answer.read()
    }

    /// Asks again while the server is away: every request may be repeated.
    async fn ask(
        &self,
        method: Method,
        path: &str,
        kind: &str,
        body: Vec<u8>,
    ) -> anyhow::Result<Answer> {
        let url = self.url(path);
        let body = bytes::Bytes::from(body);
        let mut pause = PAUSE_MIN;
        for attempt in 1.. {
            let mut request = self.http.request(method.clone(), &url);
            if let Some(key) = &self.key {
                request = request.bearer_auth(key);
            }
            if method != Method::GET {
                request = request.header("content-type", kind).body(body.clone());
            }
            let sent = request.send().await;
            let reached = self.reached.fetch_or(sent.is_ok(), Ordering::Relaxed) || sent.is_ok();
            let again = attempt < if reached { TRIES } else { TRIES_FIRST };
            match sent {
                Ok(response) if again && response.status() == StatusCode::SERVICE_UNAVAILABLE => {}
                Ok(response) => {
                    let status = response.status();
                    let bytes = response
                        .bytes()
                        .await
                        .with_context(|| format!("{url}: the answer broke off"))?;
                    return Ok(Answer { status, bytes, url });
                }
                // One that took too long is not made quicker by asking once more.
                Err(error) if again && error.is_request() && !error.is_timeout() => {}
                Err(error) => return Err(error).with_context(|| format!("{url} does not answer")),
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
        unreachable!("the last try answers")
    }
}

impl Access {
    /// The key: the one that is given, or the one that both were given, or that `serve` left.
    pub fn find(&self) -> Option<String> {
        // A variable that is set to nothing names no key.
        let some = |key: String| Some(key.trim().to_owned()).filter(|key| !key.is_empty());
        self.key
            .clone()
            .and_then(some)
            .or_else(|| std::env::var("RANKCAST_ADMIN_KEY").ok().and_then(some))
            .or_else(|| {
                std::fs::read_to_string(self.data.join(KEY_FILE))
                    .ok()
                    .and_then(some)
            })
    }
}

struct Answer {
    status: StatusCode,
    bytes: bytes::Bytes,
    url: String,
}

impl Answer {
    fn read<T: DeserializeOwned>(self) -> anyhow::Result<T> {
        let Self { status, bytes, url } = self;
        if status.is_success() {
            return serde_json::from_slice(&bytes)
                .with_context(|| format!("{url}: an answer of another form"));
        }
        let said: Option<Value> = serde_json::from_slice(&bytes).ok();
        let detail = said
            .as_ref()
            .and_then(|said| said["detail"].as_str())
            .unwrap_or("no reason given");
        let hint = if status == StatusCode::UNAUTHORIZED {
            " (give the key with RANKCAST_KEY)"
        } else {
            ""
        };
        let text = format!("{url}: {status}: {detail}{hint}");
        let later = [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_MANY_REQUESTS];
        if status.is_client_error() && !later.contains(&status) {
            return Err(Refused(text).into());
        }
        bail!(text)
    }
}
