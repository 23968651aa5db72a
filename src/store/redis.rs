//! The Redis store: one log that several servers share.
//!
//! For each contest, in one slot (the braces are literal):
//!
//! | key | type | what |
//! |---|---|---|
//! | `rankcast:{ID}:meta` | hash | `epoch`, `run_id` of the server process that the epoch belongs to, `sequence` |
//! | `rankcast:{ID}:log` | stream | entry `SEQUENCE-0`, its field `event` the record's JSON |
//! | `rankcast:{ID}:newest` | hash | object → `sequence:digest` of its newest event; `type*` → of its last replacement |
//! | `rankcast:{ID}:tokens` | hash | digest of source and token → `sequence:digest` |
//! | `rankcast:{ID}:standings` | sorted set | the projected public standings |
//! | `rankcast:{ID}:placed` | hash | member → `epoch-version` at which it was last written |
//!
//! Beside them `rankcast:contests` (set), `rankcast:ticket:DIGEST`, `rankcast:admin-key`, `rankcast:check`, and the
//! channels `rankcast:ID` for hints. Digests inside hashes are 16 raw bytes. Every change is one Lua script.
//!
//! **Epochs.** A failover or a restart may lose acknowledged writes and then give their sequence numbers to other events.
//! So an epoch belongs to one server process: each script compares `run_id`, and starts a new epoch when it differs.

mod answers;
mod keys;
mod link;
mod script;
mod standings;
mod subscription;
mod survey;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use redis::{Client, InfoDict};
use tokio::{
    sync::{broadcast, watch},
    time::timeout,
};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};

use self::{
    answers::{Answer, Meta, odd},
    keys::{ADMIN_KEY, CHECK, CONTESTS, all_keys, channel, key, ticket},
    link::{CONNECT_TIMEOUT, Link, RESPONSE_TIMEOUT, address},
    script::{APPEND, CREATE, DELETE, READ, RENEW},
    subscription::Liveness,
    survey::survey,
};
use super::{
    Append, Appended, Digest, HINT_IDS_MAX, HINTS_KEPT, Hint, Outcome, Projected, READ_MAX, Record,
    Slice, Store, StoreError, Stored, Tip, prepare,
};

/// How often a read or a claim is tried again when something changed between its two steps.
const ATTEMPTS_MAX: usize = 3;

/// A store in Redis. See the [module](self).
pub struct Redis {
    link: Link,
    hints: broadcast::Sender<Hint>,
    liveness: watch::Receiver<Liveness>,
    /// Counts the calls under way, for [`Store::close`].
    calls: TaskTracker,
    stop: CancellationToken,
    /// Ends both connections when the store is dropped without being closed.
    _stop_on_drop: DropGuard,
}

impl Redis {
    /// Connects to `redis://[user:password@]host[:port][/database]`, or `unix:///path`.
    ///
    /// Fails within a few seconds if nothing usable answers; once connected, the store reconnects for ever.
    pub async fn connect(url: &str) -> Result<Arc<Self>, StoreError> {
        // The URL may carry a password: it goes into no message.
        let client = Client::open(url).map_err(|error| {
            StoreError::Refused(format!(
                "the address of Redis should look like redis://host:6379/0: {error}"
            ))
        })?;
        let stop = CancellationToken::new();
        let stop_on_drop = stop.clone().drop_guard();
        let link = Link::open(client.clone(), stop.clone()).await?;
        survey(&link, &address(&client)).await?;

        let (hints, _) = broadcast::channel(HINTS_KEPT);
        let mut liveness = subscription::spawn(client.clone(), hints.clone(), stop.clone());
        if timeout(CONNECT_TIMEOUT, liveness.wait_for(Result::is_ok))
            .await
            .is_err()
        {
            let why = liveness.borrow().clone().err().unwrap_or_default();
            return Err(StoreError::Away(format!(
                "{}: cannot subscribe: {why}",
                address(&client)
            )));
        }
        Ok(Arc::new(Self {
            link,
            hints,
            liveness,
            calls: TaskTracker::new(),
            stop,
            _stop_on_drop: stop_on_drop,
        }))
    }

    /// Counts a call in, until the token is dropped.
    fn enter(&self) -> Result<TaskTrackerToken, StoreError> {
        let token = self.calls.token();
        if self.calls.is_closed() {
            Err(StoreError::Away("closed".into()))
        } else {
            Ok(token)
        }
    }

    /// Starts a new epoch if `seen` holds, or if the epoch belongs to another server process.
    async fn renewed(&self, contest: &str, seen: &str) -> Result<Option<Tip>, StoreError> {
        let answer: Option<(String, u64)> = RENEW
            .run(
                &self.link,
                &[key(contest, "meta")],
                &[
                    channel(contest).as_bytes(),
                    prepare::new_epoch().as_bytes(),
                    seen.as_bytes(),
                ],
            )
            .await?;
        Ok(answer.map(|(epoch, sequence)| Tip { epoch, sequence }))
    }

