//! CLICS shapes out: what other tools read, in the form of the 2023-06 Contest API.

pub mod access;
pub mod known;
pub mod object;
pub mod scoreboard;

use std::sync::OnceLock;

use icu_collator::{Collator, CollatorBorrowed, options::CollatorOptions};
use serde_json::{Value, json};

use super::{Contest, Scoring, View, awards::Award, clock};

/// The contest object (Contest API, "Contests").
pub fn contest(contest: &Contest) -> Value {
    let info = contest.info();
    let name = if info.name.is_empty() {
        contest.id()
    } else {
        &info.name
    };
    let mut object = json!({
        "id": contest.id(),
        "name": name,
        "formal_name": info.formal_name.as_deref().unwrap_or(name),
        "start_time": info.start.map(clock::format_instant),
        "countdown_pause_time": info.countdown_pause.filter(|_| info.start.is_none()).map(clock::format_relative),
        "scoreboard_freeze_duration": info.freeze.map(clock::format_relative),
    });
    if let Some(duration) = info.duration {
        object["duration"] = clock::format_relative(duration).into();
    }
    match contest.scoring() {
        Scoring::Icpc => {
            object["scoreboard_type"] = "pass-fail".into();
            object["penalty_time"] = (info.penalty / 60_000).into();
        }
        Scoring::Ioi => object["scoreboard_type"] = "score".into(),
    }
    object
}

/// The contest state (Contest API, "Contest state").
pub fn state(contest: &Contest, view: impl Into<View>) -> Value {
    let times = contest.status(view).times;
    let text = |at: Option<i64>| at.map(clock::format_instant);
    json!({
        "started": text(times.started), "frozen": text(times.frozen), "ended": text(times.ended),
        "thawed": text(times.thawed), "finalized": text(times.finalized), "end_of_updates": text(times.end_of_updates),
    })
}

/// An award (Contest API, "Awards"): how a ceremony shows it is not its to say.
pub fn award(award: &Award) -> Value {
    json!({ "id": award.id, "citation": award.citation, "team_ids": award.team_ids })
}

/// The order of names that people read: Unicode collation, en-US.
pub fn by_name(a: &str, b: &str) -> std::cmp::Ordering {
    static COLLATOR: OnceLock<Option<CollatorBorrowed<'static>>> = OnceLock::new();
    let collator = COLLATOR.get_or_init(|| {
        Collator::try_new(
            icu_locale_core::locale!("en-US").into(),
            CollatorOptions::default(),
        )
        .ok()
    });
    match collator {
        Some(collator) => collator.compare(a, b),
        None => a.cmp(b),
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::by_name;

    #[test]
    fn names_sort_as_people_expect() {
        assert_eq!(by_name("Zebra", "apple"), Ordering::Greater);
        assert_eq!(by_name("Émile", "Emma"), Ordering::Less);
        assert_eq!(by_name("Team 10", "Team 2"), Ordering::Less);
        assert_eq!(by_name("Ångström", "Bohr"), Ordering::Less);
    }
}
