//! The cases that every store passes.

use std::{collections::BTreeSet, time::Duration};

use rankcast::store::{
    APPEND_MAX, Append, Digest, HINT_IDS_MAX, Hint, Outcome, READ_MAX, SharedStore, StoreError,
};
use tokio::{sync::broadcast, time::timeout};

use super::{Home, event, from, no_such_contest, replacement, singleton};
use crate::common::{PATIENCE, eventually};

use Outcome::{Accepted, Repeated};

async fn fresh(home: &Home) -> SharedStore {
    let store = home.open().await;
    assert!(store.create("c").await.unwrap());
    store
}

async fn append(store: &SharedStore, batch: &[Append]) -> Vec<Outcome> {
    store.append("c", batch).await.unwrap().outcomes
}

async fn append_one(store: &SharedStore, event: &Append) -> Outcome {
    append(store, std::slice::from_ref(event)).await[0]
}

async fn next(hints: &mut broadcast::Receiver<Hint>) -> Hint {
    timeout(PATIENCE, hints.recv())
        .await
        .expect("a hint in time")
        .expect("a hint")
}

/// The sequence numbers and contents of a whole log.
async fn log(store: &SharedStore, contest: &str) -> Vec<(u64, String)> {
    let mut all = Vec::new();
    loop {
        let after = all.last().map_or(0, |(sequence, _)| *sequence);
        let slice = store.read(contest, after, READ_MAX).await.unwrap();
        if slice.events.is_empty() {
            assert_eq!(after, slice.tip.sequence);
            return all;
        }
        all.extend(
            slice
                .events
                .into_iter()
                .map(|stored| (stored.sequence, stored.record.data.get().to_owned())),
        );
    }
}

pub(super) async fn a_contest_is_created_once_and_deleted_once(home: Home) {
    let store = home.open().await;
    assert!(store.create("c").await.unwrap());
    let tip = store.tips(&["c".into()]).await.unwrap()[0].clone().unwrap();
    assert_eq!(tip.sequence, 0);
    assert!((4..=12).contains(&tip.epoch.len()));
    assert!(
        tip.epoch
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    );

    assert!(!store.create("c").await.unwrap());
    assert_eq!(store.tips(&["c".into()]).await.unwrap()[0], Some(tip));

    assert!(store.delete("c").await.unwrap());
    assert!(!store.delete("c").await.unwrap());
    assert_eq!(store.tips(&["c".into()]).await.unwrap(), [None]);
}

pub(super) async fn contests_are_listed_in_order(home: Home) {
    let store = home.open().await;
    assert!(store.contests().await.unwrap().is_empty());
    for contest in ["b", "a", "C", "a.1"] {
        store.create(contest).await.unwrap();
    }
    assert_eq!(
        home.another(&store).await.contests().await.unwrap(),
        ["C", "a", "a.1", "b"]
    );
    store.delete("a").await.unwrap();
    assert_eq!(store.contests().await.unwrap(), ["C", "a.1", "b"]);
}

pub(super) async fn a_contest_created_again_begins_an_empty_log_in_a_new_epoch(home: Home) {
    let store = fresh(&home).await;
    let batch = [
        from("s", "t", event("teams", "1", "{}")),
        replacement("groups", "[]"),
    ];
    let before = store.append("c", &batch).await.unwrap().tip;
    store.delete("c").await.unwrap();
    store.create("c").await.unwrap();
    let slice = store.read("c", 0, 10).await.unwrap();
    assert_eq!(slice.tip.sequence, 0);
    assert_ne!(slice.tip.epoch, before.epoch);
    assert!(slice.events.is_empty());
    assert_eq!(append(&store, &batch).await, [Accepted(1), Accepted(2)]);
}

pub(super) async fn unknown_contests_are_reported_by_every_method(home: Home) {
    let store = home.open().await;
    assert!(no_such_contest(
        &store.append("x", &[event("teams", "1", "{}")]).await
    ));
    assert!(no_such_contest(&store.append("x", &[]).await));
    assert!(no_such_contest(&store.read("x", 0, 1).await));
    assert!(no_such_contest(&store.renew("x", "").await));
    assert_eq!(store.tips(&["x".into()]).await.unwrap(), [None]);
    assert!(store.projection("x").await.unwrap().is_empty());
    assert!(store.contests().await.unwrap().is_empty());
}

