//! What one update costs, from event to frame.
//!
//! `cargo bench --bench update`. Compares an update late in a large contest with one early in it, in one run.

use std::{hint::black_box, time::Instant};

use rankcast::{
    contest::{Contest, Event, Notification, Side},
    hub::lane::{Flushed, Lane},
    protocol::Limit,
};

const TEAMS: usize = 300;
const PROBLEMS: usize = 12;
/// Submissions of the contest, and of the one team that sent in most.
const SUBMISSIONS: usize = 50_000;
const OF_ONE_TEAM: usize = 5_000;

fn main() {
    late_against_early();
}

fn event(line: &str) -> Event {
    Notification::parse(line.as_bytes())
        .expect("a good line")
        .expect("a line")
        .event()
        .expect("a good event")
}

/// A contest with teams and problems, and the events of its submissions.
fn contest() -> (Contest, Vec<Event>) {
    let mut contest = Contest::new("bench");
    let mut setting = vec![
        r#"{"type":"contest","id":null,"data":{"duration":"100:00:00"}}"#.to_owned(),
        r#"{"type":"state","id":null,"data":{"started":"2026-01-01T00:00:00Z"}}"#.to_owned(),
    ];
    setting.extend((0..PROBLEMS).map(|n| {
        format!(r#"{{"type":"problems","id":"p{n}","data":{{"id":"p{n}","ordinal":{n}}}}}"#)
    }));
    setting.extend((0..TEAMS).map(|n| {
        format!(r#"{{"type":"teams","id":"t{n}","data":{{"id":"t{n}","name":"Team {n}"}}}}"#)
    }));
    for (index, line) in setting.iter().enumerate() {
        contest.fold(index as u64 + 1, &event(line), false);
    }
    let mut events = Vec::with_capacity(SUBMISSIONS * 2);
    for number in 0..SUBMISSIONS {
        // Every tenth is of the busy team, on one problem that it never solves.
        let busy = number % (SUBMISSIONS / OF_ONE_TEAM) == 0;
        let (team, problem) = if busy {
            (0, 0)
        } else {
            (1 + number * 7 % (TEAMS - 1), number * 5 % PROBLEMS)
        };
        let verdict = if !busy && number % 9 == 1 { "AC" } else { "WA" };
        let seconds = number * 6;
        let at = format!(
            "{}:{:02}:{:02}",
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60
        );
        events.push(event(&format!(
            r#"{{"type":"submissions","id":"s{number}","data":{{"id":"s{number}","team_id":"t{team}","problem_id":"p{problem}","contest_time":"{at}"}}}}"#
        )));
        events.push(event(&format!(
            r#"{{"type":"judgements","id":"j{number}","data":{{"id":"j{number}","submission_id":"s{number}","judgement_type_id":"{verdict}"}}}}"#
        )));
    }
    (contest, events)
}

/// Folds an event and makes the frame of the top 100, as the hub does.
fn update(contest: &mut Contest, lane: &mut Lane, event: &Event) -> Option<usize> {
    let change = contest.fold(contest.sequence() + 1, event, false);
    let board = contest.board(Side::Public);
    if let Some(step) = &change[Side::Public].step {
        lane.absorb(board, step);
    }
    match lane.flush(board, "epoch") {
        Flushed::Nothing => None,
        Flushed::Frame(frame, _) => Some(frame.json().len()),
        Flushed::TooLarge(bytes) => Some(bytes),
    }
}

/// An update of the busy team, early and late: the cost must not grow with what the team or the contest has behind it.
fn late_against_early() {
    let (mut contest, events) = contest();
    let mut lane = Lane::new(Limit::Hundred, contest.board(Side::Public));
    let mut busy: Vec<u128> = Vec::new();
    let mut others: Vec<u128> = Vec::new();
    for (index, pair) in events.chunks(2).enumerate() {
        let began = Instant::now();
        for event in pair {
            black_box(update(&mut contest, &mut lane, event));
        }
        let times = if index % (SUBMISSIONS / OF_ONE_TEAM) == 0 {
            &mut busy
        } else {
            &mut others
        };
        times.push(began.elapsed().as_nanos());
    }
    println!(
        "\none submission and its verdict, fold to frame, median of 500; {TEAMS} teams, {SUBMISSIONS} submissions:"
    );
    for (who, times) in [
        ("the team with 5,000 submissions", &busy),
        ("all others", &others),
    ] {
        // The very first ones warm the caches.
        let (first, last) = (
            median(&times[500..1000]),
            median(&times[times.len() - 500..]),
        );
        println!(
            "  {who}: early {first:.1} us, at the end {last:.1} us, ratio {:.2}",
            last / first
        );
    }
}

fn median(times: &[u128]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2] as f64 / 1000.0
}
