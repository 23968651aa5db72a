//! `rankcast import`.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use reqwest::Method;
use serde_json::json;
use tempfile::TempDir;

use super::{ended, rankcast};
use crate::common::server::{Home, TestServer, object, team};

const CONTEST: &str = "/api/contests/c";

fn feed() -> Vec<String> {
    let submission = |id: &str, time: &str| {
        let data = json!({ "id": id, "team_id": "t1", "problem_id": "A", "contest_time": time });
        json!({ "type": "submissions", "id": id, "data": data }).to_string()
    };
    let judgement = |id: &str, submission: &str, verdict: &str, time: &str| {
        let data = json!({
            "id": id, "submission_id": submission, "judgement_type_id": verdict, "end_contest_time": time,
        });
        json!({ "type": "judgements", "id": id, "data": data }).to_string()
    };
    vec![
        r#"{"type":"contest","id":"feed","data":{"id":"feed","name":"Feed","duration":"5:00:00"}}"#
            .to_owned(),
        r#"{"type":"state","id":null,"data":{"started":"2026-01-01T00:00:00Z"}}"#.to_owned(),
        object("problems", "A", &[]),
        team("t1"),
        submission("s1", "0:10:07"),
        judgement("j1", "s1", "WA", "0:10:08"),
        submission("s2", "4:20:30"),
        judgement("j2", "s2", "AC", "4:20:31"),
    ]
}

fn pack(lines: &[String], about: Option<&str>) -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("event-feed.ndjson"), lines.join("\n")).expect("written");
    if let Some(about) = about {
        std::fs::write(directory.path().join("about.json"), about).expect("written");
    }
    directory
}

fn import<'a>(source: &'a Path, contest: &'a str) -> [&'a str; 4] {
    [
        "import",
        source.to_str().expect("a text"),
        "--contest",
        contest,
    ]
}

async fn values(server: &TestServer, contest: &str) -> serde_json::Value {
    server.board(contest, "public", "all").await["rows"][0]["values"].clone()
}

