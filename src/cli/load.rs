//! `rankcast load`: a capacity test, for the evening before the contest. Viewers follow a contest over real connections and
//! check every frame; a judge posts judgements; in the end each viewer must have exactly what is served.

pub mod attempt;
pub mod contest;
pub mod fetch;
pub mod judge;
pub mod mix;
pub mod place;
pub mod report;
pub mod settle;
pub mod stage;
pub mod state;
pub mod tally;
pub mod viewer;
pub mod wire;

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use anyhow::bail;
use clap::Args;
use rand::{SeedableRng as _, rngs::StdRng};
use tokio::{
    sync::Semaphore,
    time::{Instant, sleep, sleep_until, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{Access, Outcome, contest_id};
use attempt::Attempts;
use contest::Contest;
use fetch::FETCHES_MAX;
use judge::{Choice, Judge, POSTS_MAX};
use mix::Mix;
use place::Net;
use report::{Progress, Report};
use settle::settle;
use stage::{Seat, Stage};
use state::Lane;
use viewer::Viewer;

/// File descriptors for everything but viewers, posts and fetches.
const FILES_BESIDE: u64 = 64;

/// How long viewers may take to get their first board, beyond the time in which they come.
const ARRIVAL_PATIENCE: Duration = Duration::from_secs(60);

/// A slow viewer's sleep is at most this part of the run, so that it wakes before the end.
const ASLEEP_PART: f64 = 0.3;

/// Options of `rankcast load`.
#[derive(Clone, Debug, Args)]
pub struct Load {
    /// How many viewers watch
    #[arg(long, env = "RANKCAST_VIEWERS", value_name = "N")]
    pub viewers: usize,
    /// Judgements a second; 0: nothing happens, and viewers watch
    #[arg(long, env = "RANKCAST_RATE", value_name = "R", value_parser = rate)]
    pub rate: f64,
    /// How long, in seconds
    #[arg(long, env = "RANKCAST_SECONDS", value_name = "S", value_parser = seconds)]
    pub seconds: f64,
    /// The server; several that share one Redis may be given, viewers are spread over them and change when one is away
    #[arg(
        long = "server",
        env = "RANKCAST_SERVER",
        default_value = "http://127.0.0.1:8080",
        value_delimiter = ',',
        value_name = "URL"
    )]
    pub servers: Vec<String>,
    /// How many percent of the viewers use server-sent events instead of WebSocket
    #[arg(long, env = "RANKCAST_SSE", default_value = "0", value_name = "PERCENT", value_parser = mix::percent)]
    pub sse: f64,
    /// How many rows viewers ask for, with weights
    #[arg(
        long,
        env = "RANKCAST_LIMITS",
        default_value = "100",
        value_name = "LIMIT:WEIGHT,…"
    )]
    pub limits: Mix,
    /// How many percent of the viewers stop reading for many seconds, again and again
    #[arg(long, env = "RANKCAST_SLOW", default_value = "0", value_name = "PERCENT", value_parser = mix::percent)]
    pub slow: f64,
    /// How often in the run all viewers drop their connections at once
    #[arg(long, env = "RANKCAST_WAVES", default_value_t = 0, value_name = "N")]
    pub waves: u32,
    /// Within how many seconds they come back
    #[arg(long, env = "RANKCAST_WAVE_SECONDS", default_value = "2", value_name = "S", value_parser = seconds)]
    pub wave_seconds: f64,
    /// How many viewers come in a second at the start
    #[arg(long, env = "RANKCAST_CONNECT_RATE", default_value = "1000", value_name = "N", value_parser = positive)]
    pub connect_rate: f64,
    /// The contest to make for the test; one that is there already is watched only (--rate 0)
    #[arg(long, env = "RANKCAST_CONTEST", value_name = "ID", value_parser = contest_id)]
    pub contest: Option<String>,
    /// How many teams it has
    #[arg(long, env = "RANKCAST_TEAMS", default_value_t = 120, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=50_000))]
    pub teams: u32,
    /// How many problems it has
    #[arg(long, env = "RANKCAST_PROBLEMS", default_value_t = 12, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=26))]
    pub problems: u32,
    /// Keep the contest after the test
    #[arg(long, env = "RANKCAST_KEEP")]
    pub keep: bool,
    /// Another number, other judgements
    #[arg(long, env = "RANKCAST_SEED", default_value_t = 1, value_name = "N")]
    pub seed: u64,
    /// How long viewers may take to get to the end after the last judgement, in seconds
    #[arg(long, env = "RANKCAST_SETTLE", default_value = "30", value_name = "S", value_parser = seconds)]
    pub settle: f64,
    /// Trust the certificates in this file (PEM), and no others
    #[arg(long, env = "RANKCAST_CA", value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// Load a server that is not on this machine; --confirm-host has to name it, too
    #[arg(long)]
    pub allow_remote: bool,
    /// The host of such a server, once more
    #[arg(long, value_name = "HOST")]
    pub confirm_host: Vec<String>,
    /// Write the report as JSON
    #[arg(long, env = "RANKCAST_JSON")]
    pub json: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub access: Access,
}

