//! Sockets: a viewer's WebSocket as it is written to. Whoever has something for it holds its lock for the time of one
//! non-blocking write; a new frame starts only where the last one ended.

use std::{
    io::{self, ErrorKind},
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Buf as _, Bytes};
use futures_util::task::AtomicWaker;
use tokio::{net::TcpStream, time::Instant};

use super::{
    contest::Live,
    edition::Edition,
    lock,
    sweep::{Audience, Membership},
    viewer::{Next, Request, Viewer},
};
use crate::protocol::{Close, frame::close_frame};

/// The most bytes of control frames that wait for a socket, in bytes: four pongs of the largest size.
pub const CONTROL_MAX: usize = 512;

/// What the kernel may hold for one socket, in bytes (it counts its own overhead, and doubles the number). By itself it would
/// hold up to 4 MB for each viewer that stopped reading, all of it old news.
pub const SEND_BUFFER: usize = 64 * 1024;

/// A viewer's WebSocket after the handshake.
pub struct Socket {
    stream: TcpStream,
    out: Mutex<Out>,
    /// When something was heard of it last, in seconds of [`seconds`].
    heard: AtomicU32,
    /// Its place among those that its shard writes to; the shard's own.
    pub(super) place: AtomicUsize,
    /// The reader has to call [`Socket::push`]: a write is stuck, or the connection ends.
    attention: AtomicBool,
    reader: AtomicWaker,
    audience: Arc<Audience>,
}

/// What is under way to a socket.
struct Out {
    viewer: Viewer,
    /// The rest of a frame that the kernel has not taken yet.
    rest: Bytes,
    /// Control frames that follow it: pongs, the close frame.
    control: Vec<u8>,
    ended: Ended,
}

/// How far the end of a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    No,
    /// A close frame is the last that is sent.
    Closing,
    /// Nothing more is sent.
    Gone,
}

/// Where a socket stands after something was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// Everything that there was is written.
    Done,
    /// The kernel takes no more for now. Did it take anything?
    Stuck {
        /// At least a byte.
        progress: bool,
    },
    /// The close frame is written: the other side closes, or is left after a moment.
    Closing,
    /// The connection is of no use any more.
    Gone,
}

/// Seconds since the first call in this process: four bytes for each socket where an instant takes sixteen.
pub(super) fn seconds() -> u32 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs() as u32
}

impl Socket {
    /// A viewer that is written to from now on, until the membership is dropped.
    pub fn join(stream: TcpStream, live: &Arc<Live>, request: Request) -> (Arc<Self>, Membership) {
        if let Err(error) = socket2::SockRef::from(&stream).set_send_buffer_size(SEND_BUFFER) {
            tracing::debug!(%error, "send buffer");
        }
        let (viewer, audience) = live.attend(request);
        let socket = Arc::new(Self {
            stream,
            out: Mutex::new(Out {
                viewer,
                rest: Bytes::new(),
                control: Vec::new(),
                ended: Ended::No,
            }),
            heard: AtomicU32::new(seconds()),
            place: AtomicUsize::new(0),
            attention: AtomicBool::new(false),
            reader: AtomicWaker::new(),
            audience: audience.clone(),
        });
        let membership = audience.join(socket.clone());
        (socket, membership)
    }

    /// The stream, to wait until it can be read or written, and to read from it.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Has [`Socket::push`] to be called, because a write is stuck, or the connection ends? If not, the task is woken when it has.
    pub fn poll_attention(&self, context: &Context<'_>) -> Poll<()> {
        self.reader.register(context.waker());
        if self.attention.swap(false, Ordering::AcqRel) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }

    /// Has the reader call [`Socket::push`].
    pub fn ask_attention(&self) {
        self.attention.store(true, Ordering::Release);
        self.reader.wake();
    }

    /// Something came from the other side.
    pub fn heard(&self) {
        self.heard.store(seconds(), Ordering::Relaxed);
    }

    /// Adds a control frame, or a part of one, which the next push writes. None at all where too many wait: the other side
    /// asks faster than it reads.
    pub fn control(&self, bytes: &[u8]) -> io::Result<()> {
        let mut out = self.out();
        if out.ended != Ended::No {
            // After the close frame nothing follows.
            return Ok(());
        }
        if out.control.len() + bytes.len() > CONTROL_MAX {
            return Err(ErrorKind::WouldBlock.into());
        }
        out.control.extend_from_slice(bytes);
        Ok(())
    }

    /// Does something wait to be written?
    pub fn has_waiting(&self) -> bool {
        self.out().is_busy()
    }

    /// Writes what waits, and all that the viewer has not been told yet.
    pub fn push(&self) -> Pushed {
        let mut out = self.out();
        let busy = out.is_busy();
        let pushed = out.push(&self.stream);
        if busy && matches!(pushed, Pushed::Done | Pushed::Stuck { progress: true }) {
            // Who takes what was under way is there, though no ping could be sent meanwhile.
            self.heard();
        }
        pushed
    }

    /// Ends the connection after what waits: the answer to a close frame, or a close frame with this code.
    pub fn finish(&self, code: Option<u16>) {
        let mut out = self.out();
        if out.ended == Ended::No {
            if let Some(code) = code {
                out.control.extend_from_slice(&close_frame(code, ""));
            }
            out.ended = Ended::Closing;
            out.push(&self.stream);
        }
    }

    /// Ends the connection with a close frame, after the rest of a frame that is under way.
    pub fn close(&self, close: Close) -> Pushed {
        let mut out = self.out();
        out.close(close);
        out.push(&self.stream)
    }

