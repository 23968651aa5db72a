//! A real rankcast server for one test: the program itself, on a free port.

#![allow(clippy::unused_async)] // starting waits, whether the compiler sees it or not

use std::{
    io::{BufRead as _, BufReader},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::Arc,
};

use reqwest::{Method, StatusCode, header::HeaderMap};
use serde_json::Value;
use tempfile::TempDir;

use super::{eventually, redis::RedisServer};

/// The admin key of every server under test.
pub(crate) const KEY: &str = "a key for tests";

/// Below the range from which the system takes ports for outgoing connections: a restart finds its port free.
const PORTS: std::ops::Range<u16> = 10_000..15_000;

/// Where a server keeps its contests.
#[derive(Clone)]
pub(crate) enum Home {
    Embedded(Arc<TempDir>),
    Redis(Arc<RedisServer>),
}

impl Home {
    pub(crate) fn embedded() -> Self {
        Self::Embedded(Arc::new(tempfile::tempdir().expect("a directory")))
    }

    pub(crate) fn redis() -> Self {
        Self::Redis(Arc::new(RedisServer::start()))
    }
}

/// The program, serving; killed with the value.
pub(crate) struct TestServer {
    home: Home,
    port: u16,
    options: Vec<String>,
    child: Option<Child>,
    /// Where commands look for keys: nowhere that matters.
    nowhere: TempDir,
}

/// An answer, read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.body)))
    }

    /// The text of a header; empty without it.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().expect("a text"))
    }
}

impl TestServer {
    pub(crate) async fn start(home: Home) -> Self {
        Self::start_with(home, &[]).await
    }

    pub(crate) async fn start_with(home: Home, options: &[&str]) -> Self {
        let mut server = Self {
            home,
            port: 0,
            options: options.iter().map(|&option| option.to_owned()).collect(),
            child: None,
            nowhere: tempfile::tempdir().expect("a directory"),
        };
        // Another test may take the port between our look and the server's start.
        while server.child.is_none() {
            server.port = rand::random_range(PORTS);
            if TcpListener::bind(("127.0.0.1", server.port)).is_ok() {
                server.launch();
            }
        }
        server
    }

    /// With a contest `c` of the teams `t0`, `t1`, …
    pub(crate) async fn start_with_teams(home: Home, teams: usize, options: &[&str]) -> Self {
        let server = Self::start_with(home, options).await;
        server.make_contest("c").await;
        let teams: Vec<String> = (0..teams)
            .map(|number| team(&format!("t{number}")))
            .collect();
        server.post("c", &teams).await;
        server
    }

