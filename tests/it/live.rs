//! Live connections over real sockets: every viewer ends with exactly the board that is served.

use std::time::Duration;

use futures_util::StreamExt as _;
use rankcast::protocol::message::SnapshotIn;
use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{
    PATIENCE, eventually, eventually_within,
    server::{Answer, Home, KEY, TestServer, data, http, object, team},
    viewer::{Habits, Viewer},
};

const CONTEST: &str = "/api/contests/c";

async fn server_with_teams(home: Home, teams: usize) -> TestServer {
    TestServer::start_with_teams(home, teams, &[]).await
}

fn snapshot(board: &Value) -> SnapshotIn {
    serde_json::from_value(board.clone()).expect("a snapshot")
}

fn viewer(server: &TestServer, query: &str) -> Viewer {
    Viewer::watch(vec![server.url("")], CONTEST, query, Habits::default())
}

async fn settles(viewer: &Viewer, server: &TestServer, limit: &str) {
    eventually("the viewer has the board that is served", async || {
        viewer.has(&snapshot(&server.board("c", "public", limit).await))
    })
    .await;
}

async fn a_viewer_gets_the_board_and_then_every_change(home: Home) {
    let server = server_with_teams(home, 3).await;
    let viewer = viewer(&server, "limit=10");
    settles(&viewer, &server, "10").await;
    let said = server.judge("c", "j1", "t2", "A", "AC", "0:10:00").await;
    assert_eq!(
        (&said["accepted"], &said["kept_aside"]),
        (&json!(1), &json!(0))
    );
    settles(&viewer, &server, "10").await;
    viewer.look(|seen| {
        let window = seen.window.as_ref().unwrap();
        assert_eq!(
            (&*window.rows()[0].id, &window.rows()[0].values[..]),
            ("t2", &[1, 10, 10][..])
        );
        assert!(window.rows()[0].cells["A"].first);
        assert_eq!(seen.wholes, 0, "changes come as deltas");
        assert_eq!(seen.states[0]["phase"], "running");
        assert_eq!(seen.states[0]["store"], "live");
    });
}

async fn what_the_jury_alone_sees_moves_no_public_version(home: Home) {
    let server = server_with_teams(home, 2).await;
    let at = |board: &Value| board["version"].as_u64().unwrap();
    // The freeze is on from 0:50.
    server.judge("c", "j1", "t0", "A", "WA", "0:55:00").await;
    let public = at(&server.board("c", "public", "all").await);
    let jury = at(&server.board("c", "jury", "all").await);
    server.judge("c", "j1", "t0", "A", "AC", "0:55:00").await;
    let board = server.board("c", "public", "all").await;
    assert_eq!(at(&board), public);
    assert_eq!(
        board["rows"][0]["cells"]["A"],
        json!({ "tries": 0, "pending": 1 })
    );
    assert!(at(&server.board("c", "jury", "all").await) > jury);
    let thaw = json!({ "type": "rankcast-thaw", "id": null, "data": { "thawed": "2026-01-01T02:00:00Z" } });
    server.post("c", &[thaw.to_string()]).await;
    let board = server.board("c", "public", "all").await;
    assert_eq!(
        board["rows"][0]["cells"]["A"],
        json!({ "tries": 1, "time": 55, "first": true })
    );
}

async fn a_viewer_resumes_by_position_without_a_snapshot(home: Home) {
    let server = server_with_teams(home, 20).await;
    let viewer = Viewer::watch(
        vec![server.url("")],
        CONTEST,
        "limit=10",
        Habits {
            hop_after: Some(2),
            ..Habits::default()
        },
    );
    for round in 0..12 {
        // Several changes while it is away, or on its way.
        for change in 0..3 {
            let (team, number) = (
                format!("t{}", (round * 7 + change * 3) % 20),
                round * 3 + change,
            );
            let problem = if number % 3 == 0 { "A" } else { "B" };
            server
                .judge("c", &format!("j{number}"), &team, problem, "AC", "0:10:00")
                .await;
        }
        settles(&viewer, &server, "10").await;
    }
    viewer.look(|seen| {
        assert!(seen.hops > 3, "it hung up {} times", seen.hops);
        assert_eq!(seen.wholes, 0, "positions are enough to resume");
    });
}

