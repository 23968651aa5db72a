//! The HTTP edge over real sockets: what is taken, what is refused and how, and that nothing else happens.

mod balloons;
mod clics;
mod collections;
mod contests;
mod current;
mod events;
mod judgements;
mod keys;
mod ops;
mod past;
mod rubbish;

use reqwest::Method;
use serde_json::{Value, json};

use crate::common::server::{Answer, TestServer};

/// The contest of most cases.
const CONTEST: &str = "/api/contests/c";

/// Checks the form of an error and its status; gives what it says.
fn problem(answer: &Answer, status: u16) -> String {
    let said = answer.json();
    assert_eq!(answer.status, status, "{said}");
    assert_eq!(answer.header("content-type"), "application/problem+json");
    assert_eq!(
        (&said["status"], &said["code"]),
        (&json!(status), &json!(status))
    );
    assert_eq!(said["detail"], said["message"]);
    assert!(
        said["title"]
            .as_str()
            .is_some_and(|title| !title.is_empty())
    );
    said["detail"].as_str().expect("a text").to_owned()
}

/// Posts to the contest's events, with the key.
async fn events(server: &TestServer, query: &str, body: impl Into<reqwest::Body>) -> Answer {
    let path = format!("{CONTEST}/events{query}");
    server.ask(Method::POST, &path, body).await
}

/// Posts to the contest's judgements, with the key.
async fn judgements(server: &TestServer, body: impl Into<reqwest::Body>) -> Answer {
    let path = format!("{CONTEST}/judgements");
    server.ask(Method::POST, &path, body).await
}

/// The ids and values on the contest's public board, in its order.
async fn rows(server: &TestServer) -> Vec<(String, Value)> {
    let board = server.board("c", "public", "all").await;
    let rows = board["rows"].as_array().expect("rows");
    rows.iter()
        .map(|row| {
            (
                row["id"].as_str().expect("an id").to_owned(),
                row["values"].clone(),
            )
        })
        .collect()
}

/// The report on the contest, which must find nothing wrong.
async fn verified(server: &TestServer) -> Value {
    let report = server
        .ask(Method::GET, &format!("{CONTEST}/verify"), "")
        .await
        .json();
    assert_eq!(report["equal"], true, "{report}");
    report
}

/// The numbers of the bad lines that an answer lists.
fn bad_lines(said: &Value) -> Vec<u64> {
    let errors = said["errors"].as_array().expect("errors");
    errors
        .iter()
        .map(|error| error["line"].as_u64().expect("a number"))
        .collect()
}
