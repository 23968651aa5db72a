//! The one thread that writes: it takes all requests that wait, decides upon them in order, and commits them together.
//!
//! Nothing is answered, published or announced before the commit that covers it is on the disk. A repeat waits for the
//! same: what it repeats is either in an earlier commit or in this one.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
    time::{Duration, Instant},
};

use tokio::sync::{broadcast, mpsc, oneshot};

use super::{
    file::{File, Write},
    index::{Index, Log},
};
use crate::store::{
    Appended, Digest, HINT_IDS_MAX, Hint, Outcome, StoreError, Tip,
    prepare::{self, Prepared},
};

/// Requests waiting for the writer; whoever comes next waits outside. A commit takes about a millisecond, so a full queue
/// is a second's work at the most.
pub(super) const QUEUE_MAX: usize = 1024;

/// Requests in one commit: bounds what a commit holds in memory, and how long the first of them waits for the others.
const GROUP_MAX: usize = 64;

/// After a failed write the file is opened anew, which reads all of it: not more often than this.
const REOPEN_AFTER: Duration = Duration::from_secs(1);

type Answer<T> = oneshot::Sender<Result<T, StoreError>>;

/// What the writer is asked to do.
pub(super) enum Request {
    Create(String, Answer<bool>),
    Delete(String, Answer<bool>),
    Append(String, Vec<Prepared>, Answer<Appended>),
    /// The contest and the epoch that was seen.
    Renew(String, String, Answer<Tip>),
    Claim(Digest, Answer<Digest>),
    Check(Answer<()>),
    Close(Answer<()>),
}

/// What everyone may see: the tips of all logs, as committed.
pub(super) type Tips = Arc<RwLock<HashMap<String, Tip>>>;

/// The state of the thread.
pub(super) struct Writer {
    file: Arc<File>,
    index: Index,
    tips: Tips,
    hints: broadcast::Sender<Hint>,
    /// Why the file could not be opened again, and when that was tried.
    broken: Option<(StoreError, Instant)>,
}

/// Sends one answer: what was decided, or why it could not be written.
type Reply = Box<dyn FnOnce(Option<&StoreError>) + Send>;

/// What a group of requests comes to, until it is committed.
#[derive(Default)]
struct Group {
    writes: Vec<Write>,
    hints: Vec<Hint>,
    /// Contests whose tips may have moved.
    touched: Vec<String>,
    answers: Vec<Reply>,
}

impl Group {
    fn answer<T: Send + 'static>(&mut self, to: Answer<T>, decided: Result<T, StoreError>) {
        self.answers.push(Box::new(move |fault| {
            // Whoever asked may have gone.
            let _ = to.send(fault.map_or(decided, |fault| Err(fault.clone())));
        }));
    }

    fn finish(self, fault: Option<&StoreError>) {
        for answer in self.answers {
            answer(fault);
        }
    }
}

impl Writer {
    pub(super) fn new(
        file: Arc<File>,
        index: Index,
        tips: Tips,
        hints: broadcast::Sender<Hint>,
    ) -> Self {
        let writer = Self {
            file,
            index,
            tips,
            hints,
            broken: None,
        };
        writer.publish_all();
        writer
    }

    /// Works until it is asked to close, or nobody is left who could ask.
    pub(super) fn run(mut self, mut requests: mpsc::Receiver<Request>) {
        let mut waiting = Vec::with_capacity(GROUP_MAX);
        while requests.blocking_recv_many(&mut waiting, GROUP_MAX) > 0 {
            let mut group = Group::default();
            // What could not be committed must not be known, so the index is read anew before anything is decided on it.
            let fault = self.recover().err();
            for request in waiting.drain(..) {
                if matches!(request, Request::Close(_)) {
                    // What was sent before is still answered; what comes later finds the queue closed.
                    requests.close();
                }
                self.decide(request, &mut group);
            }
            match fault {
                Some(fault) => group.finish(Some(&fault)),
                None => self.commit(group),
            }
        }
        self.file.close();
    }

