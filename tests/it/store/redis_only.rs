//! What only the Redis store has to prove.

use std::time::{Duration, Instant};

use rankcast::store::{Outcome, Projected, SharedStore, Store as _, StoreError, redis::Redis};
use tokio::{net::TcpListener, time::timeout};

use super::{event, from, no_such_contest, replacement};
use crate::common::{PATIENCE, eventually, redis::RedisServer};

use Outcome::{Accepted, Repeated};

/// What a call may take at the most when Redis is away: waiting for a connection, and for an answer.
const BOUND: Duration = Duration::from_secs(10);

async fn store(server: &RedisServer) -> SharedStore {
    let store = Redis::connect(&server.url()).await.unwrap();
    store.create("c").await.unwrap();
    store
}

async fn epoch(store: &SharedStore) -> String {
    store.tips(&["c".into()]).await.unwrap()[0]
        .clone()
        .unwrap()
        .epoch
}

fn at(member: &str, score: Option<u64>, version: u64) -> Projected {
    Projected {
        member: member.into(),
        score,
        version,
    }
}

fn standings(places: &[(&str, u64)]) -> Vec<(String, u64)> {
    places
        .iter()
        .map(|(member, score)| ((*member).to_owned(), *score))
        .collect()
}

#[tokio::test]
async fn nobody_there_is_said_soon_and_clearly() {
    let start = Instant::now();
    // A port that was free a moment ago; one that accepts and never answers; no address at all.
    let free = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    let Err(StoreError::Away(why)) = Redis::connect(&format!("redis://:secret@{free}/")).await
    else {
        panic!("connected")
    };
    assert!(
        why.contains(&free.to_string()) && !why.contains("secret"),
        "{why}"
    );
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("redis://{}/", silent.local_addr().unwrap());
    assert!(matches!(
        Redis::connect(&url).await,
        Err(StoreError::Away(_))
    ));
    assert!(matches!(
        Redis::connect("nonsense").await,
        Err(StoreError::Refused(_))
    ));
    assert!(start.elapsed() < BOUND);
}

#[tokio::test]
async fn another_server_process_begins_a_new_epoch_and_the_log_goes_on() {
    let server = RedisServer::start_persistent();
    let store = store(&server).await;
    let batch = [
        from("s", "1", event("teams", "1", "{}")),
        replacement("groups", "[]"),
    ];
    let before = store.append("c", &batch).await.unwrap().tip;
    for reader in 0..3 {
        let old = epoch_seen(&store).await;
        server.restart();
        eventually("the store is back", async || store.check().await.is_ok()).await;
        // Whoever comes first renews: a reader of tips, a reader of the log, or a writer.
        let tip = match reader {
            0 => store.tips(&["c".into()]).await.unwrap()[0].clone().unwrap(),
            1 => store.read("c", 0, 10).await.unwrap().tip,
            _ => store.append("c", &batch).await.unwrap().tip,
        };
        assert_ne!(tip.epoch, old);
        assert_eq!(tip.sequence, before.sequence);
        // And that once.
        assert_eq!(epoch(&store).await, tip.epoch);
        assert_eq!(store.read("c", 0, 10).await.unwrap().tip, tip);
        assert_eq!(store.append("c", &batch).await.unwrap().tip, tip);
    }
    let appended = store
        .append("c", &[batch[0].clone(), event("teams", "2", "{}")])
        .await
        .unwrap();
    assert_eq!(appended.outcomes, [Repeated(1), Accepted(3)]);
}

/// The epoch without the help of the store, which would renew it.
async fn epoch_seen(store: &SharedStore) -> String {
    store.read("c", 0, 0).await.unwrap().tip.epoch
}

#[tokio::test]
async fn a_new_epoch_is_hinted() {
    let server = RedisServer::start_persistent();
    let store = store(&server).await;
    let old = epoch(&store).await;
    server.restart();
    eventually("the store is back", async || store.check().await.is_ok()).await;
    let mut hints = store.hints();
    let new = epoch(&store).await;
    let hint = timeout(PATIENCE, hints.recv()).await.unwrap().unwrap();
    assert_ne!(new, old);
    assert_eq!((hint.epoch, hint.contest.as_str()), (new, "c"));
}

