//! Publishes over HTTP, on a connection that stays.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
};

use anyhow::{Context as _, bail, ensure};

use super::watch::PATIENCE;

/// What is sent.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    /// Headers beside host and length, each with its line end.
    pub(crate) headers: String,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn post(path: &str, headers: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            method: "POST",
            path: path.to_owned(),
            headers: headers.to_owned(),
            body: body.into(),
        }
    }
}

/// A connection of the one who publishes.
pub(crate) struct Publisher(TcpStream);

impl Publisher {
    pub(crate) fn connect(address: SocketAddr) -> anyhow::Result<Self> {
        let socket = TcpStream::connect_timeout(&address, PATIENCE)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        Ok(Self(socket))
    }

    /// Sends, without waiting for the answer.
    pub(crate) fn send(&mut self, request: &Request) -> anyhow::Result<()> {
        let mut bytes = format!(
            "{} {} HTTP/1.1\r\nHost: bench\r\n{}Content-Length: {}\r\n\r\n",
            request.method,
            request.path,
            request.headers,
            request.body.len()
        )
        .into_bytes();
        bytes.extend_from_slice(&request.body);
        self.0.write_all(&bytes).context("publishing")
    }

    /// Reads the answer.
    pub(crate) fn answer(&mut self) -> anyhow::Result<String> {
        let mut read = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            if let Some((status, body, whole)) = head(&read)? {
                while read.len() < whole {
                    let count = self.0.read(&mut buffer)?;
                    ensure!(count > 0, "half an answer");
                    read.extend_from_slice(&buffer[..count]);
                }
                let body = String::from_utf8_lossy(&read[body..whole]).into_owned();
                ensure!((200..300).contains(&status), "answered {status}: {body}");
                return Ok(body);
            }
            match self.0.read(&mut buffer).context("no answer")? {
                0 => bail!("the server closed instead of answering"),
                count => read.extend_from_slice(&buffer[..count]),
            }
        }
    }

    /// Both.
    pub(crate) fn ask(&mut self, request: &Request) -> anyhow::Result<String> {
        self.send(request)?;
        self.answer()
    }
}

/// Status, where the body begins, where it ends; `None` if the head is not all here.
fn head(read: &[u8]) -> anyhow::Result<Option<(u16, usize, usize)>> {
    let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") else {
        return Ok(None);
    };
    let text = std::str::from_utf8(&read[..end])?;
    let status = text
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    let length = text
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .map_or(Ok(0), |(_, length)| length.trim().parse::<usize>())?;
    let status = status.context("no status")?;
    Ok(Some((status, end + 4, end + 4 + length)))
}
