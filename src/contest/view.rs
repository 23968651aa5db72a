//! Views: what of a contest is shown to whom.

use std::ops::{Index, IndexMut};

use super::judging::{Both, Side};

/// A standing that can be watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum View {
    /// What everybody may see.
    Public,
    /// What the jury sees: everything.
    Jury,
    /// What the hall sees: as the public view, with what the ceremony has revealed, rehearsals too.
    Ceremony,
}

impl View {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Public, Self::Jury, Self::Ceremony];

    /// As in `view=`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Jury => "jury",
            Self::Ceremony => "ceremony",
        }
    }

    /// The view of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|view| view.name() == name)
    }
}

impl From<Side> for View {
    fn from(side: Side) -> Self {
        match side {
            Side::Public => Self::Public,
            Side::Jury => Self::Jury,
        }
    }
}

/// Something for each view.
#[derive(Clone, Debug, Default)]
pub struct Views<T> {
    sides: Both<T>,
    ceremony: T,
}

impl<T> Views<T> {
    /// What `make` gives for each view.
    pub fn from_fn(mut make: impl FnMut(View) -> T) -> Self {
        Self {
            sides: Both::from_fn(|side| make(side.into())),
            ceremony: make(View::Ceremony),
        }
    }

    /// Each with its view.
    pub fn iter(&self) -> impl Iterator<Item = (View, &T)> {
        let sides = self.sides.iter().map(|(side, one)| (side.into(), one));
        sides.chain([(View::Ceremony, &self.ceremony)])
    }

    pub(super) fn new(sides: Both<T>, ceremony: T) -> Self {
        Self { sides, ceremony }
    }
}

impl<T, V: Into<View>> Index<V> for Views<T> {
    type Output = T;

    fn index(&self, view: V) -> &T {
        match view.into() {
            View::Public => &self.sides[Side::Public],
            View::Jury => &self.sides[Side::Jury],
            View::Ceremony => &self.ceremony,
        }
    }
}

impl<T, V: Into<View>> IndexMut<V> for Views<T> {
    fn index_mut(&mut self, view: V) -> &mut T {
        match view.into() {
            View::Public => &mut self.sides[Side::Public],
            View::Jury => &mut self.sides[Side::Jury],
            View::Ceremony => &mut self.ceremony,
        }
    }
}
