//! `rankcast import`: sends a contest to a server, at once or in contest time; or follows a [live] feed.

pub mod live;

use std::{
    io::IsTerminal as _,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, bail};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use tokio::time::Instant;

use self::live::FeedOptions;
use super::{Outcome, Target, client::Client, contest_id};
use crate::{
    contest::Kind,
    feed::clics::Pace,
    web::judge::{Posted, SOURCE_MAX},
};

/// Lines in one request at the most. Within one the server reads, appends and folds at the same time; between two it waits.
const BATCH_LINES: usize = 10_000;

/// Bytes in one request at the most, well below the server's limit of a body.
const BATCH_BYTES: usize = 4 * 1024 * 1024;

/// How often what is due is sent while replaying in contest time.
const REPLAY_STEP: Duration = Duration::from_millis(50);

/// Bad lines, and objects kept aside, that are printed.
const SHOWN_MAX: usize = 10;

/// Options of `rankcast import`.
#[derive(Clone, Debug, Args)]
pub struct Import {
    /// A directory with event-feed.ndjson (and about.json, which may name the penalty rounding), a feed file, or the URL of a live
    /// feed, …/api/contests/ID/event-feed, which is followed until it ends
    pub source: PathBuf,
    /// The contest to send it to; it is made if it is not there
    #[arg(long, env = "RANKCAST_CONTEST", value_name = "ID", value_parser = contest_id)]
    pub contest: String,
    /// `max`: as fast as it goes; N: in contest time, N times as fast
    #[arg(
        long,
        env = "RANKCAST_SPEED",
        default_value = "max",
        value_name = "N|max"
    )]
    pub speed: Speed,
    /// Of a live feed: no verdict on a frozen submission is sent before the judge says that the board is thawed. For a relay inside
    /// of the judge's network, to a server outside
    #[arg(long, env = "RANKCAST_HOLD_FROZEN")]
    pub hold_frozen: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub feed: FeedOptions,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub target: Target,
}

/// How fast a contest is replayed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Speed {
    /// As fast as it goes.
    Max,
    /// So many times as fast as it was.
    Times(f64),
}

impl std::str::FromStr for Speed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "max" {
            return Ok(Self::Max);
        }
        text.parse()
            .ok()
            .filter(|times: &f64| times.is_finite() && *times > 0.0)
            .map(Self::Times)
            .ok_or_else(|| format!("expected a number above 0, or max, got {text:?}"))
    }
}

impl Import {
    /// Sends it all.
    pub async fn run(self) -> anyhow::Result<Outcome> {
        if let Some(address) = self.source.to_str().filter(|source| source.contains("://")) {
            if self.speed != Speed::Max {
                bail!("--speed: a live feed goes as fast as its contest does");
            }
            return live::follow(
                address,
                &self.contest,
                self.hold_frozen,
                &self.feed,
                &self.target,
            )
            .await;
        }
        if self.hold_frozen {
            bail!(
                "--hold-frozen: of a live feed; expected its URL, got {}",
                self.source.display()
            );
        }
        let (feed, about) = locate(&self.source)?;
        let text = tokio::fs::read(&feed)
            .await
            .with_context(|| format!("cannot read {}", feed.display()))?;
        let settings = settings(about.as_deref())?;
        let client = Client::new(&self.target)?;
        let base = format!("/api/contests/{}", self.contest);
        client
            .put(
                &base,
                &if settings.is_null() {
                    json!({})
                } else {
                    json!({ "rankcast": settings })
                },
            )
            .await?;

        let began = Instant::now();
        let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
        let bar = bar(lines.len() as u64);
        let name = feed.file_name().unwrap_or_default().to_string_lossy();
        let mut source = format!("{}/{name}", self.contest);
        while source.len() > SOURCE_MAX {
            source.pop();
        }
        let mut sender = Sender {
            client: &client,
            path: format!("{base}/events?source={}", urlencode(&source)),
            bar: &bar,
            batch: Vec::new(),
            first: 1,
            count: 0,
            total: Posted::default(),
            wrong: 0,
            maybe_aside: false,
        };
        let mut pace = Pace::default();
        let mut judgements = 0_u64;
        for (index, line) in lines.iter().enumerate() {
            if let Speed::Times(times) = self.speed
                && let Some(at) = pace.at(line)
            {
                let at = Duration::try_from_secs_f64(at.max(0) as f64 / 1000.0 / times)
                    .unwrap_or(Duration::MAX);
                while began.elapsed() < at {
                    sender.send().await?;
                    let wait = at.saturating_sub(began.elapsed());
                    tokio::time::sleep(wait.min(REPLAY_STEP)).await;
                }
            }
            judgements += u64::from(is_judgement(line));
            sender.add(index + 1, line).await?;
        }
        sender.send().await?;
        let (total, wrong, maybe_aside) = (sender.total, sender.wrong, sender.maybe_aside);
        bar.finish_and_clear();

        let seconds = began.elapsed().as_secs_f64();
        println!(
            "{}: {} accepted, {} repeated, {wrong} refused, in {seconds:.1} s ({:.0} judgements/s)",
            self.contest,
            total.accepted,
            total.repeated,
            judgements as f64 / seconds.max(0.001),
        );
        for error in &total.errors {
            println!("  line {}: {}", error.line, error.error);
        }
        if wrong > total.errors.len() {
            println!("  … and {} more", wrong - total.errors.len());
        }
        if maybe_aside {
            self.tell_aside(&client, &base).await?;
        }
        Ok(if wrong == 0 {
            Outcome::Good
        } else {
            Outcome::Bad
        })
    }

