//! Live feeds: followed through cuts, kills and start-overs, from outside and inside the server, and held back until the thaw.

use std::{
    process::{Child, Command, Stdio},
    time::Duration,
};

use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{
    PATIENCE, eventually,
    judge::{Judge, Says},
    server::{Home, KEY, TestServer, data},
};

/// `rankcast import URL` at work; killed with the value.
struct Import(Child);

impl Import {
    fn start(
        server: &TestServer,
        judge: &Judge,
        more: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rankcast"));
        command
            .args(["import", &judge.url(), "--contest", "c"])
            .args(more)
            .env("RANKCAST_SERVER", server.url(""))
            .env("RANKCAST_KEY", KEY)
            .env_remove("RANKCAST_FEED_KEY")
            .envs(variables.iter().copied())
            .stdout(Stdio::null())
            .stderr(if std::env::var_os("SHOW").is_some() {
                Stdio::inherit()
            } else {
                Stdio::piped()
            });
        Self(command.spawn().expect("the program starts"))
    }

    /// Waits until it has ended by itself: its exit code, and what it said.
    fn ended(mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        let stderr = self.0.stderr.take().expect("it was asked for");
        let _ = std::io::Read::read_to_string(&mut std::io::BufReader::new(stderr), &mut said);
        (self.0.wait().expect("a status").code(), said)
    }
}

impl Drop for Import {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The lines of a pack's feed.
fn pack(name: &str) -> Option<Vec<String>> {
    let text =
        std::fs::read_to_string(data()?.join(name).join("event-feed.ndjson")).expect("a feed");
    Some(
        text.lines()
            .filter(|line| !line.trim().is_empty())
            .map(str::to_owned)
            .collect(),
    )
}

/// What is served of a contest, but for where in its log it is.
async fn served(server: &TestServer, contest: &str) -> [Value; 2] {
    let mut boards = [Value::Null, Value::Null];
    for (board, view) in boards.iter_mut().zip(["public", "jury"]) {
        *board = server.board(contest, view, "all").await;
        for field in ["epoch", "version", "state"] {
            board[field] = Value::Null;
        }
    }
    boards
}

/// The boards of a contest that was imported from a file of these lines.
async fn imported(server: &TestServer, lines: &[String]) -> [Value; 2] {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), lines.join("\n")).expect("it is written");
    let done = server.command(&[
        "import",
        file.path().to_str().unwrap(),
        "--contest",
        "expected",
    ]);
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    served(server, "expected").await
}

