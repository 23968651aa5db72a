//! The ceremony over real sockets: who sees what of it, on one server and on two.

use std::time::{Duration, Instant};

use rankcast::protocol::message::SnapshotIn;
use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{
    PATIENCE, eventually, eventually_within,
    redis::RedisServer,
    server::{Answer, Home, TestServer, data, object},
    viewer::{Habits, Viewer},
};

const CONTEST: &str = "/api/contests/c";

async fn ceremony(server: &TestServer, action: Value) -> Answer {
    let path = format!("{CONTEST}/ceremony");
    server.ask(Method::POST, &path, action.to_string()).await
}

/// Does it, and answers what is shown then.
async fn done(server: &TestServer, action: Value) -> Value {
    let answer = ceremony(server, action).await;
    assert_eq!(answer.status, 200, "{}", answer.json());
    answer.json()["ceremony"].clone()
}

fn snapshot(board: &Value) -> SnapshotIn {
    serde_json::from_value(board.clone()).expect("a snapshot")
}

async fn watch(server: &TestServer, view: &str) -> Viewer {
    let ticket = server
        .ask(Method::POST, "/api/tickets", r#"{"contest":"c"}"#)
        .await
        .json();
    let ticket = ticket["ticket"].as_str().expect("a ticket").to_owned();
    let query = format!("view={view}&limit=100&ticket={ticket}");
    Viewer::watch(vec![server.url("")], CONTEST, &query, Habits::default())
}

async fn settles(viewer: &Viewer, server: &TestServer, view: &str) {
    eventually_within(PATIENCE * 3, "the viewer has what is served", async || {
        viewer.has(&snapshot(&server.board("c", view, "100").await))
    })
    .await;
}

/// The rows and statistics alone.
async fn shown(server: &TestServer, view: &str) -> (Value, Value) {
    let board = server.board("c", view, "all").await;
    (board["rows"].clone(), board["problems"].clone())
}

/// Three teams; the second and third have frozen results that turn the order round. Ended.
async fn ended_contest(home: Home) -> TestServer {
    let server = TestServer::start_with_teams(home, 3, &[]).await;
    server.judge("c", "j1", "t0", "A", "AC", "0:10:00").await;
    server.judge("c", "j2", "t1", "A", "AC", "0:20:00").await;
    server.judge("c", "j3", "t1", "B", "AC", "0:55:00").await;
    server.judge("c", "j4", "t2", "A", "AC", "0:56:00").await;
    server.judge("c", "j5", "t2", "B", "AC", "0:57:00").await;
    let ended = r#"{"type":"state","data":{"started":"2026-01-01T00:00:00Z","frozen":"2026-01-01T00:50:00Z","ended":"2026-01-01T01:00:00Z"}}"#;
    server.post("c", &[ended.to_owned()]).await;
    server
}

/// What everybody is told of a scene: all but the number of steps, which is for the jury and the hall.
fn told(scene: &Value) -> Value {
    let mut scene = scene.clone();
    if let Some(scene) = scene.as_object_mut() {
        scene.remove("steps");
    }
    scene
}

async fn each_sees_what_it_may_at_every_step(home: Home) {
    let server = ended_contest(home).await;
    let (public, hall) = (
        watch(&server, "public").await,
        watch(&server, "ceremony").await,
    );
    let mut late = Vec::new();
    let frozen = shown(&server, "public").await;
    let scene = done(&server, json!({"action": "start"})).await;
    assert_eq!(
        (&scene["mode"], &scene["step"], &scene["shows"]),
        (&json!("live"), &json!(0), &json!("start"))
    );
    let steps = scene["steps"].as_u64().expect("a number");
    for step in 1..=steps {
        let scene = done(&server, json!({"action": "next", "from": step - 1})).await;
        assert_eq!(scene["step"], step);
        late.push(watch(&server, "ceremony").await);
        for (viewer, view) in late
            .iter()
            .map(|late| (late, "ceremony"))
            .chain([(&hall, "ceremony"), (&public, "public")])
        {
            settles(viewer, &server, view).await;
            eventually("and the scene", async || {
                viewer.look(|seen| {
                    let last = seen.states.last().map(|state| &state["ceremony"]);
                    last.is_some_and(|last| told(last) == told(&scene))
                })
            })
            .await;
        }
        assert_eq!(
            shown(&server, "ceremony").await,
            shown(&server, "public").await
        );
    }
    assert_eq!(
        shown(&server, "ceremony").await,
        shown(&server, "jury").await
    );
    let end = done(&server, json!({"action": "next"})).await;
    assert_eq!(end["step"], steps, "the end is the end");
    done(&server, json!({"action": "jump", "step": 0})).await;
    assert_eq!(shown(&server, "public").await, frozen);
    assert!(done(&server, json!({"action": "finish"})).await.is_null());
    settles(&public, &server, "public").await;
    for view in ["public", "ceremony"] {
        assert_eq!(shown(&server, view).await, shown(&server, "jury").await);
    }
    let report = server
        .ask(Method::GET, &format!("{CONTEST}/verify"), "")
        .await
        .json();
    assert_eq!(report["equal"], true, "{report}");
}

async fn a_rehearsal_is_for_the_jury(home: Home) {
    let server = ended_contest(home).await;
    let before = server.public(&format!("{CONTEST}/board")).await;
    let public = watch(&server, "public").await;
    settles(&public, &server, "public").await;
    let (states, deltas) = public.look(|seen| (seen.states.len(), seen.deltas));
    let scene = done(&server, json!({"action": "start", "rehearsal": true})).await;
    done(&server, json!({"action": "jump", "step": scene["steps"]})).await;
    let hall = watch(&server, "ceremony").await;
    settles(&hall, &server, "ceremony").await;
    assert_eq!(
        shown(&server, "ceremony").await,
        shown(&server, "jury").await
    );
    let now = server.public(&format!("{CONTEST}/board")).await;
    assert_eq!(
        (now.body, now.headers.get("etag").cloned()),
        (before.body, before.headers.get("etag").cloned())
    );
    assert_eq!(
        public.look(|seen| (seen.states.len(), seen.deltas)),
        (states, deltas)
    );
    assert_eq!(
        ceremony(&server, json!({"action": "finish"})).await.status,
        409
    );
    assert!(done(&server, json!({"action": "stop"})).await.is_null());
    assert_eq!(
        shown(&server, "ceremony").await,
        shown(&server, "public").await
    );
    for path in [
        "/ceremony",
        "/board?view=ceremony",
        "/scoreboard?view=ceremony",
    ] {
        assert_eq!(
            server.public(&format!("{CONTEST}{path}")).await.status,
            401,
            "{path}"
        );
    }
}

async fn what_cannot_be_done_is_said(home: Home) {
    let server = ended_contest(home).await;
    let refused = async |action: Value, status: u16, says: &str| {
        let answer = ceremony(&server, action.clone()).await;
        let said = answer.json()["detail"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        assert!(
            answer.status == status && said.contains(says),
            "{action}: {} {said}",
            answer.status
        );
    };
    refused(json!({"action": "next"}), 409, "start one first").await;
    refused(json!({"action": "dance"}), 422, "dance").await;
    refused(
        json!({"action": "start", "rehersal": true}),
        422,
        "rehersal",
    )
    .await;
    refused(json!([]), 422, "action").await;
    server
        .post(
            "c",
            &[object(
                "submissions",
                "late",
                &[
                    ("team_id", "t0"),
                    ("problem_id", "B"),
                    ("contest_time", "0:59:00"),
                ],
            )],
        )
        .await;
    refused(json!({"action": "start"}), 409, "late").await;
    let look = server
        .ask(Method::GET, &format!("{CONTEST}/ceremony"), "")
        .await
        .json();
    assert_eq!(
        (
            &look["ceremony"],
            &look["unjudged"],
            &look["unjudged_total"]
        ),
        (&Value::Null, &json!(["late"]), &json!(1))
    );
    server.judge("c", "late", "t0", "B", "WA", "0:59:00").await;
    server
        .post(
            "c",
            &[object(
                "judgements",
                "l",
                &[("submission_id", "late"), ("judgement_type_id", "WA")],
            )],
        )
        .await;
    done(&server, json!({"action": "start"})).await;
    refused(json!({"action": "start"}), 409, "under way").await;
    refused(json!({"action": "jump"}), 422, "one of step, team and rank").await;
    refused(json!({"action": "jump", "team": "nobody"}), 422, "nobody").await;
    refused(json!({"action": "jump", "rank": 4}), 422, "place 4").await;
    refused(
        json!({"action": "jump", "step": 1000}),
        422,
        "expected 0 to",
    )
    .await;
    refused(json!({"action": "auto", "every_ms": 1}), 422, "every_ms").await;
    let pressed_twice = json!({"action": "next", "from": 0});
    assert_eq!(done(&server, pressed_twice.clone()).await["step"], 1);
    assert_eq!(done(&server, pressed_twice).await["step"], 1);
    let scene = done(&server, json!({"action": "jump", "rank": 1})).await;
    assert_eq!(scene["shows"], "team");
    let scene = done(&server, json!({"action": "jump", "team": "t0"})).await;
    assert_eq!(scene["team"], "t0");
    done(&server, json!({"action": "finish"})).await;
    refused(json!({"action": "start"}), 409, "nothing is frozen").await;
}

async fn it_goes_by_itself_until_an_award(home: Home) {
    let server = ended_contest(home).await;
    server
        .ask(
            Method::PUT,
            CONTEST,
            json!({"rankcast": {"awards": {"gold": 1, "silver": 0, "bronze": 0}}}).to_string(),
        )
        .await;
    done(&server, json!({"action": "start"})).await;
    done(&server, json!({"action": "auto", "every_ms": 200})).await;
    eventually_within(
        PATIENCE * 2,
        "it stops where somebody has to speak",
        async || {
            let scene = server
                .ask(Method::GET, &format!("{CONTEST}/ceremony"), "")
                .await
                .json()["ceremony"]
                .clone();
            scene["shows"] == "award" && scene["auto_ms"].is_null()
        },
    )
    .await;
}

both! {
    each_sees_what_it_may_at_every_step
    a_rehearsal_is_for_the_jury
    what_cannot_be_done_is_said
    it_goes_by_itself_until_an_award
}

/// The remote on one server, the projector on the other; the one with the remote dies, and the ceremony goes on by itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ceremony_goes_on_when_the_server_of_its_remote_dies() {
    let redis = std::sync::Arc::new(RedisServer::start());
    let mut first = ended_contest(Home::Redis(redis.clone())).await;
    let second = TestServer::start(Home::Redis(redis)).await;
    first
        .ask(
            Method::PUT,
            CONTEST,
            json!({"rankcast": {"awards": {"gold": 0, "silver": 0, "bronze": 0}}}).to_string(),
        )
        .await;
    let projector = watch(&second, "ceremony").await;
    done(&first, json!({"action": "start"})).await;
    let scene = done(&first, json!({"action": "next"})).await;
    eventually("the projector shows it", async || {
        projector.look(|seen| {
            seen.states
                .last()
                .is_some_and(|state| state["ceremony"] == scene)
        })
    })
    .await;
    done(&first, json!({"action": "auto", "every_ms": 300})).await;
    first.kill();
    eventually_within(PATIENCE * 2, "it goes on", async || {
        projector.look(|seen| {
            seen.states
                .last()
                .is_some_and(|state| state["ceremony"]["shows"] == "award")
        })
    })
    .await;
    settles(&projector, &second, "ceremony").await;
    let steps: Vec<u64> = projector.look(|seen| {
        seen.states
            .iter()
            .filter_map(|state| state["ceremony"]["step"].as_u64())
            .collect()
    });
    assert!(
        steps
            .windows(2)
            .all(|pair| pair[1] == pair[0] || pair[1] == pair[0] + 1),
        "none was left out: {steps:?}"
    );
}

/// The ceremony of a contest of 2,554 teams, on two servers in turn, with viewers that join on the way. Prints what a step takes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_ceremony_of_a_large_contest_ends_with_the_jurys_board() {
    const STEPS: usize = 500;
    let Some(data) = data() else { return };
    let redis = std::sync::Arc::new(RedisServer::start());
    let servers = [
        TestServer::start_with(Home::Redis(redis.clone()), &["--tick", "0"]).await,
        TestServer::start_with(Home::Redis(redis), &["--tick", "0"]).await,
    ];
    let pack = data.join("online-2554/event-feed.ndjson");
    let output = servers[0].command(&[
        "import",
        pack.to_str().expect("UTF-8"),
        "--contest",
        "c",
        "--speed",
        "max",
    ]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    // The pack's own freeze may be over, or none: the last hour is frozen here.
    let mut contest = servers[0].public(CONTEST).await.json();
    contest["scoreboard_freeze_duration"] = json!("1:00:00");
    contest["rankcast"] = json!({"penalty_rounding": "minutes"});
    assert_eq!(
        servers[0]
            .ask(Method::PUT, CONTEST, contest.to_string())
            .await
            .status,
        200
    );
    let scene = done(&servers[0], json!({"action": "start"})).await;
    let steps = scene["steps"].as_u64().expect("a number") as usize;
    let mut viewers = vec![(watch(&servers[1], "ceremony").await, 1, "ceremony")];
    // One by one at both ends; between them eight at a time, or the test would take two minutes.
    let one_by_one =
        |step: &usize| *step <= STEPS || *step + STEPS > steps || step.is_multiple_of(8);
    let halts: Vec<usize> = (1..=steps).filter(one_by_one).collect();
    let mut times = Vec::with_capacity(halts.len());
    for (index, step) in halts.iter().enumerate() {
        let server = index % 2;
        let began = Instant::now();
        let scene = done(&servers[server], json!({"action": "jump", "step": step})).await;
        times.push(began.elapsed());
        assert_eq!(scene["step"], *step);
        if index % (halts.len() / 8) == 1 {
            let view = if index % 3 == 0 { "public" } else { "ceremony" };
            viewers.push((watch(&servers[server], view).await, server, view));
        }
    }
    for (viewer, server, view) in &viewers {
        settles(viewer, &servers[*server], view).await;
    }
    for server in &servers {
        assert!(shown(server, "ceremony").await == shown(server, "jury").await);
        let report = server
            .ask(Method::GET, &format!("{CONTEST}/verify"), "")
            .await
            .json();
        assert_eq!(report["equal"], true, "{report}");
    }
    let median = |times: &[Duration]| {
        let mut times = times.to_vec();
        times.sort_unstable();
        times[times.len() / 2]
    };
    println!(
        "online-2554: {steps} steps, {} viewers; a step takes {:.2?} (the first {STEPS} {:.2?}, the last {:.2?})",
        viewers.len(),
        median(&times),
        median(&times[..STEPS]),
        median(&times[times.len() - STEPS..]),
    );
}
