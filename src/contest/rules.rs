//! The rules in force: what contest, state, settings, judgement types and groups together mean for every row.

use std::collections::BTreeMap;

use super::{
    event::{Group, Info, JudgementType, Submission, Times},
    judging::{self, Both, Meaning, Side},
    settings::{Interval, ProblemScore, Rounding, Scoring, Settings, Thaw},
};
use crate::board::{Column, Id, Shape, Unit};

/// Everything that rows depend on besides teams, problems, submissions and judgements. While it stays the same, one event
/// touches only its own team and problem; when it changes, every row is derived anew.
#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    pub(super) scoring: Scoring,
    pub(super) rounding: Rounding,
    /// What a wrong attempt costs, in ms.
    pub(super) penalty: i64,
    /// When the contest starts, in ms since 1970 UTC.
    pub(super) start: Option<i64>,
    /// Its length in ms.
    pub(super) duration: Option<i64>,
    /// Contest time in ms from which submissions are frozen on the public view; `None`: nothing is.
    pub(super) frozen_from: Option<i64>,
    /// Whether the public may see problems and results (RULES 14).
    pub(super) begun: bool,
    pub(super) compile_error_penalty: bool,
    pub(super) unofficial: Vec<Id>,
    pub(super) auto_teams: bool,
    pub(super) problem_score: ProblemScore,
    /// Contest times that do not count, in order.
    pub(super) removed: Vec<Interval>,
    /// Types that do not mean what the list of well-known identifiers says.
    pub(super) types: BTreeMap<Id, Option<Meaning>>,
    /// Each group: is it hidden, and its section.
    pub(super) groups: BTreeMap<Id, (bool, Option<i64>)>,
    /// The shapes of the boards; that of points lacks its decimals.
    shapes: Both<Shape>,
}

impl Rules {
    #[allow(clippy::too_many_arguments)] // exactly what rows depend on, and nothing has a better place
    pub(super) fn new(
        info: &Info,
        settings: &Settings,
        times: &Times,
        opened: bool,
        types: &BTreeMap<Id, JudgementType>,
        groups: &BTreeMap<Id, Group>,
    ) -> Self {
        let scoring = settings.scoring.unwrap_or(if info.points {
            Scoring::Ioi
        } else {
            Scoring::Icpc
        });
        let opened = opened || (settings.thaw == Thaw::Upstream && times.thawed.is_some());
        let sections = Both::from_fn(|side| {
            let mut orders: Vec<i64> = groups
                .values()
                .filter(|group| side == Side::Jury || !group.hidden)
                .filter_map(|group| group.sortorder)
                .collect();
            orders.sort_unstable();
            orders.dedup();
            orders.len() > 1
        });
        let shapes = Both::from_fn(|side| shape(settings, scoring, sections[side]));
        Self {
            scoring,
            rounding: settings.penalty_rounding,
            penalty: info.penalty,
            start: info.start,
            duration: info.duration,
            frozen_from: match (info.duration, info.freeze) {
                (Some(duration), Some(freeze)) if !opened && freeze > 0 => Some(duration - freeze),
                _ => None,
            },
            begun: times.started.is_some(),
            compile_error_penalty: settings.compile_error_penalty,
            unofficial: settings.unofficial_groups.clone(),
            auto_teams: settings.auto_teams,
            problem_score: settings.problem_score,
            removed: settings.removed_intervals.clone(),
            types: types
                .values()
                .map(|defined| {
                    (
                        defined.id.clone(),
                        judging::meaning(&defined.id, Some(defined)),
                    )
                })
                .filter(|(id, meaning)| judging::meaning(id, None) != *meaning)
                .collect(),
            groups: groups
                .values()
                .map(|group| (group.id.clone(), (group.hidden, group.sortorder)))
                .collect(),
            shapes,
        }
    }

    /// The shape of a view's board, with so many decimals where it is one of points.
    pub(super) fn shape(&self, side: Side, scale: u8) -> Shape {
        let mut shape = self.shapes[side].clone();
        if self.scoring == Scoring::Ioi
            && let Some(score) = shape.columns.last_mut()
        {
            score.scale = scale;
        }
        shape
    }

    /// Does a view's board begin with a column of sections?
    pub(super) fn has_sections(&self, side: Side) -> bool {
        self.shapes[side].columns[0].section
    }

    /// What a judgement type means; `None` if nobody said.
    pub(super) fn meaning(&self, kind: &str) -> Option<Meaning> {
        self.types
            .get(kind)
            .copied()
            .unwrap_or_else(|| judging::meaning(kind, None))
    }

    /// The contest time of a submission, if it can be told.
    pub(super) fn contest_time(&self, submission: &Submission) -> Option<i64> {
        submission
            .contest_time
            .or_else(|| Some(submission.time? - self.start?))
    }

    /// A contest time without the removed ones (RULES 11): inside of one it is the time of its start.
    pub(super) fn without_removed(&self, time: i64) -> i64 {
        let gone = |interval: &Interval| (time.min(interval.end) - interval.start).max(0);
        time - self.removed.iter().map(gone).sum::<i64>()
    }

    /// The contest time, removed ones included, at which so much of the contest is over.
    pub(super) fn with_removed(&self, time: i64) -> i64 {
        self.removed.iter().fold(time, |time, interval| {
            if interval.start < time {
                time + interval.end - interval.start
            } else {
                time
            }
        })
    }

    /// Does a submission of that contest time count (RULES 7)?
    pub(super) fn counts(&self, time: i64) -> bool {
        time >= 0 && self.duration.is_none_or(|duration| time < duration)
    }

    /// Is a submission of that contest time frozen on the public view (RULES 8)?
    pub(super) fn is_frozen(&self, time: i64) -> bool {
        self.frozen_from.is_some_and(|from| time >= from)
    }

    /// A contest time in the unit of the board.
    pub(super) fn in_unit(&self, millis: i64) -> i64 {
        millis.div_euclid(self.rounding.unit().millis())
    }

    /// The penalty of solved problems (time of acceptance and wrong attempts of each, in ms), in the unit of the board.
    pub(super) fn penalty_of(
        &self,
        solved: impl Iterator<Item = (i64, u32)>,
        adjustment: i64,
    ) -> i64 {
        let floor_to = |millis: i64, unit: Unit| millis.div_euclid(unit.millis()) * unit.millis();
        let each = match self.rounding {
            Rounding::Minutes => Unit::Minutes,
            Rounding::Seconds | Rounding::SumThenMinutes => Unit::Seconds,
        };
        let sum: i64 = solved
            .map(|(time, wrong)| floor_to(time, each) + i64::from(wrong) * self.penalty)
            .sum();
        self.in_unit(sum + adjustment)
    }
}

fn shape(settings: &Settings, scoring: Scoring, sections: bool) -> Shape {
    let unit = settings.penalty_rounding.unit();
    let mut columns = match scoring {
        Scoring::Icpc => vec![
            Column::descending("solved"),
            Column::ascending("penalty").unit(unit),
            Column::ascending("last_accepted").unit(unit),
        ],
        Scoring::Ioi => vec![Column::descending("score")],
    };
    let rank_by = settings.rank_by.unwrap_or(2);
    for column in columns.iter_mut().take(rank_by) {
        column.rank = true;
    }
    if sections {
        columns.insert(
            0,
            Column {
                section: true,
                ..Column::ascending("section")
            },
        );
    }
    Shape {
        ties: settings.ties,
        ..Shape::new(columns)
    }
}
