//! RULES once more, by the letter and without a memory: every row from the final objects. Slow on purpose.

use std::{cmp::Reverse, collections::BTreeMap};

use crate::{
    board::{Cell, Cells, Entry, Id, Label},
    contest::{
        Event, Kind, ProblemLine, Rounding, Scoring, Settings, Side, decimal,
        event::{
            Adjustment, Group, Info, Judgement, JudgementType, Object, Organization,
            PENALTY_DEFAULT_MS, Problem, Submission, Team, Times,
        },
        judging::meaning,
        settings::{ProblemScore, Thaw},
    },
};

/// The objects as their last events left them.
#[derive(Clone)]
pub(super) struct Objects {
    info: Info,
    settings: Settings,
    times: Times,
    opened: bool,
    types: BTreeMap<Id, JudgementType>,
    groups: BTreeMap<Id, Group>,
    organizations: BTreeMap<Id, Organization>,
    teams: BTreeMap<Id, Team>,
    problems: BTreeMap<Id, Problem>,
    submissions: BTreeMap<Id, Submission>,
    judgements: BTreeMap<Id, Judgement>,
    adjustments: BTreeMap<Id, Adjustment>,
}

/// What a view must show.
#[derive(Debug, PartialEq)]
pub(super) struct Shown {
    pub(super) rows: Vec<Entry>,
    pub(super) problems: Vec<ProblemLine>,
    pub(super) scale: u8,
}

#[derive(Clone, Copy, PartialEq)]
enum Outcome {
    Pending,
    Free,
    Wrong,
    Solved,
    Score(i64),
}

struct Standing {
    hidden: bool,
    official: bool,
    section: i64,
}

impl Objects {
    pub(super) fn new() -> Self {
        Self {
            info: Info {
                penalty: PENALTY_DEFAULT_MS,
                ..Info::default()
            },
            settings: Settings::default(),
            times: Times::default(),
            opened: false,
            types: BTreeMap::new(),
            groups: BTreeMap::new(),
            organizations: BTreeMap::new(),
            teams: BTreeMap::new(),
            problems: BTreeMap::new(),
            submissions: BTreeMap::new(),
            judgements: BTreeMap::new(),
            adjustments: BTreeMap::new(),
        }
    }

    pub(super) fn apply(&mut self, event: &Event) {
        match event {
            Event::Put(object) => self.put(object.clone()),
            Event::Delete(kind, id) => self.retain(*kind, |known| known != id),
            Event::Replace(kind, objects) => {
                self.retain(*kind, |_| false);
                for object in objects {
                    self.put(object.clone());
                }
            }
            Event::Other => {}
        }
    }

    fn put(&mut self, object: Object) {
        match object {
            Object::Contest(info) => self.info = *info,
            Object::State(times) => self.times = times,
            Object::Settings(settings) => self.settings = *settings,
            Object::Thaw(opened) => self.opened = opened,
            Object::JudgementType(object) => drop(self.types.insert(object.id.clone(), object)),
            Object::Group(object) => drop(self.groups.insert(object.id.clone(), object)),
            Object::Organization(object) => {
                drop(self.organizations.insert(object.id.clone(), object));
            }
            Object::Team(object) => drop(self.teams.insert(object.id.clone(), object)),
            Object::Problem(object) => drop(self.problems.insert(object.id.clone(), object)),
            Object::Submission(object) => drop(self.submissions.insert(object.id.clone(), object)),
            Object::Judgement(object) => drop(self.judgements.insert(object.id.clone(), object)),
            Object::Adjustment(object) => drop(self.adjustments.insert(object.id.clone(), object)),
            // They change no board.
            Object::Award(_)
            | Object::Ceremony(_)
            | Object::Current(_)
            | Object::Delivery(_)
            | Object::Language(_) => {}
        }
    }

