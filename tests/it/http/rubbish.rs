//! Anything at all may be sent: it is answered, it breaks nothing, and what is served stays what the log says.

use std::{cell::RefCell, collections::BTreeMap};

use proptest::{collection::vec, prelude::*, test_runner::TestRunner};
use reqwest::{Method, header::HeaderValue};
use serde_json::Value;

use super::{CONTEST, verified};
use crate::common::server::{Home, KEY, TestServer, http, team};

/// Requests that one run sends.
const REQUESTS: u32 = 200;

#[derive(Clone, Debug)]
struct Rubbish {
    method: Method,
    path: String,
    headers: Vec<(&'static str, Vec<u8>)>,
    body: Vec<u8>,
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z0-9_.-]{0,8}",
        any::<String>(),
        prop::sample::select(vec![
            "t1",
            "A",
            "AC",
            "j1",
            "s1",
            "teams",
            "judgements",
            "submissions",
            "contest",
            "state",
            "rankcast",
            "problems",
            "groups",
            "rankcast-adjustments",
            "rankcast-thaw",
            "0:10:00",
            "2026-01-01T00:00:00Z",
            "create",
            "delete",
            "seconds",
            "$serde_json::private::RawValue",
            "$serde_json::private::Number",
            "\0",
        ])
        .prop_map(str::to_owned),
    ]
}

