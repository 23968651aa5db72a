//! Feeds: the changes of a contest's objects as lines that other tools follow (Contest API, "Event feed").
//!
//! A reader is a number: that of the newest line that it was given. What it has not seen is read from the contest's ledger when
//! it asks, so that a slow one costs nothing but its connection, and gets of each object the newest state only. Awards follow from
//! the standing; they are compared with what this reader was told, once a second at the most.

use std::{collections::BTreeMap, fmt, str::FromStr, sync::Arc, time::Duration};

use bytes::{BufMut as _, Bytes, BytesMut};
use serde::Serialize;
use tokio::time::Instant;

use super::contest::{Live, Moved};
use crate::contest::{Kind, Side, awards::Award};

/// How long a feed is silent at the most: then comes an empty line. CLICS allows 120 s.
pub const SILENCE_MAX: Duration = Duration::from_secs(60);

/// Lines that are made while others wait for the contest: less than 1 ms.
const SLICE: usize = 256;

/// How often it is looked whether awards changed.
const AWARDS_EVERY: Duration = Duration::from_secs(1);

/// Names a line of a feed: `EPOCH-pNUMBER`, or with `j` in the jury's. A line that follows from others has `.COUNT` behind that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    epoch: String,
    side: Side,
    number: u64,
    derived: Option<usize>,
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { epoch, number, .. } = self;
        let side = match self.side {
            Side::Public => 'p',
            Side::Jury => 'j',
        };
        write!(f, "{epoch}-{side}{number}")?;
        match self.derived {
            Some(count) => write!(f, ".{count}"),
            None => Ok(()),
        }
    }
}

impl FromStr for Token {
    type Err = UnknownToken;

    fn from_str(text: &str) -> Result<Self, UnknownToken> {
        let read = || {
            let (epoch, rest) = text.rsplit_once('-')?;
            let side = match rest.as_bytes().first()? {
                b'p' => Side::Public,
                b'j' => Side::Jury,
                _ => return None,
            };
            let rest = &rest[1..];
            let (number, derived) = match rest.split_once('.') {
                Some((number, count)) => (number, Some(count.parse().ok()?)),
                None => (rest, None),
            };
            Some(Self {
                epoch: epoch.to_owned(),
                side,
                number: number.parse().ok()?,
                derived,
            })
        };
        read().ok_or(UnknownToken)
    }
}

/// A token that this contest's feed has not given, or not to those who see this view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this feed has not given that token, or not since its contest began anew: read it from the start"
)]
pub struct UnknownToken;

/// Somebody who follows a feed.
pub struct Reader {
    live: Arc<Live>,
    moved: Moved,
    side: Side,
    strict: bool,
    epoch: String,
    history: u64,
    /// The newest line that was given.
    number: u64,
    /// The awards that were told, and when to look again.
    awards: BTreeMap<String, Award>,
    awards_due: Instant,
    awards_at: Option<u64>,
}

impl Reader {
    /// From the line after a token on, or from the beginning. `strict`: only what CLICS defines.
    pub async fn new(
        live: Arc<Live>,
        side: Side,
        strict: bool,
        since: Option<&str>,
    ) -> Result<Self, UnknownToken> {
        let since = since.map(str::parse::<Token>).transpose()?;
        if let Some(token) = &since {
            let ahead = {
                let core = live.core();
                token.epoch != core.epoch || token.number > core.fold.feed_end(side)
            };
            // Another server may have given it, and be ahead of this one.
            if ahead {
                live.pull(AWARDS_EVERY).await;
            }
        }
        let moved = live.moved();
        let (epoch, history, end) = {
            let core = live.core();
            (core.epoch.clone(), core.history, core.fold.feed_end(side))
        };
        let number = match since {
            Some(token) if token.epoch != epoch || token.side != side || token.number > end => {
                return Err(UnknownToken);
            }
            Some(token) => token.number,
            None => 0,
        };
        Ok(Self {
            live,
            moved,
            side,
            strict,
            epoch,
            history,
            number,
            awards: BTreeMap::new(),
            awards_due: Instant::now(),
            awards_at: None,
        })
    }

