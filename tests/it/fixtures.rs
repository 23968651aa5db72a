//! The delta, exactly: the same files are read here and by the tests of the page's `board.js`.
//!
//! `generated.json` is what our own diff makes of a contest; it also pins the shapes on the wire. After a change of them that is
//! meant: `UPDATE_FIXTURES=1 cargo test --test it fixtures`.

use std::{fs, path::PathBuf};

use rankcast::{
    board::{Delta, Window},
    cli::demo::generator::Plan,
    contest::{Contest, Notification, Side},
    hub::lane::{Flushed, Lane},
    protocol::{
        Limit, Message,
        message::{self, DeltaIn, FeedState, SnapshotIn, State, StoreState, WholeRow},
    },
};
use serde_json::{Value, json};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/board")
}

#[test]
fn every_fixture_is_applied_as_it_says() {
    let mut files: Vec<_> = fs::read_dir(folder())
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    assert!(files.len() >= 6, "the fixtures are there");
    for file in files {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let fixture: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        let mut window = read_snapshot(&fixture["snapshot"]).window();
        for (index, step) in fixture["steps"].as_array().unwrap().iter().enumerate() {
            let at = format!("{name}, step {index}");
            let outcome = match step["message"]["type"].as_str().unwrap() {
                "delta" => {
                    let delta: DeltaIn =
                        serde_json::from_value(step["message"].clone()).expect(&at);
                    match window.apply(&delta.into()) {
                        Ok(true) => "applied",
                        Ok(false) => "ignored",
                        Err(_) => "resume",
                    }
                }
                "snapshot" => {
                    window = read_snapshot(&step["message"]).window();
                    "applied"
                }
                _ => continue,
            };
            assert_eq!(step["outcome"], outcome, "{at}");
            let board = &step["board"];
            assert_eq!(board["version"], window.version(), "{at}");
            assert_eq!(board["total"], window.total(), "{at}");
            assert_eq!(board["ranks"], json!(window.ranks()), "{at}");
            let rows: Vec<Value> = window
                .rows()
                .iter()
                .map(|entry| json!(WholeRow::of(entry)))
                .collect();
            let expected: Vec<Value> = board["rows"]
                .as_array()
                .unwrap()
                .iter()
                .map(whole)
                .collect();
            assert_eq!(rows, expected, "{at}");
        }
    }
}

/// A row as the files may write it: without cells, or with an organization that is null.
fn whole(row: &Value) -> Value {
    let mut row = row.clone();
    let fields = row.as_object_mut().unwrap();
    fields.entry("cells").or_insert_with(|| json!({}));
    fields.entry("name").or_insert_with(|| json!(""));
    fields.entry("groups").or_insert_with(|| json!([]));
    fields.entry("official").or_insert_with(|| json!(true));
    if fields.get("organization").is_some_and(Value::is_null) {
        fields.remove("organization");
    }
    row
}

fn read_snapshot(value: &Value) -> SnapshotIn {
    let mut value = value.clone();
    for row in value["rows"].as_array_mut().unwrap() {
        *row = whole(row);
    }
    value
        .as_object_mut()
        .unwrap()
        .entry("problems")
        .or_insert_with(|| json!([]));
    let none =
        json!({ "name": "", "phase": "running", "now": "", "store": "live", "feed": "none" });
    match value.get_mut("state") {
        Some(Value::Object(state)) => {
            for (field, missing) in none.as_object().unwrap() {
                state
                    .entry(field.clone())
                    .or_insert_with(|| missing.clone());
            }
        }
        _ => value["state"] = none,
    }
    serde_json::from_value(value).unwrap()
}

