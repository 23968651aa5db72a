//! A contest told event by event, so that tests read as what happened.

use serde_json::{Value, json};

use crate::{
    board::Cell,
    contest::{Change, Contest, Event, Notification, Side, Views},
};

/// Five hours, the last one frozen, started; problems A, B and C; official teams t1, t2 and t3.
pub(super) struct Story {
    pub(super) contest: Contest,
    sequence: u64,
}

impl Story {
    /// A contest with nothing in it.
    pub(super) fn empty() -> Self {
        Self {
            contest: Contest::new("x"),
            sequence: 0,
        }
    }

    pub(super) fn new() -> Self {
        let mut story = Self::empty();
        story.put(
            "contest",
            json!({"name": "X", "duration": "5:00:00", "scoreboard_freeze_duration": "1:00:00"}),
        );
        story.put("state", json!({"started": "2026-01-01T00:00:00Z"}));
        for problem in ["A", "B", "C"] {
            story.put("problems", json!({"id": problem, "label": problem}));
        }
        for team in ["t1", "t2", "t3"] {
            story.team(team, &[]);
        }
        story
    }

    pub(super) fn ioi() -> Self {
        let mut story = Self::new();
        story.settings(json!({"scoring": "ioi"}));
        story
    }

    pub(super) fn event(&mut self, event: &Event) -> Views<Change> {
        self.sequence += 1;
        self.contest.fold(self.sequence, event, false)
    }

    /// A notification as it stands in a feed.
    pub(super) fn line(&mut self, line: &Value) -> Views<Change> {
        let notification = Notification::from_value(line.clone()).unwrap();
        self.event(&notification.event().unwrap())
    }

    #[allow(clippy::needless_pass_by_value)] // objects are written in place
    pub(super) fn put(&mut self, kind: &str, data: Value) -> Views<Change> {
        self.line(&json!({"type": kind, "data": data}))
    }

    pub(super) fn delete(&mut self, kind: &str, id: &str) -> Views<Change> {
        self.line(&json!({"type": kind, "id": id, "data": null}))
    }

    pub(super) fn settings(&mut self, data: Value) -> Views<Change> {
        self.put("rankcast", data)
    }

    pub(super) fn team(&mut self, id: &str, groups: &[&str]) -> Views<Change> {
        self.put("teams", json!({"id": id, "name": id, "group_ids": groups}))
    }

    pub(super) fn submit(
        &mut self,
        id: &str,
        team: &str,
        problem: &str,
        time: &str,
    ) -> Views<Change> {
        self.put(
            "submissions",
            json!({"id": id, "team_id": team, "problem_id": problem, "contest_time": time}),
        )
    }

    /// The one judgement of a submission; again, and it is another one.
    pub(super) fn judge(&mut self, submission: &str, verdict: &str) -> Views<Change> {
        let id = format!("j-{submission}");
        self.put(
            "judgements",
            json!({"id": id, "submission_id": submission, "judgement_type_id": verdict}),
        )
    }

    pub(super) fn attempt(
        &mut self,
        id: &str,
        team: &str,
        problem: &str,
        time: &str,
        verdict: &str,
    ) {
        self.submit(id, team, problem, time);
        self.judge(id, verdict);
    }

    pub(super) fn score(&mut self, id: &str, team: &str, problem: &str, time: &str, score: &Value) {
        self.submit(id, team, problem, time);
        let judgement = format!("j-{id}");
        self.put(
            "judgements",
            json!({"id": judgement, "submission_id": id, "judgement_type_id": "AC", "score": score}),
        );
    }

    pub(super) fn thaw(&mut self) {
        self.put("rankcast-thaw", json!({"thawed": "2026-01-01T06:00:00Z"}));
    }

    /// The values of a team's row: of ICPC solved, penalty, last accepted.
    pub(super) fn row(&self, side: Side, team: &str) -> Vec<i64> {
        self.contest
            .board(side)
            .get(team)
            .expect("the team has a row")
            .values
            .to_vec()
    }

    pub(super) fn cell(&self, side: Side, team: &str, problem: &str) -> Option<Cell> {
        self.contest
            .board(side)
            .get(team)?
            .cells
            .get(problem)
            .copied()
    }

    /// Who is first on the problem: by its line and by the cells, which must agree.
    pub(super) fn first(&self, side: Side, problem: &str) -> Option<String> {
        let firsts: Vec<String> = self
            .contest
            .board(side)
            .window(None)
            .filter(|entry| entry.cells.get(problem).is_some_and(|cell| cell.first))
            .map(|entry| entry.id.to_string())
            .collect();
        assert!(
            firsts.len() <= 1,
            "there is never more than one first: {firsts:?}"
        );
        let line = self
            .contest
            .problem(side, problem)
            .and_then(|line| line.first)
            .map(|id| id.to_string());
        assert_eq!(firsts.first(), line.as_ref());
        line
    }

    /// Ids and ranks, in order.
    pub(super) fn ranks(&self, side: Side) -> Vec<(String, Option<usize>)> {
        let board = self.contest.board(side);
        board
            .window(None)
            .map(|entry| entry.id.to_string())
            .zip(board.ranks())
            .collect()
    }
}
