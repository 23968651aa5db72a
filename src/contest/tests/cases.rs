//! The cases from public trackers that concern the fold, by their number in RULES.

use serde_json::json;

use super::story::Story;
use crate::{
    board::Cell,
    contest::{Side, event::Kind},
};

use Side::{Jury, Public};

#[test]
fn case_1_first_moves_to_the_next_accepted_when_an_earlier_pending_one_turns_out_wrong() {
    let mut story = Story::new();
    story.submit("s1", "t1", "A", "0:10:00");
    story.attempt("s2", "t2", "A", "0:20:00", "AC");
    story.attempt("s3", "t3", "A", "0:30:00", "AC");
    story.judge("s1", "WA");
    assert_eq!(story.first(Public, "A").as_deref(), Some("t2"));
}

#[test]
fn case_2_after_a_rejudgement_there_is_exactly_one_first() {
    let mut story = Story::new();
    story.attempt("s1", "t1", "A", "0:10:00", "WA");
    story.attempt("s2", "t2", "A", "0:20:00", "AC");
    story.judge("s1", "AC");
    assert_eq!(story.first(Public, "A").as_deref(), Some("t1"));
}

#[test]
fn case_3_a_compile_error_during_the_freeze_shows_as_pending() {
    let mut story = Story::new();
    story.attempt("s1", "t1", "A", "4:10:00", "CE");
    assert_eq!(
        story.cell(Public, "t1", "A"),
        Some(Cell {
            pending: 1,
            ..Cell::default()
        })
    );
    assert_eq!(story.cell(Jury, "t1", "A"), None);
}

#[test]
fn case_4_first_to_solve_is_hidden_until_revealed() {
    let mut story = Story::new();
    story.attempt("s1", "t1", "A", "4:10:00", "AC");
    assert_eq!(
        (story.first(Public, "A"), story.first(Jury, "A").as_deref()),
        (None, Some("t1"))
    );
    story.thaw();
    assert_eq!(story.first(Public, "A").as_deref(), Some("t1"));
}

#[test]
fn case_5_nothing_is_pending_after_thawing() {
    let mut story = Story::new();
    for (id, verdict) in [("s1", "WA"), ("s2", "CE"), ("s3", "AC"), ("s4", "WA")] {
        story.attempt(id, "t1", "A", "4:10:00", verdict);
    }
    assert_eq!(story.contest.problem(Public, "A").unwrap().pending, 4);
    story.thaw();
    assert_eq!(story.contest.problems(Public), story.contest.problems(Jury));
    assert_eq!(story.contest.problem(Public, "A").unwrap().pending, 0);
}

#[test]
fn case_6_submissions_of_hidden_teams_are_not_visible() {
    let mut story = Story::new();
    story.attempt("s1", "t1", "A", "0:10:00", "AC");
    story.attempt("s2", "t2", "A", "0:20:00", "AC");
    story.put("teams", json!({"id": "t1", "name": "t1", "hidden": true}));
    assert!(story.contest.board(Public).get("t1").is_none());
    let line = story.contest.problem(Public, "A").unwrap();
    assert_eq!((line.solved, line.tries), (1, 1));
    assert_eq!(story.first(Public, "A").as_deref(), Some("t2"));
    story.team("t1", &[]);
    assert_eq!(story.first(Public, "A").as_deref(), Some("t1"));
}

#[test]
fn case_8_repeated_entries_have_no_effect() {
    let mut story = Story::new();
    story.attempt("s1", "t1", "A", "0:10:00", "WA");
    story.attempt("s2", "t1", "A", "0:20:00", "AC");
    let versions = Side::ALL.map(|side| story.contest.board(side).version());
    for _ in 0..3 {
        story.attempt("s1", "t1", "A", "0:10:00", "WA");
        story.attempt("s2", "t1", "A", "0:20:00", "AC");
        story.team("t1", &[]);
        story.put("problems", json!({"id": "A", "label": "A"}));
    }
    assert_eq!(
        Side::ALL.map(|side| story.contest.board(side).version()),
        versions
    );
    assert_eq!(story.row(Jury, "t1"), [1, 40, 20]);
}

