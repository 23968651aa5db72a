//! CLICS shapes out: what other tools read, in the form of the 2023-06 Contest API.

use std::sync::OnceLock;

use icu_collator::{Collator, CollatorBorrowed, options::CollatorOptions};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Contest, Scoring, Side, View, awards::Award, clock, decimal};
use crate::board::{Cell, Entry, Id};

/// The contest object (Contest API, "Contests").
pub fn contest(contest: &Contest) -> Value {
    let info = contest.info();
    let name = if info.name.is_empty() {
        contest.id()
    } else {
        &info.name
    };
    json!({
        "id": contest.id(),
        "name": name,
        "formal_name": info.formal_name.as_deref().unwrap_or(name),
        "start_time": info.start.map(clock::format_instant),
        "countdown_pause_time": info.countdown_pause.map(clock::format_relative),
        "duration": info.duration.map(clock::format_relative),
        "scoreboard_freeze_duration": info.freeze.map(clock::format_relative),
        "scoreboard_type": match contest.scoring() { Scoring::Icpc => "pass-fail", Scoring::Ioi => "score" },
        "penalty_time": info.penalty / 60_000,
    })
}

/// The contest state (Contest API, "Contest state").
pub fn state(contest: &Contest, view: impl Into<View>) -> Value {
    let times = contest.status(view).times;
    let text = |at: Option<i64>| at.map(clock::format_instant);
    json!({
        "started": text(times.started), "frozen": text(times.frozen), "ended": text(times.ended),
        "thawed": text(times.thawed), "finalized": text(times.finalized), "end_of_updates": text(times.end_of_updates),
    })
}

/// The awards (Contest API, "Awards"): how a ceremony shows them is not theirs to say.
pub fn awards(contest: &Contest, side: Side) -> Vec<Value> {
    let shape = |award: Award| json!({ "id": award.id, "citation": award.citation, "team_ids": award.team_ids });
    contest.awards(side).into_iter().map(shape).collect()
}

/// A row of the scoreboard (Contest API, "Scoreboard").
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    rank: usize,
    team_id: Id,
    score: Value,
    problems: Vec<Value>,
}

/// The rows of the scoreboard (Contest API, "Scoreboard"): the ranked teams of the lowest section, ordered by rank and then by
/// team name in Unicode collation. Times and penalty are whole minutes; a negative penalty, which the form forbids, is
/// written 0. They change with the version of the board only.
pub fn scoreboard_rows(contest: &Contest, view: View) -> Vec<Row> {
    let board = contest.board(view);
    let columns = &board.shape().columns;
    let sections = usize::from(columns.first().is_some_and(|column| column.section));
    let problems = contest.problems(view);
    let first = board.window(Some(1)).next().cloned();
    let mut rows: Vec<(usize, &str, Row)> = board
        .window(None)
        .zip(board.ranks())
        .filter(|(entry, _)| {
            first
                .as_ref()
                .is_some_and(|first| board.shape().same_section(&first.values, &entry.values))
        })
        .filter_map(|(entry, rank)| {
            let rank = rank?;
            let minutes = |index: usize, value: i64| {
                value
                    * columns[sections + index]
                        .unit
                        .map_or(60_000, crate::board::Unit::millis)
                    / 60_000
            };
            let values = &entry.values[sections..];
            let row = Row {
                rank,
                team_id: entry.id.clone(),
                score: match contest.scoring() {
                    Scoring::Icpc => json!({
                        "num_solved": values[0],
                        "total_time": minutes(1, values[1]).max(0),
                        "time": minutes(2, values[2]),
                    }),
                    Scoring::Ioi => json!({ "score": number(values[0], columns[sections].scale) }),
                },
                problems: problems
                    .iter()
                    .map(|problem| {
                        cell(
                            contest,
                            entry,
                            &problem.id,
                            |time| minutes(1, time),
                            columns[sections].scale,
                        )
                    })
                    .collect(),
            };
            Some((rank, &*entry.label.name, row))
        })
        .collect();
    rows.sort_by(|a, b| {
        a.0.cmp(&b.0)
            .then_with(|| by_name(a.1, b.1))
            .then_with(|| a.2.team_id.cmp(&b.2.team_id))
    });
    rows.into_iter().map(|(_, _, row)| row).collect()
}

/// What the scoreboard says besides its rows.
pub fn scoreboard_head(contest: &Contest, view: View, now: i64) -> Value {
    json!({
        "time": clock::format_instant(now),
        "contest_time": contest.info().start.map(|start| clock::format_relative(contest.without_removed(now - start))),
        "state": state(contest, view),
    })
}

fn cell(
    contest: &Contest,
    entry: &Entry,
    problem: &Id,
    minutes: impl Fn(i64) -> i64,
    scale: u8,
) -> Value {
    let cell = entry.cells.get(problem).copied().unwrap_or_default();
    let Cell {
        tries,
        pending,
        time,
        first,
        score,
    } = cell;
    let mut out = json!({ "problem_id": problem, "num_judged": tries, "num_pending": pending });
    match contest.scoring() {
        Scoring::Icpc => {
            out["solved"] = time.is_some().into();
            if let Some(time) = time {
                out["time"] = minutes(time).into();
                out["first_to_solve"] = first.into();
            }
        }
        Scoring::Ioi => {
            if let Some(score) = score {
                out["score"] = number(score, scale);
            }
        }
    }
    out
}

/// An exact decimal as a JSON number.
fn number(value: i64, scale: u8) -> Value {
    serde_json::from_str(&decimal::format(value, scale)).unwrap_or(Value::Null)
}

/// The order of names that people read: Unicode collation, en-US.
pub fn by_name(a: &str, b: &str) -> std::cmp::Ordering {
    static COLLATOR: OnceLock<Option<CollatorBorrowed<'static>>> = OnceLock::new();
    let collator = COLLATOR.get_or_init(|| {
        Collator::try_new(
            icu_locale_core::locale!("en-US").into(),
            CollatorOptions::default(),
        )
        .ok()
    });
    match collator {
        Some(collator) => collator.compare(a, b),
        None => a.cmp(b),
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::by_name;

    #[test]
    fn names_sort_as_people_expect() {
        assert_eq!(by_name("Zebra", "apple"), Ordering::Greater);
        assert_eq!(by_name("Émile", "Emma"), Ordering::Less);
        assert_eq!(by_name("Team 10", "Team 2"), Ordering::Less);
        assert_eq!(by_name("Ångström", "Bohr"), Ordering::Less);
    }
}