impl Load {
    /// Runs the test, and reports.
    pub async fn run(self) -> anyhow::Result<Outcome> {
        self.raise_files()?;
        let net = Net::new(
            &self.servers,
            self.allow_remote,
            &self.confirm_host,
            self.ca.as_deref(),
        )
        .await?;
        let key = self.access.find();
        let size = (self.seed, self.teams as usize, self.problems as usize);
        let contest = Contest::open(&net, key.as_deref(), self.contest.as_deref(), size).await?;
        if !contest.made && self.rate > 0.0 {
            bail!(
                "the contest {} is there already, and no judgements are made up for it: give --rate 0, or another --contest",
                contest.id
            );
        }
        let attempts = Arc::new(Attempts::default());
        let stage = Arc::new(Stage {
            net,
            path: contest.path.clone(),
            lanes: std::array::from_fn(|_| Lane::new(attempts.clone())),
            tally: tally::Tally::default(),
            wave: Mutex::new(CancellationToken::new()),
            wave_within: Duration::from_secs_f64(self.wave_seconds),
            settling: CancellationToken::new(),
            asleep_max: Duration::from_secs_f64(self.seconds * ASLEEP_PART),
            fetches: Semaphore::new(FETCHES_MAX),
            problems: Mutex::default(),
        });
        let report = self.play(&stage, &contest, &attempts, key.as_deref()).await;
        if contest.made && !self.keep {
            contest.close(&stage.net, key.as_deref()).await?;
        }
        let report = report?;
        if self.json {
            println!("{}", serde_json::to_string(&report)?);
        } else {
            print!("{report}");
        }
        Ok(if report.good {
            Outcome::Good
        } else {
            Outcome::Bad
        })
    }

    /// Makes room for all connections.
    fn raise_files(&self) -> anyhow::Result<()> {
        let needed =
            (self.viewers as u64).saturating_add((FETCHES_MAX + POSTS_MAX) as u64 + FILES_BESIDE);
        let allowed = rlimit::increase_nofile_limit(u64::MAX)?;
        if needed > allowed {
            bail!(
                "--viewers {}: {needed} open files are needed, and this process may have {allowed} (ulimit -Hn)",
                self.viewers
            );
        }
        Ok(())
    }

