//! The follower: reads a judge's feed for as long as there is one, and passes on what is new.
//!
//! It goes on by the token of the last line that was passed on, which the contest's log itself remembers. Where there is none (the
//! judge does not know it any more, or gives none) the feed is read from its start: all of it before anything is passed on, so that
//! those who watch see no step back through old states; then its last states are posted, and what it has no more is deleted.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use async_trait::async_trait;
use futures_util::{FutureExt as _, StreamExt as _};
use jiff::Timestamp;
use rand::RngExt as _;
use serde_json::{Value, json};
use tokio::{sync::watch, time::Instant};

use super::{
    embargo::Embargo,
    lines::Lines,
    replica::Replica,
    upstream::{NoFeed, Since, Upstream, plain},
};
use crate::contest::{Kind, Notification, clock};

/// Lines that are passed on together, at the most.
const BATCH_MAX: usize = 1000;

/// A feed that is read to its end is there when it shows by an empty line that it is alive, or when nothing has come for so long.
const END_AFTER: Duration = Duration::from_secs(5);

/// Pauses between attempts to reach the judge, or whom we pass on to.
const PAUSE_MIN: Duration = Duration::from_millis(200);
const PAUSE_MAX: Duration = Duration::from_secs(10);

/// The type of the event that remembers, after a start-over, where the feed goes on.
pub const MARK: &str = "rankcast-feed";

/// The longest name of a source.
const SOURCE_MAX: usize = 200;

/// A line with its number in the feed.
pub type Numbered = (u64, Notification);

/// Where those stand whom we pass on to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stand {
    /// The name under which the last line came, and its token.
    pub last: Option<(String, String)>,
    /// Nothing has come yet.
    pub empty: bool,
}

/// What became of lines that were passed on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// New ones.
    pub accepted: u64,
    /// Those that said what was known.
    pub repeated: u64,
    /// Those that cannot be taken: number and reason.
    pub bad: Vec<(u64, String)>,
}

/// Why nothing could be passed on.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// It will be no better by trying again.
    #[error("{0}")]
    Refused(String),
    /// It may work later.
    #[error("{0}")]
    Away(String),
}

/// Whom the lines are passed on to.
#[async_trait]
pub trait Sink: Send + Sync {
    /// Where it stands with the feed of that name, or one that began anew under it.
    async fn stand(&self, name: &str) -> Result<Stand, SinkError>;
    /// The ids of all objects that it has, by type.
    async fn objects(&self) -> Result<BTreeMap<String, BTreeSet<String>>, SinkError>;
    /// Takes lines, all or none of them, in the name of a source.
    async fn post(&self, source: &str, lines: &[Numbered]) -> Result<Taken, SinkError>;
}

/// How it goes.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// There is a connection to the judge.
    pub connected: bool,
    /// Everything that the judge had to say has been passed on.
    pub caught_up: bool,
    /// When the judge was heard last: lines, or the empty ones by which a feed shows that it is alive.
    pub heard: Option<Instant>,
    /// When the oldest line came that is not passed on yet.
    pub waits_since: Option<Instant>,
    /// Lines that came.
    pub lines: u64,
    /// Lines that were new.
    pub accepted: u64,
    /// Lines that said what was known.
    pub repeated: u64,
    /// Lines that cannot be taken, and the last of them: number and reason.
    pub bad: u64,
    /// The last bad line.
    pub last_bad: Option<(u64, String)>,
    /// Lines held back.
    pub held: usize,
    /// How often the connection was made anew.
    pub reconnects: u64,
    /// How often the feed was read from its start though something was known.
    pub start_overs: u64,
    /// Why there is no connection.
    pub trouble: Option<String>,
    /// The judge has said that nothing follows.
    pub ended: bool,
}

/// Follows one feed.
pub struct Follower<S> {
    upstream: Upstream,
    sink: S,
    /// Holds back what is frozen.
    hold: bool,
    embargo: Option<Embargo>,
    source: String,
    since: Option<Since>,
    /// Lines that were read and are not passed on yet, and where the feed goes on after them.
    batch: Vec<Numbered>,
    read_since: Option<Since>,
    /// The feed is read from its start to its end, before anything is passed on.
    replica: Option<Replica>,
    /// No feed has been read to its end yet.
    fresh: bool,
    number: u64,
    over: bool,
    progress: watch::Sender<Progress>,
}

