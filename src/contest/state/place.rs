//! Where submissions count: for which team and problem, with which verdicts, in which race.

use super::{Contest, Dirty, Known, Member, Placed, Standing};
use crate::{
    board::Id,
    contest::{
        decimal,
        event::{Judgement, Kind, Team},
        judging::{self, Attempt, Both, Side, Unit, Verdict},
        rules::Rules,
    },
};

impl Contest {
    /// A judgement is not what it was; with `detach` its submission has it no more.
    pub(super) fn forget_judgement(&mut self, old: &Judgement, detach: bool, dirty: &mut Dirty) {
        if detach {
            if let Some(known) = self.submissions.get_mut(&old.submission) {
                known.judgements.remove(&old.id);
                dirty.submission(&old.submission, &known.judgements);
            }
            self.place(&old.submission, dirty);
            self.drop_if_empty(&old.submission);
        }
    }

    pub(super) fn drop_if_empty(&mut self, submission: &Id) {
        if self
            .submissions
            .get(submission)
            .is_some_and(|known| known.object.is_none() && known.judgements.is_empty())
        {
            self.submissions.remove(submission);
        }
    }

    /// Derives anew where a submission counts, and moves it there.
    pub(super) fn place(&mut self, id: &Id, dirty: &mut Dirty) {
        let Some(known) = self.submissions.get(id) else {
            return;
        };
        let is = self.placement(known);
        let known = self
            .submissions
            .get_mut(id)
            .expect("it was there a moment ago");
        if known.placed == is {
            return;
        }
        dirty.submission(id, &known.judgements);
        let was = std::mem::replace(&mut known.placed, is.clone());
        let moved = match (&was, &is) {
            (Some(was), Some(is)) => {
                was.team != is.team || was.problem != is.problem || was.at != is.at
            }
            _ => true,
        };
        if let Some(was) = was {
            self.weigh(&was, false, dirty);
            if moved {
                self.attempt(&was, None, dirty);
            }
        }
        if let Some(is) = is {
            // Before the attempt is there: if that makes the team, all its attempts are weighed, this one among them.
            self.weigh(&is, true, dirty);
            self.attempt(&is, Some(is.verdicts), dirty);
        }
    }

    pub(super) fn attempt(
        &mut self,
        placed: &Placed,
        verdicts: Option<Both<Verdict>>,
        dirty: &mut Dirty,
    ) {
        let scoring = self.rules.scoring;
        let fresh = !self.members.contains_key(&placed.team);
        let member = self.members.entry(placed.team.clone()).or_default();
        member
            .units
            .entry(placed.problem.clone())
            .or_insert_with(|| Unit::new(scoring))
            .set(&placed.at, verdicts);
        if member.units[&placed.problem].attempts().is_empty() {
            member.units.remove(&placed.problem);
        }
        dirty.cell(&placed.team, &placed.problem);
        if member.standing.is_none() && member.units.is_empty() {
            self.members.remove(&placed.team);
        } else if self.rules.auto_teams && (fresh || verdicts.is_none()) {
            self.team_changed(&placed.team, dirty);
        }
    }

    pub(super) fn placement(&self, known: &Known) -> Option<Placed> {
        let submission = known.object.as_ref()?;
        let (team, problem) = (submission.team.as_ref()?, submission.problem.as_ref()?);
        let came = self.rules.contest_time(submission)?;
        let time = self.rules.without_removed(came);
        if !self.rules.counts(time) {
            return None;
        }
        let judgements = known
            .judgements
            .iter()
            .filter_map(|id| self.judgements.get(id));
        let verdict = judging::verdict(
            judging::deciding(judgements, self.rules.start),
            |kind| self.rules.meaning(kind),
            self.rules.scoring,
            self.rules.compile_error_penalty,
        )
        .unwrap_or(Verdict::Pending);
        let frozen = self.rules.is_frozen(time) && !self.is_revealed(team, problem);
        Some(Placed {
            team: team.clone(),
            problem: problem.clone(),
            at: Attempt {
                came,
                time,
                id: submission.id.clone(),
            },
            verdicts: Both::from_fn(|side| {
                if frozen && side == Side::Public {
                    Verdict::Pending
                } else {
                    verdict
                }
            }),
        })
    }

