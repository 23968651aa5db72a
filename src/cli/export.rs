//! `rankcast export`: the results in the forms that others take: CLICS, CSV, ICPC's results.tsv, a page for the archive.

pub mod csv;
pub mod html;
pub mod results;

use std::{collections::HashMap, io::Write as _, path::PathBuf};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use serde_json::Value;

use super::{Outcome, Target, client::Client, contest_id};
use crate::{
    board::{Entry, Window},
    protocol::message::SnapshotIn,
};

/// Options of `rankcast export`.
#[derive(Clone, Debug, Args)]
pub struct Export {
    /// The contest
    #[arg(long, env = "RANKCAST_CONTEST", value_name = "ID", value_parser = contest_id)]
    pub contest: String,
    /// clics: all objects as an event feed; csv: the board as a table; tsv: ICPC's results.tsv; html: one file for the archive
    #[arg(long, value_enum)]
    pub format: Format,
    /// Where to; to standard output without it
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// What is shown to whom: public, or jury, which needs the key
    #[arg(long, value_enum, default_value = "jury")]
    pub view: Shown,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub target: Target,
}

/// The forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs)]
pub enum Format {
    Clics,
    Csv,
    Tsv,
    Html,
}

/// A view of the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs)]
pub enum Shown {
    Public,
    Jury,
}

impl Shown {
    fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Jury => "jury",
        }
    }
}

/// The results, with all that stands beside them.
pub struct Results {
    /// What the board is called.
    pub name: String,
    /// The board as it was served.
    pub board: SnapshotIn,
    window: Window,
    teams: HashMap<String, Value>,
    groups: HashMap<String, String>,
    /// The teams of each award.
    awards: HashMap<String, Vec<String>>,
    /// The rows of CLICS' scoreboard: the ranked teams.
    pub scoreboard: Value,
}

impl Results {
    /// The rows in order, each with its rank; `None`: listed without one.
    pub fn rows(&self) -> impl Iterator<Item = (Option<usize>, &Entry)> {
        self.window.ranks().into_iter().zip(self.window.rows())
    }

    /// A text of a team; empty if it has none.
    pub fn of_team(&self, team: &str, field: &str) -> &str {
        self.teams
            .get(team)
            .and_then(|team| team[field].as_str())
            .unwrap_or("")
    }

    /// The name of a group.
    pub fn group(&self, id: &str) -> &str {
        self.groups.get(id).map_or("", String::as_str)
    }

    /// Does a team get an award?
    pub fn has_award(&self, team: &str, award: &str) -> bool {
        self.awards
            .get(award)
            .is_some_and(|teams| teams.iter().any(|one| one == team))
    }

    /// The names of the groups that a team wins.
    pub fn wins(&self, team: &str) -> Vec<&str> {
        let mut won: Vec<&str> = self
            .awards
            .keys()
            .filter_map(|award| {
                award
                    .strip_prefix("group-winner-")
                    .map(|group| (award, group))
            })
            .filter(|(award, _)| self.has_award(team, award))
            .map(|(_, group)| self.group(group))
            .collect();
        won.sort_unstable();
        won
    }

    /// Puts together what was fetched: the board, the teams, groups, awards and the scoreboard in CLICS' form.
    pub fn new(
        board: SnapshotIn,
        teams: &Value,
        groups: &Value,
        awards: &Value,
        scoreboard: Value,
    ) -> Self {
        let objects = |list: &Value| -> Vec<(String, Value)> {
            let all = list.as_array().cloned().unwrap_or_default();
            all.into_iter()
                .filter_map(|one| Some((one["id"].as_str()?.to_owned(), one)))
                .collect()
        };
        let of_award = |award: Value| -> Vec<String> {
            let teams = award["team_ids"].as_array().cloned().unwrap_or_default();
            teams
                .iter()
                .filter_map(|team| team.as_str().map(str::to_owned))
                .collect()
        };
        Self {
            name: board.state.name.clone(),
            window: board.window(),
            teams: objects(teams).into_iter().collect(),
            groups: objects(groups)
                .into_iter()
                .map(|(id, group)| (id, group["name"].as_str().unwrap_or("").to_owned()))
                .collect(),
            awards: objects(awards)
                .into_iter()
                .map(|(id, award)| (id, of_award(award)))
                .collect(),
            scoreboard,
            board,
        }
    }
}

