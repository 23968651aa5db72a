//! rankcast keeps rankings and pushes them live.

pub mod board;
pub mod contest;
pub mod store;
