//! Deltas: what turns one window into a later one.
//!
//! Rows are absolute: a delta from version `a` to `c` is right for a viewer at any version from `a` on. It says every
//! field that changed in between, even one that changed back, since a viewer may have seen the value between.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use super::{Cell, Entry, Id, Label, Values};

/// A change of one row. A whole one replaces the row; the others are merged into it, field by field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The entry.
    pub id: Id,
    /// True: this is the whole row.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub full: bool,
    /// The column values, all of them, if one changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Values>,
    /// The name; in whole rows only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Arc<str>>,
    /// The organization's name; in whole rows only, and there only if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization: Option<Arc<str>>,
    /// The groups; in whole rows only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<Id>>,
    /// Whether it takes a rank; in whole rows only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub official: Option<bool>,
    /// The cells that changed, by problem; `None` (`null`) removes one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cells: BTreeMap<Id, Option<Cell>>,
}

impl Row {
    /// The whole row of an entry, as deltas carry it.
    pub fn whole(entry: &Entry) -> Self {
        Self {
            id: entry.id.clone(),
            full: true,
            values: Some(entry.values),
            name: Some(entry.label.name.clone()),
            organization: entry.label.organization.clone(),
            groups: Some(entry.label.groups.clone()),
            official: Some(entry.label.official),
            cells: entry
                .cells
                .iter()
                .map(|(problem, cell)| (problem.clone(), Some(*cell)))
                .collect(),
        }
    }

    /// What changed from one state of an entry to a later one. A new label asks for the whole row: labels change rarely,
    /// and so no field needs a way to say that it is gone.
    pub fn difference(old: &Entry, new: &Entry) -> Self {
        if old.label != new.label {
            return Self::whole(new);
        }
        let mut cells = BTreeMap::new();
        for (problem, cell) in &new.cells {
            if old.cells.get(problem) != Some(cell) {
                cells.insert(problem.clone(), Some(*cell));
            }
        }
        for problem in old.cells.keys() {
            if !new.cells.contains_key(problem) {
                cells.insert(problem.clone(), None);
            }
        }
        let values = (old.values != new.values).then_some(new.values);
        Self {
            values,
            cells,
            ..Self::bare(new.id.clone())
        }
    }

    /// A row that changes nothing.
    fn bare(id: Id) -> Self {
        Self {
            id,
            full: false,
            values: None,
            name: None,
            organization: None,
            groups: None,
            official: None,
            cells: BTreeMap::new(),
        }
    }

    /// Adds a later change of the same row.
    fn then(&mut self, later: Self) {
        if later.full {
            *self = later;
            return;
        }
        self.values = later.values.or(self.values);
        self.name = later.name.or(self.name.take());
        self.organization = later.organization.or(self.organization.take());
        self.groups = later.groups.or(self.groups.take());
        self.official = later.official.or(self.official);
        for (problem, cell) in later.cells {
            if self.full && cell.is_none() {
                self.cells.remove(&problem);
            } else {
                self.cells.insert(problem, cell);
            }
        }
    }

    /// The entry after this change, `None` if a partial row has nothing to change. Fields merge one by one, also those that our
    /// own deltas carry in whole rows only.
    pub fn applied_to(&self, old: Option<&Entry>) -> Option<Entry> {
        let mut entry = if self.full {
            let label = Label {
                official: true,
                ..Label::default()
            };
            Entry {
                id: self.id.clone(),
                values: self.values.unwrap_or_default(),
                label: Arc::new(label),
                cells: BTreeMap::new(),
            }
        } else {
            old?.clone()
        };
        if self.name.is_some()
            || self.organization.is_some()
            || self.groups.is_some()
            || self.official.is_some()
        {
            let label = Arc::make_mut(&mut entry.label);
            if let Some(name) = &self.name {
                label.name.clone_from(name);
            }
            if let Some(organization) = &self.organization {
                label.organization = Some(organization.clone());
            }
            if let Some(groups) = &self.groups {
                label.groups.clone_from(groups);
            }
            label.official = self.official.unwrap_or(label.official);
        }
        if let Some(values) = self.values {
            entry.values = values;
        }
        for (problem, cell) in &self.cells {
            match cell {
                Some(cell) => entry.cells.insert(problem.clone(), *cell),
                None => entry.cells.remove(problem),
            };
        }
        Some(entry)
    }
}

/// What turns the window at `from`, or at any version between, into the window at `version`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delta {
    /// The oldest version that it applies to.
    pub from: u64,
    /// The version that it leads to.
    pub version: u64,
    /// The changed rows.
    rows: BTreeMap<Id, Row>,
    /// The entries that are not in the window any more. None of them stands in `rows`.
    gone: BTreeSet<Id>,
    /// How many entries the board has, if that changed.
    pub total: Option<usize>,
    /// How many beyond the window tie with its last entry, if that changed.
    pub tied_beyond: Option<usize>,
}

impl Delta {
    /// A delta that changes nothing.
    pub fn empty(from: u64, version: u64) -> Self {
        Self {
            from,
            version,
            rows: BTreeMap::new(),
            gone: BTreeSet::new(),
            total: None,
            tied_beyond: None,
        }
    }

    /// Takes in a change of a row; it is in the window.
    pub fn put(&mut self, row: Row) {
        self.gone.remove(&row.id);
        match self.rows.get_mut(&row.id) {
            Some(earlier) => earlier.then(row),
            None => {
                self.rows.insert(row.id.clone(), row);
            }
        }
    }

    /// Takes in that an entry is out of the window.
    pub fn leave(&mut self, id: &Id) {
        self.rows.remove(id);
        self.gone.insert(id.clone());
    }

    /// Adds the delta that follows: applying the sum is applying one after the other, for a viewer at any version from
    /// `from` on.
    pub fn then(&mut self, later: Self) {
        debug_assert!(
            later.from <= self.version,
            "there is a hole between the two"
        );
        self.version = self.version.max(later.version);
        for row in later.rows.into_values() {
            self.put(row);
        }
        for id in &later.gone {
            self.leave(id);
        }
        self.total = later.total.or(self.total);
        self.tied_beyond = later.tied_beyond.or(self.tied_beyond);
    }

    /// The changed rows, by id.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &Row> {
        self.rows.values()
    }

    /// The change of an entry, if it changed.
    pub(super) fn row(&self, id: &Id) -> Option<&Row> {
        self.rows.get(id)
    }

    /// Did the entry leave the window?
    pub(super) fn is_gone(&self, id: &Id) -> bool {
        self.gone.contains(id)
    }

    /// The entries that left the window.
    pub fn gone(&self) -> impl ExactSizeIterator<Item = &Id> {
        self.gone.iter()
    }

    /// True if nothing in it can be seen.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
            && self.gone.is_empty()
            && self.total.is_none()
            && self.tied_beyond.is_none()
    }
}
