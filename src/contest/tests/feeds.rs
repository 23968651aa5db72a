//! Collections and feeds: what other tools read of a contest, and that it leads them to the same standings.

use std::collections::BTreeMap;

use proptest::{collection::vec, prelude::*};
use serde_json::{Value, json};

use super::{history::history, story::Story};
use crate::{
    board::Id,
    contest::{COLLECTIONS, Contest, Event, Kind, Line, Notification, Side, clics::object::Shape},
};

/// A whole feed: each line with what it tells.
pub(super) fn feed(contest: &Contest, side: Side) -> Vec<(Line, Option<Shape>)> {
    let lines = contest.feed_after(side, 0, usize::MAX).into_iter();
    let told = lines.map(|line| {
        let shape = contest.shape(side, line.kind, &line.id, false);
        (line, shape)
    });
    told.collect()
}

/// All that is listed.
fn listed(contest: &Contest, side: Side, strict: bool) -> BTreeMap<(Kind, Id), Shape> {
    let mut all = BTreeMap::new();
    for kind in COLLECTIONS {
        for id in contest.listed(side, kind) {
            if let Some(shape) = contest.shape(side, kind, &id, strict) {
                all.insert((kind, id), shape);
            }
        }
    }
    all
}

/// Somebody who reads a feed now and then.
#[derive(Default)]
struct Follower {
    number: u64,
    has: BTreeMap<(Kind, Id), Shape>,
}

impl Follower {
    fn read(&mut self, contest: &Contest, side: Side, strict: bool, most: usize) {
        for line in contest.feed_after(side, self.number, most) {
            assert!(line.number > self.number, "lines come in order");
            self.number = line.number;
            if !COLLECTIONS.contains(&line.kind) {
                continue;
            }
            match contest.shape(side, line.kind, &line.id, strict) {
                Some(shape) => self.has.insert((line.kind, line.id), shape),
                None => self.has.remove(&(line.kind, line.id)),
            };
        }
    }
}

fn line(line: &Line, shape: Option<&Shape>) -> Value {
    let id = (!line.kind.is_single()).then_some(&line.id);
    json!({ "type": line.kind.name(), "id": id, "data": shape })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    /// Whoever reads a feed, whenever and however little at a time, has in the end what the collections list.
    #[test]
    fn a_feed_leads_to_the_collections(events in history(true), reads in vec(0..6_usize, 70)) {
        let mut story = Story::empty();
        let mut followers = [(Side::Public, true), (Side::Public, false), (Side::Jury, true), (Side::Jury, false)]
            .map(|(side, strict)| (side, strict, Follower::default()));
        for (event, most) in events.iter().zip(reads.iter().cycle()) {
            story.event(event);
            for (side, strict, follower) in &mut followers {
                follower.read(&story.contest, *side, *strict, *most);
            }
        }
        for (side, strict, follower) in &mut followers {
            follower.read(&story.contest, *side, *strict, usize::MAX);
            prop_assert_eq!(&follower.has, &listed(&story.contest, *side, *strict));
            prop_assert_eq!(follower.number, story.contest.feed_end(*side));
        }
    }

    /// A contest that follows the jury's feed, with the same settings, has the same standings.
    #[test]
    fn a_contest_that_follows_another_has_its_standings(events in history(true)) {
        let mut story = Story::empty();
        for event in &events {
            story.event(event);
        }
        let one = story.contest;
        // CLICS has whole minutes only.
        prop_assume!(one.info().penalty % 60_000 == 0);
        let mut follower = Story::empty();
        follower.settings(json!(one.settings()));
        for (told, shape) in feed(&one, Side::Jury) {
            let text = line(&told, shape.as_ref()).to_string();
            let notification = Notification::parse(text.as_bytes()).unwrap().unwrap();
            follower.event(&notification.event().unwrap());
        }
        let two = follower.contest;
        let rows = |contest: &Contest| -> Vec<_> {
            let board = contest.board(Side::Jury);
            let row = |entry: &crate::board::Entry| (entry.id.clone(), entry.values, entry.cells.clone());
            board.window(None).map(|entry| row(entry)).zip(board.ranks()).collect()
        };
        prop_assert_eq!(rows(&one), rows(&two));
    }
}

