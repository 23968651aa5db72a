//! The connection for hints, kept up for ever.
//!
//! Hints that are published while it is down are lost. That is allowed: whoever watches a log asks for its tip once a
//! second. What must not happen is that nobody notices a deaf subscription, so `Redis::check` looks at [`Liveness`].

use futures_util::{Stream, StreamExt as _};
use redis::{
    Client, Msg,
    aio::{PubSub, PubSubSink},
};
use tokio::{
    sync::{broadcast, watch},
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    keys::CHANNEL,
    link::{Backoff, CONNECT_TIMEOUT, HEARTBEAT, RESPONSE_TIMEOUT, address, timed_out},
};
use crate::store::Hint;

/// Whether hints arrive; the error says why not. A Redis that went silent is noticed after [`HEARTBEAT`] and
/// [`RESPONSE_TIMEOUT`].
pub(super) type Liveness = Result<(), String>;

/// Listens for hints until `stop`.
pub(super) fn spawn(
    client: Client,
    hints: broadcast::Sender<Hint>,
    stop: CancellationToken,
) -> watch::Receiver<Liveness> {
    let (publish, liveness) = watch::channel(Err("not subscribed yet".into()));
    tokio::spawn(async move {
        tokio::select! {
            () = stop.cancelled() => {}
            () = keep(&client, &hints, &publish) => {}
        }
        let _ = publish.send_replace(Err("closed".into()));
    });
    liveness
}

async fn keep(client: &Client, hints: &broadcast::Sender<Hint>, publish: &watch::Sender<Liveness>) {
    let mut backoff = Backoff::default();
    loop {
        let why = match subscribe(client).await {
            Ok(subscription) => {
                backoff.reset();
                let _ = publish.send_replace(Ok(()));
                let (sink, stream) = subscription.split();
                tokio::select! {
                    why = heartbeat(sink) => why,
                    why = forward(stream, hints) => why,
                }
            }
            Err(error) => error.to_string(),
        };
        tracing::warn!(store = %address(client), %why, "no hints from Redis");
        let _ = publish.send_replace(Err(why));
        sleep(backoff.pause()).await;
    }
}

async fn subscribe(client: &Client) -> redis::RedisResult<PubSub> {
    let subscribe = async {
        let mut subscription = client.get_async_pubsub().await?;
        subscription.psubscribe(format!("{CHANNEL}*")).await?;
        Ok(subscription)
    };
    timeout(CONNECT_TIMEOUT, subscribe)
        .await
        .unwrap_or_else(|_| Err(timed_out()))
}

/// Returns when there is no sign of life any more.
async fn heartbeat(mut sink: PubSubSink) -> String {
    loop {
        sleep(HEARTBEAT).await;
        match timeout(RESPONSE_TIMEOUT, sink.ping::<redis::Value>()).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => return error.to_string(),
            Err(_) => return format!("no sign of life within {} s", RESPONSE_TIMEOUT.as_secs()),
        }
    }
}

/// Returns when the connection is gone.
async fn forward(stream: impl Stream<Item = Msg>, hints: &broadcast::Sender<Hint>) -> String {
    let mut stream = std::pin::pin!(stream);
    while let Some(message) = stream.next().await {
        if let Some(hint) = hint(&message) {
            // An error means that nobody listens now.
            let _ = hints.send(hint);
        }
    }
    "the connection was closed".into()
}

/// Anyone may publish on our channels: what is not a hint is passed over.
fn hint(message: &Msg) -> Option<Hint> {
    let contest = message.get_channel_name().strip_prefix(CHANNEL)?;
    match serde_json::from_slice::<Hint>(message.get_payload_bytes()) {
        Ok(hint) => Some(Hint {
            contest: contest.to_owned(),
            ..hint
        }),
        Err(error) => {
            tracing::debug!(contest, %error, "a message that is no hint");
            None
        }
    }
}
