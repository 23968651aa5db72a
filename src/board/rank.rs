//! Ranks: what place an entry holds, by the tie policies in use.

use serde::{Deserialize, Serialize};

use super::{Entry, Shape};

/// How entries that are equal in the deciding columns are ranked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ties {
    /// 1, 2, 2, 4: they share the best place of the tie.
    #[default]
    Competition,
    /// 1, 2, 2, 3: they share a place, and none is left out after them.
    Dense,
    /// 1, 3, 3, 4: they share the worst place of the tie.
    Modified,
    /// 1, 2, 3, 4: no place is shared; the order decides.
    Ordinal,
}

/// The rank of each entry of a list in order: `None` for those that are not official. Ranks restart with each section.
pub fn ranks<'a>(
    shape: &Shape,
    entries: impl IntoIterator<Item = &'a Entry>,
) -> Vec<Option<usize>> {
    ranks_with(shape, entries, 0)
}

/// As [`ranks`], for a window beyond whose end `tied_beyond` more entries tie with its last ranked one.
pub fn ranks_with<'a>(
    shape: &Shape,
    entries: impl IntoIterator<Item = &'a Entry>,
    tied_beyond: usize,
) -> Vec<Option<usize>> {
    let mut out = Vec::new();
    // The tie under way: its members' indices in `out`, and the values that they share.
    let mut tie: Vec<usize> = Vec::new();
    let mut last: Option<&Entry> = None;
    let (mut before, mut groups) = (0, 0);
    for (index, entry) in entries.into_iter().enumerate() {
        out.push(None);
        if !entry.label.official {
            continue;
        }
        if !last.is_some_and(|last| shape.tied(&last.values, &entry.values)) {
            settle(shape.ties, &mut out, &mut tie, &mut before, &mut groups, 0);
            if !last.is_some_and(|last| shape.same_section(&last.values, &entry.values)) {
                (before, groups) = (0, 0);
            }
        }
        tie.push(index);
        last = Some(entry);
    }
    settle(
        shape.ties,
        &mut out,
        &mut tie,
        &mut before,
        &mut groups,
        tied_beyond,
    );
    out
}

/// Gives the members of a tie their ranks, after `before` ranked entries in `groups` ties of the same section.
fn settle(
    ties: Ties,
    out: &mut [Option<usize>],
    tie: &mut Vec<usize>,
    before: &mut usize,
    groups: &mut usize,
    beyond: usize,
) {
    for (nth, index) in tie.iter().enumerate() {
        out[*index] = Some(match ties {
            Ties::Competition => *before + 1,
            Ties::Dense => *groups + 1,
            Ties::Modified => *before + tie.len() + beyond,
            Ties::Ordinal => *before + nth + 1,
        });
    }
    *before += tie.len();
    *groups += usize::from(!tie.is_empty());
    tie.clear();
}
