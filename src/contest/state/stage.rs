//! The stage: the contest as the hall sees it, and how the ceremony's steps get there, and to the public.

use std::{
    borrow::Cow,
    collections::BTreeSet,
    sync::{Arc, OnceLock},
};

use super::{Change, Contest, Dirty, Surroundings};
use crate::{
    board::Id,
    contest::{
        ceremony::{Mode, Progress, Scene, Script},
        event::{Event, Kind, Object},
        judging::{Both, Side},
        settings::PublicDuringCeremony,
        view::Views,
    },
};

/// What the hall sees: a twin of the contest, whose public side shows what is revealed.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    contest: Contest,
    /// The steps of this ceremony, once somebody asked for them; written anew when something changed in the contest meanwhile.
    script: OnceLock<Arc<Script>>,
    /// How many steps are done, and of which script.
    step: usize,
    done_by: Option<Arc<Script>>,
    /// The public had been shown the same.
    followed: bool,
}

/// May the event change who gets which award?
fn concerns_awards(event: &Event) -> bool {
    match event {
        Event::Put(object) => matches!(object, Object::Award(_) | Object::Settings(_)),
        Event::Delete(kind, _) | Event::Replace(kind, _) => *kind == Kind::Awards,
        Event::Other => false,
    }
}

/// A result that is revealed, or hidden again.
struct Turn {
    team: Id,
    problem: Id,
    reveal: bool,
}

impl Stage {
    fn of(contest: &Contest) -> Box<Self> {
        let mut contest = contest.clone();
        contest.ledgers = None;
        Box::new(Self {
            contest,
            script: OnceLock::new(),
            step: 0,
            done_by: None,
            followed: true,
        })
    }

    pub(super) fn contest(&self) -> &Contest {
        &self.contest
    }

    /// Takes in what happened in the contest. Answers what the hall sees of it.
    pub(super) fn fold(&mut self, sequence: u64, event: &Event, from_clock: bool) -> Change {
        self.contest.sequence = sequence;
        let mut change = self.contest.take_in(sequence, event, from_clock);
        let matters = |change: &Change| {
            change.step.is_some() || change.reshaped || !change.problems.is_empty()
        };
        // The awards of a feed change no board, but the script.
        if change.iter().any(|(_, change)| matters(change)) || concerns_awards(event) {
            self.script.take();
        }
        std::mem::take(&mut change[Side::Public])
    }

    /// The script; written now if it is not there.
    fn script(&self) -> &Arc<Script> {
        let write = || Arc::new(self.contest.with_nothing_revealed().script());
        self.script.get_or_init(write)
    }

    /// How many steps are done. After the script was written anew: so many that all that was revealed is.
    fn here(&self) -> usize {
        if self.script.get() == self.done_by.as_ref() {
            self.step
        } else {
            self.script().step_with(&self.contest.all_revealed())
        }
    }

    /// Goes to where the ceremony stands. Answers what has to be turned for that, and what is shown there.
    fn go_to(&mut self, progress: Progress) -> (Vec<Turn>, Scene) {
        let here = self.here();
        let script = self.script().clone();
        let known = self.done_by.as_ref() == Some(&script);
        // What was revealed before the script was written anew is not hidden by going on.
        let step = if !known && progress.step >= self.step {
            progress.step.max(here)
        } else {
            progress.step
        };
        let step = step.min(script.steps.len());
        let turns = if !known {
            let revealed = script.revealed(0..step).map(cloned);
            self.contest.turns_to(&revealed.collect())
        } else if step >= self.step {
            let revealed = script.revealed(self.step..step).map(cloned);
            revealed.map(|one| Turn::new(one, true)).collect()
        } else {
            let revealed = script.revealed(step..self.step).map(cloned);
            revealed.rev().map(|one| Turn::new(one, false)).collect()
        };
        let scene = script.scene(Progress { step, ..progress });
        self.step = step;
        self.done_by = Some(script);
        (turns, scene)
    }

    /// Goes back to where nothing is revealed.
    fn clear(&mut self) -> Vec<Turn> {
        self.script.take();
        self.done_by = None;
        self.step = 0;
        self.contest.turns_to(&BTreeSet::new())
    }
}

impl Turn {
    fn new((team, problem): (Id, Id), reveal: bool) -> Self {
        Self {
            team,
            problem,
            reveal,
        }
    }
}

fn cloned((team, problem): (&Id, &Id)) -> (Id, Id) {
    (team.clone(), problem.clone())
}

