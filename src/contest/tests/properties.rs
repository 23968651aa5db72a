//! What holds for every history.

use std::collections::{BTreeMap, HashSet, VecDeque};

use proptest::{collection::vec, option, prelude::*, sample::select};
use serde_json::{Map, Value, json};

use super::{
    reference::{Objects, Shown},
    story::Story,
};
use crate::{
    board::{Delta, Entry, Id, Label, Window},
    contest::{
        Contest, Event, Kind, ProblemLine, Rounding, Scoring, Settings, Side, Status,
        event::{
            Adjustment, Group, Info, Judgement, JudgementType, Moment, Object, Organization,
            PENALTY_DEFAULT_MS, Problem, Submission, Team, Times,
        },
        settings::Thaw,
    },
};

const TEAMS: [&str; 5] = ["t1", "t2", "t3", "t4", "t5"];
const PROBLEMS: [&str; 3] = ["A", "B", "C"];
const GROUPS: [&str; 5] = ["g1", "g2", "g3", "unofficial", "nowhere"];
const TYPES: [&str; 7] = ["AC", "WA", "CE", "JE", "TLE", "ODD", "EVEN"];
/// `s…` come before the freeze, `f…` during it.
const SUBMISSIONS: [&str; 10] = ["s1", "s2", "s3", "s4", "s5", "s6", "f1", "f2", "f3", "f4"];
const JUDGEMENTS: [&str; 12] = [
    "j1", "j2", "j3", "j4", "j5", "j6", "j7", "j8", "j9", "k1", "k2", "k3",
];
const EARLY: [i64; 8] = [
    -1, 0, 59_990, 60_000, 61_001, 3_599_000, 7_200_500, 14_399_999,
];
const LATE: [i64; 5] = [14_400_000, 14_400_001, 17_000_000, 17_999_999, 18_000_000];

fn id(of: &'static [&'static str]) -> impl Strategy<Value = Id> {
    select(of).prop_map(Id::from)
}

fn info() -> impl Strategy<Value = Object> {
    (
        any::<bool>(),
        option::weighted(0.9, Just(18_000_000)),
        select(vec![None, Some(0), Some(3_600_000)]),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(points, duration, freeze, start, cheap)| {
            Object::Contest(Box::new(Info {
                points,
                duration,
                freeze,
                start: start.then_some(1_000_000),
                penalty: if cheap { 1_234 } else { PENALTY_DEFAULT_MS },
                ..Info::default()
            }))
        })
}

fn state() -> impl Strategy<Value = Object> {
    (0..6_u8).prop_map(|phase| {
        let at = |since: u8| (phase >= since).then_some(i64::from(since));
        Object::State(Times {
            started: at(1),
            frozen: at(2),
            ended: at(3),
            thawed: at(4),
            finalized: at(5),
            end_of_updates: None,
        })
    })
}

/// `thaw`: may the settings open the board?
fn settings(thaw: bool) -> impl Strategy<Value = Object> {
    let roundings = vec![
        Rounding::Minutes,
        Rounding::Seconds,
        Rounding::SumThenMinutes,
    ];
    let scorings = vec![None, Some(Scoring::Icpc), Some(Scoring::Ioi)];
    (
        select(scorings),
        select(roundings),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        option::of(1..4_usize),
    )
        .prop_map(
            move |(
                scoring,
                penalty_rounding,
                compile_error_penalty,
                auto_teams,
                upstream,
                rank_by,
            )| {
                let thaw = if thaw && upstream {
                    Thaw::Upstream
                } else {
                    Thaw::Manual
                };
                Object::Settings(Box::new(Settings {
                    scoring,
                    penalty_rounding,
                    rank_by,
                    compile_error_penalty,
                    auto_teams,
                    thaw,
                    ..Settings::default()
                }))
            },
        )
}

fn judgement_type() -> impl Strategy<Value = Object> {
    (
        id(&TYPES),
        option::of(any::<bool>()),
        option::of(any::<bool>()),
    )
        .prop_map(|(id, penalty, solved)| {
            Object::JudgementType(JudgementType {
                id,
                penalty,
                solved,
            })
        })
}

fn group() -> impl Strategy<Value = Object> {
    (id(&GROUPS), any::<bool>(), option::of(0..2_i64)).prop_map(|(id, hidden, sortorder)| {
        // Mostly visible, or nothing public would be left to compare.
        Object::Group(Group {
            name: id.to_string(),
            hidden: hidden && &*id == "g2",
            id,
            sortorder,
        })
    })
}

fn organization() -> impl Strategy<Value = Object> {
    (id(&["o1", "o2"]), id(&["x", "y"])).prop_map(|(id, name)| {
        Object::Organization(Organization {
            id,
            name: name.to_string(),
        })
    })
}

fn team() -> impl Strategy<Value = Object> {
    (
        id(&TEAMS),
        id(&["x", "y"]),
        option::of(id(&["o1", "o2"])),
        vec(id(&GROUPS), 0..3),
        0..8_u8,
    )
        .prop_map(|(id, name, organization, groups, hidden)| {
            Object::Team(Team {
                id,
                name: name.to_string(),
                organization,
                groups,
                hidden: hidden == 0,
            })
        })
}

