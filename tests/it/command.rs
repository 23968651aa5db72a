//! The command line: what each command does, prints, and ends with.

mod import;
mod judge;
mod load;
mod serve;
mod verify;

use std::process::{Command, Output};

/// The program, knowing nothing of the surroundings.
fn rankcast(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rankcast"));
    for (name, _) in
        std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("RANKCAST_"))
    {
        command.env_remove(name);
    }
    command.args(words).env("RANKCAST_LOG", "error");
    command
}

/// Everything that a command said.
fn text(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Checks how a command ended; gives what it said.
fn ended(output: &Output, code: i32) -> String {
    let said = text(output);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    said
}
