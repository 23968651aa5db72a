//! CLICS feeds: where each line stands in contest time.

use serde_json::Value;

use crate::contest::{Kind, Notification, clock};

/// Tells when the lines of a feed happened, for a replay. A line without a time of its own happened with the one before.
#[derive(Debug, Default)]
pub struct Pace {
    start: Option<i64>,
    last: Option<i64>,
}

impl Pace {
    /// When the line happened, in ms of contest time. It never goes back: lines are sent in the order of the feed. `None`
    /// before anything has happened, and for what cannot be read.
    pub fn at(&mut self, line: &[u8]) -> Option<i64> {
        if let Ok(Some(line)) = Notification::parse(line)
            && let Some(at) = self.own(&line)
        {
            self.last = Some(self.last.map_or(at, |last| last.max(at)));
        }
        self.last
    }

    fn own(&mut self, line: &Notification) -> Option<i64> {
        let relative = |field: &str| line.data[field].as_str().and_then(clock::parse_relative);
        let instant = |field: &str| line.data[field].as_str().and_then(clock::parse_instant);
        let since_start = |at: i64| self.start.map(|start| at - start);
        match Kind::of(&line.kind) {
            Kind::Contest => {
                self.start = instant("start_time").or(self.start);
                None
            }
            Kind::Submissions => {
                relative("contest_time").or_else(|| instant("time").and_then(since_start))
            }
            Kind::Judgements => relative("end_contest_time")
                .or_else(|| instant("end_time").and_then(since_start))
                .or_else(|| relative("start_contest_time")),
            Kind::State => {
                let Value::Object(times) = &line.data else {
                    return None;
                };
                times
                    .values()
                    .filter_map(|at| clock::parse_instant(at.as_str()?))
                    .max()
                    .and_then(since_start)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replay_goes_in_contest_time_and_never_back() {
        let mut pace = Pace::default();
        for (line, at) in [
            (
                r#"{"type":"contest","id":null,"data":{"start_time":"2024-11-17T01:00:00Z"}}"#,
                None,
            ),
            (r#"{"type":"teams","id":"t","data":{"id":"t"}}"#, None),
            (
                r#"{"type":"submissions","id":"s","data":{"id":"s","contest_time":"0:03:00"}}"#,
                Some(180_000),
            ),
            (
                r#"{"type":"judgements","id":"j","data":{"id":"j","start_contest_time":"0:03:00","end_contest_time":"0:03:02"}}"#,
                Some(182_000),
            ),
            (
                r#"{"type":"submissions","id":"s2","data":{"id":"s2","contest_time":"0:02:00"}}"#,
                Some(182_000),
            ),
            ("rubbish", Some(182_000)),
            (
                r#"{"type":"submissions","id":"s3","data":{"id":"s3","time":"2024-11-17T02:00:00Z"}}"#,
                Some(3_600_000),
            ),
            (
                r#"{"type":"state","id":null,"data":{"started":"2024-11-17T01:00:00Z","ended":"2024-11-17T06:00:00Z"}}"#,
                Some(18_000_000),
            ),
        ] {
            assert_eq!(pace.at(line.as_bytes()), at, "{line}");
        }
    }
}
