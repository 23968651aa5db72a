//! Our scoreboard beside the judge's, row by row, with hints at known causes of a difference.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::contest::clock;

/// A team's row as either side has it, in the same form: times in whole minutes.
#[derive(Clone, Debug, Default, PartialEq)]
struct Line {
    rank: i64,
    solved: Option<i64>,
    penalty: Option<i64>,
    /// In point scoring; as it is written.
    score: Option<String>,
    problems: BTreeMap<String, Cell>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Cell {
    judged: i64,
    pending: i64,
    solved: Option<bool>,
    score: Option<String>,
    time: Option<i64>,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Teams of either side.
    pub teams: usize,
    /// A line for each team that is not the same on both sides.
    pub differences: Vec<String>,
    /// What may be the cause.
    pub hints: Vec<&'static str>,
}

/// Compares two scoreboards in CLICS' form.
pub fn compare(ours: &Value, theirs: &Value) -> Comparison {
    let (ours, theirs) = (lines(ours), lines(theirs));
    let mut teams: Vec<&String> = ours.keys().chain(theirs.keys()).collect();
    teams.sort();
    teams.dedup();
    let mut out = Comparison {
        teams: teams.len(),
        ..Comparison::default()
    };
    let mut clues = Clues::default();
    for team in &teams {
        match (ours.get(*team), theirs.get(*team)) {
            (Some(ours), Some(theirs)) => {
                let wrong = ours.differences(theirs);
                if !wrong.is_empty() {
                    out.differences
                        .push(format!("{team}: {}", wrong.join("; ")));
                    clues.note(ours, theirs);
                }
            }
            (Some(_), None) => out
                .differences
                .push(format!("{team}: not on the judge's board")),
            (None, Some(_)) => out.differences.push(format!("{team}: not on ours")),
            (None, None) => {}
        }
    }
    out.hints = clues.hints();
    out
}

fn lines(board: &Value) -> BTreeMap<String, Line> {
    let rows = board["rows"].as_array().into_iter().flatten();
    let named = |row: &Value| {
        // Identifiers of some judges are numbers.
        let id = match &row["team_id"] {
            Value::String(id) => id.clone(),
            other => other.to_string(),
        };
        (id, Line::read(row))
    };
    rows.map(named).collect()
}

impl Line {
    fn read(row: &Value) -> Self {
        let score = &row["score"];
        let cells = row["problems"].as_array().into_iter().flatten();
        let cell = |cell: &Value| {
            let id = cell["problem_id"].as_str().unwrap_or_default().to_owned();
            let number = |field: &str| cell[field].as_i64().unwrap_or(0);
            let read = Cell {
                judged: number("num_judged"),
                pending: number("num_pending"),
                solved: cell["solved"].as_bool(),
                score: points(&cell["score"]),
                time: minutes(&cell["time"]),
            };
            (id, read)
        };
        Self {
            rank: row["rank"].as_i64().unwrap_or(0),
            solved: score["num_solved"].as_i64(),
            penalty: minutes(&score["total_time"]),
            score: points(&score["score"]),
            problems: cells
                .map(cell)
                .filter(|(_, cell)| *cell != Cell::default())
                .collect(),
        }
    }

    /// What is not the same, in words: ours first.
    fn differences(&self, other: &Self) -> Vec<String> {
        let mut out = Vec::new();
        let mut unlike = |what: &str, ours: String, theirs: String| {
            if ours != theirs {
                out.push(format!("{what} is {ours}, the judge has {theirs}"));
            }
        };
        let shown =
            |value: Option<i64>| value.map_or_else(|| "none".to_owned(), |value| value.to_string());
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
        unlike("rank", self.rank.to_string(), other.rank.to_string());
        unlike("solved", shown(self.solved), shown(other.solved));
        unlike("penalty", shown(self.penalty), shown(other.penalty));
        unlike("score", text(&self.score), text(&other.score));
        let mut problems: Vec<&String> =
            self.problems.keys().chain(other.problems.keys()).collect();
        problems.sort();
        problems.dedup();
        for problem in problems {
            let none = Cell::default();
            let (ours, theirs) = (
                self.problems.get(problem).unwrap_or(&none),
                other.problems.get(problem).unwrap_or(&none),
            );
            unlike(&format!("problem {problem}"), ours.shown(), theirs.shown());
        }
        out
    }

    /// Is everything but the named the same?
    fn same_cells(&self, other: &Self) -> bool {
        self.problems == other.problems
    }
}

impl Cell {
    fn shown(&self) -> String {
        let mut parts = vec![format!("{} judged", self.judged)];
        if self.pending > 0 {
            parts.push(format!("{} pending", self.pending));
        }
        if self.solved == Some(true) {
            parts.push("solved".to_owned());
        }
        if let Some(score) = &self.score {
            parts.push(format!("score {score}"));
        }
        if let Some(time) = self.time {
            parts.push(format!("at {time}"));
        }
        parts.join(", ")
    }
}

/// Minutes: whole ones (2023-06), or a relative time (2026-01).
fn minutes(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => clock::parse_relative(text).map(|millis| millis.div_euclid(60_000)),
        value => value.as_i64(),
    }
}

/// A score without zeros at its end; none and 0 are alike to tools.
fn points(value: &Value) -> Option<String> {
    let number = value.as_number()?.to_string();
    let number = if number.contains('.') {
        number
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_owned()
    } else {
        number
    };
    Some(number).filter(|number| number != "0")
}

