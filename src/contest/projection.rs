//! The public standings as one number a team, for programs that read a sorted set.
//!
//! ICPC: solved problems (7 bits), the complement of the penalty (26 bits) and the complement of the time of the last accepted
//! problem (20 bits), both in seconds: 53 bits, exact in a double. IOI: the total in the scale of the board. Only teams that
//! take a rank in the uppermost section are there, so that `ZREVRANK` counts the places that people see.

use super::{Contest, Scoring, Side};
use crate::board::Entry;

const SOLVED_BITS: u32 = 7;
const PENALTY_BITS: u32 = 26;
const LAST_BITS: u32 = 20;

/// The largest score: 53 bits.
pub const SCORE_MAX: u64 = (1 << (SOLVED_BITS + PENALTY_BITS + LAST_BITS)) - 1;

/// A row that does not fit: the contest has no projection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the standings go beyond what a sorted set can hold exactly")]
pub struct Beyond;

/// The section whose teams have a place; `None` on a board without sections, or without rows.
pub fn uppermost(contest: &Contest) -> Option<i64> {
    let board = contest.board(Side::Public);
    board
        .shape()
        .columns
        .first()
        .filter(|column| column.section)?;
    board.window(Some(1)).next().map(|first| first.values[0])
}

/// The score of a row; `None` for one that has no place in the sorted set.
pub fn score(contest: &Contest, entry: &Entry) -> Result<Option<u64>, Beyond> {
    let board = contest.board(Side::Public);
    let columns = &board.shape().columns;
    let sections = usize::from(columns.first().is_some_and(|column| column.section));
    if !entry.label.official || uppermost(contest).is_some_and(|section| entry.values[0] != section)
    {
        return Ok(None);
    }
    let values = &entry.values[sections..];
    match contest.scoring() {
        Scoring::Icpc => {
            let seconds = |index: usize| {
                let unit = columns[sections + index]
                    .unit
                    .map_or(1, |unit| unit.millis() / 1000);
                values[index].checked_mul(unit).ok_or(Beyond)
            };
            pack(values[0], seconds(1)?, seconds(2)?).map(Some)
        }
        Scoring::Ioi => u64::try_from(values[0])
            .ok()
            .filter(|total| *total <= SCORE_MAX)
            .map(Some)
            .ok_or(Beyond),
    }
}

/// Packs solved problems, penalty and last acceptance (seconds) so that a greater number is a better place.
pub fn pack(solved: i64, penalty: i64, last: i64) -> Result<u64, Beyond> {
    let fit = |value: i64, bits: u32| {
        u64::try_from(value)
            .ok()
            .filter(|value| *value < 1 << bits)
            .ok_or(Beyond)
    };
    let complement = |value: i64, bits: u32| fit(value, bits).map(|value| (1 << bits) - 1 - value);
    Ok(fit(solved, SOLVED_BITS)? << (PENALTY_BITS + LAST_BITS)
        | complement(penalty, PENALTY_BITS)? << LAST_BITS
        | complement(last, LAST_BITS)?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn packed_scores_sort_like_the_columns(
            a in (0..128i64, 0..1i64 << 26, 0..1i64 << 20), b in (0..128i64, 0..1i64 << 26, 0..1i64 << 20), same in 0..3,
        ) {
            let b = match same { 0 => b, 1 => (a.0, b.1, b.2), _ => (a.0, a.1, b.2) };
            let key = |x: (i64, i64, i64)| (x.0, -x.1, -x.2);
            let (x, y) = (pack(a.0, a.1, a.2).unwrap(), pack(b.0, b.1, b.2).unwrap());
            prop_assert_eq!(x.cmp(&y), key(a).cmp(&key(b)));
            prop_assert!(x <= SCORE_MAX);
            #[allow(clippy::float_cmp)] // exactness is what is proved
            { prop_assert_eq!((x as f64) as u64, x); }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(pack(128, 0, 0), Err(Beyond));
        assert_eq!(pack(0, 1 << 26, 0), Err(Beyond));
        assert_eq!(pack(0, -1, 0), Err(Beyond));
        assert_eq!(pack(0, 0, 1 << 20), Err(Beyond));
        assert!(pack(127, (1 << 26) - 1, (1 << 20) - 1).is_ok());
        assert!(pack(3, 0, 0).unwrap() < pack(4, 100_000 * 60 - 1, 0).unwrap());
    }
}
