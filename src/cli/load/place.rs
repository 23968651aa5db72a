//! The servers under load: where they are, whether they may be put under load, and how to reach them.

use std::{io, net::SocketAddr, path::Path, sync::Arc, time::Duration};

use anyhow::{Context as _, bail};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};
use rustls_platform_verifier::BuilderVerifierExt as _;
use socket2::SockRef;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpSocket,
    time::timeout,
};
use tokio_rustls::TlsConnector;

/// How long it may take to reach a server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long one request may take before the next server is asked: one that hangs must not hold up the judge for long, and a
/// busy one may take its time.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(15);

/// The receive buffer of a slow viewer, in bytes. With the usual one the kernel would take minutes of frames for a viewer
/// that reads nothing, and the server would not notice.
const SMALL_BUFFER: u32 = 4096;

/// The largest segment that a slow viewer takes, in bytes: the least that everybody has to take (RFC 9293, 3.7.1). A sender's
/// buffer grows with it: with the 64 KB of a loopback it would hold more than a megabyte of frames.
const SMALL_SEGMENT: u32 = 536;

/// A connection of a viewer.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// One server, with its addresses: they are looked up once, and nothing else is ever connected to.
#[derive(Clone, Debug)]
pub struct Place {
    /// The URL without a slash at its end.
    pub base: String,
    /// The host and port, as requests name them.
    pub authority: String,
    /// What comes before `/api` in its paths.
    pub prefix: String,
    /// What WebSocket requests start with.
    pub socket_base: String,
    host: String,
    tls: bool,
    addresses: Vec<SocketAddr>,
}

/// All servers, and what is needed to talk to them.
pub struct Net {
    /// The servers.
    pub places: Vec<Place>,
    /// Talks HTTP to them.
    pub http: reqwest::Client,
    tls: TlsConnector,
}

impl Net {
    /// Looks the servers up. Those that are not on this machine are refused, unless that was asked for twice.
    pub async fn new(
        servers: &[String],
        allow_remote: bool,
        confirmed: &[String],
        ca: Option<&Path>,
    ) -> anyhow::Result<Self> {
        let mut places = Vec::new();
        for server in servers {
            let place = Place::look_up(server).await?;
            place.check(allow_remote, confirmed)?;
            places.push(place);
        }
        let tls = tls(ca)?;
        let mut http = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(REQUEST_TIMEOUT)
            .no_proxy()
            // Another address has not been checked.
            .redirect(reqwest::redirect::Policy::none())
            .tls_backend_preconfigured(tls.clone());
        for place in &places {
            http = http.resolve_to_addrs(&place.host, &place.addresses);
        }
        Ok(Self {
            places,
            http: http.build()?,
            tls: TlsConnector::from(Arc::new(tls)),
        })
    }

    /// Opens a connection for a viewer.
    pub async fn connect(&self, place: &Place, slow: bool) -> io::Result<Box<dyn Stream>> {
        timeout(CONNECT_TIMEOUT, async {
            let mut failed = io::ErrorKind::AddrNotAvailable.into();
            for address in &place.addresses {
                match self.reach(place, *address, slow).await {
                    Ok(stream) => return Ok(stream),
                    Err(error) => failed = error,
                }
            }
            Err(failed)
        })
        .await?
    }

    async fn reach(
        &self,
        place: &Place,
        address: SocketAddr,
        slow: bool,
    ) -> io::Result<Box<dyn Stream>> {
        let socket = if address.is_ipv4() {
            TcpSocket::new_v4()?
        } else {
            TcpSocket::new_v6()?
        };
        if slow {
            socket.set_recv_buffer_size(SMALL_BUFFER)?;
            SockRef::from(&socket).set_tcp_mss(SMALL_SEGMENT)?;
        }
        // A closed connection gives its port back at once: thousands that wait for a minute each would use up all ports.
        socket.set_zero_linger()?;
        let stream = socket.connect(address).await?;
        stream.set_nodelay(true)?;
        if !place.tls {
            return Ok(Box::new(stream));
        }
        let name = ServerName::try_from(place.host.clone()).map_err(io::Error::other)?;
        Ok(Box::new(self.tls.connect(name, stream).await?))
    }
}

