//! The current contest: chosen, or the one that is going on.

use reqwest::Method;
use serde_json::{Value, json};

use super::problem;
use crate::common::{
    eventually,
    server::{Home, TestServer, http},
};

const CURRENT: &str = "/api/current";

async fn choose(server: &TestServer, contest: Value) -> Value {
    let body = json!({ "contest": contest }).to_string();
    let answer = server.ask(Method::PUT, CURRENT, body).await;
    assert_eq!(answer.status, 200, "{}", answer.json());
    answer.json()
}

async fn the_chosen_contest_is_the_current_one(home: Home) {
    let mut server = TestServer::start(home).await;
    let current = async |server: &TestServer| server.public(CURRENT).await.json();
    assert_eq!(
        current(&server).await,
        json!({ "contest": null, "chosen": false })
    );
    let now = jiff::Timestamp::now();
    let hours = |hours: i64| (now + jiff::SignedDuration::from_hours(hours)).to_string();
    for (id, start) in [
        ("old", hours(-48)),
        ("next", hours(2)),
        ("later", hours(50)),
    ] {
        let contest = json!({ "name": id, "start_time": start, "duration": "5:00:00" }).to_string();
        server
            .ask(Method::PUT, &format!("/api/contests/{id}"), contest)
            .await;
    }
    let shown = |id: &str, chosen: bool| json!({ "contest": id, "chosen": chosen });
    // The server's clock tells a moment later that the old one is over.
    eventually("the next one to start is it", async || {
        current(&server).await == shown("next", false)
    })
    .await;
    let contest =
        json!({ "name": "now", "start_time": hours(-1), "duration": "5:00:00" }).to_string();
    server.ask(Method::PUT, "/api/contests/now", contest).await;
    eventually("it has begun", async || {
        current(&server).await == shown("now", false)
    })
    .await;

    assert_eq!(choose(&server, json!("later")).await, shown("later", true));
    assert_eq!(choose(&server, json!("old")).await, shown("old", true));
    server.restart().await;
    assert_eq!(current(&server).await, shown("old", true));
    server.ask(Method::DELETE, "/api/contests/old", "").await;
    assert_eq!(
        current(&server).await,
        shown("later", true),
        "the choice before that one"
    );
    assert_eq!(choose(&server, Value::Null).await, shown("now", false));

    let nowhere = server
        .ask(Method::PUT, CURRENT, r#"{"contest":"nowhere"}"#)
        .await;
    problem(&nowhere, 404);
    problem(&server.ask(Method::PUT, CURRENT, "[]").await, 422);
    let stranger = server
        .send(http().put(server.url(CURRENT)).body(r#"{"contest":"old"}"#))
        .await;
    assert_eq!(stranger.status, 401);
    let page = server.public("/current").await;
    assert_eq!(page.status, 200);
    assert!(
        page.header("content-security-policy")
            .contains("frame-src 'self'")
    );
}

both! {
    the_chosen_contest_is_the_current_one
}
