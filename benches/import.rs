//! How fast a contest is imported, beside what the bare append reaches over the same kind of connection, in one run.
//!
//! `cargo bench --bench import`. Needs redis-server; the contest is generated. Loopback only, ends by itself.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use rankcast::{
    contest::Notification,
    store::{APPEND_MAX, Append, Store, embedded::Embedded, redis::Redis},
};

const TEAMS: usize = 2_500;
const PROBLEMS: usize = 12;
const JUDGEMENTS: usize = 30_000;
const KEY: &str = "bench";

fn main() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let home = tempfile::tempdir().expect("a directory");
    let lines = lines();
    let feed = home.path().join("event-feed.ndjson");
    std::fs::write(&feed, lines.join("\n")).expect("the feed is written");
    println!("{JUDGEMENTS} judgements of {TEAMS} teams, judgements a second, median of 3:");

    let port = free_port();
    let redis_dir = home.path().join("redis");
    std::fs::create_dir(&redis_dir).expect("a directory");
    let _redis = Running(
        Command::new("redis-server")
            .args([
                "--port",
                &port.to_string(),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--loglevel",
                "warning",
                "--dir",
            ])
            .arg(&redis_dir)
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server is installed (scripts/setup)"),
    );
    let url = format!("redis://127.0.0.1:{port}");
    let redis = runtime.block_on(async {
        let until = Instant::now() + Duration::from_secs(10);
        loop {
            match Redis::connect(&url).await {
                Ok(redis) => return redis,
                Err(error) => assert!(Instant::now() < until, "{error}"),
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    let bare = runtime.block_on(bare(redis, &lines));
    let import = import(home.path(), &["--redis", &url], &feed);
    row("Redis", bare, import);

    let embedded = Embedded::open(&home.path().join("bare")).expect("a store");
    let bare = runtime.block_on(self::bare(embedded, &lines));
    let data = home.path().join("data");
    let import = self::import(
        home.path(),
        &["--data", data.to_str().expect("a path")],
        &feed,
    );
    row("embedded", bare, import);
}

fn row(store: &str, bare: f64, import: f64) {
    println!(
        "  {store}: bare append {bare:.0}, import {import:.0}, ratio {:.2}",
        import / bare
    );
}

/// A contest of its own making.
fn lines() -> Vec<String> {
    let mut lines = vec![
        r#"{"type":"contest","id":null,"data":{"name":"Bench","duration":"5:00:00"}}"#.to_owned(),
        r#"{"type":"state","id":null,"data":{"started":"2026-01-01T00:00:00Z"}}"#.to_owned(),
    ];
    lines.extend((0..PROBLEMS).map(|n| {
        format!(r#"{{"type":"problems","id":"p{n}","data":{{"id":"p{n}","ordinal":{n}}}}}"#)
    }));
    lines.extend((0..TEAMS).map(|n| {
        format!(r#"{{"type":"teams","id":"t{n}","data":{{"id":"t{n}","name":"Team {n}"}}}}"#)
    }));
    for n in 0..JUDGEMENTS {
        let (team, problem, verdict) = (
            n * 7919 % TEAMS,
            n * 31 % PROBLEMS,
            if n % 4 == 0 { "AC" } else { "WA" },
        );
        let seconds = n * 17_900 / JUDGEMENTS;
        let at = format!(
            "{}:{:02}:{:02}.000",
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60
        );
        lines.push(format!(
            r#"{{"type":"submissions","id":"s{n}","data":{{"id":"s{n}","team_id":"t{team}","problem_id":"p{problem}","language_id":"cpp","contest_time":"{at}"}}}}"#
        ));
        lines.push(format!(
            r#"{{"type":"judgements","id":"j{n}","data":{{"id":"j{n}","submission_id":"s{n}","judgement_type_id":"{verdict}","start_contest_time":"{at}","end_contest_time":"{at}"}}}}"#
        ));
    }
    lines
}

/// The append alone, over one connection, batch after batch.
async fn bare(store: Arc<dyn Store>, lines: &[String]) -> f64 {
    let events: Vec<Append> = lines
        .iter()
        .map(|line| {
            Notification::parse(line.as_bytes())
                .expect("a good line")
                .expect("a line")
        })
        .map(|read| Append {
            replaces: read.replaces(),
            kind: read.kind,
            id: read.id,
            source: "bench".to_owned(),
            token: read.token,
            data: read.data.to_string(),
        })
        .collect();
    let mut rates = Vec::new();
    for round in 0..3 {
        let contest = format!("bare{round}");
        store.create(&contest).await.expect("a contest");
        let began = Instant::now();
        for batch in events.chunks(APPEND_MAX) {
            store.append(&contest, batch).await.expect("appended");
        }
        rates.push(JUDGEMENTS as f64 / began.elapsed().as_secs_f64());
    }
    median(rates)
}

/// The whole way: the command, HTTP, checks, the store, the fold.
fn import(home: &Path, store: &[&str], feed: &Path) -> f64 {
    let mut server = Command::new(env!("CARGO_BIN_EXE_rankcast"))
        .args(["serve", "--listen", "127.0.0.1:0"])
        .args(store)
        .env("RANKCAST_ADMIN_KEY", KEY)
        .env("RANKCAST_LOG", "error")
        .current_dir(home)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the server starts");
    let mut line = String::new();
    BufReader::new(server.stdout.take().expect("it was asked for"))
        .read_line(&mut line)
        .expect("a line");
    let _server = Running(server);
    let address = line
        .trim()
        .rsplit(' ')
        .next()
        .expect("an address")
        .to_owned();
    let rates = (0..3)
        .map(|round| {
            let began = Instant::now();
            let imported = Command::new(env!("CARGO_BIN_EXE_rankcast"))
                .arg("import")
                .arg(feed)
                .args([
                    "--contest",
                    &format!("import{round}"),
                    "--speed",
                    "max",
                    "--server",
                    &address,
                ])
                .env("RANKCAST_KEY", KEY)
                .output()
                .expect("the command runs");
            if !imported.status.success() {
                let _ = std::io::stderr().write_all(&imported.stderr);
                panic!("the import failed");
            }
            JUDGEMENTS as f64 / began.elapsed().as_secs_f64()
        })
        .collect();
    median(rates)
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a free port")
        .port()
}

/// A process that ends with the benchmark.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