impl Place {
    async fn look_up(server: &str) -> anyhow::Result<Self> {
        let url = reqwest::Url::parse(server)
            .with_context(|| format!("--server: {server} is not a URL"))?;
        if !matches!(url.scheme(), "http" | "https") {
            bail!("--server: expected http:// or https://, got {server}");
        }
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
            bail!("--server: {server} names no host");
        };
        // An IPv6 address stands in brackets in a URL, and nowhere else.
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let addresses: Vec<_> = tokio::net::lookup_host((host, port))
            .await
            .with_context(|| format!("--server: {host} is not known"))?
            .collect();
        if addresses.is_empty() {
            bail!("--server: {host} has no address");
        }
        let base = server.trim_end_matches('/').to_owned();
        Ok(Self {
            socket_base: base.replacen("http", "ws", 1),
            base,
            authority: url.authority().to_owned(),
            prefix: url.path().trim_end_matches('/').to_owned(),
            host: host.to_owned(),
            tls: url.scheme() == "https",
            addresses,
        })
    }

    /// May it be put under load?
    fn check(&self, allow_remote: bool, confirmed: &[String]) -> anyhow::Result<()> {
        let Some(remote) = self
            .addresses
            .iter()
            .find(|address| !address.ip().to_canonical().is_loopback())
        else {
            return Ok(());
        };
        if allow_remote && confirmed.contains(&self.host) {
            return Ok(());
        }
        bail!(
            "--server: {} is at {}, which is not this machine. A load test can take a server down, so one elsewhere has to be \
             asked for twice: --allow-remote --confirm-host {}",
            self.base,
            remote.ip(),
            self.host
        )
    }
}

/// Trusts the certificates in a file, else those that this machine trusts.
fn tls(ca: Option<&Path>) -> anyhow::Result<ClientConfig> {
    // An error means that it is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = ClientConfig::builder();
    let Some(ca) = ca else {
        return Ok(builder
            .with_platform_verifier()
            .context("the certificates that this machine trusts")?
            .with_no_client_auth());
    };
    let what = || format!("--ca: {}", ca.display());
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(ca).with_context(what)? {
        roots
            .add(certificate.with_context(what)?)
            .with_context(what)?;
    }
    if roots.is_empty() {
        bail!("{}: no certificate (PEM)", what());
    }
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(server: &str, allow_remote: bool, confirmed: &[&str]) -> Result<(), String> {
        let confirmed: Vec<_> = confirmed.iter().map(|&host| host.to_owned()).collect();
        let place = Place::look_up(server)
            .await
            .map_err(|error| format!("{error:#}"))?;
        place
            .check(allow_remote, &confirmed)
            .map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn this_machine_may_be_put_under_load() {
        for server in [
            "http://127.0.0.1:8080",
            "http://127.9.8.7",
            "http://[::1]:8080/",
            "http://[::ffff:127.0.0.1]:8080",
            "https://127.0.0.1/scores",
        ] {
            assert_eq!(check(server, false, &[]).await, Ok(()), "{server}");
        }
    }

    #[tokio::test]
    async fn another_one_has_to_be_asked_for_twice() {
        // Addresses of documentation (RFC 5737, RFC 3849); nothing is sent to them.
        for (server, host) in [
            ("http://192.0.2.1:8080", "192.0.2.1"),
            ("http://[2001:db8::1]:8080", "2001:db8::1"),
            ("http://0.0.0.0:8080", "0.0.0.0"),
        ] {
            for (allow, confirmed) in [(false, host), (true, ""), (true, "127.0.0.1")] {
                let said = check(server, allow, &[confirmed]).await.unwrap_err();
                assert!(
                    said.contains("--allow-remote")
                        && said.contains(&format!("--confirm-host {host}")),
                    "{said}"
                );
            }
            assert_eq!(check(server, true, &["x", host]).await, Ok(()), "{server}");
        }
    }

    #[tokio::test]
    async fn what_is_no_server_is_said() {
        for server in [
            "",
            "nonsense",
            "ftp://127.0.0.1",
            "127.0.0.1:8080",
            "http://",
        ] {
            let said = check(server, true, &[]).await.unwrap_err();
            assert!(said.contains("--server"), "{said}");
        }
    }
}
