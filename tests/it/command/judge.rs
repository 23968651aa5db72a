//! Beside a judge: `verify --against`, `doctor --judge`; and `export` to those who come after.

use std::process::Command;

use reqwest::Method;
use serde_json::json;

use crate::common::server::{Home, KEY, TestServer};

const CONTEST: &str = "/api/contests/c";

/// Two servers with the same contest; the second is the judge. The last ten minutes are frozen.
async fn both_sides(home: Home) -> [TestServer; 2] {
    let other = match &home {
        Home::Embedded(_) => Home::embedded(),
        Home::Redis(_) => Home::redis(),
    };
    let servers = [
        TestServer::start(home).await,
        TestServer::start(other).await,
    ];
    for server in &servers {
        server.make_contest("c").await;
        let contest = r#"{"name":"Test","start_time":"2026-01-01T00:00:00Z","duration":"1:00:00","scoreboard_freeze_duration":"0:10:00"}"#;
        server.ask(Method::PUT, CONTEST, contest).await;
        let teams: Vec<String> = (1..=3)
            .map(|team| json!({ "type": "teams", "id": format!("t{team}"), "data": { "id": format!("t{team}"), "name": format!("Team {team}"), "icpc_id": format!("10{team}") } }).to_string())
            .collect();
        server.post("c", &teams).await;
        server.judge("c", "j1", "t1", "A", "AC", "0:10:30").await;
        server.judge("c", "j2", "t1", "B", "AC", "0:20:45").await;
        server.judge("c", "j3", "t2", "A", "WA", "0:30:00").await;
        server.judge("c", "j4", "t2", "A", "AC", "0:55:00").await;
    }
    servers
}

/// Runs a command of the program against a server, with these words for the judge.
fn run(server: &TestServer, words: &[&str], key: bool) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rankcast"));
    command
        .args(words)
        .env("RANKCAST_SERVER", server.url(""))
        .env("RANKCAST_KEY", KEY)
        .env_remove("RANKCAST_FEED_USER")
        .env_remove("RANKCAST_FEED_KEY");
    if key {
        command.env("RANKCAST_FEED_KEY", KEY);
    }
    let output = command.output().expect("the program runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    (output.status.code(), text)
}

async fn our_boards_are_compared_with_the_judges(home: Home) {
    let [ours, judge] = both_sides(home).await;
    let url = judge.url(CONTEST);
    let verify = ["verify", "--contest", "c", "--against", &url];
    let (code, said) = run(&ours, &verify, false);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("public: 3 of 3 teams as the judge has them") && !said.contains("jury:"),
        "{said}"
    );
    let (code, said) = run(&ours, &verify, true);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("jury: 3 of 3 teams as the judge has them"),
        "{said}"
    );
    // What is frozen is not the same for the jury alone.
    judge.judge("c", "j4", "t2", "A", "WA", "0:55:00").await;
    let (code, said) = run(&ours, &verify, true);
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("public: 3 of 3 teams") && said.contains("jury: 1 of 3 teams"),
        "{said}"
    );
    assert!(
        said.contains("t2: rank is 2, the judge has 2; ")
            || said.contains("t2: solved is 1, the judge has 0"),
        "{said}"
    );
    judge.judge("c", "j4", "t2", "A", "AC", "0:55:00").await;
    // Ours counts in seconds.
    ours.ask(
        Method::PUT,
        CONTEST,
        r#"{"rankcast":{"penalty_rounding":"sum-then-minutes"}}"#,
    )
    .await;
    let (code, said) = run(&ours, &verify, true);
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("t1: penalty is 31, the judge has 30")
            && said.contains("hint: ")
            && said.contains("penalty_rounding"),
        "{said}"
    );
    let (code, said) = run(
        &ours,
        &[
            "verify",
            "--contest",
            "c",
            "--against",
            &judge.url("/api/contests/nowhere"),
        ],
        false,
    );
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("shows no scoreboard"), "{said}");
}

async fn a_judge_is_examined(home: Home) {
    let [ours, judge] = both_sides(home).await;
    let url = judge.url(CONTEST);
    let (code, said) = run(&ours, &["doctor", "--judge", &url], true);
    assert_eq!(code, Some(0), "{said}");
    for finding in [
        "ok    contest: Test",
        "ok    version: 2023-06, by rankcast",
        "ok    role: with these credentials",
        "ok    results: 4 submissions, 4 judgements",
        "ok    clock: ",
        "lines have tokens",
        "ok    feed: it goes on after a token",
        "ok    feed: an unknown token is refused",
    ] {
        assert!(said.contains(finding), "{finding}: {said}");
    }
    let (_, said) = run(&ours, &["doctor", "--judge", &url], false);
    assert!(
        said.contains("as anybody") && said.contains("3 judgements"),
        "{said}"
    );
    let (code, said) = run(
        &ours,
        &["doctor", "--judge", &judge.url("/api/contests/nowhere")],
        false,
    );
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("bad   contest: ") && said.contains("404"),
        "{said}"
    );
    let (code, said) = run(&ours, &["doctor"], false);
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("--viewers") && said.contains("--judge"),
        "{said}"
    );
}

async fn results_are_exported_in_every_form(home: Home) {
    let [ours, _] = both_sides(home).await;
    let export = |format: &str, view: &str| {
        let (code, said) = run(
            &ours,
            &[
                "export",
                "--contest",
                "c",
                "--format",
                format,
                "--view",
                view,
            ],
            false,
        );
        assert_eq!(code, Some(0), "{said}");
        said
    };
    let table = export("csv", "jury");
    assert!(table.starts_with("rank,team_id,icpc_id,name,organization,groups,solved,penalty,last_accepted,A,B\r\n1,t1,101,Team 1,,,2,30,20,1 (10),1 (20)\r\n"), "{table}");
    assert!(
        export("csv", "public").contains("2,t2,102,Team 2,,,0,0,0,1 +1,"),
        "as the public sees it"
    );
    let results = export("tsv", "jury");
    assert!(results.starts_with("results\t1\n101\t1\tGold Medal\t2\t30\t20\t\n102\t2\tGold Medal\t1\t75\t55\t\n103\t3\tRanked\t0\t0\t0\t\n"), "{results}");
    let page = export("html", "jury");
    assert!(
        page.starts_with("<!doctype html>") && page.contains("Team 1"),
        "{page}"
    );
    // The feed of an export makes the same contest again.
    let file = tempfile::NamedTempFile::new().expect("a file");
    let (code, said) = run(
        &ours,
        &[
            "export",
            "--contest",
            "c",
            "--format",
            "clics",
            "--output",
            file.path().to_str().unwrap(),
        ],
        false,
    );
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = run(
        &ours,
        &[
            "import",
            file.path().to_str().unwrap(),
            "--contest",
            "again",
        ],
        false,
    );
    assert_eq!(code, Some(0), "{said}");
    let [first, again] = [
        ours.board("c", "jury", "all").await,
        ours.board("again", "jury", "all").await,
    ];
    assert_eq!(first["rows"], again["rows"]);
    let (code, said) = run(
        &ours,
        &["export", "--contest", "nowhere", "--format", "csv"],
        false,
    );
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("404"), "{said}");
}

both! {
    our_boards_are_compared_with_the_judges
    a_judge_is_examined
    results_are_exported_in_every_form
}
