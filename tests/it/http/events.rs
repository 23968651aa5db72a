//! `POST /api/contests/{id}/events`: lines good and bad.

use reqwest::Method;
use serde_json::{Value, json};

use super::{CONTEST, bad_lines, events, problem, rows, verified};
use crate::common::server::{Home, TestServer, object, team};

async fn server_with_contest(home: Home) -> TestServer {
    let server = TestServer::start(home).await;
    server.make_contest("c").await;
    server
}

async fn ids(server: &TestServer) -> Vec<String> {
    rows(server).await.into_iter().map(|(id, _)| id).collect()
}

async fn name_of(server: &TestServer, id: &str) -> Value {
    let board = server.board("c", "public", "all").await;
    let rows = board["rows"].as_array().expect("rows");
    rows.iter()
        .find(|row| row["id"] == id)
        .map_or(Value::Null, |row| row["name"].clone())
}

async fn good_lines_around_bad_ones_are_applied_and_the_bad_ones_told(home: Home) {
    let server = server_with_contest(home).await;
    let deep = format!(r#"{{"type":"teams","id":"t","data":{}"#, "[".repeat(10_000));
    let [t1, t2, t3, t4] = ["t1", "t2", "t3", "t4"].map(team);
    let lines: [&[u8]; 14] = [
        t1.as_bytes(),
        b"{broken",
        t2.as_bytes(),
        b"{\"type\":\"teams\",\"id\":\"u\",\"data\":{\"id\":\"u\",\"name\":\"\xff\xfe\"}}",
        deep.as_bytes(),
        b"",
        &[t3.as_bytes(), b"\r"].concat(),
        b"  \t",
        br#"{"type":"teams","id":"t"}"#,
        b"[]",
        br#"{"type":"teams","id":"../x","data":{"id":"../x"}}"#,
        br#"{"type":"teams","id":"a","data":{"id":"b"}}"#,
        br#"{"type":7,"id":"a","data":{}}"#,
        t4.as_bytes(),
    ];
    let answer = events(&server, "", lines.join(&b'\n')).await;
    let said = answer.json();
    assert_eq!(
        (answer.status.as_u16(), &said["accepted"]),
        (200, &json!(4)),
        "{said}"
    );
    assert_eq!(bad_lines(&said), [2, 4, 5, 9, 10, 11, 12, 13]);
    for (error, reason) in said["errors"].as_array().unwrap().iter().zip([
        "not JSON",
        "UTF-8",
        "recursion",
        "`data`|data",
        "object",
        "id",
        "not the same",
        "type",
    ]) {
        let said = error["error"].as_str().unwrap();
        assert!(
            reason.split('|').any(|reason| said.contains(reason)),
            "{error} for {reason}"
        );
    }
    assert_eq!(ids(&server).await, ["t1", "t2", "t3", "t4"]);
    verified(&server).await;
}

async fn what_would_be_too_deep_to_read_again_is_never_taken(home: Home) {
    let server = server_with_contest(home).await;
    let nested =
        |levels: usize, core: &str| format!("{}{core}{}", "[".repeat(levels), "]".repeat(levels));
    // A text that the parser takes for raw JSON passes its limit of depth.
    let raw = json!({ "$serde_json::private::RawValue": nested(90, "") }).to_string();
    let line =
        |data: &str| format!(r#"{{"type":"teams","id":"t","data":{{"id":"t","x":{data}}}}}"#);
    for deep in [nested(110, "1"), nested(90, &raw)] {
        let answer = events(&server, "", line(&deep)).await;
        let detail = problem(&answer, 422);
        assert!(detail.contains("levels"), "{detail}");
    }
    assert_eq!(
        events(&server, "", line(&nested(90, "1"))).await.json()["accepted"],
        1
    );
    assert_eq!(ids(&server).await, ["t"]);
    verified(&server).await;
}

async fn a_hundred_bad_lines_are_listed_and_all_are_counted(home: Home) {
    let server = server_with_contest(home).await;
    let bad = "rubbish\n".repeat(150);
    let said = events(&server, "", format!("{bad}{}", team("t1")))
        .await
        .json();
    assert_eq!(
        (&said["accepted"], &said["errors_total"]),
        (&json!(1), &json!(150))
    );
    assert_eq!(bad_lines(&said), (1..=100).collect::<Vec<_>>());
    let sequence = said["sequence"].clone();
    // Where all are bad, it is an error; the lines are told all the same.
    let answer = events(&server, "", bad).await;
    assert!(problem(&answer, 422).contains("150"));
    let said = answer.json();
    assert_eq!(
        (
            said["errors"].as_array().map(Vec::len),
            &said["errors_total"]
        ),
        (Some(100), &json!(150))
    );
    let one = events(&server, "", "rubbish").await;
    assert!(problem(&one, 422).contains("not JSON"));
    assert_eq!(bad_lines(&one.json()), [1]);
    let nothing = events(&server, "", "\n\r\n\n").await.json();
    assert_eq!(
        nothing,
        json!({ "accepted": 0, "repeated": 0, "kept_aside": 0, "errors": [], "sequence": sequence }),
        "heartbeats are no events, and nothing bad was written"
    );
}

async fn a_whole_collection_takes_the_place_of_what_was(home: Home) {
    let server = server_with_contest(home).await;
    let all = |ids: &[&str]| {
        let teams: Vec<Value> = ids
            .iter()
            .map(|id| json!({ "id": id, "name": id }))
            .collect();
        json!({ "type": "teams", "id": null, "data": teams }).to_string()
    };
    events(&server, "", all(&["t1", "t2"])).await;
    assert_eq!(ids(&server).await, ["t1", "t2"]);
    events(&server, "", all(&["t2", "t3"])).await;
    assert_eq!(ids(&server).await, ["t2", "t3"]);
    // One bad object, and nothing is replaced.
    problem(&events(&server, "", all(&["t4", "-"])).await, 422);
    assert_eq!(ids(&server).await, ["t2", "t3"]);
    let delete = r#"{"type":"teams","id":"t2","data":null}"#;
    assert_eq!(events(&server, "", delete).await.json()["accepted"], 1);
    assert_eq!(ids(&server).await, ["t3"]);
    events(&server, "", all(&[])).await;
    assert_eq!(ids(&server).await, [""; 0]);
    verified(&server).await;
}

async fn the_older_form_names_objects_in_their_data(home: Home) {
    let server = server_with_contest(home).await;
    let lines = [
        r#"{"type":"teams","op":"create","id":"e1","data":{"id":"t1","name":"One"}}"#,
        r#"{"type":"teams","op":"create","id":"e2","data":{"id":"t2","name":"Two"}}"#,
        r#"{"type":"teams","op":"update","id":"e3","data":{"id":"t1","name":"Uno"}}"#,
        r#"{"type":"teams","op":"delete","id":"e4","data":{"id":"t2"}}"#,
    ];
    server.post("c", &lines.map(str::to_owned)).await;
    assert_eq!(
        (ids(&server).await, name_of(&server, "t1").await),
        (vec!["t1".to_owned()], json!("Uno"))
    );
    for op in [r#""upsert""#, "1", "{}"] {
        let line = format!(r#"{{"type":"teams","op":{op},"id":"e5","data":{{"id":"t1"}}}}"#);
        let detail = problem(&events(&server, "", line).await, 422);
        assert!(
            detail.contains("op: expected create, update or delete"),
            "{detail}"
        );
    }
}

async fn repeats_are_counted_and_change_nothing(home: Home) {
    let server = server_with_contest(home).await;
    let said = events(&server, "", [team("t1"), team("t1"), team("t2")].join("\n"))
        .await
        .json();
    assert_eq!(
        (&said["accepted"], &said["repeated"]),
        (&json!(2), &json!(1))
    );
    let again = events(&server, "", [team("t1"), team("t2")].join("\n"))
        .await
        .json();
    assert_eq!(
        (&again["accepted"], &again["repeated"], &again["sequence"]),
        (&json!(0), &json!(2), &said["sequence"])
    );
    // The order of fields and the space between them make no difference.
    let other = r#" { "data" : {"name":"Team t1" , "id":"t1"}, "type":"teams" } "#;
    assert_eq!(events(&server, "", other).await.json()["repeated"], 1);
}

async fn a_token_counts_once_for_each_source(home: Home) {
    let server = server_with_contest(home).await;
    let line = |token: &str, name: &str| {
        json!({ "type": "teams", "id": "t1", "token": token, "data": { "id": "t1", "name": name } })
            .to_string()
    };
    let (first, second) = (line("1", "Old"), line("2", "New"));
    assert_eq!(
        events(&server, "?source=a", [&*first, &second].join("\n"))
            .await
            .json()["accepted"],
        2
    );
    // The feed again from its start: the old name does not come back.
    let again = events(&server, "?source=a", [&*first, &second].join("\n"))
        .await
        .json();
    assert_eq!(
        (&again["accepted"], &again["repeated"]),
        (&json!(0), &json!(2))
    );
    assert_eq!(name_of(&server, "t1").await, "New");
    // Another source's tokens are others.
    assert_eq!(
        events(&server, "?source=b", first).await.json()["accepted"],
        1
    );
    assert_eq!(name_of(&server, "t1").await, "Old");
    problem(
        &events(&server, &format!("?source={}", "x".repeat(257)), "").await,
        400,
    );
    assert!(
        problem(&events(&server, "?source=rankcast-clock", "").await, 400)
            .contains("rankcast-clock")
    );
    problem(&events(&server, "?source=a&source=b", "").await, 400);
}

async fn types_without_a_meaning_pass(home: Home) {
    let server = server_with_contest(home).await;
    let lines = [
        r#"{"type":"clarifications","id":"q1","data":{"id":"q1","text":"?"}}"#,
        r#"{"type":"start-status","id":17,"data":{"id":17}}"#,
        r#"{"type":"map-info","data":"anything"}"#,
        r#"{"type":"awards","id":null,"data":[]}"#,
    ];
    let said = server.post("c", &lines.map(str::to_owned)).await;
    assert_eq!(said["accepted"], 4, "{said}");
    let long = object("clarifications", &"x".repeat(257), &[]);
    assert!(problem(&events(&server, "", long).await, 422).contains("256"));
    problem(
        &events(
            &server,
            "",
            format!(r#"{{"type":"{}","data":1}}"#, "x".repeat(65)),
        )
        .await,
        422,
    );
    verified(&server).await;
}

async fn a_contest_line_may_carry_settings(home: Home) {
    let server = server_with_contest(home).await;
    let line = |rounding: &str| {
        let contest = json!({ "name": rounding, "rankcast": { "penalty_rounding": rounding } });
        json!({ "type": "contest", "id": "c", "data": contest }).to_string()
    };
    assert_eq!(
        events(&server, "", line("seconds")).await.json()["accepted"],
        1
    );
    let detail = problem(&events(&server, "", line("hours")).await, 422);
    assert!(detail.contains("penalty_rounding"), "{detail}");
    let now = server.ask(Method::PUT, CONTEST, "").await.json();
    assert_eq!(
        (&now["name"], &now["rankcast"]["penalty_rounding"]),
        (&json!("seconds"), &json!("seconds")),
        "nothing of the bad line is taken"
    );
}

both! {
    good_lines_around_bad_ones_are_applied_and_the_bad_ones_told
    what_would_be_too_deep_to_read_again_is_never_taken
    a_hundred_bad_lines_are_listed_and_all_are_counted
    a_whole_collection_takes_the_place_of_what_was
    the_older_form_names_objects_in_their_data
    repeats_are_counted_and_change_nothing
    a_token_counts_once_for_each_source
    types_without_a_meaning_pass
    a_contest_line_may_carry_settings
}
