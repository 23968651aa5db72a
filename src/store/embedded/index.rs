//! What the writer knows of each log: enough to tell a repeat from news. Rebuilt from the file at the start.

use std::collections::HashMap;

use crate::store::{Digest, Outcome, Record, Tip, prepare, prepare::Prepared};

/// Where some content stands in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) sequence: u64,
    pub(super) digest: Digest,
}

/// Everything the writer knows.
#[derive(Debug, Default)]
pub(super) struct Index {
    pub(super) logs: HashMap<String, Log>,
    pub(super) admin_key: Option<Digest>,
}

/// One contest's log.
#[derive(Debug)]
pub(super) struct Log {
    tip: Tip,
    /// The newest event of each object, by the digest of its name: 16 bytes where a name has 30 and an allocation.
    newest: HashMap<Digest, Place>,
    /// The last replacement of each collection that was ever replaced.
    replaced: HashMap<String, Replacement>,
    /// The last content that came with each token.
    tokens: HashMap<Digest, Place>,
}

#[derive(Clone, Copy, Debug)]
struct Replacement {
    place: Place,
    /// Nothing of this type has come since.
    newest: bool,
}

/// What became of an event, and whether its token must be kept apart from the log.
pub(super) struct Decision {
    pub(super) outcome: Outcome,
    /// A token to keep apart from the log, because it came with a repeat; `None` as its place: to keep apart no longer,
    /// because the record of this event carries it.
    pub(super) token: Option<(Digest, Option<Place>)>,
}

impl Log {
    pub(super) fn new(epoch: String) -> Self {
        Self {
            tip: Tip { epoch, sequence: 0 },
            newest: HashMap::new(),
            replaced: HashMap::new(),
            tokens: HashMap::new(),
        }
    }

    pub(super) fn tip(&self) -> &Tip {
        &self.tip
    }

    pub(super) fn renew(&mut self, epoch: String) {
        self.tip.epoch = epoch;
    }

    /// Decides upon an event and takes it in.
    pub(super) fn take(&mut self, event: &Prepared) -> Decision {
        let name = Digest::of(&[event.object.as_bytes()]);
        if let Some(sequence) = self.repeated(event, name) {
            let place = Place {
                sequence,
                digest: event.digest,
            };
            let token = event
                .token
                .filter(|token| self.tokens.insert(*token, place) != Some(place));
            return Decision {
                outcome: Outcome::Repeated(sequence),
                token: token.map(|token| (token, Some(place))),
            };
        }
        let place = Place {
            sequence: self.tip.sequence + 1,
            digest: event.digest,
        };
        let token = event
            .token
            .filter(|token| self.tokens.contains_key(token))
            .map(|token| (token, None));
        self.accept(&event.collection, name, event.replaces, event.token, place);
        Decision {
            outcome: Outcome::Accepted(place.sequence),
            token,
        }
    }

    fn repeated(&self, event: &Prepared, name: Digest) -> Option<u64> {
        let same = |place: &&Place| place.digest == event.digest;
        if let Some(place) = event
            .token
            .and_then(|token| self.tokens.get(&token))
            .filter(same)
        {
            return Some(place.sequence);
        }
        let replacement = self.replaced.get(&event.collection);
        if event.replaces {
            let replacement = replacement.filter(|replacement| replacement.newest)?;
            return Some(&replacement.place)
                .filter(same)
                .map(|place| place.sequence);
        }
        let since = replacement.map_or(0, |replacement| replacement.place.sequence);
        self.newest
            .get(&name)
            .filter(same)
            .map(|place| place.sequence)
            .filter(|sequence| *sequence > since)
    }

    fn accept(
        &mut self,
        collection: &str,
        name: Digest,
        replaces: bool,
        token: Option<Digest>,
        place: Place,
    ) {
        self.tip.sequence = place.sequence;
        if replaces {
            self.replaced.insert(
                collection.to_owned(),
                Replacement {
                    place,
                    newest: true,
                },
            );
        } else {
            self.newest.insert(name, place);
            if let Some(replacement) = self.replaced.get_mut(collection) {
                replacement.newest = false;
            }
        }
        if let Some(token) = token {
            self.tokens.insert(token, place);
        }
    }

    /// Takes in a record of the log. False if it is not the next one.
    pub(super) fn replay(&mut self, sequence: u64, record: &Record) -> bool {
        if sequence != self.tip.sequence + 1 {
            return false;
        }
        let id = record.id.as_deref();
        let digest = prepare::content(&record.kind, id, record.replaces, record.data.get());
        let name = Digest::of(&[prepare::object(&record.kind, id, record.replaces).as_bytes()]);
        let token = record
            .token
            .as_deref()
            .map(|token| prepare::token(&record.source, token));
        let collection = prepare::collection(&record.kind);
        self.accept(
            &collection,
            name,
            record.replaces,
            token,
            Place { sequence, digest },
        );
        true
    }

    /// Takes in a token that was kept apart, after the log: it was used later than any record that carries it.
    pub(super) fn replay_token(&mut self, token: Digest, place: Place) {
        self.tokens.insert(token, place);
    }
}