    /// Is a close frame under way?
    pub fn is_closing(&self) -> bool {
        self.out().ended != Ended::No
    }

    /// Ends the connection at once.
    pub fn abandon(&self) {
        self.out().abandon(&self.stream);
    }

    /// Those who watch the same.
    pub(super) fn audience(&self) -> &Arc<Audience> {
        &self.audience
    }

    /// Does it follow members?
    pub(super) fn follows(&self) -> bool {
        self.out().viewer.follows()
    }

    /// Has nothing been heard for so long? While something is under way, that has a time of its own.
    pub(super) fn is_silent(&self, longest: Duration) -> bool {
        if self.has_waiting() {
            return false;
        }
        let heard = self.heard.load(Ordering::Relaxed);
        u64::from(seconds().saturating_sub(heard)) > longest.as_secs()
    }

    /// Writes an edition, or whatever else brings the viewer to where its lane is. Answers how many messages went out.
    pub(super) fn deliver(&self, edition: &Edition) -> u64 {
        let mut out = self.out();
        // Whoever ends what is under way asks for the rest.
        if out.is_busy() || out.ended != Ended::No || out.viewer.knows(edition) {
            return 0;
        }
        let messages = if out.viewer.take(edition) {
            out.send(&self.stream, &edition.wire);
            edition.messages
        } else {
            out.push(&self.stream);
            // Counted where they are written.
            0
        };
        self.after(&out);
        messages
    }

    /// Writes something that concerns no version, if nothing else is under way.
    pub(super) fn send(&self, bytes: &Bytes) {
        let mut out = self.out();
        if !out.is_busy() && out.ended == Ended::No {
            out.send(&self.stream, bytes);
            self.after(&out);
        }
    }

    /// Tells the viewer what it has not been told yet, if nothing else is under way.
    pub(super) fn refresh(&self) {
        let mut out = self.out();
        if !out.is_busy() && out.ended == Ended::No {
            out.push(&self.stream);
            self.after(&out);
        }
    }

    /// Says good-bye: a last message, and a close frame.
    pub(super) fn farewell(&self, bye: &Bytes, close: Close) {
        let mut out = self.out();
        if out.ended != Ended::No {
            return;
        }
        if !out.is_busy() {
            out.send(&self.stream, bye);
        }
        out.close(close);
        out.push(&self.stream);
        self.after(&out);
    }

    /// The message that says how things are, for all who watch the same.
    pub(super) fn state(&self) -> Bytes {
        self.out().viewer.state().wire().clone()
    }

    /// Has the reader see to what a write left.
    fn after(&self, out: &Out) {
        if out.is_busy() || out.ended != Ended::No {
            self.ask_attention();
        }
    }

    fn out(&self) -> MutexGuard<'_, Out> {
        lock(&self.out)
    }
}

impl Out {
    /// A frame is under way, or control frames wait.
    fn is_busy(&self) -> bool {
        !self.rest.is_empty() || !self.control.is_empty()
    }

    /// Writes one frame after the other until there is none, or the kernel takes no more.
    fn push(&mut self, stream: &TcpStream) -> Pushed {
        let (mut messages, mut written) = (0, 0);
        let pushed = loop {
            match self.flush(stream, &mut written) {
                Ok(true) => {}
                Ok(false) => {
                    break Pushed::Stuck {
                        progress: written > 0,
                    };
                }
                Err(_) => self.abandon(stream),
            }
            match self.ended {
                Ended::No => {}
                Ended::Closing => break Pushed::Closing,
                Ended::Gone => break Pushed::Gone,
            }
            match self.viewer.poll() {
                None => break Pushed::Done,
                Some(Next::Frame(frame)) => {
                    messages += 1;
                    self.rest = frame.wire().clone();
                }
                Some(Next::Close(close)) => self.close(close),
            }
        };
        if messages > 0 {
            metrics::counter!("rankcast_deliveries_total").increment(messages);
        }
        pushed
    }

    /// Writes what waits. Answers whether that was all of it.
    fn flush(&mut self, stream: &TcpStream, written: &mut usize) -> io::Result<bool> {
        loop {
            let waits = if self.rest.is_empty() {
                &self.control[..]
            } else {
                &self.rest[..]
            };
            if waits.is_empty() {
                return Ok(true);
            }
            match stream.try_write(waits) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(bytes) => {
                    *written += bytes;
                    if self.rest.is_empty() {
                        self.control.drain(..bytes);
                    } else {
                        self.rest.advance(bytes);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Writes bytes when nothing else is under way. Nothing is copied or counted where the kernel takes them all, and the
    /// runtime is not asked whether it believes that the socket can be written: nearly always it can.
    fn send(&mut self, stream: &TcpStream, bytes: &Bytes) {
        match socket2::SockRef::from(stream).send(bytes) {
            Ok(written) if written == bytes.len() => {}
            Ok(written) => self.rest = bytes.slice(written..),
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
            {
                self.rest = bytes.clone();
            }
            Err(_) => self.abandon(stream),
        }
    }

    fn close(&mut self, close: Close) {
        if self.ended == Ended::No {
            metrics::counter!("rankcast_closed_total", "code" => close.code().to_string())
                .increment(1);
            self.control
                .extend_from_slice(&close_frame(close.code(), close.reason()));
            self.ended = Ended::Closing;
        }
    }

    fn abandon(&mut self, stream: &TcpStream) {
        self.ended = Ended::Gone;
        self.rest = Bytes::new();
        self.control = Vec::new();
        // It may be gone already.
        let _ = socket2::SockRef::from(stream).shutdown(std::net::Shutdown::Both);
    }
}
