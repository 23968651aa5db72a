//! `rankcast demo`: a server with a simulated contest running, to try everything out with nothing else installed.

pub mod generator;

use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use jiff::Timestamp;
use serde_json::json;

use super::{Outcome, client::Client, serve};
use crate::{
    contest::clock,
    hub::TICK,
    server::{Options, Server, StoreChoice},
    web::{Limits, auth::new_secret},
};
use generator::Plan;

/// The contest's id.
const CONTEST: &str = "demo";

/// How long the demo has been going on when it starts, so that there is something to see.
const HEAD_START_MS: i64 = 5 * 60_000;

/// How long after the end the frozen board is opened.
const THAW_AFTER: Duration = Duration::from_secs(20);

/// Options of `rankcast demo`.
#[derive(Clone, Debug, Args)]
pub struct Demo {
    /// Where to listen; port 0 takes a free one
    #[arg(
        long,
        env = "RANKCAST_LISTEN",
        default_value = "127.0.0.1:8080",
        value_name = "ADDRESS"
    )]
    pub listen: String,
    /// Another number, another contest
    #[arg(long, env = "RANKCAST_SEED", default_value_t = 1, value_name = "N")]
    pub seed: u64,
    /// How many teams take part
    #[arg(long, env = "RANKCAST_TEAMS", default_value_t = 120, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=5000))]
    pub teams: u32,
    /// How many problems there are
    #[arg(long, env = "RANKCAST_PROBLEMS", default_value_t = 12, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=26))]
    pub problems: u32,
}

impl Demo {
    /// Serves, and plays the contest, until a signal comes.
    pub async fn run(self) -> anyhow::Result<Outcome> {
        let listener = serve::bind(&self.listen).await?;
        let address = listener.local_addr()?;
        let dir = Directory::new()?;
        let key = new_secret("rck_");
        let store = StoreChoice::Embedded(dir.0.clone());
        let server = Server::new(Options {
            store,
            admin_key: Some(key.clone()),
            tick: TICK,
            limits: Limits::default(),
            follow: Vec::new(),
        })
        .await?;
        serve::raise_open_files();
        let stop = server.stopper();
        serve::stop_on_signal(stop.clone())?;
        println!("rankcast listens on http://{address}");
        println!("open http://{address}/contests/{CONTEST}   (key for trying the API: {key})");
        let plan = Plan::new(self.seed, self.teams as usize, self.problems as usize);
        let client = Client::with_key(&format!("http://{address}"), Some(key))?;
        let played = tokio::spawn(async move {
            if let Some(Err(error)) = stop.run_until_cancelled(play(&client, &plan)).await {
                tracing::error!("the demo stops: {error:#}");
                stop.cancel();
            }
        });
        server.listen(listener).await?;
        played.await?;
        Ok(Outcome::Good)
    }
}

/// Posts the contest as a judge would: what has been at once, the rest when it happens.
async fn play(client: &Client, plan: &Plan) -> anyhow::Result<()> {
    let start = Timestamp::now().as_millisecond() - HEAD_START_MS;
    let base = format!("/api/contests/{CONTEST}");
    let contest = json!({
        "name": "Demo",
        "formal_name": "rankcast demonstration contest",
        "start_time": clock::format_instant(start),
        "duration": clock::format_relative(generator::DURATION_MS),
        "scoreboard_freeze_duration": clock::format_relative(generator::FREEZE_MS),
        "penalty_time": generator::PENALTY_MINUTES,
    });
    client.put(&base, &contest).await?;
    let events = format!("{base}/events?source=demo");
    let mut lines = plan.setting();
    let mut due = plan.events().iter().peekable();
    loop {
        let now = Timestamp::now().as_millisecond() - start;
        while let Some((_, line)) = due.next_if(|(at, _)| *at <= now) {
            lines.extend_from_slice(line.as_bytes());
            lines.push(b'\n');
        }
        if !lines.is_empty() {
            client
                .post_lines(&events, std::mem::take(&mut lines))
                .await?;
        }
        let Some((at, _)) = due.peek() else { break };
        tokio::time::sleep(Duration::from_millis((at - now).unsigned_abs())).await;
    }
    let left = start + generator::DURATION_MS - Timestamp::now().as_millisecond();
    let wait = Duration::from_millis(u64::try_from(left).unwrap_or(0)) + THAW_AFTER;
    tokio::time::sleep(wait).await;
    let now = clock::format_instant(Timestamp::now().as_millisecond());
    let thaw = json!({ "type": "rankcast-thaw", "id": null, "data": { "thawed": now } });
    client
        .post_lines(&events, thaw.to_string().into_bytes())
        .await?;
    Ok(())
}

/// A directory that goes with the demo.
struct Directory(std::path::PathBuf);

impl Directory {
    fn new() -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(new_secret("rankcast-demo-"));
        std::fs::create_dir(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