async fn a_restarted_server_takes_up_its_viewers_by_position(home: Home) {
    let mut server = server_with_teams(home, 20).await;
    let viewer = viewer(&server, "limit=10");
    server.judge("c", "j1", "t7", "A", "AC", "0:10:00").await;
    settles(&viewer, &server, "10").await;
    server.restart().await;
    server.judge("c", "j2", "t8", "A", "AC", "0:09:00").await;
    settles(&viewer, &server, "10").await;
    viewer.look(|seen| assert_eq!(seen.wholes, 0, "the epoch outlives the process"));
}

async fn a_stopping_server_says_bye_and_why(home: Home) {
    let mut server = server_with_teams(home, 2).await;
    let viewer = viewer(&server, "limit=10");
    settles(&viewer, &server, "10").await;
    server.stop().await;
    eventually("the viewer is told", async || {
        viewer.look(|seen| seen.byes == 1 && seen.closed == Some(1012))
    })
    .await;
}

async fn a_deleted_contest_closes_its_viewers(home: Home) {
    let server = server_with_teams(home, 2).await;
    let viewer = viewer(&server, "limit=10");
    settles(&viewer, &server, "10").await;
    assert_eq!(server.ask(Method::DELETE, CONTEST, "").await.status, 204);
    eventually("the viewer is told", async || {
        viewer.look(|seen| seen.closed == Some(4410))
    })
    .await;
    eventually("it is gone", async || {
        server.public(&format!("{CONTEST}/board")).await.status == 404
    })
    .await;
    assert_eq!(server.ask(Method::DELETE, CONTEST, "").await.status, 404);
    // The same id again is another contest: its epoch says so.
    server.make_contest("c").await;
    assert_eq!(server.board("c", "public", "all").await["total"], 0);
}

async fn a_contest_made_anew_gives_a_viewer_of_the_old_one_a_snapshot(home: Home) {
    let server = server_with_teams(home, 5).await;
    let old = server.board("c", "public", "10").await;
    server.ask(Method::DELETE, CONTEST, "").await;
    eventually("it is gone", async || {
        server.public(&format!("{CONTEST}/board")).await.status == 404
    })
    .await;
    server.make_contest("c").await;
    server.post("c", &[team("x")]).await;
    let since = format!(
        "limit=10&since={}-{}",
        old["epoch"].as_str().unwrap(),
        old["version"]
    );
    let viewer = viewer(&server, &since);
    settles(&viewer, &server, "10").await;
}

async fn a_large_board_is_fetched_and_then_followed(home: Home) {
    let server = server_with_teams(home, 600).await;
    let viewer = viewer(&server, "limit=all");
    settles(&viewer, &server, "all").await;
    server.judge("c", "j1", "t99", "A", "AC", "0:10:00").await;
    settles(&viewer, &server, "all").await;
    viewer.look(|seen| assert_eq!((seen.wholes, seen.deltas > 0), (0, true)));
}

async fn new_columns_and_problems_bring_the_whole_board(home: Home) {
    let server = server_with_teams(home, 5).await;
    let viewer = viewer(&server, "limit=10");
    server.judge("c", "j1", "t1", "A", "AC", "0:10:30").await;
    settles(&viewer, &server, "10").await;
    server
        .ask(
            Method::PUT,
            CONTEST,
            r#"{"rankcast":{"penalty_rounding":"seconds"}}"#,
        )
        .await;
    settles(&viewer, &server, "10").await;
    server
        .post("c", &[object("problems", "C", &[("label", "C")])])
        .await;
    eventually("the whole board comes", async || {
        viewer.look(|seen| seen.wholes >= 2)
    })
    .await;
    settles(&viewer, &server, "10").await;
    let board = server.board("c", "public", "10").await;
    assert_eq!(board["rows"][0]["values"], json!([1, 630, 630]));
    assert_eq!(board["columns"][1]["unit"], "s");
}

