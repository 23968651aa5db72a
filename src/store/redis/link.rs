//! The connection for commands, kept up for ever.
//!
//! The client's own connection manager gives up after some retries, and keeps a connection whose answers only ever time
//! out. So one task keeps the connection: it connects with jittered backoff, asks for a sign of life, and replaces the
//! connection as soon as a caller suspects it.

use std::time::Duration;

use rand::random_range;
use redis::{Client, Cmd, FromRedisValue, Pipeline, RedisError, aio::MultiplexedConnection};
use tokio::{
    sync::{mpsc, watch},
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::answers::failure;
use crate::store::StoreError;

/// How long a connection may take to come up: a healthy Redis answers in milliseconds, another continent in one second.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// How long an answer may take. The longest script (512 large events) takes 10 ms; the rest is for a Redis that forks,
/// rewrites its file or waits for a slow disk.
pub(super) const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a command waits for a connection that is being replaced, before it says that the store is away.
const LINK_WAIT: Duration = Duration::from_secs(2);

/// How often an idle connection is asked for a sign of life: a broken one is replaced before it is needed.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(2);

/// The first pause before connecting again; it doubles with each failure.
const RETRY_FIRST: Duration = Duration::from_millis(50);

/// The longest pause before connecting again: a Redis that is back is found within this time.
const RETRY_MAX: Duration = Duration::from_secs(2);

/// Suspicions waiting to be looked at; more of them would say the same.
const SUSPICIONS_MAX: usize = 16;

/// Pauses that grow, with jitter, so that many servers do not come back at the same moment.
#[derive(Default)]
pub(super) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// The next pause: half to all of what is due.
    pub(super) fn pause(&mut self) -> Duration {
        let due = RETRY_FIRST
            .saturating_mul(1 << self.failures.min(16))
            .min(RETRY_MAX);
        self.failures = self.failures.saturating_add(1);
        due.mul_f64(random_range(0.5..=1.0))
    }

    /// It worked: the next pause is a short one.
    pub(super) fn reset(&mut self) {
        self.failures = 0;
    }
}

/// What the keeper publishes.
enum State {
    /// The connection, and which one since the start it is.
    Up(MultiplexedConnection, u64),
    /// There is none, and why.
    Down(String),
}

/// The way to Redis for everyone in this process.
pub(super) struct Link {
    state: watch::Receiver<State>,
    /// Numbers of connections that did not behave.
    suspicions: mpsc::Sender<u64>,
}

impl Link {
    /// Connects once, and from then on keeps connected until `stop`.
    pub(super) async fn open(client: Client, stop: CancellationToken) -> Result<Self, StoreError> {
        let connection = connect(&client)
            .await
            .map_err(|error| match failure(&error) {
                StoreError::Away(why) => StoreError::Away(format!("{}: {why}", address(&client))),
                StoreError::Refused(why) => {
                    StoreError::Refused(format!("{}: {why}", address(&client)))
                }
                other => other,
            })?;
        let (publish, state) = watch::channel(State::Up(connection.clone(), 0));
        let (suspicions, suspected) = mpsc::channel(SUSPICIONS_MAX);
        tokio::spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = keep(&client, connection, &publish, suspected) => {}
            }
            publish.send_replace(State::Down("closed".into()));
        });
        Ok(Self { state, suspicions })
    }

    /// Sends a command. The outer error is ours (nobody there, no answer in time), the inner one is what Redis said.
    pub(super) async fn ask<T: FromRedisValue>(
        &self,
        command: &Cmd,
    ) -> Result<Result<T, RedisError>, StoreError> {
        let (mut connection, number) = self.connection().await?;
        let answer = timeout(RESPONSE_TIMEOUT, command.query_async(&mut connection)).await;
        self.judge(answer.ok(), number)
    }

    /// Sends a command; every error is a failure.
    pub(super) async fn tell<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, StoreError> {
        self.ask(command).await?.map_err(|error| failure(&error))
    }

    /// Sends commands in one round trip.
    pub(super) async fn tell_all<T: FromRedisValue>(
        &self,
        pipeline: &Pipeline,
    ) -> Result<T, StoreError> {
        let (mut connection, number) = self.connection().await?;
        let answer = timeout(RESPONSE_TIMEOUT, pipeline.query_async(&mut connection)).await;
        self.judge(answer.ok(), number)?
            .map_err(|error| failure(&error))
    }

    async fn connection(&self) -> Result<(MultiplexedConnection, u64), StoreError> {
        let mut state = self.state.clone();
        let up = timeout(
            LINK_WAIT,
            state.wait_for(|state| matches!(state, State::Up(..))),
        )
        .await;
        if let Ok(Ok(state)) = up
            && let State::Up(connection, number) = &*state
        {
            return Ok((connection.clone(), *number));
        }
        match &*self.state.borrow() {
            State::Up(connection, number) => Ok((connection.clone(), *number)),
            State::Down(why) => Err(StoreError::Away(why.clone())),
        }
    }

    /// Looks at an answer (`None`: it did not come in time) for signs that the connection must be replaced.
    fn judge<T>(
        &self,
        answer: Option<Result<T, RedisError>>,
        number: u64,
    ) -> Result<Result<T, RedisError>, StoreError> {
        let replace = match &answer {
            None => true,
            Some(Ok(_)) => false,
            // A master that became a replica: its address may lead to the new master by now. Redis 6 wraps the code.
            Some(Err(error)) => {
                error.is_unrecoverable_error()
                    || error.is_io_error()
                    || error.to_string().contains("READONLY")
            }
        };
        if replace {
            let _ = self.suspicions.try_send(number);
        }
        answer.ok_or_else(|| {
            StoreError::Away(format!("no answer within {} s", RESPONSE_TIMEOUT.as_secs()))
        })
    }
}