#[test]
fn the_public_feed_holds_no_word_of_what_is_hidden_frozen_or_not_begun() {
    let mut story = Story::new();
    story.put(
        "groups",
        json!({"id": "staff", "name": "Staff", "hidden": true}),
    );
    story.team("t9", &["staff"]);
    story.attempt("s1", "t1", "A", "0:10:00", "WA");
    story.attempt("s9", "t9", "A", "0:11:00", "AC");
    story.attempt("s2", "t1", "A", "4:10:00", "AC");
    let public: Vec<String> = feed(&story.contest, Side::Public)
        .iter()
        .map(|(told, shape)| line(told, shape.as_ref()).to_string())
        .collect();
    let count = |text: &str| public.iter().filter(|line| line.contains(text)).count();
    assert_eq!(count("t9") + count("s9") + count("staff"), 0, "{public:?}");
    assert_eq!(count("j-s2"), 0);
    assert_eq!(count("\"s2\""), 1);
    assert_eq!(count("j-s1"), 1);
    story.thaw();
    let told = feed(&story.contest, Side::Public);
    assert!(
        told.iter()
            .any(|(line, shape)| &*line.id == "j-s2" && shape.is_some())
    );
}

#[test]
fn before_the_start_the_public_feed_does_not_depend_on_problems() {
    let feed_with = |problems: &[&str]| {
        let mut story = Story::empty();
        story.put("contest", json!({"name": "X", "duration": "5:00:00"}));
        for problem in problems {
            story.put("problems", json!({"id": problem, "label": problem}));
        }
        story.team("t1", &[]);
        story.submit("s1", "t1", "A", "-0:10:00");
        feed(&story.contest, Side::Public)
    };
    assert_eq!(feed_with(&["A", "B", "C"]), feed_with(&[]));
}

#[test]
fn of_several_judgements_the_one_that_counts_is_listed() {
    let mut story = Story::new();
    story.submit("s1", "t1", "A", "0:10:00");
    let judgement = |id: &str, verdict: &str, end: &str, current: bool| json!({"id": id, "submission_id": "s1", "judgement_type_id": verdict, "end_contest_time": end, "current": current});
    story.put("judgements", judgement("j1", "WA", "0:11:00", true));
    story.put("judgements", judgement("j2", "AC", "0:30:00", true));
    let ids = |story: &Story| -> Vec<Id> {
        let all = listed(&story.contest, Side::Public, true).into_keys();
        all.filter(|(kind, _)| *kind == Kind::Judgements)
            .map(|(_, id)| id)
            .collect()
    };
    assert_eq!(ids(&story), [Id::from("j2")]);
    story.put("judgements", judgement("j2", "AC", "0:30:00", false));
    assert_eq!(ids(&story), [Id::from("j1")]);
    let told = feed(&story.contest, Side::Public);
    assert!(
        told.iter()
            .any(|(line, shape)| &*line.id == "j2" && shape.is_none()),
        "it is told that it is gone"
    );
}

#[test]
fn a_team_that_its_submissions_made_is_told_to_be_gone() {
    let mut story = Story::new();
    story.settings(json!({"auto_teams": true}));
    story.submit("s1", "t7", "A", "0:10:00");
    let told = |story: &Story| {
        let lines = feed(&story.contest, Side::Public).into_iter();
        let of_team = lines.filter(|(line, _)| line.kind == Kind::Teams && &*line.id == "t7");
        of_team
            .map(|(_, shape)| shape.is_some())
            .collect::<Vec<_>>()
    };
    assert_eq!(told(&story), [true]);
    story.settings(json!({"auto_teams": false}));
    assert_eq!(told(&story), [false]);
}

#[test]
fn a_type_that_is_not_served_stays_out_of_feeds() {
    let mut story = Story::new();
    let before = feed(&story.contest, Side::Jury).len();
    story.put(
        "accounts",
        json!({"id": "a", "username": "u", "password": "secret"}),
    );
    story.event(&Event::Other);
    assert_eq!(feed(&story.contest, Side::Jury).len(), before);
}