/// How a connection ended.
enum Ended {
    /// The feed is over, for good.
    Over,
    Broke(String),
    UnknownToken,
    Refused(String),
}

impl<S: Sink> Follower<S> {
    /// Follows a feed for a sink; `hold`: frozen verdicts are held back until the thaw.
    pub fn new(upstream: Upstream, sink: S, hold: bool) -> Self {
        Self {
            upstream,
            sink,
            hold,
            embargo: None,
            source: String::new(),
            since: None,
            batch: Vec::new(),
            read_since: None,
            replica: None,
            fresh: true,
            number: 0,
            over: false,
            progress: watch::Sender::default(),
        }
    }

    /// How it goes, from now on.
    pub fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    /// Follows until the judge says that nothing comes any more. An error is one that no waiting mends.
    pub async fn run(mut self) -> anyhow::Result<Progress> {
        let mut name = self.upstream.name();
        while name.len() > SOURCE_MAX {
            name.pop();
        }
        let stand = loop {
            match self.sink.stand(&name).await {
                Ok(stand) => break stand,
                Err(SinkError::Refused(error)) => anyhow::bail!(error),
                Err(SinkError::Away(error)) => self.trouble(error, &mut Pause::default()).await,
            }
        };
        self.source.clone_from(&name);
        match stand.last.filter(|_| !self.hold) {
            Some((source, token)) => {
                self.source = source;
                self.since = Some(Since::of(token));
                self.read_since.clone_from(&self.since);
            }
            // Held lines are in nobody's log: a relay begins at the start.
            None if stand.empty => self.begin(false),
            None => self.begin(true),
        }
        let mut pause = Pause::default();
        loop {
            let heard = self.progress.borrow().lines;
            match self.connection().await {
                Ended::Over => {
                    self.progress.send_modify(|progress| progress.ended = true);
                    return Ok(self.progress.borrow().clone());
                }
                Ended::Refused(error) => anyhow::bail!(error),
                Ended::UnknownToken => {
                    tracing::info!(
                        feed = name,
                        "the judge does not know the token: reading from the start"
                    );
                    self.start_over(&name);
                    continue;
                }
                Ended::Broke(error) => {
                    if self.progress.borrow().lines > heard {
                        pause = Pause::default();
                    }
                    self.trouble(error, &mut pause).await;
                }
            }
            self.progress
                .send_modify(|progress| progress.reconnects += 1);
            match (&self.replica, &self.read_since) {
                // The rest of it is read where it broke off.
                (Some(_), Some(since)) => self.since = Some(since.clone()),
                (Some(_), None) => self.start_over(&name),
                (None, _) => {
                    self.batch.clear();
                    self.read_since.clone_from(&self.since);
                    // What it says of an object on the way would be old.
                    if self.since.is_none() && !self.fresh_and_silent() {
                        self.start_over(&name);
                    }
                }
            }
        }
    }

    /// Is something there of a feed that is read from its start?
    fn has_read(&self) -> bool {
        self.replica
            .as_ref()
            .is_some_and(|replica| !replica.is_empty())
    }

    fn fresh_and_silent(&self) -> bool {
        self.fresh && self.progress.borrow().accepted == 0
    }

    /// Reads from the start: with `whole` all of it before anything is passed on.
    fn begin(&mut self, whole: bool) {
        self.since = None;
        self.read_since = None;
        self.number = 0;
        self.batch.clear();
        self.embargo = self.hold.then(Embargo::default);
        self.replica = whole.then(Replica::default);
    }

    fn start_over(&mut self, name: &str) {
        self.begin(true);
        // Tokens of the old feed may come again, and mean something else.
        let moment = Timestamp::now().as_millisecond();
        self.source = format!("{name}#{moment}");
        self.progress.send_modify(|progress| {
            progress.start_overs += 1;
            progress.caught_up = false;
        });
    }

    async fn trouble(&mut self, error: String, pause: &mut Pause) {
        tracing::warn!(error, "the feed is interrupted");
        self.progress.send_modify(|progress| {
            progress.connected = false;
            progress.trouble = Some(error);
        });
        pause.wait().await;
    }

