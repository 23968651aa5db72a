//! The live protocol, version 1: messages on the wire, close codes, frames encoded once.
//!
//! All messages are JSON objects with a `type`. [`message`] has their shapes, [`Frame`] one message ready to be sent to any
//! number of viewers, over WebSocket or as a server-sent event.

pub mod close;
pub mod frame;
pub mod message;

use std::{fmt, str::FromStr};

pub use close::Close;
pub use frame::Frame;
pub use message::Message;

/// A place in a board's history: `epoch-version`. Also its entity tag, and the id of server-sent events.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Position {
    /// Names an unbroken history.
    pub epoch: String,
    /// The version within it.
    pub version: u64,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.epoch, self.version)
    }
}

impl FromStr for Position {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || "expected a position such as k3f9-1200".to_owned();
        let (epoch, version) = text.rsplit_once('-').ok_or_else(expected)?;
        let fits = (1..=32).contains(&epoch.len())
            && epoch
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'.')
            && version.bytes().all(|byte| byte.is_ascii_digit());
        let version = version.parse().ok().filter(|_| fits).ok_or_else(expected)?;
        Ok(Self {
            epoch: epoch.to_owned(),
            version,
        })
    }
}

/// How many rows a viewer holds. Those who asked for about the same share one stream of frames, so an asked number is
/// rounded up to one of these; the viewer shows as many of them as it likes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Limit {
    Ten,
    TwentyFive,
    Hundred,
    Thousand,
    All,
}

impl Limit {
    /// All of them, small first.
    pub const ALL: [Self; 5] = [
        Self::Ten,
        Self::TwentyFive,
        Self::Hundred,
        Self::Thousand,
        Self::All,
    ];

    /// The limit that holds `rows`, 1 to 1000.
    pub fn holding(rows: usize) -> Option<Self> {
        match rows {
            1..=10 => Some(Self::Ten),
            11..=25 => Some(Self::TwentyFive),
            26..=100 => Some(Self::Hundred),
            101..=1000 => Some(Self::Thousand),
            _ => None,
        }
    }

    /// The number of rows; `None` for all.
    pub fn rows(self) -> Option<usize> {
        match self {
            Self::Ten => Some(10),
            Self::TwentyFive => Some(25),
            Self::Hundred => Some(100),
            Self::Thousand => Some(1000),
            Self::All => None,
        }
    }

    /// Its place in [`Limit::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }

    /// As options and metrics write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ten => "10",
            Self::TwentyFive => "25",
            Self::Hundred => "100",
            Self::Thousand => "1000",
            Self::All => "all",
        }
    }
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::All);
        }
        text.parse()
            .ok()
            .and_then(Self::holding)
            .ok_or_else(|| format!("expected 1 to 1000 or all, got {text:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_read_as_they_are_written() {
        let position = Position {
            epoch: "k3f9.1".into(),
            version: 1200,
        };
        assert_eq!(position.to_string(), "k3f9.1-1200");
        assert_eq!("k3f9.1-1200".parse(), Ok(position));
        for text in [
            "",
            "-",
            "k3f9",
            "k3f9-",
            "-1",
            "k-3-x",
            "k3f9-+1",
            "k3f9--1",
            "k3f9-99999999999999999999",
            "k\n-1",
        ] {
            assert!(text.parse::<Position>().is_err(), "{text}");
        }
    }

    #[test]
    fn limits_are_rounded_up() {
        let rows = |text: &str| text.parse::<Limit>().unwrap().rows();
        assert_eq!(
            (rows("1"), rows("11"), rows("100"), rows("101"), rows("all")),
            (Some(10), Some(25), Some(100), Some(1000), None)
        );
        for text in ["0", "1001", "-1", "ALL", "", "1e2"] {
            assert!(text.parse::<Limit>().is_err(), "{text}");
        }
    }
}
