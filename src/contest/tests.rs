//! The fold against RULES: rule by rule, case by case, and as properties of every history.

mod cases;
mod freeze;
mod history;
mod lines;
mod packs;
mod parsing;
mod properties;
mod reference;
mod scoring;
mod story;
