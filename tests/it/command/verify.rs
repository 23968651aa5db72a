//! `rankcast verify`.

use std::path::PathBuf;

use tempfile::TempDir;

use super::ended;
use crate::common::server::{Home, TestServer, team};

struct Expectation {
    directory: TempDir,
}

impl Expectation {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().expect("a directory"),
        }
    }

    fn file(&self, text: &str) -> PathBuf {
        let path = self.directory.path().join("expected.tsv");
        std::fs::write(&path, text).expect("written");
        path
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_board_is_compared_with_a_file_and_what_is_broken_in_it_named() {
    let server = TestServer::start(Home::embedded()).await;
    server.make_contest("c").await;
    server.post("c", &[team("t1"), team("t2")]).await;
    server.judge("c", "j1", "t1", "A", "AC", "0:10:00").await;
    let expectation = Expectation::new();
    let verify = |text: &str, code: i32| {
        let path = expectation.file(text);
        ended(
            &server.command(&[
                "verify",
                "--contest",
                "c",
                "--expected",
                path.to_str().unwrap(),
            ]),
            code,
        )
    };
    let good = "team_id\trank\tsolved\tpenalty_seconds\nt1\t1\t1\t600\nt2\t2\t0\t0\n";
    assert!(verify(good, 0).contains("c: 2 of 2 teams match"));
    assert!(verify(&good.replace('\n', "\r\n"), 0).contains("2 of 2 teams match"));
    let said = verify(&good.replace("600", "660"), 1);
    assert!(
        said.contains("1 of 2 teams match")
            && said.contains("t1: penalty_seconds is 600, expected 660"),
        "{said}"
    );
    let said = verify("team_id\trank\nt1\t1\n", 1);
    assert!(
        said.contains("1 of 1 teams match") && said.contains("t2: not expected"),
        "{said}"
    );
    let said = verify(&format!("{good}t3\t3\t0\t0\n"), 1);
    assert!(
        said.contains("2 of 3 teams match") && said.contains("t3: not on the board"),
        "{said}"
    );
    let said = verify(&format!("{good}\nt3\t3\n"), 2);
    assert!(
        said.contains("expected.tsv") && said.contains("line 5: expected 4 columns, got 2"),
        "{said}"
    );
    for broken in ["", "rank\tsolved\n1\t1\n", "team_id,rank\nt1,1\n"] {
        let said = verify(broken, 2);
        assert!(said.contains("line 1: expected a header"), "{said}");
    }
    let said = ended(
        &server.command(&[
            "verify",
            "--contest",
            "c",
            "--expected",
            "/nothing/here.tsv",
        ]),
        2,
    );
    assert!(said.contains("cannot read /nothing/here.tsv"), "{said}");
    let said = ended(&server.command(&["verify", "--contest", "none"]), 2);
    assert!(said.contains("no such contest: none"), "{said}");
    ended(&server.command(&["verify", "--contest", "../c"]), 2);
    let said = ended(&server.command(&["verify", "--contest", "c"]), 0);
    assert!(said.contains("as served"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_projection_that_somebody_changed_is_found() {
    let Home::Redis(redis) = Home::redis() else {
        unreachable!("it is one")
    };
    let server = TestServer::start(Home::Redis(redis.clone())).await;
    server.make_contest("c").await;
    server.post("c", &[team("t1")]).await;
    server.judge("c", "j1", "t1", "A", "AC", "0:10:00").await;
    let said = ended(&server.command(&["verify", "--contest", "c"]), 0);
    assert!(said.contains("projection: equal"), "{said}");
    redis.command(&["ZADD", "rankcast:{c}:standings", "7", "t1"]);
    let said = ended(&server.command(&["verify", "--contest", "c"]), 1);
    assert!(
        said.contains("NOT as served") && said.contains("projection: t1: the set has 7"),
        "{said}"
    );
}
