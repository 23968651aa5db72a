//! Nothing public tells what is not public: every path that anybody may read, with its headers, feeds and live frames, is the same
//! for two contests that differ only in that.

use std::{collections::BTreeSet, path::Path, time::Duration};

use futures_util::StreamExt as _;
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng, seq::IndexedRandom as _};
use reqwest::{Method, header::HeaderMap};
use serde_json::{Value, json};

use crate::common::server::{Home, TestServer, http};

const CONTEST: &str = "/api/contests/c";
const PROBLEMS: [&str; 3] = ["A", "B", "C"];
const TEAMS: usize = 12;

/// Every path that the program serves, as its own source names them.
fn paths() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/web");
    let mut paths = BTreeSet::new();
    for file in std::fs::read_dir(folder).expect("the source") {
        let text = std::fs::read_to_string(file.expect("a file").path()).expect("a text");
        // A path may stand in the line after `.route(`.
        for part in text.split(".route(").skip(1) {
            if let Some(path) = part.trim_start().strip_prefix('"') {
                paths.insert(path.split('"').next().expect("its end").to_owned());
            }
        }
    }
    for collection in [
        "judgement-types",
        "languages",
        "groups",
        "organizations",
        "teams",
        "problems",
        "submissions",
        "judgements",
        "runs",
        "clarifications",
    ] {
        paths.insert(format!("/api/contests/{{id}}/{collection}"));
        paths.insert(format!("/api/contests/{{id}}/{collection}/{{object}}"));
    }
    assert!(paths.len() > 25, "{paths:?}");
    paths
}

/// The paths with all ids that there are in the contests put in, and with what one may ask beside them.
fn questions() -> Vec<String> {
    let mut ids: Vec<String> = PROBLEMS.iter().map(|&id| id.to_owned()).collect();
    ids.extend((0..TEAMS).flat_map(|team| {
        [
            format!("t{team}"),
            format!("s{team}"),
            format!("f{team}"),
            format!("jf{team}"),
        ]
    }));
    ids.extend(
        PROBLEMS
            .iter()
            .map(|problem| format!("first-to-solve-{problem}")),
    );
    ids.extend(["winner", "gold-medal", "AC", "cpp", "g"].map(str::to_owned));
    let mut all = Vec::new();
    for path in paths() {
        let path = path.replace("{id}", "c").replace("{contest}", "c");
        if path.contains('{') {
            let (head, tail) = (
                path.split('{').next().unwrap(),
                path.rsplit('}').next().unwrap(),
            );
            all.extend(ids.iter().map(|id| format!("{head}{id}{tail}")));
        } else if path.ends_with("/event-feed") {
            all.extend(
                ["?stream=false", "?stream=false&strict=false"]
                    .map(|query| format!("{path}{query}")),
            );
        } else if path.ends_with("/live") {
            // Watched apart.
        } else if path.ends_with("/board") {
            all.extend(
                [
                    "",
                    "?limit=3",
                    "?at=0:30:00",
                    "?at=0:58:00",
                    "?at=2:00:00",
                    "?view=jury",
                ]
                .map(|query| format!("{path}{query}")),
            );
        } else if path.ends_with("/scoreboard") {
            all.extend(
                ["", "?group_id=g", "?at=0:58:00", "?view=ceremony"]
                    .map(|query| format!("{path}{query}")),
            );
        } else {
            all.push(path);
        }
    }
    all
}

/// A text without what differs between any two servers: the epoch, and the moment of asking.
fn plain(text: &str, epoch: &str) -> String {
    let text = text.replace(epoch, "EPOCH");
    let Ok(mut value) = serde_json::from_str::<Value>(&text) else {
        return text;
    };
    if value.get("rows").is_some() {
        for field in ["time", "contest_time"] {
            if value.get(field).is_some() {
                value[field] = Value::Null;
            }
        }
    }
    for field in ["now", "retry_ms"] {
        for place in ["", "/state"] {
            if let Some(moment) = value.pointer_mut(&format!("{place}/{field}")) {
                *moment = Value::Null;
            }
        }
    }
    value.to_string()
}

fn said(headers: &HeaderMap, epoch: &str) -> Vec<String> {
    let mut all: Vec<String> = headers
        .iter()
        .filter(|(name, _)| !["date", "content-length"].contains(&name.as_str()))
        .map(|(name, value)| plain(&format!("{name}: {value:?}"), epoch))
        .collect();
    all.sort();
    all
}

