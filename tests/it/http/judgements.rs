//! `POST /api/contests/{id}/judgements`.

use reqwest::Method;
use serde_json::{Value, json};

use super::{CONTEST, bad_lines, events, judgements, problem, rows, verified};
use crate::common::server::{Home, TestServer, object, team};

async fn server_with_team(home: Home) -> TestServer {
    let server = TestServer::start(home).await;
    server.make_contest("c").await;
    server.post("c", &[team("t1")]).await;
    server
}

fn judgement(id: &str, team: &str, problem: &str, verdict: &str, time: &str) -> Value {
    json!({ "id": id, "team_id": team, "problem_id": problem, "judgement_type_id": verdict, "contest_time": time })
}

async fn the_answer_has_the_documented_shape(home: Home) {
    let server = server_with_team(home).await;
    let body = r#"{"id":"j7","submission_id":"s7","team_id":"t1","problem_id":"A","judgement_type_id":"AC","contest_time":"0:02:03.456"}"#;
    let before = events(&server, "", "").await.json()["sequence"]
        .as_u64()
        .unwrap();
    let answer = judgements(&server, body).await;
    // A submission and a judgement: two events, one object.
    let said = json!({ "accepted": 1, "repeated": 0, "kept_aside": 0, "errors": [], "sequence": before + 2 });
    assert_eq!((answer.status.as_u16(), answer.json()), (200, said));
    assert_eq!(rows(&server).await, [("t1".to_owned(), json!([1, 2, 2]))]);
    let again = judgements(&server, body).await.json();
    let said = json!({ "accepted": 0, "repeated": 1, "kept_aside": 0, "errors": [], "sequence": before + 2 });
    assert_eq!(again, said);
    verified(&server).await;
}

async fn an_array_tells_which_of_its_objects_are_bad(home: Home) {
    let server = server_with_team(home).await;
    let body = json!([
        judgement("j1", "t1", "A", "WA", "0:01:00"),
        { "submission_id": "s1" },
        judgement("j2", "t1", "A", "AC", "0:02:00"),
        7,
        judgement("j2", "t1", "A", "AC", "0:02:00"),
    ]);
    let said = judgements(&server, body.to_string()).await.json();
    assert_eq!(
        (&said["accepted"], &said["repeated"]),
        (&json!(2), &json!(1)),
        "{said}"
    );
    assert_eq!(bad_lines(&said), [2, 4]);
    assert_eq!(rows(&server).await[0].1, json!([1, 22, 2]));
    assert_eq!(judgements(&server, "[]").await.json()["accepted"], 0);
    let many = format!("[{}1]", "1,".repeat(10_000));
    assert!(problem(&judgements(&server, many).await, 422).contains("10000"));
}

