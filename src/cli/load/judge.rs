//! The judge: decides who sends in what, and posts the judgements at an even rate.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use reqwest::StatusCode;
use serde_json::json;
use tokio::{
    sync::{Semaphore, oneshot},
    time::{Instant, sleep, sleep_until},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    attempt::Attempts,
    stage::{Stage, random},
};
use crate::{contest::clock, web::judge::Posted};

/// Posts under way at the same time, at the most: each takes a connection. Beyond that the rate falls.
pub const POSTS_MAX: usize = 256;

/// Most judgements concern so many teams, so that the first pages of a large contest move as those of a small one do.
const LEADERS: usize = 100;

/// The share of judgements that concern any team, whoever it is.
const ANYBODY: f64 = 0.1;

/// The share of accepted ones at the most: as in real contests.
const ACCEPTED_MAX: f64 = 0.3;

/// The share of the leaders' cells that are solved in the end, at the most: what is solved cannot change any more.
const SOLVED_MAX: f64 = 0.6;

/// The pauses before a judgement is posted again.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// A judgement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The team's place in the contest's list.
    pub team: usize,
    /// The problem's.
    pub problem: usize,
    /// Whether it is accepted.
    pub accepted: bool,
}

/// Chooses judgements, the same ones for the same seed. Each changes something that can be seen: no attempt follows an accepted one.
pub struct Choice {
    random: StdRng,
    teams: usize,
    problems: usize,
    solved: Vec<bool>,
    unsolved: usize,
    accepted: f64,
}

impl Choice {
    /// Of so many judgements in all.
    pub fn new(seed: u64, teams: usize, problems: usize, total: u64) -> Self {
        let cells = (teams.min(LEADERS) * problems) as f64;
        Self {
            random: StdRng::seed_from_u64(seed),
            teams,
            problems,
            solved: vec![false; teams * problems],
            unsolved: teams * problems,
            accepted: (cells * SOLVED_MAX / total.max(1) as f64).min(ACCEPTED_MAX),
        }
    }

    /// Chooses the next one.
    pub fn choose(&mut self) -> Verdict {
        let cell = loop {
            let leaders = self.teams.min(LEADERS);
            let among = if self.random.random_bool(ANYBODY) {
                self.teams
            } else {
                leaders
            };
            let team = self.random.random_range(0..among);
            let cell = team * self.problems + self.random.random_range(0..self.problems);
            if !self.solved[cell] {
                break cell;
            }
        };
        // One stays open, or there would be nothing to choose.
        let accepted = self.unsolved > 1 && self.random.random_bool(self.accepted);
        if accepted {
            self.solved[cell] = true;
            self.unsolved -= 1;
        }
        Verdict {
            team: cell / self.problems,
            problem: cell % self.problems,
            accepted,
        }
    }
}

/// Posts judgements.
#[derive(Clone)]
pub struct Judge {
    /// Servers and counts.
    pub stage: Arc<Stage>,
    /// Where the start of each is noted.
    pub attempts: Arc<Attempts>,
    /// Of writes; none needed without.
    pub key: Option<String>,
    /// The ids of the teams and problems.
    pub teams: Arc<Vec<String>>,
    #[allow(missing_docs)]
    pub problems: Arc<Vec<String>>,
    /// When the contest began, in ms since 1970.
    pub contest_start: i64,
    /// How long a judgement is tried after the last one was due.
    pub patience: Duration,
    /// The server that answered last.
    pub server: Arc<AtomicUsize>,
}

impl Judge {
    /// Posts `total` judgements, `rate` a second, until that many seconds are over or it is stopped. Ends when all of them
    /// are answered or given up.
    pub async fn run(self, mut choice: Choice, rate: f64, total: u64, stop: &CancellationToken) {
        let start = Instant::now();
        let end = start + Duration::from_secs_f64(total as f64 / rate);
        let give_up = end + self.patience;
        let posts = TaskTracker::new();
        let places = Arc::new(Semaphore::new(POSTS_MAX));
        // The newest post of each cell: the next one follows when it has ended.
        let mut newest: HashMap<(usize, usize), oneshot::Receiver<()>> = HashMap::new();
        for number in 0..total {
            let due = start + Duration::from_secs_f64(number as f64 / rate);
            let permit = stop
                .run_until_cancelled(async {
                    sleep_until(due).await;
                    places.clone().acquire_owned().await
                })
                .await;
            let Some(Ok(permit)) = permit else { break };
            // Late ones are not made up for after the end.
            if Instant::now() > end {
                break;
            }
            let verdict = choice.choose();
            let (done, after) = oneshot::channel();
            let before = newest.insert((verdict.team, verdict.problem), after);
            let judge = self.clone();
            posts.spawn(async move {
                if let Some(before) = before {
                    // An error means that it has ended, too.
                    let _ = before.await;
                }
                judge.post(number, &verdict, give_up).await;
                drop((done, permit));
            });
        }
        posts.close();
        posts.wait().await;
    }

