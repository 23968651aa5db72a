//! The command line: options and commands. Every option has an environment variable `RANKCAST_…`.

pub mod client;
pub mod demo;
pub mod doctor;
pub mod export;
pub mod import;
pub mod judge;
pub mod load;
pub mod serve;
pub mod verify;

use clap::{Args, Parser, Subcommand};

use crate::contest::is_id;

/// Keeps rankings and pushes them live.
#[derive(Debug, Parser)]
#[command(name = "rankcast", version, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the server; it keeps everything in one file unless --redis is given
    Serve(serve::Serve),
    /// Run a server with a simulated contest, to try it out; nothing is kept
    Demo(demo::Demo),
    /// Send a contest to a server: a pack (a directory with event-feed.ndjson), a feed file, or a judge's live feed
    Import(import::Import),
    /// Fold a contest again and compare it with what is served, with a file of expected results, or with the judge's scoreboard
    Verify(verify::Verify),
    /// Write the results in the forms that others take
    Export(export::Export),
    /// Check the surroundings: what so many viewers need; whether a judge can be followed
    Doctor(doctor::Doctor),
    /// Test the capacity of a server: viewers that follow a contest of the test's own, and a judge
    Load(load::Load),
}

/// Which server to talk to.
#[derive(Clone, Debug, Args)]
pub struct Target {
    /// The server
    #[arg(
        long,
        env = "RANKCAST_SERVER",
        default_value = "http://127.0.0.1:8080",
        value_name = "URL"
    )]
    pub server: String,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub access: Access,
}

/// What the server is to be shown.
#[derive(Clone, Debug, Args)]
pub struct Access {
    /// The access key; better given by its variable than here, where others on the machine can see it. Without it the key
    /// that `serve` left in --data is used
    #[arg(long, env = "RANKCAST_KEY", hide_env_values = true, value_name = "KEY")]
    pub key: Option<String>,
    /// Where to look for that key
    #[arg(long, env = "RANKCAST_DATA", default_value = serve::DATA_DIR, value_name = "DIR")]
    pub data: std::path::PathBuf,
}

impl Cli {
    /// Does what was asked.
    pub async fn run(self) -> anyhow::Result<Outcome> {
        match self.command {
            Command::Serve(serve) => serve.run().await,
            Command::Demo(demo) => demo.run().await,
            Command::Import(import) => import.run().await,
            Command::Verify(verify) => verify.run().await,
            Command::Export(export) => export.run().await,
            Command::Doctor(doctor) => doctor.run().await,
            Command::Load(load) => load.run().await,
        }
    }
}

/// Reads a contest's id.
fn contest_id(text: &str) -> Result<String, String> {
    if is_id(text) {
        Ok(text.to_owned())
    } else {
        Err(
            "expected 1 to 36 of A-Z a-z 0-9 _ . -, not starting with - or ., not ending with ."
                .to_owned(),
        )
    }
}

/// How a command ended, without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All is well: exit code 0.
    Good,
    /// It did its work, and something is not right: exit code 1.
    Bad,
}