async fn followed_members_are_told_wherever_they_stand(home: Home) {
    let server = server_with_teams(home, 40).await;
    let viewer = viewer(&server, "limit=10&follow=t39,nobody");
    eventually("the followed rows come", async || {
        viewer.look(|seen| !seen.follows.is_empty())
    })
    .await;
    let first = viewer.look(|seen| seen.follows[0].clone());
    assert_eq!(
        first["rows"][0],
        json!({ "id": "t39", "values": [0, 0, 0], "rank": 1 })
    );
    assert_eq!(
        first["rows"][1],
        json!({ "id": "nobody", "values": null, "rank": null })
    );
    for number in 0..12 {
        server
            .judge(
                "c",
                &format!("j{number}"),
                &format!("t{number}"),
                "A",
                "AC",
                "0:10:00",
            )
            .await;
    }
    eventually("its new rank comes", async || {
        viewer.look(|seen| {
            seen.follows
                .last()
                .is_some_and(|follow| follow["rows"][0]["rank"] == 13)
        })
    })
    .await;
}

async fn the_jury_view_needs_a_key_or_a_ticket_that_is_good_once(home: Home) {
    let server = server_with_teams(home, 2).await;
    let closed = async |query: &str| {
        let viewer = viewer(&server, query);
        eventually("it is refused", async || {
            viewer.look(|seen| seen.closed.is_some())
        })
        .await;
        viewer.look(|seen| seen.closed)
    };
    assert_eq!(closed("view=jury").await, Some(4401));
    assert_eq!(closed("view=jury&ticket=wrong").await, Some(4401));
    assert_eq!(closed("view=nothing").await, Some(4400));
    assert_eq!(closed("limit=0").await, Some(4400));
    assert_eq!(closed("since=rubbish").await, Some(4400));
    assert_eq!(closed("follow=a,b,c,d,e,f").await, Some(4400));
    let ticket = server
        .ask(Method::POST, "/api/tickets", r#"{"contest":"c"}"#)
        .await
        .json();
    let query = format!(
        "view=jury&limit=10&ticket={}",
        ticket["ticket"].as_str().unwrap()
    );
    let good = viewer(&server, &query);
    let jury = snapshot(&server.board("c", "jury", "10").await);
    eventually("the ticket opens", async || good.has(&jury)).await;
    assert_eq!(closed(&query).await, Some(4401), "a ticket is good once");
    let other = Viewer::watch(
        vec![server.url("")],
        "/api/contests/other",
        "",
        Habits::default(),
    );
    eventually("no such board", async || {
        other.look(|seen| seen.closed == Some(4404))
    })
    .await;
}

async fn an_opened_board_is_fetched_once_instead_of_pushed(home: Home) {
    // Frozen results of many teams: opening them changes every row at once.
    let server = server_with_teams(home, 1_500).await;
    let mut lines = Vec::new();
    for number in 0..1_500 {
        for problem in ["A", "B"] {
            let (id, team) = (format!("{problem}{number}"), format!("t{number}"));
            let at = format!("0:5{}:00", number % 10);
            lines.push(object(
                "submissions",
                &id,
                &[
                    ("team_id", &team),
                    ("problem_id", problem),
                    ("contest_time", &at),
                ],
            ));
            lines.push(object(
                "judgements",
                &id,
                &[("submission_id", &id), ("judgement_type_id", "AC")],
            ));
        }
    }
    server.post("c", &lines).await;
    let viewer = viewer(&server, "limit=all");
    settles(&viewer, &server, "all").await;
    let before = viewer.look(|seen| seen.wholes);
    let thaw = json!({ "type": "rankcast-thaw", "id": null, "data": { "thawed": "2026-01-01T02:00:00Z" } });
    server.post("c", &[thaw.to_string()]).await;
    settles(&viewer, &server, "all").await;
    viewer.look(|seen| {
        assert_eq!(seen.wholes, before + 1, "the whole board, once");
        assert_eq!(seen.closed, None, "and nobody is dropped");
    });
    server.judge("c", "late", "t5", "A", "AC", "0:01:00").await;
    settles(&viewer, &server, "all").await;
    viewer.look(|seen| assert_eq!(seen.wholes, before + 1, "then by deltas again"));
}

async fn nobody_sees_a_contest_before_it_is_folded(home: Home) {
    let mut server = server_with_teams(home, 2_000).await;
    let expected = server.board("c", "public", "all").await;
    server.restart().await;
    // All of these are the first to ask.
    let path = format!("{CONTEST}/board?limit=all");
    let asked = futures_util::future::join_all((0..8).map(|_| server.public(&path))).await;
    for answer in asked {
        assert_eq!(
            (answer.status.as_u16(), &answer.json()["rows"]),
            (200, &expected["rows"])
        );
    }
}

async fn a_contest_made_anew_at_once_answers_for_itself(home: Home) {
    let server = server_with_teams(home, 50).await;
    for round in 0..5 {
        assert_eq!(server.ask(Method::DELETE, CONTEST, "").await.status, 204);
        assert_eq!(
            server.public(&format!("{CONTEST}/board")).await.status,
            404,
            "it is gone at once"
        );
        let made = server
            .ask(
                Method::PUT,
                CONTEST,
                json!({ "name": format!("Number {round}") }).to_string(),
            )
            .await;
        assert_eq!(
            (made.status.as_u16(), &made.json()["name"]),
            (201, &json!(format!("Number {round}")))
        );
        let said = server.judge("c", "j1", "t1", "A", "AC", "0:10:00").await;
        assert_eq!(
            said["kept_aside"], 1,
            "the team of the contest before is not there"
        );
        server.post("c", &[team("t1"), team("t2")]).await;
        assert_eq!(server.board("c", "public", "all").await["total"], 2);
    }
}

async fn server_sent_events_carry_the_same_messages(home: Home) {
    let server = server_with_teams(home, 3).await;
    let url = server.url(&format!("{CONTEST}/live?limit=10"));
    let open = async |last: Option<String>| {
        let mut request = http().get(&url).header("accept", "text/event-stream");
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        Events {
            body: request
                .send()
                .await
                .expect("an answer")
                .bytes_stream()
                .boxed(),
            text: String::new(),
        }
    };
    let mut events = open(None).await;
    assert_eq!(events.next().await.0, "state");
    let (kind, id, board) = events.next().await;
    let position = format!("{}-{}", board["epoch"].as_str().unwrap(), board["version"]);
    assert_eq!(
        (kind.as_str(), id.as_str()),
        ("snapshot", position.as_str())
    );
    server.judge("c", "j1", "t1", "A", "WA", "0:10:00").await;
    let (kind, id, delta) = events.next_but("problems").await;
    assert_eq!(
        (kind.as_str(), &delta["from"]),
        ("delta", &board["version"])
    );
    drop(events);
    server.judge("c", "j2", "t1", "A", "AC", "0:20:00").await;
    // The id of the last event is where it goes on, without a snapshot.
    let mut events = open(Some(id)).await;
    assert_eq!(events.next().await.0, "state");
    let (kind, _, delta) = events.next_but("problems").await;
    assert_eq!(
        (kind.as_str(), &delta["rows"][0]["values"]),
        ("delta", &json!([1, 40, 20]))
    );
}

struct Events {
    body: futures_util::stream::BoxStream<'static, reqwest::Result<bytes::Bytes>>,
    text: String,
}

impl Events {
    /// The next event: its type, its id, its data.
    async fn next(&mut self) -> (String, String, Value) {
        while !self.text.contains("\n\n") {
            let chunk = self
                .body
                .next()
                .await
                .expect("it goes on")
                .expect("it does not break");
            self.text
                .push_str(std::str::from_utf8(&chunk).expect("UTF-8"));
        }
        let (event, rest) = self
            .text
            .split_once("\n\n")
            .map(|(a, b)| (a.to_owned(), b.to_owned()))
            .expect("looked for");
        self.text = rest;
        let field = |name: &str| {
            event
                .lines()
                .find_map(|line| line.strip_prefix(name))
                .unwrap_or("")
                .to_owned()
        };
        (
            field("event: "),
            field("id: "),
            serde_json::from_str(&field("data: ")).expect("JSON"),
        )
    }

    async fn next_but(&mut self, other: &str) -> (String, String, Value) {
        loop {
            let event = self.next().await;
            if event.0 != other {
                return event;
            }
        }
    }
}

async fn rubbish_from_a_viewer_hurts_nobody(home: Home) {
    use futures_util::SinkExt as _;
    use tokio_tungstenite::{connect_async, tungstenite::Message};
    let server = server_with_teams(home, 3).await;
    let good = viewer(&server, "limit=10");
    settles(&good, &server, "10").await;
    let url = server.socket_url(&format!("{CONTEST}/live?limit=10"));
    let (mut socket, _) = connect_async(&url).await.unwrap();
    for message in [
        Message::text("{}"),
        Message::text("\u{0}rubbish"),
        Message::binary(vec![0xff; 1000]),
    ] {
        socket.send(message).await.unwrap();
    }
    // It is still served …
    server.judge("c", "j1", "t1", "A", "AC", "0:10:00").await;
    let mut deltas = 0;
    while deltas == 0 {
        let message = socket.next().await.expect("it goes on").expect("a message");
        deltas += usize::from(
            message
                .to_text()
                .is_ok_and(|text| text.contains("\"delta\"")),
        );
    }
    // … until it says too much at once.
    let _ = socket.send(Message::binary(vec![0; 1024 * 1024])).await;
    while let Some(Ok(_)) = socket.next().await {}
    // Bytes that are no WebSocket at all.
    let mut raw = tokio::net::TcpStream::connect(url.split('/').nth(2).unwrap())
        .await
        .unwrap();
    let _ =
        tokio::io::AsyncWriteExt::write_all(&mut raw, &[0xde, 0xad, 0xbe, 0xef].repeat(1000)).await;
    server.judge("c", "j2", "t2", "A", "AC", "0:10:00").await;
    settles(&good, &server, "10").await;
}

/// RFC 6455, section 7.4.1: whoever breaks the protocol is told how, whatever else it had sent already.
async fn who_breaks_the_protocol_learns_how(home: Home) {
    use futures_util::SinkExt as _;
    use tokio::io::AsyncWriteExt as _;
    use tokio_tungstenite::{MaybeTlsStream, connect_async, tungstenite::Message};
    let server = server_with_teams(home, 3).await;
    let url = server.socket_url(&format!("{CONTEST}/live?limit=10"));
    // A text frame of two bytes, masked with zeros: 0xff is no UTF-8. The same without a mask. One with a reserved bit.
    let broken: [(&[u8], u16); 3] = [
        (&[0x81, 0x82, 0, 0, 0, 0, 0xff, 0xff], 1007),
        (&[0x81, 0x02, b'o', b'k'], 1002),
        (&[0xc1, 0x82, 0, 0, 0, 0, b'o', b'k'], 1002),
    ];
    for (bytes, expected) in broken {
        let (mut socket, _) = connect_async(&url).await.unwrap();
        let MaybeTlsStream::Plain(stream) = socket.get_mut() else {
            panic!("no TLS was asked for");
        };
        stream.write_all(bytes).await.unwrap();
        stream.write_all(&[0x81; 2000]).await.unwrap();
        assert_eq!(close_code(&mut socket).await, Some(expected), "{bytes:x?}");
    }
    let (mut socket, _) = connect_async(&url).await.unwrap();
    let _ = socket.send(Message::text("x".repeat(17 * 1024))).await;
    assert_eq!(close_code(&mut socket).await, Some(1009));
}

/// Reads until the server closes; with which code, if it said one.
async fn close_code<S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin>(
    socket: &mut tokio_tungstenite::WebSocketStream<S>,
) -> Option<u16> {
    use tokio_tungstenite::tungstenite::Message;
    while let Some(Ok(message)) = socket.next().await {
        if let Message::Close(frame) = message {
            return frame.map(|frame| frame.code.into());
        }
    }
    None
}

/// A viewer that sends pings faster than it reads is answered as far as there is room, and takes nothing from the others.
async fn a_flood_of_pings_hurts_nobody(home: Home) {
    use futures_util::SinkExt as _;
    use tokio_tungstenite::{connect_async, tungstenite::Message};
    const PINGS: usize = 20_000;
    let server = server_with_teams(home, 3).await;
    let good = viewer(&server, "limit=10");
    settles(&good, &server, "10").await;
    let url = server.socket_url(&format!("{CONTEST}/live?limit=10"));
    let (socket, _) = connect_async(&url).await.unwrap();
    let (mut send, mut receive) = socket.split();
    let flood = tokio::spawn(async move {
        for _ in 0..PINGS {
            if send.feed(Message::Ping(vec![7; 125].into())).await.is_err() {
                return;
            }
        }
        let _ = send.flush().await;
    });
    server.judge("c", "j1", "t1", "A", "AC", "0:10:00").await;
    settles(&good, &server, "10").await;
    flood.await.unwrap();
    // It is still served, if it was not closed: frames are whole, pongs among them.
    let mut deltas = 0;
    while deltas == 0 {
        match receive.next().await {
            Some(Ok(message)) => {
                deltas += usize::from(
                    message
                        .to_text()
                        .is_ok_and(|text| text.contains("\"delta\"")),
                );
            }
            Some(Err(error)) => panic!("{error}"),
            None => break,
        }
    }
}

async fn a_board_is_the_same_until_it_changes(home: Home) {
    let server = server_with_teams(home, 100).await;
    let path = format!("{CONTEST}/board");
    let get = async |known: &str, encoding: &str| -> Answer {
        let mut request = http()
            .get(server.url(&path))
            .header("accept-encoding", encoding);
        if !known.is_empty() {
            request = request.header("if-none-match", known);
        }
        server.send(request).await
    };
    let first = get("", "identity").await;
    let board = first.json();
    let etag = first.header("etag").to_owned();
    assert_eq!(
        etag,
        format!(
            "\"{}-{}\"",
            board["epoch"].as_str().unwrap(),
            board["version"]
        )
    );
    let again = get(&etag, "gzip").await;
    assert_eq!(
        (
            again.status.as_u16(),
            again.body.len(),
            again.header("etag")
        ),
        (304, 0, etag.as_str())
    );
    let gzip = get("", "gzip").await;
    assert_eq!(
        (gzip.header("content-encoding"), gzip.header("vary")),
        ("gzip", "accept-encoding, authorization")
    );
    assert!(
        gzip.body.len() < first.body.len() / 3,
        "{} of {}",
        gzip.body.len(),
        first.body.len()
    );
    let encodings = server.metric("rankcast_snapshot_encodings_total").await;
    for _ in 0..20 {
        get("", "gzip").await;
    }
    assert!(
        (server.metric("rankcast_snapshot_encodings_total").await - encodings).abs() < 0.5,
        "once a version"
    );
    server.judge("c", "j1", "t1", "A", "AC", "0:10:00").await;
    let changed = get(&etag, "identity").await;
    assert_eq!(changed.status, 200);
    assert_ne!(changed.header("etag"), etag);
    // `min` waits for what this server does not have yet.
    let newer = changed.json()["version"].as_u64().unwrap();
    let min = format!("{path}?min={}-{newer}", board["epoch"].as_str().unwrap());
    assert!(
        server.public(&min).await.json()["version"]
            .as_u64()
            .unwrap()
            >= newer
    );
}

both! {
    a_viewer_gets_the_board_and_then_every_change
    what_the_jury_alone_sees_moves_no_public_version
    a_viewer_resumes_by_position_without_a_snapshot
    a_restarted_server_takes_up_its_viewers_by_position
    a_stopping_server_says_bye_and_why
    a_deleted_contest_closes_its_viewers
    a_contest_made_anew_gives_a_viewer_of_the_old_one_a_snapshot
    a_large_board_is_fetched_and_then_followed
    new_columns_and_problems_bring_the_whole_board
    followed_members_are_told_wherever_they_stand
    the_jury_view_needs_a_key_or_a_ticket_that_is_good_once
    an_opened_board_is_fetched_once_instead_of_pushed
    nobody_sees_a_contest_before_it_is_folded
    a_contest_made_anew_at_once_answers_for_itself
    server_sent_events_carry_the_same_messages
    rubbish_from_a_viewer_hurts_nobody
    who_breaks_the_protocol_learns_how
    a_flood_of_pings_hurts_nobody
    a_board_is_the_same_until_it_changes
}

/// Two servers on one Redis: what is posted to one reaches the viewers of the other, and both say the same board under the
/// same version.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_on_one_redis_agree_at_every_version() {
    let one = server_with_teams(Home::redis(), 30).await;
    let two = TestServer::start(one.home()).await;
    let viewer = Viewer::watch(vec![two.url("")], CONTEST, "limit=25", Habits::default());
    for round in 0..60 {
        let poster = if round % 2 == 0 { &one } else { &two };
        let team = format!("t{}", round * 7 % 30);
        let verdict = if round % 3 == 0 { "WA" } else { "AC" };
        poster
            .judge(
                "c",
                &format!("j{round}"),
                &team,
                if round % 5 == 0 { "A" } else { "B" },
                verdict,
                "0:10:00",
            )
            .await;
        for view in ["public", "jury"] {
            let mine = poster.board("c", view, "all").await;
            let path = format!(
                "{CONTEST}/board?view={view}&limit=all&min={}-{}",
                mine["epoch"].as_str().unwrap(),
                mine["version"]
            );
            let other = if round % 2 == 0 { &two } else { &one };
            // On a busy machine the other server may need longer than one request waits.
            let mut theirs = other.ask(Method::GET, &path, "").await.json();
            eventually("the other server has that version", async || {
                theirs = other.ask(Method::GET, &path, "").await.json();
                theirs["version"].as_u64() >= mine["version"].as_u64()
            })
            .await;
            for part in ["epoch", "version", "rows", "total", "problems", "columns"] {
                assert_eq!(
                    mine[part], theirs[part],
                    "{view} {part} after round {round}"
                );
            }
        }
    }
    settles(&viewer, &one, "25").await;
    for server in [&one, &two] {
        let report = server
            .ask(Method::GET, &format!("{CONTEST}/verify"), "")
            .await
            .json();
        assert_eq!(
            (&report["equal"], &report["projection"]["state"]),
            (&json!(true), &json!("equal")),
            "{report}"
        );
    }
}

