//! Columns: the named integers that order the entries of a board.

use std::{borrow::Cow, cmp::Ordering};

use serde::{Deserialize, Serialize};

use super::{Key, Ties, Values};

/// The most columns of a board: a section and the three of ICPC scoring.
pub const COLUMNS_MAX: usize = 4;

/// Which way a column, or the ids, are sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Small before great.
    #[default]
    Asc,
    /// Great before small.
    Desc,
}

/// The unit of a column's integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// Whole minutes.
    #[serde(rename = "min")]
    Minutes,
    /// Whole seconds.
    #[serde(rename = "s")]
    Seconds,
}

impl Unit {
    /// How many milliseconds it has.
    pub fn millis(self) -> i64 {
        match self {
            Self::Minutes => 60_000,
            Self::Seconds => 1_000,
        }
    }
}

/// One column of a board.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Its name on the wire: `solved`, `penalty`, …
    pub name: Cow<'static, str>,
    /// Which way it sorts.
    pub order: Order,
    /// Whether it decides the rank, or only the order.
    pub rank: bool,
    /// Whether each of its values is a section of the board with ranks of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub section: bool,
    /// The unit, where it is a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Unit>,
    /// Decimals: a value of 12345 with scale 2 reads 123.45.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub scale: u8,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature that serde asks for
fn is_zero(scale: &u8) -> bool {
    *scale == 0
}

impl Column {
    /// A column that sorts small before great.
    pub fn ascending(name: impl Into<Cow<'static, str>>) -> Self {
        Self {
            name: name.into(),
            order: Order::Asc,
            rank: false,
            section: false,
            unit: None,
            scale: 0,
        }
    }

    /// A column that sorts great before small.
    pub fn descending(name: impl Into<Cow<'static, str>>) -> Self {
        Self {
            order: Order::Desc,
            ..Self::ascending(name)
        }
    }

    /// The same column, deciding the rank.
    #[must_use]
    pub fn ranking(self) -> Self {
        Self { rank: true, ..self }
    }

    /// The same column, measured in a unit of time.
    #[must_use]
    pub fn unit(self, unit: Unit) -> Self {
        Self {
            unit: Some(unit),
            ..self
        }
    }
}

/// How a board is ordered and ranked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The columns, at most [`COLUMNS_MAX`].
    pub columns: Vec<Column>,
    /// How ties share a rank.
    pub ties: Ties,
    /// Which way entries equal in all columns are sorted by id (bytes of UTF-8).
    pub ids: Order,
}

impl Shape {
    /// These columns, competition ranks, ids ascending.
    ///
    /// # Panics
    /// With more than [`COLUMNS_MAX`] columns.
    pub fn new(columns: Vec<Column>) -> Self {
        assert!(
            columns.len() <= COLUMNS_MAX,
            "a board has at most {COLUMNS_MAX} columns"
        );
        Self {
            columns,
            ties: Ties::default(),
            ids: Order::Asc,
        }
    }

    /// The key of an entry: its bytes sort as the columns say.
    pub fn key(&self, values: &Values) -> Key {
        Key::encode(&self.columns, values)
    }

    /// The order of two ids under equal columns.
    pub fn compare_ids(&self, a: &str, b: &str) -> Ordering {
        let order = a.as_bytes().cmp(b.as_bytes());
        match self.ids {
            Order::Asc => order,
            Order::Desc => order.reverse(),
        }
    }

    /// The order of two entries.
    pub fn compare(&self, a: (&Values, &str), b: (&Values, &str)) -> Ordering {
        for (index, column) in self.columns.iter().enumerate() {
            let order = a.0[index].cmp(&b.0[index]);
            let order = if column.order == Order::Desc {
                order.reverse()
            } else {
                order
            };
            if order.is_ne() {
                return order;
            }
        }
        self.compare_ids(a.1, b.1)
    }

    /// Do two entries share a rank: are they equal in every column that decides it, and in their section?
    pub fn tied(&self, a: &Values, b: &Values) -> bool {
        self.columns
            .iter()
            .enumerate()
            .all(|(index, column)| !(column.rank || column.section) || a[index] == b[index])
    }

    /// Do two entries stand in the same section?
    pub fn same_section(&self, a: &Values, b: &Values) -> bool {
        self.columns
            .iter()
            .enumerate()
            .all(|(index, column)| !column.section || a[index] == b[index])
    }
}
