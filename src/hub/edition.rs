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
/// is absolute, so they do no harm to a viewer that is further already.
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
