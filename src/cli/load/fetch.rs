//! Boards that are fetched, after a server said `reload`.

use std::{future::Future, pin::Pin, time::Duration};

use bytes::Bytes;
use serde::Deserialize;
use tokio::time::sleep;

use super::{
    place::Place,
    stage::{Stage, random},
    viewer::JITTER,
};
use crate::protocol::Position;

/// Boards that are fetched at the same time: each takes a connection.
pub const FETCHES_MAX: usize = 200;

/// How often a board is asked for before a viewer starts over.
const FETCH_TRIES: u32 = 5;

/// The pause before a board is asked for again, the first time.
const PAUSE: Duration = Duration::from_millis(100);

/// A whole board on its way, and whether it is compressed. `None`: it is not to be had here.
pub type Fetch<'a> = Pin<Box<dyn Future<Output = Option<(Bytes, bool)>> + Send + 'a>>;

/// What a server asks to fetch.
#[derive(Debug, Deserialize)]
pub struct Reload {
    epoch: String,
    version: u64,
    retry_ms: u64,
}

impl Reload {
    /// Fetches it, when it is time.
    pub fn fetch<'a>(&self, stage: &'a Stage, place: &Place, board: &str) -> Fetch<'a> {
        let wanted = Position {
            epoch: self.epoch.clone(),
            version: self.version,
        };
        let url = format!("{}{board}&min={wanted}", place.base);
        let after = Duration::from_millis(self.retry_ms) + random(Duration::ZERO, JITTER);
        Box::pin(async move {
            sleep(after).await;
            for attempt in 1..=FETCH_TRIES {
                let permit = stage.fetches.acquire().await.ok()?;
                // Asked for by hand, so that what is compressed stays so: it is the same for all, and unpacked once.
                let request = stage.net.http.get(&url).header("accept-encoding", "gzip");
                let answer = request.send().await.ok()?;
                if answer.status().is_success() {
                    let gzip = answer.headers().contains_key("content-encoding");
                    let tag = answer.headers().get("etag");
                    let tag = tag.and_then(|tag| tag.to_str().ok()).map(str::to_owned);
                    let bytes = answer.bytes().await.ok()?;
                    stage.tally.bytes.add(bytes.len() as u64);
                    if reaches(tag.as_deref(), &wanted) {
                        return Some((bytes, gzip));
                    }
                }
                drop(permit);
                sleep(random(PAUSE, PAUSE * (1 << attempt))).await;
            }
            None
        })
    }
}

/// Is the board with this entity tag as new as the one that was asked for? A server that waited for a version in vain
/// answers with what it has, and the frames that came meanwhile would not fit.
fn reaches(tag: Option<&str>, wanted: &Position) -> bool {
    let Some(tag) = tag else { return true };
    let position: Result<Position, _> = tag.trim_matches('"').parse();
    position.is_ok_and(|at| at.epoch == wanted.epoch && at.version >= wanted.version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_board_that_is_too_old_is_not_taken() {
        let wanted: Position = "k-5".parse().unwrap();
        for (tag, taken) in [
            (Some("\"k-5\""), true),
            (Some("\"k-9\""), true),
            (Some("\"k-4\""), false),
            (Some("\"m-9\""), false),
            (Some("?"), false),
            (None, true),
        ] {
            assert_eq!(reaches(tag, &wanted), taken, "{tag:?}");
        }
    }
}
