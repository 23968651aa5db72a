//! Boards: ordered lists that can be watched. Pure: no I/O, no clock.
//!
//! A [`Board`] holds the entries of one list in order, counts its versions and remembers which entries changed lately.
//! Each change gives a [`Step`]; from steps come the [`Delta`]s that viewers of a window need (see [`delta`]).
//!
//! ```
//! use rankcast::board::{Board, Column, Entry, Shape, Window};
//!
//! let shape = Shape::new(vec![Column::descending("points").ranking()]);
//! let mut board = Board::new(shape);
//! let step = board.update(1, vec![("ann".into(), Some(Entry::plain("ann", &[10]).into()))]).unwrap();
//! let mut window = Window::empty(board.shape().clone(), Some(100));
//! window.apply(&board.step_delta(&step, Some(100))).unwrap();
//! assert_eq!(window.rows()[0].values[0], 10);
//! ```

pub mod column;
pub mod delta;
pub mod entry;
pub mod key;
pub mod rank;
pub mod window;

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
};

pub use column::{Column, Order, Shape, Unit};
pub use delta::{Delta, Row};
pub use entry::{Cell, Cells, Entry, Id, Label, Values};
pub use key::Key;
pub use rank::Ties;
pub use window::{Gap, Window};

/// How many changes a board remembers, so that a viewer can resume from an older version by a delta. One change is an
/// id and a number: about 1.5 MB a view at the most.
pub const CHANGES_KEPT: usize = 65_536;

/// One ordered list, its versions and its latest changes.
#[derive(Clone, Debug)]
pub struct Board {
    shape: Arc<Shape>,
    /// The entries by slot. A free slot is `None` and stands in `free`.
    slots: Vec<Option<Place>>,
    free: Vec<u32>,
    index: HashMap<Id, u32>,
    /// The slots of all entries, sorted by key and then by id in the direction of the shape.
    order: Vec<u32>,
    version: u64,
    /// The oldest version from which `changes` tells everything that changed since.
    floor: u64,
    /// Which entries changed at which version, oldest first.
    changes: VecDeque<(u64, Id)>,
}

/// An entry with its key, computed once.
#[derive(Clone, Debug)]
struct Place {
    key: Key,
    entry: Arc<Entry>,
}

/// An entry at a position of the order, counted from 0.
pub type Positioned = (usize, Arc<Entry>);

/// One entry that a step changed: where and what it was, where and what it is.
#[derive(Clone, Debug)]
pub struct Touched {
    /// The entry.
    pub id: Id,
    /// Before the step; `None` if it was not on the board.
    pub old: Option<Positioned>,
    /// After the step; `None` if it is not on the board any more.
    pub new: Option<Positioned>,
}

/// What one version changed.
#[derive(Clone, Debug)]
pub struct Step {
    /// The version before.
    pub from: u64,
    /// The version that the step made.
    pub version: u64,
    /// The entries that changed. None of them stands here unchanged.
    pub touched: Vec<Touched>,
    /// How many entries there were before.
    pub total_before: usize,
}

impl Board {
    /// An empty board at version 0.
    pub fn new(shape: Shape) -> Self {
        Self {
            shape: Arc::new(shape),
            slots: Vec::new(),
            free: Vec::new(),
            index: HashMap::new(),
            order: Vec::new(),
            version: 0,
            floor: 0,
            changes: VecDeque::new(),
        }
    }

    /// The columns and rules by which entries are ordered and ranked.
    pub fn shape(&self) -> &Arc<Shape> {
        &self.shape
    }

    /// The version: it moves only when something that can be seen changes.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// True without entries.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// The entry with that id.
    pub fn get(&self, id: &str) -> Option<&Arc<Entry>> {
        self.index.get(id).map(|slot| &self.place(*slot).entry)
    }

    /// Where the entry stands, counted from 0.
    pub fn position(&self, id: &str) -> Option<usize> {
        self.index.get(id).map(|slot| self.position_of(*slot))
    }

    /// The first `limit` entries in order; all without a limit.
    pub fn window(
        &self,
        limit: Option<usize>,
    ) -> impl ExactSizeIterator<Item = &Arc<Entry>> + DoubleEndedIterator + Clone {
        self.order[..self.shown(limit)]
            .iter()
            .map(|slot| &self.place(*slot).entry)
    }

    /// The rank of every entry, in order; `None` for those that take none.
    pub fn ranks(&self) -> Vec<Option<usize>> {
        rank::ranks(&self.shape, self.window(None).map(AsRef::as_ref))
    }

    /// How many ranked entries beyond the window tie with its last ranked one. Counted for [`Ties::Modified`] alone,
    /// the policy whose ranks inside the window depend on it; 0 otherwise.
    pub fn tied_beyond(&self, limit: Option<usize>) -> usize {
        let shown = self.shown(limit);
        if self.shape.ties != Ties::Modified {
            return 0;
        }
        let Some(last) = self.window(limit).rev().find(|entry| entry.label.official) else {
            return 0;
        };
        self.order[shown..]
            .iter()
            .map(|slot| &self.place(*slot).entry)
            .filter(|entry| entry.label.official)
            .take_while(|entry| self.shape.tied(&entry.values, &last.values))
            .count()
    }

