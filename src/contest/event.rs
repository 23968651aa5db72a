//! CLICS events in: what a judge, a feed or a file says, checked and typed.
//!
//! Three forms are read: notifications of 2023-06 and later (`type`, `id`, `data`, maybe `token`), the older form with
//! `op` and an event id of its own, and a whole collection at once (`id` null, `data` an array).

use std::fmt;

use serde_json::{Map, Value};

use super::{clock, decimal, settings::Settings};
use crate::board::Id;

/// The longest text of a name, in bytes. A longer one is a mistake.
pub const TEXT_MAX: usize = 20_000;

/// The most groups of a team.
pub const GROUPS_MAX: usize = 100;

/// How deep the data of an event may be nested: deep enough for all that CLICS has, and less than parsers can read.
pub const DEPTH_MAX: usize = 100;

/// The longest id of a type without a meaning here, in bytes; all others have ids of CLICS' form.
pub const OTHER_ID_MAX: usize = 256;

/// The types that have a meaning here. All others are kept in the log and passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The contest itself.
    Contest,
    /// Its phases.
    State,
    /// What a verdict means.
    JudgementTypes,
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
    /// Ours: how this contest is scored and shown.
    Settings,
    /// Ours: a manual change of a team's penalty.
    Adjustments,
    /// Ours: the jury opens (or closes again) the frozen board.
    Thaw,
    /// Anything else.
    Other,
}

