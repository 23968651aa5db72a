//! What Redis answers, and what its errors mean.

use redis::{
    ErrorKind, FromRedisValue, ParsingError, RedisError, ServerErrorKind, Value, from_redis_value,
};

use crate::store::StoreError;

/// `epoch`, `sequence`, `run_id` of a contest.
pub(super) type Meta = (Option<String>, Option<u64>, Option<String>);

/// What the append script answers: `{epoch, sequence, outcome…}`.
pub(super) struct Answer(pub(super) String, pub(super) u64, pub(super) Vec<i64>);

impl FromRedisValue for Answer {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let mut values = Vec::<Value>::from_redis_value(value)?.into_iter();
        let mut next = || values.next().unwrap_or(Value::Nil);
        let (epoch, sequence) = (from_redis_value(next())?, from_redis_value(next())?);
        Ok(Self(
            epoch,
            sequence,
            values.map(from_redis_value).collect::<Result<_, _>>()?,
        ))
    }
}

/// What a Redis error means for whoever uses the store.
pub(super) fn failure(error: &RedisError) -> StoreError {
    match error.kind() {
        ErrorKind::Extension if error.code() == Some("DAMAGED") => {
            StoreError::Damaged(error.detail().unwrap_or_default().to_owned())
        }
        ErrorKind::UnexpectedReturnType => {
            StoreError::Damaged(format!("an answer of an unexpected kind: {error}"))
        }
        ErrorKind::Server(
            ServerErrorKind::BusyLoading
            | ServerErrorKind::MasterDown
            | ServerErrorKind::ClusterDown
            | ServerErrorKind::TryAgain,
        ) => StoreError::Away(error.to_string()),
        ErrorKind::Server(_)
        | ErrorKind::Extension
        | ErrorKind::AuthenticationFailed
        | ErrorKind::InvalidClientConfig => StoreError::Refused(error.to_string()),
        _ => StoreError::Away(error.to_string()),
    }
}

/// An answer that cannot be read as what it should be.
pub(super) fn odd(error: &ParsingError) -> StoreError {
    StoreError::Damaged(format!("an answer of an unexpected kind: {error}"))
}
