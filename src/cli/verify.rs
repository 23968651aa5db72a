//! `rankcast verify`: is what is served what the log says, and what it should be?

pub mod against;

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, bail};
use clap::Args;
use reqwest::StatusCode;
use serde_json::Value;

use super::{
    Outcome, Target,
    client::Client,
    contest_id,
    judge::{Judge, JudgeOptions},
};
use crate::{
    board::{Column, Entry, Shape, Ties, Unit, rank},
    contest::decimal,
    protocol::message::SnapshotIn,
};

/// Differences that are printed.
const SHOWN_MAX: usize = 20;

/// Options of `rankcast verify`.
#[derive(Clone, Debug, Args)]
pub struct Verify {
    /// The contest
    #[arg(long, env = "RANKCAST_CONTEST", value_name = "ID", value_parser = contest_id)]
    pub contest: String,
    /// Compare the jury's board with this file: tab-separated, with a header that names its columns. `team_id` and `rank` (0:
    /// without a rank), and `solved`, `penalty_seconds`, `last_accepted_ms`, `rank_with_last_accepted` or `score` as far as
    /// they are there
    #[arg(long, value_name = "FILE.tsv")]
    pub expected: Option<PathBuf>,
    /// Compare with the scoreboard of a judge: the URL of the contest in its CLICS API, …/api/contests/ID. What it shows to everybody
    /// is compared with our public board, what it shows to us with the jury's
    #[arg(long, value_name = "URL")]
    pub against: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub judge: JudgeOptions,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub target: Target,
}

/// How often a difference is looked at again: a submission may be on its way to one of the two.
const LOOKS: u32 = 3;

/// How long between two looks.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

impl Verify {
    /// Compares, and prints what differs.
    pub async fn run(self) -> anyhow::Result<Outcome> {
        let expected = self.expected.as_deref().map(Expected::open).transpose()?;
        let client = Client::new(&self.target)?;
        let base = format!("/api/contests/{}", self.contest);
        let report: Value = client.get(&format!("{base}/verify")).await?;
        let mut folded = tell(&report);
        if let Some(url) = &self.against {
            let judge = Judge::new(url, &self.judge)?;
            if !self.is_as_the_judge_says(&client, &judge).await? {
                folded = Outcome::Bad;
            }
        }
        let Some(expected) = expected else {
            return Ok(folded);
        };
        let board: SnapshotIn = client
            .get(&format!("{base}/board?view=jury&limit=all"))
            .await?;
        let differences = expected.differences(&board);
        let teams = expected.rows.len();
        println!(
            "{}: {} of {teams} teams match",
            self.contest,
            teams - differences.wrong
        );
        let differences = differences.lines;
        for difference in differences.iter().take(SHOWN_MAX) {
            println!("  {difference}");
        }
        if differences.len() > SHOWN_MAX {
            println!("  … and {} more", differences.len() - SHOWN_MAX);
        }
        Ok(if differences.is_empty() {
            folded
        } else {
            Outcome::Bad
        })
    }
}

impl Verify {
    /// Compares each of our boards with what the judge shows to the same people.
    async fn is_as_the_judge_says(&self, client: &Client, judge: &Judge) -> anyhow::Result<bool> {
        let mut views = vec![("public", true)];
        if judge.is_known() {
            views.push(("jury", false));
        }
        let (mut good, mut compared) = (true, 0);
        for (view, anonymous) in views {
            let path = format!("/api/contests/{}/scoreboard?view={view}", self.contest);
            let mut looks = 0;
            let found = loop {
                looks += 1;
                let theirs = judge.ask("/scoreboard", anonymous).await?;
                if theirs.status != StatusCode::OK {
                    println!(
                        "{}: {view}: the judge answers {}, not compared",
                        self.contest, theirs.status
                    );
                    break None;
                }
                let ours: Value = client.get(&path).await?;
                let found = against::compare(&ours, &theirs.body);
                if found.differences.is_empty() || looks == LOOKS {
                    break Some(found);
                }
                tokio::time::sleep(LOOK_AGAIN).await;
            };
            let Some(found) = found else { continue };
            compared += 1;
            good &= found.differences.is_empty();
            let (teams, wrong) = (found.teams, found.differences.len());
            println!(
                "{}: {view}: {} of {teams} teams as the judge has them",
                self.contest,
                teams - wrong
            );
            for difference in found.differences.iter().take(SHOWN_MAX) {
                println!("  {difference}");
            }
            if wrong > SHOWN_MAX {
                println!("  … and {} more", wrong - SHOWN_MAX);
            }
            for hint in found.hints {
                println!("  hint: {hint}");
            }
        }
        if compared == 0 {
            bail!(
                "the judge shows no scoreboard: give its credentials with RANKCAST_FEED_USER and RANKCAST_FEED_PASSWORD, RANKCAST_FEED_KEY, or --feed-auth FILE"
            );
        }
        Ok(good)
    }
}