    /// Starts the program, and waits for its line.
    fn launch(&mut self) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rankcast"));
        command
            .args(["serve", "--listen", &format!("127.0.0.1:{}", self.port)])
            .args(&self.options);
        match &self.home {
            Home::Embedded(dir) => command.arg("--data").arg(dir.path()),
            Home::Redis(redis) => command
                .args(["--redis", &redis.url()])
                .arg("--data")
                .arg(self.nowhere.path()),
        };
        command
            .env("RANKCAST_ADMIN_KEY", KEY)
            .env("RANKCAST_LOG", "error")
            .stdout(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("it was asked for");
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        if line.contains(&format!("http://127.0.0.1:{}", self.port)) {
            self.child = Some(child);
        } else {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Stops the program the hard way.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Asks the program to stop, and waits until it has.
    pub(crate) async fn stop(&mut self) {
        let Some(mut child) = self.child.take() else {
            return;
        };
        let asked = Command::new("kill")
            .args(["-TERM", &child.id().to_string()])
            .status()
            .expect("kill runs");
        assert!(asked.success());
        eventually("the server stops", async || {
            child.try_wait().expect("a status").is_some()
        })
        .await;
    }

    /// Starts it again, on the same port.
    pub(crate) async fn restart(&mut self) {
        self.kill();
        let start = std::time::Instant::now();
        while self.child.is_none() {
            assert!(start.elapsed() < super::PATIENCE, "the server starts again");
            self.launch();
        }
    }

    pub(crate) fn home(&self) -> Home {
        self.home.clone()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub(crate) fn socket_url(&self, path: &str) -> String {
        format!("ws://127.0.0.1:{}{path}", self.port)
    }

    /// Asks with the key.
    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        body: impl Into<reqwest::Body>,
    ) -> Answer {
        self.send(
            http()
                .request(method, self.url(path))
                .bearer_auth(KEY)
                .body(body),
        )
        .await
    }

    /// Asks as anybody may.
    pub(crate) async fn public(&self, path: &str) -> Answer {
        self.send(http().get(self.url(path))).await
    }

    pub(crate) async fn send(&self, request: reqwest::RequestBuilder) -> Answer {
        let response = request.send().await.expect("an answer");
        let (status, headers) = (response.status(), response.headers().clone());
        Answer {
            status,
            headers,
            body: response.bytes().await.expect("a whole answer").to_vec(),
        }
    }

    /// Makes a contest that has started, an hour long, with problems A and B.
    pub(crate) async fn make_contest(&self, id: &str) {
        let contest =
            r#"{"name":"Test","duration":"1:00:00","scoreboard_freeze_duration":"0:10:00"}"#;
        assert_eq!(
            self.ask(Method::PUT, &format!("/api/contests/{id}"), contest)
                .await
                .status,
            201
        );
        let lines = [
            r#"{"type":"state","id":null,"data":{"started":"2026-01-01T00:00:00Z"}}"#.to_owned(),
            object("problems", "A", &[("label", "A")]),
            object("problems", "B", &[("label", "B")]),
        ];
        self.post(id, &lines).await;
    }

    /// Posts lines that must all be taken.
    pub(crate) async fn post(&self, contest: &str, lines: &[String]) -> Value {
        let answer = self
            .ask(
                Method::POST,
                &format!("/api/contests/{contest}/events"),
                lines.join("\n"),
            )
            .await;
        let said = answer.json();
        assert_eq!(
            (answer.status.as_u16(), &said["errors"]),
            (200, &Value::Array(vec![])),
            "{said}"
        );
        said
    }

    /// Posts one judgement with all that it needs.
    pub(crate) async fn judge(
        &self,
        contest: &str,
        id: &str,
        team: &str,
        problem: &str,
        verdict: &str,
        at: &str,
    ) -> Value {
        let judgement = serde_json::json!({
            "id": id, "team_id": team, "problem_id": problem, "judgement_type_id": verdict, "contest_time": at,
        });
        let answer = self
            .ask(
                Method::POST,
                &format!("/api/contests/{contest}/judgements"),
                judgement.to_string(),
            )
            .await;
        assert_eq!(answer.status, 200, "{}", answer.json());
        answer.json()
    }

    /// The board as it is served now.
    pub(crate) async fn board(&self, contest: &str, view: &str, limit: &str) -> Value {
        let path = format!("/api/contests/{contest}/board?view={view}&limit={limit}");
        let answer = self.ask(Method::GET, &path, "").await;
        assert_eq!(answer.status, 200, "{}", answer.json());
        answer.json()
    }

    /// The value of a metric.
    pub(crate) async fn metric(&self, name: &str) -> f64 {
        let text = self.ask(Method::GET, "/metrics", "").await.body;
        let text = String::from_utf8(text).expect("a text");
        let line = text
            .lines()
            .find(|line| line.starts_with(name))
            .unwrap_or_else(|| panic!("{name} is in\n{text}"));
        line.rsplit(' ')
            .next()
            .and_then(|value| value.parse().ok())
            .expect("a number")
    }

    /// Runs a command of the program against this server.
    pub(crate) fn command(&self, words: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_rankcast"))
            .args(words)
            .env("RANKCAST_SERVER", self.url(""))
            .env("RANKCAST_KEY", KEY)
            .env("RANKCAST_DATA", self.nowhere.path())
            .output()
            .expect("the program runs")
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A client that keeps its connections.
pub(crate) fn http() -> reqwest::Client {
    thread_local! {
        static CLIENT: reqwest::Client = {
            let _ = rustls::crypto::ring::default_provider().install_default();
            reqwest::Client::builder().build().expect("a client")
        };
    }
    CLIENT.with(Clone::clone)
}

/// A notification of an object.
pub(crate) fn object(kind: &str, id: &str, fields: &[(&str, &str)]) -> String {
    let mut data = serde_json::Map::new();
    data.insert("id".into(), id.into());
    for (field, value) in fields {
        data.insert((*field).to_owned(), (*value).into());
    }
    serde_json::json!({ "type": kind, "id": id, "data": data }).to_string()
}

/// A team without a group.
pub(crate) fn team(id: &str) -> String {
    object("teams", id, &[("name", &format!("Team {id}"))])
}

/// The folder of real contests, if it is here; a notice if it is not.
pub(crate) fn data() -> Option<PathBuf> {
    let folder = std::env::var_os("RANKCAST_DATA_PACKS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data"),
        PathBuf::from,
    );
    if !folder.is_dir() {
        eprintln!(
            "skipped: the folder of real contests is not here ({})",
            folder.display()
        );
        return None;
    }
    Some(folder)
}
