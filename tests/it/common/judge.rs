//! A judge's server for one test: an event feed that breaks off, forgets its tokens, and begins anew.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// What it says, and how it behaves.
#[derive(Default)]
pub(crate) struct Says {
    /// The lines of the feed.
    pub(crate) lines: Vec<String>,
    /// It cuts each connection after so many lines, in the middle of the next.
    pub(crate) cut_after: Option<usize>,
    /// It does not know the next token that it is asked for.
    pub(crate) forgets: bool,
    /// It knows no tokens at all.
    pub(crate) without_tokens: bool,
    /// What it wants in `Authorization`.
    pub(crate) wants: Option<String>,
    /// It says nothing, not even that it is alive.
    pub(crate) silent: bool,
    /// What it was asked for.
    pub(crate) asked: Vec<String>,
}

/// The server; gone with the value.
pub(crate) struct Judge {
    pub(crate) says: Arc<Mutex<Says>>,
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Judge {
    pub(crate) async fn start(says: Says) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let says = Arc::new(Mutex::new(says));
        let shared = says.clone();
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                connections.spawn(serve(socket, shared.clone()));
            }
        });
        Self {
            says,
            address,
            task,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/api/contests/x/event-feed", self.address)
    }

    pub(crate) fn says<T>(&self, change: impl FnOnce(&mut Says) -> T) -> T {
        change(&mut self.says.lock().expect("no panic under the lock"))
    }
}

impl Drop for Judge {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(socket: TcpStream, says: Arc<Mutex<Says>>) {
    let mut socket = BufReader::new(socket);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if socket.read_line(&mut line).await.unwrap_or(0) == 0 {
            return;
        }
        if line.trim().is_empty() {
            break;
        }
        head.push(line.trim().to_owned());
    }
    let asked = head[0].split(' ').nth(1).unwrap_or("").to_owned();
    let shown = head.iter().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("authorization")
            .then(|| value.to_owned())
    });
    let begin = {
        let mut says = says.lock().expect("no panic under the lock");
        says.asked.push(asked.clone());
        if says.wants.is_some() && says.wants != shown {
            Err("401 Unauthorized")
        } else {
            begin(&mut says, &asked)
        }
    };
    let mut next = match begin {
        Ok(next) => next,
        Err(status) => {
            let answer =
                format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            let _ = socket.write_all(answer.as_bytes()).await;
            return;
        }
    };
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\ntransfer-encoding: chunked\r\n\r\n";
    if socket.write_all(head.as_bytes()).await.is_err() {
        return;
    }
    let mut sent = 0;
    loop {
        let (text, cut, silent) = {
            let says = says.lock().expect("no panic under the lock");
            let room = says.cut_after.map_or(usize::MAX, |most| most - sent);
            let mut text = String::new();
            for line in says.lines.iter().skip(next).take(room.min(500)) {
                text.push_str(line);
                text.push('\n');
                sent += 1;
                next += 1;
            }
            let cut = says.cut_after == Some(sent) && next < says.lines.len();
            if cut {
                text.push_str(&says.lines[next][..20]);
            }
            (text, cut, says.silent)
        };
        let quiet = text.is_empty();
        let text = if quiet { "\n".to_owned() } else { text };
        if !(quiet && silent) {
            let chunk = format!("{:x}\r\n{text}\r\n", text.len());
            if socket.write_all(chunk.as_bytes()).await.is_err() {
                return;
            }
        }
        if cut {
            return; // In the middle of a line and of the answer.
        }
        if quiet {
            let mut nothing = [0; 1];
            tokio::select! {
                // Whoever hangs up is gone.
                read = socket.read(&mut nothing) => if read.unwrap_or(0) == 0 { return },
                () = tokio::time::sleep(Duration::from_millis(100)) => {}
            }
        }
    }
}

/// Where to begin.
fn begin(says: &mut Says, asked: &str) -> Result<usize, &'static str> {
    let Some((_, query)) = asked.split_once('?') else {
        return Ok(0);
    };
    let value = |name: &str| {
        query
            .split('&')
            .find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
    };
    let (field, wanted) = match (value("since_token"), value("since_id")) {
        (Some(token), _) => ("token", token),
        (None, Some(id)) => ("id", id),
        (None, None) => return Ok(0),
    };
    let known = says.lines.iter().rposition(|line| {
        let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
        line[field] == wanted
    });
    match known {
        Some(place) if !says.without_tokens && !std::mem::take(&mut says.forgets) => Ok(place + 1),
        _ => Err("400 Bad Request"),
    }
}
