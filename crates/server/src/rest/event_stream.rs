//! What streams of server-sent events share: who may have one, sending to slow clients, and waiting.

use std::time::Duration;

use bytes::Bytes;
use hyper::StatusCode;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout, timeout_at};

use super::call::{Call, Reply};
use super::problem::Problem;
use super::state::State;
use super::stream_access::StreamAccess;
use crate::http::layers::EVENT_STREAM;
use crate::http::refusal::Refusal;
use crate::http::streams::StreamPermit;
use crate::race::{Either, race};

/// How long until a keep-alive is sent, so that proxies do not close the connection.
pub(super) const QUIET_MAX: Duration = Duration::from_secs(15);
/// A client that reads nothing for this long is considered gone.
const PATIENCE: Duration = Duration::from_secs(60);

/// An open stream.
#[derive(Debug)]
pub(super) struct EventStream {
    to: mpsc::Sender<Bytes>,
    stopped: watch::Receiver<bool>,
    access: StreamAccess,
    /// Released when the stream ends.
    _permit: StreamPermit,
}

/// Why a waiting stream wakes up.
pub(super) enum Woken {
    Changed,
    /// Nothing was sent for a while.
    Quiet,
    /// The server stops, the client is gone, or its token is no longer valid.
    End,
}

impl EventStream {
    /// Opens the stream of a call. At most so many chunks wait for a slow client.
    pub(super) fn open(
        state: &State,
        call: &Call,
        waiting_max: usize,
    ) -> Result<(EventStream, Reply), Problem> {
        let permit = call.origin.edge.streams.enter(call.origin.ip());
        let permit = permit.ok_or_else(|| Problem::from(Refusal::TooManyStreams))?;
        let (to, pieces) = mpsc::channel(waiting_max);
        let access = StreamAccess::new(call, state.tokens.clone());
        let stopped = state.is_stopped.subscribe();
        let reply = Reply { pieces: Some(pieces), ..EventStream::head() };
        Ok((EventStream { to, stopped, access, _permit: permit }, reply))
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
        let quiet_until = self.access.no_later(quiet_until);
        let EventStream { to, stopped, .. } = self;
        let stop = async { stopped.wait_for(|is_stopped| *is_stopped).await.is_ok() };
        let end = race(stop, to.closed());
        let woken = match timeout_at(quiet_until, race(end, changed)).await {
            Err(_) => Woken::Quiet,
            Ok(Either::Right(Ok(()))) => Woken::Changed,
            Ok(Either::Left(_) | Either::Right(Err(_))) => Woken::End,
        };
        if self.access.holds().await { woken } else { Woken::End }
    }

    /// Whether the client may have more.
    pub(super) async fn is_allowed(&mut self) -> bool {
        self.access.holds().await
    }

    /// Sends a chunk. Returns false if the client is gone.
    pub(super) async fn send(&self, chunk: impl Into<Bytes>) -> bool {
        matches!(timeout(PATIENCE, self.to.send(chunk.into())).await, Ok(Ok(())))
    }

    pub(super) fn is_closed(&self) -> bool {
        self.to.is_closed()
    }
}
