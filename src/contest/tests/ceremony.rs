//! The ceremony: what it reveals, when, and to whom.

use proptest::prelude::*;
use serde_json::json;

use super::{history::history, story::Story};
use crate::{
    board::{Entry, Id},
    contest::{
        Contest, Event, ProblemLine, View,
        ceremony::{Mode, Progress, Shows, Step},
        event::Object,
    },
};

fn conduct(story: &mut Story, mode: Mode, step: usize) {
    story.event(&Event::Put(Object::Ceremony(Some(Progress {
        mode,
        step,
        auto_ms: None,
        turn: 0,
    }))));
}

fn over(story: &mut Story) {
    story.event(&Event::Put(Object::Ceremony(None)));
}

type Seen = (Vec<Entry>, Vec<Option<usize>>, Vec<ProblemLine>);

/// What can be seen of a view, its version and scene aside.
fn seen(contest: &Contest, view: View) -> Seen {
    let board = contest.board(view);
    let rows = board.window(None).map(|entry| entry.as_ref().clone());
    (rows.collect(), board.ranks(), contest.problems(view))
}

/// t1 leads with two problems; t2 has one, and one frozen that is right; t3 none, and two frozen of which one is right.
fn frozen_story() -> Story {
    let mut story = Story::new();
    story.settings(json!({"awards": {"gold": 1, "silver": 1, "bronze": 1}}));
    story.attempt("1", "t1", "A", "0:10:00", "AC");
    story.attempt("2", "t1", "B", "0:20:00", "AC");
    story.attempt("3", "t2", "A", "0:30:00", "AC");
    story.attempt("4", "t2", "B", "4:10:00", "AC");
    story.attempt("5", "t3", "A", "4:20:00", "WA");
    story.attempt("6", "t3", "C", "4:30:00", "AC");
    story
}

fn steps(contest: &Contest) -> Vec<String> {
    let script = contest.script();
    let name = |index: &usize| script.awards[*index].id.to_string();
    script
        .steps
        .iter()
        .map(|step| match step {
            Step::Focus(team, place) => format!("{place}: {team}"),
            Step::Reveal { team, problem } => format!("{team} {problem}"),
            Step::Award(team, awards) => {
                let names: Vec<String> = awards.iter().map(name).collect();
                format!("{team} gets {}", names.join(", "))
            }
            Step::List(award) => format!("all of {}", name(award)),
        })
        .collect()
}

#[test]
fn results_are_revealed_from_the_last_place_up_one_by_one() {
    let story = frozen_story();
    assert_eq!(
        steps(&story.contest),
        [
            "3: t3",
            "t3 A",
            "t3 C",
            // With C solved t3 still stands behind t2, which has the same number and less penalty.
            "t3 gets bronze-medal, first-to-solve-C",
            "2: t2",
            "t2 B",
            "t2 gets silver-medal",
            "1: t1",
            "t1 gets winner, gold-medal, first-to-solve-A, first-to-solve-B",
        ]
    );
}

#[test]
fn a_team_that_moves_up_leaves_its_place_to_another() {
    let mut story = frozen_story();
    story.settings(json!({"awards": {"gold": 0, "silver": 0, "bronze": 0}}));
    story.attempt("7", "t3", "B", "4:40:00", "AC");
    assert_eq!(
        steps(&story.contest)[..9],
        [
            "3: t3",
            "t3 A",
            "t3 B",
            "t3 C", // up, before t2
            "3: t2",
            "t2 B", // and back before t3
            "3: t3",
            "t3 gets first-to-solve-C",
            "2: t2"
        ]
    );
}