    fn retain(&mut self, kind: Kind, keep: impl Fn(&Id) -> bool) {
        match kind {
            Kind::JudgementTypes => self.types.retain(|id, _| keep(id)),
            Kind::Groups => self.groups.retain(|id, _| keep(id)),
            Kind::Organizations => self.organizations.retain(|id, _| keep(id)),
            Kind::Teams => self.teams.retain(|id, _| keep(id)),
            Kind::Problems => self.problems.retain(|id, _| keep(id)),
            Kind::Submissions => self.submissions.retain(|id, _| keep(id)),
            Kind::Judgements => self.judgements.retain(|id, _| keep(id)),
            Kind::Adjustments => self.adjustments.retain(|id, _| keep(id)),
            // They change no board.
            _ => {}
        }
    }

    fn scoring(&self) -> Scoring {
        self.settings.scoring.unwrap_or(if self.info.points {
            Scoring::Ioi
        } else {
            Scoring::Icpc
        })
    }

    fn time(&self, submission: &Submission) -> Option<i64> {
        submission
            .contest_time
            .or_else(|| Some(submission.time? - self.info.start?))
    }

    /// Rule 11, millisecond by removed interval.
    fn without_removed(&self, time: i64) -> i64 {
        let mut left = time;
        for interval in self.settings.removed_intervals.iter().rev() {
            if time >= interval.end {
                left -= interval.end - interval.start;
            } else if time > interval.start {
                left = interval.start;
            }
        }
        left
    }

    /// Rules 1 and 10.
    fn verdict(&self, submission: &Id) -> Outcome {
        let when = |judgement: &Judgement| {
            judgement
                .end
                .in_contest(self.info.start)
                .or(judgement.start.in_contest(self.info.start))
        };
        let mut judgements: Vec<&Judgement> = self
            .judgements
            .values()
            .filter(|judgement| judgement.submission == *submission && judgement.current)
            .collect();
        judgements.sort_by(|a, b| (when(a), &a.id).cmp(&(when(b), &b.id)));
        let Some((judgement, kind)) = judgements
            .last()
            .and_then(|last| Some((last, last.verdict.as_ref()?)))
        else {
            return Outcome::Pending;
        };
        if &**kind == "JE" {
            return Outcome::Pending;
        }
        let Some(meaning) = meaning(kind, self.types.get(kind)) else {
            return Outcome::Pending;
        };
        let compile_error = self.settings.compile_error_penalty && matches!(&**kind, "CE" | "CTL");
        match self.scoring() {
            Scoring::Ioi => judgement.score.map_or(Outcome::Free, Outcome::Score),
            Scoring::Icpc if meaning.solved => Outcome::Solved,
            Scoring::Icpc if meaning.penalty || compile_error => Outcome::Wrong,
            Scoring::Icpc => Outcome::Free,
        }
    }

    /// Rule 8.
    fn frozen(&self, time: i64) -> bool {
        let open =
            self.opened || (self.settings.thaw == Thaw::Upstream && self.times.thawed.is_some());
        match (self.info.duration, self.info.freeze) {
            (Some(duration), Some(freeze)) => !open && freeze > 0 && time >= duration - freeze,
            _ => false,
        }
    }

    /// The attempts of a team that count, in order, as a view sees them; on problems that exist or not (rules 7, 8).
    fn attempts(&self, side: Side, team: &Id) -> Vec<(&Id, i64, &Id, Outcome)> {
        let mut attempts = Vec::new();
        for submission in self
            .submissions
            .values()
            .filter(|submission| submission.team.as_ref() == Some(team))
        {
            let (Some(problem), Some(came)) = (&submission.problem, self.time(submission)) else {
                continue;
            };
            let time = self.without_removed(came);
            if time < 0 || self.info.duration.is_some_and(|duration| time >= duration) {
                continue;
            }
            let hidden = side == Side::Public && self.frozen(time);
            let outcome = if hidden {
                Outcome::Pending
            } else {
                self.verdict(&submission.id)
            };
            attempts.push((came, (problem, time, &submission.id, outcome)));
        }
        attempts.sort_by_key(|(came, (_, _, id, _))| (*came, *id));
        attempts.into_iter().map(|(_, attempt)| attempt).collect()
    }

