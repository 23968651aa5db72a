//! Many viewers over real sockets: the stalled, the impatient and those who all come at once; several servers on one Redis.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use futures_util::{SinkExt as _, StreamExt as _};
use rankcast::{
    board::Window,
    protocol::message::{DeltaIn, SnapshotIn},
};
use serde_json::Value;
use socket2::{Domain, Socket, Type};
use tokio::net::TcpStream;
use tokio_tungstenite::{WebSocketStream, client_async, tungstenite::Message};

use crate::common::{
    PATIENCE, eventually, eventually_within,
    redis::RedisServer,
    server::{Home, TestServer, object},
    viewer::{Habits, Viewer},
};

const CONTEST: &str = "/api/contests/c";

/// Judgements that each change a row: nearly every one a further wrong try, which a solved problem would not count.
fn judgements(from: usize, number: usize, teams: usize) -> Vec<String> {
    (from..from + number)
        .flat_map(|number| {
            let (id, team) = (format!("{number}"), format!("t{}", number % teams));
            let verdict = if number % 997 == 996 { "AC" } else { "WA" };
            let problem = if number % 2 == 0 { "A" } else { "B" };
            [
                object(
                    "submissions",
                    &id,
                    &[
                        ("team_id", &team),
                        ("problem_id", problem),
                        ("contest_time", "0:10:00.000"),
                    ],
                ),
                object(
                    "judgements",
                    &id,
                    &[
                        ("submission_id", &id),
                        ("judgement_type_id", verdict),
                        ("end_contest_time", "0:10:01.000"),
                    ],
                ),
            ]
        })
        .collect()
}

async fn board(server: &TestServer, limit: &str) -> SnapshotIn {
    serde_json::from_value(server.board("c", "public", limit).await).expect("a snapshot")
}

async fn all_exact(viewers: &[Viewer], server: &TestServer, limit: &str) {
    eventually_within(PATIENCE * 4, "every viewer has the board", async || {
        let board = board(server, limit).await;
        viewers.iter().all(|viewer| viewer.has(&board))
    })
    .await;
}

/// A viewer that reads only when it is told to, with hardly any room for what it has not read.
struct Sleeper {
    socket: WebSocketStream<TcpStream>,
    window: Option<Window>,
    pongs: Vec<usize>,
}

impl Sleeper {
    /// Connects, and reads until it has its first board.
    async fn connect(server: &TestServer, limit: &str) -> Self {
        let url = server.socket_url(&format!("{CONTEST}/live?limit={limit}"));
        let address: SocketAddr = url["ws://".len()..]
            .split('/')
            .next()
            .and_then(|address| address.parse().ok())
            .expect("an address");
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        socket.set_recv_buffer_size(2048).expect("a small buffer");
        socket.connect(&address.into()).expect("the server listens");
        socket.set_nonblocking(true).expect("non-blocking");
        let stream = TcpStream::from_std(socket.into()).expect("a stream");
        let (socket, _) = client_async(url, stream).await.expect("a handshake");
        let mut sleeper = Self {
            socket,
            window: None,
            pongs: Vec::new(),
        };
        while sleeper.window.is_none() {
            sleeper.read().await.expect("open").expect("no close");
        }
        sleeper
    }

    /// Reads one message and takes it in. Answers the code of a close frame.
    async fn read(&mut self) -> Option<Result<(), u16>> {
        match tokio::time::timeout(PATIENCE, self.socket.next())
            .await
            .expect("a message in time")?
        {
            Ok(Message::Text(text)) => {
                let message: Value = serde_json::from_str(&text).expect("JSON");
                match message["type"].as_str() {
                    Some("snapshot") => {
                        let snapshot: SnapshotIn =
                            serde_json::from_value(message).expect("a snapshot");
                        self.window = Some(snapshot.window());
                    }
                    Some("delta") => {
                        let delta: DeltaIn = serde_json::from_value(message).expect("a delta");
                        let window = self.window.as_mut().expect("a window before a delta");
                        window.apply(&delta.into()).expect("no gap");
                    }
                    _ => {}
                }
                Some(Ok(()))
            }
            Ok(Message::Close(frame)) => Some(Err(frame.map_or(1005, |frame| frame.code.into()))),
            Ok(Message::Pong(payload)) => {
                let number = std::str::from_utf8(&payload).expect("as it was sent");
                self.pongs.push(number.parse().expect("a number"));
                Some(Ok(()))
            }
            Ok(_) => Some(Ok(())),
            Err(_) => None,
        }
    }
}