#[test]
fn each_step_shows_what_it_reveals_and_nothing_else() {
    let mut story = frozen_story();
    conduct(&mut story, Mode::Live, 0);
    let scene = |story: &Story| story.contest.status(View::Ceremony).ceremony.unwrap();
    assert_eq!(scene(&story).shows, Shows::Start);
    assert_eq!(
        seen(&story.contest, View::Ceremony),
        seen(&frozen_story().contest, View::Public)
    );
    conduct(&mut story, Mode::Live, 3);
    let (cells, shown) = (
        &story.contest.board(View::Ceremony).get("t3").unwrap().cells,
        scene(&story),
    );
    assert_eq!(
        (cells["A"].tries, cells["A"].pending, cells["A"].time),
        (1, 0, None)
    );
    assert_eq!(cells["C"].time, Some(270));
    assert_eq!(
        (shown.shows, shown.team.as_deref(), shown.problem.as_deref()),
        (Shows::Result, Some("t3"), Some("C"))
    );
    assert_eq!(
        story.contest.board(View::Ceremony).get("t2").unwrap().cells["B"].pending,
        1
    );
    conduct(&mut story, Mode::Live, 4);
    let award = scene(&story);
    assert_eq!(award.shows, Shows::Award);
    assert!(
        award.awards.iter().all(|award| award.team_ids.is_none()),
        "who else gets it is not known yet"
    );
}

#[test]
fn a_rehearsal_shows_to_nobody_but_the_jury() {
    let mut story = frozen_story();
    let before = (
        seen(&story.contest, View::Public),
        story.contest.status(View::Public),
        story.contest.board(View::Public).version(),
    );
    let jury = seen(&story.contest, View::Jury);
    for step in [0, 3, 6, 2] {
        conduct(&mut story, Mode::Rehearsal, step);
        let now = (
            seen(&story.contest, View::Public),
            story.contest.status(View::Public),
            story.contest.board(View::Public).version(),
        );
        assert!(now == before, "step {step}");
        assert_eq!(seen(&story.contest, View::Jury), jury);
        assert!(story.contest.status(View::Jury).ceremony.is_some());
    }
    over(&mut story);
    assert_eq!(seen(&story.contest, View::Ceremony), before.0);
    assert_eq!(story.contest.status(View::Jury).ceremony, None);
}

#[test]
fn the_public_follows_or_waits_as_the_settings_say() {
    for (setting, follows) in [("follow", true), ("after", false)] {
        let mut story = frozen_story();
        story.settings(json!({"public_during_ceremony": setting}));
        let before = seen(&story.contest, View::Public);
        conduct(&mut story, Mode::Live, 0);
        conduct(&mut story, Mode::Live, 3);
        let (public, hall) = (
            seen(&story.contest, View::Public),
            seen(&story.contest, View::Ceremony),
        );
        assert_eq!(public == hall, follows, "{setting}");
        assert_eq!(public == before, !follows, "{setting}");
        assert_eq!(
            story.contest.status(View::Public).ceremony.is_some(),
            follows,
            "{setting}"
        );
        story.event(&Event::Put(Object::Thaw(true)));
        over(&mut story);
        for view in View::ALL {
            assert_eq!(
                seen(&story.contest, view),
                seen(&story.contest, View::Jury),
                "{setting}"
            );
        }
    }
}

#[test]
fn unjudged_frozen_submissions_are_listed() {
    let mut story = frozen_story();
    assert!(story.contest.unjudged().is_empty());
    story.submit("9", "t1", "C", "4:59:00");
    story.submit("8", "t1", "C", "1:00:00");
    story.submit("7", "nobody", "C", "4:59:00");
    assert_eq!(story.contest.unjudged(), [Id::from("9")]);
    story.judge("9", "JE");
    assert_eq!(
        story.contest.unjudged(),
        [Id::from("9")],
        "a judging error is no verdict"
    );
    story.judge("9", "CE");
    assert!(story.contest.unjudged().is_empty());
}

#[test]
fn a_ceremony_goes_by_itself_until_somebody_has_to_speak() {
    let story = frozen_story();
    let script = story.contest.script();
    let mut progress = Progress {
        mode: Mode::Live,
        step: 0,
        auto_ms: Some(500),
        turn: 7,
    };
    while let Some(next) = script
        .by_itself(progress)
        .filter(|_| progress.auto_ms.is_some())
    {
        progress = next;
    }
    assert_eq!(
        progress,
        Progress {
            mode: Mode::Live,
            step: 4,
            auto_ms: None,
            turn: 11,
        }
    );
    let last = Progress {
        step: script.steps.len(),
        ..progress
    };
    assert_eq!(script.by_itself(last), None);
}