    async fn known_admin_key(&self) -> Result<Option<Digest>, StoreError> {
        let text: Option<String> = self.link.tell(redis::cmd("GET").arg(ADMIN_KEY)).await?;
        let damaged = || {
            StoreError::Damaged(format!(
                "{ADMIN_KEY} is not a digest; delete it to have a new key made"
            ))
        };
        text.map(|text| Digest::parse(&text).ok_or_else(damaged))
            .transpose()
    }
}

#[async_trait]
impl Store for Redis {
    async fn create(&self, contest: &str) -> Result<bool, StoreError> {
        let _call = self.enter()?;
        // The set lies in another slot, so this is not atomic. Listed first: what exists is always listed, and what is
        // listed without existing (a crash in between) is left out by `contests`.
        self.link
            .tell::<()>(redis::cmd("SADD").arg(CONTESTS).arg(contest))
            .await?;
        CREATE
            .run(
                &self.link,
                &all_keys(contest),
                &[prepare::new_epoch().as_bytes()],
            )
            .await
    }

    async fn delete(&self, contest: &str) -> Result<bool, StoreError> {
        let _call = self.enter()?;
        let was = DELETE
            .run(
                &self.link,
                &all_keys(contest),
                &[channel(contest).as_bytes()],
            )
            .await?;
        self.link
            .tell::<()>(redis::cmd("SREM").arg(CONTESTS).arg(contest))
            .await?;
        // Somebody may have created it again between the two steps, and listed it before we took it off.
        if self
            .link
            .tell::<bool>(redis::cmd("EXISTS").arg(key(contest, "meta")))
            .await?
        {
            self.link
                .tell::<()>(redis::cmd("SADD").arg(CONTESTS).arg(contest))
                .await?;
        }
        Ok(was)
    }

    async fn contests(&self) -> Result<Vec<String>, StoreError> {
        let _call = self.enter()?;
        let mut listed: Vec<String> = self.link.tell(redis::cmd("SMEMBERS").arg(CONTESTS)).await?;
        if listed.is_empty() {
            return Ok(listed);
        }
        let mut pipeline = redis::pipe();
        for contest in &listed {
            pipeline.cmd("EXISTS").arg(key(contest, "meta"));
        }
        let mut exists = self
            .link
            .tell_all::<Vec<bool>>(&pipeline)
            .await?
            .into_iter();
        listed.retain(|_| exists.next().unwrap_or(false));
        listed.sort_unstable();
        Ok(listed)
    }

    async fn append(&self, contest: &str, batch: &[Append]) -> Result<Appended, StoreError> {
        let _call = self.enter()?;
        let events = prepare::batch(batch)?;
        if events.is_empty() {
            let tip = self.tips(&[contest.to_owned()]).await?.pop().flatten();
            let tip = tip.ok_or_else(|| StoreError::NoSuchContest(contest.to_owned()))?;
            return Ok(Appended {
                tip,
                outcomes: Vec::new(),
            });
        }
        let (channel, epoch, most) = (
            channel(contest),
            prepare::new_epoch(),
            HINT_IDS_MAX.to_string(),
        );
        let mut args = vec![channel.as_bytes(), epoch.as_bytes(), most.as_bytes()];
        for event in &events {
            args.extend([
                event.collection.as_bytes(),
                event.object.as_bytes(),
                if event.replaces { b"R" } else { &b""[..] },
                &event.digest.0,
                event.token.as_ref().map_or(&[], |token| &token.0),
                event.record.as_bytes(),
            ]);
        }
        let keys = ["meta", "log", "newest", "tokens"].map(|part| key(contest, part));
        let answer: Option<Answer> = APPEND.run(&self.link, &keys, &args).await?;
        let Answer(epoch, sequence, outcomes) =
            answer.ok_or_else(|| StoreError::NoSuchContest(contest.to_owned()))?;
        let outcome = |number: i64| match number {
            1.. => Outcome::Accepted(number.unsigned_abs()),
            _ => Outcome::Repeated(number.unsigned_abs()),
        };
        Ok(Appended {
            tip: Tip { epoch, sequence },
            outcomes: outcomes.into_iter().map(outcome).collect(),
        })
    }

    async fn read(&self, contest: &str, after: u64, limit: usize) -> Result<Slice, StoreError> {
        let _call = self.enter()?;
        let keys = [key(contest, "meta"), key(contest, "log")];
        let (first, limit) = (
            after.saturating_add(1).to_string(),
            limit.min(READ_MAX).to_string(),
        );
        for _ in 0..ATTEMPTS_MAX {
            let answer: Option<Vec<String>> = READ
                .run(&self.link, &keys, &[first.as_bytes(), limit.as_bytes()])
                .await?;
            let mut answer = answer
                .ok_or_else(|| StoreError::NoSuchContest(contest.to_owned()))?
                .into_iter();
            let (Some(epoch), Some(sequence)) = (answer.next(), answer.next()) else {
                self.renewed(contest, "").await?;
                continue;
            };
            let sequence = sequence
                .parse()
                .map_err(|_| StoreError::Damaged(format!("{} counts {sequence}", keys[0])))?;
            let stored =
                |(record, sequence): (String, u64)| match serde_json::from_str::<Record>(&record) {
                    Ok(record) => Ok(Stored { sequence, record }),
                    Err(error) => Err(StoreError::Damaged(format!(
                        "event {sequence} in {}: {error}",
                        keys[1]
                    ))),
                };
            let events = answer
                .zip(after.saturating_add(1)..)
                .map(stored)
                .collect::<Result<_, _>>()?;
            return Ok(Slice {
                tip: Tip { epoch, sequence },
                events,
            });
        }
        Err(StoreError::Away(
            "the server process behind this address keeps changing".into(),
        ))
    }

