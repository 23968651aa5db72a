//! CLICS identifiers.

use super::{EventError, Kind, OTHER_ID_MAX};
use crate::board::Id;

pub(super) const ID_FORM: &str =
    "an id: 1 to 36 of A-Z a-z 0-9 _ . -, not starting with - or ., not ending with .";

pub(super) fn bad_id(kind: &str, id: &str) -> EventError {
    EventError::new(
        format!("{kind} id"),
        format!("expected {ID_FORM}, got {:?}", clipped(id)),
    )
}

/// The id, if it is a CLICS identifier.
pub fn checked_id(id: &str) -> Option<Id> {
    is_id(id).then(|| id.into())
}

/// The id of an object of a kind, if it is one. The ids of awards and balloons are made of other ids, and become longer.
pub(super) fn object_id(kind: Kind, id: &str) -> Option<Id> {
    let longest = if matches!(kind, Kind::Awards | Kind::Balloons) {
        OTHER_ID_MAX
    } else {
        ID_MAX
    };
    has_form(id, longest).then(|| id.into())
}

/// The longest CLICS identifier.
const ID_MAX: usize = 36;

/// Is it a CLICS identifier: `[A-Za-z0-9_.-]{1,36}`, not starting with `-` or `.`, not ending with `.`?
pub fn is_id(id: &str) -> bool {
    has_form(id, ID_MAX)
}

fn has_form(id: &str, longest: usize) -> bool {
    (1..=longest).contains(&id.len())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'))
        && !id.starts_with(['-', '.'])
        && !id.ends_with('.')
}

/// The beginning of a text, for an error.
pub(super) fn clipped(text: &str) -> &str {
    const SHOWN_MAX: usize = 60;
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}