    /// Teams that are there, and those that submissions make.
    fn members(&self, side: Side) -> BTreeMap<Id, Standing> {
        let mut members = BTreeMap::new();
        if self.settings.auto_teams {
            for team in self
                .submissions
                .values()
                .filter_map(|submission| submission.team.as_ref())
            {
                if !self.attempts(side, team).is_empty() {
                    members.insert(
                        team.clone(),
                        Standing {
                            hidden: false,
                            official: true,
                            section: 0,
                        },
                    );
                }
            }
        }
        for team in self.teams.values() {
            let groups: Vec<&Group> = team
                .groups
                .iter()
                .filter_map(|id| self.groups.get(id))
                .collect();
            let hidden = team.hidden || groups.iter().any(|group| group.hidden);
            let guest = team
                .groups
                .iter()
                .any(|id| self.settings.unofficial_groups.contains(id));
            let section = groups
                .iter()
                .filter_map(|group| group.sortorder)
                .min()
                .unwrap_or(0);
            members.insert(
                team.id.clone(),
                Standing {
                    hidden,
                    official: !hidden && !guest,
                    section,
                },
            );
        }
        members.retain(|_, standing| side == Side::Jury || !standing.hidden);
        members
    }

    /// Rule 9.
    fn first(
        &self,
        side: Side,
        members: &BTreeMap<Id, Standing>,
        section: i64,
        problem: &Id,
    ) -> Option<Id> {
        let mut attempts: Vec<(i64, &Id, &Id, Outcome)> = members
            .iter()
            .filter(|(_, standing)| {
                standing.official && !standing.hidden && standing.section == section
            })
            .flat_map(|(team, _)| {
                self.attempts(side, team)
                    .into_iter()
                    .map(move |attempt| (team, attempt))
            })
            .filter(|(_, (on, ..))| *on == problem)
            .map(|(team, (_, time, id, outcome))| (time, id, team, outcome))
            .filter(|(.., outcome)| matches!(outcome, Outcome::Pending | Outcome::Solved))
            .collect();
        attempts.sort_by_key(|(_, id, ..)| (self.time(&self.submissions[*id]), *id));
        let (.., team, outcome) = attempts.first()?;
        (*outcome == Outcome::Solved).then(|| (*team).clone())
    }

