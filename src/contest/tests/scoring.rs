//! Each rule with its values; the freeze has a file of its own.

use serde_json::json;

use super::story::Story;
use crate::{
    board::Cell,
    contest::{Side, event::Kind},
};

use Side::{Jury, Public};

#[test]
fn rule_1_only_penalized_judgements_before_the_acceptance_cost() {
    let mut story = Story::new();
    story.attempt("s1", "t1", "A", "0:01:00", "WA");
    story.attempt("s2", "t1", "A", "0:02:00", "CE");
    story.attempt("s3", "t1", "A", "0:10:00", "AC");
    assert_eq!(story.row(Jury, "t1"), [1, 30, 10]);
    // A wrong attempt on a problem that is not solved costs nothing.
    story.attempt("s4", "t1", "B", "0:20:00", "WA");
    assert_eq!(story.row(Jury, "t1"), [1, 30, 10]);
}

#[test]
fn rule_1_compile_errors_cost_where_the_contest_says_so() {
    let mut story = Story::new();
    story.attempt("s2", "t1", "A", "0:02:00", "CE");
    story.attempt("s3", "t1", "A", "0:10:00", "AC");
    assert_eq!(story.row(Jury, "t1"), [1, 10, 10]);
    story.settings(json!({"compile_error_penalty": true}));
    assert_eq!(story.row(Jury, "t1"), [1, 30, 10]);
}

#[test]
fn rule_1_a_type_means_what_its_definition_says() {
    let mut story = Story::new();
    story.attempt("s1", "t1", "A", "0:01:00", "TLE");
    story.attempt("s2", "t1", "A", "0:10:00", "AC");
    assert_eq!(story.row(Jury, "t1"), [1, 30, 10]);
    story.put(
        "judgement-types",
        json!({"id": "TLE", "penalty": false, "solved": false}),
    );
    assert_eq!(story.row(Jury, "t1"), [1, 10, 10]);
    story.delete("judgement-types", "TLE");
    assert_eq!(story.row(Jury, "t1"), [1, 30, 10]);
}

#[test]
fn rule_1_a_judging_error_shows_as_pending_and_is_free() {
    let mut story = Story::new();
    story.attempt("s1", "t1", "A", "0:01:00", "JE");
    for side in Side::ALL {
        assert_eq!(
            story.cell(side, "t1", "A"),
            Some(Cell {
                pending: 1,
                ..Cell::default()
            })
        );
    }
    story.attempt("s2", "t1", "A", "0:10:00", "AC");
    assert_eq!(story.row(Jury, "t1"), [1, 10, 10]);
}

#[test]
fn rule_2_nothing_after_the_acceptance_counts() {
    let mut story = Story::new();
    story.attempt("s1", "t1", "A", "0:10:00", "AC");
    let before = story.contest.board(Jury).get("t1").cloned();
    story.attempt("s2", "t1", "A", "0:11:00", "WA");
    story.submit("s3", "t1", "A", "0:12:00");
    story.attempt("s4", "t1", "A", "0:13:00", "AC");
    assert_eq!(story.contest.board(Jury).get("t1").cloned(), before);
}

#[test]
fn rule_2_the_same_acceptance_posted_twice_counts_once() {
    let mut story = Story::new();
    story.attempt("s1", "t1", "A", "0:10:00", "AC");
    let version = story.contest.board(Jury).version();
    story.attempt("s1", "t1", "A", "0:10:00", "AC");
    assert_eq!(story.row(Jury, "t1"), [1, 10, 10]);
    assert_eq!(story.contest.board(Jury).version(), version);
}

