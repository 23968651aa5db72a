//! The fold against RULES: rule by rule, case by case, and as properties of every history.

mod awards;
mod cases;
mod ceremony;
mod feeds;
mod freeze;
mod history;
mod lines;
mod packs;
mod parsing;
mod past;
mod properties;
mod reference;
mod scoring;
mod story;
