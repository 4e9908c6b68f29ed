//! What one client gets of a query that it follows.

use std::sync::Arc;

use bytes::Bytes;
use hyper::Method;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::super::call::{Call, Reply};
use super::super::event_stream::{EventStream, QUIET_MAX, RETRY, Source, Woken};
use super::super::problem::Problem;
use super::super::service::{RestService, Stopped};
use super::frame;
use super::query::{LiveQuery, Shown};
use super::run::Followed;
use super::seen::Seen;
use crate::fair::Weight;
use crate::http::refusal::Refusal;

/// Follows the query of a call. The first run can fail; later errors are events, and end the stream.
pub(in super::super) async fn follow(
    service: &Arc<RestService>,
    index: usize,
    call: Call,
) -> Result<Reply, Problem> {
    let stream = EventStream::open(&service.state, &call)?;
    let answer_time = call.exchange.origin.edge.limits.answer_time;
    let (is_head, resume) = (call.method == Method::HEAD, last_event_id(&call));
    let Followed { query, mut shown } = service.live.follow(service, index, &call);
    let ready = shown.wait_for(|shown| !matches!(shown, Shown::Nothing));
    match timeout(answer_time, ready).await {
        Ok(Ok(first)) => {
            if let Shown::Failed(problem) = &*first {
                return Err((**problem).clone());
            }
        }
        Ok(Err(_)) | Err(_) => return Err(Refusal::Overdue.into()),
    }
    if query.last().is_some_and(|seen| seen.is_nothing()) {
        check_exists(service, index, call).await?;
    }
    if is_head {
        return Ok(EventStream::head());
    }
    let sent = resume.as_deref().and_then(frame::resumed).and_then(|id| query.with_id(id));
    shown.mark_changed();
    Ok(EventStream::reply(LiveStream { query, shown, sent, stream, stage: Stage::New }))
}

/// Fails as the request without a stream does if the entity of a call does not exist: others may follow it until it
/// does again, but nobody begins to. What is shown may be a little older than what is there.
async fn check_exists(service: &Arc<RestService>, index: usize, call: Call) -> Result<(), Problem> {
    let exchange = call.exchange.clone();
    let edge = &exchange.origin.edge;
    let service = service.clone();
    let answered = async move { service.answer(call, index).await };
    match timeout(edge.limits.answer_time, edge.pool.run(Weight::of_body(0), answered)).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(Stopped::Problem(problem))) => Err(problem),
        Ok(Err(Stopped::Refusal(refusal))) => Err(refusal.into()),
        Err(_) => Err(Refusal::Overdue.into()),
    }
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
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing was sent yet.
    New,
    Open,
    /// There are no more chunks.
    Over,
}

impl Source for LiveStream {
    async fn next(&mut self) -> Option<Bytes> {
        match self.stage {
            Stage::New => {
                self.stage = Stage::Open;
                return Some(Bytes::from_static(RETRY));
            }
            Stage::Open => {}
            Stage::Over => return None,
        }
        loop {
            match self.stream.wait(Instant::now() + QUIET_MAX, self.shown.changed()).await {
                Woken::Changed => {
                    let events = self.catch_up();
                    if !events.is_empty() {
                        return Some(events);
                    }
                    if self.stage == Stage::Over {
                        return None;
                    }
                }
                Woken::Quiet => return Some(Bytes::from_static(b": nothing new\n\n")),
                Woken::End => return None,
            }
        }
    }
}

impl LiveStream {
    /// What the client lacks: empty if it has everything.
    fn catch_up(&mut self) -> Bytes {
        let shown = self.shown.borrow_and_update().clone();
        let seen = match shown {
            Shown::Nothing => return Bytes::new(),
            Shown::Seen(seen) => seen,
            Shown::Failed(problem) => {
                self.stage = Stage::Over;
                return Bytes::from(frame::error(&problem.to_json("").to_string()));
            }
            Shown::Over => {
                self.stage = Stage::Over;
                return Bytes::new();
            }
        };
        let events = match &self.sent {
            Some(sent) => self.query.difference(sent, &seen),
            None => Bytes::from(frame::page(&seen)),
        };
        self.sent = Some(seen);
        events
    }
}
