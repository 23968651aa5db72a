//! Fields of an object, read with errors that say where, and what was expected.

use serde_json::{Map, Value};

use super::{
    EventError, GROUPS_MAX, Kind, TEXT_MAX,
    ids::{ID_FORM, bad_id, checked_id, clipped, object_id},
};
use crate::{
    board::Id,
    contest::{clock, decimal, settings::Settings},
};

/// The fields of an object, read with errors that say where.
pub(super) struct Fields<'a> {
    pub(super) kind: Kind,
    pub(super) id: Option<&'a str>,
    pub(super) map: &'a Map<String, Value>,
}

impl Fields<'_> {
    pub(super) fn error(&self, field: &str, expected: &str, got: &Value) -> EventError {
        let id = self
            .id
            .map(|id| format!(" {}", clipped(id)))
            .unwrap_or_default();
        EventError::new(
            format!("{}{id}: field `{field}`", self.kind.name()),
            format!("expected {expected}, got {}", shown(Some(got))),
        )
    }

    /// The field, if it is there and not null, as `read` gives it; an error if that gives nothing.
    pub(super) fn read<T>(
        &self,
        field: &str,
        expected: &str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Result<Option<T>, EventError> {
        match self.map.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => read(value)
                .map(Some)
                .ok_or_else(|| self.error(field, expected, value)),
        }
    }

    pub(super) fn own_id(&self) -> Result<Id, EventError> {
        let id = self
            .id
            .ok_or_else(|| EventError::new(format!("{} id", self.kind.name()), "is missing"))?;
        object_id(self.kind, id).ok_or_else(|| bad_id(self.kind.name(), id))
    }

    pub(super) fn text(&self, field: &str) -> Result<Option<String>, EventError> {
        self.read(field, "a text of at most 20000 bytes", |value| {
            value
                .as_str()
                .filter(|text| text.len() <= TEXT_MAX)
                .map(str::to_owned)
        })
    }

    /// The name; without one the id.
    pub(super) fn name(&self) -> Result<String, EventError> {
        Ok(self
            .text("name")?
            .unwrap_or_else(|| self.id.unwrap_or("").to_owned()))
    }

    pub(super) fn reference(&self, field: &str) -> Result<Option<Id>, EventError> {
        self.read(field, ID_FORM, |value| value.as_str().and_then(checked_id))
    }

    /// An id that nothing depends on: one of another form is none.
    pub(super) fn lenient_id(&self, field: &str) -> Option<Id> {
        self.map.get(field)?.as_str().and_then(checked_id)
    }

    /// A text that nothing depends on: what is none, or too long, is none.
    pub(super) fn lenient_text(&self, field: &str) -> Option<&str> {
        let text = self.map.get(field)?.as_str()?;
        Some(text).filter(|text| text.len() <= TEXT_MAX)
    }

    /// Seconds with decimals, in ms; what is no such number, which nothing depends on, is none.
    pub(super) fn seconds(&self, field: &str) -> Option<i64> {
        let Value::Number(seconds) = self.map.get(field)? else {
            return None;
        };
        let micros = decimal::parse(&seconds.to_string()).filter(|micros| *micros >= 0)?;
        Some(micros / 1000)
    }

    pub(super) fn references(&self, field: &str) -> Result<Vec<Id>, EventError> {
        self.ids(field, GROUPS_MAX)
    }

    /// At most so many ids.
    pub(super) fn ids(&self, field: &str, most: usize) -> Result<Vec<Id>, EventError> {
        let expected = format!("an array of at most {most} ids");
        let list = self.read(field, &expected, |value| {
            let items = value.as_array().filter(|items| items.len() <= most)?;
            items
                .iter()
                .map(|item| item.as_str().and_then(checked_id))
                .collect::<Option<Vec<_>>>()
        })?;
        Ok(list.unwrap_or_default())
    }

    pub(super) fn boolean(&self, field: &str) -> Result<Option<bool>, EventError> {
        self.read(field, "true or false", Value::as_bool)
    }

    pub(super) fn integer(&self, field: &str) -> Result<Option<i64>, EventError> {
        self.read(field, "an integer", Value::as_i64)
    }

    pub(super) fn relative(&self, field: &str) -> Result<Option<i64>, EventError> {
        self.read(field, "a relative time such as 1:02:03.456", |value| {
            value.as_str().and_then(clock::parse_relative)
        })
    }

    pub(super) fn positive(&self, field: &str) -> Result<Option<i64>, EventError> {
        self.read(
            field,
            "a relative time of at least 0, such as 5:00:00.000",
            |value| {
                value
                    .as_str()
                    .and_then(clock::parse_relative)
                    .filter(|millis| (0..=clock::DURATION_MAX_MS).contains(millis))
            },
        )
    }

    pub(super) fn minutes_or_relative(&self, field: &str) -> Result<Option<i64>, EventError> {
        self.read(
            field,
            "whole minutes or a relative time such as 0:20:00.000",
            minutes_or_relative,
        )
    }

    /// As [`Self::minutes_or_relative`], and not below 0.
    pub(super) fn cost(&self, field: &str) -> Result<Option<i64>, EventError> {
        self.read(
            field,
            "whole minutes or a relative time of at least 0, such as 0:20:00.000",
            |value| minutes_or_relative(value).filter(|millis| *millis >= 0),
        )
    }

    pub(super) fn instant(&self, field: &str) -> Result<Option<i64>, EventError> {
        self.read(field, "a time such as 2026-11-30T09:00:00.000Z", |value| {
            value.as_str().and_then(clock::parse_instant)
        })
    }

    pub(super) fn score(&self, field: &str) -> Result<Option<i64>, EventError> {
        self.read(
            field,
            "a number within ±1000000000 with at most 6 decimals",
            |value| match value {
                Value::Number(number) => decimal::parse(&number.to_string()),
                _ => None,
            },
        )
    }
}

/// Names the field, which the error of the whole does not say.
pub(super) fn bad_settings(map: &Map<String, Value>, whole: &serde_json::Error) -> EventError {
    let bad = map.iter().find_map(|(field, value)| {
        let alone = Map::from_iter([(field.clone(), value.clone())]);
        let error = serde_json::from_value::<Settings>(Value::Object(alone)).err()?;
        Some(EventError::new(
            format!("rankcast: field `{}`", clipped(field)),
            error.to_string(),
        ))
    });
    bad.unwrap_or_else(|| EventError::new("rankcast", whole.to_string()))
}

/// 2023-06 has whole minutes, 2026-01 relative times.
fn minutes_or_relative(value: &Value) -> Option<i64> {
    let millis = match value {
        Value::String(text) => clock::parse_relative(text)?,
        value => value.as_i64()?.checked_mul(60_000)?,
    };
    (millis.abs() <= clock::DURATION_MAX_MS).then_some(millis)
}

/// A value as an error shows it: never long.
pub(super) fn shown(value: Option<&Value>) -> String {
    match value {
        None => "nothing".to_owned(),
        Some(Value::Array(items)) => format!("an array of {}", items.len()),
        Some(Value::Object(_)) => "an object".to_owned(),
        Some(value) => clipped(&value.to_string()).to_owned(),
    }
}