#[tokio::test]
async fn an_emptied_server_knows_no_contest() {
    let server = RedisServer::start();
    let store = store(&server).await;
    store
        .append("c", &[event("teams", "1", "{}")])
        .await
        .unwrap();
    server.command(&["FLUSHALL"]);
    assert!(no_such_contest(&store.read("c", 0, 1).await));
    assert!(no_such_contest(
        &store.append("c", &[event("teams", "1", "{}")]).await
    ));
    assert_eq!(store.tips(&["c".into()]).await.unwrap(), [None]);
    assert!(store.contests().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_lost_script_cache_heals() {
    let server = RedisServer::start();
    let store = store(&server).await;
    for n in 1..=3 {
        server.command(&["SCRIPT", "FLUSH"]);
        let appended = store
            .append("c", &[event("teams", &n.to_string(), "{}")])
            .await
            .unwrap();
        assert_eq!(appended.outcomes, [Accepted(n)]);
        server.command(&["SCRIPT", "FLUSH"]);
        assert_eq!(store.read("c", 0, 10).await.unwrap().events.len() as u64, n);
    }
}

#[tokio::test]
async fn a_stopped_server_is_away_in_bounded_time_and_comes_back_by_itself() {
    let server = RedisServer::start_persistent();
    let store = store(&server).await;
    let mut hints = store.hints();
    store
        .append("c", &[event("teams", "1", "{}")])
        .await
        .unwrap();
    assert_eq!(hints.recv().await.unwrap().version, 1);
    server.stop();
    for _ in 0..2 {
        let start = Instant::now();
        assert!(matches!(
            store.append("c", &[event("teams", "2", "{}")]).await,
            Err(StoreError::Away(_))
        ));
        assert!(matches!(store.check().await, Err(StoreError::Away(_))));
        assert!(start.elapsed() < BOUND);
    }
    server.restart();
    eventually("the store is back, with its hints", async || {
        store.check().await.is_ok()
    })
    .await;
    assert_eq!(
        store
            .append("c", &[event("teams", "2", "{}")])
            .await
            .unwrap()
            .outcomes,
        [Accepted(2)]
    );
    eventually("the hint arrives", async || {
        hints.try_recv().is_ok_and(|hint| hint.version == 2)
    })
    .await;
}

#[tokio::test]
async fn a_server_that_accepts_and_never_answers_is_noticed() {
    let server = RedisServer::start();
    let store = store(&server).await;
    server.freeze();
    let start = Instant::now();
    assert!(matches!(
        store.append("c", &[event("teams", "1", "{}")]).await,
        Err(StoreError::Away(_))
    ));
    assert!(start.elapsed() < BOUND);
    server.thaw();
    eventually("the store is back", async || store.check().await.is_ok()).await;
    // Whether the first try was carried out when the server woke up is not known: the second one is safe.
    assert_eq!(
        store
            .append("c", &[event("teams", "1", "{}")])
            .await
            .unwrap()
            .outcomes[0]
            .sequence(),
        1
    );
}

#[tokio::test]
async fn a_dead_subscription_is_reported_and_comes_back() {
    let server = RedisServer::start();
    let store = store(&server).await;
    // No new subscription may be made for a while; commands go on.
    server.command(&["ACL", "SETUSER", "default", "resetchannels"]);
    server.command(&["CLIENT", "KILL", "TYPE", "pubsub"]);
    eventually("the check tells", async || {
        matches!(store.check().await, Err(StoreError::Away(why)) if why.contains("subscription"))
    })
    .await;
    server.command(&["ACL", "SETUSER", "default", "allchannels"]);
    eventually("the check is content", async || store.check().await.is_ok()).await;
    let mut hints = store.hints();
    store
        .append("c", &[event("teams", "1", "{}")])
        .await
        .unwrap();
    assert_eq!(
        timeout(PATIENCE, hints.recv())
            .await
            .unwrap()
            .unwrap()
            .version,
        1
    );
}

#[tokio::test]
async fn a_wrong_type_under_a_key_is_refused_and_nothing_is_half_written() {
    let keys = ["meta", "log", "newest", "tokens"];
    for wrong in keys {
        let server = RedisServer::start();
        let store = store(&server).await;
        if wrong != "log" {
            store
                .append("c", &[from("s", "0", event("teams", "0", "{}"))])
                .await
                .unwrap();
        }
        let key = format!("rankcast:{{c}}:{wrong}");
        server.command(&["SET", &key, "something else"]);
        let dump = || keys.map(|part| server.command(&["DUMP", &format!("rankcast:{{c}}:{part}")]));
        let before = dump();
        let batch = [
            from("s", "1", event("teams", "1", "{}")),
            replacement("teams", "[]"),
        ];
        let answer = store.append("c", &batch).await;
        assert!(
            matches!(answer, Err(StoreError::Refused(_))),
            "{wrong}: {answer:?}"
        );
        assert_eq!(dump(), before, "{wrong}");
    }
    let server = RedisServer::start();
    let store = store(&server).await;
    server.command(&["SET", "rankcast:{c}:placed", "something else"]);
    let answer = store
        .project("c", &epoch(&store).await, &[at("a", Some(1), 1)], false)
        .await;
    assert!(matches!(answer, Err(StoreError::Refused(_))), "{answer:?}");
    assert!(store.projection("c").await.unwrap().is_empty());
}

#[tokio::test]
async fn a_log_that_lost_or_won_entries_is_reported_as_damaged_and_left_alone() {
    for break_it in [
        &["XTRIM", "rankcast:{c}:log", "MAXLEN", "1"][..],
        &["XADD", "rankcast:{c}:log", "9-0", "event", "{}"],
    ] {
        let server = RedisServer::start();
        let store = store(&server).await;
        store
            .append("c", &[event("teams", "1", "{}"), event("teams", "2", "{}")])
            .await
            .unwrap();
        server.command(break_it);
        let before = server.command(&["DUMP", "rankcast:{c}:newest"]);
        assert!(matches!(
            store.append("c", &[event("teams", "3", "{}")]).await,
            Err(StoreError::Damaged(_))
        ));
        assert!(matches!(
            store.read("c", 0, 10).await,
            Err(StoreError::Damaged(_))
        ));
        assert_eq!(server.command(&["DUMP", "rankcast:{c}:newest"]), before);
    }
    // As many entries as there should be, but the last id is beyond the next one.
    let server = RedisServer::start();
    let store = store(&server).await;
    store
        .append("c", &[event("teams", "1", "{}")])
        .await
        .unwrap();
    server.command(&["XSETID", "rankcast:{c}:log", "9-0"]);
    assert!(matches!(
        store.append("c", &[event("teams", "2", "{}")]).await,
        Err(StoreError::Refused(_))
    ));
    assert_eq!(server.command(&["HLEN", "rankcast:{c}:newest"]), ":1\r\n");
    assert_eq!(store.read("c", 0, 10).await.unwrap().tip.sequence, 1);
}

#[tokio::test]
async fn a_contest_without_its_count_is_reported_as_damaged_and_left_alone() {
    let server = RedisServer::start();
    let store = store(&server).await;
    let old = epoch(&store).await;
    server.command(&["HDEL", "rankcast:{c}:meta", "sequence"]);
    for answer in [
        store.renew("c", &old).await.map(drop),
        store.tips(&["c".into()]).await.map(drop),
        store
            .append("c", &[event("teams", "1", "{}")])
            .await
            .map(drop),
    ] {
        assert!(matches!(answer, Err(StoreError::Damaged(_))), "{answer:?}");
    }
    assert!(
        server
            .command(&["HGET", "rankcast:{c}:meta", "epoch"])
            .contains(&old)
    );
}

#[tokio::test]
async fn a_server_that_takes_no_writes_is_refused_and_the_check_says_so() {
    let server = RedisServer::start();
    let store = store(&server).await;
    server.command(&["CONFIG", "SET", "maxmemory", "1"]);
    assert!(matches!(
        store.append("c", &[event("teams", "1", "{}")]).await,
        Err(StoreError::Refused(_))
    ));
    assert!(matches!(store.check().await, Err(StoreError::Refused(_))));
    assert_eq!(store.read("c", 0, 1).await.unwrap().tip.sequence, 0);
    server.command(&["CONFIG", "SET", "maxmemory", "0"]);
    store.check().await.unwrap();

    let master = RedisServer::start();
    let (host, port) = (
        "127.0.0.1",
        master
            .url()
            .trim_end_matches('/')
            .rsplit(':')
            .next()
            .unwrap()
            .to_owned(),
    );
    server.command(&["REPLICAOF", host, &port]);
    assert!(matches!(store.check().await, Err(StoreError::Refused(_))));
}

#[tokio::test]
async fn a_crash_between_the_contest_and_the_set_heals_on_retry() {
    let server = RedisServer::start();
    let store = store(&server).await;
    // Created, but not listed.
    server.command(&["SREM", "rankcast:contests", "c"]);
    assert!(!store.create("c").await.unwrap());
    assert_eq!(store.contests().await.unwrap(), ["c"]);
    // Listed, but not created.
    server.command(&["SADD", "rankcast:contests", "d"]);
    assert_eq!(store.contests().await.unwrap(), ["c"]);
    assert!(store.create("d").await.unwrap());
    assert_eq!(store.contests().await.unwrap(), ["c", "d"]);
    // Deleted, but still listed.
    server.command(&["DEL", "rankcast:{d}:meta"]);
    assert!(!store.delete("d").await.unwrap());
    assert_eq!(
        server.command(&["SMEMBERS", "rankcast:contests"]),
        "*1\r\n$1\r\nc\r\n"
    );
    // What is left of a contest that lost its head is no part of the next one.
    store
        .append("c", &[event("teams", "1", "{}")])
        .await
        .unwrap();
    server.command(&["DEL", "rankcast:{c}:meta"]);
    assert!(store.create("c").await.unwrap());
    assert_eq!(
        store
            .append("c", &[event("teams", "1", "{}")])
            .await
            .unwrap()
            .outcomes,
        [Accepted(1)]
    );
}

#[tokio::test]
async fn a_deleted_contest_leaves_no_key() {
    let server = RedisServer::start();
    let store = store(&server).await;
    store
        .append(
            "c",
            &[
                from("s", "1", event("teams", "1", "{}")),
                replacement("teams", "[]"),
            ],
        )
        .await
        .unwrap();
    store
        .project("c", &epoch(&store).await, &[at("a", Some(1), 1)], false)
        .await
        .unwrap();
    assert!(store.delete("c").await.unwrap());
    assert_eq!(server.command(&["KEYS", "*"]), "*0\r\n");
}

#[tokio::test]
async fn places_are_written_only_forward_and_only_in_their_epoch() {
    let server = RedisServer::start();
    let store = store(&server).await;
    assert!(store.projects());
    let now = epoch(&store).await;
    let largest = (1 << 53) - 1;
    store
        .project(
            "c",
            &now,
            &[
                at("a", Some(5), 10),
                at("b", Some(largest), 10),
                at("z\0 ü", Some(largest - 1), 1),
            ],
            false,
        )
        .await
        .unwrap();
    let expected = standings(&[("b", largest), ("z\0 ü", largest - 1), ("a", 5)]);
    assert_eq!(store.projection("c").await.unwrap(), expected);
    // Older and equally old ones come too late; another epoch's do not count.
    store
        .project("c", &now, &[at("a", Some(1), 9), at("b", None, 10)], false)
        .await
        .unwrap();
    store
        .project("c", "other", &[at("a", Some(1), 99)], true)
        .await
        .unwrap();
    assert_eq!(store.projection("c").await.unwrap(), expected);
    // Newer ones do, one by one; one that was taken off does not come back with something older.
    store
        .project(
            "c",
            &now,
            &[
                at("a", Some(7), 11),
                at("b", None, 11),
                at("z\0 ü", Some(0), 0),
            ],
            false,
        )
        .await
        .unwrap();
    store
        .project("c", &now, &[at("b", Some(3), 10)], false)
        .await
        .unwrap();
    assert_eq!(
        store.projection("c").await.unwrap(),
        standings(&[("z\0 ü", largest - 1), ("a", 7)])
    );
    // What a sorted set would round is refused, and nothing of it written.
    let answer = store
        .project(
            "c",
            &now,
            &[at("a", Some(8), 12), at("b", Some(1 << 53), 12)],
            false,
        )
        .await;
    assert!(matches!(answer, Err(StoreError::Refused(_))));
    // After a renewal versions begin anew, and what the old epoch still sends is passed over.
    let new = store.renew("c", &now).await.unwrap().epoch;
    store
        .project("c", &now, &[at("a", Some(1), 1000)], false)
        .await
        .unwrap();
    store
        .project("c", &new, &[at("a", Some(2), 1)], false)
        .await
        .unwrap();
    assert_eq!(
        store.projection("c").await.unwrap(),
        standings(&[("z\0 ü", largest - 1), ("a", 2)])
    );
}

#[tokio::test]
async fn a_whole_projection_takes_off_who_is_not_named() {
    let server = RedisServer::start();
    let store = store(&server).await;
    let now = epoch(&store).await;
    let many: Vec<_> = (0..1500)
        .map(|n| at(&format!("t{n}"), Some(n), 5))
        .collect();
    store.project("c", &now, &many, true).await.unwrap();
    assert_eq!(store.projection("c").await.unwrap().len(), 1500);
    // One place is newer than this whole: it stays.
    store
        .project("c", &now, &[at("t7", Some(7000), 8)], false)
        .await
        .unwrap();
    store
        .project(
            "c",
            &now,
            &[at("t1", Some(1), 6), at("new", Some(2), 6)],
            true,
        )
        .await
        .unwrap();
    assert_eq!(
        store.projection("c").await.unwrap(),
        standings(&[("t7", 7000), ("new", 2), ("t1", 1)])
    );
    // What the earlier whole still sends comes too late.
    store.project("c", &now, &many[..3], false).await.unwrap();
    assert_eq!(store.projection("c").await.unwrap().len(), 3);
    store.project("c", &now, &[], true).await.unwrap();
    assert!(store.projection("c").await.unwrap().is_empty());
}

#[tokio::test]
async fn other_programs_can_read_the_log_and_the_standings() {
    let server = RedisServer::start();
    let store = store(&server).await;
    store
        .append("c", &[event("teams", "1", r#"{"id":"1"}"#)])
        .await
        .unwrap();
    store
        .project("c", &epoch(&store).await, &[at("1", Some(42), 1)], false)
        .await
        .unwrap();
    let log = server.command(&["XRANGE", "rankcast:{c}:log", "-", "+"]);
    assert!(
        log.contains("1-0")
            && log
                .contains(r#"{"type":"teams","id":"1","data":{"id":"1"},"source":"judge","time":"#),
        "{log}"
    );
    assert_eq!(
        server.command(&["ZSCORE", "rankcast:{c}:standings", "1"]),
        "$2\r\n42\r\n"
    );
    assert_eq!(
        server.command(&["ZREVRANK", "rankcast:{c}:standings", "1"]),
        ":0\r\n"
    );
    // A stranger's message on a channel of ours harms nobody.
    let mut hints = store.hints();
    server.command(&["PUBLISH", "rankcast:c", "hello"]);
    server.command(&[
        "PUBLISH",
        "rankcast:c",
        r#"{"epoch":"e","version":5,"more":1}"#,
    ]);
    assert_eq!(
        timeout(PATIENCE, hints.recv())
            .await
            .unwrap()
            .unwrap()
            .version,
        5
    );
}
