//! Random lines of a feed, most of them wrong.

use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Map, Value, json};

fn anything() -> impl Strategy<Value = Value> {
    let texts = vec![
        "",
        "t1",
        "s1",
        "j1",
        "A",
        "AC",
        "JE",
        "-1",
        "0:10:00",
        "-9999:59:59.999",
        "9999999:00:00",
        "4:30:00",
        "2026-01-01T00:00:00Z",
        "-009999-01-01T00:00:00Z",
        "9999-12-30T00:00:00Z",
        "score",
        "ioi",
        "a b",
        "é",
        "seconds",
    ];
    let numbers = vec![
        "0",
        "-1",
        "1e9",
        "-1e9",
        "0.000001",
        "9223372036854775807",
        "-9223372036854775808",
        "1e400",
        "0.1",
        "20",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        select(texts).prop_map(Value::from),
        select(numbers).prop_map(|text| serde_json::from_str(text).unwrap()),
    ];
    leaf.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            inner.prop_map(|value| json!({"id": "t1", "x": value}))
        ]
    })
}

pub(super) fn any_line() -> impl Strategy<Value = Value> {
    let kinds = vec![
        "contest",
        "state",
        "judgement-types",
        "groups",
        "organizations",
        "teams",
        "problems",
        "submissions",
        "judgements",
        "rankcast",
        "rankcast-adjustments",
        "rankcast-thaw",
        "awards",
    ];
    let fields = vec![
        "name",
        "start_time",
        "duration",
        "scoreboard_freeze_duration",
        "penalty_time",
        "scoreboard_type",
        "started",
        "thawed",
        "penalty",
        "solved",
        "hidden",
        "sortorder",
        "organization_id",
        "group_ids",
        "label",
        "ordinal",
        "team_id",
        "problem_id",
        "contest_time",
        "time",
        "submission_id",
        "judgement_type_id",
        "current",
        "score",
        "end_time",
        "scoring",
        "auto_teams",
        "rank_by",
        "penalty_rounding",
    ];
    let data = prop::collection::btree_map(select(fields), anything(), 0..5).prop_map(|fields| {
        fields
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect::<Map<_, _>>()
    });
    (
        select(kinds),
        select(vec!["t1", "s1", "j1", "A", "AC"]),
        data,
        0..8_u8,
        anything(),
    )
        .prop_map(|(kind, id, mut data, form, other)| match form {
            0 => json!({"type": kind, "id": id, "data": null}),
            1 => json!({"type": kind, "id": null, "data": [data]}),
            2 => json!({"type": kind, "id": other, "data": data}),
            3 => json!({"type": kind, "id": id, "data": other}),
            _ => {
                data.entry("team_id").or_insert_with(|| "t1".into());
                data.entry("submission_id").or_insert_with(|| "s1".into());
                json!({"type": kind, "id": id, "data": data})
            }
        })
}
