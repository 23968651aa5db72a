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
            event: OnceLock::new(),
        }
    }

    /// The JSON text, valid UTF-8.
    pub fn json(&self) -> &Bytes {
        &self.json
    }

    /// The `type`.
    pub fn kind(&self) -> &'static str {
        self.kind
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
