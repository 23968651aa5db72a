//! `rankcast load`.

use std::{
    process::Output,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use reqwest::Method;
use serde_json::Value;
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream, tcp::OwnedReadHalf},
};

use super::{ended, rankcast};
use crate::common::server::{Home, KEY, TestServer};

/// Runs a test against some servers.
async fn load(servers: Vec<String>, words: &'static str) -> Output {
    tokio::task::spawn_blocking(move || {
        let nowhere = TempDir::new().expect("a directory");
        let mut all: Vec<&str> = vec!["load"];
        all.extend(words.split(' '));
        for server in &servers {
            all.extend(["--server", server]);
        }
        rankcast(&all)
            .env("RANKCAST_KEY", KEY)
            .env("RANKCAST_DATA", nowhere.path())
            .output()
            .expect("the program runs")
    })
    .await
    .expect("no panic")
}

fn report(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", super::text(output)))
}

async fn contests(server: &TestServer) -> Value {
    server.public("/api/contests").await.json()
}

async fn every_viewer_is_exact_whatever_it_is(home: Home) {
    let server = TestServer::start(home).await;
    let words = "--viewers 40 --rate 40 --seconds 5 --sse 25 --slow 10 --waves 2 --wave-seconds 1 --limits 100:70,10:20,all:10 --json";
    let output = load(vec![server.url("")], words).await;
    ended(&output, 0);
    let report = report(&output);
    assert_eq!(report["good"], true, "{report}");
    for (field, value) in [
        ("exact", 40),
        ("connected", 40),
        ("sse", 10),
        ("slow", 4),
        ("away", 0),
    ] {
        assert_eq!(report[field], value, "{field} in {report}");
    }
    assert_eq!(report["judgements"]["posted"], 200, "{report}");
    assert_eq!(report["judgements"]["accepted"], 200, "{report}");
    assert_eq!(report["judgements"]["shown"], 200, "{report}");
    assert_eq!(report["faults"]["total"], 0, "{report}");
    let at_least = |value: &Value, least: u64| {
        let some = value.as_u64().unwrap_or(0);
        assert!(some >= least, "{some} in {report}");
    };
    // A viewer that was on its way in a wave is not dropped.
    at_least(&report["reconnects"], 60);
    at_least(&report["deliveries"], 1000);
    at_least(&report["bytes"], 100_000);
    at_least(&report["latency_ms"]["count"], 1000);
    at_least(&report["catch_up_latency_ms"]["count"], 1);
    at_least(&report["last_viewer_ms"]["count"], 50);
    assert!(report["latency_ms"]["p99"].as_f64().unwrap_or(0.0) > 0.0);
    // Nothing stays of the test.
    assert_eq!(contests(&server).await, Value::Array(vec![]));
}

async fn a_contest_that_is_there_is_watched_only(home: Home) {
    let server = TestServer::start(home).await;
    server.make_contest("finals").await;
    let before = server.board("finals", "jury", "all").await;
    let urls = || vec![server.url("")];
    let said = ended(
        &load(urls(), "--contest finals --viewers 2 --rate 1 --seconds 1").await,
        2,
    );
    assert!(said.contains("finals is there already"), "{said}");
    let words = "--contest finals --viewers 3 --rate 0 --seconds 1";
    let said = ended(&load(urls(), words).await, 0);
    assert!(said.contains("exact         3 of 3"), "{said}");
    // Nobody watching is no test of viewers, and still one of the judge.
    let words = "--viewers 0 --rate 20 --seconds 1 --keep --contest kept --teams 2 --problems 1";
    let said = ended(&load(urls(), words).await, 0);
    assert!(
        said.contains("20 posted") && said.contains("0 of 0"),
        "{said}"
    );
    assert_eq!(server.board("kept", "public", "all").await["total"], 2);
    let after = server.board("finals", "jury", "all").await;
    assert_eq!(before["version"], after["version"]);
}

