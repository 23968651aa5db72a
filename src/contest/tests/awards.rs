//! Who gets what.

use serde_json::json;

use super::story::Story;
use crate::contest::{Event, Side, awards::Award, event::Object};

fn teams(awards: &[Award], id: &str) -> Vec<String> {
    let award = awards.iter().find(|award| &*award.id == id);
    let teams = award.and_then(|award| award.team_ids.as_ref());
    teams
        .into_iter()
        .flatten()
        .map(ToString::to_string)
        .collect()
}

/// Six official teams and an unofficial one; t1 and t2 share the first rank, t3 is third, t4 fourth.
fn story() -> Story {
    let mut story = Story::new();
    story.put("groups", json!({"id": "north", "name": "North"}));
    story.put("groups", json!({"id": "south", "name": "South"}));
    for team in ["t1", "t3"] {
        story.team(team, &["north"]);
    }
    for team in ["t2", "t4", "t5", "t6"] {
        story.team(team, &["south"]);
    }
    story.team("guest", &["unofficial"]);
    story.attempt("0", "guest", "A", "0:01:00", "AC");
    story.attempt("1", "t1", "A", "0:10:00", "AC");
    story.attempt("2", "t2", "A", "0:10:30", "AC");
    story.attempt("3", "t3", "A", "0:20:00", "AC");
    story.attempt("4", "t4", "A", "0:30:00", "AC");
    story.attempt("5", "t5", "A", "0:40:00", "WA");
    story
}

#[test]
fn medals_go_to_ranks_and_ties_share_them() {
    let mut story = story();
    story.settings(json!({"awards": {"gold": 1, "silver": 2, "bronze": 1, "ranks": 3}}));
    let awards = story.contest.awards(Side::Public);
    assert_eq!(teams(&awards, "winner"), ["t1", "t2"]);
    assert_eq!(teams(&awards, "gold-medal"), ["t1", "t2"]);
    assert_eq!(teams(&awards, "silver-medal"), ["t3"], "of ranks 2 and 3");
    assert_eq!(teams(&awards, "bronze-medal"), ["t4"]);
    assert_eq!(teams(&awards, "rank-1"), ["t1", "t2"]);
    assert!(teams(&awards, "rank-2").is_empty());
    assert_eq!(teams(&awards, "rank-3"), ["t3"]);
    assert_eq!(teams(&awards, "group-winner-north"), ["t1"]);
    assert_eq!(teams(&awards, "group-winner-south"), ["t2"]);
    assert_eq!(
        teams(&awards, "first-to-solve-A"),
        ["t1"],
        "an unofficial team is no first"
    );
    assert!(teams(&awards, "first-to-solve-B").is_empty());
}

#[test]
fn who_has_not_scored_gets_nothing() {
    let story = Story::new();
    for award in story.contest.awards(Side::Jury) {
        assert_eq!(award.team_ids.as_deref(), Some(&[][..]), "{}", award.id);
    }
}

#[test]
fn honors_go_to_those_without_a_medal() {
    let mut story = story();
    story.settings(json!({"awards": {"gold": 1, "silver": 0, "bronze": 0, "honors": 1}}));
    let awards = story.contest.awards(Side::Public);
    assert_eq!(teams(&awards, "honorable-mention"), ["t3", "t4"]);
    assert!(awards.iter().all(|award| &*award.id != "silver-medal"));
}

#[test]
fn the_awards_of_the_feed_win() {
    let mut story = story();
    story.put(
        "awards",
        json!({"id": "gold-medal", "citation": "Gold", "team_ids": ["t4"]}),
    );
    story.put(
        "awards",
        json!({"id": "best-hat", "citation": "Best hat", "team_ids": ["t6"]}),
    );
    story.event(&Event::Put(Object::Thaw(true)));
    for side in Side::ALL {
        let awards = story.contest.awards(side);
        assert_eq!(teams(&awards, "gold-medal"), ["t4"]);
        assert_eq!(teams(&awards, "best-hat"), ["t6"]);
        assert!(
            awards.iter().all(|award| &*award.id != "silver-medal"),
            "whoever gives medals gives all"
        );
        assert_eq!(teams(&awards, "winner"), ["t1", "t2"]);
    }
    story.delete("awards", "gold-medal");
    assert_eq!(
        teams(&story.contest.awards(Side::Jury), "gold-medal").len(),
        4
    );
}

#[test]
fn frozen_awards_are_not_told() {
    let mut story = story();
    story.attempt("6", "t6", "A", "4:30:00", "AC");
    story.attempt("7", "t6", "B", "4:31:00", "AC");
    story.put(
        "awards",
        json!({"id": "best-hat", "citation": "Best hat", "team_ids": ["t6"]}),
    );
    let public = story.contest.awards(Side::Public);
    assert_eq!(teams(&public, "winner"), ["t1", "t2"]);
    assert!(teams(&public, "first-to-solve-B").is_empty());
    assert!(public.iter().all(|award| &*award.id != "best-hat"));
    let jury = story.contest.awards(Side::Jury);
    assert_eq!(teams(&jury, "winner"), ["t6"]);
    assert_eq!(teams(&jury, "first-to-solve-B"), ["t6"]);
    assert_eq!(teams(&jury, "best-hat"), ["t6"]);
}

#[test]
fn honors_are_points_whatever_the_decimals() {
    let mut story = Story::ioi();
    story.settings(
        json!({"scoring": "ioi", "awards": {"gold": 1, "silver": 0, "bronze": 0, "honors": 100}}),
    );
    story.score("1", "t1", "A", "0:10:00", &json!(200));
    story.score("2", "t2", "A", "0:10:00", &json!(100));
    story.score("3", "t3", "A", "0:10:00", &json!(12.5));
    assert_eq!(
        teams(&story.contest.awards(Side::Jury), "honorable-mention"),
        ["t2"]
    );
}

#[test]
fn hidden_teams_win_nothing_and_hide_nobody() {
    let mut story = story();
    story.put(
        "groups",
        json!({"id": "north", "name": "North", "sortorder": 1}),
    );
    story.put(
        "groups",
        json!({"id": "south", "name": "South", "sortorder": 2}),
    );
    story.put(
        "groups",
        json!({"id": "unofficial", "name": "Guests", "sortorder": 3}),
    );
    story.put(
        "groups",
        json!({"id": "secret", "name": "Secret", "hidden": true, "sortorder": 0}),
    );
    story.team("spy", &["secret"]);
    story.attempt("9", "spy", "A", "0:00:30", "AC");
    for side in Side::ALL {
        assert_eq!(
            teams(&story.contest.awards(side), "winner"),
            ["t1"],
            "of the uppermost visible section"
        );
    }
}

#[test]
fn before_the_start_no_award_tells_of_the_problems() {
    let mut story = Story::empty();
    story.put("contest", json!({"name": "X", "duration": "5:00:00"}));
    story.put(
        "awards",
        json!({"id": "first-to-solve-M", "citation": "First to solve M", "team_ids": []}),
    );
    assert!(story.contest.awards(Side::Public).is_empty());
    assert_eq!(
        story.contest.awards(Side::Jury).len(),
        5,
        "theirs, winner and medals"
    );
}

#[test]
fn numbers_of_awards_are_bounded() {
    let line = json!({"type": "rankcast", "data": {"awards": {"ranks": 4_000_000_000_u64}}});
    let notification = crate::contest::Notification::from_value(line).unwrap();
    let error = notification.event().unwrap_err().to_string();
    assert!(error.contains("1000 ranks"), "{error}");
}
