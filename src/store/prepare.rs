//! What both stores do to a batch before they look at what they hold: check it, name its contents, write its records.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::value::RawValue;

use super::{APPEND_MAX, Append, Digest, Record, StoreError};

/// Letters and digits of an epoch: ten of them, so that two epochs of one contest never meet by chance (51 bits).
const EPOCH_LENGTH: usize = 10;

/// One event, ready to be decided upon.
#[derive(Debug)]
pub(super) struct Prepared {
    /// Names the collection: `type*`.
    pub(super) collection: String,
    /// Names what the event is about: `type/id`, `type` for a singleton, `type*` for a collection.
    pub(super) object: String,
    /// True when the event replaces the collection; `object` is `collection` then.
    pub(super) replaces: bool,
    /// Names the content.
    pub(super) digest: Digest,
    /// Names source and token together.
    pub(super) token: Option<Digest>,
    /// The text of the [`Record`].
    pub(super) record: String,
}

/// Checks a batch and prepares its events. Nothing of a batch with a fault in it gets any further.
pub(super) fn batch(batch: &[Append]) -> Result<Vec<Prepared>, StoreError> {
    if batch.len() > APPEND_MAX {
        return Err(StoreError::Refused(format!(
            "a batch of {} events; the most is {APPEND_MAX}",
            batch.len()
        )));
    }
    let time = now();
    batch.iter().map(|append| event(append, time)).collect()
}

fn event(append: &Append, time: i64) -> Result<Prepared, StoreError> {
    let fault = |error: serde_json::Error| {
        StoreError::Refused(format!("the data of a {} event: {error}", append.kind))
    };
    let record = Record {
        kind: append.kind.clone(),
        id: append.id.clone(),
        replaces: append.replaces,
        data: RawValue::from_string(append.data.clone()).map_err(fault)?,
        source: append.source.clone(),
        token: append.token.clone(),
        time,
    };
    Ok(Prepared {
        collection: collection(&append.kind),
        object: object(&append.kind, append.id.as_deref(), append.replaces),
        replaces: append.replaces,
        digest: append.digest(),
        token: append
            .token
            .as_deref()
            .map(|token| self::token(&append.source, token)),
        record: serde_json::to_string(&record).map_err(fault)?,
    })
}

/// Names the content of an event.
pub(super) fn content(kind: &str, id: Option<&str>, replaces: bool, data: &str) -> Digest {
    let id = id.unwrap_or("");
    let replaces: &[u8] = if replaces { b"*" } else { b"" };
    Digest::of(&[kind.as_bytes(), id.as_bytes(), replaces, data.as_bytes()])
}

/// Names the thing that an event is about. Different things have different names, whatever stands in a type or an id.
pub(super) fn object(kind: &str, id: Option<&str>, replaces: bool) -> String {
    match id {
        _ if replaces => collection(kind),
        Some(id) => format!("{}/{id}", escaped(kind)),
        None => escaped(kind),
    }
}

/// Names a whole collection.
pub(super) fn collection(kind: &str) -> String {
    escaped(kind) + "*"
}

/// A type without the two characters that mean something in a name; CLICS types have neither.
fn escaped(kind: &str) -> String {
    kind.replace('%', "%25")
        .replace('/', "%2F")
        .replace('*', "%2A")
}

/// Names a token within its source; a digest, so that no source can write another one's.
pub(super) fn token(source: &str, token: &str) -> Digest {
    Digest::of(&[source.as_bytes(), token.as_bytes()])
}

/// A fresh name for a history: `[a-z0-9]`, so that `epoch-version` has one hyphen.
pub(super) fn new_epoch() -> String {
    let mut bits: u64 = rand::random();
    let letter = |_| {
        let digit = (bits % 36) as u32;
        bits /= 36;
        char::from_digit(digit, 36).unwrap_or('0')
    };
    (0..EPOCH_LENGTH).map(letter).collect()
}

/// Milliseconds since 1970-01-01 UTC.
fn now() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_millis() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_different_things_differ() {
        let names = [
            object("teams", None, false),
            object("teams", Some(""), false),
            object("teams", Some("*"), false),
            object("teams*", None, false),
            object("teams", None, true),
            object("teams/", Some("*"), false),
            object("teams", Some("/*"), false),
            object("teams%2F", Some("*"), false),
        ];
        for (at, name) in names.iter().enumerate() {
            assert!(!names[..at].contains(name), "{name} twice");
        }
    }

    #[test]
    fn epochs_are_lower_case_letters_and_digits() {
        let epoch = new_epoch();
        assert_eq!(epoch.len(), EPOCH_LENGTH);
        assert!(
            epoch
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        );
        assert_ne!(epoch, new_epoch());
    }
}
