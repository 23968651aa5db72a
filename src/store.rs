//! The store: the only place where something is kept.
//!
//! A contest is an append-only log of events. [`Store`] is the contract that every server relies on;
//! [`embedded`] keeps it in one file, [`redis`] in a Redis that several servers share. Both pass the same
//! conformance suite (`tests/it/store.rs`), and neither knows what an event means: it sees bytes, a type and an id.

pub mod embedded;
mod prepare;
pub mod redis;

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::sync::broadcast;

use crate::contest::Notification;

/// A handle on a store, shared by everything in a server.
pub type SharedStore = Arc<dyn Store>;

/// The most events that one [`Store::append`] takes; a larger batch is the caller's to split.
pub const APPEND_MAX: usize = 512;

/// The most events that one [`Store::read`] answers, whatever limit was asked for: a log of a million events is read in
/// pieces, so that nobody else waits long for the store. At the usual 0.5 KB an event this is 2 MB.
pub const READ_MAX: usize = 4096;

/// Hints kept for a receiver that is busy. One that falls further behind is told so
/// (`RecvError::Lagged`) and reads the tips instead.
pub const HINTS_KEPT: usize = 1024;

/// How many changed ids a hint names at the most.
pub const HINT_IDS_MAX: usize = 32;

/// One event on its way into the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Append {
    /// The CLICS type in its normal form: `teams`, `judgements`, `contest`, …
    pub kind: String,
    /// The object's id. `None` for a singleton (`contest`, `state`) and for an event that replaces a whole collection.
    pub id: Option<String>,
    /// True when the event replaces every object of its type.
    pub replaces: bool,
    /// Who sent it: a feed's name or address. Tokens are compared within one source only.
    pub source: String,
    /// The source's own token for this event, when it has one.
    pub token: Option<String>,
    /// The content alone, in canonical JSON (sorted keys): what makes two events the same.
    pub data: String,
}

impl Append {
    /// Names the content: two events of one type and id with the same digest are the same event.
    pub fn digest(&self) -> Digest {
        prepare::content(&self.kind, self.id.as_deref(), self.replaces, &self.data)
    }
}

/// The first 128 bits of a SHA-256: enough that equal digests mean equal content.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest(pub [u8; 16]);

impl Digest {
    /// The digest of the parts, each delimited by its length.
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        let mut out = [0; 16];
        out.copy_from_slice(&hash.finalize()[..16]);
        Self(out)
    }

    /// Reads what [`Display`](fmt::Display) writes: 32 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() != 32 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        u128::from_str_radix(text, 16)
            .ok()
            .map(|bits| Self(bits.to_be_bytes()))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What became of one event of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is in the log under this sequence number.
    Accepted(u64),
    /// It was there already: the sequence number of the event that it repeats.
    Repeated(u64),
}

impl Outcome {
    /// The sequence number under which the content stands in the log.
    pub fn sequence(self) -> u64 {
        match self {
            Self::Accepted(sequence) | Self::Repeated(sequence) => sequence,
        }
    }
}

/// The answer to an append: one outcome an event, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    /// Where the log stands after the batch.
    pub tip: Tip,
    /// What became of each event.
    pub outcomes: Vec<Outcome>,
}

/// Where a log stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tip {
    /// Names the unbroken history that the sequence numbers belong to.
    pub epoch: String,
    /// The sequence number of the newest event; 0 when there is none.
    pub sequence: u64,
}

/// One event of the log. Sequence numbers of a contest start at 1 and have no gaps.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Its place in the log.
    pub sequence: u64,
    /// What it says.
    pub record: Record,
}

impl Append {
    /// A checked notification, in the name of a source.
    pub fn of(notification: Notification, source: &str) -> Self {
        Self {
            replaces: notification.replaces(),
            kind: notification.kind,
            id: notification.id,
            source: source.to_owned(),
            token: notification.token,
            // The map of serde_json is sorted: equal content gives equal text.
            data: notification.data.to_string(),
        }
    }
}

/// What the log keeps of an event, as JSON: `{"type":…,"id":…,"replaces":…,"data":…,"source":…,"token":…,"time":…}`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// The CLICS type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The object's id; `None` for singletons and replaced collections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// True when the event replaces every object of its type.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replaces: bool,
    /// The content: an object, `null` for a deletion, an array for a replaced collection.
    pub data: Box<serde_json::value::RawValue>,
    /// Who sent it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// The source's token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// When the store took it, in milliseconds since 1970-01-01 UTC.
    pub time: i64,
}

/// A stretch of a log, read in one piece.
#[derive(Clone, Debug)]
pub struct Slice {
    /// Where the log stood when it was read.
    pub tip: Tip,
    /// The events after the asked one, in order; cut at the asked number.
    pub events: Vec<Stored>,
}

