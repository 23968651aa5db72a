//! Random contests: events over a few objects, so that they meet often.

use proptest::{collection::vec, option, prelude::*, sample::select};

use crate::{
    board::Id,
    contest::{
        Event, Kind, Rounding, Scoring, Settings,
        event::{
            Adjustment, Group, Info, Judgement, JudgementType, Moment, Object, Organization,
            PENALTY_DEFAULT_MS, Problem, Submission, Team, Times,
        },
        settings::{Interval, ProblemScore, Thaw},
    },
};

const TEAMS: [&str; 5] = ["t1", "t2", "t3", "t4", "t5"];
const PROBLEMS: [&str; 3] = ["A", "B", "C"];
const GROUPS: [&str; 5] = ["g1", "g2", "g3", "unofficial", "nowhere"];
pub(super) const TYPES: [&str; 7] = ["AC", "WA", "CE", "JE", "TLE", "ODD", "EVEN"];
/// `s…` come before the freeze, `f…` during it.
const SUBMISSIONS: [&str; 10] = ["s1", "s2", "s3", "s4", "s5", "s6", "f1", "f2", "f3", "f4"];
const JUDGEMENTS: [&str; 12] = [
    "j1", "j2", "j3", "j4", "j5", "j6", "j7", "j8", "j9", "k1", "k2", "k3",
];
const EARLY: [i64; 8] = [
    -1, 0, 59_990, 60_000, 61_001, 3_599_000, 7_200_500, 14_399_999,
];
const LATE: [i64; 5] = [14_400_000, 14_400_001, 17_000_000, 17_999_999, 18_000_000];

pub(super) fn id(of: &'static [&'static str]) -> impl Strategy<Value = Id> {
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
        any::<bool>(),
        select(vec![
            vec![],
            vec![(0, 60_000)],
            vec![(3_000_000, 3_600_000), (14_000_000, 15_000_000)],
        ]),
    )
        .prop_map(
            move |(
                scoring,
                penalty_rounding,
                compile_error_penalty,
                auto_teams,
                upstream,
                rank_by,
                last,
                removed,
            )| {
                let removed = if thaw { removed } else { Vec::new() };
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
                    problem_score: if last {
                        ProblemScore::Last
                    } else {
                        ProblemScore::Best
                    },
                    // Moved to before the freeze, `f…` would not be frozen.
                    removed_intervals: removed
                        .into_iter()
                        .map(|(start, end)| Interval { start, end })
                        .collect(),
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
                passed: None,
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
            passed: None,
        })
    })
}

fn organization() -> impl Strategy<Value = Object> {
    (id(&["o1", "o2"]), id(&["x", "y"])).prop_map(|(id, name)| {
        Object::Organization(Organization {
            id,
            name: name.to_string(),
            passed: None,
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
                passed: None,
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
            passed: None,
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
                language: None,
                entry_point: None,
            })
        })
}

pub(super) fn score() -> impl Strategy<Value = i64> {
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
                max_run_time: None,
            })
        })
}

fn adjustment() -> impl Strategy<Value = Object> {
    (id(&["a1", "a2"]), id(&TEAMS), -2_000_000..2_000_000_i64).prop_map(|(id, team, penalty)| {
        Object::Adjustment(Adjustment {
            id,
            team,
            penalty,
            reason: None,
            by: None,
            time: None,
        })
    })
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
pub(super) fn history(opening: bool) -> impl Strategy<Value = Vec<Event>> {
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
                    passed: None,
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
                    passed: None,
                })));
            }
            all.extend(events);
            all
        })
}
