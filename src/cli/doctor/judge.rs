//! `rankcast doctor --judge`: can this judge be followed, as whom, and what of its behaviour matters.

use std::time::Duration;

use futures_util::StreamExt as _;
use reqwest::StatusCode;
use serde_json::Value;

use crate::{cli::judge::Judge, contest::clock, feed::lines::Lines};

/// Lines of the feed that are looked at, and how long is waited for them.
const LINES: usize = 20;
const LINES_WITHIN: Duration = Duration::from_secs(5);

/// A clock that differs by more is worth a word: the countdown on our page is the judge's start by our clock.
const SKEW_MS: i64 = 1_500;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// As it should be.
    Ok,
    /// It works, but.
    Warn,
    /// It cannot be followed so.
    Bad,
}

/// Looks, and prints what it finds. Answers the worst.
pub async fn examine(url: &str, judge: &Judge, root: &Judge) -> anyhow::Result<Grade> {
    let mut report = Report { worst: Grade::Ok };
    let contest = judge.ask("", false).await?;
    match contest.status {
        StatusCode::OK if contest.body["name"].is_string() => {
            let name = contest.body["name"].as_str().unwrap_or("");
            report.say(Grade::Ok, &format!("contest: {name}"));
        }
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            report.say(Grade::Bad, &format!("contest: {}: give other credentials: RANKCAST_FEED_USER and RANKCAST_FEED_PASSWORD, RANKCAST_FEED_KEY, or --feed-auth FILE", contest.status));
            return Ok(report.worst);
        }
        status => {
            report.say(Grade::Bad, &format!("contest: {url} answers {status}; expected the URL of a contest, …/api/contests/ID"));
            return Ok(report.worst);
        }
    }
    report.version(root).await?;
    report.role(judge).await?;
    report.clock(judge, &contest).await?;
    report.feed(judge).await?;
    Ok(report.worst)
}

struct Report {
    worst: Grade,
}

impl Report {
    fn say(&mut self, grade: Grade, text: &str) {
        self.worst = self.worst.max(grade);
        let word = match grade {
            Grade::Ok => "ok  ",
            Grade::Warn => "warn",
            Grade::Bad => "bad ",
        };
        println!("{word}  {text}");
    }

    async fn version(&mut self, root: &Judge) -> anyhow::Result<()> {
        let info = root.ask("/", false).await?;
        let provider = info.body["provider"]["name"].as_str().unwrap_or("somebody");
        match info.body["version"].as_str() {
            Some(version @ ("2023-06" | "2026-01")) => {
                self.say(Grade::Ok, &format!("version: {version}, by {provider}"));
            }
            Some(version) => self.say(Grade::Warn, &format!("version: {version}, by {provider}; 2023-06 and 2026-01 are what is read for certain")),
            None => self.say(Grade::Warn, "version: it does not say (GET …/api/)"),
        }
        Ok(())
    }

    async fn role(&mut self, judge: &Judge) -> anyhow::Result<()> {
        let who = if judge.is_known() {
            "with these credentials"
        } else {
            "as anybody"
        };
        let access = judge.ask("/access", false).await?;
        let types: Vec<&str> = access.body["endpoints"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|one| one["type"].as_str())
            .collect();
        if access.status == StatusCode::OK {
            self.say(
                Grade::Ok,
                &format!("role: {who} it shows {}", types.join(", ")),
            );
        } else {
            self.say(
                Grade::Warn,
                &format!("role: it does not say (GET …/access: {})", access.status),
            );
        }
        let state = judge.ask("/state", false).await?.body;
        let judgements = judge.ask("/judgements", false).await?;
        let submissions = judge.ask("/submissions", false).await?;
        if judgements.status != StatusCode::OK || submissions.status != StatusCode::OK {
            self.say(
                Grade::Bad,
                &format!(
                    "results: submissions answer {}, judgements {}: without both there is no board",
                    submissions.status, judgements.status
                ),
            );
            return Ok(());
        }
        let count = |body: &Value| body.as_array().map_or(0, Vec::len);
        let counts = format!(
            "{} submissions, {} judgements",
            count(&submissions.body),
            count(&judgements.body)
        );
        let frozen = !state["frozen"].is_null() && state["thawed"].is_null();
        if frozen && !judge.is_known() {
            self.say(Grade::Warn, &format!("results: {counts}; the board is frozen, and {who} what is frozen is not shown: no ceremony without credentials"));
        } else {
            self.say(Grade::Ok, &format!("results: {counts}"));
        }
        Ok(())
    }