    /// What there is now and was not given yet, some of it; `None` when all is.
    pub fn now(&mut self) -> Option<Bytes> {
        let live = self.live.clone();
        let mut core = live.core();
        if core.deleted || core.history != self.history {
            return None;
        }
        let mut out = BytesMut::new();
        loop {
            let lines = core.fold.feed_after(self.side, self.number, SLICE);
            let Some(last) = lines.last() else { break };
            for line in &lines {
                let shape = core.fold.shape(self.side, line.kind, &line.id, self.strict);
                if self.strict && line.kind == Kind::Adjustments {
                    continue; // Ours, and CLICS has no such type.
                }
                let id = Some(&*line.id).filter(|_| !line.kind.is_single());
                self.line(&mut out, line.kind, id, shape.as_ref(), line.number, None);
            }
            self.number = last.number;
            if !out.is_empty() {
                return Some(out.freeze());
            }
        }
        let sequence = core.fold.sequence();
        if self.awards_at != Some(sequence) && self.awards_due <= Instant::now() {
            let awards = core.awards(self.side);
            drop(core);
            self.awards_at = Some(sequence);
            self.awards_due = Instant::now() + AWARDS_EVERY;
            self.tell_awards(&mut out, &awards);
        }
        (!out.is_empty()).then(|| out.freeze())
    }

    /// What comes next, as soon as there is something: lines, or an empty one after a long silence. `None`: the feed ends, for its
    /// contest is gone or began anew.
    pub async fn next(&mut self) -> Option<Bytes> {
        let silence = tokio::time::sleep(SILENCE_MAX);
        tokio::pin!(silence);
        loop {
            self.moved.mark();
            if let Some(lines) = self.now() {
                return Some(lines);
            }
            {
                let core = self.live.core();
                if core.deleted || core.history != self.history {
                    return None;
                }
                if self.awards_at == Some(core.fold.sequence()) {
                    // Nothing waits to be looked at again.
                    self.awards_due = Instant::now();
                }
            }
            let waits = self.awards_due > Instant::now();
            tokio::select! {
                () = self.moved.again() => {}
                () = tokio::time::sleep_until(self.awards_due), if waits => {}
                () = &mut silence => return Some(Bytes::from_static(b"\n")),
            }
        }
    }

    fn tell_awards(&mut self, out: &mut BytesMut, awards: &[Award]) {
        let mut gone = std::mem::take(&mut self.awards);
        let mut count = 0;
        for award in awards {
            if gone.remove(&*award.id).as_ref() != Some(award) {
                count += 1;
                let shape = crate::contest::clics::award(award);
                let id = Some(&*award.id);
                self.line(
                    out,
                    Kind::Awards,
                    id,
                    Some(&shape),
                    self.number,
                    Some(count),
                );
            }
            self.awards.insert(award.id.to_string(), award.clone());
        }
        for id in gone.keys() {
            count += 1;
            let nothing = None::<&serde_json::Value>;
            self.line(
                out,
                Kind::Awards,
                Some(id),
                nothing,
                self.number,
                Some(count),
            );
        }
    }

    fn line(
        &self,
        out: &mut BytesMut,
        kind: Kind,
        id: Option<&str>,
        data: Option<&impl Serialize>,
        number: u64,
        derived: Option<usize>,
    ) {
        #[derive(Serialize)]
        struct Line<'a, T> {
            #[serde(rename = "type")]
            kind: &'a str,
            id: Option<&'a str>,
            data: Option<&'a T>,
            token: String,
        }
        let token = Token {
            epoch: self.epoch.clone(),
            side: self.side,
            number,
            derived,
        };
        let line = Line {
            kind: kind.name(),
            id,
            data,
            token: token.to_string(),
        };
        let mut writer = out.writer();
        if serde_json::to_writer(&mut writer, &line).is_ok() {
            out.put_u8(b'\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_read_as_they_are_written() {
        for text in ["k3f9.3-p0", "k3f9.3-j120", "k3f9.3-p7.2"] {
            assert_eq!(
                text.parse::<Token>().map(|token| token.to_string()),
                Ok(text.to_owned())
            );
        }
        for text in [
            "", "999999", "xY-99_", "k-", "k-p", "k-x1", "k-p1.", "k-p1.x", "k-p-1",
        ] {
            assert_eq!(text.parse::<Token>(), Err(UnknownToken), "{text}");
        }
    }
}
