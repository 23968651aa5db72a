//! What is told: how it goes while a test runs, and what came out.

use std::{collections::BTreeMap, fmt, io::IsTerminal as _, sync::Arc, time::Duration};

use hdrhistogram::Histogram;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::{
    Load,
    attempt::Attempts,
    contest::Contest,
    settle::Standing,
    stage::{Seat, Stage},
    tally::histogram,
};

/// How often it is told how it goes.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Tells once a second how it goes: a line that changes on a terminal, else a line each time.
pub struct Progress {
    stage: Arc<Stage>,
    viewers: usize,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Of a test with so many viewers.
    pub fn new(stage: Arc<Stage>, viewers: usize) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{spinner} {elapsed} {msg}");
            ProgressBar::new_spinner()
                .with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
        });
        Self {
            stage,
            viewers,
            bar,
        }
    }

    /// Tells until it is stopped.
    pub async fn run(self, stop: CancellationToken) {
        let mut every = interval(TELL_EVERY);
        every.set_missed_tick_behavior(MissedTickBehavior::Delay);
        every.tick().await;
        let tally = &self.stage.tally;
        let mut before = 0;
        while stop.run_until_cancelled(every.tick()).await.is_some() {
            let deliveries = tally.deliveries.get();
            let p99 = Quantiles::of(&tally.latencies().steady).p99;
            let line = format!(
                "connected {} of {}, {} deliveries/s, {} judgements, p99 {p99:.1} ms, faults {}",
                tally.connected.get(),
                self.viewers,
                deliveries - before,
                tally.posted.get(),
                tally.faults().total,
            );
            before = deliveries;
            match &self.bar {
                Some(bar) => {
                    bar.set_message(line);
                    bar.tick();
                }
                None => eprintln!("{line}"),
            }
        }
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// What happened between the first and the last judgement.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// How long it took.
    pub took: Duration,
    /// Messages received.
    pub deliveries: u64,
    /// Bytes received.
    pub bytes: u64,
}

/// Latencies in milliseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Quantiles {
    count: u64,
    p50: f64,
    p99: f64,
    max: f64,
}

impl Quantiles {
    fn of(histogram: &Histogram<u64>) -> Self {
        let ms = |micros: u64| micros as f64 / 1000.0;
        Self {
            count: histogram.len(),
            p50: ms(histogram.value_at_quantile(0.5)),
            p99: ms(histogram.value_at_quantile(0.99)),
            max: ms(histogram.max()),
        }
    }
}

impl fmt::Display for Quantiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.count == 0 {
            return f.write_str("-");
        }
        write!(
            f,
            "p50 {:.1} ms, p99 {:.1} ms, max {:.1} ms",
            self.p50, self.p99, self.max
        )
    }
}

/// What came out. The names of the fields are those of the JSON; rates are over `seconds`, counts over the whole test.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// All judgements were accepted and are shown, all viewers are exact, and nothing broke the protocol.
    pub good: bool,
    contest: String,
    servers: Vec<String>,
    viewers: usize,
    /// How many of them use server-sent events.
    sse: usize,
    /// How many of them stop reading now and then.
    slow: usize,
    teams: u32,
    seed: u64,
    /// From the first judgement to the last.
    seconds: f64,
    /// Viewers that are connected at the end.
    connected: u64,
    reconnects: u64,
    /// Connections that did not come about, and were tried again.
    refused: u64,
    /// Connections that viewers dropped in waves.
    dropped: u64,
    /// Times that a slow viewer stopped reading.
    stalls: u64,
    judgements: Judgements,
    /// Messages received, of all types.
    deliveries: u64,
    deliveries_per_s: f64,
    /// From the start of a judgement's POST to the frame in which a viewer sees it: viewers that were connected, and read.
    latency_ms: Quantiles,
    /// The same, to the last of those viewers, for each judgement.
    last_viewer_ms: Quantiles,
    /// The same, to viewers that do not read all the time.
    slow_latency_ms: Quantiles,
    /// The same, to viewers that were away, and were told when they came back.
    catch_up_latency_ms: Quantiles,
    /// Payload: messages, and fetched boards as they came (compressed).
    bytes: u64,
    bytes_per_viewer: f64,
    bytes_per_s: f64,
    /// Whole boards that came through a socket.
    snapshots: u64,
    /// Whole boards that were fetched.
    reloads: u64,
    /// Deltas that span what others got in several frames.
    merged: u64,
    /// Connections that a server closed, by code; `none`: without one.
    closes: BTreeMap<String, u64>,
    faults: Told,
    /// Viewers that have exactly what is served at the end, of `viewers`.
    exact: usize,
    /// Of the others, those that are not connected, or are fetching a board.
    away: usize,
}

#[derive(Clone, Debug, Serialize)]
struct Judgements {
    posted: u64,
    per_s: f64,
    accepted: u64,
    not_accepted: u64,
    retries: u64,
    /// Attempts that the final board shows; `null`: it was not to be had, or the contest is somebody else's.
    shown: Option<u64>,
}

#[derive(Clone, Debug, Serialize)]
struct Told {
    total: u64,
    /// The first ones in words.
    told: Vec<String>,
}

