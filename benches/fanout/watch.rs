//! Viewers: any number of WebSocket connections on one thread, the same for every server.

use std::{
    io::{ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail, ensure};
use mio::{Events, Interest, Poll, Token};
use rustls::{ClientConfig, ClientConnection, pki_types::ServerName};

use super::frames::{Dialect, Frames, Heard};

/// Handshakes under way at once: enough to keep the server busy, fewer than any backlog.
const HANDSHAKES: usize = 32;

/// How long any one step may take before the run counts as failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// As much as a read takes. Frames are small; whole boards take some more reads.
const BUFFER: usize = 64 * 1024;

/// Where and how to watch.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) address: SocketAddr,
    /// Path and query.
    pub(crate) path: String,
    pub(crate) dialect: Dialect,
    pub(crate) tls: Option<Arc<ClientConfig>>,
}

/// What all viewers together have seen.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    /// Messages of any kind.
    pub(crate) messages: u64,
    /// Messages that were published by us.
    pub(crate) updates: u64,
    /// Bytes, frames' headers included; with TLS, before encryption.
    pub(crate) bytes: u64,
    joined: usize,
}

struct Viewer {
    socket: mio::net::TcpStream,
    tls: Option<Box<ClientConnection>>,
    frames: Frames,
}

/// Many viewers of one server.
pub(crate) struct Watchers {
    poll: Poll,
    events: Events,
    viewers: Vec<Viewer>,
    buffer: Vec<u8>,
    seen: Seen,
}

impl Watchers {
    /// Connects that many, and waits until all are subscribed.
    pub(crate) fn connect(place: &Place, count: usize) -> anyhow::Result<Self> {
        let mut watchers = Self {
            poll: Poll::new()?,
            events: Events::with_capacity(1024),
            viewers: Vec::with_capacity(count),
            buffer: vec![0; BUFFER],
            seen: Seen::default(),
        };
        while watchers.viewers.len() < count {
            let batch = HANDSHAKES.min(count - watchers.viewers.len());
            let asked: Vec<_> = (0..batch).map(|_| ask(place)).collect::<Result<_, _>>()?;
            for (mut socket, mut tls) in asked {
                let rest = match &mut tls {
                    Some(tls) => upgraded(&mut rustls::Stream::new(&mut **tls, &mut socket)),
                    None => upgraded(&mut socket),
                }?;
                socket.set_nonblocking(true)?;
                let viewer = Viewer {
                    socket: mio::net::TcpStream::from_std(socket),
                    tls,
                    frames: Frames::new(place.dialect),
                };
                watchers.add(viewer, &rest, place.dialect)?;
            }
            watchers.turn(Duration::ZERO, |_| {})?;
        }
        if place.dialect.joins_at_once() {
            watchers.seen.joined = count;
        }
        let until = Instant::now() + PATIENCE;
        while watchers.seen.joined < count {
            ensure!(
                Instant::now() < until,
                "only {} of {count} viewers could subscribe",
                watchers.seen.joined
            );
            watchers.turn(Duration::from_millis(50), |_| {})?;
        }
        Ok(watchers)
    }

    fn add(&mut self, mut viewer: Viewer, rest: &[u8], dialect: Dialect) -> anyhow::Result<()> {
        if let Some(greeting) = dialect.greeting() {
            viewer.send(&greeting)?;
        }
        let token = Token(self.viewers.len());
        self.poll
            .registry()
            .register(&mut viewer.socket, token, Interest::READABLE)?;
        self.viewers.push(viewer);
        self.take(token.0, rest, &mut |_| {})?;
        // What came with the answer, still encrypted or behind it, makes no event of its own.
        self.read(token.0, &mut |_| {})
    }

    pub(crate) fn seen(&self) -> Seen {
        self.seen
    }

    pub(crate) fn len(&self) -> usize {
        self.viewers.len()
    }

    /// Reads what is there, waiting at most that long. `on_update`: the time of each arrival.
    pub(crate) fn turn(
        &mut self,
        wait: Duration,
        mut on_update: impl FnMut(Instant),
    ) -> anyhow::Result<bool> {
        match self.poll.poll(&mut self.events, Some(wait)) {
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(true),
            other => other?,
        }
        let events = std::mem::replace(&mut self.events, Events::with_capacity(0));
        let mut heard = false;
        for event in &events {
            heard = true;
            self.read(event.token().0, &mut on_update)?;
        }
        self.events = events;
        Ok(heard)
    }

