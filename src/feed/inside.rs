//! A follower inside the server: what comes goes straight into the log, and how it goes is told to all who watch.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use jiff::Timestamp;
use tokio::time::Instant;

use super::{
    follow::{Follower, Numbered, Progress, Sink, SinkError, Stand, Taken},
    upstream::Upstream,
};
use crate::{
    contest::clock,
    hub::{Hub, Live},
    protocol::message::FeedState,
    store::{APPEND_MAX, Append, Outcome, StoreError},
};

/// How often it is looked how the feed goes.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Without a connection for so long the feed counts as silent: one that is made anew at once is nobody's concern.
const GRACE: Duration = Duration::from_secs(5);

/// Follows a feed into a contest, which is made if it is not there. Ends with the feed.
pub async fn follow(
    hub: Arc<Hub>,
    contest: String,
    upstream: Upstream,
    silence: Duration,
) -> anyhow::Result<()> {
    let sink = Inside {
        hub: hub.clone(),
        contest: contest.clone(),
    };
    let live = loop {
        match sink.live().await {
            Ok(live) => break live,
            Err(error) => {
                tracing::warn!(contest, %error, "the store is away: the feed waits");
                tokio::time::sleep(LOOK_EVERY).await;
            }
        }
    };
    let follower = Follower::new(upstream, sink, false);
    let progress = follower.progress();
    let running = follower.run();
    tokio::pin!(running);
    let mut every = tokio::time::interval(LOOK_EVERY);
    let mut lost: Option<Instant> = None;
    loop {
        tokio::select! {
            ended = &mut running => {
                return match ended {
                    Ok(progress) => {
                        live.set_feed(FeedState::None, None);
                        tracing::info!(contest, lines = progress.lines, "the feed is over");
                        Ok(())
                    }
                    Err(error) => {
                        let now = clock::format_instant(Timestamp::now().as_millisecond());
                        live.set_feed(FeedState::Silent, Some(now));
                        Err(error)
                    }
                };
            }
            _ = every.tick() => {
                let now = progress.borrow().clone();
                if now.connected {
                    lost = None;
                } else {
                    lost.get_or_insert_with(Instant::now);
                }
                tell(&live, &now, lost, silence);
            }
        }
    }
}

/// Tells viewers and metrics how it goes.
fn tell(live: &Live, progress: &Progress, lost: Option<Instant>, silence: Duration) {
    let heard = progress.heard.map(|heard| heard.elapsed());
    let is_silent = lost.is_some_and(|lost| lost.elapsed() >= GRACE)
        || heard.is_some_and(|heard| heard >= silence);
    let since = || {
        let ago = heard
            .or_else(|| lost.map(|lost| lost.elapsed()))
            .unwrap_or_default();
        let ago = i64::try_from(ago.as_millis()).unwrap_or(i64::MAX);
        clock::format_instant(Timestamp::now().as_millisecond().saturating_sub(ago))
    };
    match (is_silent, live.feed().0) {
        (true, FeedState::Silent) | (false, FeedState::Live) => {}
        (true, _) => live.set_feed(FeedState::Silent, Some(since())),
        (false, _) if progress.connected => live.set_feed(FeedState::Live, None),
        // Not yet, or not again.
        (false, _) => {}
    }
    let contest = || live.id().to_owned();
    let seconds =
        |moment: Option<Instant>| moment.map_or(0.0, |moment| moment.elapsed().as_secs_f64());
    metrics::gauge!("rankcast_feed_connected", "contest" => contest())
        .set(f64::from(u8::from(progress.connected)));
    metrics::gauge!("rankcast_feed_silence_seconds", "contest" => contest())
        .set(seconds(progress.heard));
    metrics::gauge!("rankcast_feed_lag_seconds", "contest" => contest())
        .set(seconds(progress.waits_since));
    for (name, count) in [
        ("rankcast_feed_lines_total", progress.lines),
        ("rankcast_feed_bad_lines_total", progress.bad),
        ("rankcast_feed_reconnects_total", progress.reconnects),
        ("rankcast_feed_start_overs_total", progress.start_overs),
    ] {
        metrics::counter!(name, "contest" => contest()).absolute(count);
    }
}

/// A contest of this server, as the end of a feed.
struct Inside {
    hub: Arc<Hub>,
    contest: String,
}

impl Inside {
    async fn live(&self) -> Result<Arc<Live>, StoreError> {
        match self.hub.contest(&self.contest).await {
            Err(StoreError::NoSuchContest(_)) => {
                self.hub.store().create(&self.contest).await?;
                self.hub.contest(&self.contest).await
            }
            live => live,
        }
    }
}

#[allow(clippy::needless_pass_by_value)] // as `map_err` gives it
fn failed(error: StoreError) -> SinkError {
    match error {
        // The store may be mended, or emptied, while we wait.
        StoreError::Away(_) | StoreError::Refused(_) => SinkError::Away(error.to_string()),
        StoreError::NoSuchContest(_) | StoreError::Damaged(_) => {
            SinkError::Refused(error.to_string())
        }
    }
}

#[async_trait]
impl Sink for Inside {
    async fn stand(&self, name: &str) -> Result<Stand, SinkError> {
        let live = self.live().await.map_err(failed)?;
        let core = live.core();
        Ok(Stand {
            last: core.sources.newest(name),
            empty: core.fold.is_bare(),
        })
    }

    async fn objects(&self) -> Result<BTreeMap<String, BTreeSet<String>>, SinkError> {
        let live = self.live().await.map_err(failed)?;
        let objects = live.core().fold.objects();
        Ok(objects)
    }

    async fn post(&self, source: &str, lines: &[Numbered]) -> Result<Taken, SinkError> {
        let mut taken = Taken::default();
        let mut events = Vec::with_capacity(lines.len());
        for (number, line) in lines {
            match line.event() {
                Ok(_) => events.push(Append::of(line.clone(), source)),
                Err(error) => taken.bad.push((*number, error.to_string())),
            }
        }
        let live = self.live().await.map_err(failed)?;
        for batch in events.chunks(APPEND_MAX) {
            let appended = self
                .hub
                .append(live.id(), batch.to_vec())
                .ended()
                .await
                .map_err(failed)?;
            let new = |outcome: &&Outcome| matches!(outcome, Outcome::Accepted(_));
            let accepted = appended.outcomes.iter().filter(new).count() as u64;
            taken.accepted += accepted;
            taken.repeated += appended.outcomes.len() as u64 - accepted;
        }
        Ok(taken)
    }
}
