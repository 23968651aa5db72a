//! The judge's side of a feed: where it is, who we are there, and a stream of what it says.

use std::{path::Path, time::Duration};

use anyhow::{Context as _, bail};
use reqwest::{StatusCode, Url, redirect};

/// How long it may take to reach the judge.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How many times an answer may lead elsewhere, on the same server.
const REDIRECTS_MAX: usize = 5;

/// Who we are for a judge. Never on the command line, where others on the machine could read it.
#[derive(Clone, Default)]
pub enum Credentials {
    /// Nobody in particular.
    #[default]
    None,
    /// Whoever has this key.
    Bearer(String),
    /// User and password.
    Basic(String, String),
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Bearer(_) => "Bearer",
            Self::Basic(..) => "Basic",
        })
    }
}

impl Credentials {
    /// What a file has (`user:password`, or a key), else what the variables `RANKCAST_FEED_KEY`, or `RANKCAST_FEED_USER` and
    /// `RANKCAST_FEED_PASSWORD` have.
    pub fn find(file: Option<&Path>) -> anyhow::Result<Self> {
        if let Some(file) = file {
            let text = std::fs::read_to_string(file)
                .with_context(|| format!("--feed-auth: cannot read {}", file.display()))?;
            let text = text.trim();
            if text.is_empty() {
                bail!(
                    "--feed-auth: {} is empty; expected user:password, or a key",
                    file.display()
                );
            }
            return Ok(match text.split_once(':') {
                Some((user, password)) => Self::Basic(user.to_owned(), password.to_owned()),
                None => Self::Bearer(text.to_owned()),
            });
        }
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        if let Some(key) = variable("RANKCAST_FEED_KEY") {
            return Ok(Self::Bearer(key));
        }
        Ok(match variable("RANKCAST_FEED_USER") {
            Some(user) => Self::Basic(user, variable("RANKCAST_FEED_PASSWORD").unwrap_or_default()),
            None => Self::None,
        })
    }

    /// Shows them with a request.
    pub fn sign(&self, request: reqwest::RequestBuilder) -> reqwest::RequestBuilder {
        match self {
            Self::None => request,
            Self::Bearer(key) => request.bearer_auth(key),
            Self::Basic(user, password) => request.basic_auth(user, Some(password)),
        }
    }
}

/// Where a feed goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Since {
    /// After the line with this token.
    Token(String),
    /// After the event with this id: the older form.
    Id(String),
}

/// The beginning of a token that stands for an event id of the older form.
const ID: &str = "since_id=";

impl Since {
    /// As a token, by which the log remembers it.
    pub fn token(&self) -> String {
        match self {
            Self::Token(token) => token.clone(),
            Self::Id(id) => format!("{ID}{id}"),
        }
    }

    /// From such a token.
    pub fn of(token: String) -> Self {
        match token.strip_prefix(ID) {
            Some(id) => Self::Id(id.to_owned()),
            None => Self::Token(token),
        }
    }
}

/// Why there is no stream.
#[derive(Debug, thiserror::Error)]
pub enum NoFeed {
    /// The judge does not know the token (any more).
    #[error("the judge does not know the token any more")]
    UnknownToken,
    /// It will not be there by asking again.
    #[error("{0}")]
    Refused(String),
    /// It may be there later.
    #[error("{0}")]
    Away(String),
}

/// A feed at a judge.
#[derive(Clone, Debug)]
pub struct Upstream {
    http: reqwest::Client,
    url: Url,
    credentials: Credentials,
}

impl Upstream {
    /// The feed at an address; a connection on which nothing comes for so long is given up.
    pub fn new(address: &str, credentials: Credentials, silence: Duration) -> anyhow::Result<Self> {
        let url = Url::parse(address).with_context(|| format!("{address} is not a URL"))?;
        if !matches!(url.scheme(), "http" | "https") {
            bail!("{address}: expected http:// or https://");
        }
        if !url.username().is_empty() || url.password().is_some() {
            bail!(
                "the feed's URL names a user: others could read that; give it with RANKCAST_FEED_USER and \
                 RANKCAST_FEED_PASSWORD, or --feed-auth FILE"
            );
        }
        // An error means that it is installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let here = url.origin();
        // What leads to another server would show our credentials there.
        let redirects = redirect::Policy::custom(move |attempt| {
            if attempt.url().origin() == here && attempt.previous().len() <= REDIRECTS_MAX {
                attempt.follow()
            } else {
                attempt.stop()
            }
        });
        let http = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(silence)
            .redirect(redirects)
            .build()?;
        Ok(Self {
            http,
            url,
            credentials,
        })
    }

    /// Its address without what may be secret, as a name.
    pub fn name(&self) -> String {
        let mut url = self.url.clone();
        url.set_query(None);
        url.set_fragment(None);
        url.to_string()
    }

    /// Opens the stream, from the beginning or where it was left.
    pub async fn open(&self, since: Option<&Since>) -> Result<reqwest::Response, NoFeed> {
        let mut url = self.url.clone();
        match since {
            Some(Since::Token(token)) => {
                url.query_pairs_mut().append_pair("since_token", token);
            }
            Some(Since::Id(id)) => {
                url.query_pairs_mut().append_pair("since_id", id);
            }
            None => {}
        }
        let request = self.credentials.sign(self.http.get(url));
        let answer = request
            .send()
            .await
            .map_err(|error| NoFeed::Away(plain(&error)))?;
        let status = answer.status();
        let name = self.name();
        match status {
            StatusCode::OK => Ok(answer),
            StatusCode::BAD_REQUEST if since.is_some() => Err(NoFeed::UnknownToken),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(NoFeed::Refused(format!(
                "{name}: {status}: the judge wants other credentials: RANKCAST_FEED_USER and RANKCAST_FEED_PASSWORD, \
                 RANKCAST_FEED_KEY, or --feed-auth FILE"
            ))),
            StatusCode::NOT_FOUND => Err(NoFeed::Refused(format!(
                "{name}: {status}: no event feed is there; expected …/contests/ID/event-feed"
            ))),
            _ if status.is_redirection() => Err(NoFeed::Refused(format!(
                "{name}: {status}: it leads to another server; give the address there"
            ))),
            _ => Err(NoFeed::Away(format!("{name}: {status}"))),
        }
    }
}

/// An error with what caused it, which alone tells what happened.
pub fn plain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