both! {
    every_viewer_is_exact_whatever_it_is
    a_contest_that_is_there_is_watched_only
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_is_killed_costs_nothing() {
    let home = Home::redis();
    let mut first = TestServer::start(home.clone()).await;
    let second = TestServer::start(home).await;
    let servers = vec![first.url(""), second.url("")];
    let words = "--viewers 20 --rate 50 --seconds 6 --sse 25 --json";
    let running = tokio::spawn(load(servers, words));
    tokio::time::sleep(Duration::from_millis(2500)).await;
    first.kill();
    tokio::time::sleep(Duration::from_secs(1)).await;
    first.restart().await;
    let output = running.await.unwrap();
    ended(&output, 0);
    let report = report(&output);
    assert_eq!(report["exact"], 20, "{report}");
    assert_eq!(report["judgements"]["shown"], 300, "{report}");
    assert!(
        report["closes"]["none"].as_u64().unwrap_or(0) > 0,
        "{report}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frame_that_is_lost_is_found() {
    let server = TestServer::start(Home::embedded()).await;
    let proxy = Swallower::start(&server, |delta| delta == 3).await;
    let words = "--viewers 3 --rate 30 --seconds 2 --json";
    let output = load(vec![proxy.url()], words).await;
    let said = ended(&output, 1);
    assert_eq!(proxy.swallowed(), 1);
    let report = report(&output);
    assert_eq!(
        (&report["good"], &report["faults"]["total"]),
        (&false.into(), &1.into()),
        "{said}"
    );
    assert!(said.contains("versions between are missing"), "{said}");
    // It resumed by its position.
    assert_eq!(report["exact"], 3, "{report}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_viewer_that_is_told_nothing_any_more_is_found() {
    let server = TestServer::start(Home::embedded()).await;
    let proxy = Swallower::start(&server, |delta| delta >= 5).await;
    let words = "--viewers 3 --rate 30 --seconds 2 --settle 1";
    let output = load(vec![proxy.url()], words).await;
    let said = ended(&output, 1);
    assert!(proxy.swallowed() > 0);
    assert!(
        said.contains("exact         2 of 3") && said.contains("faults        0"),
        "{said}"
    );
}

#[test]
fn another_machine_has_to_be_asked_for_twice() {
    let began = Instant::now();
    // Addresses of documentation (RFC 5737): whoever sent something would wait for an answer.
    for words in [
        "--server http://192.0.2.1:8080",
        "--server http://192.0.2.1:8080 --allow-remote",
        "--server http://192.0.2.1:8080 --confirm-host 192.0.2.1",
        "--server http://192.0.2.1:8080 --allow-remote --confirm-host 192.0.2.2",
        "--server http://127.0.0.1:1 --server http://192.0.2.1:8080 --allow-remote --confirm-host 127.0.0.1",
    ] {
        let mut all = vec!["load", "--viewers", "1", "--rate", "1", "--seconds", "1"];
        all.extend(words.split(' '));
        let said = ended(&rankcast(&all).output().unwrap(), 2);
        assert!(
            said.contains("--allow-remote --confirm-host 192.0.2.1"),
            "{said}"
        );
    }
    assert!(
        began.elapsed() < Duration::from_secs(4),
        "{:?}",
        began.elapsed()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_is_said_before_anything_is_done() {
    let server = TestServer::start(Home::embedded()).await;
    for (words, expected) in [
        ("--viewers 90000000 --rate 1 --seconds 1", "open files"),
        ("--viewers 1 --rate -1 --seconds 1", "--rate"),
        ("--viewers 1 --rate nan --seconds 1", "0, or 0.001 to 10000"),
        ("--viewers 1 --rate 1 --seconds 1e9", "0 to 86400"),
        (
            "--viewers 1 --rate 1 --seconds 1 --limits 7:x",
            "100:80,10:15,all:5",
        ),
        ("--viewers 1 --rate 1 --seconds 1 --slow 101", "0 to 100"),
        (
            "--viewers 1 --rate 1 --seconds 1 --ca /nothing/here.pem",
            "/nothing/here.pem",
        ),
        ("--viewers 1 --rate 1", "--seconds"),
    ] {
        let said = ended(&load(vec![server.url("")], words).await, 2);
        assert!(said.contains(expected), "{words}: {said}");
    }
    assert_eq!(contests(&server).await, Value::Array(vec![]));
    let nobody = load(
        vec!["http://127.0.0.1:1".to_owned()],
        "--viewers 1 --rate 1 --seconds 1",
    )
    .await;
    assert!(ended(&nobody, 2).contains("does not answer"));
    let wrong = rankcast(&["load", "--viewers", "1", "--rate", "1", "--seconds", "1"])
        .env("RANKCAST_SERVER", server.url(""))
        .env("RANKCAST_KEY", "wrong")
        .output()
        .unwrap();
    assert!(ended(&wrong, 2).contains("RANKCAST_KEY"));
    assert_eq!(server.ask(Method::GET, "/healthz", "").await.status, 200);
}

/// Passes everything on, but for some of the deltas of the first WebSocket.
struct Swallower {
    port: u16,
    swallowed: Arc<AtomicUsize>,
}

impl Swallower {
    /// In front of a server; `swallow` gets the number of a delta, from 1 on.
    async fn start(server: &TestServer, swallow: fn(usize) -> bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let to = server.url("").replace("http://", "");
        let swallowed = Arc::new(AtomicUsize::new(0));
        let (count, sockets) = (swallowed.clone(), Arc::new(AtomicUsize::new(0)));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (to, count, sockets) = (to.clone(), count.clone(), sockets.clone());
                tokio::spawn(async move {
                    let server = TcpStream::connect(to).await?;
                    let (mut from_client, mut to_client) = client.into_split();
                    let (from_server, mut to_server) = server.into_split();
                    let up = async {
                        tokio::io::copy(&mut from_client, &mut to_server).await?;
                        to_server.shutdown().await
                    };
                    let down = async {
                        let mut from_server = from_server;
                        let mut head = Vec::new();
                        while !head.ends_with(b"\r\n\r\n") {
                            head.push(from_server.read_u8().await?);
                        }
                        to_client.write_all(&head).await?;
                        let socket = head.starts_with(b"HTTP/1.1 101");
                        if !socket || sockets.fetch_add(1, Ordering::Relaxed) > 0 {
                            tokio::io::copy(&mut from_server, &mut to_client).await?;
                            return to_client.shutdown().await;
                        }
                        let mut deltas = 0;
                        loop {
                            let (frame, text) = frame(&mut from_server).await?;
                            if text.starts_with(b"{\"type\":\"delta\"") {
                                deltas += 1;
                                if swallow(deltas) {
                                    count.fetch_add(1, Ordering::Relaxed);
                                    continue;
                                }
                            }
                            to_client.write_all(&frame).await?;
                        }
                    };
                    tokio::try_join!(up, down).map(drop)
                });
            }
        });
        Self { port, swallowed }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn swallowed(&self) -> usize {
        self.swallowed.load(Ordering::Relaxed)
    }
}

/// Reads a frame of a server, which is not masked (RFC 6455, 5.2): all of its bytes, and its payload.
async fn frame(from: &mut OwnedReadHalf) -> std::io::Result<(Vec<u8>, Vec<u8>)> {
    let mut bytes = vec![0; 2];
    from.read_exact(&mut bytes).await?;
    let more = match bytes[1] & 127 {
        126 => 2,
        127 => 8,
        _ => 0,
    };
    bytes.resize(2 + more, 0);
    from.read_exact(&mut bytes[2..]).await?;
    let length = if more == 0 {
        usize::from(bytes[1] & 127)
    } else {
        bytes[2..]
            .iter()
            .fold(0, |length, byte| length << 8 | usize::from(*byte))
    };
    let start = bytes.len();
    bytes.resize(start + length, 0);
    from.read_exact(&mut bytes[start..]).await?;
    let text = bytes[start..].to_vec();
    Ok((bytes, text))
}
