//! Balloons: who gets which, who is told of frozen ones, what has been brought, and every change as it happens.

use futures_util::StreamExt as _;
use reqwest::Method;
use serde_json::{Value, json};

use super::{CONTEST, problem};
use crate::common::{
    eventually,
    server::{Home, KEY, TestServer, http},
};

const BALLOONS: &str = "/api/contests/c/balloons";

/// An hour, the last ten minutes frozen: t1 solved A early, t2 solves B in the freeze.
async fn contest(home: Home) -> TestServer {
    let server = TestServer::start(home).await;
    server.make_contest("c").await;
    let line = |kind: &str, data: Value| {
        json!({ "type": kind, "id": data["id"], "data": data }).to_string()
    };
    server
        .post(
            "c",
            &[
                line("problems", json!({ "id": "A", "label": "A", "color": "red", "rgb": "#f00" })),
                line("teams", json!({ "id": "t1", "name": "One", "label": "12", "location": { "x": 1, "y": 2, "rotation": 90 } })),
                line("teams", json!({ "id": "t2", "name": "Two" })),
                line("teams", json!({ "id": "t9", "name": "Crew", "hidden": true })),
            ],
        )
        .await;
    server.judge("c", "s1", "t1", "A", "AC", "0:10:00").await;
    server.judge("c", "s9", "t9", "A", "AC", "0:09:00").await;
    server.judge("c", "s2", "t2", "B", "AC", "0:55:00").await;
    server
}

/// Team and problem of each balloon.
fn named(list: &Value) -> Vec<(String, String)> {
    let text = |one: &Value, field: &str| one[field].as_str().expect("a text").to_owned();
    let all = list.as_array().expect("an array").iter();
    all.map(|one| (text(one, "team_id"), text(one, "problem_id")))
        .collect()
}

async fn everybody_sees_what_the_board_shows(home: Home) {
    let server = contest(home).await;
    let all = server.public(BALLOONS).await.json();
    assert_eq!(
        all,
        json!([{ "team_id": "t1", "team_name": "One", "team_label": "12", "location": { "x": 1, "y": 2, "rotation": 90 },
            "problem_id": "A", "label": "A", "color": "red", "rgb": "#f00", "contest_time": "0:10:00.000", "first": true,
            "delivered": false, "delivered_by": null }])
    );
    // Nor do runners see frozen solves,
    let runners = server.ask(Method::GET, BALLOONS, "").await.json();
    assert_eq!(runners, all);
    // unless each team is to get one.
    let settings = r#"{"rankcast":{"balloons_minimum":1}}"#;
    server.ask(Method::PUT, CONTEST, settings).await;
    let pair = |team: &str, problem: &str| (team.to_owned(), problem.to_owned());
    let runners = server.ask(Method::GET, BALLOONS, "").await.json();
    assert_eq!(named(&runners), [pair("t1", "A"), pair("t2", "B")]);
    assert_eq!(
        server.public(BALLOONS).await.json(),
        all,
        "those at home are not told"
    );
    // When the board opens, all are there.
    let thaw = r#"{"type":"rankcast-thaw","id":null,"data":{"thawed":"2026-01-01T03:00:00Z"}}"#;
    server.post("c", &[thaw.to_owned()]).await;
    assert_eq!(
        named(&server.public(BALLOONS).await.json()),
        [pair("t1", "A"), pair("t2", "B")]
    );
}

async fn what_was_brought_is_remembered(home: Home) {
    let mut server = contest(home).await;
    let word = |delivered: bool| {
        json!({ "team_id": "t1", "problem_id": "A", "delivered": delivered, "by": "Ada" })
            .to_string()
    };
    let answer = server.ask(Method::POST, BALLOONS, word(true)).await;
    assert_eq!(
        (answer.status.as_u16(), &answer.json()["delivered"]),
        (200, &json!(true))
    );
    server.restart().await;
    let balloon = server.public(BALLOONS).await.json()[0].clone();
    assert_eq!(
        (&balloon["delivered"], &balloon["delivered_by"]),
        (&json!(true), &json!("Ada"))
    );
    server.ask(Method::POST, BALLOONS, word(false)).await;
    assert_eq!(server.public(BALLOONS).await.json()[0]["delivered"], false);
    // A balloon that nobody gets cannot be brought; nor by strangers.
    let nobody = json!({ "team_id": "t2", "problem_id": "B", "delivered": true }).to_string();
    let said = problem(&server.ask(Method::POST, BALLOONS, nobody).await, 404);
    assert!(said.contains("t2"), "{said}");
    let said = problem(&server.ask(Method::POST, BALLOONS, "{}").await, 422);
    assert!(said.contains("team_id"), "{said}");
    let stranger = server
        .send(http().post(server.url(BALLOONS)).body(word(true)))
        .await;
    assert_eq!(stranger.status, 401);
}

async fn every_change_is_told_as_it_happens(home: Home) {
    let server = contest(home).await;
    let request = http()
        .get(server.url(BALLOONS))
        .bearer_auth(KEY)
        .header("accept", "text/event-stream");
    let response = request.send().await.expect("an answer");
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let (sender, mut parts) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut stream = response.bytes_stream();
        while let Some(Ok(part)) = stream.next().await {
            let _ = sender.send(String::from_utf8(part.to_vec()).expect("a text"));
        }
    });
    let mut text = String::new();
    let mut told = async |what: &str| {
        eventually(what, async || {
            while let Ok(part) = parts.try_recv() {
                text.push_str(&part);
            }
            text.contains(what)
        })
        .await;
    };
    told(r#""delivered":false"#).await;
    let word = json!({ "team_id": "t1", "problem_id": "A", "delivered": true }).to_string();
    server.ask(Method::POST, BALLOONS, word).await;
    told(r#""delivered":true"#).await;
    server.judge("c", "s3", "t2", "A", "AC", "0:20:00").await;
    told(r#""contest_time":"0:20:00.000""#).await;
    // The judge takes it back.
    server.judge("c", "s3", "t2", "A", "WA", "0:20:00").await;
    told("event: gone\ndata: {\"problem_id\":\"A\",\"team_id\":\"t2\"}").await;
}

both! {
    everybody_sees_what_the_board_shows
    what_was_brought_is_remembered
    every_change_is_told_as_it_happens
}
