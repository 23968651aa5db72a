//! The ledger: when each object that a view may see changed last. A feed is read from it: of every object the newest line, in
//! the order of the changes. What nobody may see any more is not in it, but for the word that it is gone.
//!
//! Lines are numbered from 1. Every server that folds the same log gives the same numbers.

use std::collections::{BTreeSet, HashMap};

use super::{Contest, shapes::COLLECTIONS};
use crate::{
    board::Id,
    contest::{
        clics::{known, object::Shape},
        event::Kind,
        judging::{Both, Side},
    },
};

/// Lines that are out of date may be as many as the others, and so many more.
const STALE_SPARE: usize = 1024;

/// An object: its type, and its id, which is empty where the contest has one of the kind.
pub(super) type Named = (Kind, Id);

/// What one view's feed says.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    newest: HashMap<Named, Entry>,
    /// In the order of their numbers; those that are not an object's newest are out of date.
    lines: Vec<(u64, Named)>,
    count: u64,
    /// The languages of the submissions that the view may see, or might once.
    pub(super) languages: BTreeSet<Id>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    number: u64,
    /// What was said; `None`: that the object is gone.
    digest: Option<u64>,
}

impl Ledger {
    /// An object is like this now, or gone.
    fn note(&mut self, named: &Named, digest: Option<u64>) {
        let known = self.newest.get(named).map(|entry| entry.digest);
        // Nobody has to be told that something is gone that was never there.
        if known == Some(digest) || (known.is_none() && digest.is_none()) {
            return;
        }
        self.count += 1;
        let entry = Entry {
            number: self.count,
            digest,
        };
        self.newest.insert(named.clone(), entry);
        self.lines.push((self.count, named.clone()));
        if self.lines.len() > 2 * self.newest.len() + STALE_SPARE {
            let newest = &self.newest;
            self.lines
                .retain(|(number, named)| newest[named].number == *number);
        }
    }

    fn after(&self, number: u64) -> impl Iterator<Item = (u64, &Named)> {
        let from = self.lines.partition_point(|(known, _)| *known <= number);
        let newest = |(number, named): &&(u64, Named)| self.newest[named].number == *number;
        self.lines[from..]
            .iter()
            .filter(newest)
            .map(|(number, named)| (*number, named))
    }
}

/// A line of a feed: its number, and the object that is to be told of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its number.
    pub number: u64,
    /// The object's type.
    pub kind: Kind,
    /// The object's id; empty where the contest has one of the kind.
    pub id: Id,
}

impl Contest {
    /// The number of the newest line of a view's feed.
    pub fn feed_end(&self, side: Side) -> u64 {
        self.ledgers.as_ref().map_or(0, |both| both[side].count)
    }

    /// The lines of a view's feed after a number, at most so many.
    pub fn feed_after(&self, side: Side, number: u64, most: usize) -> Vec<Line> {
        let lines = self
            .ledgers
            .iter()
            .flat_map(|both| both[side].after(number));
        let line = |(number, (kind, id)): (u64, &Named)| Line {
            number,
            kind: *kind,
            id: id.clone(),
        };
        lines.take(most).map(line).collect()
    }

    /// Begins the feeds, with what everybody knows.
    pub(super) fn begin_feeds(&mut self) {
        self.ledgers = Some(Both::default());
        let known = known::JUDGEMENT_TYPES.iter();
        self.record(
            &known
                .map(|(id, _)| (Kind::JudgementTypes, Id::from(*id)))
                .collect(),
        );
    }

    /// Compares objects with what was said of them.
    pub(super) fn record(&mut self, objects: &BTreeSet<Named>) {
        if self.ledgers.is_none() {
            return;
        }
        for side in Side::ALL {
            for named in objects {
                let shape = self.shape(side, named.0, &named.1, false);
                if let Some(Shape::Submission(submission)) = &shape {
                    self.speaks(side, &submission.language_id);
                }
                let mut digest = shape.as_ref().map(Shape::digest);
                if named.0 == Kind::Teams {
                    // What it refers to may come later than the team.
                    let strict = self.shape(side, named.0, &named.1, true);
                    digest = digest
                        .map(|digest| digest ^ strict.map_or(0, |one| one.digest()).rotate_left(1));
                }
                self.note(side, named, digest);
            }
        }
    }

    /// Everything that a feed tells of, or has told of: what is gone by now is to be told to be.
    pub(super) fn all_objects(&self) -> BTreeSet<Named> {
        let told = self.ledgers.iter().flat_map(Both::iter);
        let told = told.flat_map(|(_, ledger)| ledger.newest.keys().cloned());
        let here = COLLECTIONS.into_iter().flat_map(|kind| {
            let ids = self.listed(Side::Jury, kind);
            ids.into_iter().map(move |id| (kind, id))
        });
        told.chain(here).collect()
    }

    fn note(&mut self, side: Side, named: &Named, digest: Option<u64>) {
        if let Some(ledgers) = &mut self.ledgers {
            ledgers[side].note(named, digest);
        }
    }

    /// A view sees a submission in that language.
    fn speaks(&mut self, side: Side, language: &Id) {
        let Some(ledgers) = &mut self.ledgers else {
            return;
        };
        if !ledgers[side].languages.contains(language) {
            ledgers[side].languages.insert(language.clone());
            let named = (Kind::Languages, language.clone());
            let shape = self.shape(side, named.0, &named.1, false);
            self.note(side, &named, shape.as_ref().map(Shape::digest));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_every_object_the_newest_line_is_told() {
        let mut ledger = Ledger::default();
        let named = |id: &str| (Kind::Teams, Id::from(id));
        ledger.note(&named("a"), Some(1));
        ledger.note(&named("b"), Some(1));
        ledger.note(&named("a"), Some(1));
        ledger.note(&named("a"), Some(2));
        ledger.note(&named("never"), None);
        let told = |from: u64| -> Vec<(u64, String)> {
            let lines = ledger.after(from);
            lines
                .map(|(number, (_, id))| (number, id.to_string()))
                .collect()
        };
        assert_eq!(told(0), [(2, "b".to_owned()), (3, "a".to_owned())]);
        assert_eq!(told(2), [(3, "a".to_owned())]);
        assert!(told(3).is_empty());
    }

    #[test]
    fn lines_that_are_out_of_date_do_not_pile_up() {
        let mut ledger = Ledger::default();
        let named = (Kind::Teams, Id::from("t"));
        for round in 0..10_000 {
            ledger.note(&named, (round % 3 > 0).then_some(round));
        }
        assert!(ledger.lines.len() <= 2 + STALE_SPARE);
        assert_eq!(ledger.after(0).count(), 1);
        assert_eq!(ledger.after(ledger.count - 1).count(), 1);
    }
}
