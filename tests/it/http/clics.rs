//! The shapes of the CLICS Contest API, 2023-06, "Scoreboard" and "Contest state".

use reqwest::Method;
use serde_json::{Value, json};

use super::{CONTEST, judgements};
use crate::common::server::{Home, TestServer, object};

fn problem(id: &str, judged: u32, pending: u32, more: &Value) -> Value {
    let mut cell = json!({ "problem_id": id, "num_judged": judged, "num_pending": pending });
    for (field, value) in more.as_object().expect("an object") {
        cell[field] = value.clone();
    }
    cell
}

async fn the_scoreboard_of_an_icpc_contest_has_the_form_of_clics(home: Home) {
    let server = TestServer::start(home).await;
    server.make_contest("c").await;
    let contest = r#"{"name":"Test","start_time":"2026-01-01T00:00:00Z","duration":"1:00:00","scoreboard_freeze_duration":"0:10:00"}"#;
    server.ask(Method::PUT, CONTEST, contest).await;
    let member = |id: &str, name: &str, group: &str| {
        json!({ "type": "teams", "id": id, "data": { "id": id, "name": name, "group_ids": [group] } }).to_string()
    };
    server
        .post(
            "c",
            &[
                object("groups", "unofficial", &[]),
                object("groups", "g", &[]),
                member("t1", "Zebra", "g"),
                member("t2", "apple", "g"),
                member("t3", "Émile", "g"),
                member("t4", "Emma", "g"),
                member("t5", "Guests", "unofficial"),
                member("t6", "Lucky", "g"),
                json!({ "type": "rankcast-adjustments", "id": "a1", "data": { "id": "a1", "team_id": "t6", "penalty": -20 } })
                    .to_string(),
            ],
        )
        .await;
    server.judge("c", "j1", "t1", "A", "AC", "0:10:00").await;
    server.judge("c", "j2", "t2", "A", "AC", "0:10:30").await;
    server.judge("c", "j3", "t5", "A", "AC", "0:06:00").await;
    server.judge("c", "j4", "t6", "A", "AC", "0:05:00").await;
    server.judge("c", "j5", "t3", "B", "WA", "0:20:00").await;
    // Frozen from 0:50.
    server.judge("c", "j6", "t3", "B", "AC", "0:55:00").await;
    let board = server.public(&format!("{CONTEST}/scoreboard")).await.json();
    let open = |id: &str| problem(id, 0, 0, &json!({ "solved": false }));
    let solved = |time: u32| problem("A", 1, 0, &json!({ "solved": true, "time": time }));
    let row = |rank: u32, team: &str, score: [i64; 3], problems: [Value; 2]| {
        let [solved, total, time] = score;
        let mut score = json!({ "num_solved": solved, "total_time": total });
        if solved > 0 {
            score["time"] = time.into();
        }
        json!({ "rank": rank, "team_id": team, "score": score, "problems": problems })
    };
    let frozen = problem("B", 1, 1, &json!({ "solved": false }));
    let expected = json!([
        // A penalty below 0, which the form forbids, is written as 0.
        row(1, "t6", [1, 0, 5], [solved(5), open("B")]),
        row(2, "t2", [1, 10, 10], [solved(10), open("B")]),
        row(2, "t1", [1, 10, 10], [solved(10), open("B")]),
        row(4, "t3", [0, 0, 0], [open("A"), frozen]),
        row(4, "t4", [0, 0, 0], [open("A"), open("B")]),
    ]);
    assert_eq!(
        board["rows"], expected,
        "ties stand in the order of their names; guests have no row"
    );
    assert_eq!(board["state"]["started"], "2026-01-01T00:00:00.000Z");
    for field in ["time", "contest_time"] {
        assert!(board[field].is_string(), "{field}: {board}");
    }
    let mut fields: Vec<&String> = board.as_object().unwrap().keys().collect();
    fields.sort();
    assert_eq!(fields, ["contest_time", "rows", "state", "time"]);
    // The jury sees through the freeze.
    let jury = server
        .ask(Method::GET, &format!("{CONTEST}/scoreboard?view=jury"), "")
        .await
        .json();
    let row = jury["rows"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["team_id"] == "t3")
        .unwrap();
    assert_eq!(
        row["problems"][1],
        problem("B", 2, 0, &json!({ "solved": true, "time": 55 }))
    );
    assert_eq!(
        row["score"],
        json!({ "num_solved": 1, "total_time": 75, "time": 55 })
    );
}