async fn ends_as(server: &TestServer, expected: &[Value; 2]) {
    let began = std::time::Instant::now();
    loop {
        let there = server.ask(Method::GET, "/api/contests/c", "").await.status == 200;
        let boards = if there {
            served(server, "c").await
        } else {
            <[Value; 2]>::default()
        };
        if boards == *expected {
            return;
        }
        if began.elapsed() > PATIENCE {
            for (is, should) in boards.iter().zip(expected) {
                assert_eq!(is["problems"], should["problems"]);
                let rows = |board: &Value| board["rows"].as_array().cloned().unwrap_or_default();
                for (is, should) in rows(is).iter().zip(rows(should).iter()) {
                    assert_eq!(is, should);
                }
                assert_eq!(is, should);
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn sequence(server: &TestServer) -> u64 {
    let report = server
        .ask(Method::GET, "/api/contests/c/verify", "")
        .await
        .json();
    assert_eq!(report["equal"], true, "{report}");
    report["sequence"].as_u64().expect("a number")
}

async fn a_feed_is_followed_through_cuts_and_forgotten_tokens(home: Home) {
    for name in [
        "clics-thawed-53",
        "clics-deletes",
        "clics-old-format",
        "regional-352",
    ] {
        let Some(lines) = pack(name) else { return };
        let home = match &home {
            Home::Embedded(_) => Home::embedded(),
            Home::Redis(_) => Home::redis(),
        };
        let server = TestServer::start(home).await;
        let expected = imported(&server, &lines).await;
        let cut = if name == "regional-352" { 2000 } else { 200 };
        let judge = Judge::start(Says {
            lines,
            cut_after: Some(cut),
            forgets: true,
            ..Says::default()
        })
        .await;
        let import = Import::start(&server, &judge, &[], &[]);
        ends_as(&server, &expected).await;
        drop(import);
        assert!(judge.says(|says| says.asked.len() > 1 && !says.forgets));
        sequence(&server).await;
    }
}

async fn a_cut_feed_goes_on_by_its_tokens(home: Home) {
    for name in ["clics-deletes", "clics-old-format"] {
        let Some(lines) = pack(name) else { return };
        let home = match &home {
            Home::Embedded(_) => Home::embedded(),
            Home::Redis(_) => Home::redis(),
        };
        let mut server = TestServer::start(home).await;
        let expected = imported(&server, &lines).await;
        let judge = Judge::start(Says {
            lines,
            cut_after: Some(200),
            ..Says::default()
        })
        .await;
        // The importer is killed on the way, and so is the server.
        let import = Import::start(&server, &judge, &[], &[]);
        eventually("some of it has come", async || {
            judge.says(|says| says.asked.len()) > 2
        })
        .await;
        drop(import);
        let import = Import::start(&server, &judge, &[], &[]);
        server.restart().await;
        ends_as(&server, &expected).await;
        drop(import);
        let asked = judge.says(|says| says.asked.clone());
        let since = if name == "clics-deletes" {
            "since_token="
        } else {
            "since_id="
        };
        assert!(asked.iter().any(|asked| asked.contains(since)), "{asked:?}");
    }
}

fn line(kind: &str, token: usize, data: &Value) -> String {
    json!({ "type": kind, "id": data["id"], "data": data, "token": token.to_string() }).to_string()
}

/// A small feed: two teams, of which one solves A at the second attempt.
fn small() -> Vec<String> {
    let contest = json!({ "name": "X", "start_time": "2026-01-01T00:00:00Z", "duration": "5:00:00", "scoreboard_freeze_duration": "1:00:00" });
    let judgement = |verdict: Option<&str>| json!({ "id": "j2", "submission_id": "s2", "judgement_type_id": verdict });
    let submission = |id: &str, team: &str, time: &str| json!({ "id": id, "team_id": team, "problem_id": "A", "contest_time": time });
    vec![
        line("contest", 1, &contest),
        line("state", 2, &json!({ "started": "2026-01-01T00:00:00Z" })),
        line("problems", 3, &json!({ "id": "A", "label": "A" })),
        line("teams", 4, &json!({ "id": "t1", "name": "One" })),
        line("teams", 5, &json!({ "id": "t2", "name": "Two" })),
        line("submissions", 6, &submission("s1", "t1", "0:10:00")),
        line(
            "judgements",
            7,
            &json!({ "id": "j1", "submission_id": "s1", "judgement_type_id": "WA" }),
        ),
        line("submissions", 8, &submission("s2", "t1", "0:20:00")),
        line("judgements", 9, &judgement(None)),
        line("judgements", 10, &judgement(Some("AC"))),
        line("submissions", 11, &submission("s3", "t2", "0:30:00")),
    ]
}

async fn a_start_over_leaves_no_ghosts_and_takes_no_step_back(home: Home) {
    let server = TestServer::start(home).await;
    let judge = Judge::start(Says {
        lines: small(),
        ..Says::default()
    })
    .await;
    let import = Import::start(&server, &judge, &[], &[]);
    eventually("all of it has come", async || {
        let board = server
            .ask(Method::GET, "/api/contests/c/board?view=jury", "")
            .await
            .json();
        board["rows"][0]["values"] == json!([1, 40, 20])
            && board["rows"][1]["cells"]["A"]["pending"] == 1
    })
    .await;
    let before = sequence(&server).await;
    // Something by hand that the feed knows nothing of.
    let award = json!({ "type": "awards", "id": "spirit", "data": { "id": "spirit", "citation": "Spirit", "team_ids": ["t2"] } });
    server.post("c", &[award.to_string()]).await;
    drop(import);
    // The judge begins anew: tokens mean something else, a team and its submission are gone, another name.
    let mut lines = small();
    lines.retain(|line| !line.contains("\"t2\""));
    lines[3] = line("teams", 4, &json!({ "id": "t1", "name": "One renamed" }));
    judge.says(|says| {
        says.lines = lines;
        says.without_tokens = true;
    });
    let import = Import::start(&server, &judge, &[], &[]);
    eventually("the new feed holds", async || {
        let board = server.board("c", "jury", "all").await;
        board["rows"].as_array().unwrap().len() == 1 && board["rows"][0]["name"] == "One renamed"
    })
    .await;
    // One award, one name, two objects gone, one mark: nothing else was said, no old state of a judgement among it.
    assert_eq!(sequence(&server).await, before + 5);
    assert_eq!(
        server
            .ask(Method::GET, "/api/contests/c/awards/spirit", "")
            .await
            .status,
        200
    );
    let board = server.board("c", "jury", "all").await;
    assert_eq!(board["rows"][0]["values"], json!([1, 40, 20]));
    // And it goes on from there.
    judge.says(|says| {
        says.without_tokens = false;
        says.lines
            .push(line("teams", 12, &json!({ "id": "t3", "name": "Three" })));
    });
    eventually("it goes on", async || {
        server.board("c", "jury", "all").await["rows"]
            .as_array()
            .unwrap()
            .len()
            == 2
    })
    .await;
    drop(import);
    // The next start asks for what came after that.
    let import = Import::start(&server, &judge, &[], &[]);
    eventually("it asks by its token", async || {
        judge.says(|says| {
            says.asked
                .last()
                .is_some_and(|asked| asked.ends_with("since_token=12"))
        })
    })
    .await;
    drop(import);
}

async fn a_feed_without_tokens_is_folded_before_it_is_told(home: Home) {
    let server = TestServer::start(home).await;
    let lines: Vec<String> = small()
        .iter()
        .map(|line| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            line.as_object_mut().unwrap().remove("token");
            line.to_string()
        })
        .collect();
    let judge = Judge::start(Says {
        lines,
        ..Says::default()
    })
    .await;
    let import = Import::start(&server, &judge, &[], &[]);
    eventually("all of it has come", async || {
        server
            .ask(Method::GET, "/api/contests/c/board?view=jury", "")
            .await
            .json()["rows"][1]["cells"]["A"]["pending"]
            == 1
    })
    .await;
    drop(import);
    let before = sequence(&server).await;
    let import = Import::start(&server, &judge, &[], &[]);
    eventually("it was read again", async || {
        judge.says(|says| says.asked.len()) == 2
    })
    .await;
    judge.says(|says| {
        says.lines
            .push(line("teams", 1, &json!({ "id": "t3", "name": "Three" })));
    });
    eventually("and goes on", async || {
        server.board("c", "jury", "all").await["rows"]
            .as_array()
            .unwrap()
            .len()
            == 3
    })
    .await;
    assert_eq!(
        sequence(&server).await,
        before + 1,
        "what was known is not said again"
    );
    drop(import);
}

async fn the_judge_wants_to_know_who_asks(home: Home) {
    let server = TestServer::start(home).await;
    // user:word
    let judge = Judge::start(Says {
        lines: small(),
        wants: Some("Basic dXNlcjp3b3Jk".to_owned()),
        ..Says::default()
    })
    .await;
    let (code, said) = Import::start(&server, &judge, &[], &[]).ended();
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("401") && said.contains("RANKCAST_FEED_USER"),
        "{said}"
    );
    let import = Import::start(
        &server,
        &judge,
        &[],
        &[
            ("RANKCAST_FEED_USER", "user"),
            ("RANKCAST_FEED_PASSWORD", "word"),
        ],
    );
    eventually("it is let in", async || {
        server
            .ask(Method::GET, "/api/contests/c/board", "")
            .await
            .json()["total"]
            == 2
    })
    .await;
    drop(import);
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), "key\n").expect("it is written");
    judge.says(|says| {
        says.wants = Some("Bearer key".to_owned());
        says.lines
            .push(line("teams", 12, &json!({ "id": "t3", "name": "Three" })));
    });
    let import = Import::start(
        &server,
        &judge,
        &["--feed-auth", file.path().to_str().unwrap()],
        &[],
    );
    eventually("a key does as well", async || {
        server.board("c", "public", "all").await["total"] == 3
    })
    .await;
    drop(import);
    // What is no feed is said to be none.
    for (lines, expected) in [(
        vec!["<!doctype html><p>".to_owned()],
        "begins with \"<!doctype html><p>\"",
    )] {
        let judge = Judge::start(Says {
            lines,
            ..Says::default()
        })
        .await;
        let (code, said) = Import::start(&server, &judge, &[], &[]).ended();
        // The contest has something already: nothing but the first line counts.
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(expected), "{said}");
    }
}