#[test]
fn rule_3_the_three_roundings() {
    let mut story = Story::new();
    story.attempt("s1", "t1", "A", "0:00:59.990", "AC");
    assert_eq!(story.row(Jury, "t1"), [1, 0, 0], "59.99 s is 0 minutes");
    story.attempt("s2", "t1", "B", "0:01:01.999", "AC");
    story.attempt("s3", "t1", "C", "0:02:00", "WA");
    story.attempt("s4", "t1", "C", "0:03:30", "AC");
    assert_eq!(story.row(Jury, "t1"), [3, 1 + 3 + 20, 3]);
    story.settings(json!({"penalty_rounding": "seconds"}));
    assert_eq!(story.row(Jury, "t1"), [3, 59 + 61 + 210 + 1200, 210]);
    story.settings(json!({"penalty_rounding": "sum-then-minutes"}));
    assert_eq!(story.row(Jury, "t1"), [3, (59 + 61 + 210 + 1200) / 60, 3]);
}

#[test]
fn rule_4_units_in_input_are_minutes_or_relative_times() {
    for penalty in [json!(10), json!("0:10:00.000"), json!("0:10:00")] {
        let mut story = Story::new();
        story.put(
            "contest",
            json!({"duration": "5:00:00", "penalty_time": penalty}),
        );
        story.attempt("s1", "t1", "A", "0:01:00", "WA");
        story.attempt("s2", "t1", "A", "0:10:00", "AC");
        assert_eq!(story.row(Jury, "t1"), [1, 20, 10]);
    }
    for adjustment in [json!(5), json!("0:05:00")] {
        let mut story = Story::new();
        story.put(
            "rankcast-adjustments",
            json!({"id": "a", "team_id": "t1", "penalty": adjustment}),
        );
        assert_eq!(story.row(Jury, "t1"), [0, 5, 0]);
    }
}

#[test]
fn rule_5_order_and_shared_ranks() {
    let mut story = Story::new();
    for team in ["t4", "t5"] {
        story.team(team, &[]);
    }
    story.attempt("s1", "t3", "A", "0:10:00", "AC");
    story.attempt("s2", "t3", "B", "0:20:00", "AC");
    // The same penalty, but t2's last acceptance is earlier.
    story.attempt("s3", "t2", "A", "0:14:00", "AC");
    story.attempt("s4", "t2", "B", "0:16:00", "AC");
    story.attempt("s5", "t5", "A", "0:05:00", "AC");
    story.attempt("s6", "t4", "A", "0:05:30", "AC");
    let ranks = |story: &Story| {
        story
            .ranks(Jury)
            .into_iter()
            .map(|(id, rank)| (id, rank.unwrap()))
            .collect::<Vec<_>>()
    };
    let expected =
        |ranks: [(&str, usize); 5]| ranks.map(|(id, rank)| (id.to_owned(), rank)).to_vec();
    assert_eq!(
        ranks(&story),
        expected([("t2", 1), ("t3", 1), ("t4", 3), ("t5", 3), ("t1", 5)])
    );
    story.settings(json!({"rank_by": 3}));
    assert_eq!(
        ranks(&story),
        expected([("t2", 1), ("t3", 2), ("t4", 3), ("t5", 3), ("t1", 5)])
    );
    story.settings(json!({"rank_by": 1}));
    assert_eq!(
        ranks(&story),
        expected([("t2", 1), ("t3", 1), ("t4", 3), ("t5", 3), ("t1", 5)])
    );
}

#[test]
fn rule_6_unofficial_teams_take_no_rank_and_use_none_up() {
    let mut story = Story::new();
    story.team("t1", &["unofficial"]);
    story.put("groups", json!({"id": "unofficial", "name": "Guests"}));
    story.attempt("s1", "t1", "A", "0:10:00", "AC");
    story.attempt("s2", "t2", "A", "0:20:00", "AC");
    for side in Side::ALL {
        let ranks = [("t1", None), ("t2", Some(1)), ("t3", Some(2))]
            .map(|(id, rank)| (id.to_owned(), rank));
        assert_eq!(story.ranks(side), ranks);
        assert_eq!(
            story.first(side, "A").as_deref(),
            Some("t2"),
            "a guest is never first"
        );
    }
    story.settings(json!({"unofficial_groups": []}));
    assert_eq!(story.first(Public, "A").as_deref(), Some("t1"));
}

