//! The whole job: a part of a real contest, watched by many. rankcast gets the events and works out what changed; its peers
//! are given the whole top 100 whenever it changed, ready-made, which costs them nothing.

use std::{fs, path::Path, time::Instant};

use anyhow::Context as _;
use rankcast::{
    board::Board,
    cli::demo::generator::Plan,
    contest::{Contest, Notification, Side},
    hub::lane::{Flushed, Lane},
    protocol::{Limit, message::WholeRow},
};
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    measure::{PAUSE, median},
    publish::{Publisher, Request},
    rankcast::{Store, authorized, place, start},
    server::{Kind, Setup},
    watch::{PATIENCE, Watchers},
};

const VIEWERS: usize = 1_000;

/// Events that are watched: from the middle of the contest, when the board is full.
const EVENTS: usize = 250;

/// How often it is measured at the most: a round takes a minute.
const ROUNDS_MAX: usize = 3;

/// Events in one post before anybody watches.
const BATCH: usize = 500;

/// What is replayed.
struct Replay {
    name: String,
    before: Vec<String>,
    watched: Vec<String>,
}

/// What a run cost.
#[derive(Clone, Debug, Serialize)]
struct Cost {
    /// Bytes that a viewer received.
    bytes: f64,
    /// CPU of the server for a viewer, in us.
    cpu_us: f64,
    /// Messages that a viewer received.
    messages: f64,
}

/// Measures, prints and answers the figures.
pub(crate) fn measure(setup: &Setup, peers: bool, rounds: usize) -> anyhow::Result<Value> {
    let replay = replay()?;
    let whole = windows(&replay)?;
    let changes = whole.iter().flatten().count();
    println!(
        "\nThe whole job: {EVENTS} events from the middle of {}, {changes} of them change the top 100; {VIEWERS} viewers:",
        replay.name
    );
    println!(
        "| server | sends | bytes a viewer | CPU a viewer | bytes, ours / it | CPU, ours / it |"
    );
    println!("|---|---|---:|---:|---:|---:|");
    let all: &[Option<Kind>] = if peers {
        &[
            None,
            Some(Kind::Bare),
            Some(Kind::Nchan),
            Some(Kind::Centrifugo),
        ]
    } else {
        &[None, Some(Kind::Bare)]
    };
    let mut costs: Vec<Vec<anyhow::Result<Cost>>> = all.iter().map(|_| Vec::new()).collect();
    for _ in 0..rounds.min(ROUNDS_MAX) {
        for (kind, costs) in all.iter().zip(&mut costs) {
            match kind {
                None => costs.push(contest(setup, &replay)),
                Some(kind) if kind.missing(setup).is_none() => {
                    costs.push(publish(*kind, setup, &whole));
                }
                Some(_) => {}
            }
        }
    }
    let mut rows = Vec::new();
    for (kind, runs) in all.iter().zip(&costs) {
        let (name, sends) = kind.map_or(("rankcast, embedded", "deltas"), |kind| {
            (kind.name(), "the whole top 100")
        });
        let good: Vec<&Cost> = runs.iter().flatten().collect();
        if good.is_empty() {
            let why = match (runs.first(), kind) {
                (Some(Err(error)), _) => format!("failed: {error:#}"),
                (_, Some(kind)) => format!("skipped: {}", kind.missing(setup).unwrap_or("?")),
                _ => "not measured".to_owned(),
            };
            println!("| {name} | {why} |");
            rows.push(json!({"server": name, "error": why}));
            continue;
        }
        let of = |figure: fn(&Cost) -> f64| median(good.iter().map(|cost| figure(cost)));
        let to = |figure: fn(&Cost) -> f64| {
            let pairs = costs[0].iter().zip(runs);
            median(pairs.filter_map(|(ours, its)| {
                Some(figure(ours.as_ref().ok()?) / figure(its.as_ref().ok()?))
            }))
        };
        let (bytes, cpu) = (to(|cost| cost.bytes), to(|cost| cost.cpu_us));
        println!(
            "| {name} | {sends} | {:.0} | {:.0} us | {bytes:.4} | {cpu:.2} |",
            of(|cost| cost.bytes),
            of(|cost| cost.cpu_us),
        );
        rows.push(json!({
            "server": name, "bytes": of(|cost| cost.bytes), "cpu_us": of(|cost| cost.cpu_us),
            "bytes_ours_to_it": bytes, "cpu_ours_to_it": cpu, "runs": good,
        }));
    }
    Ok(
        json!({"contest": replay.name, "events": EVENTS, "changes": changes, "viewers": VIEWERS, "rows": rows}),
    )
}