    fn decide(&mut self, request: Request, group: &mut Group) {
        match request {
            Request::Create(contest, answer) => {
                let fresh = !self.index.logs.contains_key(&contest);
                if fresh {
                    let epoch = prepare::new_epoch();
                    self.index
                        .logs
                        .insert(contest.clone(), Log::new(epoch.clone()));
                    group.touched.push(contest.clone());
                    group.writes.push(Write::Epoch { contest, epoch });
                }
                group.answer(answer, Ok(fresh));
            }
            Request::Delete(contest, answer) => {
                let was = self.index.logs.remove(&contest).is_some();
                if was {
                    group.touched.push(contest.clone());
                    group.hints.push(Hint {
                        contest: contest.clone(),
                        epoch: String::new(),
                        version: 0,
                        ids: Vec::new(),
                    });
                    group.writes.push(Write::Forget { contest });
                }
                group.answer(answer, Ok(was));
            }
            Request::Append(contest, events, answer) => {
                let appended = self.append(contest, events, group);
                group.answer(answer, appended);
            }
            Request::Renew(contest, seen, answer) => {
                let Some(log) = self.index.logs.get_mut(&contest) else {
                    return group.answer(answer, Err(StoreError::NoSuchContest(contest)));
                };
                if log.tip().epoch == seen {
                    log.renew(prepare::new_epoch());
                    let Tip { epoch, sequence } = log.tip().clone();
                    let hint = Hint {
                        contest: contest.clone(),
                        epoch: epoch.clone(),
                        version: sequence,
                        ids: Vec::new(),
                    };
                    group.hints.push(hint);
                    group.touched.push(contest.clone());
                    group.writes.push(Write::Epoch { contest, epoch });
                }
                group.answer(answer, Ok(log.tip().clone()));
            }
            Request::Claim(key, answer) => {
                let holds = *self.index.admin_key.get_or_insert_with(|| {
                    group.writes.push(Write::AdminKey(key));
                    key
                });
                group.answer(answer, Ok(holds));
            }
            Request::Check(answer) => {
                group.writes.push(Write::Check);
                group.answer(answer, Ok(()));
            }
            Request::Close(answer) => group.answer(answer, Ok(())),
        }
    }

    fn append(
        &mut self,
        contest: String,
        events: Vec<Prepared>,
        group: &mut Group,
    ) -> Result<Appended, StoreError> {
        let Some(log) = self.index.logs.get_mut(&contest) else {
            return Err(StoreError::NoSuchContest(contest));
        };
        let before = log.tip().sequence;
        let mut outcomes = Vec::with_capacity(events.len());
        let mut ids = Vec::new();
        for event in events {
            let decision = log.take(&event);
            outcomes.push(decision.outcome);
            if let Some((token, place)) = decision.token {
                group.writes.push(Write::Token {
                    contest: contest.clone(),
                    token,
                    place,
                });
            }
            if let Outcome::Accepted(sequence) = decision.outcome {
                group.writes.push(Write::Event {
                    contest: contest.clone(),
                    sequence,
                    record: event.record,
                });
                if ids.len() < HINT_IDS_MAX && !ids.contains(&event.object) {
                    ids.push(event.object);
                }
            }
        }
        let tip = log.tip().clone();
        if tip.sequence > before {
            let hint = Hint {
                contest: contest.clone(),
                epoch: tip.epoch.clone(),
                version: tip.sequence,
                ids,
            };
            group.hints.push(hint);
            group.touched.push(contest);
        }
        Ok(Appended { tip, outcomes })
    }

