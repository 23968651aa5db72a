//! Who may do what, and the form of errors.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use reqwest::{Method, header::HeaderValue};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    time::timeout,
};

use super::{CONTEST, problem, verified};
use crate::common::{
    PATIENCE,
    server::{Home, KEY, TestServer, http, team},
};

/// Everything that needs the key.
fn protected() -> Vec<(Method, String, String)> {
    let contest = |path: &str| format!("{CONTEST}{path}");
    let judgement = r#"{"id":"j","team_id":"t1","problem_id":"A","judgement_type_id":"AC","contest_time":"0:01:00"}"#;
    [
        (Method::PUT, contest(""), r#"{"name":"Changed"}"#),
        (Method::PUT, "/api/contests/other".to_owned(), "{}"),
        (Method::PUT, "/api/contests/-bad-".to_owned(), "{}"),
        (Method::DELETE, contest(""), ""),
        (Method::DELETE, "/api/contests/other".to_owned(), ""),
        (
            Method::POST,
            contest("/events"),
            r#"{"type":"teams","id":"t2","data":{"id":"t2"}}"#,
        ),
        (
            Method::POST,
            "/api/contests/other/events".to_owned(),
            "rubbish",
        ),
        (Method::POST, contest("/judgements"), judgement),
        (Method::POST, contest("/judgements"), "rubbish"),
        (
            Method::POST,
            "/api/tickets".to_owned(),
            r#"{"contest":"c"}"#,
        ),
        (Method::POST, "/api/tickets".to_owned(), "rubbish"),
        (Method::GET, contest("/board?view=jury"), ""),
        (Method::GET, contest("/scoreboard?view=jury"), ""),
        (Method::GET, contest("/verify"), ""),
        (Method::GET, "/api/contests/other/verify".to_owned(), ""),
        (Method::GET, "/metrics".to_owned(), ""),
    ]
    .into_iter()
    .map(|(method, path, body)| (method, path, body.to_owned()))
    .collect()
}

fn basic(user: &str, password: &str) -> HeaderValue {
    let pair = BASE64_STANDARD.encode(format!("{user}:{password}"));
    HeaderValue::try_from(format!("Basic {pair}")).expect("a header")
}

async fn without_the_right_key_nothing_is_done_and_nothing_told(home: Home) {
    let server = TestServer::start(home).await;
    server.make_contest("c").await;
    server.post("c", &[team("t1")]).await;
    let before = verified(&server).await;
    let headers = [
        None,
        Some(HeaderValue::from_static("Bearer wrong")),
        Some(HeaderValue::from_static("Bearer")),
        Some(HeaderValue::from_static("Bearer ")),
        Some(HeaderValue::from_static("")),
        Some(HeaderValue::from_static("garbage")),
        Some(HeaderValue::from_str(KEY).unwrap()),
        Some(HeaderValue::from_str(&format!("Digest {KEY}")).unwrap()),
        Some(HeaderValue::from_static("Basic !!!")),
        Some(HeaderValue::from_str(&format!("Basic {}", BASE64_STANDARD.encode(KEY))).unwrap()),
        Some(
            HeaderValue::from_str(&format!(
                "Basic {}",
                BASE64_STANDARD.encode([0xff, b':', 0xff])
            ))
            .unwrap(),
        ),
        Some(HeaderValue::from_bytes(b"Bearer \xff\xfe").unwrap()),
        Some(basic("judge", "wrong")),
        Some(basic(KEY, "")),
    ];
    for (method, path, body) in protected() {
        for header in &headers {
            let mut request = http()
                .request(method.clone(), server.url(&path))
                .body(body.clone());
            if let Some(header) = header {
                request = request.header("authorization", header);
            }
            let answer = server.send(request).await;
            let detail = problem(&answer, 401);
            assert!(detail.contains("key"), "{method} {path}: {detail}");
            assert!(answer.header("www-authenticate").contains("Basic realm="));
            let said: Value = answer.json();
            let mut fields: Vec<&String> = said.as_object().unwrap().keys().collect();
            fields.sort();
            assert_eq!(
                fields,
                ["code", "detail", "message", "status", "title", "type"],
                "and nothing more"
            );
        }
    }
    let after = verified(&server).await;
    assert_eq!(
        (&after["sequence"], &after["public"]),
        (&before["sequence"], &before["public"])
    );
    assert_eq!(
        server
            .public("/api/contests")
            .await
            .json()
            .as_array()
            .map(Vec::len),
        Some(1)
    );
}

async fn the_key_is_taken_as_bearer_and_as_basic_password(home: Home) {
    let server = TestServer::start(home).await;
    server.make_contest("c").await;
    for header in [
        HeaderValue::from_str(&format!("Bearer {KEY}")).unwrap(),
        HeaderValue::from_str(&format!("bearer  {KEY} ")).unwrap(),
        basic("", KEY),
        basic("judge", KEY),
        HeaderValue::from_str(&format!(
            "BASIC {}",
            BASE64_STANDARD.encode(format!("a:{KEY}"))
        ))
        .unwrap(),
    ] {
        let ask = |method: Method, path: &str| {
            http()
                .request(method, server.url(path))
                .header("authorization", header.clone())
        };
        assert_eq!(
            server.send(ask(Method::PUT, CONTEST)).await.status,
            200,
            "{header:?}"
        );
        let jury = format!("{CONTEST}/board?view=jury");
        let answer = server.send(ask(Method::GET, &jury)).await;
        assert_eq!(
            (answer.status.as_u16(), answer.header("cache-control")),
            (200, "private, no-cache")
        );
    }
    // A password may have colons in it; the user name has none.
    let wrong = http()
        .put(server.url(CONTEST))
        .header("authorization", basic("a", &format!("b:{KEY}")));
    problem(&server.send(wrong).await, 401);
}

/// Nobody makes the server read a large body without a key.
async fn strangers_are_refused_before_their_body_is_read(home: Home) {
    let server = TestServer::start(home).await;
    server.make_contest("c").await;
    for (method, path, _) in protected()
        .into_iter()
        .filter(|(method, ..)| *method != Method::GET)
    {
        let url = server.url("");
        let mut socket = tokio::net::TcpStream::connect(url.strip_prefix("http://").unwrap())
            .await
            .unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\nonly so much"
        );
        socket.write_all(head.as_bytes()).await.unwrap();
        let mut answer = [0; 12];
        let read = timeout(PATIENCE, socket.read_exact(&mut answer)).await;
        assert!(matches!(read, Ok(Ok(_))), "{method} {path}: no answer");
        assert_eq!(&answer, b"HTTP/1.1 401", "{method} {path}");
    }
}

