//! A judge's CLICS Contest API, as far as we look at it.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use clap::Args;
use jiff::Timestamp;
use reqwest::{StatusCode, header};
use serde_json::Value;

use crate::feed::upstream::{Credentials, plain};

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Who we are for the judge.
#[derive(Clone, Debug, Args)]
pub struct JudgeOptions {
    /// A file with user:password, or a key, for the judge. Without it: `RANKCAST_FEED_USER` and `RANKCAST_FEED_PASSWORD`, or
    /// `RANKCAST_FEED_KEY`
    #[arg(long, env = "RANKCAST_FEED_AUTH", value_name = "FILE")]
    pub feed_auth: Option<PathBuf>,
}

/// A place in a judge's API.
pub struct Judge {
    http: reqwest::Client,
    base: String,
    credentials: Credentials,
}

/// An answer of the judge.
#[derive(Debug)]
pub struct Said {
    /// Its status.
    pub status: StatusCode,
    /// Its body; null if it is no JSON.
    pub body: Value,
    /// What it took.
    pub took: Duration,
    /// The judge's clock, to the second, and ours, at that moment, in ms since 1970 UTC.
    pub clocks: Option<(i64, i64)>,
}

impl Judge {
    /// The place at a URL; asked as ourselves.
    pub fn new(url: &str, options: &JudgeOptions) -> anyhow::Result<Self> {
        let parsed = reqwest::Url::parse(url).with_context(|| format!("{url} is not a URL"))?;
        if !parsed.username().is_empty() || parsed.password().is_some() {
            bail!(
                "the judge's URL names a user: others could read that; give it with RANKCAST_FEED_USER and RANKCAST_FEED_PASSWORD"
            );
        }
        // An error means that it is installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Ok(Self {
            http: reqwest::Client::builder()
                .timeout(TIMEOUT)
                .redirect(reqwest::redirect::Policy::none())
                .build()?,
            base: url.trim_end_matches('/').to_owned(),
            credentials: Credentials::find(options.feed_auth.as_deref())?,
        })
    }

    /// Are there credentials?
    pub fn is_known(&self) -> bool {
        !matches!(self.credentials, Credentials::None)
    }

    /// Asks; as nobody in particular if `anonymous`.
    pub async fn ask(&self, path: &str, anonymous: bool) -> anyhow::Result<Said> {
        let url = format!("{}{path}", self.base);
        let began = Instant::now();
        let (status, headers, bytes) = {
            let answer = self.open(path, anonymous).await?;
            let (status, headers) = (answer.status(), answer.headers().clone());
            let bytes = answer
                .bytes()
                .await
                .with_context(|| format!("{url}: the answer broke off"))?;
            (status, headers, bytes)
        };
        let took = began.elapsed();
        let date = headers
            .get(header::DATE)
            .and_then(|date| date.to_str().ok())
            .and_then(|date| jiff::fmt::rfc2822::parse(date).ok())
            .map(|date| date.timestamp().as_millisecond());
        Ok(Said {
            status,
            body: serde_json::from_slice(&bytes).unwrap_or(Value::Null),
            took,
            clocks: date.map(|date| (date, Timestamp::now().as_millisecond())),
        })
    }

    /// Asks, and reads the body as it comes.
    pub async fn open(&self, path: &str, anonymous: bool) -> anyhow::Result<reqwest::Response> {
        let url = format!("{}{path}", self.base);
        let request = self.http.get(&url);
        let request = if anonymous {
            request
        } else {
            self.credentials.sign(request)
        };
        request
            .send()
            .await
            .map_err(|error| anyhow::anyhow!("{url} does not answer: {}", plain(&error)))
    }
}