/// What anybody is told, path by path.
async fn told(server: &TestServer, epoch: &str) -> Vec<(String, u16, Vec<String>, String)> {
    let mut all = Vec::new();
    for path in questions() {
        let answer = server.public(&path).await;
        let body = String::from_utf8_lossy(&answer.body);
        all.push((
            path,
            answer.status.as_u16(),
            said(&answer.headers, epoch),
            plain(&body, epoch),
        ));
    }
    all
}

/// The live messages over server-sent events, up to one that has this in it.
async fn frames(server: &TestServer, last: &'static str) -> tokio::task::JoinHandle<Vec<String>> {
    let url = server.url(&format!("{CONTEST}/live?limit=10&follow=t0,t5"));
    let response = http()
        .get(url)
        .header("accept", "text/event-stream")
        .send()
        .await
        .expect("an answer");
    tokio::spawn(async move {
        let mut stream = response.bytes_stream();
        let mut text = String::new();
        while !text.contains(last) {
            let part = tokio::time::timeout(Duration::from_secs(20), stream.next()).await;
            let part = part
                .expect("it comes in time")
                .expect("the stream goes on")
                .expect("a part");
            text.push_str(&String::from_utf8_lossy(&part));
        }
        text.lines().map(str::to_owned).collect()
    })
}

fn line(kind: &str, data: &Value) -> String {
    json!({ "type": kind, "id": data["id"], "data": data }).to_string()
}

/// Two servers with the same contest; its last ten minutes are frozen.
async fn twins(homes: [Home; 2]) -> [TestServer; 2] {
    let [one, two] = homes;
    let servers = [TestServer::start(one).await, TestServer::start(two).await];
    for server in &servers {
        server.make_contest("c").await;
        let contest = r#"{"name":"Test","start_time":"2026-01-01T00:00:00Z","duration":"1:00:00","scoreboard_freeze_duration":"0:10:00",
            "rankcast":{"awards":{"gold":2,"silver":2,"bronze":2,"ranks":5,"honors":1}}}"#;
        server.ask(Method::PUT, CONTEST, contest).await;
        let mut lines = vec![
            line("problems", &json!({ "id": "C", "label": "C" })),
            line("groups", &json!({ "id": "g", "name": "G" })),
            line("groups", &json!({ "id": "h", "name": "H" })),
        ];
        for team in 0..TEAMS {
            let group = if team % 2 == 0 { "g" } else { "h" };
            lines.push(line("teams", &json!({ "id": format!("t{team}"), "name": format!("Team {team}"), "group_ids": [group] })));
            let (id, problem) = (format!("s{team}"), PROBLEMS[team % 3]);
            lines.push(line("submissions", &json!({ "id": id, "team_id": format!("t{team}"), "problem_id": problem, "language_id": "cpp", "contest_time": format!("0:{:02}:00", 10 + team) })));
            if team % 4 > 0 {
                lines.push(line("judgements", &json!({ "id": format!("j{id}"), "submission_id": id, "judgement_type_id": if team % 2 == 0 { "WA" } else { "AC" } })));
            }
        }
        for team in 0..TEAMS {
            let (id, problem) = (format!("f{team}"), PROBLEMS[(team + 1) % 3]);
            lines.push(line("submissions", &json!({ "id": id, "team_id": format!("t{team}"), "problem_id": problem, "language_id": "cpp", "contest_time": "0:55:00" })));
        }
        server.post("c", &lines).await;
    }
    servers
}

async fn epoch(server: &TestServer) -> String {
    let epoch = server.board("c", "public", "10").await["epoch"].clone();
    // That of the log, without the fold's revision.
    epoch
        .as_str()
        .expect("a text")
        .split('.')
        .next()
        .unwrap()
        .to_owned()
}

fn compare<T: PartialEq + std::fmt::Debug>(one: &[T], two: &[T]) {
    assert_eq!(one.len(), two.len());
    for (one, two) in one.iter().zip(two) {
        assert_eq!(one, two);
    }
}