pub(super) async fn sequence_numbers_have_no_gaps_across_batches(home: Home) {
    let store = fresh(&home).await;
    let mut expected = 0;
    for round in 0..10 {
        let batch: Vec<_> = (0..=round)
            .map(|n| event("teams", &format!("{round}-{n}"), "{}"))
            .collect();
        let appended = store.append("c", &batch).await.unwrap();
        for outcome in appended.outcomes {
            expected += 1;
            assert_eq!(outcome, Accepted(expected));
        }
        assert_eq!(appended.tip.sequence, expected);
    }
    let numbers: Vec<_> = log(&store, "c")
        .await
        .into_iter()
        .map(|(sequence, _)| sequence)
        .collect();
    assert_eq!(numbers, (1..=expected).collect::<Vec<_>>());
}

pub(super) async fn concurrent_appenders_leave_no_gaps_and_agree_on_repeats(home: Home) {
    const TASKS: u64 = 16;
    const ROUNDS: u64 = 10;
    let store = fresh(&home).await;
    let other = home.another(&store).await;
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..TASKS {
        let store = if task % 2 == 0 {
            store.clone()
        } else {
            other.clone()
        };
        tasks.spawn(async move {
            let mut outcomes = Vec::new();
            for round in 0..ROUNDS {
                // Two of each task's own, and one that all of them send.
                let batch = [
                    event("submissions", &format!("{task}-{round}"), "{}"),
                    event("submissions", &format!("{task}-{round}-b"), "{}"),
                    event("teams", &format!("shared-{round}"), "{}"),
                ];
                outcomes.extend(store.append("c", &batch).await.unwrap().outcomes);
            }
            outcomes
        });
    }
    let outcomes: Vec<_> = tasks.join_all().await.into_iter().flatten().collect();
    let accepted: BTreeSet<u64> = outcomes
        .iter()
        .filter_map(|outcome| match outcome {
            Accepted(sequence) => Some(*sequence),
            Repeated(_) => None,
        })
        .collect();
    let total = TASKS * ROUNDS * 2 + ROUNDS;
    assert_eq!(accepted, (1..=total).collect());
    assert!(
        outcomes
            .iter()
            .all(|outcome| accepted.contains(&outcome.sequence()))
    );
    assert_eq!(log(&store, "c").await.len() as u64, total);
}

