//! A feed that comes as judges' feeds do come: shuffled, twice, in two halves at once. The board is the same.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    fs,
    path::{Path, PathBuf},
};

use rand::{rng, seq::SliceRandom as _};
use reqwest::Method;
use serde_json::Value;

use super::text;
use crate::common::{
    eventually,
    server::{Home, TestServer, data},
};

/// The object of a line: its type, and its id unless a line concerns all of that type.
type Lane = (String, Option<String>);

/// The lines of a feed, each with its object.
fn lines(feed: &Path) -> Vec<(Lane, String)> {
    let text = fs::read_to_string(feed).expect("a feed");
    let read = |line: &str| {
        let value: Value = serde_json::from_str(line).expect("JSON");
        let kind = value["type"].as_str().expect("a type").to_owned();
        // In the older form the outer id is that of the event.
        let id = value["data"]["id"]
            .as_str()
            .or_else(|| value["id"].as_str());
        ((kind, id.map(str::to_owned)), line.to_owned())
    };
    let all = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(read);
    let all: Vec<(Lane, String)> = all.collect();
    let whole: HashSet<String> = all
        .iter()
        .filter(|((_, id), _)| id.is_none())
        .map(|((kind, _), _)| kind.clone())
        .collect();
    let lane = |((kind, id), line): (Lane, String)| {
        ((kind.clone(), id.filter(|_| !whole.contains(&kind))), line)
    };
    all.into_iter().map(lane).collect()
}

/// In another order, but that of each object's own lines.
fn shuffled(lines: &[(Lane, String)]) -> Vec<String> {
    let mut waiting: HashMap<&Lane, VecDeque<&String>> = HashMap::new();
    for (lane, line) in lines {
        waiting.entry(lane).or_default().push_back(line);
    }
    let mut turns: Vec<&Lane> = lines.iter().map(|(lane, _)| lane).collect();
    turns.shuffle(&mut rng());
    let next = |lane: &Lane| waiting.get_mut(lane).and_then(VecDeque::pop_front).cloned();
    turns.into_iter().filter_map(next).collect()
}

/// In two parts, all lines of an object in one of them.
fn halves(lines: &[(Lane, String)]) -> [Vec<(Lane, String)>; 2] {
    let mut places: HashMap<&Lane, usize> = HashMap::new();
    let mut halves = [Vec::new(), Vec::new()];
    for (lane, line) in lines {
        let next = places.len() % 2;
        halves[*places.entry(lane).or_insert(next)].push((lane.clone(), line.clone()));
    }
    halves
}

fn plain_lines(lines: &[(Lane, String)]) -> Vec<String> {
    lines.iter().map(|(_, line)| line.clone()).collect()
}

/// Packs that are checked in each way by itself.
const SMALL: [&str; 5] = [
    "clics-deletes",
    "clics-old-format",
    "clics-thawed-53",
    "sum-324",
    "regional-352",
];

/// What is served of a contest, but for where in its log it is.
async fn served(server: &TestServer, contest: &str) -> [Value; 2] {
    let mut boards = [Value::Null, Value::Null];
    for (board, view) in boards.iter_mut().zip(["public", "jury"]) {
        *board = server.board(contest, view, "all").await;
        for field in ["epoch", "version"] {
            board[field] = Value::Null;
        }
        board["state"]["now"] = Value::Null;
        board["state"]["name"] = Value::Null;
    }
    boards
}

struct Case<'a> {
    server: &'a TestServer,
    folder: PathBuf,
    expected: [Value; 2],
}

impl Case<'_> {
    /// Imports files, all at once, into a new contest, which must end as the plain import did.
    async fn check(&self, name: &str, files: &[Vec<String>]) {
        // The settings of the pack stand beside the feed.
        let folders: Vec<tempfile::TempDir> = files
            .iter()
            .map(|_| tempfile::tempdir().expect("a directory"))
            .collect();
        for (folder, lines) in folders.iter().zip(files) {
            fs::write(folder.path().join("event-feed.ndjson"), lines.join("\n")).expect("a file");
            fs::copy(
                self.folder.join("about.json"),
                folder.path().join("about.json"),
            )
            .expect("a file");
        }
        let contest = format!(
            "{}-{name}",
            self.folder.file_name().unwrap().to_string_lossy()
        );
        std::thread::scope(|scope| {
            let contest = &contest;
            let imports: Vec<_> = folders
                .iter()
                .map(|folder| {
                    scope.spawn(move || {
                        self.server.command(&[
                            "import",
                            folder.path().to_str().unwrap(),
                            "--contest",
                            contest,
                        ])
                    })
                })
                .collect();
            for import in imports {
                let imported = import.join().expect("it runs");
                assert!(imported.status.success(), "{contest}: {}", text(&imported));
            }
        });
        eventually(&format!("{contest} ends as it should"), async || {
            served(self.server, &contest).await == self.expected
        })
        .await;
        self.server
            .ask(Method::DELETE, &format!("/api/contests/{contest}"), "")
            .await;
    }
}

async fn however_a_feed_comes_the_board_is_the_same(home: Home) {
    let Some(data) = data() else { return };
    let redis = matches!(home, Home::Redis(_));
    let server = TestServer::start(home).await;
    let all = [
        "clics-deletes",
        "clics-old-format",
        "clics-thawed-53",
        "sum-324",
        "points-446",
        "regional-352",
        "regional-800",
        "seconds-887",
        "online-2554",
    ];
    // The order in which a log is written is the store's; what comes of it is not.
    let packs = if redis { &all[..4] } else { &all[..] };
    for pack in packs {
        let began = std::time::Instant::now();
        let folder = data.join(pack);
        let imported = server.command(&["import", folder.to_str().unwrap(), "--contest", pack]);
        assert!(imported.status.success(), "{}", text(&imported));
        // Where no feed tells the phases, the server's own clock does, a moment later.
        eventually("the contest is over", async || {
            server.board(pack, "jury", "10").await["state"]["phase"] != "before"
        })
        .await;
        let case = Case {
            server: &server,
            expected: served(&server, pack).await,
            folder: folder.clone(),
        };
        let lines = lines(&folder.join("event-feed.ndjson"));
        let twice = |lines: Vec<String>| -> Vec<String> {
            lines
                .into_iter()
                .flat_map(|line| [line.clone(), line])
                .collect()
        };
        if SMALL.contains(pack) {
            case.check("shuffled", &[shuffled(&lines)]).await;
            case.check("twice", &[twice(plain_lines(&lines))]).await;
            case.check("halves", &halves(&lines).map(|half| plain_lines(&half)))
                .await;
        } else {
            // All of it together.
            let halves = halves(&lines).map(|half| twice(shuffled(&half)));
            case.check("mixed", &halves).await;
        }
        println!("{pack}: {:.1} s", began.elapsed().as_secs_f64());
    }
}

both! {
    however_a_feed_comes_the_board_is_the_same
}