impl Report {
    /// Of a test that has ended.
    pub(super) fn new(
        load: &Load,
        stage: &Stage,
        contest: &Contest,
        attempts: &Attempts,
        seats: &[Arc<Seat>],
        span: Span,
        standing: Standing,
    ) -> Self {
        let tally = &stage.tally;
        let latencies = tally.latencies();
        let mut last = histogram();
        for micros in attempts.last_seen() {
            last.saturating_record(micros);
        }
        let seconds = span.took.as_secs_f64().max(0.001);
        let judgements = Judgements {
            posted: tally.posted.get(),
            per_s: tally.posted.get() as f64 / seconds,
            accepted: tally.accepted.get(),
            not_accepted: tally.posted.get() - tally.accepted.get(),
            retries: tally.retries.get(),
            shown: standing.shown.filter(|_| contest.made),
        };
        let mut faults = tally.faults();
        let all_shown = !contest.made || judgements.shown == Some(judgements.accepted);
        if !all_shown {
            faults.total += 1;
            faults.told.push(format!(
                "{} judgements were accepted, and the board shows {}",
                judgements.accepted,
                judgements
                    .shown
                    .map_or("nothing".to_owned(), |shown| shown.to_string()),
            ));
        }
        let closes = tally.closes().into_iter();
        Self {
            good: faults.total == 0
                && judgements.not_accepted == 0
                && standing.of == load.viewers
                && standing.exact == load.viewers,
            contest: contest.id.clone(),
            servers: stage
                .net
                .places
                .iter()
                .map(|place| place.base.clone())
                .collect(),
            viewers: load.viewers,
            sse: seats.iter().filter(|seat| seat.events).count(),
            slow: seats.iter().filter(|seat| seat.slow).count(),
            teams: load.teams,
            seed: load.seed,
            seconds,
            connected: tally.connected.get(),
            reconnects: tally.reconnects.get(),
            refused: tally.refused.get(),
            dropped: tally.dropped.get(),
            stalls: tally.stalls.get(),
            judgements,
            deliveries: span.deliveries,
            deliveries_per_s: span.deliveries as f64 / seconds,
            latency_ms: Quantiles::of(&latencies.steady),
            last_viewer_ms: Quantiles::of(&last),
            slow_latency_ms: Quantiles::of(&latencies.slow),
            catch_up_latency_ms: Quantiles::of(&latencies.catch_up),
            bytes: tally.bytes.get(),
            bytes_per_viewer: tally.bytes.get() as f64 / load.viewers.max(1) as f64,
            bytes_per_s: span.bytes as f64 / seconds,
            snapshots: tally.snapshots.get(),
            reloads: tally.reloads.get(),
            merged: tally.merged.get(),
            closes: closes
                .map(|(code, count)| {
                    (
                        code.map_or("none".to_owned(), |code| code.to_string()),
                        count,
                    )
                })
                .collect(),
            faults: Told {
                total: faults.total,
                told: faults.told,
            },
            exact: standing.exact,
            away: standing.away,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |name: &str, text: String| writeln!(f, "{name:<14}{text}");
        let kb = |bytes: f64| bytes / 1000.0;
        line(
            "load",
            format!(
                "{} viewers ({} over SSE, {} slow), {} server{}, {} teams, {:.1} s",
                self.viewers,
                self.sse,
                self.slow,
                self.servers.len(),
                if self.servers.len() == 1 { "" } else { "s" },
                self.teams,
                self.seconds,
            ),
        )?;
        line(
            "judgements",
            format!(
                "{} posted ({:.1}/s), {} accepted, {} retries",
                self.judgements.posted,
                self.judgements.per_s,
                self.judgements.accepted,
                self.judgements.retries,
            ),
        )?;
        line(
            "connections",
            format!(
                "{} at the end, {} reconnects, {} dropped in waves, {} refused",
                self.connected, self.reconnects, self.dropped, self.refused,
            ),
        )?;
        line(
            "deliveries",
            format!("{} ({:.0}/s)", self.deliveries, self.deliveries_per_s),
        )?;
        line("latency", self.latency_ms.to_string())?;
        line("last viewer", self.last_viewer_ms.to_string())?;
        if self.slow > 0 {
            line(
                "slow viewers",
                format!("{}; {} stalls", self.slow_latency_ms, self.stalls),
            )?;
        }
        if self.catch_up_latency_ms.count > 0 {
            line("catching up", self.catch_up_latency_ms.to_string())?;
        }
        line(
            "received",
            format!(
                "{:.1} KB a viewer, {:.1} KB/s",
                kb(self.bytes_per_viewer),
                kb(self.bytes_per_s)
            ),
        )?;
        line(
            "boards",
            format!(
                "{} through sockets, {} fetched; {} merged deltas",
                self.snapshots, self.reloads, self.merged
            ),
        )?;
        let closes: Vec<_> = self
            .closes
            .iter()
            .map(|(code, count)| format!("{count} with code {code}"))
            .collect();
        let closes = if closes.is_empty() {
            "none by a server".to_owned()
        } else {
            closes.join(", ")
        };
        line("closes", closes)?;
        line("faults", self.faults.total.to_string())?;
        for fault in &self.faults.told {
            line("", fault.clone())?;
        }
        let away = if self.away > 0 {
            format!(", {} away", self.away)
        } else {
            String::new()
        };
        line("exact", format!("{} of {}{away}", self.exact, self.viewers))
    }
}
