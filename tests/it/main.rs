//! The integration tests: one binary, real sockets, real servers on free ports.

/// Runs each case, a function of a `Home`, on both stores.
macro_rules! both {
    ($($case:ident)*) => {
        mod embedded {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() { super::$case(crate::common::server::Home::embedded()).await; })*
        }
        mod redis {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() { super::$case(crate::common::server::Home::redis()).await; })*
        }
    };
}

mod ceremony;
mod command;
mod common;
mod fanout;
mod fixtures;
mod follow;
mod http;
mod leaks;
mod live;
mod packs;
mod store;
