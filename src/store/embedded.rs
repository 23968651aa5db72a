//! The embedded store: one file that one server holds.
//!
//! What is kept is the log; which event is the newest of its object, and which tokens came already, is worked out again
//! at the start. Tickets live in memory: they are good for a minute, a restart takes longer to notice.

mod file;
mod index;
mod writer;

use std::{
    collections::HashMap,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use tokio::{
    sync::{broadcast, mpsc, oneshot},
    task::spawn_blocking,
};
use tokio_util::sync::CancellationToken;

use self::{
    file::{File, closed},
    writer::{QUEUE_MAX, Request, Tips, Writer},
};
use super::{
    Append, Appended, Digest, HINTS_KEPT, Hint, Projected, READ_MAX, Slice, Store, StoreError, Tip,
    prepare,
};

/// Tickets kept at a time, about 100 bytes each: far more viewers than come within the minute that a ticket lasts.
const TICKETS_MAX: usize = 100_000;

/// A store in a file. See the [module](self).
pub struct Embedded {
    file: Arc<File>,
    requests: mpsc::Sender<Request>,
    tips: Tips,
    hints: broadcast::Sender<Hint>,
    /// Scope and end of each ticket.
    tickets: Mutex<HashMap<Digest, (String, Instant)>>,
    /// The writer has answered everything and closed the file.
    ended: CancellationToken,
}

impl Embedded {
    /// Opens `rankcast.redb` in the directory; makes both if they are missing.
    ///
    /// Checks and reads the whole file, which takes seconds when it is large: call it where blocking is allowed. The file
    /// is free for another process once the store is closed, or some time after the last handle was dropped.
    pub fn open(directory: &Path) -> Result<Arc<Self>, StoreError> {
        let (file, index) = File::open(directory)?;
        let file = Arc::new(file);
        let tips = Tips::default();
        let (hints, _) = broadcast::channel(HINTS_KEPT);
        let (requests, queue) = mpsc::channel(QUEUE_MAX);
        let ended = CancellationToken::new();
        let on_end = ended.clone().drop_guard();
        let writer = Writer::new(Arc::clone(&file), index, Arc::clone(&tips), hints.clone());
        thread::Builder::new()
            .name("rankcast-writer".into())
            .spawn(move || {
                let _ended = on_end;
                writer.run(queue);
            })
            .map_err(|error| StoreError::Refused(format!("no thread for the writer: {error}")))?;
        Ok(Arc::new(Self {
            file,
            requests,
            tips,
            hints,
            tickets: Mutex::default(),
            ended,
        }))
    }

    async fn request<T>(
        &self,
        request: impl FnOnce(oneshot::Sender<Result<T, StoreError>>) -> Request,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        self.requests
            .send(request(answer))
            .await
            .map_err(|_| closed())?;
        answered.await.map_err(|_| closed())?
    }

    fn open_still(&self) -> Result<(), StoreError> {
        if self.requests.is_closed() {
            Err(closed())
        } else {
            Ok(())
        }
    }

    /// Looks at the published tips.
    fn look<T>(&self, look: impl FnOnce(&HashMap<String, Tip>) -> T) -> Result<T, StoreError> {
        self.open_still()?;
        Ok(look(
            &self.tips.read().unwrap_or_else(PoisonError::into_inner),
        ))
    }

    /// Does something that may wait for the disk.
    async fn off_the_loop<T: Send + 'static>(
        &self,
        work: impl FnOnce(&File) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.open_still()?;
        let file = Arc::clone(&self.file);
        spawn_blocking(move || work(&file))
            .await
            .unwrap_or_else(|_| Err(closed()))
    }
}

#[async_trait]
impl Store for Embedded {
    async fn create(&self, contest: &str) -> Result<bool, StoreError> {
        self.request(|answer| Request::Create(contest.to_owned(), answer))
            .await
    }

    async fn delete(&self, contest: &str) -> Result<bool, StoreError> {
        self.request(|answer| Request::Delete(contest.to_owned(), answer))
            .await
    }

    async fn contests(&self) -> Result<Vec<String>, StoreError> {
        let mut contests: Vec<String> = self.look(|tips| tips.keys().cloned().collect())?;
        contests.sort_unstable();
        Ok(contests)
    }

    async fn append(&self, contest: &str, batch: &[Append]) -> Result<Appended, StoreError> {
        let events = prepare::batch(batch)?;
        self.request(|answer| Request::Append(contest.to_owned(), events, answer))
            .await
    }

    async fn read(&self, contest: &str, after: u64, limit: usize) -> Result<Slice, StoreError> {
        let contest = contest.to_owned();
        self.off_the_loop(move |file| {
            file.slice(&contest, after, limit.min(READ_MAX))?
                .ok_or(StoreError::NoSuchContest(contest))
        })
        .await
    }

    async fn tips(&self, contests: &[String]) -> Result<Vec<Option<Tip>>, StoreError> {
        self.look(|tips| {
            contests
                .iter()
                .map(|contest| tips.get(contest).cloned())
                .collect()
        })
    }

    async fn renew(&self, contest: &str, seen: &str) -> Result<Tip, StoreError> {
        self.request(|answer| Request::Renew(contest.to_owned(), seen.to_owned(), answer))
            .await
    }

    fn hints(&self) -> broadcast::Receiver<Hint> {
        self.hints.subscribe()
    }

    /// No other program can look into the file.
    fn projects(&self) -> bool {
        false
    }

    async fn project(&self, _: &str, _: &str, _: &[Projected], _: bool) -> Result<(), StoreError> {
        self.open_still()
    }

    async fn projection(&self, _: &str) -> Result<Vec<(String, u64)>, StoreError> {
        self.open_still().map(|()| Vec::new())
    }

    async fn put_ticket(
        &self,
        secret: Digest,
        scope: &str,
        ttl: Duration,
    ) -> Result<(), StoreError> {
        self.open_still()?;
        let now = Instant::now();
        let mut tickets = self.tickets.lock().unwrap_or_else(PoisonError::into_inner);
        if tickets.len() >= TICKETS_MAX {
            tickets.retain(|_, (_, end)| *end > now);
            if tickets.len() >= TICKETS_MAX {
                return Err(StoreError::Refused(format!(
                    "{TICKETS_MAX} tickets wait to be used"
                )));
            }
        }
        // A lifetime beyond what a clock can say is as good as a day.
        let end = now
            .checked_add(ttl)
            .unwrap_or_else(|| now + Duration::from_secs(86_400));
        tickets.insert(secret, (scope.to_owned(), end));
        Ok(())
    }

    async fn take_ticket(&self, secret: Digest) -> Result<Option<String>, StoreError> {
        self.open_still()?;
        let taken = self
            .tickets
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&secret);
        Ok(taken
            .filter(|(_, end)| *end > Instant::now())
            .map(|(scope, _)| scope))
    }

    async fn admin_key(&self) -> Result<Option<Digest>, StoreError> {
        self.off_the_loop(File::admin_key).await
    }

    async fn claim_admin_key(&self, key: Digest) -> Result<Digest, StoreError> {
        self.request(|answer| Request::Claim(key, answer)).await
    }

    async fn check(&self) -> Result<(), StoreError> {
        self.request(Request::Check).await
    }

    async fn close(&self) {
        // An error means that it is closed already.
        let _ = self.request(Request::Close).await;
        self.ended.cancelled().await;
    }
}
