//! The projected standings.

use std::collections::HashSet;

use super::{keys::key, link::Link, script::PROJECT};
use crate::store::{Projected, StoreError};

/// Places that one projection script writes: it takes about a millisecond, and everyone else waits for it.
const PLACES_MAX: usize = 512;

/// The largest score that a sorted set keeps exactly.
const SCORE_MAX: u64 = (1 << 53) - 1;

/// One place as the script takes it.
struct Place<'a> {
    member: &'a str,
    /// Empty: not on the standings.
    score: String,
    /// Empty: whatever was written before.
    version: String,
}

/// Writes places; with `whole`, takes off who is not named.
pub(super) async fn write(
    link: &Link,
    contest: &str,
    epoch: &str,
    places: &[Projected],
    whole: bool,
) -> Result<(), StoreError> {
    let too_high = |place: &&Projected| place.score.is_some_and(|score| score > SCORE_MAX);
    if let Some(place) = places.iter().find(too_high) {
        return Err(StoreError::Refused(format!(
            "the score of {} is beyond {SCORE_MAX}, where a sorted set rounds",
            place.member
        )));
    }
    let text = |number: Option<u64>| number.map_or_else(String::new, |number| number.to_string());
    let mut writes: Vec<Place> = places
        .iter()
        .map(|place| Place {
            member: &place.member,
            score: text(place.score),
            version: text(Some(place.version)),
        })
        .collect();
    let there;
    if whole {
        let named: HashSet<&str> = places.iter().map(|place| place.member.as_str()).collect();
        let newest = places.iter().map(|place| place.version).max();
        there = read(link, contest).await?;
        let unnamed = there.iter().map(|(member, _)| member.as_str());
        writes.extend(
            unnamed
                .filter(|member| !named.contains(member))
                .map(|member| Place {
                    member,
                    score: String::new(),
                    version: text(newest),
                }),
        );
    }
    let keys = ["meta", "standings", "placed"].map(|part| key(contest, part));
    for some in writes.chunks(PLACES_MAX) {
        let mut args: Vec<&[u8]> = vec![epoch.as_bytes()];
        for place in some {
            args.extend([place.member, &place.score, &place.version].map(str::as_bytes));
        }
        let current: bool = PROJECT.run(link, &keys, &args).await?;
        if !current {
            break;
        }
    }
    Ok(())
}

/// Reads all places, best first.
pub(super) async fn read(link: &Link, contest: &str) -> Result<Vec<(String, u64)>, StoreError> {
    let mut command = redis::cmd("ZREVRANGE");
    command
        .arg(key(contest, "standings"))
        .arg(0)
        .arg(-1)
        .arg("WITHSCORES");
    link.tell(&command).await
}
