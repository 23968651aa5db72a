//! Whole contests that really took place, where their folder is at hand.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::story::Story;
use crate::contest::{Notification, Side};

/// The folder of a pack; `None`, and a notice, where it is missing.
fn pack(name: &str) -> Option<PathBuf> {
    let data = std::env::var_os("RANKCAST_DATA_PACKS").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data"),
        PathBuf::from,
    );
    let folder = data.join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: no pack {name} (RANKCAST_DATA_PACKS names the folder of the packs)");
    None
}

fn lines(folder: &Path) -> Vec<Notification> {
    let feed = fs::read(folder.join("event-feed.ndjson")).unwrap();
    let parse = |(number, line): (usize, &[u8])| match Notification::parse(line) {
        Ok(notification) => notification,
        Err(error) => panic!("{} line {}: {error}", folder.display(), number + 1),
    };
    feed.split(|byte| *byte == b'\n')
        .enumerate()
        .filter_map(parse)
        .collect()
}

fn about(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("about.json")).unwrap()).unwrap()
}

/// Folds a whole pack; none of its lines may be refused.
fn load(folder: &Path) -> Story {
    let mut story = Story::empty();
    for notification in lines(folder) {
        match notification.event() {
            Ok(event) => drop(story.event(&event)),
            Err(error) => panic!("{}: {error}", folder.display()),
        }
    }
    story
}

/// The jury's final board, row by row, against the pack's.
fn compare_icpc(name: &str) {
    let Some(folder) = pack(name) else { return };
    let about = about(&folder);
    let mut story = load(&folder);
    let unit = if about["penalty_rounding"] == "seconds" {
        1
    } else {
        60
    };
    let table = fs::read_to_string(folder.join("expected.tsv")).unwrap();
    for (rank_by, column) in [(2, 1), (3, 2)] {
        story.settings(json!({"penalty_rounding": about["penalty_rounding"], "rank_by": rank_by}));
        let ranks = story
            .ranks(Side::Jury)
            .into_iter()
            .map(|(id, rank)| (id, rank.unwrap_or(0)))
            .collect::<HashSet<_>>();
        let mut rows = 0;
        for line in table.lines().skip(1) {
            let fields: Vec<&str> = line.split('\t').collect();
            let number = |index: usize| fields[index].parse::<i64>().unwrap();
            let expected = [number(3), number(4) / unit, number(5) / 1000 / unit];
            assert_eq!(story.row(Side::Jury, fields[0]), expected, "{name}: {line}");
            assert_eq!(number(4) % unit, 0, "{name}: {line}");
            assert!(
                ranks.contains(&(fields[0].to_owned(), number(column) as usize)),
                "{name}, by {rank_by}: {line}"
            );
            rows += 1;
        }
        assert_eq!(rows, ranks.len());
        assert_eq!(json!(rows), about["teams"]);
    }
    let aside = story.contest.all_aside();
    assert!(
        aside
            .iter()
            .all(|aside| aside.reason.starts_with("outside")),
        "{aside:?}"
    );
}

#[test]
fn regional_352_ends_as_expected() {
    compare_icpc("regional-352");
}

#[test]
fn regional_800_ends_as_expected() {
    compare_icpc("regional-800");
}

#[test]
fn online_2554_ends_as_expected() {
    compare_icpc("online-2554");
}

#[test]
fn seconds_887_ends_as_expected() {
    compare_icpc("seconds-887");
}

#[test]
fn sum_324_ends_as_expected() {
    compare_icpc("sum-324");
}

#[test]
fn points_446_ends_as_expected() {
    let Some(folder) = pack("points-446") else {
        return;
    };
    let story = load(&folder);
    let board = story.contest.board(Side::Jury);
    let scale = board.shape().columns[0].scale;
    let ranks = story
        .ranks(Side::Jury)
        .into_iter()
        .map(|(id, rank)| (id, rank.unwrap_or(0)))
        .collect::<HashSet<_>>();
    let table = fs::read_to_string(folder.join("expected.tsv")).unwrap();
    assert_eq!(table.lines().count() - 1, ranks.len());
    for line in table.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let score = crate::contest::decimal::parse(fields[2]).unwrap();
        let score = crate::contest::decimal::at_scale(score, scale);
        assert_eq!(story.row(Side::Jury, fields[0]), [score], "{line}");
        assert!(
            ranks.contains(&(fields[0].to_owned(), fields[1].parse().unwrap())),
            "{line}"
        );
    }
}

#[test]
fn clics_thawed_53_has_the_expected_firsts() {
    let Some(folder) = pack("clics-thawed-53") else {
        return;
    };
    let mut story = load(&folder);
    let firsts = about(&folder)["first_to_solve"]
        .as_object()
        .unwrap()
        .clone();
    for (problem, team) in &firsts {
        assert_eq!(
            story.first(Side::Jury, problem).as_deref(),
            team.as_str(),
            "{problem}"
        );
    }
    assert_eq!(
        story
            .contest
            .problems(Side::Jury)
            .iter()
            .filter(|line| line.first.is_some())
            .count(),
        firsts.len()
    );
    story.settings(json!({"thaw": "upstream"}));
    assert_eq!(
        story.contest.problems(Side::Public),
        story.contest.problems(Side::Jury)
    );
}

#[test]
fn clics_old_format_keeps_five_judgements_aside() {
    let Some(folder) = pack("clics-old-format") else {
        return;
    };
    let story = load(&folder);
    let aside = story.contest.all_aside();
    let orphans = aside
        .iter()
        .filter(|aside| aside.kind == "judgements" && aside.reason.starts_with("no submission"));
    assert_eq!(orphans.count(), 5, "{aside:?}");
}

#[test]
fn clics_deletes_leaves_what_was_not_deleted() {
    let Some(folder) = pack("clics-deletes") else {
        return;
    };
    let mut story = load(&folder);
    let all = lines(&folder);
    let deleted: Vec<_> = all.iter().filter(|line| line.data.is_null()).collect();
    assert!(!deleted.is_empty());
    let teams = all
        .iter()
        .filter(|line| line.kind == "teams")
        .filter_map(|line| line.id.clone())
        .collect::<HashSet<_>>();
    let board = story.contest.board(Side::Jury);
    assert_eq!(board.len(), teams.len());
    // The pack deletes nothing that scores: delete such things too.
    let top = board.window(Some(1)).next().unwrap().clone();
    let problem = top.cells.keys().next().unwrap().clone();
    story.delete("teams", &top.id);
    story.delete("problems", &problem);
    let board = story.contest.board(Side::Jury);
    assert!(board.get(&top.id).is_none());
    assert!(
        board
            .window(None)
            .all(|entry| !entry.cells.contains_key(&problem))
    );
    assert!(story.contest.problem(Side::Jury, &problem).is_none());
}
