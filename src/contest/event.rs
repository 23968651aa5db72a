//! CLICS events in: what a judge, a feed or a file says, checked and typed.
//!
//! Three forms are read: notifications of 2023-06 and later (`type`, `id`, `data`, maybe `token`), the older form with
//! `op` and an event id of its own, and a whole collection at once (`id` null, `data` an array).

mod fields;
mod ids;
mod object;
mod passed;

use std::fmt;

use serde_json::Value;

use fields::shown;
use ids::{ID_FORM, bad_id, object_id};

use crate::board::Id;
pub use ids::{checked_id, is_id};
pub use object::{
    Adjustment, Group, Info, Judgement, JudgementType, Language, Moment, Object, Organization,
    PENALTY_DEFAULT_MS, Problem, Submission, Team, Times,
};
pub use passed::Passed;

/// The longest text of a name, in bytes. A longer one is a mistake.
pub const TEXT_MAX: usize = 20_000;

/// The most groups of a team.
pub const GROUPS_MAX: usize = 100;

/// How deep the data of an event may be nested: deep enough for all that CLICS has, and less than parsers can read.
pub const DEPTH_MAX: usize = 100;

/// The longest id of a type without a meaning here, in bytes; all others have ids of CLICS' form.
pub const OTHER_ID_MAX: usize = 256;

/// The types that have a meaning here. All others are kept in the log and passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The contest itself.
    Contest,
    /// Its phases.
    State,
    /// What a verdict means.
    JudgementTypes,
    /// What submissions are written in.
    Languages,
    /// Groups of teams.
    Groups,
    /// Universities, companies.
    Organizations,
    /// Teams.
    Teams,
    /// Problems.
    Problems,
    /// What teams sent in.
    Submissions,
    /// What the judge found.
    Judgements,
    /// Who gets what.
    Awards,
    /// Ours: how this contest is scored and shown.
    Settings,
    /// Ours: a manual change of a team's penalty.
    Adjustments,
    /// Ours: the jury opens (or closes again) the frozen board.
    Thaw,
    /// Ours: where the ceremony stands.
    Ceremony,
    /// Ours: which balloons have been brought.
    Balloons,
    /// Ours: since when this is the contest that `/current` shows.
    Current,
    /// Anything else.
    Other,
}

impl Kind {
    const NAMES: [(Self, &'static str); 17] = [
        (Self::Contest, "contest"),
        (Self::State, "state"),
        (Self::JudgementTypes, "judgement-types"),
        (Self::Languages, "languages"),
        (Self::Groups, "groups"),
        (Self::Organizations, "organizations"),
        (Self::Teams, "teams"),
        (Self::Problems, "problems"),
        (Self::Submissions, "submissions"),
        (Self::Judgements, "judgements"),
        (Self::Awards, "awards"),
        (Self::Settings, "rankcast"),
        (Self::Adjustments, "rankcast-adjustments"),
        (Self::Thaw, "rankcast-thaw"),
        (Self::Ceremony, "rankcast-ceremony"),
        (Self::Balloons, "rankcast-balloons"),
        (Self::Current, "rankcast-current"),
    ];

    /// The kind of a CLICS type.
    pub fn of(name: &str) -> Self {
        Self::NAMES
            .iter()
            .find(|(_, known)| *known == name)
            .map_or(Self::Other, |(kind, _)| *kind)
    }

    /// The CLICS type.
    pub fn name(self) -> &'static str {
        Self::NAMES
            .iter()
            .find(|(kind, _)| *kind == self)
            .map_or("other", |(_, name)| name)
    }

    /// A contest has one of these, without an id.
    pub fn is_single(self) -> bool {
        matches!(
            self,
            Self::Contest
                | Self::State
                | Self::Settings
                | Self::Thaw
                | Self::Ceremony
                | Self::Current
        )
    }
}

/// Why an event is refused: the field, and what was expected there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {expected}")]
pub struct EventError {
    place: String,
    expected: String,
}

impl EventError {
    fn new(place: impl Into<String>, expected: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            expected: expected.into(),
        }
    }
}

/// One line of a feed, in its normal form: type, id and data as they go into the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Notification {
    /// The CLICS type, `contests` written `contest`.
    pub kind: String,
    /// The object's id; `None` for singletons and for a whole collection.
    pub id: Option<String>,
    /// The object, `null` for a deletion, an array for a whole collection.
    pub data: Value,
    /// The feed's name for this line.
    pub token: Option<String>,
}

impl Notification {
    /// Reads one line. `None` for an empty one, a heartbeat.
    pub fn parse(line: &[u8]) -> Result<Option<Self>, EventError> {
        let text = std::str::from_utf8(line).map_err(|error| {
            EventError::new(
                "line",
                format!("not UTF-8 from byte {}", error.valid_up_to()),
            )
        })?;
        if text.trim().is_empty() {
            return Ok(None);
        }
        let value: Value = serde_json::from_str(text)
            .map_err(|error| EventError::new("line", not_json(&error)))?;
        Self::from_value(value).map(Some)
    }

