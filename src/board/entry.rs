//! Entries: one member's place on a board, and what is displayed there.

use std::{collections::BTreeMap, ops::Deref, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use super::column::COLUMNS_MAX;

/// The id of an entry or a problem, shared by all who hold it.
pub type Id = Arc<str>;

/// What stands in the cells of a row, by problem.
pub type Cells = BTreeMap<Id, Cell>;

/// The column values of an entry, at most [`COLUMNS_MAX`], held in place.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Values {
    len: u8,
    columns: [i64; COLUMNS_MAX],
}

impl Values {
    /// These values; `None` if there are more than [`COLUMNS_MAX`].
    pub fn new(values: &[i64]) -> Option<Self> {
        let mut columns = [0; COLUMNS_MAX];
        columns.get_mut(..values.len())?.copy_from_slice(values);
        Some(Self {
            len: values.len() as u8,
            columns,
        })
    }
}

impl Deref for Values {
    type Target = [i64];

    fn deref(&self) -> &[i64] {
        &self.columns[..usize::from(self.len)]
    }
}

impl std::fmt::Debug for Values {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(f)
    }
}

impl FromIterator<i64> for Values {
    /// Values beyond [`COLUMNS_MAX`] are dropped: a shape has no more columns.
    fn from_iter<I: IntoIterator<Item = i64>>(values: I) -> Self {
        let mut out = Self::default();
        for value in values.into_iter().take(COLUMNS_MAX) {
            out.columns[usize::from(out.len)] = value;
            out.len += 1;
        }
        out
    }
}

impl Serialize for Values {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let values = Vec::<i64>::deserialize(deserializer)?;
        Self::new(&values)
            .ok_or_else(|| D::Error::invalid_length(values.len(), &"at most four values"))
    }
}

/// What is displayed of a member besides numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Label {
    /// The name that people read.
    pub name: Arc<str>,
    /// The name of the organization.
    pub organization: Option<Arc<str>>,
    /// The ids of the groups.
    pub groups: Vec<Id>,
    /// False: listed where it would stand, but without a rank, and using none up.
    pub official: bool,
    /// Shown to the jury only, and counted in no statistic. Not on the wire.
    pub hidden: bool,
}

/// A row's cell for one problem.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// Judged attempts that count: with the accepted one where it is solved.
    pub tries: u32,
    /// Attempts without a verdict that is known here.
    #[serde(default, skip_serializing_if = "none_of_them")]
    pub pending: u32,
    /// When it was solved, in the unit of the board's time columns. Not there: not solved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<i64>,
    /// Nobody solved it earlier.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub first: bool,
    /// The points, in the scale of the score column. Not there: nothing judged yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<i64>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature that serde asks for
fn none_of_them(count: &u32) -> bool {
    *count == 0
}

/// One member's place: id, values, what is displayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The member.
    pub id: Id,
    /// The values of the board's columns, one for each.
    pub values: Values,
    /// Name, organization, groups.
    pub label: Arc<Label>,
    /// The problems tried; empty on a board without problems.
    pub cells: Cells,
}

impl Entry {
    /// An official entry named like its id, without cells.
    ///
    /// # Panics
    /// With more than [`COLUMNS_MAX`] values.
    pub fn plain(id: &str, values: &[i64]) -> Self {
        Self {
            id: id.into(),
            values: Values::new(values).expect("at most four values"),
            label: Arc::new(Label {
                name: id.into(),
                official: true,
                ..Label::default()
            }),
            cells: Cells::new(),
        }
    }
}
