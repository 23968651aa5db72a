//! The collections and the event feed of the CLICS Contest API: what each asker may see, filters, tokens, and that a feed keeps up.

use std::{collections::BTreeMap, time::Duration};

use futures_util::StreamExt as _;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{CONTEST, problem};
use crate::common::{
    eventually,
    server::{Home, KEY, TestServer, http, object},
};

const COLLECTIONS: [&str; 8] = [
    "judgement-types",
    "languages",
    "groups",
    "organizations",
    "teams",
    "problems",
    "submissions",
    "judgements",
];

/// An hour, the last ten minutes frozen; one hidden team, one frozen judgement.
async fn contest(home: Home) -> TestServer {
    let server = TestServer::start(home).await;
    server.make_contest("c").await;
    let contest = r#"{"name":"Test","start_time":"2026-01-01T00:00:00Z","duration":"1:00:00","scoreboard_freeze_duration":"0:10:00"}"#;
    server.ask(Method::PUT, CONTEST, contest).await;
    let line = |kind: &str, data: Value| {
        json!({ "type": kind, "id": data["id"], "data": data }).to_string()
    };
    server
        .post(
            "c",
            &[
                line("groups", json!({ "id": "g", "name": "G", "icpc_id": "7" })),
                line("groups", json!({ "id": "staff", "name": "Staff", "hidden": true })),
                line("organizations", json!({ "id": "o", "name": "O", "country": "NOR", "secret": 1 })),
                line("teams", json!({ "id": "t1", "name": "One", "label": "1", "organization_id": "o", "group_ids": ["g"], "key_log": [] })),
                line("teams", json!({ "id": "t2", "name": "Two", "display_name": "Second", "icpc_id": "42", "group_ids": ["g"] })),
                line("teams", json!({ "id": "t9", "name": "Crew", "group_ids": ["staff"] })),
                line("submissions", json!({ "id": "s1", "team_id": "t1", "problem_id": "A", "language_id": "java", "entry_point": "Main",
                    "contest_time": "0:10:00", "files": [{ "href": "x" }], "reaction": [{ "href": "y" }] })),
                line("submissions", json!({ "id": "s2", "team_id": "t2", "problem_id": "B", "language_id": "cpp", "contest_time": "0:55:00" })),
                line("submissions", json!({ "id": "s9", "team_id": "t9", "problem_id": "A", "language_id": "rust", "contest_time": "0:11:00" })),
                line("judgements", json!({ "id": "j1", "submission_id": "s1", "judgement_type_id": "AC", "start_contest_time": "0:10:01",
                    "end_contest_time": "0:10:05", "max_run_time": 0.25 })),
                line("judgements", json!({ "id": "j2", "submission_id": "s2", "judgement_type_id": "AC", "end_contest_time": "0:56:00" })),
                line("judgements", json!({ "id": "j9", "submission_id": "s9", "judgement_type_id": "WA" })),
            ],
        )
        .await;
    server
}

async fn list(server: &TestServer, path: &str, key: bool) -> Value {
    let path = format!("{CONTEST}/{path}");
    let answer = if key {
        server.ask(Method::GET, &path, "").await
    } else {
        server.public(&path).await
    };
    assert_eq!(answer.status, 200, "{path}: {}", answer.json());
    assert_eq!(answer.header("access-control-allow-origin"), "*");
    answer.json()
}

fn ids(list: &Value) -> Vec<&str> {
    let all = list.as_array().expect("an array").iter();
    all.map(|one| one["id"].as_str().expect("an id")).collect()
}

