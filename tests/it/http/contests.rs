//! `PUT /api/contests/{id}` and what is read of contests.

use reqwest::Method;
use serde_json::{Value, json};

use super::{CONTEST, events, problem};
use crate::common::server::{Home, TestServer};

async fn a_contest_is_made_once_and_then_changed(home: Home) {
    let server = TestServer::start(home).await;
    let made = server
        .ask(
            Method::PUT,
            CONTEST,
            r#"{"name":"First","duration":"5:00:00"}"#,
        )
        .await;
    let said = made.json();
    assert_eq!(made.status, 201, "{said}");
    assert_eq!(
        (
            &said["id"],
            &said["name"],
            &said["duration"],
            &said["scoreboard_type"]
        ),
        (
            &json!("c"),
            &json!("First"),
            &json!("5:00:00.000"),
            &json!("pass-fail")
        )
    );
    assert_eq!(said["rankcast"]["penalty_rounding"], "minutes");
    let body = r#"{"name":"Second","rankcast":{"penalty_rounding":"seconds","rank_by":3}}"#;
    let changed = server.ask(Method::PUT, CONTEST, body).await;
    assert_eq!(
        (changed.status.as_u16(), &changed.json()["name"]),
        (200, &json!("Second"))
    );
    let nothing = server.ask(Method::PUT, CONTEST, "").await;
    let said = nothing.json();
    assert_eq!(
        (
            nothing.status.as_u16(),
            &said["name"],
            &said["rankcast"]["penalty_rounding"]
        ),
        (200, &json!("Second"), &json!("seconds")),
        "an empty body changes nothing"
    );
    assert_eq!(
        server
            .ask(Method::PUT, "/api/contests/empty", "")
            .await
            .status,
        201
    );
}

