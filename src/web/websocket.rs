//! The WebSocket side of live connections: the handshake (RFC 6455, section 4.2), and the task that reads one connection. Frames of a board are written
//! by [`crate::hub::sweep`]; a reader writes only when something is stuck, or was asked for (pongs, the close frame).

use std::{
    io::{self, ErrorKind, Read, Write},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts},
    response::{IntoResponse as _, Response},
};
use base64::{Engine as _, prelude::BASE64_STANDARD as BASE64};
use bytes::Bytes;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::{rt::TokioIo, server::conn::auto::upgrade::downcast};
use tokio::{
    io::AsyncWriteExt as _,
    net::TcpStream,
    time::{Sleep, sleep, timeout},
};
use tungstenite::{
    error::Error,
    handshake::derive_accept_key,
    protocol::{Role, WebSocketConfig, WebSocketContext},
};

use super::problem::Problem;
use crate::{
    hub::socket::{Pushed, Socket},
    protocol::{Close, frame::close_frame},
};

/// The version of the WebSocket protocol (RFC 6455, section 4.1).
pub(super) const VERSION: &str = "13";

/// The largest message that is read from a viewer, which need never send one.
pub const MESSAGE_MAX: usize = 16 * 1024;

/// What is set aside to read into, in bytes: viewers send pongs, and little else.
const READ_BUFFER: usize = 64;

/// What the library may hold of pongs that find no place among a socket's control frames, in bytes.
const PONGS_MAX: usize = 256;

/// How many messages of one viewer are read before others have their turn, and its own times their say.
const READS_IN_TURN: usize = 32;

/// How long the other side has to answer a close frame.
const CLOSE_PATIENCE: Duration = Duration::from_secs(1);

/// Does the request want a WebSocket?
pub(super) fn is_asked(parts: &Parts) -> bool {
    has_token(&parts.headers, header::UPGRADE, "websocket")
        && has_token(&parts.headers, header::CONNECTION, "upgrade")
}

/// Answers the handshake, and gives the connection that comes of it.
pub(super) fn accept(parts: &mut Parts) -> Result<(Response, OnUpgrade), Problem> {
    let version = parts.headers.get(header::SEC_WEBSOCKET_VERSION);
    if parts.method != Method::GET || version.is_none_or(|version| version != VERSION) {
        return Err(Problem::new(
            StatusCode::UPGRADE_REQUIRED,
            "expected GET with Sec-WebSocket-Version: 13",
        ));
    }
    let key = parts
        .headers
        .get(header::SEC_WEBSOCKET_KEY)
        .filter(|key| BASE64.decode(key).is_ok_and(|nonce| nonce.len() == 16))
        .ok_or_else(|| Problem::bad_request("Sec-WebSocket-Key: expected 16 bytes in base64"))?;
    let accept = HeaderValue::try_from(derive_accept_key(key.as_bytes()))
        .map_err(|_| Problem::bad_request("Sec-WebSocket-Key: not good"))?;
    let upgrade = parts
        .extensions
        .remove::<OnUpgrade>()
        .ok_or_else(|| Problem::bad_request("this connection cannot become a WebSocket"))?;
    let headers = [
        (header::CONNECTION, HeaderValue::from_static("upgrade")),
        (header::UPGRADE, HeaderValue::from_static("websocket")),
        (header::SEC_WEBSOCKET_ACCEPT, accept),
    ];
    let response = (StatusCode::SWITCHING_PROTOCOLS, headers, Body::empty()).into_response();
    Ok((response, upgrade))
}

fn has_token(headers: &HeaderMap, name: header::HeaderName, token: &str) -> bool {
    headers
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|word| word.trim().eq_ignore_ascii_case(token))
}

/// The bare connection after the handshake, and what was read of it already.
pub(super) async fn connection(upgrade: OnUpgrade) -> io::Result<(TcpStream, Bytes)> {
    let upgraded: Upgraded = upgrade.await.map_err(io::Error::other)?;
    let parts = downcast::<TokioIo<TcpStream>>(upgraded)
        .map_err(|_| io::Error::other("not a TCP connection of this server"))?;
    // A copy of its own size: the buffer it came in is 8 KB, and would stay as long as the viewer.
    Ok((
        parts.io.into_inner(),
        Bytes::copy_from_slice(&parts.read_buf),
    ))
}

/// Reads one connection until it ends, and writes what a sweep could not. A future made by hand: written as an `async fn` it
/// took 1 KB more for each of the thousands that there are.
pub(super) struct Connection<Seat> {
    socket: Arc<Socket>,
    context: WebSocketContext,
    /// How long the other side may take nothing of what is written.
    patience: Duration,
    /// The kernel takes no more for now.
    stuck: bool,
    /// The close frame is written.
    closing: bool,
    /// What still comes is thrown away: it broke the protocol, and was told why. A connection closed over unread bytes would
    /// be reset, and the reason lost.
    deaf: bool,
    /// Until when the other side has to take something, or to answer the close frame.
    deadline: Option<Pin<Box<Sleep>>>,
    /// What is given back when the connection ends.
    _seat: Seat,
}

