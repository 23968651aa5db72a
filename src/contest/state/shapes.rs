//! The objects as other tools read them: which of them a view may see, and what of each.

use serde_json::{Map, Value, json};

use super::{Contest, Known};
use crate::{
    board::Id,
    contest::{
        clics::{
            self, known,
            object::{self, Shape},
        },
        clock,
        event::{self, Judgement, Kind, Passed},
        judging::{self, Side},
    },
};

/// The collections that are served, in the order in which one refers to the other.
pub const COLLECTIONS: [Kind; 8] = [
    Kind::JudgementTypes,
    Kind::Languages,
    Kind::Groups,
    Kind::Organizations,
    Kind::Teams,
    Kind::Problems,
    Kind::Submissions,
    Kind::Judgements,
];

impl Contest {
    /// An object as a view may see it; `None` if it may not, or if there is none. `strict`: the properties that CLICS defines and
    /// no others.
    pub fn shape(&self, side: Side, kind: Kind, id: &str, strict: bool) -> Option<Shape> {
        match kind {
            Kind::Contest => object_of(clics::contest(self)),
            Kind::State => object_of(clics::state(self, side)),
            Kind::JudgementTypes => self.judgement_type(id),
            Kind::Languages => self.language(side, id),
            Kind::Groups => self.group(side, id, strict),
            Kind::Organizations => {
                let object = self.organizations.get(id)?;
                object_of(with(
                    json!({ "id": object.id, "name": object.name }),
                    &object.passed,
                ))
            }
            Kind::Teams => self.team(side, id, strict),
            Kind::Problems => self.problem_object(side, id),
            Kind::Submissions => self.submission(side, id).map(Shape::Submission),
            Kind::Judgements => self.judgement(side, id).map(Shape::Judgement),
            Kind::Adjustments if side == Side::Jury && !strict => {
                let object = self.adjustments.get(id)?;
                object_of(json!({
                    "id": object.id, "team_id": object.team, "penalty": clock::format_relative(object.penalty),
                    "reason": object.reason, "by": object.by, "time": object.time.map(clock::format_instant),
                }))
            }
            _ => None,
        }
    }

