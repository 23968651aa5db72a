//! What those who run the server ask it, and the pages.

use std::sync::Arc;

use reqwest::Method;
use serde_json::json;

use super::{CONTEST, problem, rows, verified};
use crate::common::{
    eventually,
    redis::RedisServer,
    server::{Home, TestServer, http, team},
    viewer::{Habits, Viewer},
};

async fn a_server_that_can_serve_says_so(home: Home) {
    let server = TestServer::start(home).await;
    let alive = server.public("/healthz").await;
    assert_eq!((alive.status.as_u16(), &*alive.body), (200, &b"ok\n"[..]));
    let ready = server.public("/readyz").await;
    assert_eq!(
        (ready.status.as_u16(), ready.json()),
        (200, json!({ "ready": true, "store": "ok" }))
    );
    assert_eq!(ready.header("cache-control"), "no-store");
}

async fn metrics_have_their_names(home: Home) {
    let server = TestServer::start(home).await;
    server.make_contest("c").await;
    server.post("c", &[team("t1")]).await;
    let viewer = Viewer::watch(vec![server.url("")], CONTEST, "limit=10", Habits::default());
    eventually("the viewer is served", async || {
        viewer.look(|seen| seen.window.is_some())
    })
    .await;
    server.judge("c", "j1", "t1", "A", "AC", "0:10:00").await;
    eventually("a delta", async || viewer.look(|seen| seen.deltas > 0)).await;
    let answer = server.ask(Method::GET, "/metrics", "").await;
    assert_eq!(answer.header("content-type"), "text/plain; version=0.0.4");
    let text = String::from_utf8(answer.body).unwrap();
    for name in [
        "rankcast_viewers 1",
        "rankcast_events_posted_total",
        "rankcast_events_folded_total",
        "rankcast_fold_seconds",
        "rankcast_deliveries_total",
        "rankcast_snapshot_encodings_total",
        "rankcast_delta_frames_total{limit=\"10\"}",
        "rankcast_delta_frame_bytes_total{limit=\"10\"}",
    ] {
        assert!(
            text.lines().any(|line| line.starts_with(name)),
            "{name} is not in\n{text}"
        );
    }
}

async fn pages_are_guarded_and_sent_once(home: Home) {
    let server = TestServer::start(home).await;
    for (path, kind) in [
        ("/", "text/html; charset=utf-8"),
        ("/contests/c", "text/html; charset=utf-8"),
        ("/static/js/client.js", "text/javascript; charset=utf-8"),
        ("/static/css/board.css", "text/css; charset=utf-8"),
        ("/favicon.ico", "image/svg+xml"),
    ] {
        let page = server.public(path).await;
        assert_eq!(
            (page.status.as_u16(), page.header("content-type")),
            (200, kind),
            "{path}"
        );
        let policy = page.header("content-security-policy");
        assert!(
            policy.contains("default-src 'none'") && policy.contains("script-src 'self'"),
            "{path}: {policy}"
        );
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(page.header("x-content-type-options"), "nosniff", "{path}");
        let etag = page.header("etag");
        assert!(etag.starts_with('"') && etag.len() > 10, "{path}: {etag}");
        // A proxy that compresses makes the tag a weak one.
        for known in [
            etag.to_owned(),
            format!("W/{etag}"),
            format!("\"other\", {etag}"),
        ] {
            let again = server
                .send(http().get(server.url(path)).header("if-none-match", known))
                .await;
            assert_eq!(
                (
                    again.status.as_u16(),
                    again.body.len(),
                    again.header("etag")
                ),
                (304, 0, etag),
                "{path}"
            );
        }
        let changed = server
            .send(
                http()
                    .get(server.url(path))
                    .header("if-none-match", "\"old\""),
            )
            .await;
        assert_eq!(
            (changed.status.as_u16(), changed.body),
            (200, page.body),
            "{path}"
        );
    }
}

both! {
    a_server_that_can_serve_says_so
    metrics_have_their_names
    pages_are_guarded_and_sent_once
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_redis_is_away_the_judge_is_told_to_come_back_and_viewers_see_what_there_was() {
    let redis = Arc::new(RedisServer::start_persistent());
    let server = TestServer::start(Home::Redis(redis.clone())).await;
    server.make_contest("c").await;
    server.post("c", &[team("t1")]).await;
    let viewer = Viewer::watch(vec![server.url("")], CONTEST, "limit=10", Habits::default());
    eventually("the viewer is served", async || {
        viewer.look(|seen| seen.window.is_some())
    })
    .await;
    let url = redis.url();
    let address = url
        .trim_start_matches("redis://")
        .trim_end_matches('/')
        .to_owned();

    redis.stop();
    eventually("it is not ready", async || {
        server.public("/readyz").await.status == 503
    })
    .await;
    let ready = server.public("/readyz").await;
    assert_eq!(
        ready.json(),
        json!({ "ready": false, "store": "away" }),
        "and strangers are not told where it is"
    );
    assert_eq!(
        server.public("/healthz").await.status,
        200,
        "the process itself is well"
    );
    let judgement = json!({
        "id": "j1", "team_id": "t1", "problem_id": "A", "judgement_type_id": "AC", "contest_time": "0:10:00",
    });
    for (method, path, body) in [
        (
            Method::POST,
            format!("{CONTEST}/judgements"),
            judgement.to_string(),
        ),
        (Method::POST, format!("{CONTEST}/events"), team("t2")),
        (
            Method::PUT,
            "/api/contests/other".to_owned(),
            "{}".to_owned(),
        ),
        (Method::DELETE, CONTEST.to_owned(), String::new()),
        (
            Method::POST,
            "/api/tickets".to_owned(),
            r#"{"contest":"c"}"#.to_owned(),
        ),
        (Method::GET, format!("{CONTEST}/verify"), String::new()),
    ] {
        let answer = server.ask(method, &path, body).await;
        let detail = problem(&answer, 503);
        assert!(
            answer
                .header("retry-after")
                .parse::<u32>()
                .is_ok_and(|seconds| seconds > 0),
            "{path}"
        );
        assert!(!detail.contains(&address), "{path}: {detail}");
    }
    // What there was is still served, and said to be old.
    assert_eq!(rows(&server).await.len(), 1);
    let told = |word: &'static str| {
        viewer.look(|seen| {
            seen.states
                .last()
                .is_some_and(|state| state["store"] == word)
        })
    };
    eventually("viewers are told", async || told("stale")).await;

    redis.restart();
    eventually("it is ready again", async || {
        server.public("/readyz").await.status == 200
    })
    .await;
    eventually("viewers are told", async || told("live")).await;
    let answer = server
        .ask(
            Method::POST,
            &format!("{CONTEST}/judgements"),
            judgement.to_string(),
        )
        .await;
    assert_eq!(answer.status, 200, "{}", answer.json());
    eventually("it counts", async || {
        rows(&server).await[0].1 == json!([1, 10, 10])
    })
    .await;
    eventually("nothing differs", async || {
        server
            .ask(Method::GET, &format!("{CONTEST}/verify"), "")
            .await
            .json()["equal"]
            == true
    })
    .await;
    verified(&server).await;
}