/// Any JSON, with the names of fields that mean something among its own.
fn json() -> impl Strategy<Value = Value> {
    let field = prop::sample::select(vec![
        "type",
        "id",
        "data",
        "op",
        "token",
        "team_id",
        "problem_id",
        "submission_id",
        "judgement_type_id",
        "contest_time",
        "score",
        "current",
        "name",
        "group_ids",
        "rankcast",
        "duration",
        "penalty_rounding",
        "rank_by",
        "ties",
        "thawed",
        "penalty",
        "ordinal",
        "hidden",
        "sortorder",
        "contest",
    ])
    .prop_map(str::to_owned);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 8, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((prop_oneof![4 => field.clone(), 1 => text()], inner), 0..8)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// A line with a type and data, so that rubbish gets beyond the first check.
fn line() -> impl Strategy<Value = Value> {
    (text(), json(), json())
        .prop_map(|(kind, id, data)| serde_json::json!({ "type": kind, "id": id, "data": data }))
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    let lines = vec(prop_oneof![json().boxed(), line().boxed()], 0..6).prop_map(|lines| {
        lines
            .iter()
            .map(Value::to_string)
            .collect::<Vec<_>>()
            .join("\n")
            .into_bytes()
    });
    prop_oneof![
        1 => vec(any::<u8>(), 0..300),
        2 => json().prop_map(|json| json.to_string().into_bytes()),
        3 => lines,
        1 => (json(), any::<prop::sample::Index>()).prop_map(|(json, at)| {
            let mut text = json.to_string().into_bytes();
            text.truncate(at.index(text.len()));
            text
        }),
    ]
}

fn write() -> impl Strategy<Value = Rubbish> {
    let place = prop::sample::select(vec![
        (Method::PUT, "/api/contests/c"),
        (Method::PUT, "/api/contests/d"),
        (Method::POST, "/api/contests/c/events"),
        (Method::POST, "/api/contests/c/events?source=x"),
        (Method::POST, "/api/contests/c/judgements"),
        (Method::POST, "/api/tickets"),
    ]);
    (place, body()).prop_map(|((method, path), body)| Rubbish {
        method,
        path: path.to_owned(),
        headers: vec![("authorization", format!("Bearer {KEY}").into_bytes())],
        body,
    })
}

/// Bytes that may stand in a header, and words that mean something there.
fn header_value() -> impl Strategy<Value = Vec<u8>> {
    let byte = any::<u8>().prop_filter("a header", |byte| *byte >= 32 && *byte != 127);
    let words = prop::sample::select(vec![
        "text/event-stream",
        "websocket",
        "Bearer x",
        "Basic Og==",
        "gzip;q=0",
        "*",
        "a-1",
        "bytes=0-",
    ]);
    prop_oneof![
        vec(byte, 0..20),
        words.prop_map(|word| word.as_bytes().to_vec()),
    ]
}

fn read() -> impl Strategy<Value = Rubbish> {
    let place = prop::sample::select(vec![
        "/api/contests/c/board",
        "/api/contests/c/live",
        "/api/contests/c/scoreboard",
        "/api/contests/c/state",
        "/api/contests/c",
        "/api/contests/c/verify",
        "/api/contests",
        "/metrics",
        "/static/",
        "/contests/",
        "/api/contests/",
    ]);
    let name = prop::sample::select(vec![
        "view", "limit", "since", "min", "follow", "ticket", "at", "x",
    ]);
    let escaped = vec("%[0-9A-F]{2}", 0..12).prop_map(|bytes| bytes.concat());
    let value = prop_oneof![
        "[ -~&&[^#]]{0,20}",
        escaped,
        prop::sample::select(vec!["jury", "all", "a-1", "k-99999999999999999999"])
            .prop_map(str::to_owned)
    ];
    let query = vec((name, value.clone()), 0..4);
    let header = prop::sample::select(vec![
        "authorization",
        "if-none-match",
        "accept-encoding",
        "accept",
        "last-event-id",
        "upgrade",
        "range",
        "sec-websocket-key",
        "origin",
    ]);
    let headers = vec((header, header_value()), 0..4);
    (place, value, query, headers).prop_map(|(place, end, query, headers)| {
        let end = if place.ends_with('/') {
            end.replace(['?', ' '], "")
        } else {
            String::new()
        };
        let query: Vec<String> = query
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        Rubbish {
            method: Method::GET,
            path: format!("{place}{end}?{}", query.join("&")),
            headers,
            body: Vec::new(),
        }
    })
}

async fn send(server: &TestServer, rubbish: &Rubbish) -> u16 {
    let mut request = http().request(rubbish.method.clone(), server.url(&rubbish.path));
    for (name, value) in &rubbish.headers {
        request = request.header(*name, HeaderValue::from_bytes(value).expect("a header"));
    }
    if rubbish.method != Method::GET {
        request = request.body(rubbish.body.clone());
    }
    // Only the head: a live connection has no end.
    request.send().await.expect("an answer").status().as_u16()
}

fn rubbish_is_answered_and_breaks_nothing(home: Home) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let server = runtime.block_on(async {
        let server = TestServer::start(home).await;
        server.make_contest("c").await;
        server.post("c", &[team("t1")]).await;
        server
    });
    let mut runner = TestRunner::new(ProptestConfig {
        cases: REQUESTS,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let answers = RefCell::new(BTreeMap::<u16, u32>::new());
    let requests = prop_oneof![3 => write().boxed(), 2 => read().boxed()];
    let outcome = runner.run(&requests, |rubbish| {
        let status = runtime.block_on(send(&server, &rubbish));
        *answers.borrow_mut().entry(status).or_default() += 1;
        prop_assert!(status < 500, "{} for {:?}", status, rubbish);
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
    let answers = answers.into_inner();
    println!("answers by status: {answers:?}");
    assert!(
        answers.len() > 3 && answers.contains_key(&200),
        "some of it is taken, or nothing is tried: {answers:?}"
    );
    runtime.block_on(async {
        assert_eq!(server.public("/healthz").await.status, 200);
        assert_eq!(server.public(&format!("{CONTEST}/board")).await.status, 200);
        verified(&server).await;
    });
}

mod embedded {
    #[test]
    fn rubbish_is_answered_and_breaks_nothing() {
        super::rubbish_is_answered_and_breaks_nothing(super::Home::embedded());
    }
}

mod redis {
    #[test]
    fn rubbish_is_answered_and_breaks_nothing() {
        super::rubbish_is_answered_and_breaks_nothing(super::Home::redis());
    }
}