    async fn connection(&mut self) -> Ended {
        let answer = match self.upstream.open(self.since.as_ref()).await {
            Ok(answer) => answer,
            Err(NoFeed::UnknownToken) => return Ended::UnknownToken,
            Err(NoFeed::Refused(error)) => return Ended::Refused(error),
            Err(NoFeed::Away(error)) => return Ended::Broke(error),
        };
        self.progress.send_modify(|progress| {
            progress.connected = true;
            progress.trouble = None;
            progress.heard = Some(Instant::now());
        });
        let mut stream = answer.bytes_stream();
        let mut lines = Lines::default();
        let resumed = self.since.is_some();
        loop {
            // What is there already goes along with what waits.
            let part = match stream.next().now_or_never() {
                Some(part) if self.batch.len() < BATCH_MAX => part,
                ready => {
                    if let Err(ended) = self.pass_on().await {
                        return ended;
                    }
                    if self.over {
                        // Nothing follows: a feed that was read from its start is there.
                        return self.finish().await.err().unwrap_or(Ended::Over);
                    }
                    match ready {
                        Some(part) => part,
                        None if self.has_read() => {
                            tokio::select! {
                                part = stream.next() => part,
                                () = tokio::time::sleep(END_AFTER) => {
                                    if let Err(ended) = self.finish().await {
                                        return ended;
                                    }
                                    continue;
                                }
                            }
                        }
                        None => {
                            self.progress.send_modify(|progress| {
                                progress.caught_up |= progress.lines > 0 || resumed;
                            });
                            stream.next().await
                        }
                    }
                }
            };
            match part {
                Some(Ok(bytes)) => {
                    self.progress
                        .send_modify(|progress| progress.heard = Some(Instant::now()));
                    let mut refused = None;
                    let mut texts = Vec::new();
                    lines.push(&bytes, |line| texts.push(line.map(<[u8]>::to_vec)));
                    for text in texts {
                        let empty = |text: &Vec<u8>| text.trim_ascii().is_empty();
                        if text.as_ref().is_some_and(empty) {
                            if self.has_read()
                                && let Err(ended) = self.finish().await
                            {
                                return ended;
                            }
                            continue;
                        }
                        if let Err(error) = self.line(text.as_deref()) {
                            refused = Some(error);
                            break;
                        }
                    }
                    if let Some(error) = refused {
                        return Ended::Refused(error);
                    }
                }
                Some(Err(error)) => {
                    // What came whole is worth keeping, where the feed goes on from it.
                    return match self.pass_on().await {
                        Err(ended) => ended,
                        Ok(()) => Ended::Broke(plain(&error)),
                    };
                }
                None => {
                    let done = if self.has_read() {
                        self.finish().await
                    } else {
                        self.pass_on().await
                    };
                    return match done {
                        Err(ended) => ended,
                        Ok(()) if self.over => Ended::Over,
                        Ok(()) => Ended::Broke("the judge ended the feed".to_owned()),
                    };
                }
            }
        }
    }

    /// Takes a line in. An error: this is no feed at all.
    fn line(&mut self, text: Option<&[u8]>) -> Result<(), String> {
        self.number += 1;
        let number = self.number;
        let read = text.map_or_else(|| Err("it is too long".to_owned()), read);
        let (line, since) = match read {
            Ok(read) => read,
            Err(error) => {
                if number == 1 && self.since.is_none() {
                    let begin: String = String::from_utf8_lossy(text.unwrap_or_default())
                        .chars()
                        .take(60)
                        .collect();
                    return Err(format!(
                        "{}: no event feed: it begins with {begin:?}: {error}",
                        self.upstream.name()
                    ));
                }
                self.bad(number, error);
                return Ok(());
            }
        };
        self.read_since = since.or(self.read_since.take());
        self.over |= Kind::of(&line.kind) == Kind::State && !line.data["end_of_updates"].is_null();
        self.progress.send_modify(|progress| {
            progress.lines += 1;
            progress.waits_since.get_or_insert_with(Instant::now);
        });
        match (&mut self.replica, &mut self.embargo) {
            (Some(replica), _) => replica.take(line),
            (None, Some(embargo)) => {
                let free = embargo.pass(line);
                self.batch
                    .extend(free.into_iter().map(|line| (number, line)));
            }
            (None, None) => self.batch.push((number, line)),
        }
        Ok(())
    }