async fn the_end_of_updates_ends_it(home: Home) {
    let server = TestServer::start(home).await;
    let mut lines = small();
    lines.push("rubbish".to_owned());
    lines.push(line("state", 12, &json!({ "started": "2026-01-01T00:00:00Z", "ended": "2026-01-01T05:00:00Z", "end_of_updates": "2026-01-01T06:00:00Z" })));
    let judge = Judge::start(Says {
        lines,
        ..Says::default()
    })
    .await;
    let (code, said) = Import::start(&server, &judge, &[], &[]).ended();
    assert_eq!(code, Some(1), "a line could not be taken: {said}");
    assert_eq!(server.board("c", "jury", "all").await["total"], 2);
    assert_eq!(
        server.board("c", "jury", "all").await["state"]["phase"],
        "ended"
    );
}

async fn a_server_follows_a_feed_by_itself(home: Home) {
    let judge = Judge::start(Says {
        lines: small(),
        ..Says::default()
    })
    .await;
    let follow = format!("c={}", judge.url());
    let mut server =
        TestServer::start_with(home, &["--follow", &follow, "--feed-timeout", "2"]).await;
    eventually("it has come", async || {
        server.public("/api/contests/c/board").await.json()["total"] == 2
    })
    .await;
    let state =
        async |server: &TestServer| server.board("c", "public", "10").await["state"].clone();
    eventually("the feed is live", async || {
        state(&server).await["feed"] == "live"
    })
    .await;
    assert_eq!(
        server.public("/readyz").await.json()["feeds"],
        json!({ "c": "live" })
    );
    eventually("it is connected", async || {
        server
            .metric("rankcast_feed_connected{contest=\"c\"}")
            .await
            > 0.0
    })
    .await;
    assert!(
        server
            .metric("rankcast_feed_lines_total{contest=\"c\"}")
            .await
            >= 11.0
    );
    server
        .metric("rankcast_feed_lag_seconds{contest=\"c\"}")
        .await;
    // Decided here, the two would part.
    let adjustment = json!({ "team_id": "t1", "penalty": 5, "reason": "r", "by": "b" }).to_string();
    let refused = server
        .ask(Method::POST, "/api/contests/c/adjustments", adjustment)
        .await;
    assert_eq!(refused.status, 409, "{}", refused.json());
    // After a restart it goes on by the token.
    server.restart().await;
    eventually("it asks by its token", async || {
        judge.says(|says| {
            says.asked
                .last()
                .is_some_and(|asked| asked.ends_with("since_token=11"))
        })
    })
    .await;
    judge.says(|says| {
        says.lines
            .push(line("teams", 12, &json!({ "id": "t3", "name": "Three" })));
    });
    eventually("it goes on", async || {
        server.board("c", "public", "all").await["total"] == 3
    })
    .await;
    // A judge that says nothing any more is noticed, and told to all who watch.
    drop(judge);
    eventually("the feed is silent", async || {
        let state = state(&server).await;
        state["feed"] == "silent" && state["feed_since"].is_string()
    })
    .await;
    assert_eq!(
        server.public("/readyz").await.json()["feeds"],
        json!({ "c": "silent" })
    );
}

