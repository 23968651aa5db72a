//! What does not leave the building: a relay that runs beside the judge holds back every verdict on a frozen submission, and all
//! that may tell of one, until the judge says that the board is thawed.

use std::collections::HashMap;

use serde_json::Value;

use crate::contest::{Event, Kind, Notification, event::Object};

/// Fields of a submission that tell more than that it came.
const TELLING: [&str; 2] = ["reaction", "files"];

/// Holds back what is frozen.
#[derive(Debug, Default)]
pub struct Embargo {
    /// Start, duration and length of the freeze, in ms, as far as the contest has them; `None` until it is told of.
    contest: Option<(Option<i64>, Option<i64>, Option<i64>)>,
    thawed: bool,
    /// Contest time and instant of each submission, in ms.
    submissions: HashMap<String, (Option<i64>, Option<i64>)>,
    /// In the order in which it came.
    held: Vec<Notification>,
}

impl Embargo {
    /// How many lines are held back.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Takes a line; gives what may leave now: that line, others that waited, or nothing.
    pub fn pass(&mut self, mut line: Notification) -> Vec<Notification> {
        match Kind::of(&line.kind) {
            Kind::Contest => {
                if let Ok(Event::Put(Object::Contest(info))) = line.event() {
                    self.contest = Some((info.start, info.duration, info.freeze));
                }
                self.with_released(line)
            }
            Kind::State => {
                if let Ok(Event::Put(Object::State(times))) = line.event() {
                    self.thawed = times.thawed.is_some();
                }
                self.with_released(line)
            }
            Kind::Submissions => {
                self.note_submissions(&line);
                strip(&mut line.data);
                self.with_released(line)
            }
            Kind::Judgements => self.pass_judgement(line),
            Kind::JudgementTypes
            | Kind::Languages
            | Kind::Groups
            | Kind::Organizations
            | Kind::Teams
            | Kind::Problems => vec![line],
            Kind::Awards => self.hold_unless(self.thawed, line),
            // Runs, reactions, comments: nothing that standings need.
            _ => Vec::new(),
        }
    }

    /// The line, and whatever may leave because of it.
    fn with_released(&mut self, line: Notification) -> Vec<Notification> {
        let mut out = vec![line];
        for line in std::mem::take(&mut self.held) {
            let free = self.thawed
                || (Kind::of(&line.kind) == Kind::Judgements && self.is_free(&line.data));
            out.extend(self.hold_unless(free, line));
        }
        out
    }

    fn hold_unless(&mut self, free: bool, line: Notification) -> Vec<Notification> {
        // What came later about the same object does not overtake it.
        let waits = self
            .held
            .iter()
            .any(|held| held.kind == line.kind && held.id == line.id);
        if free && !waits {
            return vec![line];
        }
        self.held.push(line);
        Vec::new()
    }

    fn pass_judgement(&mut self, line: Notification) -> Vec<Notification> {
        let Value::Array(items) = line.data else {
            let free = self.is_free(&line.data);
            return self.hold_unless(free, line);
        };
        // A whole collection: what is frozen of it follows one by one.
        let (free, frozen): (Vec<_>, Vec<_>) =
            items.into_iter().partition(|item| self.is_free(item));
        self.held.retain(|held| held.kind != line.kind);
        self.held
            .extend(frozen.into_iter().map(|data| Notification {
                kind: line.kind.clone(),
                id: data["id"].as_str().map(str::to_owned),
                data,
                token: None,
            }));
        vec![Notification {
            data: Value::Array(free),
            ..line
        }]
    }

    /// May a judgement be told? That one is gone tells nothing.
    fn is_free(&self, judgement: &Value) -> bool {
        if self.thawed || judgement.is_null() {
            return true;
        }
        let submission = judgement["submission_id"].as_str();
        let Some((contest_time, time)) = submission.and_then(|id| self.submissions.get(id)) else {
            return false;
        };
        match self.contest {
            Some((start, Some(duration), Some(freeze))) if freeze > 0 => {
                let at = contest_time.or_else(|| Some((*time)? - start?));
                at.is_some_and(|at| at < duration - freeze)
            }
            Some((_, _, None | Some(0)) | (_, None, _)) => true,
            _ => false,
        }
    }

    fn note_submissions(&mut self, line: &Notification) {
        let objects = match line.event() {
            Ok(Event::Put(object)) => vec![object],
            Ok(Event::Replace(_, objects)) => objects,
            _ => Vec::new(),
        };
        for object in objects {
            if let Object::Submission(submission) = object {
                let times = (submission.contest_time, submission.time);
                self.submissions.insert(submission.id.to_string(), times);
            }
        }
    }
}