#[test]
fn rule_6_hidden_teams_and_groups_are_in_nothing_public() {
    let mut story = Story::new();
    let untouched = story.contest.problems(Public);
    story.put("groups", json!({"id": "g", "hidden": true}));
    story.team("t1", &["g"]);
    story.put("teams", json!({"id": "t2", "name": "t2", "hidden": true}));
    let version = story.contest.board(Public).version();
    story.attempt("s1", "t1", "A", "0:10:00", "AC");
    story.attempt("s2", "t2", "A", "0:20:00", "WA");
    assert_eq!(story.contest.board(Public).version(), version);
    assert_eq!(story.contest.board(Public).len(), 1);
    assert_eq!(story.contest.problems(Public), untouched);
    assert_eq!(
        story.contest.problems(Jury),
        untouched,
        "nor in the jury's statistics"
    );
    assert_eq!(story.row(Jury, "t1"), [1, 10, 10], "the jury sees the row");
    assert_eq!(story.ranks(Jury)[0], ("t1".to_owned(), None));
}

#[test]
fn rule_6_each_sortorder_is_a_section_with_ranks_and_firsts_of_its_own() {
    let mut story = Story::new();
    story.put("groups", json!({"id": "g0", "sortorder": 0}));
    story.put("groups", json!({"id": "g1", "sortorder": 1}));
    story.team("t1", &["g1"]);
    story.team("t2", &["g0"]);
    story.team("t3", &["g1"]);
    story.attempt("s1", "t1", "A", "0:10:00", "AC");
    story.attempt("s2", "t2", "A", "0:20:00", "AC");
    story.attempt("s3", "t3", "A", "0:30:00", "AC");
    let ranks =
        [("t2", Some(1)), ("t1", Some(1)), ("t3", Some(2))].map(|(id, rank)| (id.to_owned(), rank));
    assert_eq!(story.ranks(Public), ranks);
    assert_eq!(story.row(Public, "t1"), [1, 1, 10, 10]);
    assert!(story.cell(Public, "t1", "A").unwrap().first);
    assert!(story.cell(Public, "t2", "A").unwrap().first);
    assert!(!story.cell(Public, "t3", "A").unwrap().first);
}

#[test]
fn rule_7_a_submission_counts_from_the_start_to_before_the_end() {
    let mut story = Story::new();
    for (id, time) in [("early", "-0:00:00.001"), ("late", "5:00:00")] {
        story.attempt(id, "t1", "A", time, "AC");
        assert_eq!(story.row(Jury, "t1"), [0, 0, 0]);
        let reason = story.contest.aside(Kind::Submissions, id).unwrap();
        assert_eq!(reason, "outside of the contest's time");
    }
    story.attempt("first", "t1", "A", "0:00:00", "AC");
    story.attempt("last", "t1", "B", "4:59:59.999", "AC");
    assert_eq!(story.row(Jury, "t1"), [2, 299, 299]);
}

#[test]
fn rule_7_a_submission_without_a_team_never_scores_and_breaks_nothing() {
    let mut story = Story::new();
    story.put(
        "submissions",
        json!({"id": "s1", "team_id": null, "problem_id": "A", "contest_time": "0:10:00"}),
    );
    story.judge("s1", "AC");
    assert_eq!(story.contest.problem(Jury, "A").unwrap().solved, 0);
    assert_eq!(
        story.contest.aside(Kind::Submissions, "s1").as_deref(),
        Some("it has no team")
    );
}

#[test]
fn rule_9_first_waits_for_earlier_submissions_and_moves() {
    let mut story = Story::new();
    story.submit("s1", "t1", "A", "0:10:00");
    story.attempt("s2", "t2", "A", "0:20:00", "AC");
    assert_eq!(
        story.first(Public, "A"),
        None,
        "an earlier one is not judged"
    );
    story.judge("s1", "AC");
    assert_eq!(story.first(Public, "A").as_deref(), Some("t1"));
    story.judge("s1", "WA");
    assert_eq!(story.first(Public, "A").as_deref(), Some("t2"));
    // One of a hidden or an unofficial team waits for nothing.
    story.team("t3", &["unofficial"]);
    story.submit("s3", "t3", "A", "0:05:00");
    assert_eq!(story.first(Public, "A").as_deref(), Some("t2"));
    story.team("t3", &[]);
    assert_eq!(story.first(Public, "A"), None);
}