/// The server that appended writes the sorted set, and if it dies before that, another one does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sorted_set_is_right_also_when_its_writer_dies() {
    let mut one = server_with_teams(Home::redis(), 40).await;
    let two = TestServer::start(one.home()).await;
    two.board("c", "public", "10").await;
    for number in 0..40 {
        one.judge(
            "c",
            &format!("j{number}"),
            &format!("t{number}"),
            "A",
            "AC",
            "0:10:00",
        )
        .await;
        if number == 20 {
            one.stop().await;
            one.restart().await;
        }
    }
    one.kill();
    eventually("the other server has seen to it", async || {
        let report = two
            .ask(Method::GET, &format!("{CONTEST}/verify"), "")
            .await
            .json();
        report["projection"]["state"] == "equal" && report["projection"]["members"] == 40
    })
    .await;
}

/// A Redis that comes back as another process, or without its newest events: nobody is silently wrong.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_redis_under_the_same_address_starts_a_new_epoch() {
    let redis = std::sync::Arc::new(crate::common::redis::RedisServer::start_persistent());
    let server = server_with_teams(Home::Redis(redis.clone()), 10).await;
    let viewer = viewer(&server, "limit=10");
    server.judge("c", "j1", "t1", "A", "AC", "0:10:00").await;
    settles(&viewer, &server, "10").await;
    let old = server.board("c", "public", "10").await;
    redis.restart();
    eventually("a new epoch", async || {
        let board = server
            .public(&format!("{CONTEST}/board?limit=10"))
            .await
            .json();
        board["epoch"] != old["epoch"]
    })
    .await;
    settles(&viewer, &server, "10").await;
    let board = server.board("c", "public", "10").await;
    assert_eq!(board["rows"], old["rows"]);
}

