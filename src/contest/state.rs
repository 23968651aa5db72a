//! The state of a contest: the fold of its events.
//!
//! `place` finds where each submission counts, `settle` brings races, statistics and boards up to date, `rows` makes the
//! entries; `shapes` makes the objects that other tools read, and `ledger` their feeds; `aside` tells what counts for nothing; `awards` who gets what, `balloons` what is brought to whom, `script` how a ceremony goes, and `stage` brings it
//! before those who watch.

mod aside;
mod awards;
mod balloons;
mod ledger;
mod past;
mod place;
mod rows;
mod script;
mod settle;
mod shapes;
mod stage;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::{
    awards::Award,
    balloons::Delivery,
    ceremony::{Progress, Scene},
    decimal,
    event::{
        Adjustment, Event, Group, Info, Judgement, JudgementType, Kind, Language, Object,
        Organization, Problem, Submission, Team, Times,
    },
    first::Race,
    judging::{Attempt, Both, Side, Unit, Verdict},
    rules::Rules,
    settings::{Scoring, Settings},
    status::{ProblemLine, Status},
    view::{View, Views},
};
pub use aside::Aside;
pub use ledger::Line;
use ledger::{Ledger, Named};
use settle::{Surroundings, sets_rules};
pub use shapes::COLLECTIONS;
use stage::Stage;

use crate::board::{Board, Cell, Id, Step};

/// A contest as its log tells it. Every row of every view is derived from the objects here; the order in which objects
/// arrived does not matter, and for one object the last event holds.
#[derive(Clone, Debug)]
pub struct Contest {
    id: String,
    sequence: u64,
    info: Info,
    settings: Settings,
    times: Times,
    /// `times` came from our own clock, because no feed gave any.
    times_are_ours: bool,
    /// The jury opened the frozen board.
    opened: bool,
    types: BTreeMap<Id, JudgementType>,
    languages: BTreeMap<Id, Language>,
    groups: BTreeMap<Id, Group>,
    organizations: HashMap<Id, Organization>,
    teams: HashMap<Id, Team>,
    problems: HashMap<Id, Problem>,
    adjustments: HashMap<Id, Adjustment>,
    judgements: HashMap<Id, Judgement>,
    /// Submissions, and what is known of those that have not come yet.
    submissions: HashMap<Id, Known>,
    /// The awards that the feed names.
    awards: BTreeMap<Id, Award>,
    /// Since when this is the contest that `/current` shows, in ms since 1970 UTC.
    chosen: Option<i64>,
    /// What was said of balloons.
    deliveries: BTreeMap<Id, Delivery>,
    /// Where the ceremony stands, while there is one.
    ceremony: Option<Progress>,
    /// How many words about ceremonies were heard.
    turns: u64,
    /// All that was ever decided about penalties, the oldest first.
    decisions: Vec<Decision>,

    // Derived from the above.
    /// The sum of the adjustments of each team that has any, in ms.
    adjusted: HashMap<Id, i64>,
    rules: Rules,
    /// How many scores that a view may see need so many decimals. Counted apart: a finer column would tell the public
    /// of a frozen score.
    decimals: Both<Decimals>,
    /// Decimals of the score column.
    scales: Both<u8>,
    members: HashMap<Id, Member>,
    races: HashMap<(i64, Id), Both<Running>>,
    stats: Both<HashMap<Id, Stat>>,
    boards: Both<Board>,
    /// The problems of each team whose frozen results the ceremony has revealed to the public.
    revealed: BTreeMap<Id, BTreeSet<Id>>,
    /// What the ceremony shows beside the board.
    scenes: Both<Option<Scene>>,
    /// What the hall sees: there from the first ceremony on.
    stage: Option<Box<Stage>>,
    /// What the feeds of the views say; `None`: nobody reads any.
    ledgers: Option<Both<Ledger>>,
}

/// A submission, or the judgements that wait for it.
#[derive(Clone, Debug, Default)]
struct Known {
    object: Option<Submission>,
    judgements: BTreeSet<Id>,
    /// Where it counts now.
    placed: Option<Placed>,
}

#[derive(Clone, Debug, PartialEq)]
struct Placed {
    team: Id,
    problem: Id,
    at: Attempt,
    verdicts: Both<Verdict>,
}

/// A team, or the submissions that wait for it.
#[derive(Clone, Debug, Default)]
struct Member {
    /// What the team is; `None` while nobody said that it exists.
    standing: Option<Standing>,
    units: BTreeMap<Id, Unit>,
}