async fn what_refers_to_nothing_is_kept_aside_until_it_comes(home: Home) {
    let server = server_with_team(home).await;
    let said = judgements(
        &server,
        judgement("j1", "t2", "A", "AC", "0:05:00").to_string(),
    )
    .await
    .json();
    assert_eq!(
        (&said["accepted"], &said["kept_aside"]),
        (&json!(1), &json!(1))
    );
    let said = judgements(
        &server,
        judgement("j2", "t1", "C", "AC", "0:06:00").to_string(),
    )
    .await
    .json();
    assert_eq!(
        (&said["accepted"], &said["kept_aside"]),
        (&json!(1), &json!(1))
    );
    let said = judgements(
        &server,
        r#"{"id":"j3","submission_id":"s3","judgement_type_id":"AC"}"#,
    )
    .await
    .json();
    assert_eq!(
        (&said["accepted"], &said["kept_aside"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(rows(&server).await, [("t1".to_owned(), json!([0, 0, 0]))]);
    let aside = verified(&server).await["aside"].clone();
    let reasons: Vec<&str> = aside
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["reason"].as_str().unwrap())
        .collect();
    assert_eq!(
        reasons,
        ["no submission s3", "no team t2", "no problem C"],
        "{aside}"
    );

    let s3 = r#"{"type":"submissions","id":"s3","data":{"id":"s3","team_id":"t1","problem_id":"B","contest_time":"0:07:00"}}"#;
    let said = server
        .post(
            "c",
            &[team("t2"), object("problems", "C", &[]), s3.to_owned()],
        )
        .await;
    assert_eq!(said["kept_aside"], 0, "{said}");
    assert_eq!(
        rows(&server).await,
        [
            ("t1".to_owned(), json!([2, 13, 7])),
            ("t2".to_owned(), json!([1, 5, 5]))
        ]
    );
    assert_eq!(verified(&server).await["aside"], json!([]));
}

async fn teams_make_themselves_where_that_is_asked_for(home: Home) {
    let server = server_with_team(home).await;
    server
        .ask(Method::PUT, CONTEST, r#"{"rankcast":{"auto_teams":true}}"#)
        .await;
    let said = judgements(
        &server,
        judgement("j1", "new", "A", "AC", "0:05:00").to_string(),
    )
    .await
    .json();
    assert_eq!(
        (&said["accepted"], &said["kept_aside"]),
        (&json!(1), &json!(0))
    );
    assert_eq!(rows(&server).await[0], ("new".to_owned(), json!([1, 5, 5])));
    verified(&server).await;
}

async fn fields_that_are_missing_or_wrong_are_named(home: Home) {
    let server = server_with_team(home).await;
    let good = judgement("j1", "t1", "A", "AC", "0:05:00");
    let with = |field: &str, value: Value| {
        let mut changed = good.clone();
        changed[field] = value;
        changed.to_string()
    };
    for (field, value, named) in [
        ("id", Value::Null, "`id`: is missing"),
        ("id", json!(7), "`id`"),
        ("id", json!("no id"), "id"),
        ("team_id", Value::Null, "`team_id`: is missing"),
        ("problem_id", Value::Null, "`problem_id`: is missing"),
        ("contest_time", Value::Null, "`contest_time`: is missing"),
        ("team_id", json!("a b"), "`team_id`"),
        ("problem_id", json!(["A"]), "`problem_id`"),
        ("submission_id", json!(7), "`submission_id`"),
        ("judgement_type_id", json!({}), "`judgement_type_id`"),
        ("current", json!("yes"), "`current`"),
        ("contest_time", json!(300), "`contest_time`"),
        ("contest_time", json!("0:5:00"), "`contest_time`"),
        ("contest_time", json!("0:60:00"), "`contest_time`"),
        ("contest_time", json!("99999999999:00:00"), "`contest_time`"),
        ("time", json!("noon"), "`time`"),
        ("score", json!("12"), "`score`"),
        ("score", json!(0.000_000_1), "`score`"),
        ("score", json!(1_000_000_001), "`score`"),
        ("end_time", json!("9999999-01-01T00:00:00Z"), "`end_time`"),
    ] {
        let detail = problem(&judgements(&server, with(field, value.clone())).await, 422);
        assert!(detail.contains(named), "{field} {value}: {detail}");
    }
    let huge = good
        .to_string()
        .replace("\"id\"", "\"score\":1e999999999,\"id\"");
    assert!(problem(&judgements(&server, huge).await, 422).contains("`score`"));
    for body in ["", "{", "nonsense", "{\"id\":NaN}"] {
        assert!(
            problem(&judgements(&server, body).await, 400).contains("not JSON"),
            "{body}"
        );
    }
    problem(&judgements(&server, vec![b'"', 0xff, b'"']).await, 400);
    problem(&judgements(&server, "[".repeat(10_000)).await, 400);
    problem(&judgements(&server, "\"j1\"").await, 422);
    assert_eq!(
        rows(&server).await,
        [("t1".to_owned(), json!([0, 0, 0]))],
        "nothing of them is applied"
    );
    verified(&server).await;
}

async fn a_verdict_alone_never_takes_its_submissions_time_away(home: Home) {
    let server = server_with_team(home).await;
    let mut first = judgement("j1", "t1", "A", "WA", "0:05:00");
    first["submission_id"] = "s1".into();
    judgements(&server, first.to_string()).await;
    let again = r#"{"id":"j2","submission_id":"s1","team_id":"t1","problem_id":"A","judgement_type_id":"AC"}"#;
    problem(&judgements(&server, again).await, 422);
    let rejudged = json!([
        { "id": "j1", "submission_id": "s1", "judgement_type_id": "WA", "current": false },
        { "id": "j2", "submission_id": "s1", "judgement_type_id": "AC" },
    ]);
    assert_eq!(
        judgements(&server, rejudged.to_string()).await.json()["accepted"],
        2
    );
    assert_eq!(rows(&server).await[0].1, json!([1, 5, 5]));
}

async fn contest_times_are_read_in_their_forms(home: Home) {
    let server = server_with_team(home).await;
    for (number, (time, counted)) in [
        ("0:10:00", Some(10)),
        ("00:11:00.5", Some(11)),
        ("0:12:59.999", Some(12)),
        ("0:00:00", Some(0)),
        ("-0:10:00", None),
        ("1:00:00", None),
        ("-0:00:00.001", None),
        ("9999999:00:00", None),
    ]
    .into_iter()
    .enumerate()
    {
        let id = format!("n{number}");
        server.post("c", &[team(&id)]).await;
        let said = server
            .judge("c", &format!("j{number}"), &id, "A", "AC", time)
            .await;
        assert_eq!(
            said["kept_aside"],
            u8::from(counted.is_none()),
            "{time}: {said}"
        );
        let rows = rows(&server).await;
        let (_, values) = rows.iter().find(|(row, _)| *row == id).unwrap();
        let expected = counted.map_or(json!([0, 0, 0]), |minute| json!([1, minute, minute]));
        assert_eq!(*values, expected, "{time}");
    }
    verified(&server).await;
}

async fn bodies_over_the_limit_are_refused_whole(home: Home) {
    let server = TestServer::start_with(home, &["--max-body", "1000"]).await;
    server.make_contest("c").await;
    server.post("c", &[team("t1")]).await;
    let padded = |body: &str, length: usize| format!("{body}{}", " ".repeat(length - body.len()));
    let good = judgement("j1", "t1", "A", "AC", "0:05:00").to_string();
    for (method, path, body) in [
        (Method::POST, format!("{CONTEST}/judgements"), good.clone()),
        (Method::POST, format!("{CONTEST}/events"), team("t2")),
        (
            Method::PUT,
            "/api/contests/other".to_owned(),
            "{}".to_owned(),
        ),
        (
            Method::POST,
            "/api/tickets".to_owned(),
            r#"{"contest":"c"}"#.to_owned(),
        ),
    ] {
        let answer = server.ask(method, &path, padded(&body, 1001)).await;
        assert!(problem(&answer, 413).contains("--max-body"), "{path}");
    }
    assert_eq!(rows(&server).await, [("t1".to_owned(), json!([0, 0, 0]))]);
    problem(&server.public("/api/contests/other").await, 404);
    assert_eq!(
        judgements(&server, padded(&good, 1000)).await.json()["accepted"],
        1
    );
}

both! {
    the_answer_has_the_documented_shape
    an_array_tells_which_of_its_objects_are_bad
    what_refers_to_nothing_is_kept_aside_until_it_comes
    teams_make_themselves_where_that_is_asked_for
    fields_that_are_missing_or_wrong_are_named
    a_verdict_alone_never_takes_its_submissions_time_away
    contest_times_are_read_in_their_forms
    bodies_over_the_limit_are_refused_whole
}