async fn the_scoreboard_of_a_contest_of_points_has_exact_scores(home: Home) {
    let server = TestServer::start(home).await;
    server.make_contest("c").await;
    server
        .ask(
            Method::PUT,
            CONTEST,
            r#"{"name":"Points","duration":"1:00:00","scoreboard_type":"score"}"#,
        )
        .await;
    server
        .post(
            "c",
            &[object("teams", "t1", &[]), object("teams", "t2", &[])],
        )
        .await;
    let judgement = |id: &str, problem: &str, score: &str| {
        format!(
            r#"{{"id":"{id}","team_id":"t1","problem_id":"{problem}","judgement_type_id":"AC","contest_time":"0:10:00","score":{score}}}"#
        )
    };
    let body = [
        judgement("j1", "A", "33.1"),
        judgement("j2", "A", "0.30"),
        judgement("j3", "B", "0.2"),
    ]
    .join(",");
    assert_eq!(
        judgements(&server, format!("[{body}]")).await.json()["accepted"],
        3
    );
    let board = server.public(&format!("{CONTEST}/scoreboard")).await.json();
    assert_eq!(
        board["rows"],
        serde_json::from_str::<Value>(
            r#"[
                {"rank":1,"team_id":"t1","score":{"score":33.3,"time":10},"problems":[
                    {"problem_id":"A","num_judged":2,"num_pending":0,"score":33.1,"time":10},
                    {"problem_id":"B","num_judged":1,"num_pending":0,"score":0.2,"time":10}]},
                {"rank":2,"team_id":"t2","score":{"score":0},"problems":[
                    {"problem_id":"A","num_judged":0,"num_pending":0,"score":0},
                    {"problem_id":"B","num_judged":0,"num_pending":0,"score":0}]}]"#
        )
        .unwrap()
    );
}

async fn the_public_is_not_told_of_a_thaw_that_our_jury_has_not_made(home: Home) {
    let server = TestServer::start(home).await;
    server.make_contest("c").await;
    let contest = r#"{"name":"Test","start_time":"2026-01-01T00:00:00Z","duration":"1:00:00","scoreboard_freeze_duration":"0:10:00"}"#;
    server.ask(Method::PUT, CONTEST, contest).await;
    server.post("c", &[object("teams", "t1", &[])]).await;
    server.judge("c", "j1", "t1", "A", "AC", "0:55:00").await;
    let times = json!({
        "started": "2026-01-01T00:00:00Z", "frozen": "2026-01-01T00:50:00Z", "ended": "2026-01-01T01:00:00Z",
        "thawed": "2026-01-01T02:00:00Z", "finalized": "2026-01-01T02:00:00Z",
    });
    let line = json!({ "type": "state", "id": null, "data": times }).to_string();
    server.post("c", &[line]).await;
    let path = format!("{CONTEST}/state");
    let public = server.public(&path).await.json();
    assert_eq!(
        (&public["ended"], &public["thawed"]),
        (&json!("2026-01-01T01:00:00.000Z"), &Value::Null),
        "{public}"
    );
    let jury = server.ask(Method::GET, &path, "").await.json();
    assert_eq!(jury["thawed"], "2026-01-01T02:00:00.000Z", "{jury}");
    let cell = async || {
        server.public(&format!("{CONTEST}/scoreboard")).await.json()["rows"][0]["problems"][0]
            .clone()
    };
    assert_eq!(cell().await["num_pending"], 1);
    let thaw = r#"{"type":"rankcast-thaw","id":null,"data":{"thawed":"2026-01-01T03:00:00Z"}}"#;
    server.post("c", &[thaw.to_owned()]).await;
    assert!(server.public(&path).await.json()["thawed"].is_string());
    assert_eq!(cell().await["solved"], true);
}

both! {
    the_scoreboard_of_an_icpc_contest_has_the_form_of_clics
    the_scoreboard_of_a_contest_of_points_has_exact_scores
    the_public_is_not_told_of_a_thaw_that_our_jury_has_not_made
}
