//! Feeds: what comes from elsewhere in a form of its own.

pub mod clics;
