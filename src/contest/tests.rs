//! The fold against RULES: rule by rule, case by case, and as properties of every history.

mod cases;
mod packs;
mod parsing;
mod properties;
mod reference;
mod scoring;
mod story;
