//! What a feed says in the end: of every object the last state, however often the lines told another before.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::contest::{Kind, Notification};

/// The last state of each object of a feed.
#[derive(Debug, Default)]
pub struct Replica {
    /// By type, then by id; singletons have the empty one. Objects that were deleted are not there.
    objects: BTreeMap<String, BTreeMap<String, Value>>,
    /// Types in the order in which they came first: what others refer to comes before them.
    order: Vec<String>,
}

impl Replica {
    /// Takes a line in.
    pub fn take(&mut self, line: Notification) {
        if !self.objects.contains_key(&line.kind) {
            self.order.push(line.kind.clone());
        }
        let objects = self.objects.entry(line.kind.clone()).or_default();
        match (line.data, line.id) {
            (Value::Array(items), None) => {
                objects.clear();
                for item in items {
                    if let Some(id) = item["id"].as_str() {
                        objects.insert(id.to_owned(), item);
                    }
                }
            }
            (Value::Null, id) => drop(objects.remove(id.as_deref().unwrap_or(""))),
            (data, id) => drop(objects.insert(id.unwrap_or_default(), data)),
        }
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.objects.values().map(BTreeMap::len).sum()
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A line for each object; then one for each that `known` has and the feed, though it tells of that type, has no more.
    pub fn lines(self, known: &BTreeMap<String, BTreeSet<String>>) -> Vec<Notification> {
        let line = |kind: &str, id: &str, data: Value| Notification {
            kind: kind.to_owned(),
            id: Some(id.to_owned()).filter(|id| !id.is_empty()),
            data,
            token: None,
        };
        let Self { mut objects, order } = self;
        let mut gone = Vec::new();
        for (kind, known) in known {
            // Types of ours are not the feed's to delete.
            let ours = kind.starts_with("rankcast") || Kind::of(kind) == Kind::Other;
            let Some(told) = objects.get(kind).filter(|_| !ours) else {
                continue;
            };
            let ghosts = known.iter().filter(|id| !told.contains_key(*id));
            gone.extend(ghosts.map(|id| line(kind, id, Value::Null)));
        }
        let mut lines = Vec::new();
        for kind in order {
            let all = objects.remove(&kind).unwrap_or_default();
            lines.extend(all.into_iter().map(|(id, data)| line(&kind, &id, data)));
        }
        // What refers to something goes before that.
        gone.sort_by_key(|line| std::cmp::Reverse(Kind::of(&line.kind)));
        lines.extend(gone);
        lines
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_end_of_a_feed_is_told_and_ghosts_are_taken_away() {
        let mut replica = Replica::default();
        for line in [
            json!({"type":"groups","id":null,"data":[{"id":"g"},{"id":"h"}]}),
            json!({"type":"groups","id":null,"data":[{"id":"g"}]}),
            json!({"type":"teams","id":"t1","data":{"id":"t1","name":"old"}}),
            json!({"type":"teams","id":"t2","data":{"id":"t2"}}),
            json!({"type":"teams","id":"t1","data":{"id":"t1","name":"new"}}),
            json!({"type":"teams","id":"t2","data":null}),
            json!({"type":"state","id":null,"data":{"started":null}}),
        ] {
            replica.take(Notification::from_value(line).unwrap());
        }
        assert_eq!(replica.len(), 3);
        let set = |ids: &[&str]| ids.iter().map(|&id| id.to_owned()).collect::<BTreeSet<_>>();
        let known = BTreeMap::from([
            ("groups".to_owned(), set(&["g", "h"])),
            ("teams".to_owned(), set(&["t1", "t2", "t9"])),
            // The feed does not tell of these.
            ("awards".to_owned(), set(&["winner"])),
            ("rankcast-adjustments".to_owned(), set(&["a"])),
        ]);
        let lines = replica.lines(&known).into_iter();
        let said: Vec<_> = lines
            .map(|line| {
                (
                    line.kind,
                    line.id.unwrap_or_default(),
                    line.data["name"].clone(),
                )
            })
            .collect();
        let one = |kind: &str, id: &str, name: Value| (kind.to_owned(), id.to_owned(), name);
        assert_eq!(
            said,
            [
                one("groups", "g", Value::Null),
                one("teams", "t1", json!("new")),
                one("state", "", Value::Null),
                one("teams", "t2", Value::Null),
                one("teams", "t9", Value::Null),
                one("groups", "h", Value::Null),
            ]
        );
    }
}
