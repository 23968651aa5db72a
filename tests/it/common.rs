//! Helpers of the integration tests.

pub(crate) mod judge;
pub(crate) mod redis;
pub(crate) mod server;
pub(crate) mod viewer;

use std::time::{Duration, Instant};

/// How long anything may take that a test waits for; generous, because the machine may be busy with other tests.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// How often a predicate is looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Waits until the predicate holds; fails the test, naming what it waited for, if that takes too long.
pub(crate) async fn eventually(what: &str, holds: impl AsyncFnMut() -> bool) {
    eventually_within(PATIENCE, what, holds).await;
}

/// The same, for what may take longer.
pub(crate) async fn eventually_within(
    patience: Duration,
    what: &str,
    mut holds: impl AsyncFnMut() -> bool,
) {
    let start = Instant::now();
    while !holds().await {
        assert!(start.elapsed() < patience, "waited in vain: {what}");
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}
