//! Feeds: what comes from elsewhere in a form of its own.
//!
//! [`clics`] tells when the lines of a feed happened; [`follow`] follows one at a judge, wherever it is to go: [`inside`] a server.

pub mod clics;
pub mod embargo;
pub mod follow;
pub mod inside;
pub mod lines;
pub mod replica;
pub mod upstream;