/// Where a client connects to, without the password that its URL may carry.
pub(super) fn address(client: &Client) -> String {
    format!("Redis at {}", client.get_connection_info().addr())
}

async fn connect(client: &Client) -> Result<MultiplexedConnection, RedisError> {
    // Answers are waited for in one place, `Link::ask`, where the wait for a place in the pipeline counts too.
    let config = redis::AsyncConnectionConfig::new()
        .set_connection_timeout(Some(CONNECT_TIMEOUT))
        .set_response_timeout(None);
    timeout(
        CONNECT_TIMEOUT,
        client.get_multiplexed_async_connection_with_config(&config),
    )
    .await
    .unwrap_or_else(|_| Err(timed_out()))
}

/// No connection, or no greeting, in time.
pub(super) fn timed_out() -> RedisError {
    std::io::Error::new(std::io::ErrorKind::TimedOut, "it does not answer").into()
}

/// Keeps one connection up. Never ends.
async fn keep(
    client: &Client,
    mut connection: MultiplexedConnection,
    publish: &watch::Sender<State>,
    mut suspected: mpsc::Receiver<u64>,
) {
    let mut number = 0;
    let mut backoff = Backoff::default();
    loop {
        let why = watch_over(connection, number, &mut suspected).await;
        tracing::warn!(store = %address(client), %why, "connection to Redis lost");
        publish.send_replace(State::Down(why));
        connection = loop {
            match connect(client).await {
                Ok(connection) => break connection,
                Err(error) => {
                    publish.send_replace(State::Down(error.to_string()));
                    sleep(backoff.pause()).await;
                }
            }
        };
        backoff.reset();
        number += 1;
        tracing::info!(store = %address(client), "connection to Redis is back");
        publish.send_replace(State::Up(connection.clone(), number));
    }
}

/// Returns when the connection must be replaced, with the reason.
async fn watch_over(
    mut connection: MultiplexedConnection,
    number: u64,
    suspected: &mut mpsc::Receiver<u64>,
) -> String {
    let ping = redis::cmd("PING");
    loop {
        tokio::select! {
            suspect = suspected.recv() => match suspect {
                Some(suspect) if suspect == number => return "the connection broke, or did not answer in time".into(),
                Some(_) => {}
                // The link is dropped; the keeper is about to be stopped.
                None => std::future::pending().await,
            },
            () = sleep(HEARTBEAT) => match timeout(RESPONSE_TIMEOUT, ping.query_async::<()>(&mut connection)).await {
                // An error that Redis answers (loading, no permission) is a sign of life.
                Ok(Err(error)) if error.is_unrecoverable_error() || error.is_io_error() => return error.to_string(),
                Ok(_) => {}
                Err(_) => return format!("no sign of life within {} s", RESPONSE_TIMEOUT.as_secs()),
            },
        }
    }
}