pub(super) async fn records_come_back_as_they_were_sent(home: Home) {
    let store = fresh(&home).await;
    let sent = [
        from(
            "feed:http://h/?a=1",
            "t-1",
            event("teams", "7", r#"{"name":"Ünï \"x\"","n":1.50}"#),
        ),
        singleton("state", "null"),
        replacement("groups", r#"[{"id":"g"}]"#),
        event("judgements", "j", "null"),
    ];
    append(&store, &sent).await;
    let slice = store.read("c", 0, 10).await.unwrap();
    assert_eq!(slice.events.len(), sent.len());
    for (append, stored) in sent.iter().zip(&slice.events) {
        let record = &stored.record;
        assert_eq!(record.kind, append.kind);
        assert_eq!(record.id, append.id);
        assert_eq!(record.replaces, append.replaces);
        assert_eq!(record.data.get(), append.data);
        assert_eq!(record.source, append.source);
        assert_eq!(record.token, append.token);
        // After this was written, before 2100.
        assert!(
            (1_790_000_000_000..4_102_444_800_000).contains(&record.time),
            "{}",
            record.time
        );
    }
}

pub(super) async fn odd_ids_and_sources_stay_apart(home: Home) {
    let store = fresh(&home).await;
    let long = "x".repeat(10_000);
    let ids = [
        "*", "", "/", "a/b", "ü", "日本", "a\0b", "a\nb", "a:b", "{a}", "}{", "a b", "'\"\\", "-1",
        &long,
    ];
    let mut batch: Vec<_> = ids.iter().map(|id| event("teams", id, "{}")).collect();
    batch.extend([singleton("teams", "{}"), replacement("teams", "{}")]);
    // Different names that would be the same if their parts were only put one after the other.
    batch.extend([
        event("teams/a", "b", "{}"),
        event("teams%2Fa", "b", "{}"),
        singleton("teams*", "{}"),
    ]);
    // Sources and tokens likewise; the ids are new each, so only a token can make a repeat.
    let pairs = [
        ("a\0b", "c"),
        ("a", "b\0c"),
        ("a:", "b"),
        ("a", ":b"),
        ("", "a"),
        ("a", ""),
        ("1:a", "x"),
        ("a", "1:x"),
    ];
    for (n, (source, token)) in pairs.iter().enumerate() {
        batch.push(from(source, token, event("groups", &n.to_string(), "{}")));
    }
    let expected: Vec<_> = (1..=batch.len() as u64).map(Accepted).collect();
    assert_eq!(append(&store, &batch).await, expected);
    let slice = store.read("c", 0, 100).await.unwrap();
    assert_eq!(slice.events.len(), batch.len());
    for (append, stored) in batch.iter().zip(&slice.events) {
        assert_eq!(
            (&stored.record.id, &stored.record.source),
            (&append.id, &append.source)
        );
    }
    // Each is known again, apart from the objects that the replacement made new.
    let again: Vec<_> = batch[ids.len() + 1..].to_vec();
    let numbers = append(&store, &again).await;
    assert!(
        numbers[1..]
            .iter()
            .all(|outcome| matches!(outcome, Repeated(_))),
        "{numbers:?}"
    );
}

pub(super) async fn large_events_and_full_batches_fit(home: Home) {
    let store = fresh(&home).await;
    let text = "y".repeat(10_000);
    let batch: Vec<_> = (0..APPEND_MAX)
        .map(|n| {
            from(
                "feed",
                &n.to_string(),
                event(
                    &format!("kind-{}", n % 300),
                    &n.to_string(),
                    &format!("\"{text}\""),
                ),
            )
        })
        .collect();
    let outcomes = append(&store, &batch).await;
    assert_eq!(
        outcomes,
        (1..=APPEND_MAX as u64).map(Accepted).collect::<Vec<_>>()
    );
    assert_eq!(
        append(&store, &batch).await,
        (1..=APPEND_MAX as u64).map(Repeated).collect::<Vec<_>>()
    );
    assert_eq!(log(&store, "c").await.len(), APPEND_MAX);
}

pub(super) async fn an_empty_batch_answers_the_tip(home: Home) {
    let store = fresh(&home).await;
    let tip = store
        .append("c", &[event("teams", "1", "{}")])
        .await
        .unwrap()
        .tip;
    let appended = store.append("c", &[]).await.unwrap();
    assert_eq!(appended.tip, tip);
    assert!(appended.outcomes.is_empty());
}

pub(super) async fn a_batch_that_is_too_large_or_broken_writes_nothing(home: Home) {
    let store = fresh(&home).await;
    let mut batch: Vec<_> = (0..=APPEND_MAX)
        .map(|n| event("teams", &n.to_string(), "{}"))
        .collect();
    assert!(matches!(
        store.append("c", &batch).await,
        Err(StoreError::Refused(_))
    ));
    batch.truncate(2);
    batch.push(event("teams", "x", "{\"no"));
    assert!(matches!(
        store.append("c", &batch).await,
        Err(StoreError::Refused(_))
    ));
    let slice = store.read("c", 0, 10).await.unwrap();
    assert_eq!((slice.tip.sequence, slice.events.len()), (0, 0));
    batch.truncate(2);
    assert_eq!(append(&store, &batch).await, [Accepted(1), Accepted(2)]);
}

pub(super) async fn a_token_repeats_with_the_same_content_from_the_same_source_only(home: Home) {
    let store = fresh(&home).await;
    let (a, b) = (event("teams", "1", r#""A""#), event("teams", "1", r#""B""#));
    assert_eq!(
        append(&store, &[from("s", "1", a.clone())]).await,
        [Accepted(1)]
    );
    assert_eq!(
        append(&store, &[from("s", "2", b.clone())]).await,
        [Accepted(2)]
    );
    // The first again, though something newer has come since.
    assert_eq!(
        append(&store, &[from("s", "1", a.clone())]).await,
        [Repeated(1)]
    );
    // The same token with other content, and from somebody else.
    let c = event("teams", "1", r#""C""#);
    assert_eq!(
        append(&store, &[from("s", "1", c.clone())]).await,
        [Accepted(3)]
    );
    assert_eq!(
        append(&store, &[from("r", "2", b.clone())]).await,
        [Accepted(4)]
    );
    // A token means what it came with the last time.
    assert_eq!(append(&store, &[from("s", "1", a)]).await, [Accepted(5)]);
    assert_eq!(append(&store, &[from("s", "2", b)]).await, [Repeated(2)]);
}

pub(super) async fn tokens_of_repeats_are_remembered(home: Home) {
    let store = fresh(&home).await;
    let (x, y) = (event("teams", "1", r#""X""#), event("teams", "1", r#""Y""#));
    let feed = [
        from("s", "1", x.clone()),
        from("s", "2", x),
        from("s", "3", y),
    ];
    assert_eq!(
        append(&store, &feed).await,
        [Accepted(1), Repeated(1), Accepted(2)]
    );
    assert_eq!(
        append(&store, &feed).await,
        [Repeated(1), Repeated(1), Repeated(2)]
    );
    store.close().await;
    let store = home.open().await;
    assert_eq!(
        append(&store, &feed).await,
        [Repeated(1), Repeated(1), Repeated(2)]
    );
    // A token that was kept with a repeat and then comes with news means the news, now and after a restart.
    let z = from("s", "2", event("teams", "1", r#""Z""#));
    assert_eq!(append_one(&store, &z).await, Accepted(3));
    assert_eq!(
        append(
            &store,
            &[from("q", "1", event("teams", "1", "0")), z.clone()]
        )
        .await,
        [Accepted(4), Repeated(3)]
    );
    store.close().await;
    let store = home.open().await;
    assert_eq!(append(&store, &[z]).await, [Repeated(3)]);
}

pub(super) async fn the_newest_content_repeats_and_an_older_one_does_not(home: Home) {
    let store = fresh(&home).await;
    let (a, b) = (event("teams", "1", r#""A""#), event("teams", "1", r#""B""#));
    assert_eq!(append_one(&store, &a).await, Accepted(1));
    assert_eq!(append_one(&store, &a).await, Repeated(1));
    // Who sent it does not matter, nor which token it has.
    assert_eq!(
        append(&store, &[from("other", "9", a.clone())]).await,
        [Repeated(1)]
    );
    assert_eq!(append_one(&store, &b).await, Accepted(2));
    assert_eq!(append_one(&store, &a).await, Accepted(3));
    assert_eq!(append_one(&store, &a).await, Repeated(3));
    // Other objects with the same content are other objects.
    assert_eq!(
        append(&store, &[event("teams", "2", r#""A""#)]).await,
        [Accepted(4)]
    );
    assert_eq!(
        append(&store, &[event("groups", "1", r#""A""#)]).await,
        [Accepted(5)]
    );
    assert_eq!(
        append(
            &store,
            &[singleton("contest", "{}"), singleton("contest", "{}")]
        )
        .await,
        [Accepted(6), Repeated(6)]
    );
}

pub(super) async fn earlier_events_of_a_batch_count_for_later_ones(home: Home) {
    let store = fresh(&home).await;
    let (a, b) = (event("teams", "1", r#""A""#), event("teams", "1", r#""B""#));
    let batch = [
        a.clone(),
        a.clone(),
        b.clone(),
        a.clone(),
        from("s", "1", b.clone()),
        a.clone(),
        from("s", "1", b.clone()),
    ];
    assert_eq!(
        append(&store, &batch).await,
        [
            Accepted(1),
            Repeated(1),
            Accepted(2),
            Accepted(3),
            Accepted(4),
            Accepted(5),
            Repeated(4)
        ]
    );
    assert_eq!(append(&store, &[a]).await, [Repeated(5)]);
}

pub(super) async fn a_replacement_makes_its_objects_new_again(home: Home) {
    let store = fresh(&home).await;
    let (one, two) = (event("teams", "1", "1"), event("teams", "2", "2"));
    let other = event("groups", "1", "1");
    let all = replacement("teams", "[1]");
    append(&store, &[one.clone(), two.clone(), other.clone()]).await;
    assert_eq!(append_one(&store, &all).await, Accepted(4));
    assert_eq!(append_one(&store, &all).await, Repeated(4));
    // Another type goes on as it was.
    assert_eq!(append_one(&store, &other).await, Repeated(3));
    assert_eq!(append_one(&store, &all).await, Repeated(4));
    // Its own objects are new, once.
    assert_eq!(
        append(&store, &[one.clone(), one.clone()]).await,
        [Accepted(5), Repeated(5)]
    );
    // The replacement changes something again now.
    assert_eq!(
        append(&store, &[all.clone(), one.clone()]).await,
        [Accepted(6), Accepted(7)]
    );
    assert_eq!(
        append(
            &store,
            &[replacement("teams", "[2]"), all.clone(), two.clone()]
        )
        .await,
        [Accepted(8), Accepted(9), Accepted(10)]
    );
    store.close().await;
    let store = home.open().await;
    assert_eq!(
        append(&store, &[two, one, all.clone(), all]).await,
        [Repeated(10), Accepted(11), Accepted(12), Repeated(12)]
    );
}

pub(super) async fn reads_are_cut_at_the_limit_and_go_on_from_there(home: Home) {
    let store = fresh(&home).await;
    for chunk in 0..9 {
        let batch: Vec<_> = (0..APPEND_MAX)
            .map(|n| event("teams", &format!("{chunk}-{n}"), "{}"))
            .collect();
        append(&store, &batch).await;
    }
    let total = 9 * APPEND_MAX as u64;
    let numbers = async |after, limit| {
        let slice = store.read("c", after, limit).await.unwrap();
        assert_eq!(slice.tip.sequence, total);
        slice
            .events
            .iter()
            .map(|stored| stored.sequence)
            .collect::<Vec<_>>()
    };
    assert_eq!(numbers(0, 3).await, [1, 2, 3]);
    assert_eq!(numbers(3, 2).await, [4, 5]);
    assert_eq!(numbers(total - 1, 10).await, [total]);
    assert!(numbers(total, 10).await.is_empty());
    assert!(numbers(total + 5, 10).await.is_empty());
    assert!(numbers(u64::MAX, 10).await.is_empty());
    assert!(numbers(0, 0).await.is_empty());
    assert_eq!(
        numbers(0, usize::MAX).await,
        (1..=READ_MAX as u64).collect::<Vec<_>>()
    );
}

pub(super) async fn tips_are_answered_in_the_order_asked(home: Home) {
    let store = home.open().await;
    for contest in ["a", "b"] {
        store.create(contest).await.unwrap();
    }
    let tip = store
        .append("b", &[event("teams", "1", "{}")])
        .await
        .unwrap()
        .tip;
    let tips = store
        .tips(&["b".into(), "x".into(), "a".into(), "b".into()])
        .await
        .unwrap();
    assert_eq!(tips.len(), 4);
    assert_eq!(tips[0].as_ref(), Some(&tip));
    assert_eq!(tips[1], None);
    assert_eq!(tips[2].as_ref().unwrap().sequence, 0);
    assert_eq!(tips[3], tips[0]);
    assert!(store.tips(&[]).await.unwrap().is_empty());
}

pub(super) async fn a_hint_follows_an_append_and_none_follows_repeats(home: Home) {
    let store = fresh(&home).await;
    let other = home.another(&store).await;
    let mut hints = other.hints();
    let one = event("teams", "1", "{}");
    let tip = store
        .append(
            "c",
            &[
                one.clone(),
                singleton("state", "{}"),
                replacement("groups", "[]"),
            ],
        )
        .await
        .unwrap()
        .tip;
    let hint = next(&mut hints).await;
    let ids = ["teams/1", "state", "groups*"].map(String::from).to_vec();
    assert_eq!(
        hint,
        Hint {
            contest: "c".into(),
            epoch: tip.epoch.clone(),
            version: 3,
            ids
        }
    );

    // Repeats only: the next hint is the one after them.
    append_one(&store, &one).await;
    append(&store, &[from("s", "t", one.clone())]).await;
    append(&store, &[]).await;
    append(
        &store,
        &[one, event("teams", "2", "{}"), event("teams", "2", "[]")],
    )
    .await;
    let hint = next(&mut hints).await;
    assert_eq!(
        hint,
        Hint {
            contest: "c".into(),
            epoch: tip.epoch,
            version: 5,
            ids: vec!["teams/2".into()]
        }
    );
}

pub(super) async fn hints_name_up_to_the_limit_of_objects(home: Home) {
    let store = fresh(&home).await;
    let mut hints = store.hints();
    let ids: Vec<_> = (0..40).map(|n| format!("{n}\u{1}\"\\/é")).collect();
    let batch: Vec<_> = ids.iter().map(|id| event("teams", id, "{}")).collect();
    append(&store, &batch).await;
    let hint = next(&mut hints).await;
    assert_eq!(hint.version, 40);
    let expected: Vec<_> = ids[..HINT_IDS_MAX]
        .iter()
        .map(|id| format!("teams/{id}"))
        .collect();
    assert_eq!(hint.ids, expected);
}

pub(super) async fn a_deletion_is_hinted_with_an_empty_epoch(home: Home) {
    let store = fresh(&home).await;
    let other = home.another(&store).await;
    let mut hints = other.hints();
    store.delete("c").await.unwrap();
    store.delete("c").await.unwrap();
    let hint = next(&mut hints).await;
    assert_eq!((hint.contest.as_str(), hint.epoch.as_str()), ("c", ""));
    store.create("c").await.unwrap();
    append(&store, &[event("teams", "1", "{}")]).await;
    assert_eq!(next(&mut hints).await.version, 1);
}

pub(super) async fn two_callers_who_saw_the_same_epoch_renew_it_once(home: Home) {
    let store = fresh(&home).await;
    let other = home.another(&store).await;
    let old = store
        .append("c", &[event("teams", "1", "{}")])
        .await
        .unwrap()
        .tip;
    let (one, two) = tokio::join!(store.renew("c", &old.epoch), other.renew("c", &old.epoch));
    let (one, two) = (one.unwrap(), two.unwrap());
    assert_eq!(one, two);
    assert_ne!(one.epoch, old.epoch);
    assert_eq!(one.sequence, 1);
    // A late third one changes nothing either.
    assert_eq!(store.renew("c", &old.epoch).await.unwrap(), one);
    assert_eq!(
        store.tips(&["c".into()]).await.unwrap()[0].as_ref(),
        Some(&one)
    );
    // The log and its repeats go on.
    assert_eq!(
        append(
            &store,
            &[event("teams", "1", "{}"), event("teams", "2", "{}")]
        )
        .await,
        [Repeated(1), Accepted(2)]
    );
    assert_eq!(store.read("c", 0, 10).await.unwrap().tip.epoch, one.epoch);
}

pub(super) async fn a_ticket_is_good_once_and_not_for_ever(home: Home) {
    let store = home.open().await;
    let other = home.another(&store).await;
    let secret = |name: &str| Digest::of(&[name.as_bytes()]);
    store
        .put_ticket(secret("a"), "jury of c", Duration::from_secs(60))
        .await
        .unwrap();
    assert_eq!(other.take_ticket(secret("b")).await.unwrap(), None);
    let (one, two) = tokio::join!(
        store.take_ticket(secret("a")),
        other.take_ticket(secret("a"))
    );
    let taken: Vec<_> = [one.unwrap(), two.unwrap()].into_iter().flatten().collect();
    assert_eq!(taken, ["jury of c"]);

    store
        .put_ticket(secret("long"), "x", Duration::from_secs(60))
        .await
        .unwrap();
    // Taking it to see whether it has ended would end it: so each look is at a ticket of its own.
    let lifetime = Duration::from_millis(50);
    for n in 0..20 {
        store
            .put_ticket(secret(&format!("short {n}")), "x", lifetime)
            .await
            .unwrap();
    }
    let n = std::sync::atomic::AtomicUsize::new(0);
    eventually("a ticket has ended", async || {
        let n = n.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        store
            .take_ticket(secret(&format!("short {n}")))
            .await
            .unwrap()
            .is_none()
    })
    .await;
    assert_eq!(
        store.take_ticket(secret("long")).await.unwrap().as_deref(),
        Some("x")
    );
}

pub(super) async fn one_of_two_racers_claims_the_admin_key(home: Home) {
    let store = home.open().await;
    let other = home.another(&store).await;
    assert_eq!(store.admin_key().await.unwrap(), None);
    let (a, b) = (Digest::of(&[b"a"]), Digest::of(&[b"b"]));
    let (one, two) = tokio::join!(store.claim_admin_key(a), other.claim_admin_key(b));
    let holds = one.unwrap();
    assert_eq!(two.unwrap(), holds);
    assert!(holds == a || holds == b);
    assert_eq!(other.admin_key().await.unwrap(), Some(holds));
    store.close().await;
    let store = home.open().await;
    assert_eq!(store.admin_key().await.unwrap(), Some(holds));
    assert_eq!(
        store.claim_admin_key(Digest::of(&[b"c"])).await.unwrap(),
        holds
    );
}

pub(super) async fn everything_is_there_after_reopening(home: Home) {
    let store = fresh(&home).await;
    let batch = [
        from("s", "1", event("teams", "1", r#""A""#)),
        event("teams", "1", r#""B""#),
        singleton("contest", "{}"),
    ];
    let tip = store.append("c", &batch).await.unwrap().tip;
    store.create("d").await.unwrap();
    let renewed = store
        .renew(
            "d",
            &store.tips(&["d".into()]).await.unwrap()[0]
                .clone()
                .unwrap()
                .epoch,
        )
        .await
        .unwrap();
    let before = log(&store, "c").await;
    store.create("gone").await.unwrap();
    store.append("gone", &batch).await.unwrap();
    store.delete("gone").await.unwrap();
    store.close().await;

    let store = home.open().await;
    assert_eq!(store.contests().await.unwrap(), ["c", "d"]);
    assert_eq!(
        store.tips(&["c".into(), "d".into()]).await.unwrap(),
        [Some(tip), Some(renewed)]
    );
    assert_eq!(log(&store, "c").await, before);
    assert_eq!(
        append(&store, &batch).await,
        [Repeated(1), Repeated(2), Repeated(3)]
    );
    assert_eq!(
        append(&store, &[event("teams", "1", r#""A""#)]).await,
        [Accepted(4)]
    );
}

pub(super) async fn a_closed_store_is_away(home: Home) {
    let store = fresh(&home).await;
    let late = {
        let store = store.clone();
        tokio::spawn(async move { store.append("c", &[event("teams", "1", "{}")]).await })
    };
    store.close().await;
    store.close().await;
    // What was under way was finished or turned away, never half done.
    let late = late.await.unwrap();
    let away = |answer: Result<(), StoreError>| {
        assert!(matches!(answer, Err(StoreError::Away(_))), "{answer:?}");
    };
    away(store.append("c", &[]).await.map(drop));
    away(store.read("c", 0, 1).await.map(drop));
    away(store.tips(&["c".into()]).await.map(drop));
    away(store.create("d").await.map(drop));
    away(store.contests().await.map(drop));
    away(store.projection("c").await.map(drop));
    away(store.take_ticket(Digest::of(&[])).await.map(drop));
    away(store.admin_key().await.map(drop));
    away(store.check().await);
    let store = home.open().await;
    assert_eq!(log(&store, "c").await.len(), usize::from(late.is_ok()));
}

pub(super) async fn a_healthy_store_checks_out(home: Home) {
    let store = fresh(&home).await;
    store.check().await.unwrap();
    store.check().await.unwrap();
    assert_eq!(store.contests().await.unwrap(), ["c"]);
}
