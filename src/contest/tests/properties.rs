//! What holds for every history.

use std::collections::{BTreeMap, HashSet, VecDeque};

use proptest::{collection::vec, option, prelude::*};

use super::{
    feeds::feed,
    history::{TYPES, history, id, score},
    lines::any_line,
    reference::{Objects, Shown},
    story::Story,
};
use crate::{
    board::{Delta, Entry, Id, Label, Window},
    contest::{
        Contest, Event, Kind, ProblemLine, Side, Status,
        event::{Judgement, Object},
    },
};

fn fold(events: &[Event]) -> Contest {
    let mut story = Story::empty();
    for event in events {
        story.event(event);
    }
    story.contest
}

fn rows(contest: &Contest, side: Side) -> Vec<Entry> {
    contest
        .board(side)
        .window(None)
        .map(|entry| entry.as_ref().clone())
        .collect()
}

fn seen(
    contest: &Contest,
    side: Side,
) -> (Vec<Entry>, Vec<Option<usize>>, Vec<ProblemLine>, Status) {
    (
        rows(contest, side),
        contest.board(side).ranks(),
        contest.problems(side),
        contest.status(side),
    )
}

/// The object that an event concerns; the whole kind where a replacement of the collection makes its order matter.
fn lane(event: &Event, replaced: &HashSet<Kind>) -> (String, Option<Id>) {
    let (kind, id) = match event {
        Event::Delete(kind, id) => (*kind, Some(id.clone())),
        Event::Replace(kind, _) => (*kind, None),
        Event::Other => (Kind::Other, None),
        Event::Put(object) => (object.kind(), object.id().cloned()),
    };
    (kind.to_string(), id.filter(|_| !replaced.contains(&kind)))
}

fn with_shuffled_lanes() -> impl Strategy<Value = (Vec<Event>, Vec<Event>)> {
    history(true)
        .prop_flat_map(|events| {
            let replaced: HashSet<Kind> = events
                .iter()
                .filter_map(|event| {
                    if let Event::Replace(kind, _) = event {
                        Some(*kind)
                    } else {
                        None
                    }
                })
                .collect();
            let lanes: Vec<_> = events.iter().map(|event| lane(event, &replaced)).collect();
            (
                Just(events),
                Just(lanes.clone()),
                Just(lanes).prop_shuffle(),
            )
        })
        .prop_map(|(events, lanes, shuffled)| {
            let mut queues: BTreeMap<_, VecDeque<Event>> = BTreeMap::new();
            for (lane, event) in lanes.into_iter().zip(&events) {
                queues.entry(lane).or_default().push_back(event.clone());
            }
            let other = shuffled
                .iter()
                .map(|lane| queues.get_mut(lane).unwrap().pop_front().unwrap())
                .collect();
            (events, other)
        })
}

/// The same event with another verdict, if it judges a frozen submission.
fn with_other_verdict(event: &Event, verdict: Option<&Id>, points: Option<i64>) -> Event {
    let other = |object: &Object| match object {
        Object::Judgement(judgement) if judgement.submission.starts_with('f') => {
            Object::Judgement(Judgement {
                verdict: verdict.cloned(),
                score: points,
                ..judgement.clone()
            })
        }
        object => object.clone(),
    };
    match event {
        Event::Put(object) => Event::Put(other(object)),
        Event::Replace(kind, objects) => Event::Replace(*kind, objects.iter().map(other).collect()),
        event => event.clone(),
    }
}

