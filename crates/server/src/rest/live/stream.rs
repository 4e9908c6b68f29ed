//! What one client gets of a query that it follows.

use std::sync::Arc;

use bytes::Bytes;
use hyper::Method;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::super::call::{Call, Reply};
use super::super::event_stream::{EventStream, QUIET_MAX, Woken};
use super::super::problem::Problem;
use super::super::service::RestService;
use super::frame;
use super::query::{LiveQuery, Shown};
use super::run::Followed;
use super::seen::Seen;
use crate::http::refusal::Refusal;

/// Maximum number of groups of events that wait for a slow client; what happens meanwhile is one group.
const WAITING_MAX: usize = 2;

/// Follows the query of a call. The first run can fail; later errors are events, and end the stream.
pub(in super::super) async fn follow(
    service: &Arc<RestService>,
    index: usize,
    call: Call,
) -> Result<Reply, Problem> {
    let (stream, reply) = EventStream::open(&service.state, &call, WAITING_MAX)?;
    let answer_time = call.origin.edge.limits.answer_time;
    let (is_head, resume) = (call.method == Method::HEAD, last_event_id(&call));
    let Followed { query, mut shown } = service.live.follow(service, index, call);
    let ready = shown.wait_for(|shown| !matches!(shown, Shown::Nothing));
    match timeout(answer_time, ready).await {
        Ok(Ok(first)) => {
            if let Shown::Failed(problem) = &*first {
                return Err((**problem).clone());
            }
        }
        Ok(Err(_)) | Err(_) => return Err(Refusal::Overdue.into()),
    }
    if is_head {
        return Ok(EventStream::head());
    }
    let sent = resume.as_deref().and_then(frame::resumed).and_then(|id| query.with_id(id));
    shown.mark_changed();
    tokio::spawn(LiveStream { query, shown, sent, stream }.run());
    Ok(reply)
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
    stream: EventStream,
}

impl LiveStream {
    async fn run(mut self) {
        // How long a client waits before it reconnects.
        let mut is_open = self.stream.send("retry: 1000\n\n").await;
        while is_open {
            let woken = self.stream.wait(Instant::now() + QUIET_MAX, self.shown.changed()).await;
            is_open = match woken {
                Woken::Changed => self.catch_up().await,
                Woken::Quiet => self.stream.send(": nothing new\n\n").await,
                Woken::End => false,
            };
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
                self.stream.send(frame::error(&problem)).await;
                return false;
            }
        };
        let events = match &self.sent {
            Some(sent) => self.query.difference(sent, &seen),
            None => Bytes::from(frame::page(&seen)),
        };
        self.sent = Some(seen);
        events.is_empty() || self.stream.send(events).await
    }
}