/// Posts until the kernel takes no more for those who do not read, and then some; a frame for each request.
async fn post_much(server: &TestServer, teams: usize, from: usize, requests: usize) {
    for request in 0..requests {
        server
            .post("c", &judgements(from + request * 60, 60, teams))
            .await;
    }
}

async fn a_stalled_viewer_holds_up_nobody_and_is_exact_after_it_wakes(home: Home) {
    const TEAMS: usize = 150;
    let server =
        TestServer::start_with_teams(home, TEAMS, &["--tick", "0", "--write-timeout", "120"]).await;
    let mut sleepers = Vec::new();
    for _ in 0..5 {
        sleepers.push(Sleeper::connect(&server, "1000").await);
    }
    let awake: Vec<Viewer> = (0..5)
        .map(|_| {
            Viewer::watch(
                vec![server.url("")],
                CONTEST,
                "limit=1000",
                Habits::default(),
            )
        })
        .collect();
    all_exact(&awake, &server, "1000").await;
    let before = server.metric("rankcast_deliveries_total").await;
    post_much(&server, TEAMS, 0, 150).await;
    // They have it while the others still sleep.
    all_exact(&awake, &server, "1000").await;
    let frames = server
        .metric("rankcast_delta_frames_total{limit=\"1000\"}")
        .await;
    let delivered = server.metric("rankcast_deliveries_total").await - before;
    assert!(
        delivered < frames * 10.0,
        "the kernel took all of {frames} frames for the sleepers, too: nothing was shown"
    );
    let expected = board(&server, "1000").await.window();
    for sleeper in &mut sleepers {
        let mut messages = 0;
        while sleeper.window.as_ref().expect("a window").rows() != expected.rows() {
            sleeper.read().await.expect("open").expect("no close");
            messages += 1;
        }
        assert!(messages > 0);
    }
    assert!(server.metric("rankcast_merged_deltas_total").await >= 1.0);
}

async fn a_viewer_that_reads_nothing_is_closed_and_learns_why(home: Home) {
    const TEAMS: usize = 150;
    let server =
        TestServer::start_with_teams(home, TEAMS, &["--tick", "0", "--write-timeout", "3"]).await;
    let mut sleeper = Sleeper::connect(&server, "1000").await;
    let mut from = 0;
    eventually("it is closed as too slow", async || {
        post_much(&server, TEAMS, from, 20).await;
        from += 20 * 60;
        let text = server.ask(reqwest::Method::GET, "/metrics", "").await.body;
        String::from_utf8_lossy(&text).contains("rankcast_closed_total{code=\"4408\"}")
    })
    .await;
    let code = loop {
        match sleeper.read().await {
            Some(Ok(())) => {}
            Some(Err(code)) => break code,
            None => panic!("the connection broke without a close frame"),
        }
    };
    assert_eq!(code, 4408);
    eventually("its seat is free", async || {
        server.metric("rankcast_viewers").await == 0.0
    })
    .await;
}

