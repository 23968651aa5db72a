//! After an event: everything that is derived is brought up to date, and no more than that.

use std::collections::{BTreeSet, HashMap};

use super::{Change, Contest, Dirty, Stat};
use crate::{
    board::{Cells, Entry, Id},
    contest::{
        event::{Event, Kind, Object},
        judging::{Both, Side},
        rules::Rules,
        status::{ProblemLine, Status},
    },
};

impl Contest {
    /// Brings everything derived up to date, and the boards to the version of this event. `before`: how things stood, if
    /// the event may change the rules.
    pub(super) fn settle(
        &mut self,
        sequence: u64,
        mut dirty: Dirty,
        before: Option<&Surroundings>,
    ) -> Both<Change> {
        let mut new_rules = false;
        if before.is_some() {
            let rules = Rules::new(
                &self.info,
                &self.settings,
                &self.times,
                self.opened,
                &self.types,
                &self.groups,
            );
            new_rules = rules != self.rules;
            if new_rules {
                let begun = std::mem::replace(&mut self.rules, rules).begun;
                dirty.listing |= begun != self.rules.begun;
                self.derive_all(&mut dirty);
            }
        }
        let rescaled = self.rescale(&mut dirty);
        let firsts = self.settle_races(&mut dirty);
        let mut out = Both::<Change>::default();
        for side in Side::ALL {
            let change = &mut out[side];
            let mut problems = firsts[side].clone();
            let mut rows = Vec::with_capacity(dirty.rows.len());
            for (team, cells) in &dirty.rows {
                let old = self.boards[side].get(team).cloned();
                let cells = (!new_rules && !rescaled[side]).then_some(cells);
                let new = self.entry(side, team, old.as_deref(), cells);
                self.count(side, old.as_deref(), new.as_deref(), &mut problems);
                rows.push((team.clone(), new));
            }
            let sees_problems = self.shows_problems(side);
            let shape = self.rules.shape(side, self.scales[side]);
            let board = &mut self.boards[side];
            let version = board.version();
            if **board.shape() == shape {
                change.step = board.update(sequence, rows);
            } else {
                let entries = rows.into_iter().filter_map(|(_, entry)| entry).collect();
                board.reshape(sequence, shape, entries);
                change.reshaped = true;
            }
            if dirty.listing && (sees_problems || new_rules) && !change.reshaped {
                board.seal(sequence);
                change.reshaped = true;
                change.step = None;
            }
            if let Some(before) = before {
                change.status = before.status[side] != self.status(side);
                if new_rules {
                    // Races and rows began anew: what was gathered tells nothing, compare what is shown.
                    problems.clear();
                    let old = before.problems[side]
                        .iter()
                        .map(|line| (&line.id, line))
                        .collect::<HashMap<_, _>>();
                    let new = self.problems(side);
                    problems.extend(
                        new.into_iter()
                            .filter(|line| old.get(&line.id) != Some(&line))
                            .map(|line| line.id),
                    );
                }
            }
            if sees_problems {
                change.problems = problems
                    .into_iter()
                    .filter(|id| self.problems.contains_key(id))
                    .collect();
            }
            let board = &mut self.boards[side];
            if (change.status || !change.problems.is_empty()) && board.version() == version {
                board.touch(sequence);
            }
        }
        if before.is_some() {
            dirty.object(Kind::Contest, &Id::default());
            dirty.object(Kind::State, &Id::default());
        }
        if new_rules {
            dirty.objects.extend(self.all_objects());
        }
        self.record(&dirty.objects);
        out
    }

    /// Brings the decimals of the score columns up to date; tells in which view they changed, and with them every row.
    pub(super) fn rescale(&mut self, dirty: &mut Dirty) -> Both<bool> {
        let scales = Both::from_fn(|side| {
            let finest = self.decimals[side].iter().rposition(|count| *count > 0);
            finest.filter(|_| self.shows_problems(side)).unwrap_or(0) as u8
        });
        let was = std::mem::replace(&mut self.scales, scales);
        let rescaled = Both::from_fn(|side| was[side] != scales[side]);
        if Side::ALL.iter().any(|side| rescaled[*side]) {
            for id in self.members.keys() {
                dirty.row(id);
            }
        }
        rescaled
    }