/// Prints what the server found.
fn tell(report: &Value) -> Outcome {
    let equal = report["equal"] == Value::Bool(true);
    println!(
        "{}: {} events folded again: {}; projection: {}",
        report["contest"].as_str().unwrap_or("?"),
        report["sequence"],
        if equal { "as served" } else { "NOT as served" },
        report["projection"]["state"].as_str().unwrap_or("?"),
    );
    for place in ["public", "jury", "ceremony", "projection"] {
        for difference in report[place]["differences"]
            .as_array()
            .into_iter()
            .flatten()
        {
            println!("  {place}: {}", difference.as_str().unwrap_or("?"));
        }
    }
    if equal { Outcome::Good } else { Outcome::Bad }
}

/// The results as they should be.
struct Expected {
    header: Vec<String>,
    rows: Vec<HashMap<String, String>>,
}

/// How a board differs from what it should be.
struct Differences {
    /// Teams of the file that are not as they should be.
    wrong: usize,
    /// A line for each of them, then one for each team that should not be there.
    lines: Vec<String>,
}

impl Expected {
    fn open(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        Self::read(&text).with_context(|| path.display().to_string())
    }

    fn read(text: &str) -> anyhow::Result<Self> {
        let mut lines = text.lines();
        let header: Vec<String> = lines
            .next()
            .unwrap_or("")
            .split('\t')
            .map(str::to_owned)
            .collect();
        for column in ["team_id", "rank"] {
            if !header.iter().any(|name| name == column) {
                bail!(
                    "line 1: expected a header with the columns team_id and rank, separated by tabs"
                );
            }
        }
        let mut rows = Vec::new();
        for (index, line) in lines.enumerate().filter(|(_, line)| !line.is_empty()) {
            let fields: Vec<String> = line.split('\t').map(str::to_owned).collect();
            if fields.len() != header.len() {
                bail!(
                    "line {}: expected {} columns, got {}",
                    index + 2,
                    header.len(),
                    fields.len()
                );
            }
            rows.push(header.iter().cloned().zip(fields).collect());
        }
        Ok(Self { header, rows })
    }

    fn differences(&self, board: &SnapshotIn) -> Differences {
        let entries: Vec<Entry> = board
            .rows
            .iter()
            .filter_map(|row| row.applied_to(None))
            .collect();
        let shape = |by: usize| Shape {
            columns: ranked_by(&board.columns, by),
            ties: Ties::Competition,
            ids: board.ids,
        };
        let ranks = rank::ranks(&shape(2), &entries);
        let all_ranks = rank::ranks(&shape(3), &entries);
        let places: HashMap<&str, usize> = entries
            .iter()
            .enumerate()
            .map(|(index, entry)| (&*entry.id, index))
            .collect();
        let column = |name: &str| board.columns.iter().position(|column| column.name == name);
        let mut out = Vec::new();
        for row in &self.rows {
            let id = &row["team_id"];
            let Some(&place) = places.get(id.as_str()) else {
                out.push(format!("{id}: not on the board"));
                continue;
            };
            let entry = &entries[place];
            let value =
                |name: &str| column(name).map(|index| (entry.values[index], &board.columns[index]));
            let rank = |ranks: &[Option<usize>]| ranks[place].unwrap_or(0).to_string();
            let wrong: Vec<String> = self
                .header
                .iter()
                .filter_map(|name| {
                    let (have, want) = match name.as_str() {
                        "rank" => (rank(&ranks), row[name].clone()),
                        "rank_with_last_accepted" => (rank(&all_ranks), row[name].clone()),
                        "solved" => (value("solved")?.0.to_string(), row[name].clone()),
                        "penalty_seconds" => {
                            let (penalty, column) = value("penalty")?;
                            ((penalty * seconds(column)).to_string(), row[name].clone())
                        }
                        "last_accepted_ms" => {
                            // The board has it in its unit; the file may be finer.
                            let (last, column) = value("last_accepted")?;
                            let want = row[name]
                                .parse::<i64>()
                                .map(|ms| ms.div_euclid(seconds(column) * 1000));
                            (
                                last.to_string(),
                                want.map_or_else(|_| row[name].clone(), |want| want.to_string()),
                            )
                        }
                        "score" => {
                            let (score, column) = value("score")?;
                            (decimal::format(score, column.scale), plain(&row[name]))
                        }
                        _ => return None,
                    };
                    (have != want).then(|| format!("{name} is {have}, expected {want}"))
                })
                .collect();
            if !wrong.is_empty() {
                out.push(format!("{id}: {}", wrong.join("; ")));
            }
        }
        let wrong = out.len();
        let named: HashSet<&str> = self
            .rows
            .iter()
            .map(|row| row["team_id"].as_str())
            .collect();
        out.extend(
            entries
                .iter()
                .filter(|entry| !named.contains(&*entry.id))
                .map(|entry| format!("{}: not expected", entry.id)),
        );
        Differences { wrong, lines: out }
    }
}

/// The columns, with so many of them deciding the rank.
fn ranked_by(columns: &[Column], by: usize) -> Vec<Column> {
    let mut left = by;
    columns
        .iter()
        .map(|column| {
            let rank = !column.section && left > 0;
            left -= usize::from(rank);
            Column {
                rank,
                ..column.clone()
            }
        })
        .collect()
}

fn seconds(column: &Column) -> i64 {
    column.unit.map_or(1, Unit::millis) / 1000
}

/// A decimal without zeros at its end.
fn plain(text: &str) -> String {
    decimal::parse(text).map_or_else(
        || text.to_owned(),
        |value| decimal::format(value, decimal::SCALE),
    )
}
