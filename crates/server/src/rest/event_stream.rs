//! What streams of server-sent events share: who may have one, and waiting. A stream runs as part of its
//! connection, which asks for a chunk when it has sent the one before: nothing is queued for slow clients.

use std::pin::{Pin, pin};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::unfold;
use hyper::StatusCode;
use tokio::sync::watch;
use tokio::time::{Instant, Sleep, sleep_until};

use super::call::{Call, Chunks, Reply};
use super::problem::Problem;
use super::state::State;
use super::stream_access::StreamAccess;
use crate::http::layers::EVENT_STREAM;
use crate::http::refusal::Refusal;
use crate::http::streams::StreamPermit;
use crate::race::{Either, race};

/// How long until a keep-alive is sent, so that proxies do not close the connection.
pub(super) const QUIET_MAX: Duration = Duration::from_secs(15);
/// The first chunk: how long a client waits before it reconnects.
pub(super) const RETRY: &[u8] = b"retry: 1000\n\n";

/// What makes the chunks of a stream, one after the other.
pub(super) trait Source: Send + 'static {
    /// The next chunk; none if the stream ends.
    fn next(&mut self) -> impl Future<Output = Option<Bytes>> + Send;
}

/// An open stream.
#[derive(Debug)]
pub(super) struct EventStream {
    is_over: watch::Receiver<bool>,
    access: StreamAccess,
    quiet: Pin<Box<Sleep>>,
    /// Released when the stream ends.
    _permit: StreamPermit,
}

/// Why a waiting stream wakes up.
pub(super) enum Woken {
    Changed,
    /// Nothing was sent for a while.
    Quiet,
    /// The server stops or serves another model, or the token is no longer valid.
    End,
}

impl EventStream {
    /// Opens the stream of a call.
    pub(super) fn open(state: &State, call: &Call) -> Result<EventStream, Problem> {
        let permit = call.exchange.origin.edge.streams.enter(call.exchange.origin.ip());
        let permit = permit.ok_or_else(|| Problem::from(Refusal::TooManyStreams))?;
        let access = StreamAccess::new(call, state.tokens.clone());
        let is_over = state.is_over.subscribe();
        let quiet = Box::pin(sleep_until(Instant::now()));
        Ok(EventStream { is_over, access, quiet, _permit: permit })
    }

    /// The reply that a source makes.
    pub(super) fn reply(source: impl Source) -> Reply {
        let chunks = unfold(source, |mut source| async move {
            let chunk = source.next().await?;
            Some((chunk, source))
        });
        Reply { chunks: Some(Chunks(Box::pin(chunks))), ..EventStream::head() }
    }

    /// The reply without its body.
    pub(super) fn head() -> Reply {
        Reply { media_type: EVENT_STREAM, ..Reply::empty(StatusCode::OK) }
    }

    /// Waits until there may be something to send.
    pub(super) async fn wait<E>(
        &mut self,
        quiet_until: Instant,
        changed: impl Future<Output = Result<(), E>>,
    ) -> Woken {
        let mut changed = pin!(changed);
        loop {
            let no_later = self.access.no_later(quiet_until);
            let EventStream { is_over, access, quiet, .. } = self;
            // A later time costs nothing until the earlier one has come.
            quiet.as_mut().reset(no_later);
            let over = async { is_over.wait_for(|is_over| *is_over).await.is_ok() };
            let told = race(race(over, changed.as_mut()), race(access.revocation(), quiet)).await;
            let woken = match told {
                Either::Left(Either::Right(Ok(()))) => Some(Woken::Changed),
                Either::Left(Either::Left(_) | Either::Right(Err(_))) => Some(Woken::End),
                // Another token than this one, mostly.
                Either::Right(Either::Left(())) => None,
                Either::Right(Either::Right(())) => Some(Woken::Quiet),
            };
            if !self.access.holds().await {
                return Woken::End;
            }
            if let Some(woken) = woken {
                return woken;
            }
        }
    }

    /// Whether the client may have more.
    pub(super) async fn is_allowed(&mut self) -> bool {
        self.access.holds().await
    }
}
