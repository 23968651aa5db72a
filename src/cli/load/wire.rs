//! A viewer's connection: WebSocket, or server-sent events.

use std::{
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::{Buf as _, Bytes, BytesMut};
use futures_util::StreamExt as _;
use http_body_util::Empty;
use hyper::{
    Request, StatusCode,
    body::{Body as _, Incoming},
    client::conn::http1,
    header,
};
use hyper_util::rt::TokioIo;
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{Error, Message, protocol::WebSocketConfig},
};

use super::place::{Net, Place, Stream};

/// What a WebSocket reads at once, in bytes: frames are small, viewers many, and the buffer is cleared for each read.
const READ_BUFFER: usize = 2 * 1024;

/// What an event stream reads at once, in bytes: the least that is possible.
const EVENT_BUFFER: usize = 8 * 1024;

/// The largest message, in bytes: larger boards are fetched.
const MESSAGE_MAX: usize = 4 * 1024 * 1024;

/// What a viewer asks for.
pub struct Ask<'a> {
    /// `/api/contests/x/live?limit=100`
    pub path: &'a str,
    /// Where it stands.
    pub since: Option<&'a str>,
    /// By server-sent events.
    pub events: bool,
    /// With a small buffer.
    pub slow: bool,
}

/// What came.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    /// A message; of a server-sent event also the id, if it has one.
    Message(Bytes, Option<String>),
    /// A sign of life.
    Beat,
    /// The server closes, and says why.
    Closed(u16),
    /// The connection ended.
    Cut,
    /// Something that no server should send.
    Broken(String),
}

/// Why there is no connection.
#[derive(Debug)]
pub enum Refused {
    /// Nobody answered.
    Away,
    /// The answer was another one.
    Status(u16),
}

/// An open connection.
pub enum Wire {
    /// A WebSocket.
    Socket(Box<WebSocketStream<Box<dyn Stream>>>),
    /// Server-sent events.
    Events(Box<Events>),
}

impl Wire {
    /// Connects, and asks.
    pub async fn open(net: &Net, place: &Place, ask: &Ask<'_>) -> Result<Self, Refused> {
        let stream = net
            .connect(place, ask.slow)
            .await
            .map_err(|_| Refused::Away)?;
        if ask.events {
            return Events::open(stream, place, ask)
                .await
                .map(|events| Self::Events(Box::new(events)));
        }
        let since = ask.since.map_or(String::new(), |at| format!("&since={at}"));
        let url = format!("{}{}{since}", place.socket_base, ask.path);
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER)
            .write_buffer_size(0)
            .max_message_size(Some(MESSAGE_MAX))
            .max_frame_size(Some(MESSAGE_MAX));
        match client_async_with_config(url, stream, Some(config)).await {
            Ok((socket, _)) => Ok(Self::Socket(Box::new(socket))),
            Err(Error::Http(answer)) => Err(Refused::Status(answer.status().as_u16())),
            Err(_) => Err(Refused::Away),
        }
    }

    /// Waits for what comes next. Safe to drop while it waits.
    pub async fn next(&mut self) -> Heard {
        match self {
            Self::Events(events) => poll_fn(|context| events.poll(context)).await,
            Self::Socket(socket) => match socket.next().await {
                Some(Ok(Message::Text(text))) => Heard::Message(text.into(), None),
                Some(Ok(Message::Close(Some(frame)))) => Heard::Closed(frame.code.into()),
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => Heard::Beat,
                Some(Ok(Message::Binary(_))) => Heard::Broken("a binary message".to_owned()),
                Some(Err(error @ (Error::Utf8(_) | Error::Capacity(_)))) => {
                    Heard::Broken(error.to_string())
                }
                Some(Ok(Message::Close(None)) | Err(_)) | None => Heard::Cut,
            },
        }
    }
}

type Connection = http1::Connection<TokioIo<Box<dyn Stream>>, Empty<Bytes>>;