fn problem() -> impl Strategy<Value = Object> {
    (id(&PROBLEMS), 0..3_i64).prop_map(|(id, ordinal)| {
        Object::Problem(Problem {
            label: id.to_string(),
            name: String::new(),
            id,
            ordinal,
            rgb: None,
            color: None,
        })
    })
}

fn submission() -> impl Strategy<Value = Object> {
    (
        id(&SUBMISSIONS),
        option::weighted(0.9, id(&TEAMS)),
        option::weighted(0.9, id(&PROBLEMS)),
        any::<prop::sample::Index>(),
        any::<bool>(),
    )
        .prop_map(|(id, team, problem, time, instant)| {
            let time = if id.starts_with('f') {
                *time.get(&LATE)
            } else {
                *time.get(&EARLY)
            };
            let (contest_time, time) = if instant && !id.starts_with('f') {
                (None, Some(1_000_000 + time))
            } else {
                (Some(time), None)
            };
            Object::Submission(Submission {
                id,
                team,
                problem,
                contest_time,
                time,
            })
        })
}

fn score() -> impl Strategy<Value = i64> {
    select(vec![
        0, 1_000_000, 40_000_000, 500_000, 250_000, 1, -2_000_000,
    ])
}

fn moment() -> impl Strategy<Value = Moment> {
    (option::of(0..3_i64), option::of(1_000_000..1_000_003_i64))
        .prop_map(|(contest_time, time)| Moment { contest_time, time })
}

fn judgement() -> impl Strategy<Value = Object> {
    (
        id(&JUDGEMENTS),
        id(&SUBMISSIONS),
        option::weighted(0.9, id(&TYPES)),
        0..6_u8,
        option::of(score()),
        moment(),
        moment(),
    )
        .prop_map(|(id, submission, verdict, current, score, end, start)| {
            Object::Judgement(Judgement {
                id,
                submission,
                verdict,
                current: current > 0,
                score,
                end,
                start,
            })
        })
}

fn adjustment() -> impl Strategy<Value = Object> {
    (id(&["a1", "a2"]), id(&TEAMS), -2_000_000..2_000_000_i64)
        .prop_map(|(id, team, penalty)| Object::Adjustment(Adjustment { id, team, penalty }))
}

fn of_kind(kind: Kind) -> BoxedStrategy<Object> {
    match kind {
        Kind::JudgementTypes => judgement_type().boxed(),
        Kind::Groups => group().boxed(),
        Kind::Organizations => organization().boxed(),
        Kind::Teams => team().boxed(),
        Kind::Problems => problem().boxed(),
        Kind::Judgements => judgement().boxed(),
        Kind::Adjustments => adjustment().boxed(),
        _ => submission().boxed(),
    }
}

const COLLECTIONS: [Kind; 8] = [
    Kind::JudgementTypes,
    Kind::Groups,
    Kind::Organizations,
    Kind::Teams,
    Kind::Problems,
    Kind::Submissions,
    Kind::Judgements,
    Kind::Adjustments,
];

fn delete() -> impl Strategy<Value = Event> {
    let all: Vec<(Kind, &'static str)> = [
        (Kind::JudgementTypes, &TYPES[..]),
        (Kind::Groups, &GROUPS[..]),
        (Kind::Organizations, &["o1", "o2"][..]),
        (Kind::Teams, &TEAMS[..]),
        (Kind::Problems, &PROBLEMS[..]),
        (Kind::Submissions, &SUBMISSIONS[..]),
        (Kind::Judgements, &JUDGEMENTS[..]),
        (Kind::Adjustments, &["a1", "a2"][..]),
    ]
    .into_iter()
    .flat_map(|(kind, ids)| ids.iter().map(move |id| (kind, *id)))
    .collect();
    select(all).prop_map(|(kind, id)| Event::Delete(kind, id.into()))
}

fn replace() -> impl Strategy<Value = Event> {
    select(&COLLECTIONS[..]).prop_flat_map(|kind| {
        vec(of_kind(kind), 0..5).prop_map(move |all| Event::Replace(kind, all))
    })
}

/// `opening`: may an event open the frozen board, or move the freeze?
fn event(opening: bool) -> BoxedStrategy<Event> {
    let put = |object: BoxedStrategy<Object>| object.prop_map(Event::Put).boxed();
    let contest = if opening {
        put(info().boxed())
    } else {
        put(settings(false).boxed())
    };
    let thaw = if opening {
        put(any::<bool>().prop_map(Object::Thaw).boxed())
    } else {
        put(state().boxed())
    };
    prop_oneof![
        24 => put(submission().boxed()),
        24 => put(judgement().boxed()),
        5 => put(team().boxed()),
        3 => put(problem().boxed()),
        2 => put(group().boxed()),
        1 => put(organization().boxed()),
        2 => put(judgement_type().boxed()),
        2 => put(adjustment().boxed()),
        1 => put(state().boxed()),
        2 => put(settings(opening).boxed()),
        1 => contest,
        1 => thaw,
        4 => delete(),
        2 => replace(),
        1 => Just(Event::Other),
    ]
    .boxed()
}