/// Says that a log has moved. It may be lost, come twice or out of order: whoever gets it reads the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hint {
    /// Whose log.
    #[serde(skip)]
    pub contest: String,
    /// The epoch at that moment; empty when the contest was deleted.
    pub epoch: String,
    /// The newest sequence number at that moment.
    pub version: u64,
    /// Up to [`HINT_IDS_MAX`] changed objects, as `type/id`; a singleton is its `type`, a replaced collection `type*`.
    #[serde(default)]
    pub ids: Vec<String>,
}

/// One team's place in the projected standings. See [`Store::project`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projected {
    /// The team.
    pub member: String,
    /// Its packed score, at most 2^53 - 1; `None` takes it off the standings.
    pub score: Option<u64>,
    /// The version of the public board at which this was so.
    pub version: u64,
}

/// What can go wrong in a store.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// The contest is not there (never created, or deleted).
    #[error("no such contest: {0}")]
    NoSuchContest(String),
    /// The store cannot be reached, or gave no answer in time. Nothing is known about the operation.
    #[error("the store is away: {0}")]
    Away(String),
    /// The store answers, but refuses to work: out of memory, read-only, wrong type under a key, a full disk.
    #[error("the store refuses: {0}")]
    Refused(String),
    /// What is stored cannot be read.
    #[error("the store is damaged: {0}")]
    Damaged(String),
}

/// Where events are kept. Every method is safe to call again after an error.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Makes the contest known, with a fresh epoch and an empty log. Answers false, and changes nothing, if it was there.
    async fn create(&self, contest: &str) -> Result<bool, StoreError>;

    /// Forgets the contest, its log and everything derived from it, and sends a hint with an empty epoch.
    /// Answers false if it was not there.
    async fn delete(&self, contest: &str) -> Result<bool, StoreError>;

    /// The ids of all contests, sorted.
    async fn contests(&self) -> Result<Vec<String>, StoreError>;

    /// Appends the batch, at most [`APPEND_MAX`] events, all or nothing, and sends one hint if anything was new.
    ///
    /// An event is a repeat, and takes no place in the log, when its source sent the same content with the same token
    /// the last time it used that token, or when the newest event of its type and id has the same content. An event
    /// that replaces a collection makes all its type's objects new again; it is itself a repeat only while nothing else
    /// of its type has come after it. Within one batch the earlier events count for the later ones.
    ///
    /// Tokens of repeats are remembered too: a source that sends X, X, Y under three tokens and then all of them again
    /// would otherwise set its object back to X for a moment.
    ///
    /// Answers when the events, and those which they repeat, are as durable as this store makes them.
    async fn append(&self, contest: &str, batch: &[Append]) -> Result<Appended, StoreError>;

    /// Reads up to `limit` events, at most [`READ_MAX`], whose sequence number is greater than `after`, with the tip at that moment.
    async fn read(&self, contest: &str, after: u64, limit: usize) -> Result<Slice, StoreError>;

    /// The tips of many logs in one round trip; `None` where there is no such contest.
    async fn tips(&self, contests: &[String]) -> Result<Vec<Option<Tip>>, StoreError>;

    /// Starts a new epoch, unless somebody has done so since `seen`. Answers the tip that holds now.
    ///
    /// Called by whoever saw the log go back behind what it had read.
    async fn renew(&self, contest: &str, seen: &str) -> Result<Tip, StoreError>;

    /// Hints from now on, of all contests: subscribe before reading.
    fn hints(&self) -> broadcast::Receiver<Hint>;

    /// Whether this store carries the standings as a sorted set for other programs.
    fn projects(&self) -> bool;

    /// Writes places of the public standings to the sorted set `rankcast:{ID}:standings`.
    ///
    /// Each place is written only if its version is newer than what was written for that team in this epoch, so order
    /// and repeats do not matter; a call whose epoch is not the store's current one changes nothing.
    /// `whole` also takes off every member that is not named, unless it was written at a newer version than all the
    /// named ones; with nothing named everything goes.
    async fn project(
        &self,
        contest: &str,
        epoch: &str,
        places: &[Projected],
        whole: bool,
    ) -> Result<(), StoreError>;

    /// The projected standings, best first; empty where there are none.
    async fn projection(&self, contest: &str) -> Result<Vec<(String, u64)>, StoreError>;

    /// Keeps a one-time secret (its digest) for `ttl`, with what it is good for.
    async fn put_ticket(
        &self,
        secret: Digest,
        scope: &str,
        ttl: Duration,
    ) -> Result<(), StoreError>;

    /// Takes a one-time secret: its scope the first time, `None` afterwards and when it is too old.
    async fn take_ticket(&self, secret: Digest) -> Result<Option<String>, StoreError>;

    /// The digest of the admin key that was made for this store, if one was.
    async fn admin_key(&self) -> Result<Option<Digest>, StoreError>;

    /// Keeps the digest of a new admin key if there is none yet; answers the one that holds now.
    async fn claim_admin_key(&self, key: Digest) -> Result<Digest, StoreError>;

    /// Is the store there and able to write, and are its hints alive? The error says what is wrong.
    async fn check(&self) -> Result<(), StoreError>;

    /// Finishes what is under way and closes. Later calls answer [`StoreError::Away`].
    async fn close(&self);
}
