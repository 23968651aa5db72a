//! Balloons: one for each problem that a team solved, and who brought it.

use serde::Serialize;
use serde_json::Value;

use super::clock;
use crate::board::Id;

/// A balloon, as a runner reads it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Balloon {
    /// Who gets it.
    #[serde(rename = "team_id")]
    pub team: Id,
    /// That team's name.
    pub team_name: String,
    /// What stands on its table.
    pub team_label: Option<String>,
    /// Where that is: `x`, `y` and `rotation`, as the feed says.
    pub location: Option<Value>,
    /// What was solved.
    #[serde(rename = "problem_id")]
    pub problem: Id,
    /// Its letter.
    pub label: String,
    /// The colour's name.
    pub color: Option<String>,
    /// The colour.
    pub rgb: Option<String>,
    /// When it was solved: contest time, in ms.
    #[serde(rename = "contest_time", with = "clock::relative")]
    pub time: i64,
    /// The first of the contest to solve it.
    pub first: bool,
    /// Has it been brought?
    pub delivered: bool,
    /// Who brought it.
    #[serde(rename = "delivered_by")]
    pub by: Option<String>,
}

/// Word of a runner: a balloon was brought, or is to be brought after all.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Delivery {
    pub id: Id,
    pub team: Id,
    pub problem: Id,
    pub delivered: bool,
    pub by: Option<String>,
}
