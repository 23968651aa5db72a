//! One viewer: connects, follows the protocol to the letter, comes back with its position.

use std::{
    future::{Future, pending},
    pin::{Pin, pin},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use serde::Deserialize;
use tokio::time::{Instant, Sleep, sleep, timeout};

use super::{
    fetch::{Fetch, Reload},
    locked,
    stage::{Seat, Stage, random},
    state::{State, Taken},
    tally::Tally,
    wire::{Ask, Heard, Refused, Wire},
};
use crate::{
    contest::ProblemLine,
    protocol::{Close, message},
};

/// How long a server may be silent before a connection counts as dead; it pings every 25 s.
const SILENCE_MAX: Duration = Duration::from_secs(75);

/// How long a connection may take to be opened: a server lets those who come at once wait for 10 s.
const OPEN_MAX: Duration = Duration::from_secs(20);

/// The pauses before a connection is tried again.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(3);

/// The most that a viewer waits beyond `retry_ms`, so that those who were told the same do not come together.
pub const JITTER: Duration = Duration::from_millis(200);

/// Frames that a viewer keeps while it fetches a board, before it starts over.
const KEPT_MAX: usize = 4096;

/// How long a slow viewer reads, and how long it then does not, at the least and the most. Long enough for a server to see
/// a full socket, and at times for it to give up.
const AWAKE: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(6)];
const ASLEEP: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(40)];

/// Why a connection ended.
enum Left {
    /// All were to drop theirs.
    Dropped,
    /// Come back after a while, to the next server.
    Away(Duration),
    /// Do not come back.
    ForEver,
}

#[derive(Deserialize)]
struct Bye {
    retry_ms: u64,
}

/// A viewer at work.
pub struct Viewer<'a> {
    stage: &'a Stage,
    seat: &'a Seat,
    live: String,
    board: String,
    state: Option<Arc<State>>,
    /// Attempts before it concern what it missed.
    since: Instant,
    /// Deltas that came while a board is being fetched.
    kept: Vec<(Bytes, Option<String>)>,
    /// Where the board that is being fetched has to be at least.
    wanted: Option<Reload>,
}

impl<'a> Viewer<'a> {
    /// A viewer that begins.
    pub fn new(stage: &'a Stage, seat: &'a Seat) -> Self {
        let limit = seat.limit.name();
        Self {
            live: format!("{}/live?limit={limit}", stage.path),
            board: format!("{}/board?limit={limit}", stage.path),
            stage,
            seat,
            state: None,
            since: Instant::now(),
            kept: Vec::new(),
            wanted: None,
        }
    }

    /// Watches until it is dropped, or told not to come back.
    pub async fn run(mut self) {
        let servers = self.stage.net.places.len();
        let mut server = self.seat.index;
        let mut failures = 0;
        loop {
            let before = self.state.clone();
            let left = self.attend(server % servers).await;
            self.seat.hold(None, false);
            self.kept.clear();
            self.wanted = None;
            match left {
                Left::ForEver => return,
                Left::Dropped => {
                    self.stage.tally.dropped.one();
                    sleep(random(Duration::ZERO, self.stage.wave_within)).await;
                }
                Left::Away(after) => {
                    server += 1;
                    let moved = match (&before, &self.state) {
                        (Some(before), Some(now)) => !Arc::ptr_eq(before, now),
                        (None, now) => now.is_some(),
                        (Some(_), None) => false,
                    };
                    failures = if moved { 0 } else { failures + 1 };
                    let most = (PAUSE_MIN * (1 << failures.min(5))).min(PAUSE_MAX);
                    sleep(after + random(Duration::ZERO, most)).await;
                }
            }
        }
    }

