//! How a ceremony goes: from the last place up, one pending problem at a time.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use super::{Contest, Member};
use crate::{
    board::{Board, Cells, Entry, Id},
    contest::{
        awards::DisplayMode,
        ceremony::{Script, Step},
        event::Kind,
        judging::{Side, Verdict},
    },
};

impl Contest {
    /// All steps of a ceremony, while nothing is revealed yet. The last one leaves every visible team with the jury's result.
    ///
    /// # Panics
    /// Never: everybody on the public board is a team, and nobody leaves the board meanwhile.
    pub fn script(&self) -> Script {
        let mut awards = self.awards(Side::Jury);
        for teams in awards
            .iter_mut()
            .filter_map(|award| award.team_ids.as_mut())
        {
            teams.retain(|team| self.boards[Side::Public].get(team).is_some());
        }
        // By team: what stops at it. By award: who is still without a place.
        let mut given: HashMap<&Id, Vec<usize>> = HashMap::new();
        let mut lists: BTreeMap<usize, BTreeSet<&Id>> = BTreeMap::new();
        for (index, award) in awards.iter().enumerate() {
            let teams = award.team_ids.iter().flatten();
            match award.display_mode {
                DisplayMode::Detail | DisplayMode::Pause => {
                    teams.for_each(|team| given.entry(team).or_default().push(index));
                }
                DisplayMode::List => drop(lists.insert(index, teams.collect())),
                DisplayMode::Ignore => {}
            }
        }
        let problems: Vec<&Id> = self
            .ordered_problems()
            .into_iter()
            .map(|problem| &problem.id)
            .collect();
        let mut hidden: HashMap<Id, BTreeSet<Id>> = HashMap::new();
        let mut board = Board::new(self.rules.shape(Side::Public, self.scales[Side::Jury]));
        let teams: Vec<Id> = self.boards[Side::Public]
            .window(None)
            .map(|entry| entry.id.clone())
            .collect();
        for team in &teams {
            let member = &self.members[team];
            let frozen = problems
                .iter()
                .filter(|problem| self.is_frozen(member, problem))
                .map(|problem| (*problem).clone());
            hidden.insert(team.clone(), frozen.collect());
        }
        let rows = teams
            .iter()
            .map(|team| (team.clone(), Some(self.rank_row(team, &hidden[team]))))
            .collect();
        let mut version = 1;
        board.update(version, rows);

        let mut steps = Vec::new();
        // Those with nothing left to reveal. In point scoring a result may also take a team down, among them.
        let mut placed: HashSet<Id> = HashSet::new();
        for place in (0..teams.len()).rev() {
            loop {
                let entry = board.window(Some(place + 1)).next_back();
                let team = entry.expect("nobody leaves the board").id.clone();
                if placed.contains(&team) {
                    break;
                }
                steps.push(Step::Focus(team.clone(), place + 1));
                let left = hidden.get_mut(&team).expect("of every team");
                let mut rises = false;
                while let Some(problem) = problems.iter().find(|problem| left.contains(**problem)) {
                    left.remove(*problem);
                    steps.push(Step::Reveal {
                        team: team.clone(),
                        problem: (*problem).clone(),
                    });
                    version += 1;
                    let row = self.rank_row(&team, left);
                    board.update(version, vec![(team.clone(), Some(row))]);
                    rises = board.position(&team).is_some_and(|now| now < place);
                    if rises {
                        break;
                    }
                }
                if rises {
                    continue;
                }
                if let Some(awards) = given.remove(&team) {
                    steps.push(Step::Award(team.clone(), awards));
                }
                lists.retain(|award, teams| {
                    let last = teams.remove(&team) && teams.is_empty();
                    if last {
                        steps.push(Step::List(*award));
                    }
                    !last
                });
                placed.insert(team);
            }
        }
        Script { steps, awards }
    }

    /// Does the public not know a team's result on a problem because it is frozen?
    fn is_frozen(&self, member: &Member, problem: &Id) -> bool {
        let Some(unit) = member.units.get(problem) else {
            return false;
        };
        // What is frozen after an acceptance that everybody saw changes nothing.
        let seen = unit
            .attempts()
            .iter()
            .take_while(|(attempt, _)| !self.rules.is_frozen(attempt.time))
            .any(|(_, verdicts)| verdicts[Side::Jury] == Verdict::Accepted);
        let last = unit.attempts().last_key_value();
        !seen && last.is_some_and(|(attempt, _)| self.rules.is_frozen(attempt.time))
    }

    /// What decides a team's place while these results are hidden.
    fn rank_row(&self, team: &Id, hidden: &BTreeSet<Id>) -> Arc<Entry> {
        let member = &self.members[team];
        let standing = member.standing.expect("it has a row");
        let section = self
            .rules
            .has_sections(Side::Public)
            .then_some(standing.section);
        let scale = self.scales[Side::Jury];
        Arc::new(Entry {
            id: team.clone(),
            values: self.values(section, team, Some(member), scale, |problem| {
                if hidden.contains(problem) {
                    Side::Public
                } else {
                    Side::Jury
                }
            }),
            label: self.boards[Side::Public]
                .get(team)
                .map(|entry| entry.label.clone())
                .unwrap_or_default(),
            cells: Cells::new(),
        })
    }

    /// The frozen submissions that no one has judged: a ceremony would reveal that they are pending.
    pub fn unjudged(&self) -> Vec<Id> {
        let mut unjudged: Vec<Id> = self
            .submissions
            .iter()
            .filter_map(|(id, known)| {
                let placed = known.placed.as_ref()?;
                let pending = placed.verdicts[Side::Jury] == Verdict::Pending;
                let waits = pending && self.rules.is_frozen(placed.at.time);
                let shown = self.boards[Side::Public].get(&placed.team).is_some();
                let counts = self.aside(Kind::Submissions, id).is_none();
                (waits && shown && counts).then(|| id.clone())
            })
            .collect();
        unjudged.sort();
        unjudged
    }
}