#[test]
fn case_9_what_arrives_before_it_can_count_is_kept_and_applied() {
    let mut story = Story::empty();
    story.judge("s1", "ODD");
    let reason = |story: &Story| {
        story
            .contest
            .all_aside()
            .first()
            .map(|aside| aside.reason.clone())
    };
    assert_eq!(reason(&story).as_deref(), Some("no submission s1"));
    story.submit("s1", "t1", "A", "0:10:00");
    assert_eq!(reason(&story).as_deref(), Some("no judgement type ODD"));
    story.put("judgement-types", json!({"id": "ODD", "solved": true}));
    assert_eq!(reason(&story).as_deref(), Some("no team t1"));
    assert_eq!(
        story.contest.aside(Kind::Judgements, "j-s1").as_deref(),
        Some("no team t1")
    );
    story.team("t1", &[]);
    assert_eq!(reason(&story).as_deref(), Some("no problem A"));
    assert_eq!(story.row(Jury, "t1"), [0, 0, 0]);
    story.put("problems", json!({"id": "A", "label": "A"}));
    assert_eq!(reason(&story), None);
    assert_eq!(story.row(Jury, "t1"), [1, 10, 10]);
}

#[test]
fn case_9_an_unknown_team_is_made_where_the_contest_says_so() {
    let mut story = Story::new();
    story.settings(json!({"auto_teams": true}));
    story.attempt("s1", "t9", "A", "0:10:00", "AC");
    assert_eq!(story.row(Public, "t9"), [1, 10, 10]);
    assert_eq!(story.first(Public, "A").as_deref(), Some("t9"));
    story.delete("submissions", "s1");
    assert!(story.contest.board(Public).get("t9").is_none());
}

#[test]
fn case_11_attempts_after_the_acceptance_cost_nothing() {
    let mut story = Story::new();
    // The acceptance is judged last: what was counted before is taken back.
    story.submit("s1", "t1", "A", "0:10:00");
    story.attempt("s2", "t1", "A", "0:20:00", "WA");
    story.attempt("s3", "t1", "A", "0:30:00", "AC");
    assert_eq!(story.row(Jury, "t1"), [1, 50, 30]);
    story.judge("s1", "AC");
    assert_eq!(story.row(Jury, "t1"), [1, 10, 10]);
    assert_eq!(story.contest.problem(Jury, "A").unwrap().tries, 1);
}

#[test]
fn case_13_a_frozen_acceptance_is_pending_and_not_wrong() {
    let mut story = Story::new();
    story.attempt("s1", "t1", "A", "4:10:00", "AC");
    assert_eq!(
        story.cell(Public, "t1", "A"),
        Some(Cell {
            pending: 1,
            ..Cell::default()
        })
    );
}

#[test]
fn case_14_equal_results_share_a_rank() {
    let mut story = Story::new();
    story.attempt("s1", "t1", "A", "0:10:00", "AC");
    story.attempt("s2", "t2", "B", "0:10:30", "AC");
    let ranks: Vec<_> = story
        .ranks(Public)
        .into_iter()
        .map(|(_, rank)| rank)
        .collect();
    assert_eq!(ranks, [Some(1), Some(1), Some(3)]);
}

#[test]
fn case_15_no_points_and_no_submission_differ() {
    let mut story = Story::ioi();
    story.score("s1", "t1", "A", "0:10:00", &json!(0.0));
    assert_eq!(story.cell(Public, "t1", "A").unwrap().score, Some(0));
    assert_eq!(story.cell(Public, "t2", "A"), None);
    assert_eq!(story.row(Public, "t1"), story.row(Public, "t2"));
}

#[test]
fn case_23_a_submission_of_a_paused_countdown_is_kept_and_explained() {
    let mut story = Story::new();
    // Epoch minutes taken for a contest time.
    story.attempt("s1", "t1", "A", "490896:11:00.000", "AC");
    assert_eq!(story.row(Jury, "t1"), [0, 0, 0]);
    assert_eq!(
        story.contest.aside(Kind::Submissions, "s1").as_deref(),
        Some("outside of the contest's time")
    );
    story.put(
        "contest",
        json!({"start_time": null, "countdown_pause_time": "0:10:00", "duration": "5:00:00"}),
    );
    story.put(
        "submissions",
        json!({"id": "s2", "team_id": "t1", "problem_id": "A", "time": "2026-01-01T00:10:00Z"}),
    );
    let reason = story.contest.aside(Kind::Submissions, "s2");
    assert_eq!(
        reason.as_deref(),
        Some("it has no contest time, and the contest no start")
    );
    story.put(
        "contest",
        json!({"start_time": "2026-01-01T00:00:00Z", "duration": "5:00:00"}),
    );
    assert_eq!(story.contest.aside(Kind::Submissions, "s2"), None);
}