async fn nothing_public_depends_on_frozen_verdicts(homes: [Home; 2]) {
    let servers = twins(homes).await;
    let mut random = StdRng::seed_from_u64(rand::random());
    let mut live = Vec::new();
    for server in &servers {
        live.push(frames(server, "Renamed").await);
    }
    // Each gets the same number of words, with other verdicts in them.
    for server in &servers {
        let mut lines = Vec::new();
        for round in 0..2 {
            for team in 0..TEAMS {
                let verdict = [Some("AC"), Some("WA"), Some("CE"), Some("TLE"), None]
                    .choose(&mut random)
                    .copied()
                    .flatten();
                let judgement = json!({ "id": format!("jf{team}"), "submission_id": format!("f{team}"), "judgement_type_id": verdict,
                    "end_contest_time": format!("0:56:{:02}", random.random_range(0..60)), "max_run_time": round });
                lines.push(line("judgements", &judgement));
            }
        }
        // Awards of the judge's that rest on frozen results.
        let winner = format!("t{}", random.random_range(0..TEAMS));
        lines.push(line(
            "awards",
            &json!({ "id": "winner", "citation": "Winner", "team_ids": [winner] }),
        ));
        server.post("c", &lines).await;
    }
    let mut answers = Vec::new();
    for server in &servers {
        answers.push(told(server, &epoch(server).await).await);
    }
    compare(&answers[0], &answers[1]);
    let open = answers[0]
        .iter()
        .filter(|(_, status, ..)| *status == 200)
        .count();
    assert!(open > 60, "most of it is to be read: {open}");

    let mut seen = Vec::new();
    for (server, frames) in servers.iter().zip(live) {
        tokio::time::sleep(Duration::from_millis(200)).await;
        server
            .post(
                "c",
                &[line(
                    "teams",
                    &json!({ "id": "t0", "name": "Renamed", "group_ids": ["g"] }),
                )],
            )
            .await;
        let epoch = epoch(server).await;
        let frames = frames.await.expect("it read on");
        let data = frames.iter().map(|line| match line.strip_prefix("data:") {
            Some(data) => plain(data.trim(), &epoch),
            None => plain(line, &epoch),
        });
        seen.push(data.collect::<Vec<_>>());
    }
    compare(&seen[0], &seen[1]);
    for server in &servers {
        assert_eq!(server.public("/metrics").await.status, 401);
    }
}

async fn before_the_start_nothing_public_depends_on_the_problems(homes: [Home; 2]) {
    let [one, two] = homes;
    let servers = [TestServer::start(one).await, TestServer::start(two).await];
    for (index, server) in servers.iter().enumerate() {
        let contest = r#"{"name":"Test","start_time":"2099-01-01T00:00:00Z","duration":"1:00:00","scoreboard_freeze_duration":"0:10:00"}"#;
        assert_eq!(server.ask(Method::PUT, CONTEST, contest).await.status, 201);
        let mut lines = vec![
            line("groups", &json!({ "id": "g", "name": "G" })),
            line("groups", &json!({ "id": "h", "name": "H" })),
        ];
        lines.extend((0..TEAMS).map(|team| {
            line(
                "teams",
                &json!({ "id": format!("t{team}"), "name": "x", "group_ids": ["g"] }),
            )
        }));
        // As many words, but three problems here, and one there.
        lines.extend(PROBLEMS.iter().map(|problem| {
            let id = if index == 0 { problem } else { "A" };
            line("problems", &json!({ "id": id, "label": problem, "name": format!("{index} {problem}"), "rgb": "#abc" }))
        }));
        server.post("c", &lines).await;
    }
    let mut answers = Vec::new();
    for server in &servers {
        answers.push(told(server, &epoch(server).await).await);
    }
    compare(&answers[0], &answers[1]);
    let problems = &answers[0]
        .iter()
        .find(|(path, ..)| path.ends_with("/problems"))
        .expect("it was asked")
        .3;
    assert_eq!(problems.trim(), "[]");
}

macro_rules! on_both {
    ($($case:ident)*) => {
        mod embedded {
            use crate::common::server::Home;
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() { super::$case([Home::embedded(), Home::embedded()]).await; })*
        }
        mod redis {
            use crate::common::server::Home;
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() { super::$case([Home::redis(), Home::redis()]).await; })*
        }
    };
}

on_both! {
    nothing_public_depends_on_frozen_verdicts
    before_the_start_nothing_public_depends_on_the_problems
}
