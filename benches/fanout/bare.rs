//! The floor: one thread that writes one frame to one socket after the other.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
};

use anyhow::Context as _;

use super::frames::served;

/// The answer to the one key that our viewers send (the example of RFC 6455, section 1.3).
const UPGRADE: &[u8] =
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

/// Serves until it is killed.
pub(crate) fn serve(address: SocketAddr) -> anyhow::Result<()> {
    let listener = TcpListener::bind(address)?;
    // The standard library's backlog is short; the number may be raised later.
    rustix::net::listen(&listener, 4096)?;
    let mut viewers = Vec::new();
    for socket in listener.incoming() {
        let socket = socket?;
        socket.set_nodelay(true)?;
        let mut reader = BufReader::with_capacity(1024, socket);
        let Ok((first, length)) = read_head(&mut reader) else {
            continue;
        };
        if first.starts_with("GET") {
            let mut socket = reader.into_inner();
            socket.write_all(UPGRADE)?;
            viewers.push(socket);
        } else {
            publish(reader, length, &mut viewers)?;
        }
    }
    Ok(())
}

/// What comes on this connection goes to all, until it ends. Nobody joins meanwhile.
fn publish(
    mut reader: BufReader<TcpStream>,
    mut length: usize,
    viewers: &mut Vec<TcpStream>,
) -> anyhow::Result<()> {
    loop {
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let frame = served(&body);
        viewers.retain(|mut viewer| viewer.write_all(&frame).is_ok());
        reader
            .get_mut()
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")?;
        match read_head(&mut reader) {
            Ok((_, next)) => length = next,
            Err(_) => return Ok(()),
        }
    }
}

/// The first line, and the length of the body.
fn read_head(reader: &mut BufReader<TcpStream>) -> anyhow::Result<(String, usize)> {
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        let read = reader.read_line(&mut line)?;
        anyhow::ensure!(read > 0, "half a request");
        if line.trim().is_empty() {
            return Ok((first, length));
        }
        if let Some(value) = line.strip_prefix("Content-Length:") {
            length = value.trim().parse().context("a length")?;
        }
    }
}
