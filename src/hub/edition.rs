//! Editions: what a lane has to say at one moment, in one piece, for all who have seen what came before.

use bytes::Bytes;

/// What a viewer was told last. Four numbers are all that the hub knows of where a connection stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Which history its version belongs to ([`Core::history`](super::Core)); 0: it has no board yet.
    pub history: u64,
    /// The version of its window.
    pub version: u64,
    /// The version up to which it was told of the problems.
    pub problems: u64,
    /// Which phase, clock and freshness it was told.
    pub state: u64,
}

/// Messages that take every viewer that has seen `from` to `to`, as WebSocket frames one after the other. All that they say
/// is absolute, and clients ignore deltas and problems of a version that is not newer than theirs, so they do no harm to a
/// viewer that is further already.
#[derive(Debug, Default)]
pub struct Edition {
    /// Whom it is for; nobody, if the history is 0.
    pub(super) from: Seen,
    pub(super) to: Seen,
    pub(super) wire: Bytes,
    pub(super) messages: u64,
}

impl Edition {
    /// Does a viewer that has seen this have all that it says? Somebody may have told it in passing.
    pub(super) fn is_known(&self, seen: &Seen) -> bool {
        self.from.history != 0
            && seen.history == self.to.history
            && seen.version >= self.to.version
            && seen.problems >= self.to.problems
            && seen.state == self.to.state
    }

    /// What a viewer has seen after it; `None` if it leads on from somewhere else.
    pub(super) fn takes(&self, seen: &Seen) -> Option<Seen> {
        let fits = self.from.history != 0
            && seen.history == self.from.history
            && seen.version >= self.from.version
            && seen.problems >= self.from.problems
            && seen.state == self.from.state;
        fits.then(|| Seen {
            history: self.to.history,
            version: seen.version.max(self.to.version),
            problems: seen.problems.max(self.to.problems),
            state: self.to.state,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seen(history: u64, version: u64, problems: u64, state: u64) -> Seen {
        Seen {
            history,
            version,
            problems,
            state,
        }
    }

    fn edition(from: Seen, to: Seen) -> Edition {
        Edition {
            from,
            to,
            ..Edition::default()
        }
    }

    #[test]
    fn an_edition_for_nobody_is_taken_and_known_by_nobody() {
        for seen in [Seen::default(), seen(1, 5, 5, 0)] {
            assert_eq!(Edition::default().takes(&seen), None);
            assert!(!Edition::default().is_known(&seen));
        }
    }

    #[test]
    fn who_lacks_something_older_does_not_take_it() {
        let news = edition(seen(2, 10, 8, 1), seen(2, 12, 8, 1));
        assert_eq!(news.takes(&seen(2, 10, 8, 1)), Some(seen(2, 12, 8, 1)));
        assert_eq!(news.takes(&seen(2, 11, 9, 1)), Some(seen(2, 12, 9, 1)));
        for lacks in [
            seen(1, 10, 8, 1),
            seen(2, 9, 8, 1),
            seen(2, 10, 7, 1),
            seen(2, 10, 8, 0),
        ] {
            assert_eq!(news.takes(&lacks), None, "{lacks:?}");
        }
    }

    proptest! {
        /// Whoever takes an edition knows it then, has lost nothing, and gets it no second time.
        #[test]
        fn what_was_taken_is_known(
            from in (0..3u64, 0..9u64, 0..9u64, 0..3u64),
            more in (0..3u64, 0..3u64, 0..2u64),
            viewer in (0..3u64, 0..12u64, 0..12u64, 0..3u64),
        ) {
            let from = seen(from.0, from.1, from.2, from.3);
            let to = seen(from.history, from.version + more.0, from.problems + more.1, from.state + more.2);
            let news = edition(from, to);
            let viewer = seen(viewer.0, viewer.1, viewer.2, viewer.3);
            if let Some(after) = news.takes(&viewer) {
                prop_assert!(after.version >= viewer.version && after.problems >= viewer.problems);
                prop_assert!(news.is_known(&after));
            }
        }
    }
}