    fn commit(&mut self, mut group: Group) {
        let result = if group.writes.is_empty() {
            Ok(())
        } else {
            self.file.commit(&group.writes)
        };
        if let Err(fault) = result {
            tracing::error!(%fault, "a write failed");
            group.finish(Some(&fault));
            // Long ago enough for `recover` to try at once.
            self.broken = Some((
                fault,
                Instant::now()
                    .checked_sub(REOPEN_AFTER)
                    .unwrap_or_else(Instant::now),
            ));
            let _ = self.recover();
            return;
        }
        self.publish(&group.touched);
        for hint in std::mem::take(&mut group.hints) {
            // An error means that nobody listens.
            let _ = self.hints.send(hint);
        }
        group.finish(None);
    }

    /// After a failed write: opens the file anew, and forgets what did not get into it.
    fn recover(&mut self) -> Result<(), StoreError> {
        let Some((fault, tried)) = &self.broken else {
            return Ok(());
        };
        if tried.elapsed() < REOPEN_AFTER {
            return Err(fault.clone());
        }
        match self.file.reopen() {
            Ok(index) => {
                self.index = index;
                self.broken = None;
                self.publish_all();
                Ok(())
            }
            Err(fault) => {
                self.broken = Some((fault.clone(), Instant::now()));
                Err(fault)
            }
        }
    }

    fn publish(&self, touched: &[String]) {
        let mut tips = self.tips.write().unwrap_or_else(PoisonError::into_inner);
        for contest in touched {
            match self.index.logs.get(contest) {
                Some(log) => tips.insert(contest.clone(), log.tip().clone()),
                None => tips.remove(contest),
            };
        }
    }

    fn publish_all(&self) {
        let tips = self
            .index
            .logs
            .iter()
            .map(|(contest, log)| (contest.clone(), log.tip().clone()))
            .collect();
        *self.tips.write().unwrap_or_else(PoisonError::into_inner) = tips;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Append;

    fn append(writer: &mut Writer, id: &str) -> Result<Appended, StoreError> {
        let event = Append {
            kind: "teams".into(),
            id: Some(id.into()),
            replaces: false,
            source: "judge".into(),
            token: None,
            data: "{}".into(),
        };
        let events = prepare::batch(&[event]).expect("a good batch");
        ask(writer, |answer| Request::Append("c".into(), events, answer))
    }

    fn ask<T>(
        writer: &mut Writer,
        request: impl FnOnce(Answer<T>) -> Request,
    ) -> Result<T, StoreError> {
        let (answer, mut answered) = oneshot::channel();
        let mut group = Group::default();
        writer.decide(request(answer), &mut group);
        writer.commit(group);
        answered.try_recv().expect("an answer")
    }

    #[test]
    fn what_could_not_be_committed_is_neither_known_nor_announced() {
        let directory = tempfile::tempdir().expect("a directory");
        let (file, index) = File::open(directory.path()).expect("opens");
        let (file, tips) = (Arc::new(file), Tips::default());
        let (hints, mut hinted) = broadcast::channel(8);
        let mut writer = Writer::new(Arc::clone(&file), index, Arc::clone(&tips), hints);
        let sequence = || tips.read().expect("no panic")["c"].sequence;

        ask(&mut writer, |answer| Request::Create("c".into(), answer)).expect("created");
        assert_eq!(
            append(&mut writer, "1").expect("appended").outcomes,
            [Outcome::Accepted(1)]
        );
        assert_eq!(hinted.try_recv().expect("a hint").version, 1);

        // The next commit fails: the file is gone from under the writer, as after an error of the disk.
        file.close();
        assert!(append(&mut writer, "2").is_err());
        assert!(hinted.try_recv().is_err());
        assert_eq!(sequence(), 1);

        // The writer has opened it anew, and the event that failed is news still.
        assert_eq!(
            append(&mut writer, "1").expect("appended").outcomes,
            [Outcome::Repeated(1)]
        );
        assert_eq!(
            append(&mut writer, "2").expect("appended").outcomes,
            [Outcome::Accepted(2)]
        );
        assert_eq!(
            (hinted.try_recv().expect("a hint").version, sequence()),
            (2, 2)
        );
    }
}
