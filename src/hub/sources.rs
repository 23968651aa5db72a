//! Who sent a contest's events: the newest token of each source, by which a feed goes on.

use std::collections::HashMap;

use crate::store::Stored;

/// Sources that are remembered, at the most; the one that was heard longest ago is forgotten first.
pub const SOURCES_MAX: usize = 1000;

/// The newest token of each source that has any.
#[derive(Debug, Default)]
pub struct Sources(HashMap<String, (u64, String)>);

impl Sources {
    /// An event is in the log.
    pub(super) fn note(&mut self, stored: &Stored) {
        let record = &stored.record;
        let Some(token) = record.token.as_ref().filter(|_| !record.source.is_empty()) else {
            return;
        };
        let newest = (stored.sequence, token.clone());
        if let Some(known) = self.0.get_mut(&record.source) {
            *known = newest;
            return;
        }
        if self.0.len() >= SOURCES_MAX {
            let oldest = self.0.iter().min_by_key(|(_, (sequence, _))| *sequence);
            if let Some(oldest) = oldest.map(|(source, _)| source.clone()) {
                self.0.remove(&oldest);
            }
        }
        self.0.insert(record.source.clone(), newest);
    }

    /// Each with its newest token and the sequence number of that, the newest first.
    pub fn all(&self) -> Vec<(&str, &str, u64)> {
        let each = self.0.iter();
        let mut all: Vec<_> = each
            .map(|(source, (sequence, token))| (source.as_str(), token.as_str(), *sequence))
            .collect();
        all.sort_unstable_by_key(|(_, _, sequence)| std::cmp::Reverse(*sequence));
        all
    }

    /// The newest source of that name, or of that name and a `#` with more behind it, and its token.
    pub fn newest(&self, name: &str) -> Option<(String, String)> {
        let of_name = |source: &str| {
            source
                .strip_prefix(name)
                .is_some_and(|more| more.is_empty() || more.starts_with('#'))
        };
        let all = self.all().into_iter();
        let mut of_name = all.filter(|(source, ..)| of_name(source));
        of_name
            .next()
            .map(|(source, token, _)| (source.to_owned(), token.to_owned()))
    }
}
