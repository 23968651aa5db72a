//! rankcast under measurement: a contest in which every judgement is a delta of about 120 bytes.

use std::{
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::Context as _;
use serde_json::json;

use super::{
    frames::Dialect,
    process::{Cores, Process},
    publish::{Publisher, Request},
    server::{Server, free_port},
    watch::Place,
};

const KEY: &str = "bench";
const PROBLEMS: usize = 12;
/// Those in front, whose acceptances are the updates; nobody else ever gets among them.
const FRONT: usize = 100;
const TEAMS: usize = 120;
/// Accepted before it begins: two problems of those in front, one of the others.
const SOLVED_BEFORE: usize = 2;
/// As many updates as one contest gives.
pub(crate) const UPDATES_MAX: usize = FRONT * (PROBLEMS - SOLVED_BEFORE);

/// Which store is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    Embedded,
    Redis,
}

/// Starts the server, with an empty store.
pub(crate) fn start(
    program: &Path,
    store: Store,
    cores: Cores,
    dir: &Path,
) -> anyhow::Result<(Process, SocketAddr, Option<Process>)> {
    let mut command = Command::new(program);
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--max-viewers", "19000"])
        .env("RANKCAST_ADMIN_KEY", KEY)
        .env("RANKCAST_LOG", "error")
        .current_dir(dir)
        .stdout(Stdio::piped());
    let redis = match store {
        Store::Embedded => {
            command.arg("--data").arg(dir.join("data"));
            None
        }
        Store::Redis => {
            let address = free_port()?;
            let mut redis = Process::spawn(
                Command::new("redis-server")
                    .args(["--bind", "127.0.0.1", "--save", "", "--loglevel", "warning"])
                    .args(["--port", &address.port().to_string(), "--dir"])
                    .arg(dir)
                    .args(["--maxmemory-policy", "noeviction"])
                    .stdout(Stdio::null()),
            )?;
            redis.ready(address)?;
            command.args(["--redis", &format!("redis://{address}")]);
            Some(redis)
        }
    };
    let mut process = cores.measured(&mut command)?;
    let mut line = String::new();
    let stdout = process.0.stdout.take().context("no output")?;
    BufReader::new(stdout).read_line(&mut line)?;
    let address = line
        .trim()
        .rsplit("//")
        .next()
        .and_then(|address| address.parse().ok())
        .with_context(|| format!("no address in {line:?}"))?;
    Ok((process, address, redis))
}

/// The server with the contest of the table.
pub(crate) fn server(
    program: &Path,
    store: Store,
    cores: Cores,
    dir: &Path,
) -> anyhow::Result<Server> {
    let (process, address, redis) = start(program, store, cores, dir)?;
    let mut publisher = Publisher::connect(address)?;
    // It runs: its clock is as quiet as it is in the middle of a contest.
    let began =
        jiff::Timestamp::now().round(jiff::Unit::Second)? - jiff::SignedDuration::from_hours(1);
    publisher.ask(&authorized(
        "PUT",
        "/api/contests/bench",
        json!({"name": "Bench", "start_time": began.to_string(), "duration": "500:00:00"})
            .to_string(),
    ))?;
    publisher.ask(&authorized("POST", "/api/contests/bench/events", setting()))?;
    Ok(Server {
        process,
        beside: redis.map(|redis| ("redis", redis)).into_iter().collect(),
        place: place(address, "bench"),
        publisher: address,
        publish: Box::new(|n| {
            let (team, problem) = (n % FRONT, SOLVED_BEFORE + n / FRONT);
            authorized(
                "POST",
                "/api/contests/bench/judgements",
                judgement(&format!("{n}"), team, problem, 600 + n / 10),
            )
        }),
    })
}

/// Where a contest's top 100 is watched.
pub(crate) fn place(address: SocketAddr, contest: &str) -> Place {
    Place {
        address,
        path: format!("/api/contests/{contest}/live?limit=100"),
        dialect: Dialect::Rankcast,
        tls: None,
    }
}

/// A request with the admin's key.
pub(crate) fn authorized(method: &'static str, path: &str, body: impl Into<Vec<u8>>) -> Request {
    Request {
        method,
        ..Request::post(path, &format!("Authorization: Bearer {KEY}\r\n"), body)
    }
}

fn judgement(id: &str, team: usize, problem: usize, minute: usize) -> String {
    json!({
        "id": format!("j{id}"), "submission_id": format!("s{id}"), "team_id": format!("t{team}"),
        "problem_id": label(problem), "judgement_type_id": "AC",
        "contest_time": format!("{}:{:02}:00.000", minute / 60, minute % 60),
    })
    .to_string()
}

fn label(problem: usize) -> char {
    char::from(b'A' + problem as u8)
}

/// Problems, teams, and what was accepted before, as events.
fn setting() -> String {
    let mut lines = Vec::new();
    for n in 0..PROBLEMS {
        let id = label(n);
        lines.push(json!({"type": "problems", "id": id, "data": {"id": id, "label": id, "name": id, "ordinal": n}}));
    }
    for n in 0..TEAMS {
        let id = format!("t{n}");
        lines.push(
            json!({"type": "teams", "id": id, "data": {"id": id, "name": format!("Team {n}")}}),
        );
    }
    for team in 0..TEAMS {
        let solved = if team < FRONT { SOLVED_BEFORE } else { 1 };
        for problem in 0..solved {
            let (submission, judgement) =
                (format!("s{team}p{problem}"), format!("j{team}p{problem}"));
            let at = format!("{}:{:02}:00.000", (10 + team) / 60, (10 + team) % 60);
            lines.push(
                json!({"type": "submissions", "id": submission, "data": {"id": submission,
                "team_id": format!("t{team}"), "problem_id": label(problem), "contest_time": at}}),
            );
            lines.push(
                json!({"type": "judgements", "id": judgement, "data": {"id": judgement,
                "submission_id": submission, "judgement_type_id": "AC"}}),
            );
        }
    }
    lines
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}
