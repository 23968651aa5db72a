//! rankcast keeps rankings and pushes them live.

pub mod board;
pub mod cli;
pub mod contest;
pub mod feed;
pub mod hub;
pub mod protocol;
pub mod server;
pub mod store;
pub mod web;