    /// Posts one, again and again if need be: it has an id, and counts once.
    async fn post(&self, number: u64, verdict: &Verdict, give_up: Instant) {
        let tally = &self.stage.tally;
        let (team, problem) = (&self.teams[verdict.team], &self.problems[verdict.problem]);
        let now = jiff::Timestamp::now().as_millisecond();
        let body = json!({
            "id": format!("j{number}"),
            "team_id": team,
            "problem_id": problem,
            "judgement_type_id": if verdict.accepted { "AC" } else { "WA" },
            "contest_time": clock::format_relative(now - self.contest_start),
        });
        let body = bytes::Bytes::from(body.to_string());
        tally.posted.one();
        self.attempts.begin(team, problem);
        let mut pause = PAUSE_MIN;
        loop {
            let server = self.server.load(Ordering::Relaxed);
            let said = match self.send(server, body.clone()).await {
                Ok(()) => return tally.accepted.one(),
                Err(problem) if problem.away && Instant::now() < give_up => {
                    tally.retries.one();
                    // Whoever finds a server away first moves all to the next.
                    let next = (server + 1) % self.stage.net.places.len();
                    let _ = self.server.compare_exchange(
                        server,
                        next,
                        Ordering::Relaxed,
                        Ordering::Relaxed,
                    );
                    sleep(random(pause / 2, pause)).await;
                    pause = (pause * 2).min(PAUSE_MAX);
                    continue;
                }
                Err(problem) => problem.said,
            };
            return tally.fault(|| format!("a judgement was not accepted: {said}"));
        }
    }

    async fn send(&self, server: usize, body: bytes::Bytes) -> Result<(), Problem> {
        let net = &self.stage.net;
        let url = format!("{}{}/judgements", net.places[server].base, self.stage.path);
        let mut request = net
            .http
            .post(url)
            .header("content-type", "application/json")
            .body(body);
        if let Some(key) = &self.key {
            request = request.bearer_auth(key);
        }
        let away = |error: reqwest::Error| Problem {
            away: true,
            said: error.to_string(),
        };
        let answer = request.send().await.map_err(away)?;
        let status = answer.status();
        let text = answer.bytes().await.map_err(away)?;
        let said = || {
            let text: String = String::from_utf8_lossy(&text).chars().take(200).collect();
            format!("{status}: {text}")
        };
        if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
            return Err(Problem {
                away: true,
                said: said(),
            });
        }
        let posted: Posted = serde_json::from_slice(&text).unwrap_or_default();
        let taken = posted.accepted + posted.repeated > 0
            && posted.errors.is_empty()
            && posted.kept_aside.unwrap_or(0) == 0;
        if status.is_success() && taken {
            Ok(())
        } else {
            Err(Problem {
                away: false,
                said: said(),
            })
        }
    }
}

/// Why a judgement was not taken.
struct Problem {
    /// Another server may take it, or this one later; else none ever will.
    away: bool,
    said: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdicts(seed: u64, teams: usize, problems: usize, total: u64) -> Vec<Verdict> {
        let mut choice = Choice::new(seed, teams, problems, total);
        (0..total).map(|_| choice.choose()).collect()
    }

    #[test]
    fn a_seed_says_it_all() {
        assert_eq!(verdicts(7, 120, 12, 500), verdicts(7, 120, 12, 500));
        assert_ne!(verdicts(7, 120, 12, 500), verdicts(8, 120, 12, 500));
    }

    #[test]
    fn nothing_follows_an_accepted_one_and_something_always_follows() {
        for (teams, problems, total) in
            [(120, 12, 20_000), (1, 1, 50), (3, 2, 1000), (5000, 3, 5000)]
        {
            let mut solved = std::collections::HashSet::new();
            for verdict in verdicts(1, teams, problems, total) {
                let cell = (verdict.team, verdict.problem);
                assert!(!solved.contains(&cell));
                if verdict.accepted {
                    solved.insert(cell);
                }
            }
            assert!(solved.len() < teams * problems);
        }
        let accepted = verdicts(1, 120, 12, 1000)
            .iter()
            .filter(|one| one.accepted)
            .count();
        assert!((200..400).contains(&accepted), "{accepted}");
    }
}
