//! Earlier standings, adjustments, awards.

use reqwest::Method;
use serde_json::{Value, json};

use super::{CONTEST, problem, rows, verified};
use crate::common::server::{Home, TestServer};

async fn judged_contest(home: Home) -> TestServer {
    let server = TestServer::start_with_teams(home, 3, &[]).await;
    server.judge("c", "j1", "t0", "A", "AC", "0:10:00").await;
    server.judge("c", "j2", "t1", "A", "AC", "0:20:00").await;
    server.judge("c", "j3", "t1", "B", "AC", "0:55:00").await;
    server
}

/// The first team and what it solved.
fn leader(board: &Value) -> (Value, Value) {
    let first = &board["rows"][0];
    (first["id"].clone(), first["values"][0].clone())
}

async fn the_board_as_it_was(home: Home) {
    let server = judged_contest(home).await;
    let at = async |query: &str| {
        let answer = server
            .ask(Method::GET, &format!("{CONTEST}/board?{query}"), "")
            .await;
        assert_eq!(answer.status, 200, "{}", answer.json());
        assert_eq!(answer.header("etag"), "", "nobody resumes from there");
        answer.json()
    };
    assert_eq!(at("at=0:05:00").await["rows"][0]["values"][0], 0);
    assert_eq!(
        leader(&at("at=0:15:00&limit=1").await),
        (json!("t0"), json!(1))
    );
    assert_eq!(
        leader(&at("at=0:59:00&view=jury").await),
        (json!("t1"), json!(2))
    );
    // A frozen verdict, or anything else that the jury alone sees, changes nothing of it.
    let before = server.public(&format!("{CONTEST}/board?at=0:58:00")).await;
    server.judge("c", "j4", "t2", "B", "AC", "0:59:00").await;
    let rehearsal = json!({"action": "start", "rehearsal": true}).to_string();
    server
        .ask(Method::POST, &format!("{CONTEST}/ceremony"), rehearsal)
        .await;
    let after = server.public(&format!("{CONTEST}/board?at=0:58:00")).await;
    let without_now = |body: &[u8]| {
        let mut board: Value = serde_json::from_slice(body).unwrap();
        board["state"]["now"] = Value::Null;
        board
    };
    assert_eq!(without_now(&after.body), without_now(&before.body));
    for (query, says) in [
        ("at=1", "contest time"),
        ("at=0:10:00&view=ceremony", "at:"),
    ] {
        let answer = server
            .ask(Method::GET, &format!("{CONTEST}/board?{query}"), "")
            .await;
        assert!(problem(&answer, 400).contains(says));
    }
    problem(
        &server
            .public(&format!("{CONTEST}/board?at=0:10:00&view=jury"))
            .await,
        401,
    );
}

async fn adjustments_say_who_when_and_why(home: Home) {
    let server = judged_contest(home).await;
    let path = format!("{CONTEST}/adjustments");
    let decide =
        async |decision: Value| server.ask(Method::POST, &path, decision.to_string()).await;
    let made =
        decide(json!({"team_id": "t0", "penalty": "0:20:00", "reason": "rule 5", "by": "Ada"}))
            .await;
    assert_eq!(made.status, 201, "{}", made.json());
    let id = made.json()["id"].clone();
    assert_eq!(
        rows(&server).await[1],
        ("t0".to_owned(), json!([1, 30, 10]))
    );
    decide(json!({"id": id, "team_id": "t0", "penalty": -5, "reason": "appeal", "by": "Bo"})).await;
    assert_eq!(rows(&server).await[0], ("t0".to_owned(), json!([1, 5, 10])));
    let list = server.ask(Method::GET, &path, "").await.json();
    let told = |index: usize| {
        (
            list[index]["by"].clone(),
            list[index]["penalty"].clone(),
            list[index]["in_force"].clone(),
        )
    };
    assert_eq!(told(0), (json!("Ada"), json!("0:20:00.000"), json!(false)));
    assert_eq!(told(1), (json!("Bo"), json!("-0:05:00.000"), json!(true)));
    assert!(list[0]["time"].is_string() && list[0]["reason"] == "rule 5");
    for (decision, status, says) in [
        (
            json!({"team_id": "t9", "penalty": 1, "reason": "r", "by": "b"}),
            422,
            "t9",
        ),
        (
            json!({"team_id": "t0", "penalty": "x", "reason": "r", "by": "b"}),
            422,
            "penalty",
        ),
        (
            json!({"team_id": "t0", "penalty": 1, "reason": " ", "by": "b"}),
            422,
            "reason",
        ),
        (
            json!({"team_id": "t0", "penalty": 1, "by": "b"}),
            422,
            "reason",
        ),
        (
            json!({"id": "a-no", "team_id": "t0", "penalty": 1, "reason": "r", "by": "b"}),
            404,
            "a-no",
        ),
    ] {
        let answer = decide(decision).await;
        let said = problem(&answer, status);
        assert!(said.contains(says), "{said}");
    }
    problem(&server.public(&path).await, 401);
    verified(&server).await;
}

async fn awards_are_by_what_the_asker_sees(home: Home) {
    let server = judged_contest(home).await;
    let path = format!("{CONTEST}/awards");
    let winner = |awards: &Value| {
        awards
            .as_array()
            .unwrap()
            .iter()
            .find(|award| award["id"] == "winner")
            .unwrap()["team_ids"]
            .clone()
    };
    assert_eq!(winner(&server.public(&path).await.json()), json!(["t0"]));
    assert_eq!(
        winner(&server.ask(Method::GET, &path, "").await.json()),
        json!(["t1"])
    );
    let one = server
        .public(&format!("{path}/first-to-solve-B"))
        .await
        .json();
    assert_eq!(
        one,
        json!({"id": "first-to-solve-B", "citation": "First to solve problem B", "team_ids": []})
    );
    problem(&server.public(&format!("{path}/nothing")).await, 404);
}

both! {
    the_board_as_it_was
    adjustments_say_who_when_and_why
    awards_are_by_what_the_asker_sees
}
