//! Reads WebSocket frames as cheaply as can be: headers and the first bytes, no copies, no JSON.

use anyhow::bail;

/// How much of a message is looked at to tell what it is.
const HEAD: usize = 40;

/// What a server's messages look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Every text frame is an update.
    Plain,
    /// rankcast: deltas are updates; problems, state and the rest are not.
    Rankcast,
    /// Socket.IO over Engine.IO 4.
    SocketIo,
    /// Centrifugo's JSON protocol, one subscription.
    Centrifugo,
}

/// What a message is to the benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// What was published.
    Update,
    /// Something else.
    Other,
    /// The viewer is subscribed now.
    Joined,
    /// The server expects this frame.
    Answer(Vec<u8>),
    /// The server closes.
    Closed,
}

impl Dialect {
    /// What the viewer sends first.
    pub(crate) fn greeting(self) -> Option<Vec<u8>> {
        match self {
            Self::Centrifugo => Some(
                [
                    text(r#"{"id":1,"connect":{}}"#),
                    text(r#"{"id":2,"subscribe":{"channel":"bench"}}"#),
                ]
                .concat(),
            ),
            _ => None,
        }
    }

    /// Whether a viewer is subscribed as soon as its connection is a WebSocket.
    pub(crate) fn joins_at_once(self) -> bool {
        matches!(self, Self::Plain | Self::Rankcast)
    }

    fn hear(self, head: &[u8]) -> Heard {
        match self {
            Self::Plain => Heard::Update,
            Self::Rankcast if head.starts_with(br#"{"type":"delta""#) => Heard::Update,
            Self::SocketIo => match head {
                [b'4', b'2', ..] => Heard::Update,
                [b'4', b'0', ..] => Heard::Joined,
                [b'0', ..] => Heard::Answer(text("40")),
                [b'2'] => Heard::Answer(text("3")),
                _ => Heard::Other,
            },
            Self::Centrifugo if head == b"{}" => Heard::Answer(text("{}")),
            Self::Centrifugo if head.starts_with(br#"{"push""#) => Heard::Update,
            Self::Centrifugo if head.starts_with(br#"{"id":2,"subscribe""#) => Heard::Joined,
            Self::Rankcast | Self::Centrifugo => Heard::Other,
        }
    }
}

/// A text frame from a client. Masked with zeros, which changes nothing.
fn text(payload: &str) -> Vec<u8> {
    masked(0x81, payload.as_bytes())
}

fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
    // Control frames and greetings are shorter than what needs a longer length.
    let mut frame = vec![first, 0x80 | payload.len() as u8, 0, 0, 0, 0];
    frame.extend_from_slice(payload);
    frame
}

/// A text frame from a server.
pub(crate) fn served(payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x81];
    match payload.len() {
        short @ ..126 => frame.push(short as u8),
        middle @ ..65_536 => {
            frame.push(126);
            frame.extend_from_slice(&(middle as u16).to_be_bytes());
        }
        long => {
            frame.push(127);
            frame.extend_from_slice(&(long as u64).to_be_bytes());
        }
    }
    frame.extend_from_slice(payload);
    frame
}

struct Header {
    opcode: u8,
    last: bool,
    length: usize,
    payload: u64,
}

/// The header at the start of `data`, if it is there whole.
fn header(data: &[u8]) -> Option<Header> {
    let (first, second) = (*data.first()?, *data.get(1)?);
    let (length, payload) = match second & 0x7f {
        126 => (
            4,
            u64::from(u16::from_be_bytes(*data.get(2..)?.first_chunk()?)),
        ),
        127 => (10, u64::from_be_bytes(*data.get(2..)?.first_chunk()?)),
        short => (2, u64::from(short)),
    };
    Some(Header {
        opcode: first & 0x0f,
        last: first & 0x80 != 0,
        length,
        payload,
    })
}

/// The frames of one connection, read piece by piece.
#[derive(Debug)]
pub(crate) struct Frames {
    dialect: Dialect,
    /// The beginning of a frame that is not all here.
    kept: Vec<u8>,
    /// How much of the frame that was looked at is still to come.
    skip: u64,
    last: bool,
    heard: Heard,
}

impl Frames {
    pub(crate) fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            kept: Vec::new(),
            skip: 0,
            last: true,
            heard: Heard::Other,
        }
    }

    /// Takes in what was read, and tells `on` each message that is here whole.
    pub(crate) fn feed(&mut self, data: &[u8], mut on: impl FnMut(&Heard)) -> anyhow::Result<()> {
        if self.kept.is_empty() {
            return self.parse(data, &mut on);
        }
        let mut all = std::mem::take(&mut self.kept);
        all.extend_from_slice(data);
        self.parse(&all, &mut on)
    }

    fn parse(&mut self, mut data: &[u8], on: &mut impl FnMut(&Heard)) -> anyhow::Result<()> {
        while !data.is_empty() {
            if self.skip > 0 {
                let skipped = self.skip.min(data.len() as u64);
                self.skip -= skipped;
                data = &data[skipped as usize..];
                if self.skip == 0 && self.last {
                    on(&self.heard);
                }
                continue;
            }
            let Some(header) = header(data) else {
                self.kept = data.to_vec();
                break;
            };
            let control = header.opcode >= 8;
            let payload = &data[header.length..];
            let needed = if control { 125 } else { HEAD }.min(header.payload as usize);
            if payload.len() < needed {
                self.kept = data.to_vec();
                break;
            }
            let here = payload.len().min(header.payload as usize);
            if control {
                on(&match header.opcode {
                    8 => Heard::Closed,
                    9 => Heard::Answer(masked(0x8a, &payload[..here])),
                    10 => Heard::Other,
                    other => bail!("a frame with opcode {other}"),
                });
            } else {
                // A continuation is what its first frame was.
                if header.opcode != 0 {
                    self.heard = self.dialect.hear(&payload[..needed]);
                }
                self.last = header.last;
                self.skip = header.payload - here as u64;
                if self.skip == 0 && self.last {
                    on(&self.heard);
                }
            }
            data = &data[header.length + here..];
        }
        Ok(())
    }
}