async fn public_reads_need_no_key_and_may_be_read_by_any_page(home: Home) {
    let server = TestServer::start(home).await;
    server.make_contest("c").await;
    for path in [
        "",
        "/state",
        "/scoreboard",
        "/board",
        "/board?limit=10&view=public",
    ] {
        let answer = server.public(&format!("{CONTEST}{path}")).await;
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(answer.header("access-control-allow-origin"), "*", "{path}");
        assert_eq!(answer.header("content-type"), "application/json", "{path}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
    }
    for path in ["/api/", "/api", "/api/contests"] {
        let answer = server.public(path).await;
        assert_eq!(
            (
                answer.status.as_u16(),
                answer.header("access-control-allow-origin")
            ),
            (200, "*"),
            "{path}"
        );
    }
    for path in ["/", "/contests/c", "/healthz", "/readyz", "/favicon.ico"] {
        assert_eq!(server.public(path).await.status, 200, "{path}");
    }
}

async fn errors_say_what_is_wrong_with_the_question(home: Home) {
    let server = TestServer::start(home).await;
    server.make_contest("c").await;
    for path in [
        "/nothing",
        "/api/nothing",
        "/api/contests/",
        "/static/nothing.js",
        "/static/..%2f..%2fCargo.toml",
        "/static/%ff",
    ] {
        problem(&server.public(path).await, 404);
    }
    for path in ["", "/state", "/scoreboard", "/board"] {
        let answer = server.public(&format!("/api/contests/none{path}")).await;
        assert!(problem(&answer, 404).contains("no such contest: none"));
        assert_eq!(
            answer.header("access-control-allow-origin"),
            "*",
            "a page may read why"
        );
    }
    for path in ["/events", "/judgements"] {
        problem(
            &server
                .ask(Method::POST, &format!("/api/contests/none{path}"), "")
                .await,
            404,
        );
    }
    problem(
        &server
            .ask(Method::GET, "/api/contests/none/verify", "")
            .await,
        404,
    );
    problem(
        &server
            .ask(Method::POST, "/api/tickets", r#"{"contest":"none"}"#)
            .await,
        404,
    );
    problem(
        &server
            .ask(Method::POST, "/api/tickets", r#"{"contest":"-"}"#)
            .await,
        400,
    );
    problem(&server.ask(Method::POST, "/api/tickets", "{}").await, 400);
    for (method, path, allowed) in [
        (Method::POST, CONTEST.to_owned(), "GET,HEAD,PUT,DELETE"),
        (Method::GET, format!("{CONTEST}/events"), "POST"),
        (Method::DELETE, format!("{CONTEST}/board"), "GET,HEAD"),
        (Method::PUT, "/healthz".to_owned(), "GET,HEAD"),
    ] {
        let answer = server.ask(method, &path, "").await;
        problem(&answer, 405);
        let mut allow: Vec<&str> = answer.header("allow").split(',').collect();
        let mut expected: Vec<&str> = allowed.split(',').collect();
        allow.sort_unstable();
        expected.sort_unstable();
        assert_eq!(allow, expected, "{path}");
    }
    for (query, named) in [
        ("view=all", "view"),
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("limit=-1", "limit"),
        ("limit=ten", "limit"),
        ("min=7", "min"),
        ("min=a-b", "min"),
        ("view=public&view=public", "view"),
    ] {
        let detail = problem(
            &server.public(&format!("{CONTEST}/board?{query}")).await,
            400,
        );
        assert!(detail.contains(named), "{query}: {detail}");
    }
    problem(&server.public(&format!("{CONTEST}/live")).await, 426);
    problem(
        &server
            .public(&format!("{CONTEST}/scoreboard?view={}", "x".repeat(5000)))
            .await,
        400,
    );
    assert_eq!(server.public("/healthz").await.body, b"ok\n");
}

both! {
    without_the_right_key_nothing_is_done_and_nothing_told
    the_key_is_taken_as_bearer_and_as_basic_password
    strangers_are_refused_before_their_body_is_read
    public_reads_need_no_key_and_may_be_read_by_any_page
    errors_say_what_is_wrong_with_the_question
}
