//! rankcast keeps rankings and pushes them live.

pub mod store;
