//! What only the embedded store has to prove.

use std::{fs, path::Path};

use rankcast::store::{Outcome, Store as _, StoreError, embedded::Embedded};

use super::event;

const FILE: &str = "rankcast.redb";

/// A closed store with some events in it; gives its file's bytes.
async fn filled(directory: &Path) -> Vec<u8> {
    let store = Embedded::open(directory).unwrap();
    store.create("c").await.unwrap();
    for chunk in 0..10 {
        let batch: Vec<_> = (0..50)
            .map(|n| event("teams", &format!("{chunk}-{n}"), r#"{"name":"a team"}"#))
            .collect();
        store.append("c", &batch).await.unwrap();
    }
    store.close().await;
    fs::read(directory.join(FILE)).unwrap()
}

/// Opens a file with these bytes: it must work as a whole, or say that it is damaged and what to do.
async fn open_or_damaged(bytes: &[u8], what: &str) -> bool {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join(FILE), bytes).unwrap();
    match Embedded::open(directory.path()) {
        Ok(store) => {
            let slice = store.read("c", 0, 1000).await;
            assert!(
                slice.as_ref().is_ok_and(|slice| slice.events.len() == 500),
                "{what}: {slice:?}"
            );
            store
                .append("c", &[event("teams", "new", "{}")])
                .await
                .unwrap();
            store.close().await;
            true
        }
        Err(StoreError::Damaged(why)) => {
            assert!(
                why.contains(FILE) && why.contains("backup"),
                "{what}: {why}"
            );
            false
        }
        Err(other) => panic!("{what}: {other}"),
    }
}

#[tokio::test]
async fn a_second_open_is_refused_and_names_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let store = Embedded::open(directory.path()).unwrap();
    let Err(StoreError::Refused(why)) = Embedded::open(directory.path()) else {
        panic!("opened twice")
    };
    assert!(why.contains(FILE), "{why}");
    store.close().await;
    Embedded::open(directory.path()).unwrap().close().await;
}

#[tokio::test]
async fn a_missing_directory_is_made_and_an_impossible_one_refused() {
    let directory = tempfile::tempdir().unwrap();
    let deep = directory.path().join("a/b");
    Embedded::open(&deep).unwrap().close().await;
    let file = deep.join(FILE);
    assert!(matches!(Embedded::open(&file), Err(StoreError::Refused(_))));
}

#[tokio::test]
async fn a_truncated_file_is_reported_as_damaged() {
    let directory = tempfile::tempdir().unwrap();
    let bytes = filled(directory.path()).await;
    for length in [1, 17, 512, 4096, 5000, bytes.len() / 2, bytes.len() - 1] {
        assert!(!open_or_damaged(&bytes[..length], &format!("cut at {length}")).await);
    }
}

#[tokio::test]
async fn a_file_of_something_else_is_reported_as_damaged() {
    assert!(!open_or_damaged(&b"not a database. ".repeat(1000), "text").await);
    assert!(!open_or_damaged(&vec![0; 100_000], "zeros").await);
}

#[tokio::test]
async fn flipped_bits_are_reported_or_harmless_and_never_a_panic() {
    let directory = tempfile::tempdir().unwrap();
    let bytes = filled(directory.path()).await;
    let mut damaged = 0;
    // Everywhere in the header, and here and there after it.
    let places = (0..400)
        .step_by(3)
        .chain((400..bytes.len()).step_by(bytes.len() / 150));
    for at in places {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        damaged +=
            usize::from(!open_or_damaged(&flipped, &format!("bit {} of byte {at}", at % 8)).await);
    }
    assert!(damaged > 0, "no flip was noticed");
}

#[tokio::test]
async fn what_was_answered_is_in_the_file_without_a_close() {
    let directory = tempfile::tempdir().unwrap();
    let store = Embedded::open(directory.path()).unwrap();
    store.create("c").await.unwrap();
    for n in 1..=20 {
        let batch = [event("teams", &n.to_string(), "{}")];
        let tip = store.append("c", &batch).await.unwrap().tip;
        // The file as a crash at this moment would leave it.
        let crashed = tempfile::tempdir().unwrap();
        fs::copy(directory.path().join(FILE), crashed.path().join(FILE)).unwrap();
        let after = Embedded::open(crashed.path()).unwrap();
        assert_eq!(after.tips(&["c".into()]).await.unwrap(), [Some(tip)]);
        assert_eq!(
            after.append("c", &batch).await.unwrap().outcomes,
            [Outcome::Repeated(n)]
        );
        after.close().await;
    }
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_small_appends_share_commits_and_keep_their_order() {
    let directory = tempfile::tempdir().unwrap();
    let store = Embedded::open(directory.path()).unwrap();
    store.create("c").await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..2000 {
        let store = store.clone();
        tasks.spawn(async move {
            store
                .append("c", &[event("teams", &n.to_string(), "{}")])
                .await
                .unwrap()
                .outcomes[0]
        });
    }
    let mut numbers: Vec<_> = tasks
        .join_all()
        .await
        .into_iter()
        .map(Outcome::sequence)
        .collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=2000).collect::<Vec<_>>());
    store.close().await;
}
