//! rankcast keeps rankings and pushes them live.

pub mod board;
pub mod contest;
pub mod hub;
pub mod protocol;
pub mod web;
pub mod store;
