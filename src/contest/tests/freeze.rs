//! Rule 8 with its values: what the freeze hides, and until when.

use serde_json::json;

use super::story::Story;
use crate::{
    board::Cell,
    contest::{Phase, Side},
};

use Side::{Jury, Public};

#[test]
fn rule_8_frozen_submissions_are_pending_whatever_their_verdict() {
    for verdict in ["AC", "WA", "CE", "JE"] {
        let mut story = Story::new();
        story.attempt("s0", "t1", "A", "3:59:59.999", "WA");
        story.attempt("s1", "t1", "A", "4:00:00", verdict);
        story.attempt("s2", "t1", "A", "4:30:00", "WA");
        let frozen = Cell {
            tries: 1,
            pending: 2,
            ..Cell::default()
        };
        assert_eq!(story.cell(Public, "t1", "A"), Some(frozen), "{verdict}");
        assert_eq!(story.row(Public, "t1"), [0, 0, 0]);
        assert_eq!(story.contest.problem(Public, "A").unwrap().pending, 2);
    }
}

#[test]
fn rule_8_a_problem_solved_before_the_freeze_has_nothing_pending() {
    let mut story = Story::new();
    story.attempt("s1", "t1", "A", "3:00:00", "AC");
    story.attempt("s2", "t1", "A", "4:30:00", "WA");
    assert_eq!(story.cell(Public, "t1", "A").unwrap().pending, 0);
}

#[test]
fn rule_8_the_number_of_decimals_of_a_frozen_score_does_not_leak() {
    let mut story = Story::ioi();
    story.score("s1", "t1", "A", "1:00:00", &json!(10));
    story.submit("s2", "t1", "A", "4:30:00");
    story.team("ghost", &[]);
    story.put("teams", json!({"id": "ghost", "hidden": true}));
    story.submit("s3", "ghost", "A", "1:00:00");
    let (version, shape) = (
        story.contest.board(Public).version(),
        story.contest.board(Public).shape().clone(),
    );
    for submission in ["s2", "s3"] {
        story.put("judgements", json!({"id": submission, "submission_id": submission, "judgement_type_id": "AC", "score": 0.25}));
        assert_eq!(story.contest.board(Public).version(), version);
        assert_eq!(story.contest.board(Public).shape(), &shape);
    }
    assert_eq!(story.contest.board(Jury).shape().columns[0].scale, 2);
    assert_eq!(story.row(Jury, "t1"), [1000]);
    story.thaw();
    assert_eq!(story.row(Public, "t1"), [1000]);
}

#[test]
fn rule_8_a_definition_that_changes_only_frozen_verdicts_moves_no_public_version() {
    let mut story = Story::new();
    story.attempt("s1", "t1", "A", "1:00:00", "AC");
    story.attempt("s2", "t2", "A", "4:30:00", "ODD");
    let version = story.contest.board(Public).version();
    story.put(
        "judgement-types",
        json!({"id": "ODD", "penalty": false, "solved": true}),
    );
    assert_eq!(story.row(Jury, "t2"), [1, 270, 270]);
    assert_eq!(story.contest.board(Public).version(), version);
}

#[test]
fn rule_8_thawing_opens_and_closes_the_board() {
    let mut story = Story::new();
    story.attempt("s1", "t1", "A", "4:30:00", "AC");
    let frozen: Vec<_> = story.contest.board(Public).window(None).cloned().collect();
    assert!(!story.contest.is_open());
    story.thaw();
    assert!(story.contest.is_open());
    assert_eq!(story.row(Public, "t1"), [1, 270, 270]);
    story.put("rankcast-thaw", json!({"thawed": null}));
    assert_eq!(
        story
            .contest
            .board(Public)
            .window(None)
            .cloned()
            .collect::<Vec<_>>(),
        frozen
    );
}

#[test]
fn rule_8_the_feeds_thaw_opens_the_board_only_where_the_contest_says_so() {
    let mut story = Story::new();
    story.attempt("s1", "t1", "A", "4:30:00", "AC");
    let thawed = json!({"started": "2026-01-01T00:00:00Z", "frozen": "2026-01-01T04:00:00Z",
        "ended": "2026-01-01T05:00:00Z", "thawed": "2026-01-01T06:00:00Z", "finalized": "2026-01-01T06:00:00Z"});
    story.put("state", thawed);
    assert_eq!(story.row(Public, "t1"), [0, 0, 0]);
    assert_eq!(story.contest.status(Public).phase, Phase::Ended);
    assert_eq!(story.contest.status(Public).times.thawed, None);
    story.settings(json!({"thaw": "upstream"}));
    assert_eq!(story.row(Public, "t1"), [1, 270, 270]);
    assert_eq!(story.contest.status(Public).phase, Phase::Finalized);
}

#[test]
fn rule_8_without_a_freeze_the_public_sees_that_results_are_final() {
    for freeze in [json!(null), json!("0:00:00")] {
        let mut story = Story::new();
        story.put(
            "contest",
            json!({"duration": "5:00:00", "scoreboard_freeze_duration": freeze}),
        );
        story.put(
            "state",
            json!({"started": "2026-01-01T00:00:00Z", "ended": "2026-01-01T05:00:00Z",
            "finalized": "2026-01-01T06:00:00Z"}),
        );
        assert!(story.contest.is_open());
        assert_eq!(story.contest.status(Public).phase, Phase::Finalized);
    }
}
