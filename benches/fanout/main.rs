//! What it costs to bring an update to many viewers: rankcast beside the bare write loop and its peers, in one run.
//!
//! `cargo bench --bench fanout` measures rankcast and the loop, `-- --peers` the peers too (`scripts/bench peers` installs
//! them before). Every server runs alone on one core, the viewers and whatever else is needed on another; each round starts
//! every server anew, and ratios are medians of ratios within a round. Results: `target/bench/fanout.json`, `peers.json`.
//! Loopback only, ends by itself.

mod bare;
mod frames;
mod job;
mod machine;
mod measure;
mod process;
mod publish;
mod rankcast;
mod server;
mod table;
mod watch;

use std::{net::SocketAddr, path::PathBuf};

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use serde_json::json;

use process::{Cores, raise_files};
use rankcast::Store;
use server::{Kind, Setup};
use table::Table;

/// Where results go.
const RESULTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target/bench");

/// Viewers of the TLS row.
const TLS_VIEWERS: usize = 5_000;

#[derive(Parser)]
struct Options {
    #[command(subcommand)]
    mode: Option<Mode>,
    /// Compare with nginx + Nchan, ws, Socket.IO and Centrifugo, as far as they are installed; and measure behind TLS
    #[arg(long)]
    peers: bool,
    /// How many viewers
    #[arg(long, value_delimiter = ',', default_values_t = [1_000, 5_000, 15_000])]
    viewers: Vec<usize>,
    /// How often everything is measured
    #[arg(long, env = "BENCH_RUNS", default_value_t = 5)]
    runs: usize,
    /// Only these rows: bare, embedded, redis, nchan, ws, socketio, centrifugo, tls, job
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// The program to measure
    #[arg(long, default_value = env!("CARGO_BIN_EXE_rankcast"))]
    rankcast: PathBuf,
    /// Given by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Subcommand)]
enum Mode {
    /// The bare write loop
    #[command(hide = true)]
    Bare {
        #[arg(long)]
        listen: SocketAddr,
    },
}

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let files = raise_files()?;
    if let Some(Mode::Bare { listen }) = options.mode {
        return bare::serve(listen);
    }
    let cores = Cores::take()?;
    match cores.pair {
        Some((theirs, ours)) => println!("server on core {theirs}, viewers on core {ours}"),
        None => println!("only one core: server and viewers share it, so latencies say little"),
    }
    let setup = Setup {
        cores,
        files,
        rankcast: options.rankcast,
        installed: PathBuf::from(RESULTS).join("peers"),
    };
    let wanted =
        |name: &str| options.only.is_empty() || options.only.iter().any(|only| only == name);
    let peers = options.peers;
    let kinds: Vec<Kind> = [
        ("bare", Kind::Bare, true),
        ("embedded", Kind::Rankcast(Store::Embedded), true),
        ("redis", Kind::Rankcast(Store::Redis), true),
        ("nchan", Kind::Nchan, peers),
        ("ws", Kind::Ws, peers),
        ("socketio", Kind::SocketIo, peers),
        ("centrifugo", Kind::Centrifugo, peers),
    ]
    .into_iter()
    .filter(|(name, _, asked)| *asked && wanted(name))
    .map(|(_, kind, _)| kind)
    .collect();

    let machine = machine::machine();
    let date = jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
    println!("{date}, {machine}");
    let mut results = json!({
        "date": date,
        "machine": machine,
        "versions": machine::versions(&setup, &kinds),
        "pinned": setup.cores.pair.is_some(),
    });
    if !kinds.is_empty() {
        let table = Table::measure(&setup, &kinds, &options.viewers, options.runs);
        table.print();
        results["table"] = table.json();
    }
    if peers && wanted("tls") {
        let kinds = [Kind::Rankcast(Store::Embedded), Kind::Tls];
        let table = Table::measure(&setup, &kinds, &[TLS_VIEWERS], options.runs);
        println!("\nBehind nginx with TLS:");
        table.print();
        results["tls"] = table.json();
    }
    if wanted("job") {
        results["job"] = job::measure(&setup, peers, options.runs)?;
    }
    std::fs::create_dir_all(RESULTS)?;
    let file = PathBuf::from(RESULTS).join(if peers { "peers.json" } else { "fanout.json" });
    std::fs::write(&file, serde_json::to_vec_pretty(&results)?)
        .with_context(|| file.display().to_string())?;
    println!("\nwritten: {}", file.display());
    Ok(())
}
