//! The scoreboard (Contest API, "Scoreboard"), from the rows of a view.

use serde::Serialize;
use serde_json::{Value, json};

use super::{by_name, state};
use crate::{
    board::{Cell, Entry, Id, Unit, rank},
    contest::{Contest, Scoring, View, clock, decimal},
};

/// A row of the scoreboard.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    rank: usize,
    team_id: Id,
    score: Value,
    problems: Vec<Value>,
}

/// What the scoreboard says besides its rows.
pub fn head(contest: &Contest, view: View, now: i64) -> Value {
    let info = contest.info();
    // Before the start is known the countdown stands still, or has not begun.
    let contest_time = match info.start {
        Some(start) => contest.without_removed(now - start),
        None => -info.countdown_pause.unwrap_or(0),
    };
    json!({
        "time": clock::format_instant(now),
        "contest_time": clock::format_relative(contest_time),
        "state": state(contest, view),
    })
}

/// The rows: the ranked teams of the lowest section, ordered by rank and then by team name in Unicode collation. Of a group: its
/// teams, ranked among themselves. Times and penalty are whole minutes; a negative one, which the form forbids, is written
/// 0. They change with the version of the board only.
pub fn rows(contest: &Contest, view: View, group: Option<&str>) -> Vec<Row> {
    let board = contest.board(view);
    let shape = board.shape();
    let asked = |entry: &&Entry| {
        group.is_none_or(|group| entry.label.groups.iter().any(|one| &**one == group))
    };
    let entries: Vec<&Entry> = board
        .window(None)
        .map(AsRef::as_ref)
        .filter(asked)
        .collect();
    let ranks = rank::ranks(shape, entries.iter().copied());
    let first = entries.first().map(|entry| entry.values);
    let mut rows: Vec<(usize, &Entry)> = entries
        .into_iter()
        .zip(ranks)
        .filter_map(|(entry, rank)| Some((rank?, entry)))
        .filter(|(_, entry)| first.is_some_and(|first| shape.same_section(&first, &entry.values)))
        .collect();
    rows.sort_by(|a, b| {
        a.0.cmp(&b.0)
            .then_with(|| by_name(&a.1.label.name, &b.1.label.name))
            .then_with(|| a.1.id.cmp(&b.1.id))
    });
    let problems: Vec<Id> = contest
        .problems(view)
        .into_iter()
        .map(|line| line.id)
        .collect();
    let row = |(rank, entry): (usize, &Entry)| Row {
        rank,
        team_id: entry.id.clone(),
        score: score(contest, view, entry, &problems),
        problems: problems
            .iter()
            .map(|problem| cell(contest, view, entry, problem))
            .collect(),
    };
    rows.into_iter().map(row).collect()
}

fn score(contest: &Contest, view: View, entry: &Entry, problems: &[Id]) -> Value {
    let columns = &contest.board(view).shape().columns;
    let sections = usize::from(columns.first().is_some_and(|column| column.section));
    let values = &entry.values[sections..];
    match contest.scoring() {
        Scoring::Icpc => {
            let mut score = json!({
                "num_solved": values[0],
                "total_time": minutes(columns[sections + 1].unit, values[1]).max(0),
            });
            if values[0] > 0 {
                score["time"] = minutes(columns[sections + 2].unit, values[2]).into();
            }
            score
        }
        Scoring::Ioi => {
            let mut score = json!({ "score": number(values[0], columns[sections].scale) });
            let reached = problems
                .iter()
                .filter_map(|problem| scored_at(contest, view, entry, problem));
            if let Some(time) = reached.max() {
                score["time"] = time.into();
            }
            score
        }
    }
}

fn cell(contest: &Contest, view: View, entry: &Entry, problem: &Id) -> Value {
    let cell = entry.cells.get(problem).copied().unwrap_or_default();
    let Cell {
        tries,
        pending,
        time,
        score,
        ..
    } = cell;
    let mut out = json!({ "problem_id": problem, "num_judged": tries, "num_pending": pending });
    let columns = &contest.board(view).shape().columns;
    let sections = usize::from(columns.first().is_some_and(|column| column.section));
    match contest.scoring() {
        Scoring::Icpc => {
            out["solved"] = time.is_some().into();
            if let Some(time) = time {
                out["time"] = minutes(columns[sections + 1].unit, time).into();
            }
        }
        Scoring::Ioi => {
            out["score"] = number(score.unwrap_or(0).max(0), columns[sections].scale);
            if let Some(time) = scored_at(contest, view, entry, problem) {
                out["time"] = time.into();
            }
        }
    }
    out
}

/// In point scoring: when a team reached what counts for a problem, if that is above 0, in whole minutes.
fn scored_at(contest: &Contest, view: View, entry: &Entry, problem: &Id) -> Option<i64> {
    entry.cells.get(problem)?.score.filter(|score| *score > 0)?;
    let millis = contest.scored_at(view, &entry.id, problem)?;
    Some(millis.div_euclid(Unit::Minutes.millis()))
}

fn minutes(unit: Option<Unit>, value: i64) -> i64 {
    value * unit.map_or(Unit::Minutes.millis(), Unit::millis) / Unit::Minutes.millis()
}

/// An exact decimal as a JSON number.
fn number(value: i64, scale: u8) -> Value {
    serde_json::from_str(&decimal::format(value, scale)).unwrap_or(Value::Null)
}