/// What the differences have in common.
#[derive(Debug, Default)]
struct Clues {
    rows: usize,
    only_rank: usize,
    only_penalty: usize,
    only_ours_pending: usize,
    only_theirs_pending: usize,
    more_judged: usize,
}

impl Clues {
    fn note(&mut self, ours: &Line, theirs: &Line) {
        self.rows += 1;
        let results = (ours.solved, &ours.score) == (theirs.solved, &theirs.score);
        if results && ours.same_cells(theirs) {
            if ours.penalty == theirs.penalty {
                self.only_rank += 1;
            } else {
                self.only_penalty += 1;
            }
        }
        let pending = |line: &Line| line.problems.values().map(|cell| cell.pending).sum::<i64>();
        let judged = |line: &Line| line.problems.values().map(|cell| cell.judged).sum::<i64>();
        if pending(ours) > pending(theirs) {
            self.only_ours_pending += 1;
        }
        if pending(theirs) > pending(ours) {
            self.only_theirs_pending += 1;
        }
        if results && judged(theirs) != judged(ours) && pending(ours) == pending(theirs) {
            self.more_judged += 1;
        }
    }

    fn hints(&self) -> Vec<&'static str> {
        let mut hints = Vec::new();
        if self.only_ours_pending > 0 && self.only_theirs_pending == 0 {
            hints.push("ours has pending submissions where the judge has results: ours is frozen still, or behind");
        }
        if self.only_theirs_pending > 0 && self.only_ours_pending == 0 {
            hints.push("the judge has pending submissions where ours has results: it is frozen still, or ours is ahead");
        }
        if self.only_penalty > 0 {
            hints.push("results are the same and penalties are not: the judge rounds otherwise; try the setting penalty_rounding (seconds, sum-then-minutes)");
        }
        if self.more_judged > 0 {
            hints.push("attempts are counted otherwise: compile errors may cost at the judge; try the setting compile_error_penalty");
        }
        if self.only_rank > 0 && self.only_rank == self.rows {
            hints.push("only ranks differ: the judge has sections of groups (sortorder) or another order of ties; look at sortorder, rank_by and ties");
        }
        hints
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn row(rank: i64, team: &str, solved: i64, penalty: &Value, cells: &Value) -> Value {
        json!({ "rank": rank, "team_id": team, "score": { "num_solved": solved, "total_time": penalty }, "problems": cells })
    }

    fn board(rows: &[Value]) -> Value {
        json!({ "rows": rows })
    }

    fn cell(judged: i64, pending: i64, time: Option<i64>) -> Value {
        let mut cell = json!({ "problem_id": "A", "num_judged": judged, "num_pending": pending, "solved": time.is_some() });
        if let Some(time) = time {
            cell["time"] = time.into();
        }
        json!([cell])
    }

    #[test]
    fn both_forms_of_times_are_the_same() {
        let ours = board(&[row(1, "t1", 1, &json!(30), &cell(2, 0, Some(10)))]);
        let cells = json!([{ "problem_id": "A", "num_judged": 2, "num_pending": 0, "solved": true, "time": "0:10:59.000" },
            { "problem_id": "B", "num_judged": 0, "num_pending": 0, "solved": false }]);
        let theirs = board(&[row(1, "t1", 1, &json!("0:30:00.000"), &cells)]);
        assert_eq!(compare(&ours, &theirs).differences, Vec::<String>::new());
    }

    #[test]
    fn differences_are_named_with_what_may_be_the_cause() {
        let ours = board(&[
            row(1, "t1", 1, &json!(30), &cell(2, 0, Some(10))),
            row(2, "t2", 0, &json!(0), &cell(0, 1, None)),
        ]);
        let theirs = board(&[
            row(1, "t1", 1, &json!(31), &cell(2, 0, Some(10))),
            row(2, "t3", 0, &json!(0), &json!([])),
        ]);
        let found = compare(&ours, &theirs);
        assert_eq!(
            found.differences,
            [
                "t1: penalty is 30, the judge has 31",
                "t2: not on the judge's board",
                "t3: not on ours"
            ]
        );
        assert_eq!(found.teams, 3);
        assert!(
            found.hints.len() == 1 && found.hints[0].contains("penalty_rounding"),
            "{found:?}"
        );
        let frozen = board(&[row(1, "t1", 0, &json!(0), &cell(1, 1, None))]);
        let open = board(&[row(1, "t1", 1, &json!(30), &cell(2, 0, Some(10)))]);
        assert!(compare(&frozen, &open).hints[0].contains("ours is frozen"));
        assert!(compare(&open, &frozen).hints[0].contains("it is frozen"));
        let order = board(&[row(2, "t1", 1, &json!(30), &cell(2, 0, Some(10)))]);
        assert!(compare(&open, &order).hints[0].contains("only ranks"));
    }

    proptest! {
        /// The order of rows is no matter, and what is equal is equal.
        #[test]
        fn the_order_of_rows_does_not_matter(rows in proptest::collection::vec((0..5_i64, 0..300_i64), 0..12)) {
            let rows: Vec<Value> = rows.iter().enumerate()
                .map(|(index, (solved, penalty))| row(1, &format!("t{index}"), *solved, &json!(penalty), &cell(*solved, 0, None))).collect();
            let mut other = rows.clone();
            other.reverse();
            let found = compare(&board(&rows), &board(&other));
            prop_assert_eq!(found, Comparison { teams: rows.len(), ..Comparison::default() });
        }
    }
}