    /// An attempt of a team that is there counts beyond its own row, or does so no more.
    pub(super) fn weigh(&mut self, placed: &Placed, enter: bool, dirty: &mut Dirty) {
        let member = self.members.get(&placed.team);
        if let Some(standing) = member.and_then(|member| member.standing) {
            self.weigh_as(standing, placed, enter, dirty);
        }
    }

    /// Puts an attempt into the races of a section, and among the scores that ask for decimals, or takes it out.
    pub(super) fn weigh_as(
        &mut self,
        standing: Standing,
        placed: &Placed,
        enter: bool,
        dirty: &mut Dirty,
    ) {
        if standing.races() {
            self.race(standing.section, placed, enter, dirty);
        }
        for side in Side::ALL {
            if let Verdict::Score(score) = placed.verdicts[side]
                && standing.shown_to(side)
            {
                let count = &mut self.decimals[side][usize::from(decimal::decimals(score))];
                *count = if enter { *count + 1 } else { *count - 1 };
            }
        }
    }

    pub(super) fn race(&mut self, section: i64, placed: &Placed, enter: bool, dirty: &mut Dirty) {
        let key = (section, placed.problem.clone());
        let running = self.races.entry(key.clone()).or_default();
        for side in Side::ALL {
            let race = &mut running[side].race;
            if enter {
                race.enter(&placed.at, &placed.team, placed.verdicts[side]);
            } else {
                race.leave(&placed.at, &placed.team, placed.verdicts[side]);
            }
        }
        dirty.races.insert(key);
    }

    /// A team came, went or changed: where its attempts race, and its row.
    pub(super) fn team_changed(&mut self, id: &Id, dirty: &mut Dirty) {
        let team = self.teams.get(id);
        let member = self.members.entry(id.clone()).or_default();
        let is = match team {
            Some(team) => Some(standing(&self.rules, team)),
            None if self.rules.auto_teams && !member.units.is_empty() => Some(Standing {
                hidden: false,
                official: true,
                section: 0,
            }),
            None => None,
        };
        let was = std::mem::replace(&mut member.standing, is);
        dirty.object(Kind::Teams, id);
        if was != is {
            let placed: Vec<Placed> = member
                .units
                .iter()
                .flat_map(|(problem, unit)| {
                    unit.attempts().iter().map(|(at, verdicts)| Placed {
                        team: id.clone(),
                        problem: problem.clone(),
                        at: at.clone(),
                        verdicts: *verdicts,
                    })
                })
                .collect();
            for placed in &placed {
                if let Some(known) = self.submissions.get(&placed.at.id) {
                    dirty.submission(&placed.at.id, &known.judgements);
                }
            }
            for (standing, enter) in [(was, false), (is, true)] {
                if let Some(standing) = standing {
                    for placed in &placed {
                        self.weigh_as(standing, placed, enter, dirty);
                    }
                }
            }
        }
        let problems: Vec<Id> = self.members[id].units.keys().cloned().collect();
        dirty.row(id);
        for problem in &problems {
            dirty.cell(id, problem);
        }
        if team_is_gone(&self.members[id]) {
            self.members.remove(id);
        }
    }

    pub(super) fn organization_changed(&mut self, id: &Id, dirty: &mut Dirty) {
        for team in self
            .teams
            .values()
            .filter(|team| team.organization.as_ref() == Some(id))
        {
            dirty.row(&team.id);
            dirty.object(Kind::Teams, &team.id);
        }
    }

    pub(super) fn problem_changed(&mut self, id: &Id, dirty: &mut Dirty) {
        dirty.listing = true;
        for (team, member) in &self.members {
            if member.units.contains_key(id) {
                dirty.cell(team, id);
            }
        }
    }
}

fn standing(rules: &Rules, team: &Team) -> Standing {
    let groups = || team.groups.iter().filter_map(|id| rules.groups.get(id));
    let hidden = team.hidden || groups().any(|(hidden, _)| *hidden);
    Standing {
        hidden,
        official: !hidden && !team.groups.iter().any(|id| rules.unofficial.contains(id)),
        section: groups()
            .filter_map(|(_, section)| *section)
            .min()
            .unwrap_or(0),
    }
}

fn team_is_gone(member: &Member) -> bool {
    member.standing.is_none() && member.units.is_empty()
}