    /// After the rules changed: every placement, standing, race and row.
    pub(super) fn derive_all(&mut self, dirty: &mut Dirty) {
        self.members.clear();
        self.races.clear();
        self.decimals = Both::default();
        for known in self.submissions.values_mut() {
            known.placed = None;
        }
        let teams: Vec<Id> = self.teams.keys().cloned().collect();
        for id in &teams {
            self.team_changed(id, dirty);
        }
        let submissions: Vec<Id> = self.submissions.keys().cloned().collect();
        for id in &submissions {
            self.place(id, dirty);
        }
        for side in Side::ALL {
            // Rows of teams that are not there any more, and with them their part of the statistics.
            let ids: Vec<Id> = self.boards[side]
                .window(None)
                .map(|entry| entry.id.clone())
                .collect();
            for id in &ids {
                dirty.row(id);
            }
        }
    }

    /// Looks who is first now; marks the cells of those who became it or are it no more. Answers the problems.
    pub(super) fn settle_races(&mut self, dirty: &mut Dirty) -> Both<BTreeSet<Id>> {
        let mut changed = Both::<BTreeSet<Id>>::default();
        for key in std::mem::take(&mut dirty.races) {
            let Some(running) = self.races.get_mut(&key) else {
                continue;
            };
            for side in Side::ALL {
                let running = &mut running[side];
                let is = running.race.first().cloned();
                if running.first != is {
                    let was = std::mem::replace(&mut running.first, is.clone());
                    for team in [was, is].into_iter().flatten() {
                        dirty.rows.entry(team).or_default().insert(key.1.clone());
                    }
                    changed[side].insert(key.1.clone());
                }
            }
            if Side::ALL.iter().all(|side| running[*side].race.is_empty()) {
                self.races.remove(&key);
            }
        }
        changed
    }

    /// Counts a row's cells into the statistics: out with the old, in with the new.
    pub(super) fn count(
        &mut self,
        side: Side,
        old: Option<&Entry>,
        new: Option<&Entry>,
        changed: &mut BTreeSet<Id>,
    ) {
        let hidden = |entry: &Entry| entry.label.hidden;
        let (old, new) = (
            old.filter(|entry| !hidden(entry)),
            new.filter(|entry| !hidden(entry)),
        );
        let none = Cells::new();
        let (old, new) = (
            old.map_or(&none, |entry| &entry.cells),
            new.map_or(&none, |entry| &entry.cells),
        );
        let stats = &mut self.stats[side];
        for (problem, cell) in old
            .iter()
            .filter(|(problem, cell)| new.get(*problem) != Some(cell))
        {
            stats
                .entry(problem.clone())
                .or_default()
                .take(Stat::of(cell));
            changed.insert(problem.clone());
        }
        for (problem, cell) in new
            .iter()
            .filter(|(problem, cell)| old.get(*problem) != Some(cell))
        {
            stats
                .entry(problem.clone())
                .or_default()
                .add(Stat::of(cell));
            changed.insert(problem.clone());
        }
    }
}

/// What is shown beside the rows, before an event that may change all of it.
pub(super) struct Surroundings {
    status: Both<Status>,
    problems: Both<Vec<ProblemLine>>,
}

impl Surroundings {
    pub(super) fn of(contest: &Contest) -> Self {
        Self {
            status: Both::from_fn(|side| contest.status(side)),
            problems: Both::from_fn(|side| contest.problems(side)),
        }
    }
}

/// May the event change the rules by which every row is derived, or the status?
pub(super) fn sets_rules(event: &Event) -> bool {
    match event {
        Event::Put(object) => matches!(
            object,
            Object::Contest(_)
                | Object::Settings(_)
                | Object::State(_)
                | Object::Thaw(_)
                | Object::JudgementType(_)
                | Object::Group(_)
        ),
        Event::Delete(kind, _) | Event::Replace(kind, _) => {
            matches!(kind, Kind::JudgementTypes | Kind::Groups)
        }
        Event::Other => false,
    }
}
