//! `rankcast serve`: the server.

use std::{
    io::{IsTerminal as _, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Context as _;
use clap::Args;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::{Outcome, contest_id, import::live::FeedOptions};
use crate::{
    hub::TICK,
    server::{AdminKey, Followed, Options, Server, StoreChoice},
    web::Limits,
};

/// Where the embedded store and the admin key are, unless said otherwise.
pub const DATA_DIR: &str = "rankcast-data";

/// The file of the admin key in the data directory.
pub const KEY_FILE: &str = "admin.key";

/// Options of `rankcast serve`.
#[derive(Clone, Debug, Args)]
pub struct Serve {
    /// Where to listen; port 0 takes a free one
    #[arg(
        long,
        env = "RANKCAST_LISTEN",
        default_value = "127.0.0.1:8080",
        value_name = "ADDRESS"
    )]
    pub listen: String,
    /// The directory of the embedded store, and of the admin key if one has to be made
    #[arg(long, env = "RANKCAST_DATA", default_value = DATA_DIR, value_name = "DIR")]
    pub data: PathBuf,
    /// Keep everything in this Redis instead, which several servers may share
    #[arg(long, env = "RANKCAST_REDIS", value_name = "URL")]
    pub redis: Option<String>,
    /// A judge's live feed to follow into a contest, which is made if it is not there; may be given several times
    #[arg(long, env = "RANKCAST_FOLLOW", value_name = "CONTEST=URL", value_parser = followed, value_delimiter = ' ')]
    pub follow: Vec<(String, String)>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub feed: FeedOptions,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub limits: LimitArgs,
}

/// Reads a contest and the feed that it follows.
fn followed(text: &str) -> Result<(String, String), String> {
    let (contest, url) = text.split_once('=').ok_or_else(|| {
        "expected CONTEST=URL, such as finals=https://judge/api/contests/1/event-feed".to_owned()
    })?;
    Ok((contest_id(contest)?, url.to_owned()))
}

/// Limits of a server.
#[derive(Clone, Debug, Args)]
pub struct LimitArgs {
    /// The largest request body, in bytes
    #[arg(long, env = "RANKCAST_MAX_BODY", default_value_t = Limits::default().body, value_name = "BYTES")]
    pub max_body: usize,
    /// The most live connections
    #[arg(long, env = "RANKCAST_MAX_VIEWERS", default_value_t = Limits::default().viewers, value_name = "N")]
    pub max_viewers: usize,
    /// The shortest time between two frames of a board, in ms; 0: every change has a frame of its own
    #[arg(long, env = "RANKCAST_TICK", default_value_t = TICK.as_millis() as u64, value_name = "MS")]
    pub tick: u64,
    /// How many live connections are let in a second; after a failure of the Wi-Fi all come back at once
    #[arg(long, env = "RANKCAST_JOIN_RATE", default_value_t = Limits::default().joins, value_name = "N")]
    pub join_rate: u32,
    /// How many answers about earlier standings (`…/board?at=`) are worked out at once; others wait
    #[arg(long, env = "RANKCAST_MAX_PASTS", default_value_t = Limits::default().pasts, value_name = "N")]
    pub max_pasts: usize,
    /// How many may follow event feeds
    #[arg(long, env = "RANKCAST_MAX_FEEDS", default_value_t = Limits::default().feeds, value_name = "N")]
    pub max_feeds: usize,
    /// How long a viewer's socket may take nothing of what is written to it, in seconds, before it is closed as too slow
    #[arg(long, env = "RANKCAST_WRITE_TIMEOUT", default_value_t = Limits::default().write.as_secs(), value_name = "S")]
    pub write_timeout: u64,
}

impl LimitArgs {
    /// The limits that were asked for.
    pub fn limits(&self) -> Limits {
        Limits {
            body: self.max_body,
            viewers: self.max_viewers,
            write: Duration::from_secs(self.write_timeout.max(1)),
            joins: self.join_rate,
            pasts: self.max_pasts,
            feeds: self.max_feeds,
        }
    }
}

