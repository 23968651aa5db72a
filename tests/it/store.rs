//! The conformance suite of the store contract: the same cases against the embedded store and against Redis, and what
//! only one of them has to prove.

mod cases;
mod embedded_only;
mod model;
mod redis_only;

use std::sync::Arc;

use rankcast::store::{Append, SharedStore, StoreError, embedded::Embedded, redis::Redis};
use tempfile::TempDir;

use crate::common::redis::RedisServer;

/// Where a store under test lives.
enum Home {
    Embedded(TempDir),
    Redis(RedisServer),
}

impl Home {
    fn embedded() -> Self {
        Self::Embedded(tempfile::tempdir().expect("a directory"))
    }

    fn redis() -> Self {
        Self::Redis(RedisServer::start())
    }

    async fn open(&self) -> SharedStore {
        match self {
            Self::Embedded(directory) => Embedded::open(directory.path()).expect("opens"),
            Self::Redis(server) => Redis::connect(&server.url()).await.expect("connects"),
        }
    }

    /// Another way to the same store: a second connection, or the one handle that a file allows.
    async fn another(&self, store: &SharedStore) -> SharedStore {
        match self {
            Self::Embedded(_) => Arc::clone(store),
            Self::Redis(_) => self.open().await,
        }
    }
}

/// An event of one object.
fn event(kind: &str, id: &str, data: &str) -> Append {
    Append {
        kind: kind.into(),
        id: Some(id.into()),
        replaces: false,
        source: "judge".into(),
        token: None,
        data: data.into(),
    }
}

/// An event of a singleton.
fn singleton(kind: &str, data: &str) -> Append {
    Append {
        id: None,
        ..event(kind, "", data)
    }
}

/// An event that replaces a collection.
fn replacement(kind: &str, data: &str) -> Append {
    Append {
        replaces: true,
        ..singleton(kind, data)
    }
}

/// The same event, with a source and its token.
fn from(source: &str, token: &str, append: Append) -> Append {
    Append {
        source: source.into(),
        token: Some(token.into()),
        ..append
    }
}

fn no_such_contest<T>(answer: &Result<T, StoreError>) -> bool {
    matches!(answer, Err(StoreError::NoSuchContest(_)))
}

/// Makes a test of each case for each store.
macro_rules! both {
    ($($case:ident)*) => {
        mod embedded {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() { super::cases::$case(super::Home::embedded()).await; })*
        }
        mod redis {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() { super::cases::$case(super::Home::redis()).await; })*
        }
    };
}

both! {
    a_contest_is_created_once_and_deleted_once
    contests_are_listed_in_order
    a_contest_created_again_begins_an_empty_log_in_a_new_epoch
    unknown_contests_are_reported_by_every_method
    sequence_numbers_have_no_gaps_across_batches
    concurrent_appenders_leave_no_gaps_and_agree_on_repeats
    records_come_back_as_they_were_sent
    odd_ids_and_sources_stay_apart
    large_events_and_full_batches_fit
    an_empty_batch_answers_the_tip
    a_batch_that_is_too_large_or_broken_writes_nothing
    a_token_repeats_with_the_same_content_from_the_same_source_only
    tokens_of_repeats_are_remembered
    the_newest_content_repeats_and_an_older_one_does_not
    earlier_events_of_a_batch_count_for_later_ones
    a_replacement_makes_its_objects_new_again
    reads_are_cut_at_the_limit_and_go_on_from_there
    tips_are_answered_in_the_order_asked
    a_hint_follows_an_append_and_none_follows_repeats
    hints_name_up_to_the_limit_of_objects
    a_deletion_is_hinted_with_an_empty_epoch
    two_callers_who_saw_the_same_epoch_renew_it_once
    a_ticket_is_good_once_and_not_for_ever
    one_of_two_racers_claims_the_admin_key
    everything_is_there_after_reopening
    a_closed_store_is_away
    a_healthy_store_checks_out
}
