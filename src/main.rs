//! The program: parses, sets up the log, runs the command, answers with its exit code.

use std::process::ExitCode;

use clap::Parser as _;
use rankcast::cli::{Cli, Outcome};
use tracing_subscriber::EnvFilter;

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    let filter = EnvFilter::try_from_env("RANKCAST_LOG")
        .unwrap_or_else(|_| EnvFilter::new("warn,rankcast=info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
    match cli.run().await {
        Ok(Outcome::Good) => ExitCode::SUCCESS,
        Ok(Outcome::Bad) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("rankcast: {error:#}");
            ExitCode::from(2)
        }
    }
}
