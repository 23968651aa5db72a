//! Time travel: the standings as they were at a contest time.

use std::collections::{HashMap, HashSet};

use super::{Contest, Dirty, Known};
use crate::{
    board::Id,
    contest::{
        event::{Judgement, Times},
        rules::Rules,
    },
};

impl Contest {
    /// The contest as it was at a contest time, in ms: without later submissions, and without verdicts that came later. The
    /// public view is what the public saw then, frozen from the freeze on; only at the end of a contest that is open now it
    /// is open. A judgement without times counts from its submission on.
    pub fn past(&self, time: i64) -> Past {
        let before = |came: Option<i64>| {
            came.map(|came| self.rules.without_removed(came))
                .is_none_or(|came| came <= time)
        };
        let mut submissions: HashMap<Id, Known> = self
            .submissions
            .iter()
            .filter_map(|(id, known)| Some((id, known.object.as_ref()?)))
            .filter(|(_, submission)| before(self.rules.contest_time(submission)))
            .map(|(id, submission)| {
                let known = Known {
                    object: Some(submission.clone()),
                    ..Known::default()
                };
                (id.clone(), known)
            })
            .collect();
        let begun = |judgement: &Judgement| before(judgement.start.in_contest(self.rules.start));
        // Where a rejudgement had not begun, what it took the place of was in force.
        let of_current = |has_begun: bool| -> HashSet<&Id> {
            self.judgements
                .values()
                .filter(|judgement| judgement.current && begun(judgement) == has_begun)
                .map(|judgement| &judgement.submission)
                .collect()
        };
        let (settled, later) = (of_current(true), of_current(false));
        let replaced_later =
            |submission: &Id| later.contains(submission) && !settled.contains(submission);
        let mut judgements = HashMap::new();
        for judgement in self.judgements.values().filter(|one| begun(one)) {
            let ended = before(judgement.end.in_contest(self.rules.start));
            if let Some(known) = submissions.get_mut(&judgement.submission) {
                known.judgements.insert(judgement.id.clone());
                let judgement = Judgement {
                    verdict: judgement.verdict.clone().filter(|_| ended),
                    score: judgement.score.filter(|_| ended),
                    current: judgement.current || replaced_later(&judgement.submission),
                    ..judgement.clone()
                };
                judgements.insert(judgement.id.clone(), judgement);
            }
        }
        let reached = |at: Option<i64>| at.is_some_and(|at| time >= at);
        let over = reached(self.info.duration);
        let freeze = self.info.duration.zip(self.info.freeze);
        let frozen = reached(freeze.map(|(duration, freeze)| duration - freeze));
        let mut contest = Self::new(&self.id);
        contest.ledgers = None;
        contest.info = self.info.clone();
        contest.settings = self.settings.clone();
        contest.times = Times {
            started: self.times.started.filter(|_| time >= 0),
            frozen: self.times.frozen.filter(|_| frozen),
            ..if over { self.times } else { Times::default() }
        };
        contest.times_are_ours = self.times_are_ours;
        contest.opened = self.opened && over;
        contest.types.clone_from(&self.types);
        contest.groups.clone_from(&self.groups);
        contest.organizations.clone_from(&self.organizations);
        contest.teams.clone_from(&self.teams);
        contest.problems.clone_from(&self.problems);
        for adjustment in self.adjustments.values() {
            let decided = adjustment.time.zip(self.rules.start);
            if before(decided.map(|(time, start)| time - start)) {
                *contest.adjusted.entry(adjustment.team.clone()).or_default() += adjustment.penalty;
            }
        }
        contest.submissions = submissions;
        contest.judgements = judgements;
        Past(contest)
    }
}

/// What a contest was, before anything is derived of it.
pub struct Past(Contest);

impl Past {
    /// Derives all rows, as version 1 whatever the log has; of thousands of submissions it takes a while.
    pub fn derive(self) -> Contest {
        let mut contest = self.0;
        contest.rules = Rules::new(
            &contest.info,
            &contest.settings,
            &contest.times,
            contest.opened,
            &contest.types,
            &contest.groups,
        );
        let mut dirty = Dirty::default();
        contest.derive_all(&mut dirty);
        contest.settle(1, dirty, None);
        contest.sequence = 1;
        contest
    }
}
