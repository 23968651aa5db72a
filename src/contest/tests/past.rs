//! Time travel: what it shows is what was shown then.

use proptest::prelude::*;
use serde_json::json;

use super::{history::history, story::Story};
use crate::contest::{Side, View};

#[test]
fn later_submissions_and_verdicts_are_not_there() {
    let mut story = Story::new();
    for (id, team, time, judged) in [
        ("1", "t1", "0:10:00", "0:10:30"),
        ("2", "t2", "0:20:00", "0:25:00"),
        ("3", "t3", "4:10:00", "4:11:00"),
    ] {
        story.submit(id, team, "A", time);
        story.put(
            "judgements",
            json!({"id": id, "submission_id": id, "judgement_type_id": "AC",
            "start_contest_time": time, "end_contest_time": judged}),
        );
    }
    let solved = |at: &str, side: Side| {
        let time = crate::contest::clock::parse_relative(at).unwrap();
        let past = story.contest.past(time).derive();
        ["t1", "t2", "t3"].map(|team| {
            let row = past.board(side).get(team).unwrap().clone();
            let pending = row.cells.get("A").map_or(0, |cell| cell.pending);
            (row.values[0], pending)
        })
    };
    for side in Side::ALL {
        assert_eq!(solved("0:09:59", side), [(0, 0), (0, 0), (0, 0)]);
        assert_eq!(solved("0:10:00", side), [(0, 1), (0, 0), (0, 0)]);
        assert_eq!(solved("0:24:59", side), [(1, 0), (0, 1), (0, 0)]);
        assert_eq!(solved("0:25:00", side), [(1, 0), (1, 0), (0, 0)]);
    }
    assert_eq!(solved("4:30:00", Side::Public), [(1, 0), (1, 0), (0, 1)]);
    assert_eq!(solved("4:30:00", Side::Jury), [(1, 0), (1, 0), (1, 0)]);
    let thaw = json!({"type": "rankcast-thaw", "data": {"thawed": "2026-01-01T06:00:00Z"}});
    let mut open = story.contest.clone();
    let event = crate::contest::Notification::from_value(thaw)
        .unwrap()
        .event()
        .unwrap();
    open.fold(open.sequence() + 1, &event, false);
    let public = |at: i64| {
        let past = open.past(at * 3_600_000).derive();
        past.board(View::Public).get("t3").unwrap().values[0]
    };
    assert_eq!(
        (public(4), public(5)),
        (0, 1),
        "open at the end, and as it was before it"
    );
}

#[test]
fn what_a_rejudgement_replaced_was_in_force_before_it() {
    let mut story = Story::new();
    story.submit("1", "t1", "A", "1:00:00");
    let judgement = |id: &str, verdict: &str, at: &str, current: bool| {
        json!({"id": id, "submission_id": "1", "judgement_type_id": verdict, "current": current,
            "start_contest_time": at, "end_contest_time": at})
    };
    story.put("judgements", judgement("a", "WA", "1:01:00", false));
    story.put("judgements", judgement("b", "AC", "3:00:00", true));
    let cell = |hours: i64| {
        let past = story.contest.past(hours * 3_600_000).derive();
        past.board(Side::Jury).get("t1").unwrap().cells["A"]
    };
    assert_eq!((cell(2).tries, cell(2).time), (1, None));
    assert_eq!((cell(3).tries, cell(3).time), (1, Some(60)));
}

proptest! {
    /// At the end of time nothing is missing: both boards are what they are now.
    #[test]
    fn the_end_of_time_is_now(events in history(true)) {
        let mut story = Story::empty();
        for event in &events {
            story.event(event);
        }
        let past = story.contest.past(i64::MAX / 4).derive();
        for side in Side::ALL {
            let rows = |contest: &crate::contest::Contest| {
                contest.board(side).window(None).map(|entry| entry.as_ref().clone()).collect::<Vec<_>>()
            };
            let open_end = story.contest.info().duration.is_none();
            if side == Side::Jury || !open_end {
                prop_assert_eq!(rows(&past), rows(&story.contest));
                prop_assert_eq!(past.problems(side), story.contest.problems(side));
            }
        }
    }
}
