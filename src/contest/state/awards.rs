//! Who gets what by a standing.

use std::collections::BTreeMap;

use super::Contest;
use crate::{
    board::{Entry, Id},
    contest::{
        awards::{Award, DisplayMode, is_medal},
        judging::Side,
    },
};

impl Contest {
    /// The awards by a view's standing, best first: those that the feed names, and those of ours that it does not. What the
    /// feed says may rest on frozen results, so the public is told it only when nothing is frozen.
    pub fn awards(&self, side: Side) -> Vec<Award> {
        let theirs = || {
            self.awards
                .values()
                .filter(|_| side == Side::Jury || (self.is_open() && self.shows_problems(side)))
        };
        let medals = theirs().any(|award| is_medal(&award.id));
        let ours = self.own_awards(side).into_iter().filter(|award| {
            let named = theirs().any(|theirs| theirs.id == award.id);
            !(named || (medals && is_medal(&award.id)))
        });
        let visible = |award: &Award| {
            let mut award = award.clone();
            if let Some(teams) = &mut award.team_ids {
                teams.retain(|team| self.boards[side].get(team).is_some());
            }
            award
        };
        theirs().map(visible).chain(ours).collect()
    }

    /// The awards by the standing alone: those of the uppermost section.
    fn own_awards(&self, side: Side) -> Vec<Award> {
        if !self.shows_problems(side) {
            return Vec::new();
        }
        let board = &self.boards[side];
        let shape = board.shape();
        let sections = usize::from(self.rules.has_sections(side));
        let mut visible = board.window(None).filter(|entry| !entry.label.hidden);
        let top = visible.next().cloned();
        let scored: Vec<(usize, &Entry)> = board
            .window(None)
            .zip(board.ranks())
            .filter(|(entry, _)| {
                top.as_ref()
                    .is_some_and(|top| shape.same_section(&top.values, &entry.values))
            })
            .filter_map(|(entry, rank)| Some((rank?, entry.as_ref())))
            .filter(|(_, entry)| !entry.label.hidden && entry.values[sections] > 0)
            .collect();
        let mut by_rank: BTreeMap<usize, Vec<Id>> = BTreeMap::new();
        for (rank, entry) in &scored {
            by_rank.entry(*rank).or_default().push(entry.id.clone());
        }
        let of_ranks = |first: usize, last: usize| -> Vec<Id> {
            let teams = by_rank.range(first..=last).flat_map(|(_, teams)| teams);
            teams.cloned().collect()
        };
        let award = |id: String, citation: String, teams: Vec<Id>, display_mode| Award {
            id: id.into(),
            citation,
            team_ids: Some(teams),
            display_mode,
        };
        let settings = self.settings.awards;
        let mut awards = vec![award(
            "winner".to_owned(),
            "Contest winner".to_owned(),
            of_ranks(1, 1),
            DisplayMode::Detail,
        )];
        let mut last = 0;
        for (id, citation, until) in settings.medals() {
            if until > last {
                awards.push(award(
                    id.to_owned(),
                    citation.to_owned(),
                    of_ranks(last + 1, until),
                    DisplayMode::Detail,
                ));
            }
            last = until;
        }
        for rank in 1..=settings.ranks {
            awards.push(award(
                format!("rank-{rank}"),
                format!("Rank {rank}"),
                of_ranks(rank, rank),
                DisplayMode::Ignore,
            ));
        }
        if settings.honors > 0 {
            let scale = u32::from(shape.columns[sections].scale);
            let honored = settings.honors.saturating_mul(10_i64.pow(scale));
            let teams = scored
                .iter()
                .filter(|(rank, entry)| *rank > last && entry.values[sections] >= honored)
                .map(|(_, entry)| entry.id.clone());
            awards.push(award(
                "honorable-mention".to_owned(),
                "Honorable mention".to_owned(),
                teams.collect(),
                DisplayMode::List,
            ));
        }
        for problem in self.ordered_problems() {
            let line = self.line(side, problem);
            awards.push(award(
                format!("first-to-solve-{}", problem.id),
                format!("First to solve problem {}", problem.label),
                line.first.into_iter().collect(),
                DisplayMode::Pause,
            ));
        }
        let mut best: BTreeMap<&Id, (usize, Vec<Id>)> = BTreeMap::new();
        for (rank, entry) in &scored {
            for group in &entry.label.groups {
                let (of, teams) = best.entry(group).or_insert_with(|| (*rank, Vec::new()));
                if of == rank {
                    teams.push(entry.id.clone());
                }
            }
        }
        // With one group its winner is the winner.
        let visible = self.groups.values().filter(|group| !group.hidden);
        if visible.clone().count() > 1 {
            for group in visible {
                let teams = best.remove(&group.id).map(|(_, teams)| teams);
                awards.push(award(
                    format!("group-winner-{}", group.id),
                    format!("Winner of {}", group.name),
                    teams.unwrap_or_default(),
                    DisplayMode::Detail,
                ));
            }
        }
        awards
    }
}