#[test]
fn our_own_diff_gives_the_generated_fixture() {
    let plan = Plan::new(3, 24, 5);
    let mut contest = Contest::new("generated");
    let mut sequence = 0;
    let mut fold = |contest: &mut Contest, line: &str| {
        sequence += 1;
        let event = Notification::parse(line.as_bytes())
            .unwrap()
            .unwrap()
            .event()
            .unwrap();
        contest.fold(sequence, &event, false)
    };
    let setting = String::from_utf8(plan.setting()).unwrap();
    let start = [
        r#"{"type":"contest","id":null,"data":{"name":"Generated","duration":"0:40:00"}}"#,
        r#"{"type":"state","id":null,"data":{"started":"2026-01-01T00:00:00Z"}}"#,
    ];
    start
        .into_iter()
        .chain(setting.lines())
        .for_each(|line| drop(fold(&mut contest, line)));
    let mut events = plan.events().iter();
    events
        .by_ref()
        .take(60)
        .for_each(|(_, line)| drop(fold(&mut contest, line)));

    let limit = Limit::Ten;
    let snapshot = json!(snapshot(&contest, limit));
    let mut lane = Lane::new(limit, contest.board(Side::Public));
    let mut steps = Vec::new();
    // Three events a frame, so that frames merge steps.
    let events: Vec<_> = events.take(60).collect();
    for some in events.chunks(3) {
        for (_, line) in some {
            if let Some(step) = &fold(&mut contest, line)[Side::Public].step {
                lane.absorb(contest.board(Side::Public), step);
            }
        }
        let Flushed::Frame(frame, _) = lane.flush(contest.board(Side::Public), "e") else {
            continue;
        };
        let message: Value = serde_json::from_slice(frame.json()).unwrap();
        let window = Window::of(contest.board(Side::Public), limit.rows());
        steps.push(json!({ "message": message, "outcome": "applied", "board": {
            "version": message["version"], "total": window.total(), "ranks": window.ranks(),
            "rows": window.rows().iter().map(WholeRow::of).collect::<Vec<_>>(),
        }}));
    }
    let file = folder().join("generated.json");
    // A line a step, so that a change can be read.
    let steps: Vec<String> = steps.iter().map(Value::to_string).collect();
    let about = "made by the server's own diff of a generated contest";
    let text = format!(
        "{{\"about\": \"{about}\",\n\"snapshot\": {snapshot},\n\"steps\": [\n{}\n]}}\n",
        steps.join(",\n")
    );
    if std::env::var_os("UPDATE_FIXTURES").is_some() {
        fs::write(&file, &text).unwrap();
    }
    let kept = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        kept == text,
        "the diff, or a shape on the wire, has changed: see the head of this file"
    );
}

fn snapshot(contest: &Contest, limit: Limit) -> Value {
    let board = contest.board(Side::Public);
    let state = State {
        name: "Generated".into(),
        phase: contest.status(Side::Public).phase,
        start_time: None,
        duration_ms: Some(2_400_000),
        freeze_ms: None,
        countdown_pause_ms: None,
        now: "2026-01-01T00:10:00.000Z".into(),
        store: StoreState::Live,
        feed: FeedState::None,
        feed_since: None,
        ceremony: None,
    };
    let problems = contest.problems(Side::Public);
    let message = Message::Snapshot(Box::new(message::Snapshot {
        epoch: "e",
        version: board.version(),
        columns: &board.shape().columns,
        ids: board.shape().ids,
        ties: board.shape().ties,
        tied_beyond: board.tied_beyond(limit.rows()),
        limit: limit.rows(),
        total: board.len(),
        rows: board
            .window(limit.rows())
            .map(|entry| WholeRow::of(entry))
            .collect(),
        problems: &problems,
        state,
    }));
    serde_json::from_slice(&message.encode()).unwrap()
}

#[test]
fn deltas_read_back_as_they_were_written() {
    let delta: DeltaIn = serde_json::from_value(json!({
        "type": "delta", "from": 1, "version": 3, "gone": ["t9"], "total": 4,
        "rows": [{ "id": "t1", "values": [1, 20, 20], "cells": { "A": { "tries": 1, "time": 20, "first": true }, "B": null } }],
    }))
    .unwrap();
    let delta: Delta = delta.into();
    let text = String::from_utf8(Message::Delta(&delta).encode().to_vec()).unwrap();
    assert_eq!(
        text,
        r#"{"type":"delta","from":1,"version":3,"rows":[{"id":"t1","values":[1,20,20],"cells":{"A":{"tries":1,"time":20,"first":true},"B":null}}],"gone":["t9"],"total":4}"#
    );
}
