//! `rankcast serve` and `rankcast demo`: how they start, and how they end.

use std::{
    fs::Permissions,
    io::{BufRead as _, BufReader, Read as _},
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
};

use super::{ended, rankcast};
use crate::common::{
    eventually,
    server::{Home, TestServer, http},
};

/// A server that a test started by itself; killed with the value.
struct Running {
    child: Child,
    address: String,
}

impl Running {
    fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let stdout = child.stdout.take().expect("asked for");
        let mut line = String::new();
        let mut reader = BufReader::new(stdout);
        reader.read_line(&mut line).expect("a line");
        child.stdout = Some(reader.into_inner());
        let address = line
            .trim()
            .strip_prefix("rankcast listens on ")
            .unwrap_or_default()
            .to_owned();
        assert!(address.starts_with("http://127.0.0.1:"), "{line:?}");
        Self { child, address }
    }

    /// Asks it to stop; gives how it ended, and what it said on standard error.
    async fn stop(mut self) -> (ExitStatus, String) {
        let asked = Command::new("kill")
            .args(["-TERM", &self.child.id().to_string()])
            .status()
            .expect("kill runs");
        assert!(asked.success());
        let mut status = None;
        eventually("it stops", async || {
            status = self.child.try_wait().expect("a status");
            status.is_some()
        })
        .await;
        let mut said = String::new();
        self.child
            .stderr
            .take()
            .expect("asked for")
            .read_to_string(&mut said)
            .expect("a text");
        (status.expect("waited for"), said)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn serve(data: &Path) -> Command {
    let mut command = rankcast(&["serve", "--listen", "127.0.0.1:0", "--data"]);
    command.arg(data);
    command
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_start_leaves_a_key_that_only_its_owner_can_read() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let path = data.join("admin.key");
    // Something older, open to everyone.
    std::fs::create_dir(&data).unwrap();
    std::fs::write(&path, "old").unwrap();
    std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();

    let server = Running::start(&mut serve(&data));
    let key = std::fs::read_to_string(&path).unwrap().trim().to_owned();
    assert_eq!(
        std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let put = async |server: &Running, key: &str| {
        let url = format!("{}/api/contests/c", server.address);
        http()
            .put(url)
            .bearer_auth(key)
            .body("{}")
            .send()
            .await
            .unwrap()
            .status()
            .as_u16()
    };
    assert_eq!(
        (put(&server, "old").await, put(&server, &key).await),
        (401, 201)
    );
    // The commands find it.
    let mut verify = rankcast(&["verify", "--contest", "c", "--server", &server.address]);
    ended(&verify.env("RANKCAST_DATA", &data).output().unwrap(), 0);
    let (status, said) = server.stop().await;
    assert_eq!(status.code(), Some(0), "{said}");
    assert!(
        said.contains(path.to_str().unwrap()) && !said.contains(&key),
        "{said}"
    );

    let server = Running::start(&mut serve(&data));
    assert_eq!(
        put(&server, &key).await,
        200,
        "it is the same one after a restart"
    );
    let (_, said) = server.stop().await;
    assert!(!said.contains("admin key"), "{said}");
    assert_eq!(std::fs::read_to_string(&path).unwrap().trim(), key);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_of_ones_own_may_be_any_text() {
    let home = tempfile::tempdir().unwrap();
    let server = Running::start(serve(home.path()).env("RANKCAST_ADMIN_KEY", " ключ: κλειδί\r\n"));
    let mut verify = rankcast(&["verify", "--contest", "c", "--server", &server.address]);
    let said = ended(
        &verify.env("RANKCAST_KEY", "ключ: κλειδί").output().unwrap(),
        2,
    );
    assert!(said.contains("404"), "the key is taken: {said}");
    let url = format!("{}/api/contests/c", server.address);
    let basic = http().put(url).basic_auth("judge", Some("ключ: κλειδί"));
    assert_eq!(basic.send().await.unwrap().status(), 201);
    assert!(!home.path().join("admin.key").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_keeps_a_server_from_starting_is_said() {
    let one = TestServer::start(Home::embedded()).await;
    let Home::Embedded(directory) = one.home() else {
        unreachable!("it is one")
    };
    let other = tempfile::tempdir().unwrap();
    let taken = one.url("").trim_start_matches("http://").to_owned();
    let start = |listen: &str, words: &[&str]| {
        let mut command = rankcast(&["serve", "--listen", listen]);
        ended(&command.args(words).output().unwrap(), 2)
    };
    let said = start(&taken, &["--data", other.path().to_str().unwrap()]);
    assert!(
        said.contains(&format!("cannot listen on {taken}")) && said.contains("--listen"),
        "{said}"
    );
    assert!(
        !other.path().join("rankcast.redb").exists(),
        "no store was made"
    );
    let path = directory.path().to_str().unwrap();
    let said = start("127.0.0.1:0", &["--data", path]);
    assert!(
        said.contains(path) && said.contains("another process"),
        "{said}"
    );
    let file = other.path().join("file");
    std::fs::write(&file, "").unwrap();
    let said = start("127.0.0.1:0", &["--data", file.to_str().unwrap()]);
    assert!(said.contains(file.to_str().unwrap()), "{said}");
    let said = start("nowhere:x", &[]);
    assert!(said.contains("cannot listen on nowhere:x"), "{said}");
    let said = start(
        "127.0.0.1:0",
        &["--redis", "redis://user:secret@127.0.0.1:1"],
    );
    assert!(
        said.contains("127.0.0.1:1") && !said.contains("secret"),
        "{said}"
    );
    let said = start("127.0.0.1:0", &["--redis", "nonsense:secret"]);
    assert!(
        said.contains("redis://") && !said.contains("secret"),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_demo_moves_and_leaves_nothing_behind() {
    let temporary = tempfile::tempdir().unwrap();
    let mut command = rankcast(&["demo", "--listen", "127.0.0.1:0", "--teams", "30"]);
    let demo = Running::start(command.env("TMPDIR", temporary.path()));
    let board = async || -> serde_json::Value {
        let answer = http()
            .get(format!("{}/api/contests/demo/board", demo.address))
            .send()
            .await
            .unwrap();
        serde_json::from_str(&answer.text().await.unwrap()).unwrap()
    };
    eventually("there are teams", async || board().await["total"] == 30).await;
    let first = board().await;
    eventually("it moves", async || {
        board().await["version"] != first["version"]
    })
    .await;
    let page = http()
        .get(format!("{}/contests/demo", demo.address))
        .send()
        .await
        .unwrap();
    assert_eq!(page.status(), 200);
    assert_eq!(std::fs::read_dir(temporary.path()).unwrap().count(), 1);
    let (status, said) = demo.stop().await;
    assert_eq!((status.code(), said.as_str()), (Some(0), ""));
    assert_eq!(std::fs::read_dir(temporary.path()).unwrap().count(), 0);
}