async fn a_directory_and_a_file_are_imported_with_the_rounding_that_is_asked_for(home: Home) {
    let server = TestServer::start(home).await;
    let plain = pack(&feed(), None);
    let said = ended(&server.command(&import(plain.path(), "plain")), 0);
    assert!(
        said.contains("plain: 8 accepted, 0 repeated, 0 refused"),
        "{said}"
    );
    assert_eq!(values(&server, "plain").await, json!([1, 280, 260]));
    let seconds = pack(&feed(), Some(r#"{"penalty_rounding":"seconds"}"#));
    ended(
        &server.command(&import(&seconds.path().join("event-feed.ndjson"), "file")),
        0,
    );
    ended(&server.command(&import(seconds.path(), "directory")), 0);
    for contest in ["file", "directory"] {
        assert_eq!(
            values(&server, contest).await,
            json!([1, 15630 + 1200, 15630]),
            "{contest}"
        );
    }
    let said = ended(&server.command(&import(seconds.path(), "directory")), 0);
    assert!(said.contains("0 accepted, 8 repeated"), "{said}");
    // A file of any name; one with a very long name too.
    let long = plain.path().join(format!("{}.ndjson", "ü".repeat(120)));
    std::fs::copy(plain.path().join("event-feed.ndjson"), &long).expect("copied");
    ended(
        &server.command(&import(&long, "a-contest-with-quite-a-long-name")),
        0,
    );
    let wrong = pack(&feed(), Some(r#"{"penalty_rounding":"hours"}"#));
    let said = ended(&server.command(&import(wrong.path(), "wrong")), 2);
    assert!(said.contains("penalty_rounding"), "{said}");
    let broken = pack(&feed(), Some("{"));
    let said = ended(&server.command(&import(broken.path(), "broken")), 2);
    assert!(said.contains("about.json: not JSON"), "{said}");
}

async fn bad_lines_are_told_by_their_numbers_in_the_file(home: Home) {
    let server = TestServer::start(home).await;
    let mut lines = feed();
    lines.insert(1, "{broken".to_owned());
    // Beyond the first request.
    lines.extend((0..2100).map(|number| team(&format!("n{number}"))));
    lines.push(r#"{"type":"teams","id":"-","data":{"id":"-"}}"#.to_owned());
    lines.push(team("last"));
    let directory = pack(&lines, None);
    let said = ended(&server.command(&import(directory.path(), "c")), 1);
    assert!(
        said.contains("2109 accepted, 0 repeated, 2 refused"),
        "{said}"
    );
    assert!(said.contains("  line 2: line: not JSON"), "{said}");
    assert!(
        said.contains("  line 2110: teams id: expected an id"),
        "{said}"
    );
    assert_eq!(server.board("c", "public", "1").await["total"], 2102);
    let rubbish = pack(&vec!["rubbish".to_owned(); 25], None);
    let said = ended(&server.command(&import(rubbish.path(), "r")), 1);
    assert!(
        said.contains("0 accepted, 0 repeated, 25 refused"),
        "{said}"
    );
    assert!(
        said.contains("line 10:") && !said.contains("line 11:") && said.contains("… and 15 more"),
        "{said}"
    );
    // What is kept aside is told, and is no fault.
    let some: Vec<String> = feed()
        .into_iter()
        .filter(|line| !line.contains("problems"))
        .collect();
    let said = ended(
        &server.command(&import(pack(&some, None).path(), "aside")),
        0,
    );
    assert!(
        said.contains("2 kept aside") && said.contains("submissions s1: no problem A"),
        "{said}"
    );
}

async fn a_replay_takes_the_contests_time_divided_by_the_speed(home: Home) {
    let server = TestServer::start(home).await;
    let directory = pack(&feed(), None);
    let began = Instant::now();
    let words = [&import(directory.path(), "c")[..], &["--speed", "10000"]].concat();
    ended(&server.command(&words), 0);
    let took = began.elapsed();
    // 4:20:31 ten thousand times as fast.
    assert!(
        took > Duration::from_millis(1500) && took < Duration::from_secs(20),
        "{took:?}"
    );
    assert_eq!(values(&server, "c").await, json!([1, 280, 260]));
    let words = [
        &import(directory.path(), "fast")[..],
        &["--speed", "100000000"],
    ]
    .concat();
    ended(&server.command(&words), 0);
    assert_eq!(values(&server, "fast").await, json!([1, 280, 260]));
}

async fn what_cannot_be_sent_is_said_before_anything_is(home: Home) {
    let server = TestServer::start(home).await;
    let empty = tempfile::tempdir().unwrap();
    for source in [
        empty.path().to_owned(),
        empty.path().join("nothing"),
        empty.path().join("nothing.ndjson"),
    ] {
        let said = ended(&server.command(&import(&source, "c")), 2);
        assert!(
            said.contains(source.to_str().unwrap()) && said.contains("event-feed.ndjson"),
            "{said}"
        );
    }
    for (url, expected) in [
        ("https://user:word@judge/api", "RANKCAST_FEED_USER"),
        ("ftp://judge/api", "http://"),
    ] {
        let said = ended(&server.command(&import(Path::new(url), "c")), 2);
        assert!(said.contains(expected) && !said.contains("word"), "{said}");
    }
    let directory = pack(&feed(), None);
    for id in ["-", "a b", "", "a/b", "a."] {
        let contest = format!("--contest={id}");
        let said = ended(
            &server.command(&["import", directory.path().to_str().unwrap(), &contest]),
            2,
        );
        assert!(said.contains("expected 1 to 36"), "{said}");
    }
    for speed in ["0", "-1", "nan", "inf", "fast", ""] {
        let speed = format!("--speed={speed}");
        let words = [&import(directory.path(), "c")[..], &[&speed]].concat();
        let said = ended(&server.command(&words), 2);
        assert!(said.contains("expected a number above 0, or max"), "{said}");
    }
    assert_eq!(server.public(CONTEST).await.status, 404);
}

async fn a_wrong_key_is_said_with_where_to_give_the_right_one(home: Home) {
    let server = TestServer::start(home).await;
    let directory = pack(&feed(), None);
    let nowhere = tempfile::tempdir().unwrap();
    for key in ["wrong", "", "  "] {
        let mut command = rankcast(&import(directory.path(), "c"));
        command
            .env("RANKCAST_SERVER", server.url(""))
            .env("RANKCAST_KEY", key)
            .env("RANKCAST_DATA", nowhere.path());
        let said = ended(&command.output().unwrap(), 2);
        assert!(
            said.contains("RANKCAST_KEY") && said.contains("401"),
            "{said}"
        );
        assert!(
            !key.starts_with('w') || !said.contains(key) || said.contains("key is wrong"),
            "{said}"
        );
    }
    assert_eq!(server.ask(Method::GET, CONTEST, "").await.status, 404);
}

both! {
    a_directory_and_a_file_are_imported_with_the_rounding_that_is_asked_for
    bad_lines_are_told_by_their_numbers_in_the_file
    a_replay_takes_the_contests_time_divided_by_the_speed
    what_cannot_be_sent_is_said_before_anything_is
    a_wrong_key_is_said_with_where_to_give_the_right_one
}

#[test]
fn a_server_that_is_away_is_said_soon() {
    let directory = pack(&feed(), None);
    let began = Instant::now();
    let words = [
        &import(directory.path(), "c")[..],
        &["--server", "http://127.0.0.1:1"],
    ]
    .concat();
    let said = ended(&rankcast(&words).output().unwrap(), 2);
    assert!(
        said.contains("http://127.0.0.1:1") && said.contains("does not answer"),
        "{said}"
    );
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
    for server in ["nonsense", "ftp://127.0.0.1", "127.0.0.1:8080"] {
        let words = [&import(directory.path(), "c")[..], &["--server", server]].concat();
        let said = ended(&rankcast(&words).output().unwrap(), 2);
        assert!(said.contains("--server"), "{said}");
    }
}