    /// Says what refers to something that did not come.
    async fn tell_aside(&self, client: &Client, base: &str) -> anyhow::Result<()> {
        let report: Value = client.get(&format!("{base}/verify")).await?;
        let aside = report["aside"].as_array().map_or(&[][..], Vec::as_slice);
        if !aside.is_empty() {
            println!("  {} kept aside:", aside.len());
        }
        for one in aside.iter().take(SHOWN_MAX) {
            let text = |field: &str| one[field].as_str().unwrap_or("").to_owned();
            println!("    {} {}: {}", text("type"), text("id"), text("reason"));
        }
        if aside.len() > SHOWN_MAX {
            println!("    … and {} more", aside.len() - SHOWN_MAX);
        }
        Ok(())
    }
}

/// Sends lines in batches, in their order.
struct Sender<'a> {
    client: &'a Client,
    path: String,
    bar: &'a ProgressBar,
    batch: Vec<u8>,
    /// The number of the batch's first line.
    first: usize,
    count: usize,
    total: Posted,
    wrong: usize,
    /// Something was kept aside, at least for a while.
    maybe_aside: bool,
}

impl Sender<'_> {
    async fn add(&mut self, number: usize, line: &[u8]) -> anyhow::Result<()> {
        if self.count >= BATCH_LINES || self.batch.len() + line.len() > BATCH_BYTES {
            self.send().await?;
        }
        if self.count == 0 {
            self.first = number;
        }
        self.batch.extend_from_slice(line);
        self.batch.push(b'\n');
        self.count += 1;
        Ok(())
    }

    async fn send(&mut self) -> anyhow::Result<()> {
        let (batch, count) = (
            std::mem::take(&mut self.batch),
            std::mem::take(&mut self.count),
        );
        if batch.iter().any(|byte| !byte.is_ascii_whitespace()) {
            let posted = self
                .client
                .post_lines(&self.path, batch)
                .await
                .with_context(|| format!("lines {} to {}", self.first, self.first + count - 1))?;
            self.maybe_aside |= posted.kept_aside != Some(0);
            self.total.accepted += posted.accepted;
            self.total.repeated += posted.repeated;
            self.wrong += posted.errors_total.unwrap_or(posted.errors.len());
            for mut error in posted.errors {
                error.line += self.first - 1;
                if self.total.errors.len() < SHOWN_MAX {
                    self.total.errors.push(error);
                }
            }
        }
        self.bar.inc(count as u64);
        Ok(())
    }
}

/// The feed of a source, and what is known about it.
fn locate(source: &Path) -> anyhow::Result<(PathBuf, Option<PathBuf>)> {
    let feed = if source.is_dir() {
        source.join("event-feed.ndjson")
    } else {
        source.to_owned()
    };
    if !feed.is_file() {
        bail!(
            "{}: expected a feed file, or a directory with event-feed.ndjson",
            source.display()
        );
    }
    let about = feed.with_file_name("about.json");
    Ok((feed, about.is_file().then_some(about)))
}

/// The settings that about.json asks for; null without any.
fn settings(about: Option<&Path>) -> anyhow::Result<Value> {
    let Some(about) = about else {
        return Ok(Value::Null);
    };
    let text = std::fs::read(about).with_context(|| format!("cannot read {}", about.display()))?;
    let object: Value =
        serde_json::from_slice(&text).with_context(|| format!("{}: not JSON", about.display()))?;
    match &object["penalty_rounding"] {
        Value::Null => Ok(Value::Null),
        rounding => Ok(json!({ "penalty_rounding": rounding })),
    }
}

/// For the rate that is printed: near enough, and without reading the line twice.
fn is_judgement(line: &[u8]) -> bool {
    let name = Kind::Judgements.name().as_bytes();
    line.windows(name.len()).take(64).any(|some| some == name)
}

pub(crate) fn urlencode(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'/' => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        })
        .collect()
}

fn bar(lines: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template(
        "{bar:40} {human_pos}/{human_len} lines  {per_sec}  {eta} left",
    );
    ProgressBar::new(lines).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
