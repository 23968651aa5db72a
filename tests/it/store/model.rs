//! Random batches against a model that is slow and plain: it looks at the whole history for every event.

use std::collections::HashMap;

use proptest::{
    collection::vec,
    prelude::*,
    test_runner::{Config, TestCaseError, TestRunner},
};
use rankcast::store::{Append, Outcome, SharedStore};

use super::Home;

/// The contract of `append`, without any index.
#[derive(Default)]
struct Model {
    log: Vec<Append>,
    /// What each source's token last came with, and where that stands.
    tokens: HashMap<(String, String), (Append, u64)>,
}

impl Model {
    fn append(&mut self, event: &Append) -> Outcome {
        let content = Append {
            source: String::new(),
            token: None,
            ..event.clone()
        };
        let token = event
            .token
            .clone()
            .map(|token| (event.source.clone(), token));
        let by_token = token
            .as_ref()
            .and_then(|token| self.tokens.get(token))
            .filter(|(known, _)| *known == content)
            .map(|(_, sequence)| *sequence);
        let outcome = if let Some(sequence) = by_token.or_else(|| self.newest(&content)) {
            Outcome::Repeated(sequence)
        } else {
            self.log.push(content.clone());
            Outcome::Accepted(self.log.len() as u64)
        };
        if let Some(token) = token {
            self.tokens.insert(token, (content, outcome.sequence()));
        }
        outcome
    }

    /// Looks back until something decides whether the event changes anything.
    fn newest(&self, event: &Append) -> Option<u64> {
        for (at, earlier) in self
            .log
            .iter()
            .enumerate()
            .rev()
            .filter(|(_, earlier)| earlier.kind == event.kind)
        {
            if event.replaces || earlier.replaces || earlier.id == event.id {
                return (earlier == event).then_some(at as u64 + 1);
            }
        }
        None
    }
}

/// Few types, ids, contents, sources and tokens, so that events meet.
fn events() -> impl Strategy<Value = Append> {
    let id = prop_oneof![4 => Just(Some("1")), 4 => Just(Some("*")), 1 => Just(None)];
    let token = proptest::option::of(prop_oneof![Just("t"), Just("u"), Just("v")]);
    let data = prop_oneof![Just("1"), Just("2"), Just("null")];
    (
        prop_oneof![Just("a"), Just("b*")],
        id,
        prop::bool::weighted(0.15),
        0..2_u8,
        token,
        data,
    )
        .prop_map(|(kind, id, replaces, source, token, data)| Append {
            kind: kind.into(),
            id: id.filter(|_| !replaces).map(Into::into),
            replaces,
            source: format!("s{source}"),
            token: token.map(Into::into),
            data: data.into(),
        })
}

async fn run(store: &SharedStore, batches: &[Vec<Append>]) -> Result<(), TestCaseError> {
    let contest = format!("random-{:016x}", rand::random::<u64>());
    store.create(&contest).await.unwrap();
    let mut model = Model::default();
    for batch in batches {
        let expected: Vec<_> = batch.iter().map(|event| model.append(event)).collect();
        let appended = store.append(&contest, batch).await.unwrap();
        prop_assert_eq!(appended.outcomes, expected);
        prop_assert_eq!(appended.tip.sequence, model.log.len() as u64);
    }
    let slice = store.read(&contest, 0, 1000).await.unwrap();
    let stored = slice.events.into_iter().map(|stored| {
        let record = stored.record;
        Append {
            kind: record.kind,
            id: record.id,
            replaces: record.replaces,
            source: String::new(),
            token: None,
            data: record.data.get().to_owned(),
        }
    });
    prop_assert_eq!(stored.collect::<Vec<_>>(), model.log);
    store.delete(&contest).await.unwrap();
    Ok(())
}

fn check(home: &Home) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let store = runtime.block_on(home.open());
    // A failure prints its smallest case; a file beside the sources would only repeat it.
    let config = Config {
        cases: 200,
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new(config)
        .run(&vec(vec(events(), 0..8), 1..12), |batches| {
            runtime.block_on(run(&store, &batches))
        })
        .unwrap();
}

#[test]
fn random_batches_on_the_embedded_store_do_what_the_model_does() {
    check(&Home::embedded());
}

#[test]
fn random_batches_on_redis_do_what_the_model_does() {
    check(&Home::redis());
}
