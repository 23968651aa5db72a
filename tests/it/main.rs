//! The integration tests: one binary, real sockets, real servers on free ports.

mod common;
mod fixtures;
mod live;
mod packs;
mod store;
