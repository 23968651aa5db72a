//! Balloons: which team gets which, from what the public may see.

use std::collections::HashMap;

use super::{Contest, Member};
use crate::{
    board::Id,
    contest::{
        Scoring,
        balloons::{Balloon, Delivery},
        judging::{Side, Unit, Verdict},
    },
};

impl Contest {
    /// The balloons, in the order of the solves: those of the solves that the public may see. For the `runners` also so many
    /// frozen ones that each team gets `balloons_minimum` in all.
    pub fn balloons(&self, runners: bool) -> Vec<Balloon> {
        if self.rules.scoring != Scoring::Icpc || !self.shows_problems(Side::Public) {
            return Vec::new();
        }
        let delivered: HashMap<(&Id, &Id), &Delivery> = self
            .deliveries
            .values()
            .map(|delivery| ((&delivery.team, &delivery.problem), delivery))
            .collect();
        let least = if runners {
            self.settings.balloons_minimum
        } else {
            0
        };
        let shown = |(_, member): &(&Id, &Member)| {
            member
                .standing
                .is_some_and(|standing| standing.shown_to(Side::Public))
        };
        let mut all = Vec::new();
        for (team, member) in self.members.iter().filter(shown) {
            let solved = |side: Side| {
                let units = member
                    .units
                    .iter()
                    .filter(|(id, _)| self.problems.contains_key(*id));
                units.filter_map(move |(problem, unit)| Some((solve(unit, side)?, problem)))
            };
            let mut due: Vec<_> = solved(Side::Public).collect();
            if due.len() < least {
                let mut frozen: Vec<_> = solved(Side::Jury)
                    .filter(|one| !due.contains(one))
                    .collect();
                frozen.sort_unstable();
                frozen.truncate(least - due.len());
                due.extend(frozen);
            }
            for (time, problem) in due {
                all.push(self.balloon(
                    team,
                    problem,
                    time,
                    delivered.get(&(team, problem)).copied(),
                ));
            }
        }
        all.sort_by(|a, b| (a.time, &a.team, &a.problem).cmp(&(b.time, &b.team, &b.problem)));
        all
    }

    fn balloon(&self, team: &Id, problem: &Id, time: i64, delivered: Option<&Delivery>) -> Balloon {
        let object = &self.problems[problem];
        let first = self.boards[Side::Public]
            .get(team)
            .and_then(|entry| entry.cells.get(problem))
            .is_some_and(|cell| cell.first);
        let of_team = self.teams.get(team);
        let passed = of_team.and_then(|team| team.passed.as_ref());
        let delivered = delivered.filter(|delivery| delivery.delivered);
        Balloon {
            team: team.clone(),
            team_name: of_team.map_or_else(|| team.to_string(), |team| team.name.clone()),
            team_label: passed.and_then(|passed| passed.get("label")?.as_str().map(str::to_owned)),
            location: passed.and_then(|passed| passed.get("location").cloned()),
            problem: problem.clone(),
            label: object.label.clone(),
            color: object.color.clone(),
            rgb: object.rgb.clone(),
            time,
            first,
            delivered: delivered.is_some(),
            by: delivered.and_then(|delivery| delivery.by.clone()),
        }
    }
}

/// When a problem was solved, in ms of contest time.
fn solve(unit: &Unit, side: Side) -> Option<i64> {
    let accepted =
        |(_, verdicts): &(&_, &crate::contest::Both<Verdict>)| verdicts[side] == Verdict::Accepted;
    unit.attempts()
        .iter()
        .find(accepted)
        .map(|(attempt, _)| attempt.time)
}