/// Events after a start as most contests have it, so that they meet something.
fn history(opening: bool) -> impl Strategy<Value = Vec<Event>> {
    (
        vec(event(opening), 0..60),
        select(vec![
            Rounding::Minutes,
            Rounding::Seconds,
            Rounding::SumThenMinutes,
        ]),
        any::<bool>(),
    )
        .prop_map(|(events, penalty_rounding, points)| {
            let object = |object: Object| Event::Put(object);
            let mut all = vec![
                object(Object::Contest(Box::new(Info {
                    duration: Some(18_000_000),
                    freeze: Some(3_600_000),
                    start: Some(1_000_000),
                    penalty: PENALTY_DEFAULT_MS,
                    points,
                    ..Info::default()
                }))),
                object(Object::Settings(Box::new(Settings {
                    penalty_rounding,
                    ..Settings::default()
                }))),
                object(Object::State(Times {
                    started: Some(0),
                    ..Times::default()
                })),
            ];
            for id in &PROBLEMS[..2] {
                all.push(object(Object::Problem(Problem {
                    id: (*id).into(),
                    label: (*id).into(),
                    name: String::new(),
                    ordinal: 0,
                    rgb: None,
                    color: None,
                })));
            }
            for id in &TEAMS[..3] {
                let (id, name) = ((*id).into(), (*id).into());
                all.push(object(Object::Team(Team {
                    id,
                    name,
                    organization: None,
                    groups: Vec::new(),
                    hidden: false,
                })));
            }
            all.extend(events);
            all
        })
}

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
        Event::Put(object) => {
            let kind = match object {
                Object::Contest(_) => Kind::Contest,
                Object::State(_) => Kind::State,
                Object::JudgementType(_) => Kind::JudgementTypes,
                Object::Group(_) => Kind::Groups,
                Object::Organization(_) => Kind::Organizations,
                Object::Team(_) => Kind::Teams,
                Object::Problem(_) => Kind::Problems,
                Object::Submission(_) => Kind::Submissions,
                Object::Judgement(_) => Kind::Judgements,
                Object::Settings(_) => Kind::Settings,
                Object::Adjustment(_) => Kind::Adjustments,
                Object::Thaw(_) => Kind::Thaw,
            };
            (kind, object.id().cloned())
        }
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

fn anything() -> impl Strategy<Value = Value> {
    let texts = vec![
        "",
        "t1",
        "s1",
        "j1",
        "A",
        "AC",
        "JE",
        "-1",
        "0:10:00",
        "-9999:59:59.999",
        "9999999:00:00",
        "4:30:00",
        "2026-01-01T00:00:00Z",
        "-009999-01-01T00:00:00Z",
        "9999-12-30T00:00:00Z",
        "score",
        "ioi",
        "a b",
        "é",
        "seconds",
    ];
    let numbers = vec![
        "0",
        "-1",
        "1e9",
        "-1e9",
        "0.000001",
        "9223372036854775807",
        "-9223372036854775808",
        "1e400",
        "0.1",
        "20",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        select(texts).prop_map(Value::from),
        select(numbers).prop_map(|text| serde_json::from_str(text).unwrap()),
    ];
    leaf.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            inner.prop_map(|value| json!({"id": "t1", "x": value}))
        ]
    })
}

fn any_line() -> impl Strategy<Value = Value> {
    let kinds = vec![
        "contest",
        "state",
        "judgement-types",
        "groups",
        "organizations",
        "teams",
        "problems",
        "submissions",
        "judgements",
        "rankcast",
        "rankcast-adjustments",
        "rankcast-thaw",
        "awards",
    ];
    let fields = vec![
        "name",
        "start_time",
        "duration",
        "scoreboard_freeze_duration",
        "penalty_time",
        "scoreboard_type",
        "started",
        "thawed",
        "penalty",
        "solved",
        "hidden",
        "sortorder",
        "organization_id",
        "group_ids",
        "label",
        "ordinal",
        "team_id",
        "problem_id",
        "contest_time",
        "time",
        "submission_id",
        "judgement_type_id",
        "current",
        "score",
        "end_time",
        "scoring",
        "auto_teams",
        "rank_by",
        "penalty_rounding",
    ];
    let data = prop::collection::btree_map(select(fields), anything(), 0..5).prop_map(|fields| {
        fields
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect::<Map<_, _>>()
    });
    (
        select(kinds),
        select(vec!["t1", "s1", "j1", "A", "AC"]),
        data,
        0..8_u8,
        anything(),
    )
        .prop_map(|(kind, id, mut data, form, other)| match form {
            0 => json!({"type": kind, "id": id, "data": null}),
            1 => json!({"type": kind, "id": null, "data": [data]}),
            2 => json!({"type": kind, "id": other, "data": data}),
            3 => json!({"type": kind, "id": id, "data": other}),
            _ => {
                data.entry("team_id").or_insert_with(|| "t1".into());
                data.entry("submission_id").or_insert_with(|| "s1".into());
                json!({"type": kind, "id": id, "data": data})
            }
        })
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
