//! The messages: their shapes, and nothing else.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{
    board::{Column, Delta, Entry, Id, Order, Row, Shape, Ties, Values, Window, entry::Cells},
    contest::{Phase, ProblemLine, ceremony::Scene},
};

/// A message from the server. Viewers need never send one.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Message<'a> {
    /// The whole window.
    Snapshot(Box<Snapshot<'a>>),
    /// What turns the window into a later one.
    #[serde(serialize_with = "delta")]
    Delta(&'a Delta),
    /// Problems whose statistics changed; each replaces the one with its id.
    Problems {
        /// The version that they belong to.
        version: u64,
        /// The changed ones.
        problems: Vec<ProblemLine>,
    },
    /// Phase and clock; comes first on every connection, on every change, and now and then between.
    State(Box<State>),
    /// Rows that the viewer asked to follow, wherever they stand.
    Follow {
        /// The version that they belong to.
        version: u64,
        /// Those that changed.
        rows: Vec<Followed>,
    },
    /// The window is too large for a socket, or the viewer too far behind: fetch it with
    /// `GET …/board?min=epoch-version`, and keep the frames that come meanwhile.
    Reload {
        /// The epoch of the version.
        epoch: &'a str,
        /// The version to ask for, or a later one.
        version: u64,
        /// When to fetch it, in ms from now.
        retry_ms: u64,
    },
    /// The server closes on purpose.
    Bye {
        /// When to come back, in ms from now.
        retry_ms: u64,
    },
}

impl Message<'_> {
    /// The `type`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Snapshot(_) => "snapshot",
            Self::Delta(_) => "delta",
            Self::Problems { .. } => "problems",
            Self::State(_) => "state",
            Self::Follow { .. } => "follow",
            Self::Reload { .. } => "reload",
            Self::Bye { .. } => "bye",
        }
    }

    /// The JSON text.
    ///
    /// # Panics
    /// Never: messages have string keys and finite numbers.
    pub fn encode(&self) -> Bytes {
        serde_json::to_vec(self)
            .expect("messages have string keys and finite numbers")
            .into()
    }
}

/// The whole window, with all that is shown beside it.
#[derive(Clone, Debug, Serialize)]
pub struct Snapshot<'a> {
    /// Names the history that the version belongs to.
    pub epoch: &'a str,
    /// The version.
    pub version: u64,
    /// What the rows' values mean, and how they sort.
    pub columns: &'a [Column],
    /// How rows equal in all columns are sorted by id.
    pub ids: Order,
    /// How ties share ranks.
    pub ties: Ties,
    /// Ranked rows behind the window that tie with its last one; counted for `modified` only.
    pub tied_beyond: usize,
    /// How many rows the window holds at the most; `null`: all.
    pub limit: Option<usize>,
    /// How many rows the board has.
    pub total: usize,
    /// The rows, in order.
    pub rows: Vec<WholeRow<'a>>,
    /// The problems, in order; empty before the start.
    pub problems: &'a [ProblemLine],
    /// Phase and clock. Its `now` is the time of encoding, which is once a version.
    pub state: State,
}

/// A row of a snapshot.
#[derive(Clone, Debug, Serialize)]
pub struct WholeRow<'a> {
    id: &'a Id,
    values: &'a Values,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    organization: Option<&'a Arc<str>>,
    groups: &'a [Id],
    official: bool,
    cells: &'a Cells,
}

impl<'a> WholeRow<'a> {
    /// The row of an entry.
    pub fn of(entry: &'a Entry) -> Self {
        Self {
            id: &entry.id,
            values: &entry.values,
            name: &entry.label.name,
            organization: entry.label.organization.as_ref(),
            groups: &entry.label.groups,
            official: entry.label.official,
            cells: &entry.cells,
        }
    }
}

/// A followed row: its values and rank now; `null` where the member is not on the board.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Followed {
    /// The member.
    pub id: Id,
    /// Its values.
    pub values: Option<Values>,
    /// Its rank; `null` for one that takes none.
    pub rank: Option<usize>,
}

