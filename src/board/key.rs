//! Keys: column values as bytes that sort the way the columns do.

use super::{Column, Order, Values, column::COLUMNS_MAX};

/// Order-preserving bytes: each column big-endian with its sign flipped, complemented when it descends. Comparing two keys
/// of one shape byte by byte gives the order of the columns, for every `i64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key([u8; COLUMNS_MAX * 8]);

impl Key {
    /// The key of an entry with these values.
    pub fn encode(columns: &[Column], values: &Values) -> Self {
        let mut bytes = [0; COLUMNS_MAX * 8];
        for ((column, value), part) in columns
            .iter()
            .zip(values.iter())
            .zip(bytes.chunks_exact_mut(8))
        {
            let sortable = value.cast_unsigned() ^ (1 << 63);
            let sortable = if column.order == Order::Desc {
                !sortable
            } else {
                sortable
            };
            part.copy_from_slice(&sortable.to_be_bytes());
        }
        Self(bytes)
    }

    /// The values that a key was made of.
    #[allow(clippy::missing_panics_doc)] // a chunk of eight has eight bytes
    pub fn decode(&self, columns: &[Column]) -> Values {
        columns
            .iter()
            .zip(self.0.chunks_exact(8))
            .map(|(column, part)| {
                let sortable = u64::from_be_bytes(part.try_into().expect("a chunk of eight"));
                let sortable = if column.order == Order::Desc {
                    !sortable
                } else {
                    sortable
                };
                (sortable ^ (1 << 63)).cast_signed()
            })
            .collect()
    }
}
