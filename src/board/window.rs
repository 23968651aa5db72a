//! Windows: the first N entries of a board, as a viewer holds them.

use std::{collections::HashMap, sync::Arc};

use super::{Board, Delta, Entry, Id, Shape, rank};

/// A delta that does not fit: the viewer has to resume from its version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a delta from version {from} does not fit version {mine}: {what}")]
pub struct Gap {
    /// The viewer's version.
    pub mine: u64,
    /// Where the delta starts.
    pub from: u64,
    /// What does not fit.
    pub what: &'static str,
}

/// A viewer's copy of the first N entries: the reference for every client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    shape: Arc<Shape>,
    limit: Option<usize>,
    version: u64,
    rows: Vec<Entry>,
    total: usize,
    tied_beyond: usize,
}

impl Window {
    /// The window of an empty board at version 0.
    pub fn empty(shape: Arc<Shape>, limit: Option<usize>) -> Self {
        Self {
            shape,
            limit,
            version: 0,
            rows: Vec::new(),
            total: 0,
            tied_beyond: 0,
        }
    }

    /// The window as the board has it now.
    pub fn of(board: &Board, limit: Option<usize>) -> Self {
        Self {
            shape: board.shape().clone(),
            limit,
            version: board.version(),
            rows: board
                .window(limit)
                .map(|entry| entry.as_ref().clone())
                .collect(),
            total: board.len(),
            tied_beyond: board.tied_beyond(limit),
        }
    }

    /// A window from the parts of a snapshot; `rows` in any order.
    pub fn from_snapshot(
        shape: Shape,
        limit: Option<usize>,
        version: u64,
        rows: Vec<Entry>,
        total: usize,
        tied_beyond: usize,
    ) -> Self {
        let mut window = Self {
            shape: Arc::new(shape),
            limit,
            version,
            rows,
            total,
            tied_beyond,
        };
        window.settle();
        window
    }

    /// The version that it shows.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The entries in order.
    pub fn rows(&self) -> &[Entry] {
        &self.rows
    }

    /// How many entries the whole board has.
    pub fn total(&self) -> usize {
        self.total
    }

    /// The rank of each entry.
    pub fn ranks(&self) -> Vec<Option<usize>> {
        rank::ranks_with(&self.shape, &self.rows, self.tied_beyond)
    }

    /// Applies a delta. Answers false if it is old news; [`Gap`], and nothing changes, if it does not fit.
    pub fn apply(&mut self, delta: &Delta) -> Result<bool, Gap> {
        if delta.version <= self.version {
            return Ok(false);
        }
        let gap = |what| Gap {
            mine: self.version,
            from: delta.from,
            what,
        };
        if delta.from > self.version {
            return Err(gap("versions between are missing"));
        }
        let named = self
            .rows
            .iter()
            .filter(|entry| delta.row(&entry.id).is_some());
        let old: HashMap<&Id, &Entry> = named.map(|entry| (&entry.id, entry)).collect();
        let fresh = delta
            .rows()
            .map(|row| row.applied_to(old.get(&row.id).copied()));
        let mut fresh = fresh
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| gap("a partial row is not in the window"))?;
        self.rows
            .retain(|entry| delta.row(&entry.id).is_none() && !delta.is_gone(&entry.id));
        self.rows.append(&mut fresh);
        self.total = delta.total.unwrap_or(self.total);
        self.tied_beyond = delta.tied_beyond.unwrap_or(self.tied_beyond);
        self.version = delta.version;
        self.settle();
        Ok(true)
    }

    fn settle(&mut self) {
        let shape = self.shape.clone();
        self.rows
            .sort_by(|a, b| shape.compare((&a.values, &a.id), (&b.values, &b.id)));
        if let Some(limit) = self.limit {
            self.rows.truncate(limit);
        }
    }
}