/// Phase and clock of a contest, and how fresh what is shown can be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The name of the contest.
    pub name: String,
    /// Where it stands.
    pub phase: Phase,
    /// When it starts, ISO 8601 in UTC.
    pub start_time: Option<String>,
    /// Its length in ms.
    pub duration_ms: Option<i64>,
    /// How long before the end the board is frozen, in ms.
    pub freeze_ms: Option<i64>,
    /// With the countdown paused: how long before the start, in ms.
    pub countdown_pause_ms: Option<i64>,
    /// The server's time, ISO 8601 in UTC with milliseconds.
    pub now: String,
    /// Whether the server reaches its store.
    pub store: StoreState,
    /// Whether a feed is followed, and speaks.
    pub feed: FeedState,
    /// Since when the feed is silent, ISO 8601 in UTC.
    pub feed_since: Option<String>,
    /// What a ceremony shows beside the board, while there is one that the view may see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceremony: Option<Scene>,
}

/// Whether what is shown can be up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StoreState {
    /// The store answers.
    Live,
    /// It does not; what is shown may be old.
    Stale,
}

/// Whether a feed is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FeedState {
    /// No feed is followed.
    None,
    /// It speaks.
    Live,
    /// It has been silent for too long.
    Silent,
}

/// A snapshot as a client reads it.
#[derive(Clone, Debug, Deserialize)]
#[allow(missing_docs)] // as in `Snapshot`
pub struct SnapshotIn {
    pub epoch: String,
    pub version: u64,
    pub columns: Vec<Column>,
    pub ids: Order,
    pub ties: Ties,
    pub tied_beyond: usize,
    pub limit: Option<usize>,
    pub total: usize,
    #[serde(deserialize_with = "whole_rows")]
    pub rows: Vec<Row>,
    pub problems: Vec<ProblemLine>,
    pub state: State,
}

/// Every row of a snapshot is whole, without saying so.
fn whole_rows<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Row>, D::Error> {
    let mut rows = Vec::<Row>::deserialize(deserializer)?;
    for row in &mut rows {
        row.full = true;
    }
    Ok(rows)
}

impl SnapshotIn {
    /// The window that it shows.
    pub fn window(&self) -> Window {
        let shape = Shape {
            columns: self.columns.clone(),
            ties: self.ties,
            ids: self.ids,
        };
        let rows = self
            .rows
            .iter()
            .filter_map(|row| row.applied_to(None))
            .collect();
        Window::from_snapshot(
            shape,
            self.limit,
            self.version,
            rows,
            self.total,
            self.tied_beyond,
        )
    }
}

/// A delta as a client reads it.
#[derive(Clone, Debug, Deserialize)]
#[allow(missing_docs)] // as in `Delta`
pub struct DeltaIn {
    pub from: u64,
    pub version: u64,
    #[serde(default)]
    pub rows: Vec<Row>,
    #[serde(default)]
    pub gone: Vec<Id>,
    #[serde(default)]
    pub total: Option<usize>,
    #[serde(default)]
    pub tied_beyond: Option<usize>,
}

impl From<DeltaIn> for Delta {
    fn from(read: DeltaIn) -> Self {
        let mut delta = Self::empty(read.from, read.version);
        read.rows.into_iter().for_each(|row| delta.put(row));
        read.gone.iter().for_each(|id| delta.leave(id));
        delta.total = read.total;
        delta.tied_beyond = read.tied_beyond;
        delta
    }
}

fn delta<S: Serializer>(delta: &Delta, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Out<'a> {
        from: u64,
        version: u64,
        rows: Vec<&'a Row>,
        gone: Vec<&'a Id>,
        #[serde(skip_serializing_if = "Option::is_none")]
        total: Option<usize>,
        #[serde(skip_serializing_if = "Option::is_none")]
        tied_beyond: Option<usize>,
    }
    Out {
        from: delta.from,
        version: delta.version,
        rows: delta.rows().collect(),
        gone: delta.gone().collect(),
        total: delta.total,
        tied_beyond: delta.tied_beyond,
    }
    .serialize(serializer)
}