/// Rows as a viewer has them: whether one is hidden does not travel.
fn on_the_wire(rows: &[Entry]) -> Vec<Entry> {
    let bare = |row: &Entry| Entry {
        label: Label {
            hidden: false,
            ..(*row.label).clone()
        }
        .into(),
        ..row.clone()
    };
    rows.iter().map(bare).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Between objects the order of arrival never matters (rule 10).
    #[test]
    fn the_order_of_arrival_between_objects_does_not_matter((events, other) in with_shuffled_lanes()) {
        let (one, two) = (fold(&events), fold(&other));
        for side in Side::ALL {
            prop_assert_eq!(seen(&one, side), seen(&two, side));
            prop_assert_eq!(one.board(side).shape(), two.board(side).shape());
        }
        prop_assert_eq!(one.all_aside(), two.all_aside());
    }

    /// The incremental fold is the letter of the rules, after every event.
    #[test]
    fn every_step_is_what_the_rules_say_of_the_objects(events in history(true)) {
        let (mut story, mut objects) = (Story::empty(), Objects::new());
        for event in &events {
            story.event(event);
            objects.apply(event);
            for side in Side::ALL {
                let board = story.contest.board(side);
                let scale = board.shape().columns.last().unwrap().scale;
                let shown = Shown { rows: rows(&story.contest, side), problems: story.contest.problems(side), scale };
                prop_assert_eq!(shown, objects.shown(side), "{:?} after {:?}", side, event);
            }
        }
    }

    /// The version moves when something that is seen changed, and only then; and the change says what.
    #[test]
    fn the_version_moves_with_what_is_seen(events in history(true)) {
        let mut story = Story::empty();
        for event in &events {
            let before = story.contest.clone();
            let changes = story.event(event);
            for side in Side::ALL {
                let (was, is) = (seen(&before, side), seen(&story.contest, side));
                let shapes = [&before, &story.contest].map(|contest| contest.board(side).shape().clone());
                let moved = before.board(side).version() != story.contest.board(side).version();
                let change = &changes[side];
                let changed = was != is || shapes[0] != shapes[1];
                prop_assert!(moved || !changed, "{:?} changed unseen: {:?}", side, event);
                // An ordinal can change without any problem changing its place.
                let listing = matches!(event, Event::Put(Object::Problem(_)) | Event::Replace(Kind::Problems, _));
                prop_assert!(!moved || changed || listing, "{:?} moved for nothing: {:?}", side, event);
                prop_assert_eq!(change.status, was.3 != is.3);
                if !change.reshaped {
                    for (was, is) in was.2.iter().zip(&is.2).filter(|(was, is)| was != is) {
                        prop_assert_eq!(&was.id, &is.id);
                        prop_assert!(change.problems.contains(&is.id));
                    }
                }
            }
        }
    }

    /// Nothing public tells what became of a frozen submission: not even the version.
    #[test]
    fn the_public_view_does_not_depend_on_frozen_verdicts(
        events in history(false), others in vec((option::of(id(&TYPES)), option::of(score())), 70),
    ) {
        let (mut one, mut two) = (Story::empty(), Story::empty());
        for (event, (verdict, points)) in events.iter().zip(&others) {
            one.event(event);
            two.event(&with_other_verdict(event, verdict.as_ref(), *points));
            let (one, two) = (&one.contest, &two.contest);
            prop_assert_eq!(seen(one, Side::Public), seen(two, Side::Public));
            prop_assert_eq!(one.board(Side::Public).shape(), two.board(Side::Public).shape());
            prop_assert_eq!(one.board(Side::Public).version(), two.board(Side::Public).version(), "{:?}", event);
            prop_assert_eq!(feed(one, Side::Public), feed(two, Side::Public), "{:?}", event);
            prop_assert_eq!(one.awards(Side::Public), two.awards(Side::Public), "{:?}", event);
        }
    }

    /// The steps that the fold gives lead a viewer of any limit along.
    #[test]
    fn steps_lead_to_the_window_of_the_board(events in history(true), limit in option::of(1..5_usize)) {
        let mut story = Story::empty();
        let mut windows = Side::ALL.map(|side| (side, Window::of(story.contest.board(side), limit)));
        for event in &events {
            let changes = story.event(event);
            for (side, window) in &mut windows {
                let board = story.contest.board(*side);
                let change = &changes[*side];
                if change.reshaped {
                    prop_assert!(board.since(window.version(), limit).is_none(), "no delta leads across");
                    *window = Window::of(board, limit);
                } else {
                    let mut delta = match &change.step {
                        Some(step) => board.step_delta(step, limit),
                        None => Delta::empty(window.version(), board.version()),
                    };
                    delta.tied_beyond = Some(board.tied_beyond(limit));
                    window.apply(&delta).unwrap();
                }
                let expected = Window::of(board, limit);
                prop_assert_eq!(on_the_wire(window.rows()), on_the_wire(expected.rows()));
                prop_assert_eq!(window.version(), expected.version());
                prop_assert_eq!(window.total(), expected.total());
                prop_assert_eq!(window.ranks(), expected.ranks());
            }
        }
    }

    /// Whatever comes in is refused or folded.
    #[test]
    fn no_line_makes_the_fold_panic(lines in vec(any_line(), 0..40)) {
        let mut story = Story::empty();
        for line in lines {
            let line = line.to_string();
            let Ok(Some(notification)) = crate::contest::Notification::parse(line.as_bytes()) else { continue };
            if let Ok(event) = notification.event() {
                story.event(&event);
                story.contest.all_aside();
            }
        }
    }

    /// Nor does anything that is not even a notification.
    #[test]
    fn no_bytes_make_the_parser_panic(bytes in vec(any::<u8>(), 0..200)) {
        let _ = crate::contest::Notification::parse(&bytes);
    }
}