#[test]
fn a_word_that_comes_too_late_is_not_heard() {
    let mut story = frozen_story();
    let mut say = |step: usize, turn: u64| {
        story.event(&Event::Put(Object::Ceremony(Some(Progress {
            mode: Mode::Live,
            step,
            auto_ms: Some(500),
            turn,
        }))));
        story.contest.ceremony().map(|progress| progress.step)
    };
    assert_eq!(say(0, 1), Some(0));
    assert_eq!(say(1, 2), Some(1));
    assert_eq!(say(2, 2), Some(1), "another server's timer, late");
    assert_eq!(say(3, 3), Some(3));
    over(&mut story);
    let late = Progress {
        mode: Mode::Live,
        step: 4,
        auto_ms: Some(500),
        turn: 4,
    };
    story.event(&Event::Put(Object::Ceremony(Some(late))));
    assert_eq!(story.contest.ceremony(), None, "stop holds");
    assert_eq!(story.contest.status(View::Public).ceremony, None);
}

#[test]
fn a_new_script_hides_nothing_that_was_revealed() {
    let mut story = frozen_story();
    conduct(&mut story, Mode::Live, 6);
    let revealed = |story: &Story| {
        let board = story.contest.board(View::Ceremony);
        let cell = |team: &str, problem: &str| board.get(team).unwrap().cells[problem].pending == 0;
        (cell("t3", "A"), cell("t3", "C"), cell("t2", "B"))
    };
    assert_eq!(revealed(&story), (true, true, true));
    // t3 passes t2 after all: the script has other steps from now on.
    story.judge("5", "AC");
    let here = story.contest.ceremony().unwrap().step;
    conduct(&mut story, Mode::Live, here + 1);
    assert_eq!(revealed(&story), (true, true, true));
    let steps = story.contest.ceremony_script().steps.len();
    for step in here + 1..=steps {
        conduct(&mut story, Mode::Live, step);
        assert_eq!(revealed(&story), (true, true, true));
    }
    assert_eq!(
        seen(&story.contest, View::Ceremony),
        seen(&story.contest, View::Jury)
    );
}

#[test]
fn in_point_scoring_a_result_may_take_a_team_down() {
    let mut story = Story::ioi();
    story.settings(json!({"scoring": "ioi", "problem_score": "last"}));
    for (id, team, problem, time, score) in [
        ("1", "t1", "A", "0:10:00", 100),
        ("2", "t2", "A", "0:10:00", 50),
        ("3", "t2", "B", "0:10:00", 40),
        ("4", "t3", "A", "0:10:00", 80),
        ("5", "t2", "A", "4:10:00", 0),
        ("6", "t2", "B", "4:10:00", 60),
    ] {
        story.score(id, team, problem, time, &json!(score));
    }
    let all = story.contest.script().steps.len();
    conduct(&mut story, Mode::Live, all);
    assert_eq!(
        seen(&story.contest, View::Ceremony),
        seen(&story.contest, View::Jury)
    );
    let steps = steps(&story.contest);
    let gets = |team: &str| {
        steps
            .iter()
            .filter(|step| step.starts_with(&format!("{team} gets")))
            .count()
    };
    assert_eq!(["t1", "t2", "t3"].map(gets), [1, 1, 1], "{steps:?}");
}

#[test]
fn the_feed_says_how_its_awards_are_shown() {
    let mut story = frozen_story();
    story.settings(json!({"awards": {"gold": 0, "silver": 0, "bronze": 0}}));
    story.put(
        "groups",
        json!({"id": "secret", "name": "Secret", "hidden": true}),
    );
    story.team("t9", &["secret"]);
    for (id, mode, teams) in [
        ("hats", "list", json!(["t2", "t3", "t9"])),
        ("shoes", "pause", json!(["t3"])),
        ("none", "ignore", json!(["t3"])),
        ("winner", "ignore", json!(["t1"])),
    ] {
        story.put(
            "awards",
            json!({"id": id, "citation": id, "display_mode": mode, "team_ids": teams}),
        );
    }
    let steps = steps(&story.contest);
    let at = |step: &str| {
        steps
            .iter()
            .position(|one| one == step)
            .unwrap_or_else(|| panic!("{step} in {steps:?}"))
    };
    assert!(at("t3 gets shoes, first-to-solve-C") < at("2: t2"));
    assert_eq!(at("all of hats"), at("t2 B") + 1);
    conduct(&mut story, Mode::Live, at("all of hats") + 1);
    let scene = story.contest.status(View::Public).ceremony.unwrap();
    assert_eq!(scene.shows, Shows::List);
    assert_eq!(
        scene.awards[0].team_ids.as_ref().map(Vec::len),
        Some(2),
        "a hidden team is not told"
    );
    assert_eq!(
        scene.steps, None,
        "how many steps there are tells who passes whom"
    );
}