impl Kind {
    const NAMES: [(Self, &'static str); 12] = [
        (Self::Contest, "contest"),
        (Self::State, "state"),
        (Self::JudgementTypes, "judgement-types"),
        (Self::Groups, "groups"),
        (Self::Organizations, "organizations"),
        (Self::Teams, "teams"),
        (Self::Problems, "problems"),
        (Self::Submissions, "submissions"),
        (Self::Judgements, "judgements"),
        (Self::Settings, "rankcast"),
        (Self::Adjustments, "rankcast-adjustments"),
        (Self::Thaw, "rankcast-thaw"),
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
            Self::Contest | Self::State | Self::Settings | Self::Thaw
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
            (kind, data) if kind.is_single() => object(None, data).map(Self::Put),
            (kind, Value::Null) => {
                let id = id.ok_or_else(|| {
                    EventError::new(format!("{name} id"), "a deletion needs the object's id")
                })?;
                Ok(Self::Delete(
                    kind,
                    checked_id(id).ok_or_else(|| bad_id(name, id))?,
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

/// An object of a contest. Each knows only what standings need.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // each names the type that it holds
pub enum Object {
    Contest(Box<Info>),
    State(Times),
    JudgementType(JudgementType),
    Group(Group),
    Organization(Organization),
    Team(Team),
    Problem(Problem),
    Submission(Submission),
    Judgement(Judgement),
    Settings(Box<Settings>),
    Adjustment(Adjustment),
    /// True: the board is open.
    Thaw(bool),
}

/// The contest: CLICS "Contests".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// Its short name.
    pub name: String,
    /// Its full name.
    pub formal_name: Option<String>,
    /// When it starts, in ms since 1970 UTC; `None` while unknown or paused.
    pub start: Option<i64>,
    /// With the countdown paused: how long before the start, in ms.
    pub countdown_pause: Option<i64>,
    /// Its length in ms; `None`: without an end.
    pub duration: Option<i64>,
    /// How long before the end the board is frozen, in ms.
    pub freeze: Option<i64>,
    /// What a wrong attempt costs, in ms.
    pub penalty: i64,
    /// `scoreboard_type` is `score`, not `pass-fail`.
    pub points: bool,
}

/// The penalty of a wrong attempt where the contest does not say: 20 minutes, as at ICPC.
pub const PENALTY_DEFAULT_MS: i64 = 20 * 60_000;

/// When the contest passed its phases, in ms since 1970 UTC: CLICS "Contest state".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // named as in CLICS
pub struct Times {
    pub started: Option<i64>,
    pub frozen: Option<i64>,
    pub ended: Option<i64>,
    pub thawed: Option<i64>,
    pub finalized: Option<i64>,
    pub end_of_updates: Option<i64>,
}

/// CLICS "Judgement types".
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct JudgementType {
    pub id: Id,
    pub penalty: Option<bool>,
    pub solved: Option<bool>,
}

/// CLICS "Groups", with the `sortorder` that `DOMjudge` adds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Group {
    pub id: Id,
    pub name: String,
    pub hidden: bool,
    pub sortorder: Option<i64>,
}

/// CLICS "Organizations".
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Organization {
    pub id: Id,
    pub name: String,
}

/// CLICS "Teams".
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Team {
    pub id: Id,
    pub name: String,
    pub organization: Option<Id>,
    pub groups: Vec<Id>,
    pub hidden: bool,
}

/// CLICS "Problems".
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Problem {
    pub id: Id,
    pub label: String,
    pub name: String,
    pub ordinal: i64,
    pub rgb: Option<String>,
    pub color: Option<String>,
}

/// CLICS "Submissions".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// Its id.
    pub id: Id,
    /// Who sent it in; without a team it never scores.
    pub team: Option<Id>,
    /// For which problem.
    pub problem: Option<Id>,
    /// When, in contest time, in ms.
    pub contest_time: Option<i64>,
    /// When, as an instant, in ms since 1970 UTC; used where the contest time is missing.
    pub time: Option<i64>,
}

/// CLICS "Judgements".
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Judgement {
    pub id: Id,
    pub submission: Id,
    /// The verdict; `None` while it is being judged.
    pub verdict: Option<Id>,
    /// False: a rejudgement took its place.
    pub current: bool,
    /// In millionths of a point.
    pub score: Option<i64>,
    /// End, else start: instants in ms since 1970 UTC and contest times in ms, as far as they were given.
    pub end: Moment,
    pub start: Moment,
}

/// One moment as a feed gives it, in two clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Moment {
    pub contest_time: Option<i64>,
    pub time: Option<i64>,
}

impl Moment {
    /// In contest time, in ms, if it can be told.
    pub fn in_contest(self, start: Option<i64>) -> Option<i64> {
        self.contest_time.or_else(|| Some(self.time? - start?))
    }
}

/// Ours: what is added to a team's penalty; may be negative.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Adjustment {
    pub id: Id,
    pub team: Id,
    /// In ms.
    pub penalty: i64,
}

impl Object {
    fn read(kind: Kind, id: Option<&str>, map: &Map<String, Value>) -> Result<Self, EventError> {
        let own = if kind.is_single() {
            None
        } else {
            id.or_else(|| map.get("id").and_then(Value::as_str))
        };
        let fields = Fields { kind, id: own, map };
        if own.is_none() && !kind.is_single() {
            fields.text("id")?; // An id that is no text is not the same as none.
        }
        Ok(match kind {
            Kind::Contest => Self::Contest(Box::new(Info {
                name: fields
                    .text("name")?
                    .or(fields.text("id")?)
                    .unwrap_or_default(),
                formal_name: fields.text("formal_name")?,
                start: fields.instant("start_time")?,
                countdown_pause: fields.relative("countdown_pause_time")?,
                duration: fields.positive("duration")?,
                freeze: fields.positive("scoreboard_freeze_duration")?,
                penalty: fields.cost("penalty_time")?.unwrap_or(PENALTY_DEFAULT_MS),
                points: match fields.text("scoreboard_type")?.as_deref() {
                    None | Some("pass-fail") => false,
                    Some("score") => true,
                    Some(other) => {
                        return Err(fields.error(
                            "scoreboard_type",
                            "pass-fail or score",
                            &other.into(),
                        ));
                    }
                },
            })),
            Kind::State => Self::State(Times {
                started: fields.instant("started")?,
                frozen: fields.instant("frozen")?,
                ended: fields.instant("ended")?,
                thawed: fields.instant("thawed")?,
                finalized: fields.instant("finalized")?,
                end_of_updates: fields.instant("end_of_updates")?,
            }),
            Kind::JudgementTypes => Self::JudgementType(JudgementType {
                id: fields.own_id()?,
                penalty: fields.boolean("penalty")?,
                solved: fields.boolean("solved")?,
            }),
            Kind::Groups => Self::Group(Group {
                id: fields.own_id()?,
                name: fields.name()?,
                hidden: fields.boolean("hidden")?.unwrap_or(false),
                sortorder: fields.integer("sortorder")?,
            }),
            Kind::Organizations => Self::Organization(Organization {
                id: fields.own_id()?,
                name: fields.name()?,
            }),
            Kind::Teams => Self::Team(Team {
                id: fields.own_id()?,
                name: match fields.text("display_name")? {
                    Some(name) => name,
                    None => fields.name()?,
                },
                organization: fields.reference("organization_id")?,
                groups: fields.references("group_ids")?,
                hidden: fields.boolean("hidden")?.unwrap_or(false),
            }),
            Kind::Problems => Self::Problem(Problem {
                id: fields.own_id()?,
                label: fields
                    .text("label")?
                    .or(fields.text("short_name")?)
                    .unwrap_or_else(|| own.unwrap_or("").to_owned()),
                name: fields.name()?,
                ordinal: fields.integer("ordinal")?.unwrap_or(0),
                rgb: fields.text("rgb")?,
                color: fields.text("color")?,
            }),
            Kind::Submissions => Self::Submission(Submission {
                id: fields.own_id()?,
                team: fields.reference("team_id")?,
                problem: fields.reference("problem_id")?,
                contest_time: fields.relative("contest_time")?,
                time: fields.instant("time")?,
            }),
            Kind::Judgements => Self::Judgement(Judgement {
                id: fields.own_id()?,
                submission: fields.reference("submission_id")?.ok_or_else(|| {
                    fields.error("submission_id", "the id of a submission", &Value::Null)
                })?,
                verdict: match fields.reference("judgement_type_id")? {
                    Some(verdict) => Some(verdict),
                    None => fields.reference("simplified_judgement_type_id")?,
                },
                current: fields.boolean("current")?.unwrap_or(true),
                score: fields.score("score")?,
                end: Moment {
                    contest_time: fields.relative("end_contest_time")?,
                    time: fields.instant("end_time")?,
                },
                start: Moment {
                    contest_time: fields.relative("start_contest_time")?,
                    time: fields.instant("start_time")?,
                },
            }),
            Kind::Settings => {
                let settings = serde_json::from_value(Value::Object(map.clone()))
                    .map_err(|error| bad_settings(map, &error))?;
                Settings::check(&settings)
                    .map_err(|expected| EventError::new("rankcast", expected))?;
                Self::Settings(Box::new(settings))
            }
            Kind::Adjustments => Self::Adjustment(Adjustment {
                id: fields.own_id()?,
                team: fields
                    .reference("team_id")?
                    .ok_or_else(|| fields.error("team_id", "the id of a team", &Value::Null))?,
                penalty: fields.minutes_or_relative("penalty")?.ok_or_else(|| {
                    fields.error("penalty", "minutes or a relative time", &Value::Null)
                })?,
            }),
            Kind::Thaw => Self::Thaw(fields.instant("thawed")?.is_some()),
            Kind::Other => unreachable!("other kinds have no objects here"),
        })
    }

