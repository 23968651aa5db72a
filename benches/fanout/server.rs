//! The servers that are compared: how each is started, watched and published to.

use std::{
    fs,
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
};

use anyhow::{Context as _, ensure};
use rustls::{
    ClientConfig, RootCertStore, pki_types::CertificateDer, pki_types::pem::PemObject as _,
};

use super::{
    frames::Dialect,
    process::{Cores, Process},
    publish::Request,
    rankcast::{self, Store},
    watch::Place,
};

/// A peer's files.
const PEERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers");

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bare,
    Rankcast(Store),
    Nchan,
    Ws,
    SocketIo,
    Centrifugo,
    /// nginx with TLS before rankcast.
    Tls,
}

/// What is needed to start any of them.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) cores: Cores,
    /// How many files a process may open.
    pub(crate) files: u64,
    /// rankcast's program.
    pub(crate) rankcast: PathBuf,
    /// Where the peers from npm and Go are installed.
    pub(crate) installed: PathBuf,
}

/// A server that runs.
pub(crate) struct Server {
    /// The one that is measured.
    pub(crate) process: Process,
    /// Those that it needs, whose CPU is named apart.
    pub(crate) beside: Vec<(&'static str, Process)>,
    pub(crate) place: Place,
    pub(crate) publisher: SocketAddr,
    /// The n-th update.
    pub(crate) publish: Box<dyn Fn(usize) -> Request>,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare write loop",
            Self::Rankcast(Store::Embedded) => "rankcast, embedded",
            Self::Rankcast(Store::Redis) => "rankcast, Redis",
            Self::Nchan => "nginx + Nchan",
            Self::Ws => "ws",
            Self::SocketIo => "Socket.IO",
            Self::Centrifugo => "Centrifugo",
            Self::Tls => "rankcast behind nginx, TLS",
        }
    }

    /// Why it cannot be measured here.
    pub(crate) fn missing(self, setup: &Setup) -> Option<&'static str> {
        match self {
            Self::Nchan | Self::Tls if version("nginx", &["-v"]).is_none() => Some("no nginx"),
            Self::Ws | Self::SocketIo if !setup.installed.join("node_modules").is_dir() => {
                Some("not installed (scripts/bench peers)")
            }
            Self::Centrifugo if !setup.centrifugo().is_file() => Some("no Go"),
            _ => None,
        }
    }

    /// What exactly is measured.
    pub(crate) fn version(self, setup: &Setup) -> Option<String> {
        let package = |name: &str| {
            let path = setup
                .installed
                .join(format!("node_modules/{name}/package.json"));
            let read: serde_json::Value = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
            let node = version("node", &["--version"])?;
            Some(format!("{}, node {node}", read["version"].as_str()?))
        };
        match self {
            Self::Bare => None,
            Self::Rankcast(Store::Embedded) => version(setup.rankcast.to_str()?, &["--version"]),
            Self::Rankcast(Store::Redis) => version("redis-server", &["--version"]),
            Self::Nchan => {
                let module = version("dpkg-query", &["-W", "-f=${Version}", "libnginx-mod-nchan"]);
                Some(format!(
                    "{}, Nchan {}",
                    version("nginx", &["-v"])?,
                    module.unwrap_or_default()
                ))
            }
            Self::Ws => package("ws"),
            Self::SocketIo => package("socket.io"),
            Self::Centrifugo => version(setup.centrifugo().to_str()?, &["version"]),
            Self::Tls => version("nginx", &["-v"]),
        }
    }

    /// Starts it. `dir`: an empty directory.
    pub(crate) fn start(self, setup: &Setup, dir: &Path) -> anyhow::Result<Server> {
        let address = free_port()?;
        let port = address.port().to_string();
        let fill = |name: &str, behind: Option<SocketAddr>| -> anyhow::Result<PathBuf> {
            let user = if rustix::process::geteuid().is_root() {
                "user root;"
            } else {
                ""
            };
            let text = fs::read_to_string(Path::new(PEERS).join(name))?
                .replace("@user@", user)
                .replace("@files@", &setup.files.to_string())
                .replace("@dir@", dir.to_str().context("a path that is not UTF-8")?)
                .replace("@behind@", &behind.unwrap_or(address).to_string())
                .replace("@port@", &port);
            let path = dir.join(name);
            fs::write(&path, text)?;
            Ok(path)
        };
        let nginx = |config: &Path| {
            let mut command = Command::new("nginx");
            command.arg("-p").arg(dir).arg("-c").arg(config);
            command
        };
        let mut command = match self {
            Self::Rankcast(store) => {
                return rankcast::server(&setup.rankcast, store, setup.cores, dir);
            }
            Self::Tls => {
                let mut server =
                    rankcast::server(&setup.rankcast, Store::Embedded, setup.cores, dir)?;
                let tls = certify(dir)?;
                let config = fill("tls.conf", Some(server.place.address))?;
                let mut proxy = setup.cores.measured(&mut nginx(&config))?;
                proxy.ready(address)?;
                server.place.address = address;
                server.place.tls = Some(tls);
                server.beside.push(("nginx", proxy));
                return Ok(server);
            }
            Self::Bare => {
                let mut command = Command::new(std::env::current_exe()?);
                command.args(["bare", "--listen", &address.to_string()]);
                command
            }
            Self::Nchan => nginx(&fill("nchan.conf", None)?),
            Self::Ws | Self::SocketIo => {
                let script = if self == Self::Ws {
                    "ws.js"
                } else {
                    "socketio.js"
                };
                let mut command = Command::new("node");
                command
                    .arg(Path::new(PEERS).join(script))
                    .arg(&port)
                    .env("NODE_PATH", setup.installed.join("node_modules"))
                    .env("NODE_ENV", "production");
                command
            }
            Self::Centrifugo => {
                let mut command = Command::new(setup.centrifugo());
                command.arg("--config").arg(fill("centrifugo.json", None)?);
                command
            }
        };
        let mut process = setup.cores.measured(command.stdout(Stdio::null()))?;
        process.ready(address)?;
        let (path, dialect) = match self {
            Self::Nchan => ("/sub", Dialect::Plain),
            Self::SocketIo => ("/socket.io/?EIO=4&transport=websocket", Dialect::SocketIo),
            Self::Centrifugo => ("/connection/websocket", Dialect::Centrifugo),
            _ => ("/", Dialect::Plain),
        };
        Ok(Server {
            process,
            beside: Vec::new(),
            place: Place {
                address,
                path: path.to_owned(),
                dialect,
                tls: None,
            },
            publisher: address,
            publish: Box::new(move |n| self.request(payload(n).as_bytes())),
        })
    }

    /// How a peer is asked to publish.
    pub(crate) fn request(self, payload: &[u8]) -> Request {
        match self {
            Self::Centrifugo => {
                let body = [br#"{"channel":"bench","data":"#, payload, b"}"].concat();
                Request::post(
                    "/api/publish",
                    "X-API-Key: bench\r\nContent-Type: application/json\r\n",
                    body,
                )
            }
            _ => Request::post("/pub", "", payload),
        }
    }
}

impl Setup {
    fn centrifugo(&self) -> PathBuf {
        self.installed.join("bin/centrifugo")
    }
}

/// 120 bytes, about as large as a delta.
fn payload(n: usize) -> String {
    // Of seven digits, whatever the number.
    let version = 1_000_000 + n;
    format!(
        r#"{{"type":"delta","from":{version},"version":{version},"rows":[{{"id":"t148","values":[9,979,259],"cells":{{"F":{{"time":259}}}}}}]}}"#
    )
}

/// Makes a certificate, and a client that trusts it.
fn certify(dir: &Path) -> anyhow::Result<Arc<ClientConfig>> {
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
        ])
        .args([
            "-nodes", "-days", "2", "-keyout", "key.pem", "-out", "cert.pem", "-config",
        ])
        .arg(Path::new(PEERS).join("cert.conf"))
        .current_dir(dir)
        .output()
        .context("openssl")?;
    ensure!(
        made.status.success(),
        "openssl: {}",
        String::from_utf8_lossy(&made.stderr)
    );
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(dir.join("cert.pem"))?)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

/// The first line that a program says about its version.
pub(crate) fn version(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    said.lines().next().map(|line| line.trim().to_owned())
}

pub(crate) fn free_port() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}