/// Is that text anywhere in what the server keeps?
fn is_kept(home: &Home, text: &str) -> bool {
    let holds = |bytes: &[u8]| {
        bytes
            .windows(text.len())
            .any(|some| some == text.as_bytes())
    };
    match home {
        Home::Embedded(folder) => {
            let files = std::fs::read_dir(folder.path())
                .expect("a folder")
                .map(|file| file.expect("a file").path());
            let mut any = 0;
            let found = files.filter(|file| file.is_file()).any(|file| {
                any += 1;
                holds(&std::fs::read(file).expect("its bytes"))
            });
            assert!(any > 0, "something is kept");
            found
        }
        Home::Redis(redis) => holds(&redis.dump()),
    }
}

async fn a_relay_lets_no_frozen_verdict_out_before_the_thaw(home: Home) {
    let mut lines = small();
    for number in 0..20 {
        let (submission, judgement) = (format!("frozen-s{number}"), format!("frozen-j{number}"));
        lines.push(line("submissions", 100 + number, &json!({ "id": submission, "team_id": "t2", "problem_id": "A", "contest_time": "4:30:00",
            "reaction": [{ "href": "the-reaction" }] })));
        lines.push(line(
            "judgements",
            200 + number,
            &json!({ "id": judgement, "submission_id": submission, "judgement_type_id": "AC" }),
        ));
        lines.push(line("runs", 300 + number, &json!({ "id": format!("frozen-r{number}"), "judgement_id": judgement, "judgement_type_id": "AC" })));
    }
    lines.push(line(
        "awards",
        400,
        &json!({ "id": "frozen-award", "citation": "x", "team_ids": ["t2"] }),
    ));
    let server = TestServer::start(home.clone()).await;
    let judge = Judge::start(Says {
        lines: lines.clone(),
        ..Says::default()
    })
    .await;
    let relay = Import::start(&server, &judge, &["--hold-frozen"], &[]);
    let pending = async || {
        let board = server
            .ask(Method::GET, "/api/contests/c/board?view=jury", "")
            .await
            .json();
        let rows = board["rows"].as_array().cloned().unwrap_or_default();
        rows.iter()
            .find(|row| row["id"] == "t2")
            .map_or(json!(null), |row| row["cells"]["A"]["pending"].clone())
    };
    eventually("the frozen submissions have come", async || {
        pending().await == 21
    })
    .await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(
        is_kept(&home, "frozen-s19"),
        "the search finds what is there"
    );
    for secret in ["frozen-j", "frozen-r", "frozen-award", "the-reaction"] {
        assert!(!is_kept(&home, secret), "{secret} has left the building");
    }
    // A relay that is killed loses nothing of what it held.
    drop(relay);
    let relay = Import::start(&server, &judge, &["--hold-frozen"], &[]);
    eventually("it has begun again", async || {
        judge.says(|says| says.asked.len()) == 2
    })
    .await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(!is_kept(&home, "frozen-j"));
    let thaw = line(
        "state",
        500,
        &json!({ "started": "2026-01-01T00:00:00Z", "ended": "2026-01-01T05:00:00Z", "thawed": "2026-01-01T05:30:00Z" }),
    );
    lines.push(thaw.clone());
    judge.says(|says| says.lines.push(thaw));
    let expected = imported(&server, &lines).await;
    ends_as(&server, &expected).await;
    drop(relay);
}