impl Contest {
    /// Brings the stage, and the public if it follows, to where the ceremony stands.
    pub(super) fn conduct(&mut self, sequence: u64) -> Views<Change> {
        let mut stage = match (self.stage.take(), self.ceremony) {
            (Some(stage), _) => stage,
            (None, Some(_)) => Stage::of(self),
            (None, None) => return Views::default(),
        };
        let (turns, scene) = match self.ceremony {
            Some(progress) => {
                let (turns, scene) = stage.go_to(progress);
                (turns, Some(scene))
            }
            None => (stage.clear(), None),
        };
        stage.contest.sequence = sequence;
        let scenes = Both::from_fn(|_| scene.clone());
        let seen = std::mem::take(&mut stage.contest.turn(sequence, &turns, scenes)[Side::Public]);

        let live = self
            .ceremony
            .is_some_and(|progress| progress.mode == Mode::Live);
        let follows = live && self.settings.public_during_ceremony == PublicDuringCeremony::Follow;
        let turns = match (follows, std::mem::replace(&mut stage.followed, follows)) {
            (true, true) => turns,
            (true, false) => self.turns_to(&stage.contest.all_revealed()),
            (false, _) => self.turns_to(&BTreeSet::new()),
        };
        let scenes = Both::from_fn(|side| match side {
            Side::Jury => scene.clone(),
            Side::Public => scene.clone().filter(|_| follows).map(|scene| Scene {
                steps: None,
                ..scene
            }),
        });
        let sides = self.turn(sequence, &turns, scenes);
        self.stage = Some(stage);
        Views::new(sides, seen)
    }

    /// The contest as it would be if no ceremony had revealed anything.
    fn with_nothing_revealed(&self) -> Cow<'_, Self> {
        if self.revealed.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut still = self.clone();
        let turns = still.turns_to(&BTreeSet::new());
        still.turn(self.sequence + 1, &turns, Both::default());
        Cow::Owned(still)
    }

    fn all_revealed(&self) -> BTreeSet<(Id, Id)> {
        let each = |(team, problems): (&Id, &BTreeSet<Id>)| {
            let team = team.clone();
            let pair = move |problem: &Id| (team.clone(), problem.clone());
            problems.iter().map(pair).collect::<Vec<_>>()
        };
        self.revealed.iter().flat_map(each).collect()
    }

    /// Where the ceremony stands, while there is one; its turn is that of the last word heard.
    pub fn ceremony(&self) -> Option<Progress> {
        let stage = self.stage.as_ref()?;
        self.ceremony.map(|progress| Progress {
            step: stage.here(),
            turn: self.turns,
            ..progress
        })
    }

    /// The last word about a ceremony that was heard.
    pub fn ceremony_word(&self) -> Option<Progress> {
        self.ceremony
    }

    /// How many words about ceremonies were heard.
    pub fn ceremony_turns(&self) -> u64 {
        self.turns
    }

    /// The steps of the ceremony: of the one that is under way, or of one that would begin now.
    pub fn ceremony_script(&self) -> Arc<Script> {
        match &self.stage {
            Some(stage) => stage.script().clone(),
            None => Arc::new(self.script()),
        }
    }

    /// Has the ceremony revealed to the public what this team did on this problem?
    pub(super) fn is_revealed(&self, team: &Id, problem: &Id) -> bool {
        self.revealed
            .get(team)
            .is_some_and(|problems| problems.contains(problem))
    }

    /// What has to be turned so that exactly these results are revealed.
    fn turns_to(&self, revealed: &BTreeSet<(Id, Id)>) -> Vec<Turn> {
        let now = self.all_revealed();
        let hide = now.difference(revealed).cloned();
        let reveal = revealed.difference(&now).cloned();
        hide.map(|one| Turn::new(one, false))
            .chain(reveal.map(|one| Turn::new(one, true)))
            .collect()
    }

    /// Reveals results to the public, or hides them again.
    fn turn(&mut self, sequence: u64, turns: &[Turn], scenes: Both<Option<Scene>>) -> Both<Change> {
        let before = Surroundings::of(self);
        let mut dirty = Dirty::default();
        for Turn {
            team,
            problem,
            reveal,
        } in turns
        {
            let problems = self.revealed.entry(team.clone()).or_default();
            if *reveal {
                problems.insert(problem.clone());
            } else {
                problems.remove(problem);
                if problems.is_empty() {
                    self.revealed.remove(team);
                }
            }
            let unit = self
                .members
                .get(team)
                .and_then(|member| member.units.get(problem));
            let submissions: Vec<Id> = unit
                .into_iter()
                .flat_map(|unit| unit.attempts().keys())
                .map(|attempt| attempt.id.clone())
                .collect();
            for submission in &submissions {
                self.place(submission, &mut dirty);
            }
        }
        self.scenes = scenes;
        self.settle(sequence, dirty, Some(&before))
    }
}
