//! What one client gets of a query that it follows.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::{Method, StatusCode};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout, timeout_at};

use super::super::call::{Call, Reply};
use super::super::problem::Problem;
use super::super::service::RestService;
use super::super::stream_access::StreamAccess;
use super::frame;
use super::query::{LiveQuery, Shown};
use super::run::Followed;
use super::seen::Seen;
use crate::http::layers::EVENT_STREAM;
use crate::http::refusal::Refusal;
use crate::http::streams::StreamPermit;
use crate::race::{Either, race};

/// How long until a keep-alive is sent, so that proxies do not close the connection.
const QUIET_MAX: Duration = Duration::from_secs(15);
/// A client that reads nothing for this long is considered gone.
const PATIENCE: Duration = Duration::from_secs(60);
/// Maximum number of groups of events that wait for a slow client; what happens meanwhile is one group.
const WAITING_MAX: usize = 2;

/// Follows the query of a call. The first run can fail; later errors are events, and end the stream.
pub(in super::super) async fn follow(
    service: &Arc<RestService>,
    index: usize,
    call: Call,
) -> Result<Reply, Problem> {
    let edge = call.origin.edge.clone();
    let permit = edge.streams.enter(call.origin.ip());
    let permit = permit.ok_or_else(|| Problem::from(Refusal::TooManyStreams))?;
    let access = StreamAccess::new(&call, service.state.tokens.clone());
    let (is_head, resume) = (call.method == Method::HEAD, last_event_id(&call));
    let Followed { query, mut shown } = service.live.follow(service, index, call);
    let reply = Reply { media_type: EVENT_STREAM, ..Reply::empty(StatusCode::OK) };
    let ready = shown.wait_for(|shown| !matches!(shown, Shown::Nothing));
    match timeout(edge.limits.answer_time, ready).await {
        Ok(Ok(first)) => {
            if let Shown::Failed(problem) = &*first {
                return Err((**problem).clone());
            }
        }
        Ok(Err(_)) | Err(_) => return Err(Refusal::Overdue.into()),
    }
    if is_head {
        return Ok(reply);
    }
    let sent = resume.as_deref().and_then(frame::resumed).and_then(|id| query.with_id(id));
    let (to, pieces) = mpsc::channel(WAITING_MAX);
    let stopped = service.state.is_stopped.subscribe();
    shown.mark_changed();
    let stream = LiveStream { query, shown, sent, to, stopped, access, _permit: permit };
    tokio::spawn(stream.run());
    Ok(Reply { pieces: Some(pieces), ..reply })
}

fn last_event_id(call: &Call) -> Option<String> {
    let id = call.headers.get("last-event-id")?;
    id.to_str().ok().map(str::to_owned)
}

/// An open stream.
struct LiveStream {
    query: Arc<LiveQuery>,
    shown: watch::Receiver<Shown>,
    /// What the client has.
    sent: Option<Arc<Seen>>,
    to: mpsc::Sender<Bytes>,
    stopped: watch::Receiver<bool>,
    access: StreamAccess,
    /// Released when the stream ends.
    _permit: StreamPermit,
}

/// Why a waiting stream wakes up.
enum Woken {
    Changed,
    /// Nothing was sent for a while.
    Quiet,
    /// The server stops, or the client is gone.
    End,
}

impl LiveStream {
    async fn run(mut self) {
        // How long a client waits before it reconnects.
        let mut is_open = self.send(Bytes::from_static(b"retry: 1000\n\n")).await;
        while is_open {
            let woken = self.wait().await;
            is_open = match woken {
                _ if !self.access.holds().await => false,
                Woken::Changed => self.catch_up().await,
                Woken::Quiet => self.send(Bytes::from_static(b": nothing new\n\n")).await,
                Woken::End => false,
            };
        }
    }

    async fn wait(&mut self) -> Woken {
        let quiet_until = self.access.no_later(Instant::now() + QUIET_MAX);
        let LiveStream { shown, stopped, to, .. } = self;
        let stop = async { stopped.wait_for(|is_stopped| *is_stopped).await.is_ok() };
        let end = race(stop, to.closed());
        match timeout_at(quiet_until, race(end, shown.changed())).await {
            Err(_) => Woken::Quiet,
            Ok(Either::Right(Ok(()))) => Woken::Changed,
            Ok(Either::Left(_) | Either::Right(Err(_))) => Woken::End,
        }
    }

    /// Sends what the client lacks. Returns whether the stream goes on.
    async fn catch_up(&mut self) -> bool {
        let shown = self.shown.borrow_and_update().clone();
        let seen = match shown {
            Shown::Nothing => return true,
            Shown::Seen(seen) => seen,
            Shown::Failed(problem) => {
                let problem = problem.to_json("").to_string();
                self.send(Bytes::from(frame::error(&problem))).await;
                return false;
            }
        };
        let events = match &self.sent {
            Some(sent) => self.query.difference(sent, &seen),
            None => Bytes::from(frame::page(&seen)),
        };
        self.sent = Some(seen);
        events.is_empty() || self.send(events).await
    }

    async fn send(&self, bytes: Bytes) -> bool {
        matches!(timeout(PATIENCE, self.to.send(bytes)).await, Ok(Ok(())))
    }
}