#[test]
fn jumps_find_teams_and_places() {
    let mut story = frozen_story();
    story.attempt("7", "t3", "B", "4:40:00", "AC");
    let script = story.contest.script();
    let at = |step: Option<usize>| script.steps[step.unwrap() - 1].clone();
    assert_eq!(at(script.step_of_place(3)), Step::Focus("t3".into(), 3));
    assert_eq!(at(script.step_of_team("t3")), Step::Focus("t3".into(), 3));
    assert!(
        script.step_of_team("t3") > script.step_of_place(3),
        "t3 came back to it"
    );
    assert_eq!(script.step_of_place(4), None);
    assert_eq!(script.step_of_team("t9"), None);
}

#[test]
fn what_happens_meanwhile_is_seen_and_does_not_end_it() {
    let mut story = frozen_story();
    conduct(&mut story, Mode::Live, 3);
    story.judge("6", "WA");
    assert_eq!(
        story
            .contest
            .board(View::Ceremony)
            .get("t3")
            .unwrap()
            .values[0],
        0
    );
    conduct(&mut story, Mode::Live, usize::MAX);
    story.event(&Event::Put(Object::Thaw(true)));
    over(&mut story);
    assert_eq!(
        seen(&story.contest, View::Ceremony),
        seen(&story.contest, View::Jury)
    );
}

proptest! {
    /// From any frozen contest: the last step shows what opening the board would, each step back undoes one step, a jump is
    /// the same as its steps, whoever folds the log later sees the same, and the public sees it exactly if it follows.
    #[test]
    fn a_ceremony_ends_with_the_results(events in history(false), jump in 0.0..1.0_f64, follow: bool) {
        let mut story = Story::empty();
        for event in &events {
            story.event(event);
        }
        let policy = if follow { "follow" } else { "after" };
        let mut settings = story.contest.settings().clone();
        settings.public_during_ceremony = serde_json::from_value(json!(policy)).unwrap();
        story.event(&Event::Put(Object::Settings(Box::new(settings))));
        let frozen = seen(&story.contest, View::Public);
        let opened = {
            let mut opened = story.contest.clone();
            opened.fold(opened.sequence() + 1, &Event::Put(Object::Thaw(true)), false);
            seen(&opened, View::Public)
        };
        let steps = story.contest.script().steps.len();
        let mut shown = Vec::new();
        for step in 0..=steps {
            conduct(&mut story, Mode::Live, step);
            let hall = seen(&story.contest, View::Ceremony);
            let public = seen(&story.contest, View::Public);
            prop_assert_eq!(&public, if follow { &hall } else { &frozen });
            shown.push(hall);
        }
        prop_assert_eq!(&shown[0], &frozen);
        prop_assert_eq!(&shown[steps], &opened);
        for step in (0..=steps).rev() {
            conduct(&mut story, Mode::Live, step);
            prop_assert_eq!(&seen(&story.contest, View::Ceremony), &shown[step]);
        }
        let target = (jump * steps as f64) as usize;
        conduct(&mut story, Mode::Live, target);
        prop_assert_eq!(&seen(&story.contest, View::Ceremony), &shown[target]);
        // Something that changes nothing, but makes the script be written anew in the middle.
        story.event(&Event::Put(Object::Thaw(false)));
        conduct(&mut story, Mode::Live, steps - target);
        prop_assert_eq!(&seen(&story.contest, View::Ceremony), &shown[steps - target]);
        over(&mut story);
        prop_assert_eq!(&seen(&story.contest, View::Ceremony), &frozen);
        prop_assert_eq!(&seen(&story.contest, View::Public), &frozen);
    }
}
