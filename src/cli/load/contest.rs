//! The contest that a test is about: made for it, and deleted after it.

use std::time::Duration;

use anyhow::{Context as _, bail};
use jiff::Timestamp;
use rand::RngExt as _;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::place::Net;
use crate::{
    cli::{client::Client, demo::generator::Plan},
    contest::clock,
};

/// The contest has been going on for so long when it is made: no judgement may lie before its start.
const HEAD_START_MS: i64 = 1000;

/// How long the contest is, in ms: longer than any test.
const DURATION_MS: i64 = 48 * 3_600_000;

/// What a wrong attempt costs.
const PENALTY_MINUTES: i64 = 20;

/// Lines in one request.
const BATCH_LINES: usize = 10_000;

/// How long it may take until a new contest runs.
const START_PATIENCE: Duration = Duration::from_secs(20);

/// A contest under test.
pub struct Contest {
    /// `/api/contests/x`
    pub path: String,
    /// Its id.
    pub id: String,
    /// It was made for the test.
    pub made: bool,
    /// When it began, in ms since 1970.
    pub start: i64,
}

impl Contest {
    /// Finds or makes the contest: the one that was named if it is there, else a new one with so many teams and problems.
    pub async fn open(
        net: &Net,
        key: Option<&str>,
        named: Option<&str>,
        (seed, teams, problems): (u64, usize, usize),
    ) -> anyhow::Result<Self> {
        let id = named.map_or_else(
            || format!("load-{:08x}", rand::rng().random::<u32>()),
            str::to_owned,
        );
        let path = format!("/api/contests/{id}");
        let client = client(net, 0, key);
        let start = Timestamp::now().as_millisecond() - HEAD_START_MS;
        let mut contest = Self {
            path,
            id,
            made: false,
            start,
        };
        let there: Option<Value> = client.get_if_there(&contest.path).await?;
        if there.is_some() {
            return Ok(contest);
        }
        contest.made = true;
        let filled = contest.fill(&client, seed, teams, problems).await;
        if let Err(error) = filled {
            // Nothing stays of what could not be made; why it could not is what counts.
            let _ = client.delete(&contest.path).await;
            return Err(error).with_context(|| format!("the contest {}", contest.id));
        }
        Ok(contest)
    }

    async fn fill(
        &self,
        client: &Client,
        seed: u64,
        teams: usize,
        problems: usize,
    ) -> anyhow::Result<()> {
        let object = json!({
            "name": "Load test",
            "start_time": clock::format_instant(self.start),
            "duration": clock::format_relative(DURATION_MS),
            "penalty_time": PENALTY_MINUTES,
        });
        client.put(&self.path, &object).await?;
        let setting = Plan::new(seed, teams, problems).setting();
        let lines: Vec<&[u8]> = setting.split(|byte| *byte == b'\n').collect();
        for batch in lines.chunks(BATCH_LINES) {
            let posted = client
                .post_lines(&format!("{}/events", self.path), batch.join(&b'\n'))
                .await?;
            if let Some(error) = posted.errors.first() {
                bail!("line {}: {}", error.line, error.error);
            }
        }
        let began = Instant::now();
        loop {
            let board: Value = client.get(&format!("{}/board?limit=10", self.path)).await?;
            if board["state"]["phase"] == "running" && board["total"] == json!(teams) {
                return Ok(());
            }
            if began.elapsed() > START_PATIENCE {
                bail!("it does not begin: {}", board["state"]["phase"]);
            }
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// Deletes what was made, on the first server that is there.
    pub async fn close(&self, net: &Net, key: Option<&str>) -> anyhow::Result<()> {
        let mut result = Ok(());
        for server in 0..net.places.len() {
            match client(net, server, key).delete(&self.path).await {
                Ok(_) => return Ok(()),
                Err(error) => result = Err(error),
            }
        }
        result.with_context(|| format!("the contest {} could not be deleted", self.id))
    }
}

fn client(net: &Net, server: usize, key: Option<&str>) -> Client {
    Client::with_http(
        net.http.clone(),
        &net.places[server].base,
        key.map(str::to_owned),
    )
}