    /// The object's id; `None` for singletons.
    pub fn id(&self) -> Option<&Id> {
        match self {
            Self::Contest(_) | Self::State(_) | Self::Settings(_) | Self::Thaw(_) => None,
            Self::JudgementType(object) => Some(&object.id),
            Self::Group(object) => Some(&object.id),
            Self::Organization(object) => Some(&object.id),
            Self::Team(object) => Some(&object.id),
            Self::Problem(object) => Some(&object.id),
            Self::Submission(object) => Some(&object.id),
            Self::Judgement(object) => Some(&object.id),
            Self::Adjustment(object) => Some(&object.id),
        }
    }
}

/// The fields of an object, read with errors that say where.
struct Fields<'a> {
    kind: Kind,
    id: Option<&'a str>,
    map: &'a Map<String, Value>,
}

impl Fields<'_> {
    fn error(&self, field: &str, expected: &str, got: &Value) -> EventError {
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
    fn read<T>(
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

    fn own_id(&self) -> Result<Id, EventError> {
        let id = self
            .id
            .ok_or_else(|| EventError::new(format!("{} id", self.kind.name()), "is missing"))?;
        checked_id(id).ok_or_else(|| bad_id(self.kind.name(), id))
    }

    fn text(&self, field: &str) -> Result<Option<String>, EventError> {
        self.read(field, "a text of at most 20000 bytes", |value| {
            value
                .as_str()
                .filter(|text| text.len() <= TEXT_MAX)
                .map(str::to_owned)
        })
    }

    /// The name; without one the id.
    fn name(&self) -> Result<String, EventError> {
        Ok(self
            .text("name")?
            .unwrap_or_else(|| self.id.unwrap_or("").to_owned()))
    }

    fn reference(&self, field: &str) -> Result<Option<Id>, EventError> {
        self.read(field, ID_FORM, |value| value.as_str().and_then(checked_id))
    }

    fn references(&self, field: &str) -> Result<Vec<Id>, EventError> {
        let expected = "an array of at most 100 ids";
        let list = self.read(field, expected, |value| {
            let items = value.as_array().filter(|items| items.len() <= GROUPS_MAX)?;
            items
                .iter()
                .map(|item| item.as_str().and_then(checked_id))
                .collect::<Option<Vec<_>>>()
        })?;
        Ok(list.unwrap_or_default())
    }

    fn boolean(&self, field: &str) -> Result<Option<bool>, EventError> {
        self.read(field, "true or false", Value::as_bool)
    }

    fn integer(&self, field: &str) -> Result<Option<i64>, EventError> {
        self.read(field, "an integer", Value::as_i64)
    }

    fn relative(&self, field: &str) -> Result<Option<i64>, EventError> {
        self.read(field, "a relative time such as 1:02:03.456", |value| {
            value.as_str().and_then(clock::parse_relative)
        })
    }

    fn positive(&self, field: &str) -> Result<Option<i64>, EventError> {
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

    fn minutes_or_relative(&self, field: &str) -> Result<Option<i64>, EventError> {
        self.read(
            field,
            "whole minutes or a relative time such as 0:20:00.000",
            minutes_or_relative,
        )
    }

    /// As [`Self::minutes_or_relative`], and not below 0.
    fn cost(&self, field: &str) -> Result<Option<i64>, EventError> {
        self.read(
            field,
            "whole minutes or a relative time of at least 0, such as 0:20:00.000",
            |value| minutes_or_relative(value).filter(|millis| *millis >= 0),
        )
    }

    fn instant(&self, field: &str) -> Result<Option<i64>, EventError> {
        self.read(field, "a time such as 2026-11-30T09:00:00.000Z", |value| {
            value.as_str().and_then(clock::parse_instant)
        })
    }

    fn score(&self, field: &str) -> Result<Option<i64>, EventError> {
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

const ID_FORM: &str =
    "an id: 1 to 36 of A-Z a-z 0-9 _ . -, not starting with - or ., not ending with .";

fn bad_id(kind: &str, id: &str) -> EventError {
    EventError::new(
        format!("{kind} id"),
        format!("expected {ID_FORM}, got {:?}", clipped(id)),
    )
}

/// The id, if it is a CLICS identifier.
pub fn checked_id(id: &str) -> Option<Id> {
    is_id(id).then(|| id.into())
}

/// Is it a CLICS identifier: `[A-Za-z0-9_.-]{1,36}`, not starting with `-` or `.`, not ending with `.`?
pub fn is_id(id: &str) -> bool {
    (1..=36).contains(&id.len())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'))
        && !id.starts_with(['-', '.'])
        && !id.ends_with('.')
}

/// Names the field, which the error of the whole does not say.
fn bad_settings(map: &Map<String, Value>, whole: &serde_json::Error) -> EventError {
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

fn bad_op(got: Option<&Value>) -> EventError {
    EventError::new(
        "op",
        format!("expected create, update or delete, got {}", shown(got)),
    )
}

/// 2023-06 has whole minutes, 2026-01 relative times.
fn minutes_or_relative(value: &Value) -> Option<i64> {
    let millis = match value {
        Value::String(text) => clock::parse_relative(text)?,
        value => value.as_i64()?.checked_mul(60_000)?,
    };
    (millis.abs() <= clock::DURATION_MAX_MS).then_some(millis)
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

/// A value as an error shows it: never long.
fn shown(value: Option<&Value>) -> String {
    match value {
        None => "nothing".to_owned(),
        Some(Value::Array(items)) => format!("an array of {}", items.len()),
        Some(Value::Object(_)) => "an object".to_owned(),
        Some(value) => clipped(&value.to_string()).to_owned(),
    }
}

fn clipped(text: &str) -> &str {
    const SHOWN_MAX: usize = 60;
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => &text[..end],
        None => text,
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

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
