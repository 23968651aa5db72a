//! rankcast keeps rankings and pushes them live.
//!
//! The layers, bottom to top; each imports those above it in this list, never those below:
//!
//! | module | what lives there |
//! |---|---|
//! | [`board`] | ordered lists that can be watched: keys, ranks, windows, deltas. Pure |
//! | [`contest`] | the fold from CLICS events to the standings of each view. Pure |
//! | [`protocol`] | messages on the wire, positions, close codes, frames encoded once |
//! | [`store`] | where events are kept: [`store::embedded`] in one file, [`store::redis`] in Redis |
//! | [`hub`] | tails logs, folds them, makes frames for those who watch |
//! | [`feed`] | what comes from elsewhere in a form of its own |
//! | [`web`] | the HTTP edge |
//! | [`server`] | puts the parts together |
//! | [`cli`] | the command line |
//!
//! The way of an update, from a judge's post to a viewer's frame: [`web::judge`], [`store`], [`hub::contest`],
//! [`contest::state`], [`board`], [`board::delta`], [`hub::lane`], [`hub::viewer`], [`web::live`].

pub mod board;
pub mod cli;
pub mod contest;
pub mod feed;
pub mod hub;
pub mod protocol;
pub mod server;
pub mod store;
pub mod web;