/// A whole contest at full speed into one of two servers on one Redis, watched by 200 viewers on both: some hang up and
/// resume on the other server, some read slowly. All end with exactly the board that is served.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_viewers_of_a_replay_end_exact() {
    let Some(data) = data() else { return };
    let one = TestServer::start(Home::redis()).await;
    let two = TestServer::start(one.home()).await;
    assert_eq!(one.ask(Method::PUT, CONTEST, "{}").await.status, 201);
    let viewers: Vec<(&str, Viewer)> = (0..200)
        .map(|number| {
            let limit = ["10", "100", "all"][number % 3];
            let mut bases = vec![one.url(""), two.url("")];
            bases.rotate_left(number % 2);
            let habits = Habits {
                hop_after: (number % 4 == 1).then_some(10 + number % 7),
                slowness: if number % 10 == 3 {
                    Duration::from_millis(60)
                } else {
                    Duration::ZERO
                },
            };
            (
                limit,
                Viewer::watch(bases, CONTEST, &format!("limit={limit}"), habits),
            )
        })
        .collect();
    let folder = data.join("online-2554");
    let import = {
        let one = std::sync::Arc::new(one);
        let server = one.clone();
        let words = tokio::task::spawn_blocking(move || {
            server.command(&[
                "import",
                folder.to_str().unwrap(),
                "--contest",
                "c",
                "--speed",
                "max",
            ])
        });
        (one, words)
    };
    let (one, imported) = (import.0, import.1.await.unwrap());
    println!("{}", String::from_utf8_lossy(&imported.stdout).trim());
    assert!(imported.status.success());
    for limit in ["10", "100", "all"] {
        // The slow ones still have to read what the kernel holds for them.
        eventually_within(
            4 * PATIENCE,
            "every viewer has the board that is served",
            async || {
                let (a, b) = (
                    one.board("c", "public", limit).await,
                    two.board("c", "public", limit).await,
                );
                a["version"] == b["version"]
                    && a["rows"] == b["rows"]
                    && viewers
                        .iter()
                        .filter(|(theirs, _)| *theirs == limit)
                        .all(|(_, viewer)| viewer.has(&snapshot(&a)))
            },
        )
        .await;
    }
    let sum = |count: fn(&crate::common::viewer::Seen) -> usize| -> usize {
        viewers.iter().map(|(_, viewer)| viewer.look(count)).sum()
    };
    println!(
        "200 viewers exact: {} deltas, {} whole boards, {} times resumed on the other server",
        sum(|seen| seen.deltas),
        sum(|seen| seen.wholes),
        sum(|seen| seen.hops)
    );
    assert!(sum(|seen| seen.hops) > 50);
    for server in [&*one, &two] {
        let report = server
            .ask(Method::GET, &format!("{CONTEST}/verify"), "")
            .await
            .json();
        assert_eq!(
            (&report["equal"], &report["projection"]["state"]),
            (&json!(true), &json!("equal")),
            "{report}"
        );
    }
}