type Decimals = [u32; decimal::SCALE as usize + 1];

/// What of a team decides where its results count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Standing {
    hidden: bool,
    official: bool,
    section: i64,
}

impl Standing {
    /// Takes part in the races of its section.
    fn races(self) -> bool {
        self.official && !self.hidden
    }

    /// Has a row in that view.
    fn shown_to(self, side: Side) -> bool {
        side == Side::Jury || !self.hidden
    }
}

#[derive(Clone, Debug, Default)]
struct Running {
    race: Race,
    /// Who is marked as first on the rows now.
    first: Option<Id>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stat {
    solved: u32,
    tries: u32,
    pending: u32,
}

impl Stat {
    fn of(cell: &Cell) -> Self {
        let solved = cell.time.is_some() || cell.score.is_some_and(|score| score > 0);
        Self {
            solved: u32::from(solved),
            tries: cell.tries,
            pending: cell.pending,
        }
    }

    fn add(&mut self, other: Self) {
        self.solved += other.solved;
        self.tries += other.tries;
        self.pending += other.pending;
    }

    fn take(&mut self, other: Self) {
        self.solved -= other.solved;
        self.tries -= other.tries;
        self.pending -= other.pending;
    }
}

/// What was decided about a penalty.
#[derive(Clone, Debug)]
pub struct Decision {
    /// The adjustment.
    pub id: Id,
    /// What it is from then on; `None`: it is taken back.
    pub adjustment: Option<Adjustment>,
}

/// What one event changed in one view.
#[derive(Clone, Debug, Default)]
pub struct Change {
    /// The rows.
    pub step: Option<Step>,
    /// Columns or the list of problems changed: no delta says it, viewers need the whole board.
    pub reshaped: bool,
    /// Problems whose statistics changed.
    pub problems: Vec<Id>,
    /// The phase, the clock or the name.
    pub status: bool,
}

/// What an event may touch, gathered while it is taken in.
#[derive(Default)]
struct Dirty {
    /// Rows, with the cells to look at.
    rows: BTreeMap<Id, BTreeSet<Id>>,
    races: BTreeSet<(i64, Id)>,
    /// The list of problems is another one.
    listing: bool,
    /// Objects that other tools may see otherwise now.
    objects: BTreeSet<Named>,
}

impl Dirty {
    fn cell(&mut self, team: &Id, problem: &Id) {
        self.rows
            .entry(team.clone())
            .or_default()
            .insert(problem.clone());
    }

    fn row(&mut self, team: &Id) {
        self.rows.entry(team.clone()).or_default();
    }

    /// An object of that kind is another one.
    fn object(&mut self, kind: Kind, id: &Id) {
        self.objects.insert((kind, id.clone()));
    }