async fn what_is_wrong_in_a_contest_is_named_and_makes_none(home: Home) {
    let server = TestServer::start(home).await;
    for (body, status, named) in [
        (r#"{"rankcast":{"colour":"red"}}"#, 422, "colour"),
        (
            r#"{"rankcast":{"penalty_rounding":"hours"}}"#,
            422,
            "`penalty_rounding`",
        ),
        (r#"{"rankcast":{"rank_by":4}}"#, 422, "rank_by"),
        (r#"{"rankcast":{"rank_by":-1}}"#, 422, "rank_by"),
        (r#"{"rankcast":{"ties":5}}"#, 422, "`ties`"),
        (r#"{"rankcast":{"auto_teams":"yes"}}"#, 422, "`auto_teams`"),
        (
            r#"{"rankcast":{"unofficial_groups":[1]}}"#,
            422,
            "`unofficial_groups`",
        ),
        (r#"{"rankcast":[]}"#, 422, "rankcast"),
        (r#"{"rankcast":null}"#, 422, "rankcast"),
        (r#"{"name":7}"#, 422, "`name`"),
        (r#"{"duration":"five hours"}"#, 422, "`duration`"),
        (r#"{"duration":"-1:00:00"}"#, 422, "`duration`"),
        (r#"{"duration":"99999:00:00"}"#, 422, "`duration`"),
        (
            r#"{"scoreboard_freeze_duration":60}"#,
            422,
            "`scoreboard_freeze_duration`",
        ),
        (r#"{"penalty_time":-1}"#, 422, "`penalty_time`"),
        (
            r#"{"penalty_time":9223372036854775807}"#,
            422,
            "`penalty_time`",
        ),
        (r#"{"scoreboard_type":"golf"}"#, 422, "`scoreboard_type`"),
        (r#"{"start_time":"yesterday"}"#, 422, "`start_time`"),
        ("[]", 422, "object"),
        ("\"c\"", 422, "object"),
        ("{", 400, "not JSON"),
        ("name=Test", 400, "not JSON"),
    ] {
        let detail = problem(&server.ask(Method::PUT, CONTEST, body).await, status);
        assert!(detail.contains(named), "{body}: {detail}");
    }
    let deep = format!("{}{}", r#"{"name":"#, "[".repeat(10_000));
    problem(&server.ask(Method::PUT, CONTEST, deep).await, 400);
    problem(
        &server
            .ask(Method::PUT, CONTEST, vec![b'"', 0xff, b'"'])
            .await,
        400,
    );
    problem(&server.public(CONTEST).await, 404);
    assert_eq!(server.public("/api/contests").await.json(), json!([]));
}

async fn ids_that_no_contest_can_have_are_refused(home: Home) {
    let server = TestServer::start(home).await;
    let long = "x".repeat(37);
    for id in [
        "-a",
        ".a",
        "a.",
        "a%20b",
        "a%2Fb",
        "%00",
        "%ff",
        "%F0%9F%8F%86",
        "a*",
        &long,
    ] {
        for (method, path) in [
            (Method::PUT, String::new()),
            (Method::DELETE, String::new()),
            (Method::GET, String::new()),
            (Method::POST, "/events".to_owned()),
            (Method::POST, "/judgements".to_owned()),
            (Method::GET, "/board".to_owned()),
            (Method::GET, "/live".to_owned()),
            (Method::GET, "/verify".to_owned()),
            (Method::GET, "/scoreboard".to_owned()),
        ] {
            let path = format!("/api/contests/{id}{path}");
            problem(&server.ask(method, &path, "").await, 400);
        }
    }
    let longest = "x".repeat(36);
    for id in ["a", "7", "a_-.b", "_x", "a-", &longest] {
        let path = format!("/api/contests/{id}");
        assert_eq!(server.ask(Method::PUT, &path, "").await.status, 201, "{id}");
        assert_eq!(server.public(&path).await.json()["id"], id);
    }
}

async fn the_contest_object_of_a_feed_leaves_the_settings_alone(home: Home) {
    let server = TestServer::start(home).await;
    let body = r#"{"name":"Ours","rankcast":{"penalty_rounding":"seconds","auto_teams":true}}"#;
    server.ask(Method::PUT, CONTEST, body).await;
    let line = r#"{"type":"contest","id":"theirs","data":{"id":"theirs","name":"Theirs","duration":"3:00:00"}}"#;
    assert_eq!(events(&server, "", line).await.json()["accepted"], 1);
    let now = server.ask(Method::PUT, CONTEST, "").await.json();
    assert_eq!((&now["id"], &now["name"]), (&json!("c"), &json!("Theirs")));
    assert_eq!(
        (
            &now["rankcast"]["penalty_rounding"],
            &now["rankcast"]["auto_teams"]
        ),
        (&json!("seconds"), &json!(true))
    );
}

async fn contests_are_listed_until_they_are_deleted(home: Home) {
    let server = TestServer::start(home).await;
    let ids = async || -> Vec<String> {
        let list = server.public("/api/contests").await.json();
        let list: Vec<Value> = list.as_array().expect("a list").clone();
        list.iter()
            .map(|contest| contest["id"].as_str().expect("an id").to_owned())
            .collect()
    };
    for id in ["b", "a", "c"] {
        server
            .ask(Method::PUT, &format!("/api/contests/{id}"), "")
            .await;
    }
    assert_eq!(ids().await, ["a", "b", "c"]);
    assert_eq!(
        server
            .ask(Method::DELETE, "/api/contests/b", "")
            .await
            .status,
        204
    );
    problem(
        &server.ask(Method::DELETE, "/api/contests/b", "").await,
        404,
    );
    assert_eq!(ids().await, ["a", "c"]);
    let api = server.public("/api/").await.json();
    assert_eq!(
        (&api["version"], &api["provider"]["name"]),
        (&json!("2023-06"), &json!("rankcast"))
    );
}

both! {
    a_contest_is_made_once_and_then_changed
    what_is_wrong_in_a_contest_is_named_and_makes_none
    ids_that_no_contest_can_have_are_refused
    the_contest_object_of_a_feed_leaves_the_settings_alone
    contests_are_listed_until_they_are_deleted
}