    async fn tips(&self, contests: &[String]) -> Result<Vec<Option<Tip>>, StoreError> {
        let _call = self.enter()?;
        if contests.is_empty() {
            return Ok(Vec::new());
        }
        let mut pipeline = redis::pipe();
        pipeline.cmd("INFO").arg("server");
        for contest in contests {
            pipeline
                .cmd("HMGET")
                .arg(key(contest, "meta"))
                .arg(&["epoch", "sequence", "run_id"]);
        }
        let (info, metas): (InfoDict, Vec<Meta>) = {
            let mut answers = self
                .link
                .tell_all::<Vec<redis::Value>>(&pipeline)
                .await?
                .into_iter();
            let info = redis::from_redis_value(answers.next().unwrap_or(redis::Value::Nil))
                .map_err(|e| odd(&e))?;
            (
                info,
                answers
                    .map(redis::from_redis_value)
                    .collect::<Result<_, _>>()
                    .map_err(|e| odd(&e))?,
            )
        };
        let run_id: Option<String> = info.get("run_id");
        let mut tips = Vec::with_capacity(contests.len());
        for (contest, (epoch, sequence, of)) in contests.iter().zip(metas) {
            tips.push(match (epoch, sequence) {
                (Some(epoch), Some(sequence)) if of == run_id => Some(Tip { epoch, sequence }),
                (Some(_), _) => self.renewed(contest, "").await?,
                (None, _) => None,
            });
        }
        Ok(tips)
    }

    async fn renew(&self, contest: &str, seen: &str) -> Result<Tip, StoreError> {
        let _call = self.enter()?;
        self.renewed(contest, seen)
            .await?
            .ok_or_else(|| StoreError::NoSuchContest(contest.to_owned()))
    }

    fn hints(&self) -> broadcast::Receiver<Hint> {
        self.hints.subscribe()
    }

    fn projects(&self) -> bool {
        true
    }

    async fn project(
        &self,
        contest: &str,
        epoch: &str,
        places: &[Projected],
        whole: bool,
    ) -> Result<(), StoreError> {
        let _call = self.enter()?;
        standings::write(&self.link, contest, epoch, places, whole).await
    }

    async fn projection(&self, contest: &str) -> Result<Vec<(String, u64)>, StoreError> {
        let _call = self.enter()?;
        standings::read(&self.link, contest).await
    }

    async fn put_ticket(
        &self,
        secret: Digest,
        scope: &str,
        ttl: Duration,
    ) -> Result<(), StoreError> {
        let _call = self.enter()?;
        let mut command = redis::cmd("SET");
        // Redis refuses a lifetime of zero.
        command
            .arg(ticket(secret))
            .arg(scope)
            .arg("PX")
            .arg((ttl.as_millis() as u64).max(1));
        self.link.tell(&command).await
    }

    async fn take_ticket(&self, secret: Digest) -> Result<Option<String>, StoreError> {
        let _call = self.enter()?;
        self.link
            .tell(redis::cmd("GETDEL").arg(ticket(secret)))
            .await
    }

    async fn admin_key(&self) -> Result<Option<Digest>, StoreError> {
        let _call = self.enter()?;
        self.known_admin_key().await
    }

    async fn claim_admin_key(&self, key: Digest) -> Result<Digest, StoreError> {
        let _call = self.enter()?;
        // `SET NX GET` in one command came with Redis 7.
        for _ in 0..ATTEMPTS_MAX {
            let mut command = redis::cmd("SET");
            command.arg(ADMIN_KEY).arg(key.to_string()).arg("NX");
            self.link.tell::<Option<String>>(&command).await?;
            if let Some(holds) = self.known_admin_key().await? {
                return Ok(holds);
            }
        }
        Err(StoreError::Refused(format!("{ADMIN_KEY} does not stay")))
    }

    async fn check(&self) -> Result<(), StoreError> {
        let _call = self.enter()?;
        let mut command = redis::cmd("SET");
        command.arg(CHECK).arg("ok").arg("EX").arg(60);
        // A replica, a full memory or a broken disk answer this with their error.
        self.link.tell::<()>(&command).await?;
        match &*self.liveness.borrow() {
            Ok(()) => Ok(()),
            Err(why) => Err(StoreError::Away(format!(
                "the subscription for hints is down: {why}"
            ))),
        }
    }

    async fn close(&self) {
        self.calls.close();
        // Every call ends by itself: it waits for a connection and for its answers no longer than their limits.
        let _ = timeout(RESPONSE_TIMEOUT, self.calls.wait()).await;
        self.stop.cancel();
    }
}