    /// Reads for that long.
    pub(crate) fn idle(&mut self, time: Duration) -> anyhow::Result<()> {
        let until = Instant::now() + time;
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            self.turn(left, |_| {})?;
        }
        Ok(())
    }

    /// Reads until nothing has come for `quiet`.
    pub(crate) fn settle(&mut self, quiet: Duration) -> anyhow::Result<()> {
        let until = Instant::now() + PATIENCE;
        while self.turn(quiet, |_| {})? {
            ensure!(Instant::now() < until, "the server never falls silent");
        }
        Ok(())
    }

    fn read(&mut self, index: usize, on_update: &mut impl FnMut(Instant)) -> anyhow::Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let result = loop {
            let read = match self.viewers[index].receive(&mut buffer) {
                Ok(0) => Err(anyhow::anyhow!("the server closed a connection")),
                Ok(read) => self.take(index, &buffer[..read], on_update).map(|()| read),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break Ok(()),
                Err(error) => Err(error.into()),
            };
            match read {
                // A plain socket that gave less than it could is empty, and says so when it is not any more.
                Ok(read) if read < buffer.len() && self.viewers[index].tls.is_none() => {
                    break Ok(());
                }
                Ok(_) => {}
                Err(error) => break Err(error),
            }
        };
        self.buffer = buffer;
        result
    }

    fn take(
        &mut self,
        index: usize,
        data: &[u8],
        on_update: &mut impl FnMut(Instant),
    ) -> anyhow::Result<()> {
        let viewer = &mut self.viewers[index];
        let seen = &mut self.seen;
        seen.bytes += data.len() as u64;
        let mut answer = Vec::new();
        let mut closed = false;
        viewer.frames.feed(data, |heard| {
            seen.messages += 1;
            match heard {
                Heard::Update => {
                    seen.updates += 1;
                    on_update(Instant::now());
                }
                Heard::Joined => seen.joined += 1,
                Heard::Answer(frame) => answer.extend_from_slice(frame),
                Heard::Closed => closed = true,
                Heard::Other => {}
            }
        })?;
        ensure!(!closed, "the server closed a connection");
        if !answer.is_empty() {
            viewer.send(&answer).context("an answer to a ping")?;
        }
        Ok(())
    }
}

impl Viewer {
    fn receive(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let Some(tls) = &mut self.tls else {
            return self.socket.read(buffer);
        };
        loop {
            match tls.reader().read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                other => return other,
            }
            if tls.read_tls(&mut self.socket)? == 0 {
                return Ok(0);
            }
            tls.process_new_packets().map_err(std::io::Error::other)?;
        }
    }

    fn send(&mut self, data: &[u8]) -> std::io::Result<()> {
        match &mut self.tls {
            None => self.socket.write_all(data),
            Some(tls) => rustls::Stream::new(&mut **tls, &mut self.socket).write_all(data),
        }
    }
}

type Asked = (TcpStream, Option<Box<ClientConnection>>);

/// Connects, and asks for a WebSocket.
fn ask(place: &Place) -> anyhow::Result<Asked> {
    let mut socket = TcpStream::connect_timeout(&place.address, PATIENCE)
        .with_context(|| format!("no connection to {}", place.address))?;
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    // Closed by a reset: thousands of ports that wait for two minutes would be missed by the next run.
    rustix::net::sockopt::set_socket_linger(&socket, Some(Duration::ZERO))?;
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        place.path, place.address
    );
    let tls = match &place.tls {
        None => {
            socket.write_all(request.as_bytes())?;
            None
        }
        Some(config) => {
            let name = ServerName::from(place.address.ip());
            let mut tls = Box::new(ClientConnection::new(config.clone(), name)?);
            rustls::Stream::new(&mut *tls, &mut socket).write_all(request.as_bytes())?;
            Some(tls)
        }
    };
    Ok((socket, tls))
}

/// Reads the answer to the upgrade; gives what came behind it.
fn upgraded(stream: &mut impl Read) -> anyhow::Result<Vec<u8>> {
    let mut read = Vec::with_capacity(1024);
    let mut buffer = [0; 1024];
    loop {
        if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = read.split_off(end + 4);
            let head = String::from_utf8_lossy(&read);
            let line = head.lines().next().unwrap_or_default();
            ensure!(line.contains(" 101 "), "no WebSocket: {line}");
            return Ok(rest);
        }
        match stream
            .read(&mut buffer)
            .context("no answer to the upgrade")?
        {
            0 => bail!("the server closed instead of upgrading"),
            count => read.extend_from_slice(&buffer[..count]),
        }
    }
}