    async fn play(
        &self,
        stage: &Arc<Stage>,
        contest: &Contest,
        attempts: &Arc<Attempts>,
        key: Option<&str>,
    ) -> anyhow::Result<Report> {
        let seats = self.seats();
        // The first signal ends the traffic, the second one the waiting.
        let (early, at_once) = (CancellationToken::new(), CancellationToken::new());
        tokio::spawn(signals(early.clone(), at_once.clone()));
        let stop = CancellationToken::new();
        let _stopped = stop.clone().drop_guard();
        let watching = TaskTracker::new();
        let start = Instant::now();
        for seat in &seats {
            let (stage, seat, stop) = (stage.clone(), seat.clone(), stop.clone());
            let rate = self.connect_rate;
            watching.spawn(async move {
                let watch = async {
                    stage::turn(start, seat.index, rate).await;
                    Viewer::new(&stage, &seat).run().await;
                };
                stop.run_until_cancelled(watch).await;
            });
        }
        let progress = tokio::spawn(Progress::new(stage.clone(), self.viewers).run(stop.clone()));

        self.arrive(&seats, &early).await;
        let began = Instant::now();
        let deliveries_before = stage.tally.deliveries.get();
        let bytes_before = stage.tally.bytes.get();
        let waves = tokio::spawn({
            let (load, stage, early) = (self.clone(), stage.clone(), early.clone());
            async move {
                early
                    .run_until_cancelled(load.make_waves(began, &stage))
                    .await
            }
        });
        if self.rate > 0.0 {
            let total = (self.rate * self.seconds).round().max(1.0) as u64;
            let (teams, problems) = (self.teams as usize, self.problems as usize);
            let judge = Judge {
                stage: stage.clone(),
                attempts: attempts.clone(),
                key: key.map(str::to_owned),
                teams: Arc::new((1..=teams).map(|number| format!("t{number}")).collect()),
                problems: Arc::new(
                    (0..problems)
                        .map(|number| char::from(b'A' + number as u8).to_string())
                        .collect(),
                ),
                contest_start: contest.start,
                patience: Duration::from_secs_f64(self.settle),
                server: Arc::default(),
            };
            let choice = Choice::new(self.seed, teams, problems, total);
            let posted = judge.run(choice, self.rate, total, &early);
            at_once.run_until_cancelled(posted).await;
        }
        // Slow answers may have taken the judge beyond the end.
        let end = began + Duration::from_secs_f64(self.seconds);
        early.run_until_cancelled(sleep_until(end)).await;
        let took = began.elapsed();
        let deliveries = stage.tally.deliveries.get() - deliveries_before;
        let bytes = stage.tally.bytes.get() - bytes_before;
        waves.abort();
        stage.settling.cancel();
        let patience = Duration::from_secs_f64(self.settle);
        let accepted = contest.made.then(|| stage.tally.accepted.get());
        let standing = at_once
            .run_until_cancelled(settle(stage, &seats, accepted, patience))
            .await
            .unwrap_or_default();
        let report = Report::new(
            self,
            stage,
            contest,
            attempts,
            &seats,
            report::Span {
                took,
                deliveries,
                bytes,
            },
            standing,
        );
        stop.cancel();
        watching.close();
        // All of them hear it at once; none waits for anything.
        let _ = timeout(ARRIVAL_PATIENCE, watching.wait()).await;
        progress.await?;
        Ok(report)
    }

    /// Who the viewers are: always the same for the same options.
    fn seats(&self) -> Vec<Arc<Seat>> {
        let random = &mut StdRng::seed_from_u64(self.seed);
        let limits = self.limits.deal(self.viewers, random);
        let events = mix::share(self.sse, self.viewers, random);
        let slow = mix::share(self.slow, self.viewers, random);
        (0..self.viewers)
            .map(|index| Seat::new(index, limits[index], events[index], slow[index]))
            .map(Arc::new)
            .collect()
    }

    /// Waits until all viewers have a board, or took too long.
    async fn arrive(&self, seats: &[Arc<Seat>], early: &CancellationToken) {
        let due = Duration::from_secs_f64(self.viewers as f64 / self.connect_rate);
        let arrived = async {
            while !seats.iter().all(|seat| seat.held().state.is_some()) {
                sleep(Duration::from_millis(100)).await;
            }
        };
        let arrived = timeout(due + ARRIVAL_PATIENCE, arrived);
        if let Some(Err(_)) = early.run_until_cancelled(arrived).await {
            tracing::warn!("not all viewers have got a board; the test goes on without them");
        }
    }

    /// Spreads the waves over the run.
    async fn make_waves(&self, began: Instant, stage: &Stage) {
        for wave in 1..=self.waves {
            let part = f64::from(wave) / f64::from(self.waves + 1);
            sleep_until(began + Duration::from_secs_f64(self.seconds * part)).await;
            stage.drop_all();
        }
    }
}

/// Locks; a panic elsewhere under the lock leaves nothing half done here, and will be told anyway.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn signals(early: CancellationToken, at_once: CancellationToken) {
    for token in [early, at_once] {
        if tokio::signal::ctrl_c().await.is_err() {
            return;
        }
        token.cancel();
    }
}

fn number(text: &str, fits: impl FnOnce(f64) -> bool, expected: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|number: &f64| number.is_finite() && fits(*number))
        .ok_or_else(|| format!("expected {expected}, got {text:?}"))
}

fn rate(text: &str) -> Result<f64, String> {
    let fits = |rate| rate == 0.0 || (0.001..=10_000.0).contains(&rate);
    number(text, fits, "0, or 0.001 to 10000")
}

fn positive(text: &str) -> Result<f64, String> {
    let fits = |rate| (0.001..=1e6).contains(&rate);
    number(text, fits, "0.001 to 1000000")
}

fn seconds(text: &str) -> Result<f64, String> {
    // The contest of a test ends, too.
    number(
        text,
        |seconds| (0.0..=86_400.0).contains(&seconds),
        "0 to 86400",
    )
}
