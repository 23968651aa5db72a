//! `rankcast import URL`: follows a live feed, wherever the server is. Run beside the judge it is a relay: it connects outwards
//! only, to both.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    io::IsTerminal as _,
    path::PathBuf,
    time::Duration,
};

use async_trait::async_trait;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use tokio::{sync::watch, time::Instant};

use super::urlencode;
use crate::{
    cli::{
        Outcome, Target,
        client::{Client, Refused},
    },
    feed::{
        follow::{Follower, Numbered, Progress, Sink, SinkError, Stand, Taken},
        upstream::{Credentials, Upstream},
    },
    web::sources::Sources,
};

/// How often the status line is written anew, on a terminal and elsewhere.
const STATUS_EVERY: Duration = Duration::from_millis(500);
const PLAIN_EVERY: Duration = Duration::from_secs(60);

/// How a feed is followed.
#[derive(Clone, Debug, Args)]
pub struct FeedOptions {
    /// A file with user:password, or a key, for the judge. Without it: `RANKCAST_FEED_USER` and `RANKCAST_FEED_PASSWORD`, or
    /// `RANKCAST_FEED_KEY`
    #[arg(long, env = "RANKCAST_FEED_AUTH", value_name = "FILE")]
    pub feed_auth: Option<PathBuf>,
    /// A feed on which nothing comes for so many seconds is connected to anew; CLICS wants a line every 120 s
    #[arg(long, env = "RANKCAST_FEED_TIMEOUT", default_value_t = 150, value_name = "S", value_parser = clap::value_parser!(u64).range(1..))]
    pub feed_timeout: u64,
}

impl FeedOptions {
    /// The feed at an address.
    pub fn upstream(&self, address: &str) -> anyhow::Result<Upstream> {
        let credentials = Credentials::find(self.feed_auth.as_deref())?;
        Upstream::new(address, credentials, self.silence())
    }

    /// How long a feed may be silent.
    pub fn silence(&self) -> Duration {
        Duration::from_secs(self.feed_timeout)
    }
}

/// Follows until the feed is over.
pub async fn follow(
    address: &str,
    contest: &str,
    hold: bool,
    options: &FeedOptions,
    target: &Target,
) -> anyhow::Result<Outcome> {
    let upstream = options.upstream(address)?;
    let name = upstream.name();
    let sink = Outside {
        client: Client::new(target)?,
        base: format!("/api/contests/{contest}"),
    };
    let follower = Follower::new(upstream, sink, hold);
    let status = tokio::spawn(show(follower.progress(), contest.to_owned(), name));
    let ended = follower.run().await;
    status.abort();
    let _ = status.await;
    let progress = ended?;
    println!("{contest}: the feed is over: {}", summary(&progress));
    Ok(if progress.bad == 0 {
        Outcome::Good
    } else {
        Outcome::Bad
    })
}

/// Shows how it goes: a bar until all is there, then a line.
async fn show(mut progress: watch::Receiver<Progress>, contest: String, name: String) {
    let terminal = std::io::stderr().is_terminal();
    let bar = if terminal {
        let style = ProgressStyle::with_template("{spinner} {msg}");
        ProgressBar::new_spinner()
            .with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
    } else {
        ProgressBar::hidden()
    };
    // What was said last, where nothing can be written over.
    let mut said: Option<(String, u64, Instant)> = None;
    loop {
        let now = progress.borrow_and_update().clone();
        let mood = mood(&now);
        bar.set_message(format!("{contest}: {mood}: {}", summary(&now)));
        bar.tick();
        let again = said.as_ref().is_none_or(|(known, bad, at)| {
            *known != mood || *bad != now.bad || at.elapsed() >= PLAIN_EVERY
        });
        if !terminal && again {
            eprintln!("{contest}: {name}: {mood}: {}", summary(&now));
            said = Some((mood, now.bad, Instant::now()));
        }
        tokio::time::sleep(STATUS_EVERY).await;
    }
}

fn mood(progress: &Progress) -> String {
    match &progress.trouble {
        Some(trouble) => format!("waits: {trouble}"),
        None if !progress.connected => "connecting".to_owned(),
        None if progress.caught_up => "following".to_owned(),
        None => "catching up".to_owned(),
    }
}

fn summary(progress: &Progress) -> String {
    let mut text = format!(
        "{} lines, {} new, {} known",
        progress.lines, progress.accepted, progress.repeated
    );
    for (count, what) in [
        (progress.held as u64, "held back"),
        (progress.reconnects, "reconnects"),
        (progress.start_overs, "start-overs"),
        (progress.bad, "refused"),
    ] {
        if count > 0 {
            let _ = write!(text, ", {count} {what}");
        }
    }
    if let Some((line, error)) = &progress.last_bad {
        let _ = write!(text, " (line {line}: {error})");
    }
    text
}

/// A contest of a server that is elsewhere, as the end of a feed.
struct Outside {
    client: Client,
    base: String,
}

#[allow(clippy::needless_pass_by_value)] // as `map_err` gives it
fn failed(error: anyhow::Error) -> SinkError {
    let text = format!("{error:#}");
    if error.downcast_ref::<Refused>().is_some() {
        SinkError::Refused(text)
    } else {
        SinkError::Away(text)
    }
}

impl Outside {
    async fn sources(&self, query: &str) -> Result<Sources, SinkError> {
        let path = format!("{}/sources{query}", self.base);
        self.client.get(&path).await.map_err(failed)
    }
}

#[async_trait]
impl Sink for Outside {
    async fn stand(&self, name: &str) -> Result<Stand, SinkError> {
        self.client
            .put(&self.base, &json!({}))
            .await
            .map_err(failed)?;
        let known = self.sources("").await?;
        let of_name = |source: &str| {
            source
                .strip_prefix(name)
                .is_some_and(|more| more.is_empty() || more.starts_with('#'))
        };
        let last = known.sources.into_iter().find(|one| of_name(&one.source));
        Ok(Stand {
            last: last.map(|one| (one.source, one.token)),
            empty: known.empty,
        })
    }

    async fn objects(&self) -> Result<BTreeMap<String, BTreeSet<String>>, SinkError> {
        let known = self.sources("?objects=true").await?;
        Ok(known.objects.unwrap_or_default())
    }

    async fn post(&self, source: &str, lines: &[Numbered]) -> Result<Taken, SinkError> {
        let mut body = Vec::new();
        for (_, line) in lines {
            let line =
                json!({ "type": line.kind, "id": line.id, "data": line.data, "token": line.token });
            body.extend_from_slice(line.to_string().as_bytes());
            body.push(b'\n');
        }
        let path = format!("{}/events?source={}", self.base, urlencode(source));
        let posted = self.client.post_lines(&path, body).await.map_err(failed)?;
        let number = |line: usize| {
            lines
                .get(line.saturating_sub(1))
                .map_or(0, |(number, _)| *number)
        };
        let bad = posted
            .errors
            .into_iter()
            .map(|bad| (number(bad.line), bad.error));
        Ok(Taken {
            accepted: posted.accepted as u64,
            repeated: posted.repeated as u64,
            bad: bad.collect(),
        })
    }
}
