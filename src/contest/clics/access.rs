//! What an asker may read (Contest API, "Access"): the types, and the properties of each.

use serde_json::{Value, json};

use crate::contest::Side;

/// The types and properties that a view has, whether there are such objects now or not.
pub fn access(side: Side) -> Value {
    let endpoints = ENDPOINTS.iter().map(|(name, all, jury)| {
        let jury = jury.iter().filter(|_| side == Side::Jury);
        let properties: Vec<&str> = all.iter().chain(jury).copied().collect();
        json!({ "type": name, "properties": properties })
    });
    json!({ "capabilities": [], "endpoints": endpoints.collect::<Vec<_>>() })
}

type Endpoint = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

/// Each type with the properties that all see, and those for the jury.
const ENDPOINTS: [Endpoint; 12] = [
    (
        "contest",
        &[
            "id",
            "name",
            "formal_name",
            "start_time",
            "countdown_pause_time",
            "duration",
            "scoreboard_freeze_duration",
            "scoreboard_type",
            "penalty_time",
        ],
        &[],
    ),
    ("judgement-types", &["id", "name", "penalty", "solved"], &[]),
    (
        "languages",
        &[
            "id",
            "name",
            "entry_point_required",
            "entry_point_name",
            "extensions",
        ],
        &[],
    ),
    (
        "problems",
        &[
            "id",
            "uuid",
            "label",
            "name",
            "ordinal",
            "rgb",
            "color",
            "time_limit",
            "test_data_count",
            "max_score",
        ],
        &[],
    ),
    (
        "groups",
        &["id", "icpc_id", "name", "type", "location"],
        &[],
    ),
    (
        "organizations",
        &[
            "id",
            "icpc_id",
            "name",
            "formal_name",
            "country",
            "url",
            "twitter_hashtag",
            "twitter_account",
            "location",
        ],
        &[],
    ),
    (
        "teams",
        &[
            "id",
            "icpc_id",
            "name",
            "label",
            "display_name",
            "organization_id",
            "group_ids",
            "location",
        ],
        &["hidden"],
    ),
    (
        "state",
        &[
            "started",
            "frozen",
            "ended",
            "thawed",
            "finalized",
            "end_of_updates",
        ],
        &[],
    ),
    (
        "submissions",
        &[
            "id",
            "language_id",
            "problem_id",
            "team_id",
            "time",
            "contest_time",
        ],
        &["entry_point"],
    ),
    (
        "judgements",
        &[
            "id",
            "submission_id",
            "judgement_type_id",
            "score",
            "start_time",
            "start_contest_time",
            "end_time",
            "end_contest_time",
            "max_run_time",
        ],
        &[],
    ),
    ("awards", &["id", "citation", "team_ids"], &[]),
    (
        "scoreboard",
        &["time", "contest_time", "state", "rows"],
        &[],
    ),
];
