//! What is counted while a test runs.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use hdrhistogram::Histogram;

use super::locked;

/// The histograms are shared by so many locks, so that the threads seldom meet at one.
const SHARDS: usize = 8;

/// The longest latency that is told apart, in microseconds: 10 minutes.
const LATENCY_MAX: u64 = 600_000_000;

/// Faults that are told word by word.
const FAULTS_TOLD: usize = 10;

/// Latencies in microseconds, from the start of a judge's POST to the frame in which a viewer sees it.
pub struct Latencies {
    /// Of viewers that were connected when the judgement was sent, and read all the time.
    pub steady: Histogram<u64>,
    /// Of viewers that do not read all the time.
    pub slow: Histogram<u64>,
    /// Of viewers that were away when the judgement was sent, and were told when they came back.
    pub catch_up: Histogram<u64>,
}

impl Latencies {
    fn new() -> Self {
        Self {
            steady: histogram(),
            slow: histogram(),
            catch_up: histogram(),
        }
    }
}

/// An empty histogram of microseconds.
#[allow(clippy::missing_panics_doc)] // the bounds are constants, and in order
pub fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LATENCY_MAX, 3).expect("the bounds are in order")
}

/// A number that only grows, unless it counts who is there.
#[derive(Default)]
pub struct Count(AtomicU64);

impl Count {
    /// Adds one.
    pub fn one(&self) {
        self.add(1);
    }

    /// Adds some.
    pub fn add(&self, some: u64) {
        self.0.fetch_add(some, Ordering::Relaxed);
    }

    /// How many there are.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// All that is counted.
#[derive(Default)]
pub struct Tally {
    /// Connections that are open.
    pub connected: Count,
    /// Connections after the first of a viewer.
    pub reconnects: Count,
    /// Connections that did not come about.
    pub refused: Count,
    /// Connections that viewers dropped in waves.
    pub dropped: Count,
    /// Times that a slow viewer stopped reading.
    pub stalls: Count,
    /// Messages received.
    pub deliveries: Count,
    /// Bytes of messages and of fetched boards.
    pub bytes: Count,
    /// Boards that came through a socket.
    pub snapshots: Count,
    /// Boards that were fetched.
    pub reloads: Count,
    /// Deltas that span several frames.
    pub merged: Count,
    /// Judgements that were sent.
    pub posted: Count,
    /// Judgements that a server took.
    pub accepted: Count,
    /// Answers to judgements that had to be asked for again: a server was away, or took too long.
    pub retries: Count,
    latencies: Shards,
    closes: Mutex<BTreeMap<Option<u16>, u64>>,
    faults: Mutex<Faults>,
}

struct Shards([Mutex<Latencies>; SHARDS]);

impl Default for Shards {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Mutex::new(Latencies::new())))
    }
}

/// What went wrong.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// How often.
    pub total: u64,
    /// The first of them, in words.
    pub told: Vec<String>,
}

impl Tally {
    /// Counts a connection for as long as the value lives.
    pub fn here(&self) -> Here<'_> {
        self.connected.one();
        Here(self)
    }

    /// Something happened that the protocol does not allow, or a judgement was not taken.
    pub fn fault(&self, what: impl FnOnce() -> String) {
        let mut faults = locked(&self.faults);
        faults.total += 1;
        if faults.told.len() < FAULTS_TOLD {
            let what = what();
            if !faults.told.contains(&what) {
                faults.told.push(what);
            }
        }
    }

    /// What went wrong so far.
    pub fn faults(&self) -> Faults {
        locked(&self.faults).clone()
    }

    /// A server closed a connection, with a code or without.
    pub fn closed(&self, code: Option<u16>) {
        let mut closes = locked(&self.closes);
        *closes.entry(code).or_default() += 1;
    }

    /// Closed connections by code; `None`: without one.
    pub fn closes(&self) -> BTreeMap<Option<u16>, u64> {
        locked(&self.closes).clone()
    }

    /// Records latencies of the viewer with this number.
    pub fn record(&self, viewer: usize, record: impl FnOnce(&mut Latencies)) {
        let shard = &self.latencies.0[viewer % SHARDS];
        record(&mut locked(shard));
    }

    /// All latencies so far.
    #[allow(clippy::missing_panics_doc)] // all histograms have the same bounds
    pub fn latencies(&self) -> Latencies {
        let mut all = Latencies::new();
        for shard in &self.latencies.0 {
            let shard = locked(shard);
            let add = |to: &mut Histogram<u64>, from: &Histogram<u64>| {
                to.add(from).expect("the bounds are the same");
            };
            add(&mut all.steady, &shard.steady);
            add(&mut all.slow, &shard.slow);
            add(&mut all.catch_up, &shard.catch_up);
        }
        all
    }
}

/// A connection that is counted.
pub struct Here<'a>(&'a Tally);

impl Drop for Here<'_> {
    fn drop(&mut self) {
        self.0.connected.0.fetch_sub(1, Ordering::Relaxed);
    }
}