async fn everybody_reads_what_they_may(home: Home) {
    let server = contest(home).await;
    let public = list(&server, "submissions", false).await;
    let time = |at: &str| format!("2026-01-01T{at}.000Z");
    assert_eq!(
        public,
        json!([
            { "id": "s1", "language_id": "java", "problem_id": "A", "team_id": "t1", "time": time("00:10:00"),
              "contest_time": "0:10:00.000", "entry_point": null, "files": [] },
            { "id": "s2", "language_id": "cpp", "problem_id": "B", "team_id": "t2", "time": time("00:55:00"),
              "contest_time": "0:55:00.000", "entry_point": null, "files": [] },
        ])
    );
    let judgements = list(&server, "judgements", false).await;
    assert_eq!(
        judgements,
        json!([{ "id": "j1", "submission_id": "s1", "judgement_type_id": "AC", "start_time": time("00:10:01"),
            "start_contest_time": "0:10:01.000", "end_time": time("00:10:05"), "end_contest_time": "0:10:05.000",
            "max_run_time": 0.250 }])
    );
    assert_eq!(
        ids(&list(&server, "judgements", true).await),
        ["j1", "j2", "j9"]
    );
    let jury = list(&server, "submissions", true).await;
    assert_eq!(ids(&jury), ["s1", "s2", "s9"]);
    assert_eq!(jury[0]["entry_point"], "Main");
    assert_eq!(jury[0]["files"], json!([]));
    assert_eq!(
        list(&server, "teams", false).await,
        json!([
            { "id": "t1", "name": "One", "label": "1", "organization_id": "o", "group_ids": ["g"] },
            { "id": "t2", "name": "Two", "label": "t2", "display_name": "Second", "icpc_id": "42", "organization_id": null, "group_ids": ["g"] },
        ])
    );
    assert_eq!(ids(&list(&server, "teams", true).await), ["t1", "t2", "t9"]);
    assert_eq!(
        ids(&list(&server, "teams?view=public", true).await),
        ["t1", "t2"]
    );
    assert_eq!(ids(&list(&server, "groups", false).await), ["g"]);
    assert_eq!(ids(&list(&server, "groups", true).await), ["g", "staff"]);
    assert_eq!(
        list(&server, "groups?strict=false", true).await[1]["hidden"],
        true
    );
    assert_eq!(
        list(&server, "organizations", false).await,
        json!([{ "id": "o", "name": "O", "country": "NOR" }])
    );
    // What a hidden team writes in is nobody's business.
    assert_eq!(
        ids(&list(&server, "languages", false).await),
        ["cpp", "java"]
    );
    assert_eq!(
        ids(&list(&server, "languages", true).await),
        ["cpp", "java", "rust"]
    );
    assert!(ids(&list(&server, "judgement-types", false).await).contains(&"TLE"));
    for collection in ["runs", "clarifications"] {
        assert_eq!(list(&server, collection, false).await, json!([]));
    }
    // One by one, and only those.
    assert_eq!(list(&server, "judgements/j1", false).await, judgements[0]);
    for hidden in [
        "teams/t9",
        "groups/staff",
        "submissions/s9",
        "judgements/j2",
        "judgements/j9",
        "languages/rust",
        "teams/zz",
        "submissions/XYZ-999",
    ] {
        let answer = server.public(&format!("{CONTEST}/{hidden}")).await;
        problem(&answer, 404);
    }
    assert_eq!(
        server.public(&format!("{CONTEST}/persons")).await.status,
        404
    );
    for view in ["jury", "ceremony"] {
        let answer = server.public(&format!("{CONTEST}/teams?view={view}")).await;
        assert_eq!(answer.status, 401, "{}", answer.json());
    }
    let access = list(&server, "access", false).await;
    let endpoints = access["endpoints"].as_array().expect("an array").clone();
    for name in COLLECTIONS {
        let endpoint = endpoints
            .iter()
            .find(|one| one["type"] == name)
            .expect(name);
        for object in list(&server, name, false)
            .await
            .as_array()
            .expect("an array")
        {
            for field in object.as_object().expect("an object").keys() {
                let named = endpoint["properties"]
                    .as_array()
                    .unwrap()
                    .contains(&json!(field));
                // The files of a submission are asked for by the form, and never given.
                assert!(
                    named || field == "files" || field == "entry_point",
                    "{name}: {field}"
                );
            }
        }
    }
}