async fn one_rankcast_follows_another(home: Home) {
    let Some(lines) = pack("clics-thawed-53") else {
        return;
    };
    let other = match &home {
        Home::Embedded(_) => Home::embedded(),
        Home::Redis(_) => Home::redis(),
    };
    let mut first = TestServer::start(home).await;
    let settings = r#"{"rankcast":{"thaw":"upstream"}}"#;
    first.ask(Method::PUT, "/api/contests/c", settings).await;
    let half = lines.len() / 2;
    first.post("c", &lines[..half]).await;
    let follow = format!("c={}", first.url("/api/contests/c/event-feed?strict=false"));
    let key = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(key.path(), KEY).expect("it is written");
    let second = TestServer::start_with(
        other,
        &[
            "--follow",
            &follow,
            "--feed-auth",
            key.path().to_str().unwrap(),
        ],
    )
    .await;
    eventually("the first half has come", async || {
        second
            .ask(Method::GET, "/api/contests/c/board?view=jury&limit=1", "")
            .await
            .json()["total"]
            .as_u64()
            > Some(0)
    })
    .await;
    second.ask(Method::PUT, "/api/contests/c", settings).await;
    first.restart().await;
    first.post("c", &lines[half..]).await;
    first.restart().await;
    let expected = served(&first, "c").await;
    ends_as(&second, &expected).await;
}

both! {
    a_feed_is_followed_through_cuts_and_forgotten_tokens
    a_cut_feed_goes_on_by_its_tokens
    a_start_over_leaves_no_ghosts_and_takes_no_step_back
    a_feed_without_tokens_is_folded_before_it_is_told
    the_judge_wants_to_know_who_asks
    the_end_of_updates_ends_it
    a_server_follows_a_feed_by_itself
    a_relay_lets_no_frozen_verdict_out_before_the_thaw
    one_rankcast_follows_another
}
