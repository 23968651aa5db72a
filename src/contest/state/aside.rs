//! What is kept aside: in the log, but counting for nothing, because something that it refers to is not there.

use super::Contest;
use crate::{
    board::Id,
    contest::event::{Judgement, Kind, Submission},
};

/// Something that refers to what is not there (yet), and so counts for nothing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Aside {
    /// `submissions` or `judgements`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The object.
    pub id: Id,
    /// What is missing.
    pub reason: String,
}

impl Contest {
    /// Why a submission or judgement counts for nothing though it is in the log; `None` if nothing is missing.
    pub fn aside(&self, kind: Kind, id: &str) -> Option<String> {
        match kind {
            Kind::Submissions => self.submission_aside(self.submissions.get(id)?.object.as_ref()?),
            Kind::Judgements => {
                let judgement = self.judgements.get(id)?;
                self.judgement_aside(judgement).or_else(|| {
                    let known = self.submissions.get(&judgement.submission)?;
                    self.submission_aside(known.object.as_ref()?)
                })
            }
            _ => None,
        }
    }

    /// What a judgement itself lacks; not what its submission does.
    fn judgement_aside(&self, judgement: &Judgement) -> Option<String> {
        let known = self.submissions.get(&judgement.submission);
        if known.is_none_or(|known| known.object.is_none()) {
            return Some(format!("no submission {}", judgement.submission));
        }
        let kind = judgement.verdict.as_ref()?;
        self.rules
            .meaning(kind)
            .is_none()
            .then(|| format!("no judgement type {kind}"))
    }

    fn submission_aside(&self, submission: &Submission) -> Option<String> {
        let Some(team) = &submission.team else {
            return Some("it has no team".to_owned());
        };
        let Some(problem) = &submission.problem else {
            return Some("it has no problem".to_owned());
        };
        if !self.teams.contains_key(team) && !self.rules.auto_teams {
            return Some(format!("no team {team}"));
        }
        if !self.problems.contains_key(problem) {
            return Some(format!("no problem {problem}"));
        }
        match self.rules.contest_time(submission) {
            None => Some("it has no contest time, and the contest no start".to_owned()),
            Some(time) if !self.rules.counts(self.rules.without_removed(time)) => {
                Some("outside of the contest's time".to_owned())
            }
            Some(_) => None,
        }
    }

    /// Everything that is kept aside now, by type and id.
    pub fn all_aside(&self) -> Vec<Aside> {
        let submissions = self
            .submissions
            .iter()
            .filter(|(_, known)| known.object.is_some())
            .filter_map(|(id, _)| {
                Some(Aside {
                    kind: "submissions",
                    id: id.clone(),
                    reason: self.aside(Kind::Submissions, id)?,
                })
            });
        let judgements = self.judgements.values().filter_map(|judgement| {
            // One whose submission is aside is told once, with the submission.
            let reason = self.judgement_aside(judgement)?;
            Some(Aside {
                kind: "judgements",
                id: judgement.id.clone(),
                reason,
            })
        });
        let mut all: Vec<Aside> = submissions.chain(judgements).collect();
        all.sort();
        all
    }
}