    pub(super) fn shown(&self, side: Side) -> Shown {
        let begun = side == Side::Jury || self.times.started.is_some();
        let members = self.members(side);
        let unit = if self.settings.penalty_rounding == Rounding::Seconds {
            1000
        } else {
            60_000
        };
        let scale = members
            .keys()
            .flat_map(|team| self.attempts(side, team))
            .filter_map(|(.., outcome)| {
                if let Outcome::Score(score) = outcome {
                    Some(score)
                } else {
                    None
                }
            })
            .map(decimal::decimals)
            .filter(|_| begun)
            .max()
            .unwrap_or(0);
        let mut orders: Vec<i64> = self
            .groups
            .values()
            .filter(|group| side == Side::Jury || !group.hidden)
            .filter_map(|group| group.sortorder)
            .collect();
        orders.sort_unstable();
        orders.dedup();

        let mut rows = Vec::new();
        for (team, standing) in &members {
            let mut cells = Cells::new();
            let (mut solved, mut times, mut total) = (Vec::new(), Vec::new(), 0);
            for problem in self.problems.keys().filter(|_| begun) {
                let mut cell = Cell::default();
                for (_, time, _, outcome) in self
                    .attempts(side, team)
                    .into_iter()
                    .filter(|(on, ..)| *on == problem)
                {
                    match outcome {
                        Outcome::Pending => cell.pending += 1,
                        Outcome::Free => {}
                        Outcome::Wrong => cell.tries += 1,
                        Outcome::Solved => {
                            solved.push((time, i64::from(cell.tries)));
                            times.push(time);
                            cell.tries += 1;
                            cell.time = Some(time / unit);
                            let first = self.first(side, &members, standing.section, problem);
                            cell.first = first.as_ref() == Some(team);
                            break;
                        }
                        Outcome::Score(score) => {
                            cell.tries += 1;
                            let last = self.settings.problem_score == ProblemScore::Last;
                            let best = cell.score.filter(|_| !last);
                            cell.score = Some(best.map_or(score, |best| best.max(score)));
                        }
                    }
                }
                total += cell.score.unwrap_or(0);
                cell.score = cell.score.map(|score| decimal::at_scale(score, scale));
                if cell.tries + cell.pending > 0 {
                    cells.insert(problem.clone(), cell);
                }
            }
            let adjusted: i64 = self
                .adjustments
                .values()
                .filter(|one| begun && one.team == *team)
                .map(|one| one.penalty)
                .sum();
            let each = if self.settings.penalty_rounding == Rounding::Minutes {
                60_000
            } else {
                1000
            };
            let penalty: i64 = solved
                .iter()
                .map(|(time, wrong)| time / each * each + wrong * self.info.penalty)
                .sum::<i64>()
                + adjusted;
            let mut values = if orders.len() > 1 {
                vec![standing.section]
            } else {
                Vec::new()
            };
            match self.scoring() {
                Scoring::Icpc => values.extend([
                    solved.len() as i64,
                    penalty.div_euclid(unit),
                    times.iter().max().unwrap_or(&0) / unit,
                ]),
                Scoring::Ioi => values.push(decimal::at_scale(total, scale)),
            }
            rows.push(Entry {
                id: team.clone(),
                values: values.into_iter().collect(),
                label: self.label(team, standing).into(),
                cells,
            });
        }
        let from = usize::from(orders.len() > 1);
        let icpc = self.scoring() == Scoring::Icpc;
        rows.sort_by_key(|row| {
            let rest = row.values[from + 1..].to_vec();
            (
                row.values[..from].to_vec(),
                Reverse(row.values[from]),
                icpc.then_some(rest),
                row.id.clone(),
            )
        });

        let mut problems: Vec<&Problem> = self.problems.values().filter(|_| begun).collect();
        problems.sort_by_key(|problem| (problem.ordinal, &problem.label, &problem.id));
        let problems = problems
            .into_iter()
            .map(|problem| self.line(side, &members, &rows, problem))
            .collect();
        Shown {
            rows,
            problems,
            scale: if icpc { 0 } else { scale },
        }
    }

    fn label(&self, team: &Id, standing: &Standing) -> Label {
        let Some(object) = self.teams.get(team) else {
            return Label {
                name: team.clone(),
                official: true,
                ..Label::default()
            };
        };
        let organization = object
            .organization
            .as_ref()
            .and_then(|id| self.organizations.get(id));
        Label {
            name: object.name.as_str().into(),
            organization: organization.map(|organization| organization.name.as_str().into()),
            groups: object
                .groups
                .iter()
                .filter(|id| self.groups.contains_key(*id))
                .cloned()
                .collect(),
            official: standing.official,
            hidden: standing.hidden,
        }
    }

    fn line(
        &self,
        side: Side,
        members: &BTreeMap<Id, Standing>,
        rows: &[Entry],
        problem: &Problem,
    ) -> ProblemLine {
        let cells: Vec<&Cell> = rows
            .iter()
            .filter(|row| !row.label.hidden)
            .filter_map(|row| row.cells.get(&problem.id))
            .collect();
        let mut sections: Vec<i64> = members.values().map(|standing| standing.section).collect();
        sections.sort_unstable();
        ProblemLine {
            id: problem.id.clone(),
            label: problem.label.clone(),
            name: problem.name.clone(),
            rgb: problem.rgb.clone(),
            color: problem.color.clone(),
            solved: cells
                .iter()
                .filter(|cell| cell.time.is_some() || cell.score > Some(0))
                .count() as u32,
            tries: cells.iter().map(|cell| cell.tries).sum(),
            pending: cells.iter().map(|cell| cell.pending).sum(),
            first: sections
                .into_iter()
                .find_map(|section| self.first(side, members, section, &problem.id)),
        }
    }
}
