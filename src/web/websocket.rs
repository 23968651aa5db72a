//! WebSockets: the handshake (RFC 6455, section 4.2), and the task that reads one connection. Frames of a board are written
//! by [`crate::hub::sweep`]; a reader writes only when something is stuck, or was asked for (pongs, the close frame).

use std::{
    future::pending,
    io::{self, ErrorKind, Read, Write},
    sync::Arc,
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
    time::{Instant, sleep_until, timeout},
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

/// Serves one connection until it ends. `patience`: how long it may take nothing of what is written.
pub(super) async fn serve(socket: Arc<Socket>, early: Bytes, patience: Duration) {
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER)
        .write_buffer_size(0)
        .max_write_buffer_size(PONGS_MAX)
        .max_message_size(Some(MESSAGE_MAX))
        .max_frame_size(Some(MESSAGE_MAX));
    let mut context = if early.is_empty() {
        WebSocketContext::new(Role::Server, Some(config))
    } else {
        WebSocketContext::from_partially_read(early.into(), Role::Server, Some(config))
    };
    let stream = socket.stream();
    let mut pushed = socket.push();
    // Until when the other side has to take something, or to answer the close frame.
    let mut deadline: Option<Instant> = None;
    loop {
        match pushed {
            Pushed::Done => deadline = None,
            Pushed::Stuck { progress } => {
                if progress || deadline.is_none() {
                    deadline = Some(Instant::now() + patience);
                }
            }
            Pushed::Closing => {
                let _ = timeout(CLOSE_PATIENCE, until_closed(&socket, &mut context)).await;
                return;
            }
            Pushed::Gone => return,
        }
        let stuck = matches!(pushed, Pushed::Stuck { .. });
        let overdue = async {
            match deadline {
                Some(deadline) => sleep_until(deadline).await,
                None => pending().await,
            }
        };
        tokio::select! {
            ready = stream.readable() => {
                if ready.is_err() {
                    return;
                }
                match read(&socket, &mut context) {
                    Heard::All => {}
                    Heard::More => tokio::task::yield_now().await,
                    Heard::Last(code) => {
                        socket.finish(code);
                        return;
                    }
                }
                if !stuck && socket.has_waiting() {
                    pushed = socket.push();
                }
            }
            ready = stream.writable(), if stuck => {
                if ready.is_err() {
                    return;
                }
                pushed = socket.push();
                if !socket.has_waiting() && context.flush(&mut Wire(&socket)).is_ok() {
                    // A pong that found no place before.
                    pushed = socket.push();
                }
            }
            () = socket.attention(), if !stuck => pushed = socket.push(),
            () = overdue => {
                if socket.is_closing() {
                    return;
                }
                // One that wakes up within as long again learns why it ended.
                pushed = socket.close(Close::TooSlow);
                deadline = Some(Instant::now() + patience);
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
    /// Nothing comes any more; with a close code (RFC 6455, section 7.4.1) where the other side is to be told why.
    Last(Option<u16>),
}

/// Reads what there is, up to a number of messages. What viewers say has no meaning.
fn read(socket: &Socket, context: &mut WebSocketContext) -> Heard {
    for _ in 0..READS_IN_TURN {
        match context.read(&mut Wire(socket)) {
            Ok(_) => socket.heard(),
            Err(Error::Io(error)) if error.kind() == ErrorKind::WouldBlock => return Heard::All,
            Err(Error::Capacity(_)) => return Heard::Last(Some(1009)),
            Err(Error::Protocol(_)) => return Heard::Last(Some(1002)),
            Err(Error::Utf8(_)) => return Heard::Last(Some(1007)),
            Err(_) => return Heard::Last(None),
        }
    }
    Heard::More
}

async fn until_closed(socket: &Socket, context: &mut WebSocketContext) {
    while socket.stream().readable().await.is_ok() {
        if let Heard::Last(_) = read(socket, context) {
            return;
        }
        tokio::task::yield_now().await;
    }
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