/// Pings of a viewer that reads nothing are answered after the frame that is stuck half-way, never in the middle of it.
async fn pings_are_answered_whole_between_frames(home: Home) {
    const TEAMS: usize = 150;
    const PINGS: usize = 20;
    let server =
        TestServer::start_with_teams(home, TEAMS, &["--tick", "0", "--write-timeout", "120"]).await;
    let mut sleeper = Sleeper::connect(&server, "1000").await;
    let before = server.metric("rankcast_deliveries_total").await;
    post_much(&server, TEAMS, 0, 150).await;
    let frames = server
        .metric("rankcast_delta_frames_total{limit=\"1000\"}")
        .await;
    let delivered = server.metric("rankcast_deliveries_total").await - before;
    assert!(delivered < frames, "nothing was stuck");
    for number in 0..PINGS {
        let payload = format!("{number:0>100}").into_bytes();
        let ping = Message::Ping(payload.into());
        sleeper.socket.send(ping).await.expect("sent");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // Every frame is parsed, so one inside another would show.
    let expected = board(&server, "1000").await.window();
    while sleeper.window.as_ref().expect("a window").rows() != expected.rows()
        || sleeper.pongs.is_empty()
    {
        sleeper.read().await.expect("open").expect("no close");
    }
    // RFC 6455, section 5.5.3: not every ping has to be answered, but answers are in order.
    assert!(sleeper.pongs.is_sorted() && sleeper.pongs.len() <= PINGS);
}

async fn a_board_is_encoded_once_for_all_who_come_back_at_once(home: Home) {
    let server = TestServer::start_with_teams(home, 100, &[]).await;
    let watch = || -> Vec<Viewer> {
        (0..150)
            .map(|_| {
                Viewer::watch(
                    vec![server.url("")],
                    CONTEST,
                    "limit=100",
                    Habits::default(),
                )
            })
            .collect()
    };
    let encodings = async || server.metric("rankcast_snapshot_encodings_total").await;
    all_exact(&watch(), &server, "100").await;
    server.post("c", &judgements(0, 5, 100)).await;
    let before = encodings().await;
    for _ in 0..3 {
        let viewers = watch();
        eventually_within(PATIENCE * 4, "all have a board", async || {
            viewers
                .iter()
                .all(|viewer| viewer.look(|seen| seen.window.is_some()))
        })
        .await;
        all_exact(&viewers, &server, "100").await;
    }
    let after = encodings().await;
    assert!(
        after - before <= 1.0,
        "{} encodings of one version",
        after - before
    );
}

async fn those_who_come_at_once_wait_for_their_turn_and_nobody_waits_for_them(home: Home) {
    const RATE: usize = 25;
    const COME: usize = 100;
    let rate = RATE.to_string();
    let server = TestServer::start_with_teams(home, 10, &["--join-rate", &rate]).await;
    let began = Instant::now();
    let viewers: Vec<Viewer> = (0..COME)
        .map(|_| Viewer::watch(vec![server.url("")], CONTEST, "limit=10", Habits::default()))
        .collect();
    eventually("some are in, and some wait", async || {
        let has_board = |viewer: &&Viewer| viewer.look(|seen| seen.window.is_some());
        viewers.iter().filter(has_board).count() >= RATE / 2
    })
    .await;
    assert_eq!(server.public("/healthz").await.status, 200);
    server.judge("c", "j1", "t1", "A", "AC", "0:10:00").await;
    eventually(
        "who is in sees what happens while others wait",
        async || {
            viewers
                .iter()
                .any(|viewer| viewer.look(|seen| seen.deltas > 0))
        },
    )
    .await;
    assert!(
        viewers
            .iter()
            .any(|viewer| viewer.look(|seen| seen.window.is_none()))
    );
    all_exact(&viewers, &server, "10").await;
    // The turns of one second may be taken at once.
    let least = Duration::from_secs(((COME - RATE) / RATE - 1) as u64);
    assert!(
        began.elapsed() >= least,
        "all were let in after {:?}",
        began.elapsed()
    );
}

async fn a_stopping_server_spreads_the_return_of_its_viewers(home: Home) {
    let mut server = TestServer::start_with_teams(home, 10, &[]).await;
    let mut sockets = Vec::new();
    for _ in 0..40 {
        let url = server.socket_url(&format!("{CONTEST}/live?limit=10"));
        sockets.push(
            tokio_tungstenite::connect_async(url)
                .await
                .expect("a socket")
                .0,
        );
    }
    let reading = async {
        let mut retries = Vec::new();
        for socket in &mut sockets {
            let mut code = 0;
            while let Some(Ok(message)) = socket.next().await {
                match message {
                    Message::Text(text) => {
                        let message: Value = serde_json::from_str(&text).expect("JSON");
                        if message["type"] == "bye" {
                            retries.push(message["retry_ms"].as_u64().expect("a time"));
                        }
                    }
                    Message::Close(Some(frame)) => code = frame.code.into(),
                    _ => {}
                }
            }
            assert_eq!(code, 1012);
        }
        retries
    };
    let (retries, ()) = tokio::join!(reading, server.stop());
    let (least, most) = (retries.iter().min(), retries.iter().max());
    assert_eq!(retries.len(), sockets.len());
    assert!(
        most.unwrap() - least.unwrap() > 500,
        "everybody comes back at once: {retries:?}"
    );
}

mod on_both {
    use super::*;
    both! {
        a_stalled_viewer_holds_up_nobody_and_is_exact_after_it_wakes
        a_viewer_that_reads_nothing_is_closed_and_learns_why
        pings_are_answered_whole_between_frames
        a_board_is_encoded_once_for_all_who_come_back_at_once
        those_who_come_at_once_wait_for_their_turn_and_nobody_waits_for_them
        a_stopping_server_spreads_the_return_of_its_viewers
    }
}

fn redis_of(home: &Home) -> &RedisServer {
    match home {
        Home::Redis(redis) => redis,
        Home::Embedded(_) => panic!("a Redis"),
    }
}

/// However many judgements come, a server reads its log once a tick; and when nothing changes, the tips of all contests once
/// a second in one batch.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_reads_its_redis_once_a_tick_and_hardly_when_nothing_changes() {
    const TICK_MS: u64 = 100;
    let one = TestServer::start_with_teams(Home::redis(), 20, &["--tick", "100"]).await;
    let two = TestServer::start_with(one.home(), &["--tick", "100"]).await;
    let viewers: Vec<Viewer> = [&one, &two]
        .map(|server| {
            Viewer::watch(
                vec![server.url("")],
                CONTEST,
                "limit=100",
                Habits::default(),
            )
        })
        .into();
    all_exact(&viewers, &one, "100").await;
    let reads = async || {
        [
            one.metric("rankcast_store_reads_total").await,
            two.metric("rankcast_store_reads_total").await,
        ]
    };
    let (began, before) = (Instant::now(), reads().await);
    for number in 0..150 {
        one.post("c", &judgements(number, 1, 20)).await;
    }
    let after = reads().await;
    let ticks = (began.elapsed().as_millis() as u64 / TICK_MS + 2) as f64;
    for (before, after) in before.into_iter().zip(after) {
        assert!(after > before, "it followed");
        assert!(
            after - before <= ticks,
            "{} reads in {ticks} ticks",
            after - before
        );
    }
    all_exact(&viewers, &two, "100").await;

    // Five more contests that are followed.
    for id in ["d", "e", "f", "g", "h"] {
        one.make_contest(id).await;
        one.board(id, "public", "10").await;
    }
    drop(two);
    let commands = || -> u64 {
        let info = redis_of(&one.home()).command(&["INFO", "stats"]);
        info.lines()
            .find_map(|line| line.trim().strip_prefix("total_commands_processed:"))
            .and_then(|number| number.parse().ok())
            .expect("a count")
    };
    tokio::time::sleep(Duration::from_secs(2)).await;
    let (before, began) = (commands(), Instant::now());
    let reads_before = one.metric("rankcast_store_reads_total").await;
    tokio::time::sleep(Duration::from_secs(4)).await;
    let each_second = (commands() - before) as f64 / began.elapsed().as_secs_f64();
    println!("{each_second:.1} commands a second when nothing changes");
    // The batch reads a key for each contest in one round trip; the rest are heartbeats, and this test's own questions.
    assert!(each_second <= 12.0, "{each_second} commands a second");
    assert!(one.metric("rankcast_store_reads_total").await - reads_before < 0.5);
}