    async fn clock(
        &mut self,
        judge: &Judge,
        contest: &crate::cli::judge::Said,
    ) -> anyhow::Result<()> {
        let board = judge.ask("/scoreboard", false).await?;
        let exact = board.body["time"]
            .as_str()
            .and_then(clock::parse_instant)
            .zip(board.clocks);
        let (skew, give_or_take) = match (exact, contest.clocks) {
            (Some((theirs, (_, ours))), _) => {
                let half = i64::try_from(board.took.as_millis() / 2).unwrap_or(0);
                (theirs - (ours - half), half.max(1))
            }
            // The header has whole seconds.
            (None, Some((theirs, ours))) => (theirs + 500 - ours, 500),
            (None, None) => {
                self.say(Grade::Warn, "clock: it does not say what time it is");
                return Ok(());
            }
        };
        let text = format!(
            "clock: the judge's is {} ms {} ours, give or take {give_or_take} ms",
            skew.abs(),
            if skew < 0 { "behind" } else { "ahead of" }
        );
        if skew.abs() > SKEW_MS.max(give_or_take) {
            self.say(Grade::Warn, &format!("{text}; have both set by NTP"));
        } else {
            self.say(Grade::Ok, &text);
        }
        Ok(())
    }

    async fn feed(&mut self, judge: &Judge) -> anyhow::Result<()> {
        let (status, lines) = read(judge, "/event-feed").await?;
        if status != StatusCode::OK {
            self.say(Grade::Bad, &format!("feed: …/event-feed answers {status}"));
            return Ok(());
        }
        let token = |line: &Value| line["token"].as_str().map(str::to_owned);
        let tokens = lines.iter().filter(|line| token(line).is_some()).count();
        match (lines.len(), tokens) {
            (0, _) => {
                self.say(
                    Grade::Warn,
                    "feed: it is there, and has not said anything yet",
                );
                return Ok(());
            }
            (_, 0) if lines.iter().any(|line| !line["op"].is_null()) => {
                self.say(
                    Grade::Ok,
                    "feed: of the older form, with op and an id for each event",
                );
                return Ok(());
            }
            (_, 0) => {
                self.say(Grade::Warn, "feed: its lines have no tokens: after each interruption it is read from its start");
                return Ok(());
            }
            (all, tokens) => self.say(
                Grade::Ok,
                &format!("feed: {tokens} of the first {all} lines have tokens"),
            ),
        }
        let Some(first) = token(&lines[0]).filter(|_| lines.len() > 1) else {
            return Ok(());
        };
        let (status, after) = read(
            judge,
            &format!(
                "/event-feed?since_token={}",
                crate::cli::import::urlencode(&first)
            ),
        )
        .await?;
        if status == StatusCode::OK && after.first().is_some_and(|line| *line != lines[0]) {
            self.say(Grade::Ok, "feed: it goes on after a token");
        } else if status == StatusCode::OK {
            self.say(Grade::Warn, "feed: asked for what follows a token it begins at its start: repeats, which do no harm");
        } else {
            self.say(Grade::Warn, &format!("feed: asked for what follows a token it answers {status}: after each interruption it is read from its start"));
        }
        let (status, _) = read(judge, "/event-feed?since_token=rankcast-doctor-asks").await?;
        if status == StatusCode::BAD_REQUEST {
            self.say(Grade::Ok, "feed: an unknown token is refused");
        } else {
            self.say(Grade::Warn, &format!("feed: an unknown token is answered {status}, not 400: a start-over of the judge may go unnoticed; start the follower anew after one"));
        }
        Ok(())
    }
}

/// The first lines of a feed.
async fn read(judge: &Judge, path: &str) -> anyhow::Result<(StatusCode, Vec<Value>)> {
    let answer = judge.open(path, false).await?;
    let status = answer.status();
    let mut read = Vec::new();
    if status == StatusCode::OK {
        let mut stream = answer.bytes_stream();
        let mut lines = Lines::default();
        let all = async {
            while let Some(Ok(part)) = stream.next().await {
                lines.push(&part, |line| {
                    if let Some(Ok(line)) = line.map(serde_json::from_slice::<Value>) {
                        read.push(line);
                    }
                });
                if read.len() >= LINES {
                    break;
                }
            }
        };
        let _ = tokio::time::timeout(LINES_WITHIN, all).await;
    }
    read.truncate(LINES);
    Ok((status, read))
}