async fn collections_are_filtered_by_what_they_refer_to(home: Home) {
    let server = contest(home).await;
    let of = async |query: &str| {
        let all = list(&server, query, true).await;
        ids(&all).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(of("submissions?team_id=t1").await, ["s1"]);
    assert_eq!(of("submissions?problem_id=A").await, ["s1", "s9"]);
    assert_eq!(
        of("submissions?problem_id=A&language_id=rust").await,
        ["s9"]
    );
    assert_eq!(of("submissions?team_id=nobody").await, Vec::<String>::new());
    assert_eq!(of("judgements?submission_id=s2").await, ["j2"]);
    assert_eq!(of("teams?organization_id=o").await, ["t1"]);
    assert_eq!(of("teams?organization_id=").await, ["t2", "t9"]);
}

/// A feed as far as it has been read: the objects, the token of the newest line.
#[derive(Default)]
struct Feed {
    has: BTreeMap<(String, String), Value>,
    token: String,
    lines: usize,
}

impl Feed {
    fn take(&mut self, line: &str) {
        let line: Value = serde_json::from_str(line).expect("JSON");
        for field in ["type", "id", "data", "token"] {
            assert!(line.get(field).is_some(), "{field} is there: {line}");
        }
        let text = |field: &str| line[field].as_str().unwrap_or("").to_owned();
        assert_ne!(
            self.token,
            text("token"),
            "a token of its own for each line"
        );
        self.token = text("token");
        self.lines += 1;
        let key = (text("type"), text("id"));
        if line["data"].is_null() {
            self.has.remove(&key);
        } else {
            self.has.insert(key, line["data"].clone());
        }
    }

    /// Reads all that there is now.
    async fn read(&mut self, server: &TestServer, query: &str, key: bool) {
        let since = if self.token.is_empty() {
            String::new()
        } else {
            format!("&since_token={}", self.token)
        };
        let path = format!("{CONTEST}/event-feed?stream=false&{query}{since}");
        let answer = if key {
            server.ask(Method::GET, &path, "").await
        } else {
            server.public(&path).await
        };
        let text = String::from_utf8(answer.body).expect("a text");
        assert_eq!(answer.status, 200, "{text}");
        assert_eq!(answer.headers["content-type"], "application/x-ndjson");
        text.lines().for_each(|line| self.take(line));
    }

    /// Is it what the collections list?
    async fn agrees(&self, server: &TestServer, key: bool) {
        for name in COLLECTIONS.iter().chain(&["awards"]) {
            let told = self.has.iter().filter(|((kind, _), _)| kind == name);
            let told: Vec<Value> = told.map(|(_, data)| data.clone()).collect();
            let listed = list(server, name, key).await;
            let mut listed = listed.as_array().expect("an array").clone();
            listed.sort_by_key(|one| one["id"].as_str().map(str::to_owned));
            assert_eq!(told, listed, "{name}, key {key}");
        }
        let single = |kind: &str| self.has[&(kind.to_owned(), String::new())].clone();
        assert_eq!(single("state"), list(server, "state", key).await);
        assert_eq!(single("contest"), server.public(CONTEST).await.json());
    }
}

async fn the_feed_says_what_the_collections_list(home: Home) {
    let mut server = contest(home).await;
    let mut feeds = [
        ("strict=true", false, Feed::default()),
        ("strict=true", true, Feed::default()),
    ];
    for (query, key, feed) in &mut feeds {
        feed.read(&server, query, *key).await;
        feed.agrees(&server, *key).await;
    }
    // What changes is told from there on, deletions too; a restart makes no difference.
    server.restart().await;
    let change = [
        object("teams", "t1", &[("name", "Another name")]),
        r#"{"type":"organizations","id":"o","data":null}"#.to_owned(),
        r#"{"type":"judgements","id":"j1","data":null}"#.to_owned(),
    ];
    server.post("c", &change).await;
    for (query, key, feed) in &mut feeds {
        let before = feed.lines;
        feed.read(&server, query, *key).await;
        let new = feed.lines - before;
        assert!(
            (3..40).contains(&new),
            "the changes, and the awards: {new} lines"
        );
        feed.agrees(&server, *key).await;
    }
    // The jury opens the board: the public is told what was frozen.
    let thaw = r#"{"type":"rankcast-thaw","id":null,"data":{"thawed":"2026-01-01T03:00:00Z"}}"#;
    server.post("c", &[thaw.to_owned()]).await;
    let (query, key, feed) = &mut feeds[0];
    feed.read(&server, query, *key).await;
    assert_eq!(
        feed.has[&("judgements".to_owned(), "j2".to_owned())]["judgement_type_id"],
        "AC"
    );
}

async fn unknown_tokens_are_refused(home: Home) {
    let server = contest(home).await;
    let mut feed = Feed::default();
    feed.read(&server, "", true).await;
    let jury = feed.token.clone();
    let ask = async |query: &str| {
        server
            .public(&format!("{CONTEST}/event-feed?stream=false&{query}"))
            .await
    };
    for bad in [
        "since_token=nonsense".to_owned(),
        "since_token=".to_owned(),
        "since_id=999999".to_owned(),
        "since_id=xY-99_".to_owned(),
        "since_token=other.3-p1".to_owned(),
        // Nobody learns from a token of the jury's, nor goes on with it elsewhere.
        format!("since_token={jury}"),
        "strict=maybe".to_owned(),
        "stream=maybe".to_owned(),
    ] {
        let said = problem(&ask(&bad).await, 400);
        let field = bad.split('=').next().unwrap();
        assert!(said.contains(field), "{bad}: {said}");
    }
    let epoch = jury.split('-').next().unwrap();
    problem(&ask(&format!("since_token={epoch}-p999999")).await, 400);
    assert_eq!(ask(&format!("since_token={epoch}-p1")).await.status, 200);
    assert_eq!(ask("since_token=x&view=jury").await.status, 401);
    let nowhere = server.public("/api/contests/nowhere/event-feed").await;
    assert_eq!(nowhere.status, StatusCode::NOT_FOUND);
}

async fn a_feed_goes_on(home: Home) {
    let server = contest(home).await;
    let response = http()
        .get(server.url(&format!("{CONTEST}/event-feed")))
        .bearer_auth(KEY)
        .send()
        .await
        .expect("an answer");
    let (sender, mut lines) = tokio::sync::mpsc::unbounded_channel();
    let reading = tokio::spawn(async move {
        let mut stream = response.bytes_stream();
        let mut text = Vec::new();
        while let Some(Ok(part)) = stream.next().await {
            text.extend_from_slice(&part);
            while let Some(end) = text.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = text.drain(..=end).collect();
                let _ = sender.send(String::from_utf8(line).expect("a text").trim().to_owned());
            }
        }
    });
    let mut feed = Feed::default();
    eventually("the feed has begun", async || {
        while let Ok(line) = lines.try_recv() {
            feed.take(&line);
        }
        feed.has
            .contains_key(&("judgements".to_owned(), "j9".to_owned()))
    })
    .await;
    for number in 0..20 {
        server
            .judge("c", &format!("n{number}"), "t1", "B", "WA", "0:20:00")
            .await;
    }
    eventually("all changes are told", async || {
        while let Ok(line) = lines.try_recv() {
            feed.take(&line);
        }
        (0..20).all(|number| {
            feed.has
                .contains_key(&("judgements".to_owned(), format!("n{number}")))
        })
    })
    .await;
    // It ends with its contest.
    server.ask(Method::DELETE, CONTEST, "").await;
    tokio::time::timeout(Duration::from_secs(10), reading)
        .await
        .expect("the feed ends")
        .expect("it reads on");
}