    /// The ids of a collection that a view may see, in their order.
    pub fn listed(&self, side: Side, kind: Kind) -> Vec<Id> {
        let mut ids = match kind {
            Kind::JudgementTypes => {
                let known = known::JUDGEMENT_TYPES.iter().map(|(id, _)| Id::from(*id));
                known.chain(self.types.keys().cloned()).collect()
            }
            Kind::Languages => {
                let used = self.ledgers.iter().flat_map(|both| &both[side].languages);
                used.chain(self.languages.keys()).cloned().collect()
            }
            // Those that came as teams, and those whom their submissions made.
            Kind::Teams => self.members.keys().cloned().collect(),
            kind => self.ids(kind),
        };
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// A type that nobody defined means what CLICS says.
    fn judgement_type(&self, id: &str) -> Option<Shape> {
        let defined = self.types.get(id);
        let name = known::judgement_type(id);
        if defined.is_none() {
            name?;
        }
        let meaning = self.rules.meaning(id)?;
        let object = json!({
            "id": id, "name": name.unwrap_or(id), "penalty": meaning.penalty, "solved": meaning.solved,
        });
        object_of(with(
            object,
            defined.map_or(&None, |defined| &defined.passed),
        ))
    }

    /// A language that nobody defined is there as soon as a submission is.
    fn language(&self, side: Side, id: &str) -> Option<Shape> {
        let defined = self.languages.get(id);
        let used = || {
            self.ledgers
                .as_ref()
                .is_some_and(|both| both[side].languages.contains(id))
        };
        if defined.is_none() && !used() {
            return None;
        }
        let (name, extensions) = known::language(id).unwrap_or((id, &[]));
        let object = json!({
            "id": id, "name": name, "entry_point_required": false, "extensions": extensions,
        });
        let mut object = with(object, defined.map_or(&None, |defined| &defined.passed));
        if object["entry_point_required"] == false {
            remove(&mut object, "entry_point_name");
        } else if object["entry_point_name"].is_null() {
            object["entry_point_name"] = "Entry point".into();
        }
        object_of(object)
    }

    fn group(&self, side: Side, id: &str, strict: bool) -> Option<Shape> {
        let object = self.groups.get(id)?;
        if object.hidden && side == Side::Public {
            return None;
        }
        let mut shape = with(
            json!({ "id": object.id, "name": object.name }),
            &object.passed,
        );
        if !strict {
            if object.hidden {
                shape["hidden"] = true.into();
            }
            if let Some(sortorder) = object.sortorder {
                shape["sortorder"] = sortorder.into();
            }
        }
        object_of(shape)
    }

    /// In CLICS a reference leads to an object that is there. Otherwise the jury gets those too that lead nowhere yet.
    fn team(&self, side: Side, id: &str, strict: bool) -> Option<Shape> {
        let standing = self.members.get(id)?.standing?;
        if !standing.shown_to(side) {
            return None;
        }
        let Some(object) = self.teams.get(id) else {
            return object_of(json!({ "id": id, "name": id, "label": id }));
        };
        let raw = side == Side::Jury && !strict;
        let groups = object.groups.iter().filter(|group| {
            let known = self.groups.get(*group);
            let unofficial = !strict && self.rules.unofficial.contains(*group);
            raw || known.map_or(unofficial, |known| side == Side::Jury || !known.hidden)
        });
        let organization = object.organization.as_ref();
        let organization = organization.filter(|id| raw || self.organizations.contains_key(*id));
        let mut shape = json!({
            "id": object.id, "name": object.name, "label": object.id,
            "organization_id": organization, "group_ids": groups.collect::<Vec<_>>(),
        });
        if object.hidden {
            shape["hidden"] = true.into();
        }
        object_of(with(shape, &object.passed))
    }

    fn problem_object(&self, side: Side, id: &str) -> Option<Shape> {
        let object = self
            .problems
            .get(id)
            .filter(|_| self.shows_problems(side))?;
        let mut shape = json!({
            "id": object.id, "label": object.label, "name": object.name, "ordinal": object.ordinal,
            "test_data_count": 0,
        });
        let hex = |rgb: &&String| {
            let digits = rgb.strip_prefix('#').unwrap_or("");
            matches!(digits.len(), 3 | 6) && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        if let Some(rgb) = object.rgb.as_ref().filter(hex) {
            shape["rgb"] = rgb.as_str().into();
        }
        if let Some(color) = &object.color {
            shape["color"] = color.as_str().into();
        }
        object_of(with(shape, &object.passed))
    }

    /// The public sees those that count.
    fn submission(&self, side: Side, id: &str) -> Option<object::Submission> {
        let known = self.submissions.get(id)?;
        let object = known.object.as_ref()?;
        if side == Side::Public && !self.is_public(known) {
            return None;
        }
        let (time, contest_time) = self.both_times(event::Moment {
            contest_time: object.contest_time,
            time: object.time,
        });
        let entry_point = object.entry_point.clone();
        Some(object::Submission {
            id: object.id.clone(),
            language_id: object
                .language
                .clone()
                .unwrap_or_else(|| known::LANGUAGE_UNKNOWN.into()),
            problem_id: object.problem.clone(),
            team_id: object.team.clone(),
            time,
            contest_time,
            entry_point: entry_point.filter(|_| side == Side::Jury),
            files: [],
        })
    }

    /// Of each submission the judgement that counts: 2023-06 has no word for those that another took the place of, and tools
    /// would have to guess.
    fn judgement(&self, side: Side, id: &str) -> Option<object::Judgement> {
        let object = self.judgements.get(id)?;
        let known = self.submissions.get(&object.submission)?;
        let of_submission = known
            .judgements
            .iter()
            .filter_map(|id| self.judgements.get(id));
        judging::deciding(of_submission, self.rules.start).filter(|one| one.id == object.id)?;
        if side == Side::Public && (!self.is_public(known) || self.is_held_back(known)) {
            return None;
        }
        let submitted = known
            .object
            .as_ref()
            .map_or_else(event::Moment::default, |object| event::Moment {
                contest_time: object.contest_time,
                time: object.time,
            });
        let given = |moment: event::Moment| moment != event::Moment::default();
        let start = if given(object.start) {
            object.start
        } else {
            submitted
        };
        let end = if given(object.end) { object.end } else { start };
        let ((start_time, start_contest_time), (end_time, end_contest_time)) =
            (self.both_times(start), self.both_times(end));
        let judged = object.verdict.is_some();
        Some(object::Judgement {
            id: object.id.clone(),
            submission_id: object.submission.clone(),
            judgement_type_id: object.verdict.clone(),
            score: self.score_of(object),
            start_time,
            start_contest_time,
            end_time: end_time.filter(|_| judged),
            end_contest_time: end_contest_time.filter(|_| judged),
            max_run_time: object.max_run_time.filter(|_| judged),
        })
    }

    /// Scores are of point scoring alone.
    fn score_of(&self, judgement: &Judgement) -> Option<i64> {
        judgement
            .score
            .filter(|_| self.rules.scoring == crate::contest::Scoring::Ioi)
    }

    /// Does the public know of a submission: does it count, for a team that is shown, in a contest that has begun?
    fn is_public(&self, known: &Known) -> bool {
        let Some(placed) = &known.placed else {
            return false;
        };
        let standing = self
            .members
            .get(&placed.team)
            .and_then(|member| member.standing);
        self.shows_problems(Side::Public)
            && standing.is_some_and(|standing| standing.shown_to(Side::Public))
    }

    /// Is what became of a submission not told to the public?
    fn is_held_back(&self, known: &Known) -> bool {
        known.placed.as_ref().is_some_and(|placed| {
            self.rules.is_frozen(placed.at.time) && !self.is_revealed(&placed.team, &placed.problem)
        })
    }

    /// An instant and a contest time, as far as one of them or the other is known.
    fn both_times(&self, moment: event::Moment) -> (Option<i64>, Option<i64>) {
        let start = self.rules.start;
        let time = moment.time.or_else(|| Some(start? + moment.contest_time?));
        (time, moment.in_contest(start))
    }
}

fn object_of(value: Value) -> Option<Shape> {
    match value {
        Value::Object(object) => Some(Shape::Other(object)),
        _ => None,
    }
}

fn remove(value: &mut Value, name: &str) {
    if let Some(object) = value.as_object_mut() {
        object.remove(name);
    }
}

/// An object with what passed through beside it.
fn with(mut value: Value, passed: &Passed) -> Value {
    if let (Some(object), Some(passed)) = (value.as_object_mut(), passed) {
        let each = |(name, value): (&String, &Value)| (name.clone(), value.clone());
        object.extend(passed.iter().map(each).collect::<Map<_, _>>());
    }
    value
}