    /// One connection.
    async fn attend(&mut self, server: usize) -> Left {
        let (stage, tally) = (self.stage, &self.stage.tally);
        let wave = stage.wave();
        let position = self.state.clone();
        let ask = Ask {
            path: &self.live,
            since: position.as_ref().map(|state| state.position()),
            events: self.seat.events,
            slow: self.seat.slow,
        };
        let open = Wire::open(&stage.net, &stage.net.places[server], &ask);
        let mut wire = match timeout(OPEN_MAX, open).await.unwrap_or(Err(Refused::Away)) {
            Ok(wire) => wire,
            Err(Refused::Away | Refused::Status(429 | 502..=504)) => {
                tally.refused.one();
                return Left::Away(Duration::ZERO);
            }
            Err(Refused::Status(status)) => {
                tally.refused.one();
                tally.fault(|| format!("a viewer was answered with the status {status}"));
                return Left::ForEver;
            }
        };
        let _here = tally.here();
        if self.seat.held().state.is_some() {
            tally.reconnects.one();
        }
        self.since = Instant::now();
        if self.state.is_some() {
            self.seat.hold(None, true);
        }
        let mut heard_at = self.since;
        let mut silence = pin!(sleep(SILENCE_MAX));
        let mut dropped = pin!(wave.cancelled());
        let mut stall = self.next_stall();
        let mut fetch: Option<Fetch<'a>> = None;
        let mut bye = Duration::ZERO;
        loop {
            let heard = tokio::select! {
                biased;
                () = &mut dropped => return Left::Dropped,
                () = ready(&mut stall) => {
                    tally.stalls.one();
                    let asleep = random(ASLEEP[0], ASLEEP[1]).min(stage.asleep_max);
                    tokio::select! {
                        () = sleep(asleep) => {}
                        () = stage.settling.cancelled() => {}
                        () = &mut dropped => return Left::Dropped,
                    }
                    heard_at = Instant::now();
                    stall = self.next_stall();
                    continue;
                }
                () = &mut silence => {
                    let until = heard_at + SILENCE_MAX;
                    if until <= Instant::now() {
                        tally.closed(None);
                        return Left::Away(Duration::ZERO);
                    }
                    silence.as_mut().reset(until);
                    continue;
                }
                whole = ready(&mut fetch) => {
                    fetch = None;
                    if self.wanted.is_none() {
                        // A newer one came over the socket.
                        continue;
                    }
                    let Some((bytes, gzip)) = whole else {
                        return Left::Away(Duration::ZERO);
                    };
                    tally.reloads.one();
                    if let Err(fault) = self.fetched(&bytes, gzip) {
                        tally.fault(|| fault);
                        return Left::Away(Duration::ZERO);
                    }
                    continue;
                }
                heard = wire.next() => heard,
            };
            heard_at = Instant::now();
            let taken = match heard {
                Heard::Message(bytes, id) => {
                    tally.deliveries.one();
                    tally.bytes.add(bytes.len() as u64);
                    self.take(bytes, id)
                }
                Heard::Beat => Ok(Next::On),
                Heard::Cut => {
                    tally.closed(None);
                    return Left::Away(bye);
                }
                Heard::Closed(code) => {
                    tally.closed(Some(code));
                    return leave(code, bye, tally);
                }
                Heard::Broken(what) => Err(what),
            };
            match taken {
                Ok(Next::On) => {}
                Ok(Next::Fetch) => {
                    self.seat.hold(None, false);
                    let place = &stage.net.places[server];
                    fetch = self
                        .wanted
                        .as_ref()
                        .map(|wanted| wanted.fetch(stage, place, &self.board));
                }
                Ok(Next::Bye(after)) => bye = after + random(Duration::ZERO, JITTER),
                Ok(Next::StartOver) => return Left::Away(Duration::ZERO),
                Err(fault) => {
                    tally.fault(|| fault);
                    return Left::Away(Duration::ZERO);
                }
            }
        }
    }

    /// When a slow viewer stops reading next.
    fn next_stall(&self) -> Option<Pin<Box<Sleep>>> {
        let slow = self.seat.slow && !self.stage.settling.is_cancelled();
        slow.then(|| Box::pin(sleep(random(AWAKE[0], AWAKE[1]))))
    }

    /// Takes a message in.
    fn take(&mut self, bytes: Bytes, id: Option<String>) -> Result<Next, String> {
        let broken = |error: serde_json::Error| format!("a message that cannot be read: {error}");
        match kind(&bytes)? {
            "delta" if self.wanted.is_some() => {
                self.kept.push((bytes, id));
                Ok(if self.kept.len() > KEPT_MAX {
                    Next::StartOver
                } else {
                    Next::On
                })
            }
            "delta" => self.delta(&bytes, id.as_deref()),
            "snapshot" => {
                self.stage.tally.snapshots.one();
                let lane = self.stage.lane(self.seat.limit);
                let taken = lane.whole(self.state.as_ref(), &bytes, false)?;
                // What was being fetched is older than what comes over the socket.
                self.wanted = None;
                self.kept.clear();
                self.went(taken);
                self.check(id.as_deref())?;
                Ok(Next::On)
            }
            "reload" => {
                let reload: Reload = serde_json::from_slice(&bytes).map_err(broken)?;
                self.wanted = Some(reload);
                self.kept.clear();
                Ok(Next::Fetch)
            }
            "bye" => {
                let bye: Bye = serde_json::from_slice(&bytes).map_err(broken)?;
                Ok(Next::Bye(Duration::from_millis(bye.retry_ms)))
            }
            "state" => {
                serde_json::from_slice::<message::State>(&bytes).map_err(broken)?;
                Ok(Next::On)
            }
            "problems" => {
                self.problems(&bytes)?;
                Ok(Next::On)
            }
            other => Err(format!("a message of the unknown type {other}")),
        }
    }

