//! One server, one number of viewers: publish, wait until all have it, pause, and again.

use std::time::{Duration, Instant};

use anyhow::ensure;
use serde::Serialize;

use super::{
    publish::Publisher,
    rankcast::UPDATES_MAX,
    server::{Kind, Setup},
    watch::{PATIENCE, Watchers},
};

/// Between updates. Longer than rankcast's tick of 50 ms, so that each update is the first after quiet.
pub(crate) const PAUSE: Duration = Duration::from_millis(65);

/// Updates before those that are measured.
const WARMING: usize = 3;

/// How long nothing may have come before the measurement begins.
const QUIET: Duration = Duration::from_millis(200);

/// What one run showed.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Run {
    pub(crate) viewers: usize,
    pub(crate) updates: usize,
    /// Frames that reached viewers, those beside the updates included.
    pub(crate) deliveries: u64,
    /// The mean, headers included.
    pub(crate) frame_bytes: f64,
    /// CPU of the server for each delivery, in us.
    pub(crate) cpu_us: f64,
    /// CPU of what runs beside it, for each delivery, in us.
    pub(crate) beside_us: Vec<(String, f64)>,
    /// How long the server waited while others used its core, for each ms of its own. Much more than the 0 of a quiet
    /// machine: latencies are of the others' making, and caches were cold.
    pub(crate) waited: f64,
    /// Resident memory that each viewer adds, in bytes.
    pub(crate) memory: f64,
    pub(crate) beside_memory: Vec<(String, f64)>,
    /// From before the post to an arrival, in us: of all arrivals.
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    /// The same, of each update's last arrival.
    pub(crate) last_us: Vec<f64>,
}

/// How many updates make a run of some seconds.
pub(crate) fn updates(viewers: usize) -> usize {
    (300_000 / viewers.max(1)).clamp(20, 100)
}

/// Measures once, with a server of its own.
pub(crate) fn run(kind: Kind, setup: &Setup, viewers: usize) -> anyhow::Result<Run> {
    let dir = tempfile::tempdir()?;
    let server = kind.start(setup, dir.path())?;
    let updates = updates(viewers);
    assert!(WARMING + updates <= UPDATES_MAX);

    let before = server.process.memory();
    let beside_before: Vec<_> = server
        .beside
        .iter()
        .map(|(_, beside)| beside.memory())
        .collect();
    let mut watchers = Watchers::connect(&server.place, viewers)?;
    watchers.settle(QUIET)?;
    let each = |now: u64, before: u64| now.saturating_sub(before) as f64 / viewers as f64;
    let memory = each(server.process.memory(), before);
    let beside_memory = server
        .beside
        .iter()
        .zip(beside_before)
        .map(|((name, beside), before)| ((*name).to_owned(), each(beside.memory(), before)))
        .collect();

    // The bare loop takes no viewers while somebody publishes.
    let mut publisher = Publisher::connect(server.publisher)?;
    for n in 0..WARMING {
        update(
            &mut watchers,
            &mut publisher,
            &(server.publish)(n),
            &mut Vec::new(),
        )?;
    }
    let seen = watchers.seen();
    let cpu = server.process.cpu();
    let beside_cpu: Vec<_> = server
        .beside
        .iter()
        .map(|(_, beside)| beside.cpu())
        .collect();
    let mut arrivals = Vec::with_capacity(viewers * updates);
    let mut last_us = Vec::with_capacity(updates);
    for n in WARMING..WARMING + updates {
        update(
            &mut watchers,
            &mut publisher,
            &(server.publish)(n),
            &mut arrivals,
        )?;
        last_us.push(*arrivals.last().unwrap_or(&0.0));
    }
    let deliveries = watchers.seen().messages - seen.messages;
    let bytes = watchers.seen().bytes - seen.bytes;
    let share = |ns: u64| ns as f64 / 1000.0 / deliveries as f64;
    let cpu_after = server.process.cpu();
    let spent = cpu_after.since(&cpu);
    let waited = cpu_after.waited_since(&cpu) as f64 / spent.max(1) as f64;
    let cpu_us = share(spent);
    let beside_us = server
        .beside
        .iter()
        .zip(&beside_cpu)
        .map(|((name, beside), before)| ((*name).to_owned(), share(beside.cpu().since(before))))
        .collect();
    ensure!(
        arrivals.len() == viewers * updates,
        "{} arrivals of {} updates",
        arrivals.len(),
        viewers * updates
    );
    arrivals.sort_unstable_by(f64::total_cmp);
    // Viewers leave first, by a reset, so that no port has to wait.
    drop(watchers);
    Ok(Run {
        viewers,
        updates,
        deliveries,
        frame_bytes: bytes as f64 / deliveries as f64,
        cpu_us,
        beside_us,
        waited,
        memory,
        beside_memory,
        p50_us: quantile(&arrivals, 0.5),
        p99_us: quantile(&arrivals, 0.99),
        last_us,
    })
}

/// Publishes, waits until all viewers have it, and pauses. Adds the time of each arrival, in us.
fn update(
    watchers: &mut Watchers,
    publisher: &mut Publisher,
    request: &super::publish::Request,
    arrivals: &mut Vec<f64>,
) -> anyhow::Result<()> {
    let (before, all) = (arrivals.len(), arrivals.len() + watchers.len());
    let began = Instant::now();
    publisher.send(request)?;
    while arrivals.len() < all {
        ensure!(
            began.elapsed() < PATIENCE,
            "{} viewers wait for an update",
            all - arrivals.len()
        );
        // From the first arrival on the watchers do not sleep. A server that is a little slower than they are would else pay,
        // at each write, for waking them: more than the write itself, and something that no network does.
        let wait = if arrivals.len() == before {
            Duration::from_millis(100)
        } else {
            Duration::ZERO
        };
        watchers.turn(wait, |at| {
            arrivals.push((at - began).as_secs_f64() * 1e6);
        })?;
    }
    publisher.answer()?;
    watchers.idle(PAUSE)
}

/// Of sorted numbers.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let index = ((sorted.len() as f64 * share).ceil() as usize).clamp(1, sorted.len().max(1)) - 1;
    sorted.get(index).copied().unwrap_or(f64::NAN)
}

/// The middle one; of none, not a number.
pub(crate) fn median(numbers: impl IntoIterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = numbers.into_iter().collect();
    sorted.sort_unstable_by(f64::total_cmp);
    quantile(&sorted, 0.5)
}