/// Takes out what tells more than that a submission came.
fn strip(data: &mut Value) {
    match data {
        Value::Object(submission) => {
            submission.retain(|field, _| !TELLING.contains(&field.as_str()));
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn line(value: Value) -> Notification {
        Notification::from_value(value).expect("a notification")
    }

    fn contest() -> Value {
        json!({"type":"contest","id":null,"data":{"start_time":"2026-01-01T00:00:00Z","duration":"5:00:00","scoreboard_freeze_duration":"1:00:00"}})
    }

    fn submission(id: &str, time: &str) -> Value {
        json!({"type":"submissions","id":id,"data":{"id":id,"contest_time":time,"team_id":"t","problem_id":"A","reaction":[],"files":[]}})
    }

    fn judgement(id: &str, submission: &str) -> Value {
        json!({"type":"judgements","id":id,"data":{"id":id,"submission_id":submission,"judgement_type_id":"AC"}})
    }

    fn state(thawed: bool) -> Value {
        let thawed = thawed.then_some("2026-01-01T05:30:00Z");
        json!({"type":"state","id":null,"data":{"started":"2026-01-01T00:00:00Z","thawed":thawed}})
    }

    fn ids(lines: &[Notification]) -> Vec<&str> {
        lines.iter().filter_map(|line| line.id.as_deref()).collect()
    }

    #[test]
    fn what_is_frozen_waits_for_the_thaw() {
        let mut embargo = Embargo::default();
        let mut pass = |value: Value| embargo.pass(line(value));
        // Nobody knows yet whether there is a freeze.
        assert!(pass(judgement("j1", "s1")).is_empty());
        assert_eq!(ids(&pass(submission("s1", "1:00:00"))), ["s1"]);
        assert_eq!(ids(&pass(contest())), ["j1"]);
        let told = pass(submission("f1", "4:00:00"));
        assert_eq!(
            told[0].data,
            json!({"id":"f1","contest_time":"4:00:00","team_id":"t","problem_id":"A"})
        );
        assert!(pass(judgement("k1", "f1")).is_empty());
        assert!(
            pass(json!({"type":"awards","id":"winner","data":{"id":"winner","team_ids":["t"]}}))
                .is_empty()
        );
        assert!(
            pass(json!({"type":"runs","id":"r","data":{"id":"r","judgement_id":"k1"}})).is_empty()
        );
        assert_eq!(pass(state(false)).len(), 1);
        // What is said of it later does not overtake it.
        assert!(pass(json!({"type":"judgements","id":"k1","data":null})).is_empty());
        assert_eq!(ids(&pass(state(true))), ["k1", "winner", "k1"]);
        assert_eq!(ids(&pass(judgement("k2", "f1"))), ["k2"]);
    }

    #[test]
    fn a_whole_collection_passes_without_what_is_frozen() {
        let mut embargo = Embargo::default();
        for value in [
            contest(),
            submission("s1", "1:00:00"),
            submission("f1", "4:30:00"),
        ] {
            embargo.pass(line(value));
        }
        let all = json!({"type":"judgements","id":null,"data":[judgement("j1", "s1")["data"], judgement("k1", "f1")["data"]]});
        let told = embargo.pass(line(all));
        assert_eq!(told[0].data, json!([judgement("j1", "s1")["data"]]));
        assert_eq!(ids(&embargo.pass(line(state(true)))), ["k1"]);
    }

    proptest! {
        /// In whatever order the lines come: nothing frozen leaves before the thaw, everything after it.
        #[test]
        fn nothing_frozen_leaves_before_the_thaw(
            lines in Just((0..8).collect::<Vec<usize>>()).prop_shuffle(), thaw in 0..9_usize,
        ) {
            let mut all: Vec<Value> = vec![contest(), state(false), submission("s1", "1:00:00"), submission("f1", "4:00:00"),
                submission("f2", "4:59:00"), judgement("j1", "s1"), judgement("k1", "f1"), judgement("k2", "f2")];
            all = lines.into_iter().map(|index| all[index].clone()).collect();
            // A state without a thaw after one with it would freeze again.
            all.retain(|line| line["type"] != "state");
            all.insert(thaw.min(all.len()), state(true));
            let mut embargo = Embargo::default();
            let (mut thawed, mut told) = (false, Vec::new());
            for value in all {
                thawed |= value["type"] == "state";
                let out = embargo.pass(line(value));
                for line in &out {
                    let frozen = line.data["submission_id"].as_str().is_some_and(|id| id.starts_with('f'));
                    prop_assert!(thawed || !frozen, "{:?}", line);
                }
                told.extend(out.into_iter().filter_map(|line| line.id));
            }
            told.sort();
            prop_assert_eq!(told, ["f1", "f2", "j1", "k1", "k2", "s1"]);
            prop_assert_eq!(embargo.held(), 0);
        }
    }
}