impl<Seat> Connection<Seat> {
    /// Serves a viewer that has joined. `early`: what was read of its connection already.
    pub(super) fn new(socket: Arc<Socket>, early: Bytes, patience: Duration, seat: Seat) -> Self {
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER)
            .write_buffer_size(0)
            .max_write_buffer_size(PONGS_MAX)
            .max_message_size(Some(MESSAGE_MAX))
            .max_frame_size(Some(MESSAGE_MAX));
        let context = if early.is_empty() {
            WebSocketContext::new(Role::Server, Some(config))
        } else {
            WebSocketContext::from_partially_read(early.into(), Role::Server, Some(config))
        };
        // It has not been told anything yet.
        socket.ask_attention();
        Self {
            socket,
            context,
            patience,
            stuck: false,
            closing: false,
            deaf: false,
            deadline: None,
            _seat: seat,
        }
    }

    /// Sees to what a write came to. Answers whether the connection is over.
    fn after(&mut self, pushed: Pushed) -> bool {
        self.stuck = matches!(pushed, Pushed::Stuck { .. });
        match pushed {
            Pushed::Done => self.deadline = None,
            Pushed::Stuck { progress } => {
                if progress || self.deadline.is_none() {
                    self.deadline = Some(Box::pin(sleep(self.patience)));
                }
            }
            Pushed::Closing => {
                if !self.closing {
                    self.closing = true;
                    self.deadline = Some(Box::pin(sleep(CLOSE_PATIENCE)));
                }
            }
            Pushed::Gone => return true,
        }
        false
    }

    /// Does one thing that there is to do, if any, and sees to it that the next one wakes the task.
    fn step(&mut self, context: &mut Context<'_>) -> Poll<Step> {
        if self.socket.poll_attention(context).is_ready() {
            return Poll::Ready(Step::Write);
        }
        let stream = self.socket.stream();
        if self.stuck
            && let Poll::Ready(ready) = stream.poll_write_ready(context)
        {
            return Poll::Ready(ready.map_or(Step::End, |()| Step::Write));
        }
        if let Poll::Ready(ready) = stream.poll_read_ready(context) {
            return Poll::Ready(ready.map_or(Step::End, |()| Step::Read));
        }
        match &mut self.deadline {
            Some(deadline) => deadline.as_mut().poll(context).map(|()| Step::Overdue),
            None => Poll::Pending,
        }
    }
}

/// What a connection has to do next.
enum Step {
    Write,
    Read,
    Overdue,
    End,
}

impl<Seat: Unpin> Future for Connection<Seat> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        loop {
            let pushed = match ready!(this.step(context)) {
                Step::Write => {
                    let mut pushed = this.socket.push();
                    // A pong that found no place before.
                    if pushed == Pushed::Done
                        && this.context.flush(&mut Wire(&this.socket)).is_ok()
                        && this.socket.has_waiting()
                    {
                        pushed = this.socket.push();
                    }
                    pushed
                }
                Step::Read => {
                    let heard = if this.deaf {
                        discard(&this.socket)
                    } else {
                        read(&this.socket, &mut this.context)
                    };
                    match heard {
                        Heard::Last => {
                            this.socket.finish(None);
                            return Poll::Ready(());
                        }
                        Heard::Broken(code) => {
                            this.socket.finish(Some(code));
                            this.deaf = true;
                            this.after(Pushed::Closing);
                            continue;
                        }
                        Heard::All | Heard::More => {}
                    }
                    if !this.stuck && this.socket.has_waiting() {
                        let pushed = this.socket.push();
                        if this.after(pushed) {
                            return Poll::Ready(());
                        }
                    }
                    if let Heard::More = heard {
                        // Others first.
                        context.waker().wake_by_ref();
                        return Poll::Pending;
                    }
                    continue;
                }
                Step::Overdue if this.socket.is_closing() => return Poll::Ready(()),
                Step::Overdue => {
                    // One that wakes up within as long again learns why it ended.
                    this.deadline = None;
                    this.socket.close(Close::TooSlow)
                }
                Step::End => return Poll::Ready(()),
            };
            if this.after(pushed) {
                return Poll::Ready(());
            }
        }
    }
}

/// What reading came to.
enum Heard {
    /// All that there was for now.
    All,
    /// There may be more.
    More,
    /// Nothing comes any more.
    Last,
    /// What came is no WebSocket, and the other side is told so with this close code (RFC 6455, section 7.4.1).
    Broken(u16),
}

/// Reads what there is, up to a number of messages. What viewers say has no meaning.
fn read(socket: &Socket, context: &mut WebSocketContext) -> Heard {
    for _ in 0..READS_IN_TURN {
        match context.read(&mut Wire(socket)) {
            Ok(_) => socket.heard(),
            Err(Error::Io(error)) if error.kind() == ErrorKind::WouldBlock => return Heard::All,
            Err(Error::Capacity(_)) => return Heard::Broken(1009),
            Err(Error::Protocol(_)) => return Heard::Broken(1002),
            Err(Error::Utf8(_)) => return Heard::Broken(1007),
            Err(_) => return Heard::Last,
        }
    }
    Heard::More
}

/// Reads what there is, and forgets it.
fn discard(socket: &Socket) -> Heard {
    let mut buffer = [0; 1024];
    for _ in 0..READS_IN_TURN {
        match socket.stream().try_read(&mut buffer) {
            Ok(1..) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Heard::All,
            Ok(0) | Err(_) => return Heard::Last,
        }
    }
    Heard::More
}

/// A socket as the WebSocket library sees it: what it wants to write waits for the end of the frame that is under way.
struct Wire<'a>(&'a Socket);

impl Read for Wire<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.stream().try_read(buffer)
    }
}

impl Write for Wire<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.control(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A browser sees no status of a refused upgrade, but it sees a close code.
pub(super) async fn refuse(mut stream: TcpStream, close: Close) {
    let _ = timeout(CLOSE_PATIENCE, async {
        let frame = close_frame(close.code(), close.reason());
        stream.write_all(&frame).await?;
        // Its answer; a connection closed over unread bytes would be reset, and the code lost.
        let mut answer = [0; 64];
        while tokio::io::AsyncReadExt::read(&mut stream, &mut answer).await? > 0 {}
        io::Result::Ok(())
    })
    .await;
}
