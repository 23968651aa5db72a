//! The objects of the collections (Contest API, "Interface specification"), each as one view may see it.

use std::hash::{DefaultHasher, Hash, Hasher as _};

use serde::{Serialize, Serializer, ser::Error as _};
use serde_json::{Map, Number, Value};

use crate::{
    board::Id,
    contest::{clock, decimal},
};

/// An object as tools read it. The many are held as they are, the few as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(untagged)]
#[allow(missing_docs)] // each names what it holds
pub enum Shape {
    Submission(Submission),
    Judgement(Judgement),
    Other(Map<String, Value>),
}

/// CLICS "Submissions". Their files are the judge's to give out.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[allow(missing_docs)] // named as in CLICS
pub struct Submission {
    pub id: Id,
    pub language_id: Id,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem_id: Option<Id>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team_id: Option<Id>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "instant")]
    pub time: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "relative")]
    pub contest_time: Option<i64>,
    /// Always there: some languages need it to be.
    pub entry_point: Option<Box<str>>,
    pub files: [(); 0],
}

/// CLICS "Judgements".
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[allow(missing_docs)]
pub struct Judgement {
    pub id: Id,
    pub submission_id: Id,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judgement_type_id: Option<Id>,
    /// In millionths of a point.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "points")]
    pub score: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "instant")]
    pub start_time: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "relative")]
    pub start_contest_time: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "instant")]
    pub end_time: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "relative")]
    pub end_contest_time: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "seconds")]
    pub max_run_time: Option<i64>,
}

impl Shape {
    /// Tells one content from another, in this process.
    pub fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }

    /// What a property holds that refers to another object; `None` if it is null or not there.
    pub fn reference(&self, name: &str) -> Option<&str> {
        match (self, name) {
            (Self::Submission(one), "team_id") => one.team_id.as_deref(),
            (Self::Submission(one), "problem_id") => one.problem_id.as_deref(),
            (Self::Submission(one), "language_id") => Some(&one.language_id),
            (Self::Judgement(one), "submission_id") => Some(&one.submission_id),
            (Self::Judgement(one), "judgement_type_id") => one.judgement_type_id.as_deref(),
            (Self::Other(object), name) => object.get(name)?.as_str(),
            _ => None,
        }
    }
}

// The shape that serde asks for.
#[allow(clippy::ref_option, clippy::trivially_copy_pass_by_ref)]
fn instant<S: Serializer>(at: &Option<i64>, out: S) -> Result<S::Ok, S::Error> {
    at.map(clock::format_instant).serialize(out)
}

#[allow(clippy::ref_option, clippy::trivially_copy_pass_by_ref)]
fn relative<S: Serializer>(at: &Option<i64>, out: S) -> Result<S::Ok, S::Error> {
    at.map(clock::format_relative).serialize(out)
}

#[allow(clippy::ref_option, clippy::trivially_copy_pass_by_ref)]
fn points<S: Serializer>(score: &Option<i64>, out: S) -> Result<S::Ok, S::Error> {
    number(*score, decimal::SCALE, out)
}

#[allow(clippy::ref_option, clippy::trivially_copy_pass_by_ref)]
fn seconds<S: Serializer>(millis: &Option<i64>, out: S) -> Result<S::Ok, S::Error> {
    number(*millis, 3, out)
}

fn number<S: Serializer>(value: Option<i64>, scale: u8, out: S) -> Result<S::Ok, S::Error> {
    let number: Option<Number> = value
        .map(|value| serde_json::from_str(&decimal::format(value, scale)))
        .transpose()
        .map_err(S::Error::custom)?;
    number.serialize(out)
}