#[test]
fn rule_9_in_the_same_millisecond_the_id_decides() {
    let mut story = Story::new();
    story.attempt("s2", "t2", "A", "0:10:00", "AC");
    story.attempt("s1", "t1", "A", "0:10:00", "AC");
    assert_eq!(story.first(Jury, "A").as_deref(), Some("t1"));
}

#[test]
fn rule_10_the_latest_current_judgement_counts() {
    let mut story = Story::new();
    story.submit("s1", "t1", "A", "0:10:00");
    let judgement = |id: &str, verdict: &str, end: &str| json!({"id": id, "submission_id": "s1", "judgement_type_id": verdict, "end_contest_time": end});
    story.put("judgements", judgement("j1", "AC", "0:12:00"));
    story.put("judgements", judgement("j2", "WA", "0:11:00"));
    assert_eq!(
        story.row(Jury, "t1")[0],
        1,
        "j1 ended later, though it came first"
    );
    story.put("judgements", judgement("j3", "WA", "0:12:00"));
    assert_eq!(
        story.row(Jury, "t1")[0],
        0,
        "of two that ended together the greater id"
    );
    let mut withdrawn = judgement("j3", "WA", "0:12:00");
    withdrawn["current"] = json!(false);
    story.put("judgements", withdrawn);
    assert_eq!(story.row(Jury, "t1")[0], 1);
    story.put(
        "judgements",
        json!({"id": "j4", "submission_id": "s1", "start_contest_time": "0:13:00"}),
    );
    assert_eq!(
        story.cell(Jury, "t1", "A").unwrap().pending,
        1,
        "without an end the start is compared"
    );
    story.delete("judgements", "j4");
    assert_eq!(story.row(Jury, "t1")[0], 1);
}

#[test]
fn rule_10_instants_and_contest_times_of_judgements_compare() {
    let mut story = Story::new();
    story.put(
        "contest",
        json!({"start_time": "2026-01-01T00:00:00Z", "duration": "5:00:00"}),
    );
    story.put(
        "submissions",
        json!({"id": "s1", "team_id": "t1", "problem_id": "A", "time": "2026-01-01T00:10:00Z"}),
    );
    story.put("judgements", json!({"id": "j1", "submission_id": "s1", "judgement_type_id": "AC", "end_time": "2026-01-01T00:12:00Z"}));
    story.put("judgements", json!({"id": "j2", "submission_id": "s1", "judgement_type_id": "WA", "end_contest_time": "0:11:00"}));
    assert_eq!(story.row(Jury, "t1"), [1, 10, 10]);
}

#[test]
fn rule_10_a_changed_submission_moves_with_its_judgement() {
    let mut story = Story::new();
    story.attempt("s1", "t1", "A", "0:10:00", "AC");
    story.submit("s1", "t2", "B", "0:30:00");
    assert_eq!(story.row(Jury, "t1"), [0, 0, 0]);
    assert_eq!(story.row(Jury, "t2"), [1, 30, 30]);
    assert_eq!(
        (story.first(Jury, "A"), story.first(Jury, "B").as_deref()),
        (None, Some("t2"))
    );
    story.delete("submissions", "s1");
    assert_eq!(story.row(Jury, "t2"), [0, 0, 0]);
    story.submit("s1", "t3", "C", "0:40:00");
    assert_eq!(story.row(Jury, "t3"), [1, 40, 40], "the judgement was kept");
}

