//! The file: its tables, one transaction at a time, and what its errors mean.

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{PoisonError, RwLock},
};

use redb::{
    Builder, Database, Durability, ReadTransaction, ReadableDatabase as _, ReadableTable as _,
    TableDefinition,
};

use super::index::{Index, Log, Place};
use crate::store::{Digest, Record, Slice, StoreError, Stored, Tip};

/// The name of the file in the data directory.
const NAME: &str = "rankcast.redb";

/// What this program writes; a file of a later form is refused.
const FORMAT: u64 = 1;

/// Memory for pages of the file. Reading goes mostly to the end of a log, so a small cache serves it.
const CACHE_BYTES: usize = 32 << 20;

/// Contest and sequence number → the record's JSON.
const LOG: TableDefinition<(&str, u64), &[u8]> = TableDefinition::new("log");

/// Contest → epoch.
const CONTESTS: TableDefinition<&str, &str> = TableDefinition::new("contests");

/// Contest and token → what it last came with; only tokens that came with a repeat, the others stand in the log.
const TOKENS: TableDefinition<TokenKey, TokenPlace> = TableDefinition::new("tokens");

type TokenKey = (&'static str, &'static [u8; 16]);
type TokenPlace = (u64, &'static [u8; 16]);

/// Digests of keys, by name.
const KEYS: TableDefinition<&str, &[u8; 16]> = TableDefinition::new("keys");

/// Numbers about the file itself, by name.
const ABOUT: TableDefinition<&str, u64> = TableDefinition::new("about");

const ADMIN: &str = "admin";

/// One change of the file.
#[derive(Debug)]
pub(super) enum Write {
    Event {
        contest: String,
        sequence: u64,
        record: String,
    },
    Token {
        contest: String,
        token: Digest,
        place: Option<Place>,
    },
    Epoch {
        contest: String,
        epoch: String,
    },
    Forget {
        contest: String,
    },
    AdminKey(Digest),
    /// Changes something without a meaning, to see whether it works.
    Check,
}

/// The file. One process holds it.
pub(super) struct File {
    path: PathBuf,
    /// `None` once it is closed, or while it cannot be opened again after a failed write.
    database: RwLock<Option<Database>>,
}

impl File {
    /// Opens or makes the file, checks every page of it, and reads what the writer must know.
    pub(super) fn open(directory: &Path) -> Result<(Self, Index), StoreError> {
        let path = directory.join(NAME);
        fs::create_dir_all(directory).map_err(|error| {
            StoreError::Refused(format!(
                "the data directory {}: {error}",
                directory.display()
            ))
        })?;
        let file = Self {
            path,
            database: RwLock::new(None),
        };
        let index = file.reopen()?;
        // A new file must survive a power cut as well as what is in it; where a directory cannot be synced, it need not.
        let _ = fs::File::open(directory).and_then(|directory| directory.sync_all());
        Ok((file, index))
    }

    /// Opens the file anew, after a failed write: redb takes no more of them until then.
    pub(super) fn reopen(&self) -> Result<Index, StoreError> {
        let mut slot = self
            .database
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *slot = None;
        let (database, index) = self.guard(|| {
            let path = self.path.display().to_string();
            let database = Builder::new()
                .set_cache_size(CACHE_BYTES)
                // A file that was altered from outside may make a plain open panic.
                .set_check_integrity_on_open(true)
                .set_repair_callback(move |repair| {
                    tracing::debug!(path, progress = repair.progress(), "checking the store");
                })
                .create(&self.path)
                .map_err(|error| self.failure(error.into()))?;
            self.prepare(&database)
                .map_err(|error| self.failure(error))??;
            let index = self
                .load(&database)
                .map_err(|error| self.failure(error))??;
            Ok((database, index))
        })?;
        *slot = Some(database);
        Ok(index)
    }

    /// Makes the tables of a new file; refuses a file of a later form.
    fn prepare(&self, database: &Database) -> Result<Result<(), StoreError>, redb::Error> {
        let transaction = database.begin_write()?;
        {
            let mut about = transaction.open_table(ABOUT)?;
            let found = about.get("format")?.map_or(FORMAT, |found| found.value());
            if found > FORMAT {
                return Ok(Err(StoreError::Refused(format!(
                    "{} has form {found}, this program knows {FORMAT}: use the later version that wrote it",
                    self.path.display()
                ))));
            }
            about.insert("format", FORMAT)?;
            transaction.open_table(LOG)?;
            transaction.open_table(CONTESTS)?;
            transaction.open_table(TOKENS)?;
            transaction.open_table(KEYS)?;
        }
        transaction.commit()?;
        Ok(Ok(()))
    }

    fn load(&self, database: &Database) -> Result<Result<Index, StoreError>, redb::Error> {
        let damaged = |what: String| Ok(Err(self.damaged(&what)));
        let transaction = database.begin_read()?;
        let mut index = Index::default();
        for entry in transaction.open_table(CONTESTS)?.iter()? {
            let (contest, epoch) = entry?;
            index.logs.insert(
                contest.value().to_owned(),
                Log::new(epoch.value().to_owned()),
            );
        }
        for entry in transaction.open_table(LOG)?.iter()? {
            let (key, record) = entry?;
            let (contest, sequence) = key.value();
            let record: Record = match serde_json::from_slice(record.value()) {
                Ok(record) => record,
                Err(error) => return damaged(format!("event {sequence} of {contest}: {error}")),
            };
            if !index
                .logs
                .get_mut(contest)
                .is_some_and(|log| log.replay(sequence, &record))
            {
                return damaged(format!("event {sequence} of {contest} is out of place"));
            }
        }
        for entry in transaction.open_table(TOKENS)?.iter()? {
            let (key, place) = entry?;
            let ((contest, token), (sequence, digest)) = (key.value(), place.value());
            match index.logs.get_mut(contest) {
                Some(log) => log.replay_token(
                    Digest(*token),
                    Place {
                        sequence,
                        digest: Digest(*digest),
                    },
                ),
                None => return damaged(format!("a token of {contest}, which is not there")),
            }
        }
        index.admin_key = transaction
            .open_table(KEYS)?
            .get(ADMIN)?
            .map(|key| Digest(*key.value()));
        Ok(Ok(index))
    }

    /// Writes all changes in one transaction, and returns when they are on the disk.
    pub(super) fn commit(&self, writes: &[Write]) -> Result<(), StoreError> {
        let slot = self.database.read().unwrap_or_else(PoisonError::into_inner);
        let database = slot.as_ref().ok_or_else(closed)?;
        self.guard(|| write(database, writes).map_err(|error| self.failure(error)))
    }

    /// Reads a stretch of a log; `None` if there is no such contest.
    pub(super) fn slice(
        &self,
        contest: &str,
        after: u64,
        limit: usize,
    ) -> Result<Option<Slice>, StoreError> {
        let slot = self.database.read().unwrap_or_else(PoisonError::into_inner);
        let database = slot.as_ref().ok_or_else(closed)?;
        self.guard(|| {
            let transaction = database
                .begin_read()
                .map_err(|error| self.failure(error.into()))?;
            match slice(&transaction, contest, after, limit).map_err(|error| self.failure(error))? {
                Ok(slice) => Ok(slice),
                Err((sequence, error)) => {
                    Err(self.damaged(&format!("event {sequence} of {contest}: {error}")))
                }
            }
        })
    }

    /// The digest of the admin key, if there is one.
    pub(super) fn admin_key(&self) -> Result<Option<Digest>, StoreError> {
        let slot = self.database.read().unwrap_or_else(PoisonError::into_inner);
        let database = slot.as_ref().ok_or_else(closed)?;
        let read = || -> Result<Option<Digest>, redb::Error> {
            Ok(database
                .begin_read()?
                .open_table(KEYS)?
                .get(ADMIN)?
                .map(|key| Digest(*key.value())))
        };
        self.guard(|| read().map_err(|error| self.failure(error)))
    }

    /// Closes the file once everyone who reads has finished.
    pub(super) fn close(&self) {
        let database = self
            .database
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(Err(error)) = database.map(Database::close) {
            tracing::warn!(path = %self.path.display(), %error, "closing the store");
        }
    }

    /// Runs something that may meet a damaged page. The checks at the open leave little to find; what is left must not
    /// take the server down.
    fn guard<T>(&self, work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        catch_unwind(AssertUnwindSafe(work))
            .unwrap_or_else(|_| Err(self.damaged("a page that makes no sense")))
    }

    fn damaged(&self, what: &str) -> StoreError {
        StoreError::Damaged(format!(
            "{}: {what}. Put a backup in its place, or move the file away to begin with an empty store",
            self.path.display()
        ))
    }

    fn failure(&self, error: redb::Error) -> StoreError {
        use std::io::ErrorKind::{InvalidData, UnexpectedEof};
        let path = self.path.display();
        match error {
            redb::Error::DatabaseAlreadyOpen | redb::Error::LockProtocolMismatch => {
                StoreError::Refused(format!(
                    "{path} is held by another process; only one server can use it"
                ))
            }
            redb::Error::DatabaseClosed => closed(),
            redb::Error::Io(error) if !matches!(error.kind(), InvalidData | UnexpectedEof) => {
                StoreError::Refused(format!("{path}: {error}"))
            }
            redb::Error::PreviousIo => {
                StoreError::Refused(format!("{path}: an earlier write failed"))
            }
            error => self.damaged(&error.to_string()),
        }
    }
}

pub(super) fn closed() -> StoreError {
    StoreError::Away("closed".into())
}

fn write(database: &Database, writes: &[Write]) -> Result<(), redb::Error> {
    let mut transaction = database.begin_write()?;
    transaction.set_durability(Durability::Immediate)?;
    {
        let mut log = transaction.open_table(LOG)?;
        let mut contests = transaction.open_table(CONTESTS)?;
        let mut tokens = transaction.open_table(TOKENS)?;
        for write in writes {
            match write {
                Write::Event {
                    contest,
                    sequence,
                    record,
                } => {
                    log.insert((contest.as_str(), *sequence), record.as_bytes())?;
                }
                Write::Token {
                    contest,
                    token,
                    place: Some(place),
                } => {
                    tokens.insert(
                        (contest.as_str(), &token.0),
                        (place.sequence, &place.digest.0),
                    )?;
                }
                Write::Token {
                    contest,
                    token,
                    place: None,
                } => {
                    tokens.remove((contest.as_str(), &token.0))?;
                }
                Write::Epoch { contest, epoch } => {
                    contests.insert(contest.as_str(), epoch.as_str())?;
                }
                Write::Forget { contest } => {
                    let contest = contest.as_str();
                    contests.remove(contest)?;
                    log.retain_in((contest, 0)..=(contest, u64::MAX), |_, _| false)?;
                    tokens.retain_in((contest, &[0; 16])..=(contest, &[u8::MAX; 16]), |_, _| {
                        false
                    })?;
                }
                Write::AdminKey(key) => {
                    transaction.open_table(KEYS)?.insert(ADMIN, &key.0)?;
                }
                Write::Check => {
                    let mut about = transaction.open_table(ABOUT)?;
                    let count = about.get("checks")?.map_or(0, |count| count.value());
                    about.insert("checks", count.wrapping_add(1))?;
                }
            }
        }
    }
    transaction.commit()?;
    Ok(())
}

/// The inner error is a record that cannot be read, with its number.
type Found = Result<Option<Slice>, (u64, serde_json::Error)>;

fn slice(
    transaction: &ReadTransaction,
    contest: &str,
    after: u64,
    limit: usize,
) -> Result<Found, redb::Error> {
    let Some(epoch) = transaction
        .open_table(CONTESTS)?
        .get(contest)?
        .map(|epoch| epoch.value().to_owned())
    else {
        return Ok(Ok(None));
    };
    let log = transaction.open_table(LOG)?;
    let newest = log
        .range((contest, 0)..=(contest, u64::MAX))?
        .next_back()
        .transpose()?;
    let tip = Tip {
        epoch,
        sequence: newest.map_or(0, |(key, _)| key.value().1),
    };
    let mut events = Vec::new();
    if after < tip.sequence {
        for entry in log
            .range((contest, after + 1)..=(contest, tip.sequence))?
            .take(limit)
        {
            let (key, record) = entry?;
            let sequence = key.value().1;
            match serde_json::from_slice(record.value()) {
                Ok(record) => events.push(Stored { sequence, record }),
                Err(error) => return Ok(Err((sequence, error))),
            }
        }
    }
    Ok(Ok(Some(Slice { tip, events })))
}