    /// A submission is another one, or its judgements may be seen otherwise.
    fn submission(&mut self, id: &Id, judgements: &BTreeSet<Id>) {
        self.object(Kind::Submissions, id);
        for judgement in judgements {
            self.object(Kind::Judgements, judgement);
        }
    }
}

impl Contest {
    /// A contest without events.
    pub fn new(id: &str) -> Self {
        let (info, settings, times) = (
            Info {
                penalty: super::event::PENALTY_DEFAULT_MS,
                ..Info::default()
            },
            Settings::default(),
            Times::default(),
        );
        let rules = Rules::new(
            &info,
            &settings,
            &times,
            false,
            &BTreeMap::new(),
            &BTreeMap::new(),
        );
        let boards = Both::from_fn(|side| Board::new(rules.shape(side, 0)));
        let mut contest = Self {
            id: id.to_owned(),
            sequence: 0,
            info,
            settings,
            times,
            times_are_ours: true,
            opened: false,
            types: BTreeMap::new(),
            languages: BTreeMap::new(),
            groups: BTreeMap::new(),
            organizations: HashMap::new(),
            teams: HashMap::new(),
            problems: HashMap::new(),
            adjustments: HashMap::new(),
            judgements: HashMap::new(),
            submissions: HashMap::new(),
            awards: BTreeMap::new(),
            chosen: None,
            deliveries: BTreeMap::new(),
            ceremony: None,
            turns: 0,
            decisions: Vec::new(),
            adjusted: HashMap::new(),
            rules,
            decimals: Both::default(),
            scales: Both::default(),
            members: HashMap::new(),
            races: HashMap::new(),
            stats: Both::default(),
            boards,
            revealed: BTreeMap::new(),
            scenes: Both::default(),
            stage: None,
            ledgers: None,
        };
        contest.begin_feeds();
        contest
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The sequence number of the last event folded.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The rows of a view. Its version is the sequence number of the last event that changed the view.
    pub fn board(&self, view: impl Into<View>) -> &Board {
        let (contest, side) = self.seen(view);
        &contest.boards[side]
    }

    /// Where a view is kept: that of the ceremony is the public one, until there is a ceremony.
    fn seen(&self, view: impl Into<View>) -> (&Self, Side) {
        match view.into() {
            View::Public => (self, Side::Public),
            View::Jury => (self, Side::Jury),
            View::Ceremony => (
                self.stage.as_ref().map_or(self, |stage| stage.contest()),
                Side::Public,
            ),
        }
    }

    /// The contest object.
    pub fn info(&self) -> &Info {
        &self.info
    }

    /// Its settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The times of its phases, and whether our own clock gave them.
    pub fn times(&self) -> (&Times, bool) {
        (&self.times, self.times_are_ours)
    }

    /// A contest time in ms by the clock without what is removed from the contest (RULES 11).
    pub fn without_removed(&self, time: i64) -> i64 {
        self.rules.without_removed(time)
    }

    /// The contest time, in ms, at which so much of the contest is over: later, where times are removed from it (RULES 11).
    pub fn with_removed(&self, time: i64) -> i64 {
        self.rules.with_removed(time)
    }

    /// Is the frozen board open?
    pub fn is_open(&self) -> bool {
        self.rules.frozen_from.is_none()
    }

    /// All that was ever decided about penalties, the oldest first; of each id the last one is in force.
    pub fn decisions(&self) -> &[Decision] {
        &self.decisions
    }

    /// Since when this is the contest that `/current` shows, in ms since 1970 UTC; of several the last that was chosen is.
    pub fn chosen(&self) -> Option<i64> {
        self.chosen
    }

    /// Is there a team of that id?
    pub fn has_team(&self, id: &str) -> bool {
        self.teams.contains_key(id)
    }

    /// How it is scored.
    pub fn scoring(&self) -> Scoring {
        self.rules.scoring
    }

    /// The phase and clock as a view may see them.
    pub fn status(&self, view: impl Into<View>) -> Status {
        let (contest, side) = self.seen(view);
        let scene = contest.scenes[side].clone();
        let Self { info, times, .. } = contest;
        let mut status = Status::new(side, info, times, contest.is_open(), contest.opened, scene);
        // What is removed makes the contest, and what of it is frozen, so much longer for those who look at a clock.
        let on_the_clock = |time: i64| contest.rules.with_removed(time);
        if let (Some(duration), Some(freeze)) = (info.duration, info.freeze) {
            status.freeze = Some(on_the_clock(duration) - on_the_clock(duration - freeze));
        }
        status.duration = info.duration.map(on_the_clock);
        status
    }

    /// The problems with their statistics, in order. The public sees none before the start (RULES 14).
    pub fn problems(&self, view: impl Into<View>) -> Vec<ProblemLine> {
        let (contest, side) = self.seen(view);
        if !contest.shows_problems(side) {
            return Vec::new();
        }
        contest
            .ordered_problems()
            .into_iter()
            .map(|problem| contest.line(side, problem))
            .collect()
    }

    fn ordered_problems(&self) -> Vec<&Problem> {
        let mut problems: Vec<&Problem> = self.problems.values().collect();
        problems.sort_by(|a, b| (a.ordinal, &a.label, &a.id).cmp(&(b.ordinal, &b.label, &b.id)));
        problems
    }

    /// One problem with its statistics; none for the public before the start (RULES 14).
    pub fn problem(&self, view: impl Into<View>, id: &str) -> Option<ProblemLine> {
        let (contest, side) = self.seen(view);
        let problem = contest
            .problems
            .get(id)
            .filter(|_| contest.shows_problems(side))?;
        Some(contest.line(side, problem))
    }

    /// May a view see problems and results?
    fn shows_problems(&self, side: Side) -> bool {
        side == Side::Jury || self.rules.begun
    }

    fn line(&self, side: Side, problem: &Problem) -> ProblemLine {
        let stat = self.stats[side]
            .get(&problem.id)
            .copied()
            .unwrap_or_default();
        // Each section has a first of its own; the line names that of the uppermost.
        let first = self
            .races
            .iter()
            .filter(|((_, of), _)| *of == problem.id)
            .filter_map(|((section, _), running)| Some((*section, running[side].first.clone()?)))
            .min()
            .map(|(_, team)| team);
        ProblemLine {
            id: problem.id.clone(),
            label: problem.label.clone(),
            name: problem.name.clone(),
            rgb: problem.rgb.clone(),
            color: problem.color.clone(),
            solved: stat.solved,
            tries: stat.tries,
            pending: stat.pending,
            first,
        }
    }

    /// Takes in the event with the next sequence number, and tells what it changed in each view. `from_clock`: a state
    /// that a server's own clock made; a feed's state takes its place for good.
    pub fn fold(&mut self, sequence: u64, event: &Event, from_clock: bool) -> Views<Change> {
        debug_assert!(sequence > self.sequence, "events come in order");
        self.sequence = sequence;
        if let Event::Put(Object::Ceremony(progress)) = event {
            let turn = progress.map_or(0, |progress| progress.turn);
            if turn != 0 && turn != self.turns + 1 {
                return Views::default();
            }
            self.turns += 1;
            self.ceremony = *progress;
            return self.conduct(sequence);
        }
        let sides = self.take_in(sequence, event, from_clock);
        let ceremony = match &mut self.stage {
            Some(stage) => stage.fold(sequence, event, from_clock),
            None => sides[Side::Public].clone(),
        };
        Views::new(sides, ceremony)
    }

    /// Takes in an event that is none of the ceremony.
    fn take_in(&mut self, sequence: u64, event: &Event, from_clock: bool) -> Both<Change> {
        let mut dirty = Dirty::default();
        let before = sets_rules(event).then(|| Surroundings::of(self));
        match event {
            Event::Put(object) => self.put(object, from_clock, &mut dirty),
            Event::Delete(kind, id) => self.delete(*kind, id, &mut dirty),
            Event::Replace(kind, objects) => {
                let stay: HashSet<&Id> = objects.iter().filter_map(Object::id).collect();
                for id in self.ids(*kind).into_iter().filter(|id| !stay.contains(id)) {
                    self.delete(*kind, &id, &mut dirty);
                }
                for object in objects {
                    self.put(object, from_clock, &mut dirty);
                }
            }
            Event::Other => return Both::default(),
        }
        self.settle(sequence, dirty, before.as_ref())
    }

    /// Nothing has come yet that a judge sends: no team, problem or submission.
    pub fn is_bare(&self) -> bool {
        self.teams.is_empty() && self.problems.is_empty() && self.submissions.is_empty()
    }

    /// The ids of all objects, by type; of the types that a feed has.
    pub fn objects(&self) -> BTreeMap<String, BTreeSet<String>> {
        let of_kind = |kind: Kind| {
            let ids = self.ids(kind).iter().map(ToString::to_string).collect();
            (kind.name().to_owned(), ids)
        };
        COLLECTIONS
            .into_iter()
            .chain([Kind::Awards])
            .map(of_kind)
            .collect()
    }

    /// The ids of all objects of a kind.
    fn ids(&self, kind: Kind) -> Vec<Id> {
        match kind {
            Kind::JudgementTypes => self.types.keys().cloned().collect(),
            Kind::Languages => self.languages.keys().cloned().collect(),
            Kind::Groups => self.groups.keys().cloned().collect(),
            Kind::Organizations => self.organizations.keys().cloned().collect(),
            Kind::Teams => self.teams.keys().cloned().collect(),
            Kind::Problems => self.problems.keys().cloned().collect(),
            Kind::Adjustments => self.adjustments.keys().cloned().collect(),
            Kind::Judgements => self.judgements.keys().cloned().collect(),
            Kind::Submissions => self
                .submissions
                .iter()
                .filter(|(_, known)| known.object.is_some())
                .map(|(id, _)| id.clone())
                .collect(),
            Kind::Awards => self.awards.keys().cloned().collect(),
            Kind::Balloons => self.deliveries.keys().cloned().collect(),
            Kind::Contest
            | Kind::State
            | Kind::Settings
            | Kind::Thaw
            | Kind::Ceremony
            | Kind::Current
            | Kind::Other => Vec::new(),
        }
    }

    fn put(&mut self, object: &Object, from_clock: bool, dirty: &mut Dirty) {
        if let Some(id) = object.id() {
            dirty.object(object.kind(), id);
        }
        match object {
            Object::Contest(info) => self.info = info.as_ref().clone(),
            Object::Settings(settings) => self.settings = settings.as_ref().clone(),
            Object::State(times) => {
                if !from_clock || self.times_are_ours {
                    self.times = *times;
                    self.times_are_ours = from_clock;
                }
            }
            Object::Thaw(opened) => self.opened = *opened,
            Object::Current(chosen) => self.chosen = *chosen,
            // Taken by `fold`.
            Object::Ceremony(_) => {}
            Object::Award(object) => {
                self.awards.insert(object.id.clone(), object.clone());
            }
            Object::Delivery(object) => {
                self.deliveries.insert(object.id.clone(), object.clone());
            }
            Object::JudgementType(object) => {
                self.types.insert(object.id.clone(), object.clone());
            }
            Object::Language(object) => {
                self.languages.insert(object.id.clone(), object.clone());
            }
            Object::Group(object) => {
                self.groups.insert(object.id.clone(), object.clone());
            }
            Object::Organization(object) => {
                let old = self.organizations.insert(object.id.clone(), object.clone());
                if old.as_ref() != Some(object) {
                    self.organization_changed(&object.id, dirty);
                }
            }
            Object::Team(object) => {
                self.teams.insert(object.id.clone(), object.clone());
                self.team_changed(&object.id, dirty);
            }
            Object::Problem(object) => {
                let old = self.problems.insert(object.id.clone(), object.clone());
                if old.as_ref() != Some(object) {
                    self.problem_changed(&object.id, dirty);
                }
            }
            Object::Adjustment(object) => {
                self.decisions.push(Decision {
                    id: object.id.clone(),
                    adjustment: Some(object.clone()),
                });
                if let Some(old) = self.adjustments.insert(object.id.clone(), object.clone()) {
                    self.adjust(&old.team, -old.penalty, dirty);
                }
                self.adjust(&object.team, object.penalty, dirty);
            }
            Object::Submission(object) => {
                let known = self.submissions.entry(object.id.clone()).or_default();
                known.object = Some(object.clone());
                dirty.submission(&object.id, &known.judgements);
                self.place(&object.id, dirty);
            }
            Object::Judgement(object) => {
                if let Some(old) = self.judgements.insert(object.id.clone(), object.clone()) {
                    self.forget_judgement(&old, old.submission != object.submission, dirty);
                }
                let known = self
                    .submissions
                    .entry(object.submission.clone())
                    .or_default();
                known.judgements.insert(object.id.clone());
                // Which of them counts may be another one now.
                dirty.submission(&object.submission, &known.judgements);
                self.place(&object.submission, dirty);
            }
        }
    }

    fn delete(&mut self, kind: Kind, id: &Id, dirty: &mut Dirty) {
        dirty.object(kind, id);
        match kind {
            Kind::JudgementTypes => {
                self.types.remove(id);
            }
            Kind::Languages => {
                self.languages.remove(id);
            }
            Kind::Groups => {
                self.groups.remove(id);
            }
            Kind::Organizations => {
                self.organizations.remove(id);
                self.organization_changed(id, dirty);
            }
            Kind::Teams => {
                self.teams.remove(id);
                self.team_changed(id, dirty);
            }
            Kind::Problems => {
                if self.problems.remove(id).is_some() {
                    self.problem_changed(id, dirty);
                }
            }
            Kind::Adjustments => {
                if let Some(old) = self.adjustments.remove(id) {
                    self.decisions.push(Decision {
                        id: id.clone(),
                        adjustment: None,
                    });
                    self.adjust(&old.team, -old.penalty, dirty);
                }
            }
            Kind::Submissions => {
                if let Some(known) = self.submissions.get_mut(id) {
                    known.object = None;
                    dirty.submission(id, &known.judgements);
                    self.place(id, dirty);
                    self.drop_if_empty(id);
                }
            }
            Kind::Judgements => {
                if let Some(old) = self.judgements.remove(id) {
                    self.forget_judgement(&old, true, dirty);
                }
            }
            Kind::Awards => {
                self.awards.remove(id);
            }
            Kind::Balloons => {
                self.deliveries.remove(id);
            }
            Kind::Contest
            | Kind::State
            | Kind::Settings
            | Kind::Thaw
            | Kind::Ceremony
            | Kind::Current
            | Kind::Other => {}
        }
    }

    fn adjust(&mut self, team: &Id, by: i64, dirty: &mut Dirty) {
        let sum = self.adjusted.entry(team.clone()).or_default();
        *sum += by;
        if *sum == 0 {
            self.adjusted.remove(team);
        }
        dirty.row(team);
    }
}