#[test]
fn rule_12_an_adjustment_and_the_total_may_be_negative() {
    let mut story = Story::new();
    story.attempt("s1", "t1", "A", "0:10:00", "AC");
    story.put(
        "rankcast-adjustments",
        json!({"id": "a", "team_id": "t1", "penalty": -15}),
    );
    assert_eq!(story.row(Jury, "t1"), [1, -5, 10]);
    story.put(
        "rankcast-adjustments",
        json!({"id": "b", "team_id": "t1", "penalty": "0:01:00"}),
    );
    assert_eq!(story.row(Jury, "t1"), [1, -4, 10]);
    story.put(
        "rankcast-adjustments",
        json!({"id": "a", "team_id": "t2", "penalty": 7}),
    );
    assert_eq!(
        (story.row(Jury, "t1"), story.row(Jury, "t2")),
        (vec![1, 11, 10], vec![0, 7, 0])
    );
    story.delete("rankcast-adjustments", "a");
    story.delete("rankcast-adjustments", "b");
    assert_eq!(
        (story.row(Jury, "t1"), story.row(Jury, "t2")),
        (vec![1, 10, 10], vec![0, 0, 0])
    );
}

#[test]
fn rule_13_zero_points_are_not_nothing_and_never_lower() {
    let mut story = Story::ioi();
    story.score("s1", "t1", "A", "0:10:00", &json!(0));
    let zero = Cell {
        tries: 1,
        score: Some(0),
        ..Cell::default()
    };
    assert_eq!(story.cell(Public, "t1", "A"), Some(zero));
    assert_eq!(story.cell(Public, "t2", "A"), None);
    story.score("s2", "t1", "A", "0:20:00", &json!(40));
    story.score("s3", "t1", "A", "0:30:00", &json!(0));
    assert_eq!(story.row(Public, "t1"), [40]);
    assert_eq!(story.contest.problem(Public, "A").unwrap().solved, 1);
}

#[test]
fn rule_14_before_the_start_the_public_sees_no_problem() {
    let mut story = Story::empty();
    story.put("contest", json!({"duration": "5:00:00"}));
    story.team("t1", &[]);
    let version = story.contest.board(Public).version();
    story.put("problems", json!({"id": "A", "label": "A"}));
    story.attempt("s1", "t1", "A", "0:10:00", "AC");
    assert_eq!(story.contest.board(Public).version(), version);
    assert_eq!(story.contest.problems(Public), []);
    assert_eq!(story.contest.problem(Public, "A"), None);
    assert_eq!(story.cell(Public, "t1", "A"), None);
    assert_eq!(story.row(Public, "t1"), [0, 0, 0]);
    assert_eq!(story.row(Jury, "t1"), [1, 10, 10]);
    let change = story.put("state", json!({"started": "2026-01-01T00:00:00Z"}));
    assert!(
        change[Public].reshaped,
        "no delta tells the list of problems"
    );
    assert_eq!(story.row(Public, "t1"), [1, 10, 10]);
    assert_eq!(story.contest.problems(Public).len(), 1);
}

#[test]
fn ioi_the_best_score_counts_and_totals_are_exact_decimals() {
    let mut story = Story::ioi();
    story.score("s1", "t1", "A", "0:10:00", &json!(0.1));
    story.score("s2", "t1", "B", "0:10:00", &json!(0.2));
    story.score("s3", "t2", "A", "0:20:00", &json!(0.3));
    story.score("s4", "t1", "B", "0:30:00", &json!(0.15));
    let board = story.contest.board(Public);
    assert_eq!(
        board.shape().columns[0].scale,
        2,
        "as fine as the finest score"
    );
    assert_eq!(
        (story.row(Public, "t1"), story.row(Public, "t2")),
        (vec![30], vec![30])
    );
    let ranks =
        [("t1", Some(1)), ("t2", Some(1)), ("t3", Some(3))].map(|(id, rank)| (id.to_owned(), rank));
    assert_eq!(story.ranks(Public), ranks);
    story.delete("judgements", "j-s4");
    assert_eq!(story.contest.board(Public).shape().columns[0].scale, 1);
    assert_eq!(story.row(Public, "t1"), [3]);
}

#[test]
fn ioi_a_frozen_score_is_pending_and_a_compile_error_is_free() {
    let mut story = Story::ioi();
    story.attempt("s1", "t1", "A", "0:10:00", "CE");
    assert_eq!(story.cell(Jury, "t1", "A"), None);
    story.score("s2", "t1", "A", "4:30:00", &json!(70));
    assert_eq!(
        story.cell(Public, "t1", "A"),
        Some(Cell {
            pending: 1,
            ..Cell::default()
        })
    );
    assert_eq!(
        (story.row(Public, "t1"), story.row(Jury, "t1")),
        (vec![0], vec![70])
    );
}