/// What an update costs on the wire: a real contest, one event at a time, watched by one viewer of the top 100.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delta_of_the_top_hundred_takes_at_most_150_bytes() {
    let Some(data) = data() else { return };
    let server = TestServer::start_with(Home::redis(), &["--tick", "0"]).await;
    let text = std::fs::read_to_string(data.join("regional-352/event-feed.ndjson")).unwrap();
    let (setting, events): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| {
        !line.contains("\"type\":\"submissions\"") && !line.contains("\"type\":\"judgements\"")
    });
    server.ask(Method::PUT, CONTEST, "{}").await;
    let started: Vec<&str> = setting
        .into_iter()
        .filter(|line| !line.contains("end_of_updates\":\""))
        .collect();
    server
        .post(
            "c",
            &started
                .iter()
                .map(|&line| line.to_owned())
                .collect::<Vec<_>>(),
        )
        .await;
    let viewer = viewer(&server, "limit=100");
    settles(&viewer, &server, "100").await;
    let (frames, bytes) = (
        "rankcast_delta_frames_total{limit=\"100\"}",
        "rankcast_delta_frame_bytes_total{limit=\"100\"}",
    );
    // Without a tick, and with each event folded before the next is sent, every change has a frame of its own.
    let url = server.url(&format!("{CONTEST}/events"));
    for event in &events {
        let request = http().post(&url).bearer_auth(KEY).body((*event).to_owned());
        assert_eq!(server.send(request).await.status, 200);
    }
    settles(&viewer, &server, "100").await;
    let (frames, bytes) = (server.metric(frames).await, server.metric(bytes).await);
    println!(
        "regional-352, {} events one at a time: {frames} frames for the top 100, {:.1} bytes a frame",
        events.len(),
        bytes / frames
    );
    assert!(bytes / frames <= 150.0, "{} bytes a frame", bytes / frames);
}
