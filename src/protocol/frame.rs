//! Frames: a message encoded once, for any number of viewers.

use std::sync::OnceLock;

use bytes::Bytes;

use super::{Message, Position};

/// One message, ready to be sent.
#[derive(Debug)]
pub struct Frame {
    kind: &'static str,
    json: Bytes,
    /// Where a viewer stands after it, if it moves.
    position: Option<Position>,
    wire: OnceLock<Bytes>,
    event: OnceLock<Bytes>,
}

impl Frame {
    /// Encodes a message. `position`: where a viewer stands after it.
    pub fn new(message: &Message<'_>, position: Option<Position>) -> Self {
        Self::encoded(message.kind(), message.encode(), position)
    }

    /// A message that is JSON already.
    pub fn encoded(kind: &'static str, json: Bytes, position: Option<Position>) -> Self {
        Self {
            kind,
            json,
            position,
            wire: OnceLock::new(),
            event: OnceLock::new(),
        }
    }

    /// Where a viewer stands after it, if it moves.
    pub fn position(&self) -> Option<&Position> {
        self.position.as_ref()
    }

    /// The JSON text, valid UTF-8.
    pub fn json(&self) -> &Bytes {
        &self.json
    }

    /// The `type`.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// As one unmasked WebSocket text frame (RFC 6455, section 5.2).
    pub fn wire(&self) -> &Bytes {
        self.wire.get_or_init(|| {
            let mut out = Vec::with_capacity(self.json.len() + 10);
            put_header(&mut out, 0x1, self.json.len());
            out.extend_from_slice(&self.json);
            out.into()
        })
    }

    /// As a server-sent event: `event:` the type, `id:` the position. JSON as we write it has no line breaks.
    pub fn event(&self) -> &Bytes {
        self.event.get_or_init(|| {
            let mut out = Vec::with_capacity(self.json.len() + 64);
            out.extend_from_slice(b"event: ");
            out.extend_from_slice(self.kind.as_bytes());
            if let Some(position) = &self.position {
                out.extend_from_slice(format!("\nid: {position}").as_bytes());
            }
            out.extend_from_slice(b"\ndata: ");
            out.extend_from_slice(&self.json);
            out.extend_from_slice(b"\n\n");
            out.into()
        })
    }
}

/// The header of an unmasked WebSocket frame that is a whole message (RFC 6455, section 5.2).
fn put_header(out: &mut Vec<u8>, opcode: u8, length: usize) {
    const WHOLE: u8 = 0x80;
    out.push(WHOLE | opcode);
    match length {
        0..=125 => out.push(length as u8),
        126..=0xffff => {
            out.push(126);
            out.extend_from_slice(&(length as u16).to_be_bytes());
        }
        _ => {
            out.push(127);
            out.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
}

/// A WebSocket ping without a payload, as the server sends it.
pub const PING: [u8; 2] = [0x89, 0x00];

/// A WebSocket close frame, as the server sends it: the code, and a reason of at most 123 bytes.
pub fn close_frame(code: u16, reason: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(4 + reason.len());
    put_header(&mut out, 0x8, 2 + reason.len());
    out.extend_from_slice(&code.to_be_bytes());
    out.extend_from_slice(reason.as_bytes());
    out
}

#[cfg(test)]
mod tests {
    use std::io::{self, Cursor, Read, Write};

    use tungstenite::{Message, protocol::Role};

    use super::*;

    /// What a WebSocket library reads of some bytes.
    fn read(bytes: Vec<u8>) -> Message {
        struct Wire(Cursor<Vec<u8>>);
        impl Read for Wire {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                self.0.read(buffer)
            }
        }
        impl Write for Wire {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let wire = Wire(Cursor::new(bytes));
        tungstenite::WebSocket::from_raw_socket(wire, Role::Client, None)
            .read()
            .unwrap()
    }

    #[test]
    fn a_websocket_library_reads_frames_of_any_length() {
        for length in [0, 1, 125, 126, 127, 65_535, 65_536, 100_000] {
            let text = "x".repeat(length);
            let frame = Frame::encoded("delta", text.clone().into(), None);
            assert_eq!(read(frame.wire().to_vec()), Message::text(text), "{length}");
        }
        assert_eq!(read(PING.to_vec()), Message::Ping(Bytes::new()));
        let Message::Close(Some(close)) = read(close_frame(4408, "too slow")) else {
            panic!("expected a close frame");
        };
        assert_eq!(
            (u16::from(close.code), close.reason.as_str()),
            (4408, "too slow")
        );
    }
}