async fn there_is_room_for_so_many_who_follow(home: Home) {
    let server = TestServer::start_with(home, &["--max-feeds", "1"]).await;
    server.make_contest("c").await;
    let path = format!("{CONTEST}/event-feed");
    let first = http()
        .get(server.url(&path))
        .send()
        .await
        .expect("an answer");
    assert_eq!(first.status(), 200);
    let said = problem(&server.public(&path).await, 503);
    assert!(said.contains("--max-feeds"), "{said}");
    drop(first);
    eventually("the seat is free again", async || {
        server.public(&format!("{path}?stream=false")).await.status == 200
    })
    .await;
}

async fn a_group_has_a_scoreboard_of_its_own(home: Home) {
    let server = contest(home).await;
    let group = r#"{"type":"groups","id":"h","data":{"id":"h","name":"H"}}"#;
    server
        .post("c", &[group.to_owned(), json!({ "type": "teams", "id": "t3", "data": { "id": "t3", "name": "Three", "group_ids": ["h"] } }).to_string()])
        .await;
    server.judge("c", "k1", "t3", "A", "AC", "0:30:00").await;
    let rows = async |query: &str| {
        let board = server
            .public(&format!("{CONTEST}/scoreboard{query}"))
            .await
            .json();
        let rows = board["rows"].as_array().expect("rows").clone();
        rows.iter()
            .map(|row| {
                (
                    row["rank"].as_u64().unwrap(),
                    row["team_id"].as_str().unwrap().to_owned(),
                )
            })
            .collect::<Vec<_>>()
    };
    let named = |rank: u64, id: &str| (rank, id.to_owned());
    assert_eq!(
        rows("").await,
        [named(1, "t1"), named(2, "t3"), named(3, "t2")]
    );
    assert_eq!(rows("?group_id=h").await, [named(1, "t3")]);
    assert_eq!(rows("?group_id=g").await, [named(1, "t1"), named(2, "t2")]);
    assert_eq!(
        rows("?at=0:20:00").await,
        [named(1, "t1"), named(2, "t2"), named(2, "t3")]
    );
    for unknown in ["staff", "zz"] {
        problem(
            &server
                .public(&format!("{CONTEST}/scoreboard?group_id={unknown}"))
                .await,
            404,
        );
    }
    let staff = server
        .ask(
            Method::GET,
            &format!("{CONTEST}/scoreboard?group_id=staff"),
            "",
        )
        .await;
    assert_eq!(staff.status, 200);
}

both! {
    everybody_reads_what_they_may
    collections_are_filtered_by_what_they_refer_to
    the_feed_says_what_the_collections_list
    unknown_tokens_are_refused
    a_feed_goes_on
    there_is_room_for_so_many_who_follow
    a_group_has_a_scoreboard_of_its_own
}