    /// Brings a notification object into its normal form.
    pub fn from_value(value: Value) -> Result<Self, EventError> {
        let Value::Object(mut line) = value else {
            return Err(EventError::new(
                "line",
                "expected an object with `type` and `data`",
            ));
        };
        let kind = match line.get("type") {
            Some(Value::String(kind)) if !kind.is_empty() && kind.len() <= 64 => kind.clone(),
            other => {
                return Err(EventError::new(
                    "type",
                    format!("expected a CLICS type, got {}", shown(other)),
                ));
            }
        };
        let kind = if kind == "contests" {
            "contest".to_owned()
        } else {
            kind
        };
        let token = match line.get("token") {
            None | Some(Value::Null) => None,
            Some(Value::String(token)) if token.len() <= 256 => Some(token.clone()),
            other => {
                return Err(EventError::new(
                    "token",
                    format!("expected at most 256 bytes, got {}", shown(other)),
                ));
            }
        };
        let mut data = line
            .remove("data")
            .ok_or_else(|| EventError::new("data", "is missing"))?;
        let older = match line.get("op") {
            None | Some(Value::Null) => None,
            Some(Value::String(op)) => Some(op.as_str()),
            other => return Err(bad_op(other)),
        };
        let strict = !matches!(Kind::of(&kind), Kind::Other) && !Kind::of(&kind).is_single();
        let inner = text_id(&kind, data.get("id"), strict)?;
        // That of the older form names the event; a collection is meant only where it is null or not there.
        let outer = text_id(&kind, line.get("id"), strict && older.is_none())?;
        let id = match older {
            // The older form: `id` names the event, the object's own stands in its data.
            Some("create" | "update") => inner,
            Some("delete") => {
                data = Value::Null;
                inner
            }
            Some(_) => return Err(bad_op(line.get("op"))),
            None => match (outer, inner) {
                (Some(outer), Some(inner)) if outer != inner && !Kind::of(&kind).is_single() => {
                    return Err(EventError::new(
                        format!("{kind} {outer}"),
                        format!("`id` and `data.id` ({inner}) are not the same"),
                    ));
                }
                (outer, inner) => outer.or(inner),
            },
        };
        let id = if Kind::of(&kind).is_single() {
            None
        } else {
            id
        };
        Ok(Self {
            kind,
            id,
            data,
            token,
        })
    }

    /// Does it stand for a whole collection?
    pub fn replaces(&self) -> bool {
        self.data.is_array() && self.id.is_none()
    }

    /// Checks the content and gives it a type.
    pub fn event(&self) -> Result<Event, EventError> {
        if !is_shallow(&self.data, DEPTH_MAX) {
            return Err(EventError::new(
                format!("{} data", self.kind),
                format!("expected at most {DEPTH_MAX} levels of nesting"),
            ));
        }
        if self.id.as_ref().is_some_and(|id| id.len() > OTHER_ID_MAX) {
            return Err(EventError::new(
                format!("{} id", self.kind),
                format!("expected at most {OTHER_ID_MAX} bytes"),
            ));
        }
        Event::read(&self.kind, self.id.as_deref(), &self.data)
    }
}

/// What happened, typed.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// An object is new or changed.
    Put(Object),
    /// An object is gone.
    Delete(Kind, Id),
    /// These, and no others, are the objects of a kind.
    Replace(Kind, Vec<Object>),
    /// Something that scores nothing.
    Other,
}

impl Event {
    /// Types the content of an event.
    pub fn read(kind: &str, id: Option<&str>, data: &Value) -> Result<Self, EventError> {
        let name = kind;
        let kind = Kind::of(name);
        let object = |id: Option<&str>, data: &Value| match data {
            Value::Object(map) => Object::read(kind, id, map),
            other => Err(EventError::new(
                format!("{name} data"),
                format!("expected an object, got {}", shown(Some(other))),
            )),
        };
        match (kind, data) {
            (Kind::Other, _) => Ok(Self::Other),
            (Kind::Contest | Kind::Settings, Value::Null) => Err(EventError::new(
                name,
                "cannot be null; a contest is deleted with DELETE /api/contests/{id}",
            )),
            (Kind::State, Value::Null) => Ok(Self::Put(Object::State(Times::default()))),
            (Kind::Thaw, Value::Null) => Ok(Self::Put(Object::Thaw(false))),
            (Kind::Ceremony, Value::Null) => Ok(Self::Put(Object::Ceremony(None))),
            (Kind::Current, Value::Null) => Ok(Self::Put(Object::Current(None))),
            (kind, data) if kind.is_single() => object(None, data).map(Self::Put),
            (kind, Value::Null) => {
                let id = id.ok_or_else(|| {
                    EventError::new(format!("{name} id"), "a deletion needs the object's id")
                })?;
                Ok(Self::Delete(
                    kind,
                    object_id(kind, id).ok_or_else(|| bad_id(name, id))?,
                ))
            }
            (kind, Value::Array(items)) if id.is_none() => items
                .iter()
                .map(|item| object(None, item))
                .collect::<Result<_, _>>()
                .map(|all| Self::Replace(kind, all)),
            (_, data) => object(id, data).map(Self::Put),
        }
    }
}

fn bad_op(got: Option<&Value>) -> EventError {
    EventError::new(
        "op",
        format!("expected create, update or delete, got {}", shown(got)),
    )
}

/// The id, if it is a text. Anything else but null is an error where `strict`: it must not pass for no id.
fn text_id(kind: &str, value: Option<&Value>, strict: bool) -> Result<Option<String>, EventError> {
    match value {
        Some(Value::String(id)) => Ok(Some(id.clone())),
        None | Some(Value::Null) => Ok(None),
        other if strict => Err(EventError::new(
            format!("{kind} id"),
            format!("expected {ID_FORM}, got {}", shown(other)),
        )),
        _ => Ok(None),
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Is nothing nested deeper than so many levels?
fn is_shallow(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(|item| is_shallow(item, levels - 1)),
        Value::Object(map) => levels > 0 && map.values().all(|item| is_shallow(item, levels - 1)),
        _ => true,
    }
}

fn not_json(error: &serde_json::Error) -> String {
    format!("not JSON: {error}")
}
