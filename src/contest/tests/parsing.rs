//! Events in: every form that is read, and what an error says of one that is not.

use serde_json::{Value, json};

use crate::contest::{
    Event, Kind, Notification,
    event::{Object, PENALTY_DEFAULT_MS},
    is_id,
};

fn parse(line: &Value) -> Result<Event, String> {
    let notification = Notification::from_value(line.clone()).map_err(|error| error.to_string())?;
    notification.event().map_err(|error| error.to_string())
}

fn refused(line: &Value) -> String {
    parse(line).expect_err("it should be refused")
}

#[allow(clippy::needless_pass_by_value)] // objects are written in place
fn object(kind: &str, data: Value) -> Object {
    match parse(&json!({"type": kind, "data": data})) {
        Ok(Event::Put(object)) => object,
        other => panic!("expected an object, got {other:?}"),
    }
}

#[test]
fn empty_lines_are_heartbeats() {
    for line in ["", " ", "\n", "\r\n"] {
        assert_eq!(Notification::parse(line.as_bytes()), Ok(None));
    }
}

#[test]
fn malformed_lines_say_what_is_wrong() {
    for (line, expected) in [
        (&b"{"[..], "line: not JSON"),
        (b"{\"type\":\"teams\"} {}", "line: not JSON"),
        (b"nonsense", "line: not JSON"),
        (b"{\"type\":\"\xff\"}", "line: not UTF-8 from byte 9"),
        (b"[]", "line: expected an object"),
        (b"{}", "type: expected a CLICS type, got nothing"),
        (
            b"{\"type\":5,\"data\":{}}",
            "type: expected a CLICS type, got 5",
        ),
        (b"{\"type\":\"teams\",\"id\":\"t1\"}", "data: is missing"),
        (
            b"{\"type\":\"teams\",\"data\":{},\"token\":7}",
            "token: expected at most 256 bytes, got 7",
        ),
    ] {
        let error = Notification::parse(line).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn deep_nesting_is_refused_and_not_a_crash() {
    let line = format!(
        r#"{{"type":"teams","data":{}{}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    assert!(
        Notification::parse(line.as_bytes())
            .unwrap_err()
            .to_string()
            .contains("recursion limit")
    );
}

#[test]
fn a_wrong_type_names_the_object_the_field_and_what_was_expected() {
    for (kind, data, expected) in [
        (
            "teams",
            json!({"id": "t1", "name": 5}),
            "teams t1: field `name`: expected a text of at most 20000 bytes, got 5",
        ),
        (
            "teams",
            json!({"id": "t1", "group_ids": "g"}),
            "teams t1: field `group_ids`: expected an array of at most 100 ids, got \"g\"",
        ),
        (
            "teams",
            json!({"id": "t1", "group_ids": [5]}),
            "teams t1: field `group_ids`: expected an array of at most 100 ids, got an array of 1",
        ),
        (
            "teams",
            json!({"id": "t1", "hidden": "no"}),
            "teams t1: field `hidden`: expected true or false, got \"no\"",
        ),
        (
            "submissions",
            json!({"id": "s1", "contest_time": 5}),
            "submissions s1: field `contest_time`: expected a relative time such as 1:02:03.456, got 5",
        ),
        (
            "submissions",
            json!({"id": "s1", "time": "soon"}),
            "submissions s1: field `time`: expected a time such as 2026-11-30T09:00:00.000Z, got \"soon\"",
        ),
        (
            "judgements",
            json!({"id": "j1"}),
            "judgements j1: field `submission_id`: expected the id of a submission, got null",
        ),
        (
            "judgements",
            json!({"id": "j1", "submission_id": "s1", "score": "9"}),
            "judgements j1: field `score`: expected a number within ±1000000000 with at most 6 decimals, got \"9\"",
        ),
        (
            "problems",
            json!({"id": "A", "ordinal": 1.5}),
            "problems A: field `ordinal`: expected an integer, got 1.5",
        ),
        (
            "contest",
            json!({"scoreboard_type": "golf"}),
            "contest: field `scoreboard_type`: expected pass-fail or score, got \"golf\"",
        ),
        (
            "contest",
            json!({"duration": "-1:00:00"}),
            "contest: field `duration`: expected a relative time of at least 0, such as 5:00:00.000, got \"-1:00:00\"",
        ),
        (
            "rankcast",
            json!({"rank_by": 9}),
            "rankcast: rank_by: expected 1, 2 or 3, got 9",
        ),
        (
            "rankcast-adjustments",
            json!({"id": "a", "team_id": "t1"}),
            "rankcast-adjustments a: field `penalty`: expected minutes or a relative time, got null",
        ),
    ] {
        assert_eq!(refused(&json!({"type": kind, "data": data})), expected);
    }
    assert_eq!(
        refused(&json!({"type": "teams", "id": "t1", "data": 5})),
        "teams data: expected an object, got 5"
    );
}

#[test]
fn wrong_settings_name_the_field() {
    for (data, expected) in [
        (json!({"auto_teams": 5}), "rankcast: field `auto_teams`: "),
        (
            json!({"penalty_rounding": "up"}),
            "rankcast: field `penalty_rounding`: ",
        ),
        (json!({"colour": "red"}), "rankcast: field `colour`: "),
    ] {
        let error = refused(&json!({"type": "rankcast", "data": data}));
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn ids_are_clics_identifiers() {
    for id in [
        "a",
        "A-1.b_c",
        "0",
        &"x".repeat(36),
        "_",
        "a-",
        "_."[..1].as_ref(),
    ] {
        assert!(is_id(id), "{id}");
    }
    for id in [
        "",
        "-a",
        ".a",
        "a.",
        "a b",
        "é",
        "a/b",
        "a\n",
        &"x".repeat(37),
    ] {
        assert!(!is_id(id), "{id}");
        let error = refused(&json!({"type": "teams", "id": id, "data": {}}));
        assert!(
            error.starts_with("teams id: expected an id: 1 to 36 of"),
            "{error}"
        );
    }
    let error = refused(&json!({"type": "teams", "id": null, "data": {"name": "x"}}));
    assert_eq!(error, "teams id: is missing");
    let error = refused(&json!({"type": "teams", "id": "t1", "data": {"id": "t2"}}));
    assert_eq!(error, "teams t1: `id` and `data.id` (t2) are not the same");
}

#[test]
fn an_id_that_is_no_text_is_refused_and_never_taken_for_a_collection() {
    for line in [
        json!({"type": "teams", "id": 5, "data": []}),
        json!({"type": "teams", "id": 5, "data": {"id": "t1"}}),
        json!({"type": "teams", "id": 5, "data": null}),
        json!({"type": "teams", "id": null, "data": {"id": 5}}),
        json!({"type": "teams", "id": null, "data": [{"id": 5}]}),
    ] {
        let error = refused(&line);
        assert!(error.contains("id") && error.contains("got 5"), "{error}");
    }
}

#[test]
fn the_older_format_has_an_op_and_the_id_in_the_data() {
    let event = parse(
        &json!({"type": "teams", "id": "pc2-9", "op": "create", "data": {"id": "t1", "name": "x"}}),
    );
    assert!(matches!(event, Ok(Event::Put(Object::Team(team))) if &*team.id == "t1"));
    let event =
        parse(&json!({"type": "teams", "id": "pc2-9", "op": "delete", "data": {"id": "t1"}}));
    assert_eq!(event, Ok(Event::Delete(Kind::Teams, "t1".into())));
    // Its event ids are nobody's business, whatever they are.
    assert!(
        parse(&json!({"type": "teams", "id": 9, "op": "update", "data": {"id": "t1"}})).is_ok()
    );
    assert_eq!(
        refused(&json!({"type": "teams", "id": "9", "op": "upsert", "data": {}})),
        "op: expected create, update or delete, got \"upsert\""
    );
    assert_eq!(
        refused(&json!({"type": "teams", "id": "9", "op": 5, "data": {}})),
        "op: expected create, update or delete, got 5"
    );
    assert_eq!(
        refused(&json!({"type": "teams", "id": "9", "op": "delete", "data": {}})),
        "teams id: a deletion needs the object's id"
    );
}

#[test]
fn contests_is_an_older_name_of_contest() {
    for kind in ["contest", "contests"] {
        let notification =
            Notification::from_value(json!({"type": kind, "id": "x", "data": {"id": "x"}}))
                .unwrap();
        assert_eq!((&*notification.kind, &notification.id), ("contest", &None));
        assert!(matches!(
            notification.event(),
            Ok(Event::Put(Object::Contest(_)))
        ));
    }
}

#[test]
fn a_collection_is_replaced_whole_and_null_deletes() {
    let event = parse(&json!({"type": "problems", "id": null, "data": [{"id": "A"}, {"id": "B"}]}))
        .unwrap();
    assert!(matches!(event, Event::Replace(Kind::Problems, all) if all.len() == 2));
    assert_eq!(
        parse(&json!({"type": "problems", "data": []})),
        Ok(Event::Replace(Kind::Problems, Vec::new()))
    );
    assert_eq!(
        parse(&json!({"type": "teams", "id": "t1", "data": null})),
        Ok(Event::Delete(Kind::Teams, "t1".into()))
    );
    assert!(refused(&json!({"type": "contest", "data": null})).contains("cannot be null"));
    assert!(
        refused(&json!({"type": "contest", "data": []}))
            .contains("expected an object, got an array of 0")
    );
    assert!(
        refused(&json!({"type": "teams", "id": "t1", "data": []})).contains("expected an object")
    );
    // One that is wrong spoils the collection: half of it would delete the rest.
    assert!(
        parse(&json!({"type": "problems", "id": null, "data": [{"id": "A"}, {"id": ""}]})).is_err()
    );
}

#[test]
fn numbers_out_of_range_are_refused() {
    for (kind, data) in [
        ("contest", r#"{"penalty_time": 600001}"#),
        ("contest", r#"{"penalty_time": -1}"#),
        ("contest", r#"{"penalty_time": "-0:20:00"}"#),
        ("contest", r#"{"penalty_time": 1e3}"#),
        ("contest", r#"{"duration": "10000:00:00.001"}"#),
        ("groups", r#"{"id": "g", "sortorder": 9223372036854775808}"#),
        ("problems", r#"{"id": "A", "ordinal": 1e400}"#),
        (
            "judgements",
            r#"{"id": "j", "submission_id": "s", "score": 1000000000.1}"#,
        ),
        (
            "judgements",
            r#"{"id": "j", "submission_id": "s", "score": 0.0000001}"#,
        ),
        (
            "judgements",
            r#"{"id": "j", "submission_id": "s", "score": 1e400}"#,
        ),
        (
            "rankcast-adjustments",
            r#"{"id": "a", "team_id": "t", "penalty": 9223372036854775807}"#,
        ),
        (
            "submissions",
            r#"{"id": "s", "contest_time": "99999999:00:00"}"#,
        ),
    ] {
        let line = format!(r#"{{"type":"{kind}","data":{data}}}"#);
        let notification = Notification::parse(line.as_bytes()).unwrap().unwrap();
        assert!(notification.event().is_err(), "{line}");
    }
}

#[test]
fn fields_left_out_have_their_defaults() {
    let Object::Contest(info) = object("contest", json!({"id": "x"})) else {
        panic!()
    };
    assert_eq!(
        (info.penalty, info.points, info.duration, &*info.name),
        (PENALTY_DEFAULT_MS, false, None, "x")
    );
    let Object::Team(team) = object(
        "teams",
        json!({"id": "t1", "name": "n", "display_name": "d", "more": 1}),
    ) else {
        panic!()
    };
    assert_eq!((&*team.name, team.hidden), ("d", false));
    let Object::Problem(problem) = object("problems", json!({"id": "A"})) else {
        panic!()
    };
    assert_eq!((&*problem.label, &*problem.name), ("A", "A"));
    let Object::Judgement(judgement) =
        object("judgements", json!({"id": "j", "submission_id": "s"}))
    else {
        panic!()
    };
    assert!(judgement.current && judgement.verdict.is_none());
}

#[test]
fn a_simplified_verdict_counts_where_the_other_is_missing() {
    let Object::Judgement(judgement) = object(
        "judgements",
        json!({"id": "j", "submission_id": "s", "simplified_judgement_type_id": "WA"}),
    ) else {
        panic!()
    };
    assert_eq!(judgement.verdict.as_deref(), Some("WA"));
}

#[test]
fn unknown_types_pass_and_score_nothing() {
    for data in [json!({"id": "c"}), json!(null), json!(5), json!([])] {
        assert_eq!(
            parse(&json!({"type": "clarifications", "id": "c", "data": data})),
            Ok(Event::Other)
        );
    }
}
