//! The clock of a contest whose phases no feed tells: it makes them events of the log, so that every server sees the same
//! phases at the same versions. All servers make the same event; the log keeps it once.

use crate::{
    contest::{Contest, Kind, clock::format_instant, event::Times},
    store::Append,
};

/// The source of events that a server's own clock makes.
pub const CLOCK_SOURCE: &str = "rankcast-clock";

/// What the clock has to say.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Phases {
    /// The event that is due.
    pub(super) due: Option<Append>,
    /// When the next one will be, in ms since 1970 UTC.
    pub(super) next: Option<i64>,
}

/// What the clock of a contest has to say at a moment (ms since 1970 UTC). `None`: nothing, because a feed tells the phases,
/// or the contest has no start.
pub(super) fn phases(contest: &Contest, now: i64) -> Option<Phases> {
    let (times, ours) = contest.times();
    let info = contest.info();
    let start = info
        .start
        .filter(|_| ours && info.countdown_pause.is_none())?;
    let at = |time: i64| start + contest.with_removed(time);
    let end = info.duration.map(at);
    let freeze = (info.duration.zip(info.freeze)).map(|(duration, freeze)| at(duration - freeze));
    // What was told for the same planned moment stays told: the clocks of two servers never agree to the millisecond.
    let passed =
        |at: Option<i64>, told: Option<i64>| at.filter(|at| *at <= now || told == Some(*at));
    let due = Times {
        started: passed(Some(start), times.started),
        frozen: passed(freeze, times.frozen),
        ended: passed(end, times.ended),
        ..Times::default()
    };
    let next = [Some(start), freeze, end]
        .into_iter()
        .flatten()
        .filter(|at| *at > now)
        .min();
    Some(Phases {
        due: (*times != due).then(|| event(&due)),
        next,
    })
}

fn event(times: &Times) -> Append {
    let text = |at: Option<i64>| at.map(format_instant);
    let data = serde_json::json!({
        "started": text(times.started), "frozen": text(times.frozen), "ended": text(times.ended),
        "thawed": null, "finalized": null, "end_of_updates": null,
    });
    Append {
        kind: Kind::State.name().to_owned(),
        // Not the name of a feed's state: the same content from a feed is news, it takes the word from us.
        id: Some("clock".to_owned()),
        replaces: false,
        source: CLOCK_SOURCE.to_owned(),
        token: None,
        data: data.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contest::Notification;

    const HOUR: i64 = 3_600_000;

    fn contest(lines: &[&str]) -> Contest {
        let mut contest = Contest::new("c");
        for (index, line) in lines.iter().enumerate() {
            let event = Notification::parse(line.as_bytes())
                .unwrap()
                .unwrap()
                .event()
                .unwrap();
            contest.fold(index as u64 + 1, &event, false);
        }
        contest
    }

    const FIVE_HOURS: &str = r#"{"type":"contest","id":null,"data":{"start_time":"1970-01-01T01:00:00Z","duration":"5:00:00","scoreboard_freeze_duration":"1:00:00"}}"#;

    #[test]
    fn each_phase_is_due_at_its_time() {
        let contest = contest(&[FIVE_HOURS]);
        let before = phases(&contest, HOUR - 1).unwrap();
        assert_eq!(
            before,
            Phases {
                due: None,
                next: Some(HOUR)
            }
        );
        for (now, said, next) in [
            (
                HOUR,
                r#""frozen":null,"started":"1970-01-01T01:00:00.000Z""#,
                Some(5 * HOUR),
            ),
            (
                5 * HOUR,
                r#""frozen":"1970-01-01T05:00:00.000Z""#,
                Some(6 * HOUR),
            ),
            (9 * HOUR, r#""ended":"1970-01-01T06:00:00.000Z""#, None),
        ] {
            let phases = phases(&contest, now).unwrap();
            assert!(phases.due.unwrap().data.contains(said));
            assert_eq!(phases.next, next);
        }
    }

    #[test]
    fn a_slower_clock_takes_nothing_back_but_a_new_plan_does() {
        let started = r#"{"started":"1970-01-01T01:00:00Z"}"#;
        let event = crate::contest::Event::read(
            "state",
            Some("clock"),
            &serde_json::from_str(started).unwrap(),
        )
        .unwrap();
        let mut told = contest(&[FIVE_HOURS]);
        told.fold(2, &event, true);
        assert_eq!(phases(&told, HOUR - 500).unwrap().due, None);
        let later = FIVE_HOURS.replace("T01:00", "T02:00");
        let later = Notification::parse(later.as_bytes())
            .unwrap()
            .unwrap()
            .event()
            .unwrap();
        told.fold(3, &later, false);
        assert!(
            phases(&told, HOUR + 500)
                .unwrap()
                .due
                .unwrap()
                .data
                .contains(r#""started":null"#)
        );
    }

    #[test]
    fn a_feed_that_tells_the_phases_has_the_word() {
        let told = contest(&[
            FIVE_HOURS,
            r#"{"type":"state","id":null,"data":{"started":null}}"#,
        ]);
        assert_eq!(phases(&told, 9 * HOUR), None);
        let paused = r#"{"type":"contest","id":null,"data":{"start_time":"1970-01-01T01:00:00Z","countdown_pause_time":"0:10:00"}}"#;
        assert_eq!(phases(&contest(&[paused]), 9 * HOUR), None);
        assert_eq!(phases(&contest(&[]), 9 * HOUR), None);
    }
}