    /// Puts entries in their new state (`None` removes), as version `version`, which must be newer than the board's.
    /// Answers what changed; `None`, and the version stays, if that is nothing.
    ///
    /// # Panics
    /// Beyond 2^32 entries.
    pub fn update(&mut self, version: u64, changes: Vec<(Id, Option<Arc<Entry>>)>) -> Option<Step> {
        let total_before = self.len();
        let mut seen = HashSet::new();
        let mut touched = Vec::new();
        // Of several changes to one entry the last holds.
        for (id, new) in changes.into_iter().rev() {
            if !seen.insert(id.clone()) {
                continue;
            }
            let old = self
                .index
                .get(&id)
                .map(|slot| (self.position_of(*slot), self.place(*slot).entry.clone()));
            if old.as_ref().map(|(_, entry)| entry) == new.as_ref() {
                continue;
            }
            touched.push((Touched { id, old, new: None }, new));
        }
        if touched.is_empty() {
            return None;
        }
        touched.reverse();
        self.reorder(&touched);
        let touched: Vec<Touched> = touched
            .into_iter()
            .map(|(mut one, new)| {
                one.new = new.map(|entry| {
                    (
                        self.position(&one.id).expect("it was just put there"),
                        entry,
                    )
                });
                one
            })
            .collect();
        let from = self.version;
        self.touch(version);
        for one in &touched {
            self.remember(version, one.id.clone());
        }
        Some(Step {
            from,
            version,
            touched,
            total_before,
        })
    }

    /// Moves the version on though no entry changed: something else that is shown with the board did.
    pub fn touch(&mut self, version: u64) {
        debug_assert!(version > self.version, "versions only grow");
        self.version = version;
    }

    /// Moves the version on, and lets no delta lead across it: what is shown with the rows cannot be told by one.
    pub fn seal(&mut self, version: u64) {
        self.version = version;
        self.floor = version;
        self.changes.clear();
    }

    /// Gives the board another shape and other entries. No delta leads across this version.
    pub fn reshape(&mut self, version: u64, shape: Shape, entries: Vec<Arc<Entry>>) {
        let mut fresh = Self::new(shape);
        fresh.update(
            1,
            entries
                .into_iter()
                .map(|entry| (entry.id.clone(), Some(entry)))
                .collect(),
        );
        fresh.seal(version);
        *self = fresh;
    }

    /// Can a viewer at version `from` be brought here by [`Board::since`]?
    pub fn remembers(&self, from: u64) -> bool {
        (self.floor..=self.version).contains(&from)
    }

    /// How many changes the board remembers after a version; one entry may have several.
    pub fn changes_since(&self, from: u64) -> usize {
        self.changes.len()
            - self
                .changes
                .partition_point(|(version, _)| *version <= from)
    }

    /// The delta that takes a viewer's window from an older version to now, whatever the viewer saw in between: all
    /// entries changed since, whole; those now outside the window as gone; and the last k entries of the window, k the
    /// number of changed ones, for whoever entered because others left is among them.
    ///
    /// `None` if the board does not remember that far back.
    pub fn since(&self, from: u64, limit: Option<usize>) -> Option<Delta> {
        if !self.remembers(from) {
            return None;
        }
        let start = self
            .changes
            .partition_point(|(version, _)| *version <= from);
        let changed: HashSet<&Id> = self.changes.range(start..).map(|(_, id)| id).collect();
        let shown = self.shown(limit);
        let mut delta = Delta::empty(from, self.version);
        // A window that held the whole board all the time has nobody to let in.
        let whole = limit.is_none_or(|limit| self.len() + changed.len() <= limit);
        let tail = if whole {
            shown
        } else {
            shown.saturating_sub(changed.len())
        };
        for id in &changed {
            match self.position(id) {
                Some(position) if position < shown => {
                    if position < tail {
                        delta.put(Row::whole(self.at(position)));
                    }
                }
                _ => delta.leave(id),
            }
        }
        for position in tail..shown {
            delta.put(Row::whole(self.at(position)));
        }
        delta.total = Some(self.len());
        delta.tied_beyond = (self.shape.ties == Ties::Modified).then(|| self.tied_beyond(limit));
        Some(delta)
    }

    /// The exact difference that a step made to the window, right after that step: changed fields of the entries that
    /// stayed, whole rows of those that came in, the ids of those that went out.
    pub fn step_delta(&self, step: &Step, limit: Option<usize>) -> Delta {
        let mut delta = Delta::empty(step.from, step.version);
        let limit = limit.unwrap_or(usize::MAX);
        for one in &step.touched {
            let old = one.old.as_ref().filter(|(position, _)| *position < limit);
            let new = one.new.as_ref().filter(|(position, _)| *position < limit);
            match (old, new) {
                (Some((_, old)), Some((_, new))) => delta.put(Row::difference(old, new)),
                (None, Some((_, new))) => delta.put(Row::whole(new)),
                (Some(_), None) => delta.leave(&one.id),
                (None, None) => {}
            }
        }
        self.crossings(step, limit, &mut delta);
        if self.len() != step.total_before {
            delta.total = Some(self.len());
        }
        delta
    }

