//! The pace at which viewers are let in: after a restart or a Wi-Fi failure all of them come back at once, and those who are
//! there already must not wait for them.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use tokio::time::Instant;

/// How long a viewer waits for its turn, at the most. Then it is told to come back later.
pub const TURN_MAX: Duration = Duration::from_secs(10);

/// Turns at a steady rate. Those unused within a second may be taken at once.
#[derive(Debug)]
pub struct Pace {
    start: Instant,
    /// The time between two turns, in ns.
    every: u64,
    /// The next turn, in ns after `start`.
    next: AtomicU64,
}

impl Pace {
    /// So many turns a second.
    pub fn new(per_second: u32) -> Self {
        Self {
            start: Instant::now(),
            every: 1_000_000_000 / u64::from(per_second.max(1)),
            next: AtomicU64::new(0),
        }
    }

    /// Waits for a turn. Answers whether one came in time.
    pub async fn turn(&self) -> bool {
        let now = self.start.elapsed().as_nanos() as u64;
        match self.reserve(now) {
            Some(0) => true,
            Some(wait) => {
                tokio::time::sleep(Duration::from_nanos(wait)).await;
                true
            }
            None => false,
        }
    }

    /// Takes the next turn, and tells how many ns it is away; `None`, taking none, if that is too long.
    fn reserve(&self, now: u64) -> Option<u64> {
        let unused = now.saturating_sub(1_000_000_000);
        let longest = now + TURN_MAX.as_nanos() as u64;
        let take = |next: u64| {
            let turn = next.max(unused);
            (turn <= longest).then_some(turn + self.every)
        };
        let next = self
            .next
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
            .ok()?;
        Some(next.max(unused).saturating_sub(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_burst_of_a_second_is_let_in_at_once_and_the_rest_in_turn() {
        let pace = Pace::new(10);
        let now = 100 * SECOND;
        for _ in 0..10 {
            assert_eq!(pace.reserve(now), Some(0));
        }
        assert_eq!(pace.reserve(now), Some(0));
        assert_eq!(pace.reserve(now), Some(SECOND / 10));
        assert_eq!(pace.reserve(now), Some(SECOND / 5));
        // Later, those turns have passed.
        assert_eq!(pace.reserve(now + SECOND), Some(0));
    }

    #[test]
    fn nobody_waits_longer_than_the_longest() {
        let pace = Pace::new(1);
        let waits: Vec<_> = (0..20).map(|_| pace.reserve(0)).collect();
        assert_eq!(
            waits[..11],
            (0..11).map(|n| Some(n * SECOND)).collect::<Vec<_>>()
        );
        assert!(waits[11..].iter().all(Option::is_none));
        // Whoever was refused took no turn.
        assert_eq!(pace.reserve(SECOND), Some(10 * SECOND));
    }
}
