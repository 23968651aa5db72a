//! Close codes: why a server ends a live connection, and whether to come back.

/// Why a live connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Close {
    /// What was asked makes no sense. Do not come back.
    BadRequest,
    /// A key is needed, or the one given is wrong. Do not come back.
    Unauthorized,
    /// No such board. Do not come back.
    NotFound,
    /// The board was deleted. Do not come back.
    Deleted,
    /// The viewer took too long to read. Come back with your position.
    TooSlow,
    /// Too many connections. Come back later.
    TooMany,
    /// The server stops. Come back with your position, to this or another one.
    Restarting,
}

impl Close {
    /// The WebSocket close code.
    pub fn code(self) -> u16 {
        match self {
            Self::BadRequest => 4400,
            Self::Unauthorized => 4401,
            Self::NotFound => 4404,
            Self::TooSlow => 4408,
            Self::Deleted => 4410,
            Self::TooMany => 4429,
            Self::Restarting => 1012,
        }
    }

    /// The reason that goes with it.
    pub fn reason(self) -> &'static str {
        match self {
            Self::BadRequest => "bad request",
            Self::Unauthorized => "a key is needed, or this one is wrong",
            Self::NotFound => "no such board",
            Self::TooSlow => "too slow",
            Self::Deleted => "the board was deleted",
            Self::TooMany => "too many connections",
            Self::Restarting => "the server restarts",
        }
    }
}
