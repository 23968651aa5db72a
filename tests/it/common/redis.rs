//! A real Redis server for one test.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    sync::{Mutex, MutexGuard},
    thread::sleep,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use super::PATIENCE;

/// Ports to try: below the range from which the system takes ports for outgoing connections, so that the port of a
/// stopped server is still free when it comes back.
const PORTS: std::ops::Range<u16> = 15_000..32_000;

/// A server on a free port of this machine, with a directory of its own; killed and removed with the value.
pub(crate) struct RedisServer {
    directory: TempDir,
    port: u16,
    append_only: bool,
    child: Mutex<Option<Child>>,
}

impl RedisServer {
    /// A server that keeps nothing over a restart.
    pub(crate) fn start() -> Self {
        Self::start_with(false)
    }

    /// A server that keeps an append-only file, written through with every command.
    pub(crate) fn start_persistent() -> Self {
        Self::start_with(true)
    }

    fn start_with(append_only: bool) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let mut server = Self {
            directory,
            port: 0,
            append_only,
            child: Mutex::new(None),
        };
        // Another test may take the port between our look and the server's start.
        while !server.is_up() {
            server.port = rand::random_range(PORTS);
            if TcpListener::bind(("127.0.0.1", server.port)).is_ok() {
                server.try_launch();
            }
        }
        server
    }

    /// Where to connect to.
    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }

    /// Runs a command and gives the answer as it came over the wire: for looking, and acting, behind the store's back.
    pub(crate) fn command(&self, words: &[&str]) -> String {
        let words: Vec<_> = words
            .iter()
            .map(|word| format!("${}\r\n{word}\r\n", word.len()))
            .collect();
        let request = format!("*{}\r\n{}", words.len(), words.concat());
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the server is up");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream.write_all(request.as_bytes()).expect("sent");
        // A second command marks the end of the first one's answer.
        let mark = "*2\r\n$4\r\nECHO\r\n$12\r\nend-of-reply\r\n";
        stream.write_all(mark.as_bytes()).expect("sent");
        let end = b"$12\r\nend-of-reply\r\n";
        let mut answer = Vec::new();
        let mut buffer = [0; 4096];
        while !answer.ends_with(end) {
            let read = stream.read(&mut buffer).expect("an answer");
            assert!(read > 0, "the server hung up");
            answer.extend_from_slice(&buffer[..read]);
        }
        answer.truncate(answer.len() - end.len());
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Everything that it holds, as it came over the wire.
    pub(crate) fn dump(&self) -> Vec<u8> {
        let keys = self.command(&["KEYS", "*"]);
        let mut all = keys.clone();
        for key in keys.lines().filter(|line| line.starts_with("rankcast")) {
            let words: &[&str] = match self.command(&["TYPE", key]).trim() {
                "+stream" => &["XRANGE", key, "-", "+"],
                "+hash" => &["HGETALL", key],
                "+zset" => &["ZRANGE", key, "0", "-1"],
                "+set" => &["SMEMBERS", key],
                "+list" => &["LRANGE", key, "0", "-1"],
                _ => &["GET", key],
            };
            all.push_str(&self.command(words));
        }
        all.into_bytes()
    }

    /// Kills the server, as a crash would.
    pub(crate) fn stop(&self) {
        if let Some(mut child) = self.child().take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Starts it again on the same port, with the same directory.
    pub(crate) fn restart(&self) {
        self.stop();
        let start = Instant::now();
        while !self.is_up() {
            assert!(start.elapsed() < PATIENCE, "the port was not free again");
            self.try_launch();
        }
    }

    /// Freezes the process: its port still accepts connections, and nobody answers. [`thaw`](Self::thaw) ends it.
    pub(crate) fn freeze(&self) {
        self.signal("-STOP");
    }

    /// Lets a frozen process go on.
    pub(crate) fn thaw(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let id = self
            .child()
            .as_ref()
            .expect("a running server")
            .id()
            .to_string();
        let status = Command::new("kill")
            .args([signal, &id])
            .status()
            .expect("kill runs");
        assert!(status.success());
    }

    /// Starts the process; leaves no child behind if it does not come up (its port was taken).
    fn try_launch(&self) {
        let mut child = Command::new("redis-server")
            .args([
                "--port",
                &self.port.to_string(),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--appendfsync",
                "always",
            ])
            .args(["--appendonly", if self.append_only { "yes" } else { "no" }])
            .arg("--dir")
            .arg(self.directory.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("redis-server is installed");
        let start = Instant::now();
        loop {
            if child.try_wait().expect("a child").is_some() {
                return;
            }
            if self.answers() {
                *self.child() = Some(child);
                return;
            }
            assert!(start.elapsed() < PATIENCE, "redis-server does not answer");
            sleep(Duration::from_millis(5));
        }
    }

    fn child(&self) -> MutexGuard<'_, Option<Child>> {
        self.child.lock().expect("no panic under the lock")
    }

    fn is_up(&self) -> bool {
        self.child().is_some()
    }

    fn answers(&self) -> bool {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) else {
            return false;
        };
        let _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
        let mut answer = [0; 7];
        stream.write_all(b"PING\r\n").is_ok()
            && stream.read_exact(&mut answer).is_ok()
            && &answer == b"+PONG\r\n"
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.stop();
    }
}