#[test]
fn rule_11_a_removed_time_moves_what_is_inside_and_after() {
    let mut story = Story::new();
    story.attempt("1", "t1", "A", "0:59:59", "AC");
    story.attempt("2", "t2", "A", "1:05:00", "AC");
    story.attempt("3", "t3", "A", "1:30:00", "AC");
    story.attempt("4", "t3", "B", "1:06:00", "AC");
    story.attempt("5", "t2", "B", "1:04:00", "AC");
    let cut = json!({"removed_intervals": [{"start": "1:00:00", "end": "1:10:00"}]});
    story.settings(cut.clone());
    assert_eq!(story.row(Side::Jury, "t1"), [1, 59, 59]);
    assert_eq!(
        story.row(Side::Jury, "t2"),
        [2, 120, 60],
        "inside: the time of its start"
    );
    assert_eq!(
        story.row(Side::Jury, "t3"),
        [2, 140, 80],
        "after it: so much earlier"
    );
    assert_eq!(
        story.first(Side::Jury, "B").as_deref(),
        Some("t2"),
        "order is kept"
    );
    // The contest lasts ten minutes longer, and is frozen as much later.
    story.attempt("6", "t1", "B", "4:09:59", "AC");
    assert_eq!(story.row(Side::Public, "t1")[0], 2);
    story.attempt("7", "t1", "C", "5:09:59", "AC");
    assert_eq!(story.row(Side::Jury, "t1"), [3, 59 + 239 + 299, 299]);
    assert_eq!(story.row(Side::Public, "t1")[0], 2, "frozen");
    story.attempt("8", "t2", "C", "5:10:00", "AC");
    assert_eq!(story.row(Side::Jury, "t2")[0], 2, "after the end");
    story.settings(json!({}));
    assert_eq!(story.row(Side::Jury, "t2"), [2, 65 + 64, 65], "taken back");
    assert_eq!(story.row(Side::Jury, "t1")[0], 2, "after the end again");
    story.settings(cut);
    assert_eq!(story.row(Side::Jury, "t3"), [2, 140, 80]);
}

#[test]
fn rule_11_intervals_have_to_make_sense() {
    for (bad, says) in [
        (
            json!([{"start": "1:00:00", "end": "1:00:00"}]),
            "after its start",
        ),
        (
            json!([{"start": "-0:01:00", "end": "1:00:00"}]),
            "0 or later",
        ),
        (
            json!([{"start": "1:00:00", "end": "2:00:00"}, {"start": "1:59:00", "end": "3:00:00"}]),
            "before the next",
        ),
        (json!([{"start": "1 h", "end": "2:00:00"}]), "relative time"),
        (json!([{"start": "1:00:00"}]), "end"),
    ] {
        let line = json!({"type": "rankcast", "data": {"removed_intervals": bad}});
        let notification = crate::contest::Notification::from_value(line).unwrap();
        let error = notification.event().unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn ioi_scoring_can_take_the_last_submission() {
    let mut story = Story::ioi();
    story.score("1", "t1", "A", "0:10:00", &json!(70));
    story.score("2", "t1", "A", "0:20:00", &json!(40));
    assert_eq!(story.row(Side::Jury, "t1"), [70]);
    story.settings(json!({"scoring": "ioi", "problem_score": "last"}));
    assert_eq!(story.row(Side::Jury, "t1"), [40]);
    story.submit("3", "t1", "A", "0:30:00");
    assert_eq!(story.row(Side::Jury, "t1"), [40], "until it is judged");
    assert_eq!(story.cell(Side::Jury, "t1", "A").unwrap().pending, 1);
    story.score("3", "t1", "A", "0:30:00", &json!(0));
    assert_eq!(story.row(Side::Jury, "t1"), [0]);
    assert_eq!(story.cell(Side::Jury, "t1", "A").unwrap().score, Some(0));
}