/// Nodes die and come back while judgements are posted; their viewers move on to the others with their positions.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn viewers_of_three_servers_are_exact_though_each_is_killed_in_turn() {
    const TEAMS: usize = 60;
    let first = TestServer::start_with_teams(Home::redis(), TEAMS, &[]).await;
    let home = first.home();
    let mut servers = vec![
        first,
        TestServer::start(home.clone()).await,
        TestServer::start(home.clone()).await,
    ];
    let bases: Vec<String> = servers.iter().map(|server| server.url("")).collect();
    let viewers: Vec<Viewer> = (0..60)
        .map(|number| {
            let mut bases = bases.clone();
            bases.rotate_left(number % 3);
            let hop_after = (number % 5 == 0).then_some(20);
            let habits = Habits {
                hop_after,
                ..Habits::default()
            };
            Viewer::watch(bases, CONTEST, "limit=25", habits)
        })
        .collect();
    all_exact(&viewers, &servers[0], "25").await;
    let mut number = 0;
    for killed in [0, 1, 2, 0] {
        for _ in 0..20 {
            for _ in 0..3 {
                let poster = &servers[(killed + 1 + number % 2) % 3];
                poster.post("c", &judgements(number, 1, TEAMS)).await;
                number += 1;
            }
            if number % 60 == 30 {
                servers[killed].kill();
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        servers[killed].restart().await;
    }
    for server in &servers {
        all_exact(&viewers, server, "25").await;
    }
    let (deltas, wholes) = viewers.iter().fold((0, 0), |(deltas, wholes), viewer| {
        viewer.look(|seen| (deltas + seen.deltas, wholes + seen.wholes))
    });
    assert!(deltas > 0);
    assert_eq!(wholes, 0, "the log leads on from every position");
}