/// A real contest where there is one.
fn replay() -> anyhow::Result<Replay> {
    let packs = std::env::var_os("RANKCAST_DATA_PACKS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data"),
        Into::into,
    );
    let feed = packs.join("regional-352/event-feed.ndjson");
    let (name, lines): (_, Vec<String>) = if feed.is_file() {
        let text = fs::read_to_string(&feed).with_context(|| feed.display().to_string())?;
        (
            "a regional contest",
            text.lines().map(str::to_owned).collect(),
        )
    } else {
        println!(
            "no real contests here ({}): a generated one instead",
            packs.display()
        );
        let plan = Plan::new(1, 350, 13);
        let setting = String::from_utf8(plan.setting())?;
        let events = plan.events().iter().map(|(_, line)| line.clone());
        (
            "a generated contest",
            setting.lines().map(str::to_owned).chain(events).collect(),
        )
    };
    let happens = |line: &&String| {
        line.contains(r#""type":"submissions""#) || line.contains(r#""type":"judgements""#)
    };
    let first = lines
        .iter()
        .position(|line| happens(&line))
        .context("a contest without submissions")?;
    let middle = usize::midpoint(first, lines.len());
    let end = (middle + EVENTS).min(lines.len());
    Ok(Replay {
        name: name.to_owned(),
        before: lines[..middle].to_vec(),
        watched: lines[middle..end].to_vec(),
    })
}

/// The whole top 100 after each watched event, where that changed it.
fn windows(replay: &Replay) -> anyhow::Result<Vec<Option<Vec<u8>>>> {
    let mut contest = Contest::new("bench");
    let limit = Limit::Hundred;
    let fold = |contest: &mut Contest, line: &str| -> anyhow::Result<_> {
        let Some(notification) = Notification::parse(line.as_bytes())? else {
            return Ok(None);
        };
        let sequence = contest.sequence() + 1;
        Ok(
            contest.fold(sequence, &notification.event()?, false)[Side::Public]
                .step
                .clone(),
        )
    };
    for line in &replay.before {
        fold(&mut contest, line)?;
    }
    let mut lane = Lane::new(limit, contest.board(Side::Public));
    let mut windows = Vec::new();
    for line in &replay.watched {
        let step = fold(&mut contest, line)?;
        let board = contest.board(Side::Public);
        if let Some(step) = &step {
            lane.absorb(board, step);
        }
        let changed = !matches!(lane.flush(board, "bench"), Flushed::Nothing);
        windows.push(changed.then(|| window(board, limit)));
    }
    Ok(windows)
}

/// The rows as `GET board?limit=100` has them, without what stands beside them.
fn window(board: &Board, limit: Limit) -> Vec<u8> {
    #[derive(Serialize)]
    struct Out<'a> {
        version: u64,
        rows: Vec<WholeRow<'a>>,
    }
    let rows: Vec<_> = board
        .window(limit.rows())
        .map(|entry| WholeRow::of(entry))
        .collect();
    serde_json::to_vec(&Out {
        version: board.version(),
        rows,
    })
    .expect("rows are JSON")
}

/// rankcast is posted the events.
fn contest(setup: &Setup, replay: &Replay) -> anyhow::Result<Cost> {
    let dir = tempfile::tempdir()?;
    let (process, address, _) = start(&setup.rankcast, Store::Embedded, setup.cores, dir.path())?;
    let mut publisher = Publisher::connect(address)?;
    publisher.ask(&authorized("PUT", "/api/contests/bench", "{}"))?;
    let post =
        |lines: &[String]| authorized("POST", "/api/contests/bench/events", lines.join("\n"));
    for batch in replay.before.chunks(BATCH) {
        publisher.ask(&post(batch))?;
    }
    let requests = replay
        .watched
        .iter()
        .map(|line| Some(post(std::slice::from_ref(line))));
    let watchers = Watchers::connect(&place(address, "bench"), VIEWERS)?;
    play(&process, watchers, publisher, requests)
}

/// A peer is given the windows.
fn publish(kind: Kind, setup: &Setup, windows: &[Option<Vec<u8>>]) -> anyhow::Result<Cost> {
    let dir = tempfile::tempdir()?;
    let server = kind.start(setup, dir.path())?;
    let watchers = Watchers::connect(&server.place, VIEWERS)?;
    let publisher = Publisher::connect(server.publisher)?;
    let requests = windows
        .iter()
        .map(|window| Some(kind.request(window.as_ref()?)));
    play(&server.process, watchers, publisher, requests)
}

/// One event after the other, at the same pace for all: none is merged with the next.
fn play(
    process: &super::process::Process,
    mut watchers: Watchers,
    mut publisher: Publisher,
    requests: impl Iterator<Item = Option<Request>>,
) -> anyhow::Result<Cost> {
    watchers.settle(PAUSE * 4)?;
    let (seen, cpu) = (watchers.seen(), process.cpu());
    for request in requests {
        let due = Instant::now() + PAUSE;
        if let Some(request) = request {
            publisher.send(&request)?;
            // What comes in large pieces is read on before the answer is waited for.
            watchers.idle(PAUSE)?;
            publisher.answer()?;
        }
        if let Some(left) = due.checked_duration_since(Instant::now()) {
            watchers.idle(left)?;
        }
    }
    let until = Instant::now() + PATIENCE;
    while watchers.turn(PAUSE * 4, |_| {})? {
        anyhow::ensure!(Instant::now() < until, "it never ends");
    }
    let (after, viewers) = (watchers.seen(), VIEWERS as f64);
    Ok(Cost {
        bytes: (after.bytes - seen.bytes) as f64 / viewers,
        cpu_us: process.cpu().since(&cpu) as f64 / 1000.0 / viewers,
        messages: (after.messages - seen.messages) as f64 / viewers,
    })
}
