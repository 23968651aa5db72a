//! The objects of a contest, as CLICS defines them; each knows what standings need, and holds what passes through to other tools.

use serde::Deserialize as _;
use serde_json::{Map, Value};

use super::{
    EventError, Kind,
    fields::{Fields, bad_settings},
    passed::{Passed, passed},
};
use crate::{
    board::Id,
    contest::{
        awards::{Award, DisplayMode},
        balloons::Delivery,
        ceremony::{AUTO_MAX_MS, AUTO_MIN_MS, Progress},
        settings::Settings,
    },
};

/// The most teams that one award may go to.
const AWARDED_MAX: usize = 100_000;

/// An object of a contest. Each knows only what standings need.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // each names the type that it holds
pub enum Object {
    Contest(Box<Info>),
    State(Times),
    JudgementType(JudgementType),
    Language(Language),
    Group(Group),
    Organization(Organization),
    Team(Team),
    Problem(Problem),
    Submission(Submission),
    Judgement(Judgement),
    Settings(Box<Settings>),
    Adjustment(Adjustment),
    Award(Award),
    Delivery(Delivery),
    /// Since when this contest is the chosen one, in ms since 1970 UTC.
    Current(Option<i64>),
    /// True: the board is open.
    Thaw(bool),
    /// Where the ceremony stands, while there is one.
    Ceremony(Option<Progress>),
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
    pub passed: Passed,
}

/// CLICS "Languages".
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Language {
    pub id: Id,
    pub passed: Passed,
}

/// CLICS "Groups", with the `sortorder` that `DOMjudge` adds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Group {
    pub id: Id,
    pub name: String,
    pub hidden: bool,
    pub sortorder: Option<i64>,
    pub passed: Passed,
}

/// CLICS "Organizations".
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Organization {
    pub id: Id,
    pub name: String,
    pub passed: Passed,
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
    pub passed: Passed,
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
    pub passed: Passed,
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
    /// What it is written in.
    pub language: Option<Id>,
    /// Where the program begins, for languages that have to be told.
    pub entry_point: Option<Box<str>>,
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
    /// Of the slowest run, in ms.
    pub max_run_time: Option<i64>,
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
    /// Why.
    pub reason: Option<String>,
    /// Who decided it.
    pub by: Option<String>,
    /// When, in ms since 1970 UTC.
    pub time: Option<i64>,
}

impl Object {
    pub(super) fn read(
        kind: Kind,
        id: Option<&str>,
        map: &Map<String, Value>,
    ) -> Result<Self, EventError> {
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
                passed: passed(kind, map),
            }),
            Kind::Languages => Self::Language(Language {
                id: fields.own_id()?,
                passed: passed(kind, map),
            }),
            Kind::Groups => Self::Group(Group {
                id: fields.own_id()?,
                name: fields.name()?,
                hidden: fields.boolean("hidden")?.unwrap_or(false),
                sortorder: fields.integer("sortorder")?,
                passed: passed(kind, map),
            }),
            Kind::Organizations => Self::Organization(Organization {
                id: fields.own_id()?,
                name: fields.name()?,
                passed: passed(kind, map),
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
                passed: passed(kind, map),
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
                passed: passed(kind, map),
            }),
            Kind::Submissions => Self::Submission(Submission {
                id: fields.own_id()?,
                team: fields.reference("team_id")?,
                problem: fields.reference("problem_id")?,
                contest_time: fields.relative("contest_time")?,
                time: fields.instant("time")?,
                language: fields.lenient_id("language_id"),
                entry_point: fields.lenient_text("entry_point").map(Box::from),
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
                max_run_time: fields.seconds("max_run_time"),
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
                reason: fields.text("reason")?,
                by: fields.text("by")?,
                time: fields.instant("time")?,
            }),
            Kind::Awards => Self::Award(Award {
                id: fields.own_id()?,
                citation: fields.text("citation")?.unwrap_or_default(),
                team_ids: match map.get("team_ids") {
                    None | Some(Value::Null) => None,
                    Some(_) => Some(fields.ids("team_ids", AWARDED_MAX)?),
                },
                display_mode: fields
                    .read("display_mode", "detail, pause, list or ignore", |value| {
                        DisplayMode::deserialize(value).ok()
                    })?
                    .unwrap_or_default(),
            }),
            Kind::Balloons => {
                let wanted = |field: &str| {
                    fields
                        .reference(field)?
                        .ok_or_else(|| fields.error(field, "an id", &Value::Null))
                };
                Self::Delivery(Delivery {
                    id: fields.own_id()?,
                    team: wanted("team_id")?,
                    problem: wanted("problem_id")?,
                    delivered: fields.boolean("delivered")?.unwrap_or(true),
                    by: fields.text("by")?,
                })
            }
            Kind::Current => Self::Current(fields.instant("chosen")?),
            Kind::Thaw => Self::Thaw(fields.instant("thawed")?.is_some()),
            Kind::Ceremony => {
                let progress = Progress::deserialize(&Value::Object(map.clone()))
                    .map_err(|error| EventError::new(kind.name(), error.to_string()))?;
                if let Some(auto) = progress.auto_ms
                    && !(AUTO_MIN_MS..=AUTO_MAX_MS).contains(&auto)
                {
                    let expected = format!("an integer from {AUTO_MIN_MS} to {AUTO_MAX_MS}");
                    return Err(fields.error("auto_ms", &expected, &auto.into()));
                }
                Self::Ceremony(Some(progress))
            }
            Kind::Other => unreachable!("other kinds have no objects here"),
        })
    }

    /// What it is one of.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Contest(_) => Kind::Contest,
            Self::State(_) => Kind::State,
            Self::JudgementType(_) => Kind::JudgementTypes,
            Self::Language(_) => Kind::Languages,
            Self::Group(_) => Kind::Groups,
            Self::Organization(_) => Kind::Organizations,
            Self::Team(_) => Kind::Teams,
            Self::Problem(_) => Kind::Problems,
            Self::Submission(_) => Kind::Submissions,
            Self::Judgement(_) => Kind::Judgements,
            Self::Settings(_) => Kind::Settings,
            Self::Adjustment(_) => Kind::Adjustments,
            Self::Award(_) => Kind::Awards,
            Self::Delivery(_) => Kind::Balloons,
            Self::Current(_) => Kind::Current,
            Self::Thaw(_) => Kind::Thaw,
            Self::Ceremony(_) => Kind::Ceremony,
        }
    }

    /// The object's id; `None` for singletons.
    pub fn id(&self) -> Option<&Id> {
        match self {
            Self::Contest(_)
            | Self::State(_)
            | Self::Settings(_)
            | Self::Thaw(_)
            | Self::Ceremony(_)
            | Self::Current(_) => None,
            Self::JudgementType(object) => Some(&object.id),
            Self::Language(object) => Some(&object.id),
            Self::Group(object) => Some(&object.id),
            Self::Organization(object) => Some(&object.id),
            Self::Team(object) => Some(&object.id),
            Self::Problem(object) => Some(&object.id),
            Self::Submission(object) => Some(&object.id),
            Self::Judgement(object) => Some(&object.id),
            Self::Adjustment(object) => Some(&object.id),
            Self::Award(object) => Some(&object.id),
            Self::Delivery(object) => Some(&object.id),
        }
    }
}