impl Export {
    /// Fetches, and writes.
    pub async fn run(self) -> anyhow::Result<Outcome> {
        let client = Client::new(&self.target)?;
        let base = format!("/api/contests/{}", self.contest);
        let view = self.view.name();
        let text = if self.format == Format::Clics {
            let path = format!("{base}/event-feed?stream=false&view={view}");
            client.get_text(&path).await?
        } else {
            let board: SnapshotIn = client
                .get(&format!("{base}/board?limit=all&view={view}"))
                .await?;
            let get = async |what: &str| -> anyhow::Result<Value> {
                client.get(&format!("{base}/{what}?view={view}")).await
            };
            let (teams, groups) = (get("teams").await?, get("groups").await?);
            let (awards, scoreboard) = (get("awards").await?, get("scoreboard").await?);
            let results = Results::new(board, &teams, &groups, &awards, scoreboard);
            match self.format {
                Format::Csv => csv::write(&results),
                Format::Tsv => {
                    let nameless = results::without_icpc_id(&results);
                    if nameless > 0 {
                        eprintln!(
                            "{}: {nameless} teams have no icpc_id: theirs is left empty",
                            self.contest
                        );
                    }
                    results::write(&results)
                }
                Format::Html | Format::Clics => html::write(&results),
            }
        };
        match &self.output {
            Some(file) => std::fs::write(file, text)
                .with_context(|| format!("--output: cannot write {}", file.display()))?,
            None => std::io::stdout().write_all(text.as_bytes())?,
        }
        Ok(Outcome::Good)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;

    /// Two teams with names that mean harm, one guest; A solved twice.
    pub(in crate::cli::export) fn results() -> Results {
        let cell =
            |time: i64, first: bool| json!({ "A": { "tries": 2, "time": time, "first": first } });
        let row = |id: &str, name: &str, values: [i64; 3], official: bool, cells: Value| {
            json!({ "id": id, "values": values, "name": name, "organization": "Ø & Co", "groups": ["g"], "official": official,
                "cells": cells, "full": true })
        };
        let board: SnapshotIn = serde_json::from_value(json!({
            "type": "snapshot", "epoch": "e", "version": 7, "ids": "asc", "ties": "competition", "tied_beyond": 0, "limit": null, "total": 3,
            "columns": [{ "name": "solved", "order": "desc", "rank": true }, { "name": "penalty", "order": "asc", "rank": true, "unit": "min" },
                { "name": "last_accepted", "order": "asc", "rank": false, "unit": "min" }],
            "rows": [row("t1", "<script>alert(1)</script>", [1, 30, 10], true, cell(10, true)),
                row("t9", "Guests", [1, 40, 20], false, cell(20, false)),
                row("t2", "=cmd|' /C calc'!A0, \"x\"\t\u{202e}", [0, 0, 0], true, json!({ "A": { "tries": 0, "pending": 1 } }))],
            "problems": [{ "id": "A", "label": "A", "name": "First", "solved": 2, "tries": 4, "pending": 1, "first": "t1" }],
            "state": { "name": "The <Finals>", "phase": "ended", "start_time": "2026-01-01T00:00:00.000Z", "duration_ms": 18_000_000,
                "freeze_ms": null, "countdown_pause_ms": null, "now": "2026-01-01T06:00:00.000Z", "store": "live", "feed": "none", "feed_since": null },
        }))
        .expect("a board");
        let teams = json!([{ "id": "t1", "icpc_id": "1001" }, { "id": "t2" }, { "id": "t9" }]);
        let groups = json!([{ "id": "g", "name": "North" }]);
        let awards = json!([{ "id": "gold-medal", "team_ids": ["t1"] }, { "id": "group-winner-g", "team_ids": ["t1"] },
            { "id": "honorable-mention", "team_ids": ["t2"] }]);
        let scoreboard = json!({ "rows": [
            { "rank": 1, "team_id": "t1", "score": { "num_solved": 1, "total_time": 30, "time": 10 } },
            { "rank": 2, "team_id": "t2", "score": { "num_solved": 0, "total_time": 0 } }] });
        Results::new(board, &teams, &groups, &awards, scoreboard)
    }
}
