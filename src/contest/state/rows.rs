//! Rows: what a team has in a view, from the results of its problems.

use std::{collections::BTreeSet, sync::Arc};

use super::{Contest, Member, Standing};
use crate::{
    board::{Cell, Cells, Entry, Id, Label, Values},
    contest::{
        decimal,
        judging::{Side, Unit, Verdict},
        settings::{ProblemScore, Scoring},
        view::View,
    },
};

impl Contest {
    /// A team's row in a view; `None` if it has none. With `cells` only those are looked at, the others are as in `old`.
    pub(super) fn entry(
        &self,
        side: Side,
        team: &Id,
        old: Option<&Entry>,
        cells: Option<&BTreeSet<Id>>,
    ) -> Option<Arc<Entry>> {
        let member = self.members.get(team)?;
        let standing = member.standing.filter(|standing| standing.shown_to(side))?;
        let shown = self.shows_problems(side);
        let mut all = Cells::new();
        match (old, cells) {
            _ if !shown => {}
            (Some(old), Some(cells)) => {
                all.clone_from(&old.cells);
                for problem in cells {
                    match self.cell(side, standing, team, problem, member) {
                        Some(cell) => all.insert(problem.clone(), cell),
                        None => all.remove(problem),
                    };
                }
            }
            _ => {
                for problem in member.units.keys() {
                    if let Some(cell) = self.cell(side, standing, team, problem, member) {
                        all.insert(problem.clone(), cell);
                    }
                }
            }
        }
        let section = self.rules.has_sections(side).then_some(standing.section);
        let member = Some(member).filter(|_| shown);
        let values = self.values(section, team, member, self.scales[side], |_| side);
        let label = self.label(team, standing);
        let label = match old {
            Some(old) if *old.label == label => old.label.clone(),
            _ => Arc::new(label),
        };
        Some(Arc::new(Entry {
            id: team.clone(),
            values,
            label,
            cells: all,
        }))
    }

    pub(super) fn label(&self, team: &Id, standing: Standing) -> Label {
        match self.teams.get(team) {
            None => Label {
                name: team.clone(),
                official: standing.official,
                ..Label::default()
            },
            Some(team) => Label {
                name: team.name.as_str().into(),
                organization: team
                    .organization
                    .as_ref()
                    .and_then(|id| self.organizations.get(id))
                    .map(|organization| organization.name.as_str().into()),
                groups: team
                    .groups
                    .iter()
                    .filter(|id| self.groups.contains_key(*id))
                    .cloned()
                    .collect(),
                official: standing.official,
                hidden: standing.hidden,
            },
        }
    }

    pub(super) fn cell(
        &self,
        side: Side,
        standing: Standing,
        team: &Id,
        problem: &Id,
        member: &Member,
    ) -> Option<Cell> {
        let unit = member
            .units
            .get(problem)
            .filter(|_| self.problems.contains_key(problem))?;
        if let Some(tally) = unit.icpc(side) {
            let solved = tally.solved_at();
            let (tries, pending) = (tally.wrong() + u32::from(solved.is_some()), tally.pending());
            let first = standing.races()
                && self
                    .races
                    .get(&(standing.section, problem.clone()))
                    .is_some_and(|running| running[side].first.as_ref() == Some(team));
            let time = solved.map(|time| self.rules.in_unit(time));
            (tries + pending > 0).then_some(Cell {
                tries,
                pending,
                time,
                first,
                score: None,
            })
        } else {
            let tally = unit.ioi(side)?;
            let (tries, pending) = (tally.judged(), tally.pending());
            let score = self
                .points(unit, side)
                .map(|score| decimal::at_scale(score, self.scales[side]));
            (tries + pending > 0).then_some(Cell {
                tries,
                pending,
                score,
                ..Cell::default()
            })
        }
    }

    /// The points of a problem, in millionths; none while nothing is judged.
    fn points(&self, unit: &Unit, side: Side) -> Option<i64> {
        match self.rules.problem_score {
            ProblemScore::Best => unit.ioi(side)?.best(),
            ProblemScore::Last => {
                let verdicts = unit.attempts().values().rev();
                verdicts
                    .map(|verdicts| verdicts[side])
                    .find_map(|verdict| match verdict {
                        Verdict::Score(score) => Some(score),
                        _ => None,
                    })
            }
        }
    }

    /// In point scoring: when a team sent in what counts for a problem, in ms of contest time.
    pub fn scored_at(&self, view: impl Into<View>, team: &str, problem: &str) -> Option<i64> {
        let (contest, side) = self.seen(view);
        let unit = contest.members.get(team)?.units.get(problem)?;
        let points = Verdict::Score(contest.points(unit, side)?);
        let mut reached = unit
            .attempts()
            .iter()
            .filter(|(_, verdicts)| verdicts[side] == points)
            .map(|(attempt, _)| attempt.time);
        match contest.rules.problem_score {
            ProblemScore::Best => reached.next(),
            ProblemScore::Last => reached.next_back(),
        }
    }

    /// A row's values, with each problem's result as the side sees it that `side_of` names; without a member as before the
    /// start.
    pub(super) fn values(
        &self,
        section: Option<i64>,
        team: &Id,
        member: Option<&Member>,
        scale: u8,
        side_of: impl Fn(&Id) -> Side,
    ) -> Values {
        let units = member
            .into_iter()
            .flat_map(|member| &member.units)
            .filter(|(problem, _)| self.problems.contains_key(*problem));
        let numbers: Vec<i64> = match self.rules.scoring {
            Scoring::Icpc => {
                let solved: Vec<(i64, u32)> = units
                    .filter_map(|(problem, unit)| unit.icpc(side_of(problem)))
                    .filter_map(|tally| Some((tally.solved_at()?, tally.wrong())))
                    .collect();
                let adjustment = member.and_then(|_| self.adjusted.get(team)).copied();
                let adjustment = adjustment.unwrap_or(0);
                let last = solved.iter().map(|(time, _)| *time).max().unwrap_or(0);
                vec![
                    solved.len() as i64,
                    self.rules.penalty_of(solved.into_iter(), adjustment),
                    self.rules.in_unit(last),
                ]
            }
            Scoring::Ioi => {
                // Ten thousand problems of the largest score would not fit.
                let total = units
                    .filter_map(|(problem, unit)| self.points(unit, side_of(problem)))
                    .fold(0_i64, i64::saturating_add);
                vec![decimal::at_scale(total, scale)]
            }
        };
        section.into_iter().chain(numbers).collect()
    }
}