    /// Entries that a step did not touch, but that crossed the edge of the window because others moved. At most k of
    /// them, k the number of touched ones, stand right before or behind the edge now.
    fn crossings(&self, step: &Step, limit: usize, delta: &mut Delta) {
        if limit >= self.len().max(step.total_before) {
            return;
        }
        let mut new_positions: Vec<usize> = step
            .touched
            .iter()
            .filter_map(|one| one.new.as_ref().map(|(position, _)| *position))
            .collect();
        let mut old_positions: Vec<usize> = step
            .touched
            .iter()
            .filter_map(|one| one.old.as_ref().map(|(position, _)| *position))
            .collect();
        new_positions.sort_unstable();
        old_positions.sort_unstable();
        let reach = step.touched.len();
        let first = limit.saturating_sub(reach);
        let last = limit.saturating_add(reach).min(self.len());
        for position in first..last {
            if new_positions.binary_search(&position).is_ok() {
                continue;
            }
            // Among the untouched entries this one is number `rank`; before the step those touched ones stood ahead of it
            // that had at most `rank` untouched ones ahead of themselves.
            let rank = position - new_positions.partition_point(|new| *new < position);
            let ahead = partition_index(&old_positions, |index, old| old - index <= rank);
            match (rank + ahead < limit, position < limit) {
                (false, true) => delta.put(Row::whole(self.at(position))),
                (true, false) => delta.leave(&self.at(position).id),
                _ => {}
            }
        }
    }

    fn reorder(&mut self, touched: &[(Touched, Option<Arc<Entry>>)]) {
        // Moving one entry costs a shift of the order; beyond this many a sort of the whole is cheaper.
        let few = touched.len() <= 8 + self.order.len() / 64;
        let mut old: Vec<usize> = touched
            .iter()
            .filter_map(|(one, _)| one.old.as_ref().map(|(position, _)| *position))
            .collect();
        if few {
            old.sort_unstable();
            for position in old.into_iter().rev() {
                self.order.remove(position);
            }
        }
        let mut arrived = Vec::new();
        for (one, new) in touched {
            let known = self.index.get(&one.id).copied();
            match (known, new) {
                (Some(slot), None) => {
                    self.index.remove(&one.id);
                    self.slots[slot as usize] = None;
                    self.free.push(slot);
                }
                (known, Some(entry)) => {
                    let place = Place {
                        key: self.shape.key(&entry.values),
                        entry: entry.clone(),
                    };
                    let slot = known.or_else(|| self.free.pop()).unwrap_or_else(|| {
                        self.slots.push(None);
                        u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 entries")
                    });
                    self.slots[slot as usize] = Some(place);
                    self.index.insert(one.id.clone(), slot);
                    arrived.push(slot);
                }
                (None, None) => {}
            }
        }
        if few {
            for slot in arrived {
                let position = self.position_of(slot);
                self.order.insert(position, slot);
            }
        } else {
            let mut order: Vec<u32> = self.index.values().copied().collect();
            order.sort_unstable_by(|a, b| self.compare(*a, *b));
            self.order = order;
        }
    }

    /// Where the entry of a slot stands, or would stand.
    fn position_of(&self, slot: u32) -> usize {
        self.order
            .partition_point(|other| self.compare(*other, slot).is_lt())
    }

    fn compare(&self, a: u32, b: u32) -> std::cmp::Ordering {
        let (a, b) = (self.place(a), self.place(b));
        a.key
            .cmp(&b.key)
            .then_with(|| self.shape.compare_ids(&a.entry.id, &b.entry.id))
    }

    fn place(&self, slot: u32) -> &Place {
        self.slots[slot as usize]
            .as_ref()
            .expect("the order and the index name used slots only")
    }

    fn at(&self, position: usize) -> &Arc<Entry> {
        &self.place(self.order[position]).entry
    }

    fn shown(&self, limit: Option<usize>) -> usize {
        limit.unwrap_or(usize::MAX).min(self.len())
    }

    fn remember(&mut self, version: u64, id: Id) {
        self.changes.push_back((version, id));
        while self.changes.len() > CHANGES_KEPT {
            if let Some((version, _)) = self.changes.pop_front() {
                // Others of that version may still be there, but no longer all: only later versions are whole.
                self.floor = version;
            }
        }
    }
}

/// The first index at which `holds(index, item)` is false; it must hold for a prefix.
fn partition_index(items: &[usize], holds: impl Fn(usize, usize) -> bool) -> usize {
    let (mut low, mut high) = (0, items.len());
    while low < high {
        let middle = usize::midpoint(low, high);
        if holds(middle, items[middle]) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests;