    fn bad(&mut self, number: u64, error: String) {
        tracing::warn!(line = number, error, "a line of the feed cannot be taken");
        self.progress.send_modify(|progress| {
            progress.bad += 1;
            progress.last_bad = Some((number, error));
        });
    }

    /// Posts what waits.
    async fn pass_on(&mut self) -> Result<(), Ended> {
        if self.replica.is_some() {
            return Ok(());
        }
        let batch = std::mem::take(&mut self.batch);
        for part in batch.chunks(BATCH_MAX) {
            self.post(part).await?;
        }
        self.since.clone_from(&self.read_since);
        let held = self.embargo.as_ref().map_or(0, Embargo::held);
        self.progress.send_modify(|progress| {
            progress.held = held;
            progress.waits_since = None;
        });
        Ok(())
    }

    async fn post(&mut self, lines: &[Numbered]) -> Result<(), Ended> {
        let mut pause = Pause::default();
        loop {
            match self.sink.post(&self.source, lines).await {
                Ok(taken) => {
                    self.progress.send_modify(|progress| {
                        progress.accepted += taken.accepted;
                        progress.repeated += taken.repeated;
                        progress.trouble = None;
                    });
                    for (number, error) in taken.bad {
                        self.bad(number, error);
                    }
                    return Ok(());
                }
                Err(SinkError::Refused(error)) => return Err(Ended::Refused(error)),
                Err(SinkError::Away(error)) => {
                    self.progress
                        .send_modify(|progress| progress.trouble = Some(error));
                    pause.wait().await;
                }
            }
        }
    }

    /// The feed was read to its end: posts its last states, deletes what it has no more, and goes on from there.
    async fn finish(&mut self) -> Result<(), Ended> {
        let Some(replica) = self.replica.take() else {
            return Ok(());
        };
        tracing::info!(objects = replica.len(), "the feed has been read to its end");
        let known = loop {
            let mut pause = Pause::default();
            match self.sink.objects().await {
                Ok(known) => break known,
                Err(SinkError::Refused(error)) => return Err(Ended::Refused(error)),
                Err(SinkError::Away(error)) => self.trouble(error, &mut pause).await,
            }
        };
        let mut batch = Vec::new();
        for line in replica.lines(&known) {
            let free = match &mut self.embargo {
                Some(embargo) => embargo.pass(line),
                None => vec![line],
            };
            batch.extend(free.into_iter().map(|line| (self.number, line)));
        }
        for part in batch.chunks(BATCH_MAX) {
            self.post(part).await?;
        }
        tracing::info!(lines = batch.len(), "its last states are passed on");
        if let Some(since) = self.read_since.as_ref().filter(|_| !self.hold) {
            let now = clock::format_instant(Timestamp::now().as_millisecond());
            let mark = Notification {
                kind: MARK.to_owned(),
                id: None,
                data: json!({ "source": self.source, "read_to_the_end": now }),
                token: Some(since.token()),
            };
            self.post(&[(self.number, mark)]).await?;
        }
        self.fresh = false;
        self.pass_on().await
    }
}

/// A line, and where the feed goes on after it, if it says so.
fn read(text: &[u8]) -> Result<(Notification, Option<Since>), String> {
    let value: Value =
        serde_json::from_slice(text).map_err(|error| format!("not JSON: {error}"))?;
    // In the older form it is the id that names the line.
    let old = !value["op"].is_null();
    let id = value["id"]
        .as_str()
        .filter(|_| old)
        .map(|id| Since::Id(id.to_owned()));
    let mut line = Notification::from_value(value).map_err(|error| error.to_string())?;
    let since = line.token.clone().map(Since::Token).or(id);
    line.token = since.as_ref().map(Since::token);
    Ok((line, since))
}

/// Waits longer each time, and never exactly as long as others do.
#[derive(Debug)]
struct Pause(Duration);

impl Default for Pause {
    fn default() -> Self {
        Self(PAUSE_MIN)
    }
}

impl Pause {
    async fn wait(&mut self) {
        let jitter = rand::rng().random_range(0.5..1.0);
        tokio::time::sleep(self.0.mul_f64(jitter)).await;
        self.0 = (self.0 * 2).min(PAUSE_MAX);
    }
}