impl Serve {
    /// Serves until a signal comes.
    pub async fn run(self) -> anyhow::Result<Outcome> {
        // An address that is taken is said before a store is opened.
        let listener = bind(&self.listen).await?;
        let store = match self.redis {
            Some(url) => StoreChoice::Redis(url),
            None => StoreChoice::Embedded(self.data.clone()),
        };
        // Not an option: a command line can be read by everyone on the machine.
        // Space around it, as files and editors leave it, is no part of a key: none could be sent so.
        let admin_key = std::env::var("RANKCAST_ADMIN_KEY")
            .ok()
            .map(|key| key.trim().to_owned())
            .filter(|key| !key.is_empty());
        let follow = self.follow.iter().map(|(contest, url)| {
            Ok(Followed {
                contest: contest.clone(),
                upstream: self.feed.upstream(url)?,
                silence: self.feed.silence(),
            })
        });
        let follow = follow.collect::<anyhow::Result<Vec<_>>>()?;
        let server = Server::new(Options {
            follow,
            store,
            admin_key,
            tick: Duration::from_millis(self.limits.tick),
            limits: self.limits.limits(),
        })
        .await?;
        if let Some(open_files) = raise_open_files() {
            check_open_files(open_files, self.limits.max_viewers);
        }
        if let AdminKey::Made(key) = server.admin_key() {
            tell_key(key, &self.data)?;
        }
        // Whoever reads the line may send a signal.
        stop_on_signal(server.stopper())?;
        println!("rankcast listens on http://{}", listener.local_addr()?);
        std::io::stdout().flush()?;
        server.listen(listener).await?;
        Ok(Outcome::Good)
    }
}

/// Files that a server needs besides one for each viewer: the store, requests under way, those who wait to be let in.
const FILES_BESIDES_VIEWERS: u64 = 256;

/// Each viewer is an open file, and systems allow 1,024 until somebody asks for more. Answers how many there may be now.
pub fn raise_open_files() -> Option<u64> {
    match rlimit::increase_nofile_limit(u64::MAX) {
        Ok(open_files) => {
            metrics::gauge!("rankcast_open_files_max").set(open_files as f64);
            tracing::info!(open_files, "limit of open files");
            Some(open_files)
        }
        Err(error) => {
            tracing::warn!(%error, "the limit of open files cannot be raised");
            None
        }
    }
}

/// What cannot be had is said now rather than when the last seat is asked for.
fn check_open_files(open_files: u64, viewers: usize) {
    let needed = (viewers as u64).saturating_add(FILES_BESIDES_VIEWERS);
    if open_files < needed {
        tracing::warn!(
            open_files,
            needed,
            "fewer viewers than --max-viewers fit: raise the limit of open files (ulimit -Hn, LimitNOFILE=)"
        );
    }
}

/// Takes an address to listen on.
pub async fn bind(address: &str) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| {
        format!("cannot listen on {address} (another address can be given with --listen)")
    })
}

/// Stops the server at SIGINT or SIGTERM.
pub fn stop_on_signal(stop: CancellationToken) -> anyhow::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("stopping");
        stop.cancel();
    });
    Ok(())
}

/// A new key is shown to a person, else left in a file that nobody else can read.
fn tell_key(key: &str, data: &Path) -> anyhow::Result<()> {
    if std::io::stderr().is_terminal() {
        eprintln!("admin key, shown this once: {key}");
        return Ok(());
    }
    let path = data.join(KEY_FILE);
    write_secret(&path, key).with_context(|| {
        format!(
            "cannot write the admin key to {}; it is lost: choose one with RANKCAST_ADMIN_KEY",
            path.display()
        )
    })?;
    eprintln!("admin key made; it is in {}", path.display());
    Ok(())
}

fn write_secret(path: &Path, secret: &str) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    // A file that is there may be open to others, and would stay so.
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    writeln!(file, "{secret}")?;
    file.sync_all()
}