/// A connection that carries an event stream.
pub struct Events {
    connection: Option<Pin<Box<Connection>>>,
    body: Incoming,
    buffer: BytesMut,
}

impl Events {
    async fn open(stream: Box<dyn Stream>, place: &Place, ask: &Ask<'_>) -> Result<Self, Refused> {
        let (mut sender, connection) = http1::Builder::new()
            .max_buf_size(EVENT_BUFFER)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|_| Refused::Away)?;
        let mut connection = Box::pin(connection);
        let mut request = Request::get(format!("{}{}", place.prefix, ask.path))
            .header(header::HOST, &place.authority)
            .header(header::ACCEPT, "text/event-stream");
        if let Some(since) = ask.since {
            request = request.header("last-event-id", since);
        }
        let request = request.body(Empty::new()).map_err(|_| Refused::Away)?;
        let answer = tokio::select! {
            answer = sender.send_request(request) => answer.map_err(|_| Refused::Away)?,
            _ = &mut connection => return Err(Refused::Away),
        };
        if answer.status() != StatusCode::OK {
            return Err(Refused::Status(answer.status().as_u16()));
        }
        Ok(Self {
            connection: Some(connection),
            body: answer.into_body(),
            buffer: BytesMut::new(),
        })
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Heard> {
        loop {
            if let Some(heard) = next_event(&mut self.buffer) {
                return Poll::Ready(heard);
            }
            // The connection has to be driven by somebody; it ends once.
            if let Some(connection) = &mut self.connection
                && connection.as_mut().poll(context).is_ready()
            {
                self.connection = None;
            }
            match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => {
                    if let Ok(data) = frame.into_data() {
                        self.buffer.extend_from_slice(&data);
                    }
                }
                Poll::Ready(Some(Err(_)) | None) => return Poll::Ready(Heard::Cut),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

/// Takes the first whole event off a buffer.
fn next_event(buffer: &mut BytesMut) -> Option<Heard> {
    let Some(end) = buffer.windows(2).position(|two| two == b"\n\n") else {
        return (buffer.len() > MESSAGE_MAX)
            .then(|| Heard::Broken("an event without an end".to_owned()));
    };
    let event = buffer.split_to(end + 2).freeze();
    let mut data = None;
    let mut id = None;
    let mut start = 0;
    while start < end {
        let line = event[start..].iter().position(|byte| *byte == b'\n');
        let line = event.slice(start..start + line.unwrap_or(event.len() - start));
        start += line.len() + 1;
        let value = |name: &[u8]| {
            let mut value = line.strip_prefix(name).map(|rest| line.slice_ref(rest))?;
            if value.first() == Some(&b' ') {
                value.advance(1);
            }
            Some(value)
        };
        if let Some(value) = value(b"data:") {
            if data.replace(value).is_some() {
                return Some(Heard::Broken("an event of several lines".to_owned()));
            }
        } else if let Some(value) = value(b"id:") {
            id = String::from_utf8(value.into()).ok();
        }
    }
    Some(data.map_or(Heard::Beat, |data| Heard::Message(data, id)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_taken_apart() {
        let mut buffer = BytesMut::from(
            "event: delta\nid: k-3\ndata: {\"a\":1}\n\n: beat\n\ndata:x\n\ndata: half".as_bytes(),
        );
        let message = |text: &'static str, id: Option<&str>| {
            Some(Heard::Message(text.into(), id.map(str::to_owned)))
        };
        assert_eq!(next_event(&mut buffer), message("{\"a\":1}", Some("k-3")));
        assert_eq!(next_event(&mut buffer), Some(Heard::Beat));
        assert_eq!(next_event(&mut buffer), message("x", None));
        assert_eq!(next_event(&mut buffer), None);
        buffer.extend_from_slice(b" of it\n\n");
        assert_eq!(next_event(&mut buffer), message("half of it", None));
        buffer.extend_from_slice(b"data: 1\ndata: 2\n\n");
        assert!(matches!(next_event(&mut buffer), Some(Heard::Broken(_))));
        assert!(buffer.is_empty());
    }
}
