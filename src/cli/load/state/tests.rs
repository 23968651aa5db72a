use serde_json::{Value, json};

use super::*;

fn lane() -> Lane {
    Lane::new(Arc::default())
}

fn bytes(value: &Value) -> Bytes {
    value.to_string().into()
}

/// A board of two teams at a version; `tries` of the first one at A.
fn snapshot(epoch: &str, version: u64, tries: u32) -> Bytes {
    let row = |id: &str, tries: u32| {
        let mut row = json!({
            "id": id, "values": [0], "name": id, "groups": [], "official": true, "cells": {},
        });
        if tries > 0 {
            row["cells"]["A"] = json!({ "tries": tries });
        }
        row
    };
    bytes(&json!({
        "type": "snapshot", "epoch": epoch, "version": version,
        "columns": [{ "name": "solved", "order": "desc", "rank": true }],
        "ids": "asc", "ties": "competition", "tied_beyond": 0, "limit": 10, "total": 2,
        "rows": [row("t1", tries), row("t2", 0)], "problems": [],
        "state": {
            "name": "x", "phase": "running", "start_time": null, "duration_ms": null, "freeze_ms": null,
            "countdown_pause_ms": null, "now": "2026-01-01T00:00:00.000Z", "store": "live", "feed": "none",
            "feed_since": null,
        },
    }))
}

fn delta(from: u64, version: u64, tries: u32) -> Bytes {
    let row = json!({ "id": "t1", "cells": { "A": { "tries": tries } } });
    bytes(&json!({ "type": "delta", "from": from, "version": version, "rows": [row], "gone": [] }))
}

fn taken(lane: &Lane, from: &Arc<State>, bytes: &Bytes) -> Taken {
    lane.delta(from, bytes).unwrap().expect("news")
}

#[test]
fn a_transition_is_worked_out_once_for_all() {
    let lane = lane();
    let first = lane.whole(None, &snapshot("k", 1, 0), false).unwrap().to;
    let same = lane.whole(None, &snapshot("k", 1, 0), false).unwrap().to;
    assert!(Arc::ptr_eq(&first, &same));
    let one = taken(&lane, &first, &delta(1, 2, 1));
    let other = taken(&lane, &same, &delta(1, 2, 1));
    assert!(Arc::ptr_eq(&one.to, &other.to));
    assert!(Arc::ptr_eq(&one.step.unwrap(), &other.step.unwrap()));
    assert_eq!((one.to.position(), first.position()), ("k-2", "k-1"));
}

#[test]
fn who_comes_by_another_way_goes_on_together_and_who_differs_does_not() {
    let lane = lane();
    let first = lane.whole(None, &snapshot("k", 1, 0), false).unwrap().to;
    let second = taken(&lane, &first, &delta(1, 2, 1));
    let third = taken(&lane, &second.to, &delta(2, 3, 2));
    assert!(!second.merged && !third.merged);
    let merged = taken(&lane, &first, &delta(1, 3, 2));
    assert!(merged.merged && Arc::ptr_eq(&merged.to, &third.to));
    let whole = lane
        .whole(Some(&first), &snapshot("k", 3, 2), false)
        .unwrap();
    assert!(Arc::ptr_eq(&whole.to, &third.to));
    // Another history, and rows that are not the same at the same version.
    for other in [snapshot("m", 3, 2), snapshot("k", 3, 7)] {
        let other = lane.whole(None, &other, false).unwrap().to;
        assert!(!Arc::ptr_eq(&other, &third.to) && !other.shows(&third.to));
    }
}

#[test]
fn what_does_not_fit_is_said_and_changes_nothing() {
    let lane = lane();
    let first = lane.whole(None, &snapshot("k", 5, 0), false).unwrap().to;
    assert!(lane.delta(&first, &delta(3, 5, 1)).unwrap().is_none());
    let gap = lane.delta(&first, &delta(6, 7, 1)).err().expect("a gap");
    assert!(gap.contains("does not fit"), "{gap}");
    assert!(lane.delta(&first, &Bytes::from_static(b"{")).is_err());
    assert!(lane.whole(None, &Bytes::from_static(b"{}"), false).is_err());
    assert!(lane.whole(None, &snapshot("k", 5, 1), true).is_err());
    assert_eq!(taken(&lane, &first, &delta(4, 6, 1)).to.position(), "k-6");
}

#[test]
fn the_attempts_that_a_step_shows_are_those_between() {
    let attempts = Arc::new(Attempts::default());
    for _ in 0..3 {
        attempts.begin("t1", "A");
    }
    let lane = Lane::new(attempts.clone());
    let first = lane.whole(None, &snapshot("k", 1, 1), false).unwrap();
    assert!(first.step.is_none());
    let shows = |taken: &Taken| taken.step.as_ref().unwrap().shows.len();
    // The second and the third; a fourth that nobody sent is nobody's.
    assert_eq!(shows(&taken(&lane, &first.to, &delta(1, 4, 4))), 2);
    let second = taken(&lane, &first.to, &delta(1, 2, 2));
    assert_eq!(shows(&second), 1);
    let whole = lane
        .whole(Some(&second.to), &snapshot("k", 9, 3), false)
        .unwrap();
    assert_eq!(shows(&whole), 1);
    assert!(attempts.last_seen().is_empty());
    whole.step.unwrap().shows[0].seen(70);
    assert_eq!(attempts.last_seen(), [70]);
}

#[test]
fn what_nobody_holds_is_forgotten() {
    let lane = lane();
    let first = lane.whole(None, &snapshot("k", 1, 0), false).unwrap().to;
    let mut state = first.clone();
    for version in 2..1000 {
        state = taken(
            &lane,
            &state,
            &delta(version - 1, version, 1 + version as u32),
        )
        .to;
        // Somebody far behind.
        taken(&lane, &first, &delta(1, version, 1 + version as u32));
    }
    let known = lane.lock();
    assert!(known.recent.len() <= STATES_KEPT);
    assert!(
        known.states.len() <= 4 * STATES_KEPT + 1,
        "{}",
        known.states.len()
    );
    assert!(first.steps.lock().unwrap().len() <= STEPS_KEPT + 1);
    // The one far behind does not hold all that came after it.
    let alive = known.states.values().flatten();
    let alive = alive.filter(|weak| weak.strong_count() > 0).count();
    assert!(alive <= STATES_KEPT + 2, "{alive}");
}

#[test]
fn a_compressed_board_is_the_same_board() {
    use std::io::Write as _;

    let lane = lane();
    let plain = lane.whole(None, &snapshot("k", 1, 3), false).unwrap().to;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&snapshot("k", 1, 3)).unwrap();
    let compressed = Bytes::from(encoder.finish().unwrap());
    let same = lane.whole(None, &compressed, true).unwrap().to;
    assert!(Arc::ptr_eq(&plain, &same));
}
