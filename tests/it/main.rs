//! The integration tests: one binary, real sockets, real servers on free ports.

mod command;
mod common;
mod fixtures;
mod http;
mod live;
mod packs;
mod store;