    fn delta(&mut self, bytes: &Bytes, id: Option<&str>) -> Result<Next, String> {
        let state = self.state.as_ref().ok_or("a delta before any board")?;
        let lane = self.stage.lane(self.seat.limit);
        if let Some(taken) = lane.delta(state, bytes)? {
            if taken.merged {
                self.stage.tally.merged.one();
            }
            self.went(taken);
            self.check(id)?;
        }
        Ok(Next::On)
    }

    /// The viewer is a step further; whoever watches it can see that, and the latencies are recorded.
    fn went(&mut self, taken: Taken) {
        self.seat.hold(Some(&taken.to), self.wanted.is_none());
        self.state = Some(taken.to);
        let Some(step) = taken.step.filter(|step| !step.shows.is_empty()) else {
            return;
        };
        let now = Instant::now();
        let (slow, since) = (self.seat.slow, self.since);
        self.stage.tally.record(self.seat.index, |latencies| {
            for attempt in &step.shows {
                let micros = (now - attempt.start).as_micros() as u64;
                if slow {
                    latencies.slow.saturating_record(micros);
                } else if attempt.start < since {
                    latencies.catch_up.saturating_record(micros);
                } else {
                    latencies.steady.saturating_record(micros);
                    attempt.seen(micros);
                }
            }
        });
    }

    /// The id of an event is the position that it leads to: whoever resumes with it must not miss anything.
    fn check(&self, id: Option<&str>) -> Result<(), String> {
        match (id, &self.state) {
            (Some(id), Some(state)) if id != state.position() => Err(format!(
                "an event with the id {id} leads to {}",
                state.position()
            )),
            _ => Ok(()),
        }
    }

    fn problems(&self, bytes: &Bytes) -> Result<(), String> {
        #[derive(Deserialize)]
        struct Problems {
            #[allow(dead_code)] // it has to be there
            version: u64,
            #[allow(dead_code)]
            problems: Vec<ProblemLine>,
        }
        let mut known = locked(&self.stage.problems);
        let known = &mut known[self.seat.limit.index()];
        if known != bytes {
            serde_json::from_slice::<Problems>(bytes)
                .map_err(|error| format!("a message that cannot be read: {error}"))?;
            *known = Bytes::copy_from_slice(bytes);
        }
        Ok(())
    }

    /// A whole board came, after `reload`; then the frames count that came meanwhile.
    fn fetched(&mut self, bytes: &Bytes, gzip: bool) -> Result<(), String> {
        let lane = self.stage.lane(self.seat.limit);
        let taken = lane.whole(self.state.as_ref(), bytes, gzip)?;
        self.wanted = None;
        self.went(taken);
        for (bytes, id) in std::mem::take(&mut self.kept) {
            self.delta(&bytes, id.as_deref())?;
        }
        Ok(())
    }
}

/// What follows from a message.
enum Next {
    On,
    /// The board that is wanted now.
    Fetch,
    Bye(Duration),
    StartOver,
}

/// What to do after a close code.
fn leave(code: u16, bye: Duration, tally: &Tally) -> Left {
    let come_back = [Close::TooSlow, Close::TooMany, Close::Restarting];
    if come_back.iter().any(|close| close.code() == code) {
        return Left::Away(bye);
    }
    tally.fault(|| format!("a viewer was closed with the code {code}"));
    let stay_away = [
        Close::BadRequest,
        Close::Unauthorized,
        Close::NotFound,
        Close::Deleted,
    ];
    if stay_away.iter().any(|close| close.code() == code) {
        Left::ForEver
    } else {
        Left::Away(bye)
    }
}

/// The type of a message, found without reading all of it where it comes first.
fn kind(bytes: &Bytes) -> Result<&str, String> {
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(rename = "type")]
        kind: &'a str,
    }
    const START: &[u8] = b"{\"type\":\"";
    if let Some(rest) = bytes.strip_prefix(START)
        && let Some(end) = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'))
        && rest[end] == b'"'
    {
        return std::str::from_utf8(&rest[..end]).map_err(|error| error.to_string());
    }
    serde_json::from_slice::<Kind<'_>>(bytes)
        .map(|kind| kind.kind)
        .map_err(|error| format!("a message without a type: {error}"))
}

/// Waits for a future that is there; for ever if none is.
async fn ready<F: Future + Unpin>(future: &mut Option<F>) -> F::Output {
    match future {
        Some(future) => future.await,
        None => pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_of_a_message_is_found_wherever_it_stands() {
        let kind =
            |text: &'static str| kind(&Bytes::from_static(text.as_bytes())).map(str::to_owned);
        assert_eq!(kind(r#"{"type":"delta","from":1}"#).as_deref(), Ok("delta"));
        assert_eq!(
            kind(r#"{"from":1, "type" : "delta"}"#).as_deref(),
            Ok("delta")
        );
        for text in ["", "{", "{}", "[]", r#"{"type":1}"#, r#"{"type":"delta"#] {
            assert!(kind(text).is_err(), "{text}");
        }
    }
}
