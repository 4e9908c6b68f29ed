//! `GET /changes`: streams changes of entities as server-sent events.
//!
//! A client that reconnects with the id of the last event it has seen continues after it. A position that
//! is no longer retained is an error; changes are never skipped.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::Method;
use keyloom::events::{Event, EventPage, Position};
use keyloom::{Db, Error};
use keyloom_model::{EntityId, Model};
use serde_json::{Value as Json, json};
use tokio::sync::watch;
use tokio::time::Instant;

use super::super::call::{Call, Reply, bad_parameter, cut, quoted};
use super::super::change_signal::{ChangeSignal, Changed};
use super::super::event_stream::{EventStream, QUIET_MAX, RETRY, Source, Woken};
use super::super::openapi::{Answer, Description, Group, header, query};
use super::super::operation::{Access, Action, Operation, Running};
use super::super::problem::{Kind, Problem};
use super::super::role::Role;
use super::super::segment::Segment;
use super::super::state::State;

/// Maximum number of row changes per read.
pub(super) const PAGE_LIMIT: usize = 256;
/// The parameter that selects entities.
pub(super) const ENTITY: &str = "entity";
/// The parameter with the position to resume after.
pub(super) const AFTER: &str = "after";
/// How often a stream reads again when there are changes that its read did not return: pages of a
/// DynamoDB stream can be empty although changes follow.
const READ_AGAIN: Duration = Duration::from_millis(500);
/// Maximum number of such reads.
const READS_AGAIN_MAX: u32 = 8;

const DETAILS: &str = "\
Each event is a change of one entity: `event` names the entity and the change, as in `task.update`; \
`data` is JSON with the entity before (`old`) and after (`new`); `id` is the position. To resume, send \
the last position in `Last-Event-ID`, as browsers do automatically, or in `after`; without one, the \
stream starts with the next change. A position that is no longer available is answered with 410: read \
the data again and start without a position.";

/// Streams changes of these entities.
#[derive(Debug)]
struct Changes(Vec<EntityId>);

pub(super) fn changes(followed: Vec<EntityId>) -> Operation {
    let path = Segment::path("/changes");
    Operation::new("changes".to_owned(), Method::GET, path, Changes(followed))
}

impl Action for Changes {
    fn access(&self) -> Access {
        Access::Role(Role::Reader)
    }

    fn describe(&self, model: &Model) -> Description {
        let kinds = entity_schema(model, &self.0);
        let position = json!({ "type": "string" });
        let about = "Return only changes after this position.";
        Description {
            details: vec![DETAILS.to_owned()],
            query: vec![
                query(ENTITY, "Return only events of this entity; can be repeated.", kinds),
                query(AFTER, about, position.clone()),
            ],
            headers: vec![header(
                "Last-Event-ID",
                "Same as `after`; browsers send it when they reconnect.",
                position,
            )],
            answers: vec![Answer::text("text/event-stream")],
            problems: vec![Kind::BadParameter, Kind::ChangesGone, Kind::PositionUnknown],
            is_of_all_entities: true,
            ..Description::new(Group::Service, "Stream changes as server-sent events")
        }
    }

    fn run<'c>(&'c self, state: &'c State, call: &'c Call) -> Running<'c> {
        Box::pin(run(state, call, &self.0))
    }

    fn is_stream(&self) -> bool {
        true
    }
}

/// An open stream.
struct Stream {
    db: Db,
    /// The entities whose events are sent.
    entities: Vec<String>,
    signal: Arc<ChangeSignal>,
    changes: watch::Receiver<Changed>,
    out: EventStream,
    /// The position after everything that was read.
    position: Position,
    /// What was read and is not sent yet.
    events: VecDeque<Event>,
    /// Whether there may be more to read at once.
    is_full: bool,
    /// When something was sent last; none before the first chunk.
    sent: Option<Instant>,
    /// How often to read again although nothing has changed.
    reads_left: u32,
}

async fn run(state: &State, call: &Call, followed: &[EntityId]) -> Result<Reply, Problem> {
    call.check_parameters(&[ENTITY, AFTER])?;
    let entities = chosen_entities(call, &state.model, followed)?;
    let signal = state.change_signal.clone();
    let (after, begun) = match position(call)? {
        Some(after) => (after, None),
        None => {
            let begun = signal.begin().await?;
            (begun.newest_position().await?, Some(begun))
        }
    };
    // Before the first read, so that no change between the two is missed.
    let changes = signal.subscribe(begun);
    // An error of the first read is a response of its own; later errors can only end the stream.
    let first = call.db.events(&after, PAGE_LIMIT).await?;
    if call.method == Method::HEAD {
        return Ok(EventStream::head());
    }
    let out = EventStream::open(state, call)?;
    let EventPage { events, next: position, is_full, .. } = first;
    Ok(EventStream::reply(Stream {
        db: call.db.clone(),
        entities,
        signal,
        changes,
        out,
        position,
        events: events.into(),
        is_full,
        sent: None,
        reads_left: 0,
    }))
}

/// The schema of the parameter that selects entities.
pub(super) fn entity_schema(model: &Model, followed: &[EntityId]) -> Json {
    let names: Vec<&str> = followed.iter().map(|id| model.entity(*id).name.as_str()).collect();
    json!({ "type": "array", "items": { "type": "string", "enum": names } })
}

/// The entities whose events are sent: the requested ones, or all that the caller can read.
pub(super) fn chosen_entities(
    call: &Call,
    model: &Model,
    followed: &[EntityId],
) -> Result<Vec<String>, Problem> {
    let mut entities = vec![];
    for (_, value) in call.parameters.iter().filter(|(name, _)| name == ENTITY) {
        match model.find(value).filter(|entity| followed.contains(entity)) {
            Some(_) => entities.push(value.clone()),
            None => {
                let value = cut(value);
                let known: Vec<&str> =
                    followed.iter().map(|id| model.entity(*id).name.as_str()).collect();
                return Err(bad_parameter(format!(
                    "`entity` must be one of {}, not `{value}`.",
                    quoted(&known)
                )));
            }
        }
    }
    if entities.is_empty() {
        entities.extend(followed.iter().map(|id| model.entity(*id).name.clone()));
    }
    Ok(entities)
}

/// The position to resume after: from `Last-Event-ID`, which browsers send, or from `after`.
fn position(call: &Call) -> Result<Option<Position>, Problem> {
    let header = call.headers.get("last-event-id").map(|value| value.to_str().unwrap_or("?"));
    match header {
        Some(text) => Ok(Some(text.parse().map_err(Problem::from)?)),
        None => resumed_after(call),
    }
}

/// The position in `after`.
pub(super) fn resumed_after(call: &Call) -> Result<Option<Position>, Problem> {
    let Some(text) = call.parameter(AFTER)? else { return Ok(None) };
    Ok(Some(text.parse().map_err(Problem::from)?))
}

impl Source for Stream {
    async fn next(&mut self) -> Option<Bytes> {
        let chunk = match self.sent {
            None => Bytes::from_static(RETRY),
            Some(last) => self.next_after(last).await?,
        };
        self.sent = Some(Instant::now());
        Some(chunk)
    }
}

impl Stream {
    /// The next chunk after one that was sent at a time.
    async fn next_after(&mut self, last: Instant) -> Option<Bytes> {
        loop {
            while let Some(event) = self.events.pop_front() {
                if self.entities.contains(&event.entity) {
                    return Some(frame(&event).into());
                }
            }
            if self.is_full {
                // There is nothing to wait for, however many pages follow.
                if !self.out.is_allowed().await {
                    return None;
                }
            } else {
                let quiet_until = match self.reads_left {
                    0 => last + QUIET_MAX,
                    _ => Instant::now() + READ_AGAIN,
                };
                match self.out.wait(quiet_until, self.changes.changed()).await {
                    Woken::Changed if self.db.is_shared() => self.reads_left = READS_AGAIN_MAX,
                    Woken::Changed => {}
                    Woken::Quiet if self.reads_left > 0 => self.reads_left -= 1,
                    // Includes the position, so that a client that reconnects reads less.
                    Woken::Quiet => {
                        // Whoever follows the feed for all streams is no further.
                        self.is_full = !self.signal.is_at(&self.position);
                        return Some(format!("id: {}\n: nothing new\n\n", self.position).into());
                    }
                    Woken::End => return None,
                }
            }
            // The client gets an error when it reconnects.
            self.read().await.ok()?;
        }
    }

    /// Reads what follows.
    async fn read(&mut self) -> Result<(), Error> {
        let position = self.position.clone();
        let EventPage { events, next, is_full, .. } = self.next_page(&position).await?;
        if next != position {
            self.reads_left = 0;
        }
        (self.events, self.position, self.is_full) = (events.into(), next, is_full);
        Ok(())
    }

    /// Returns the next events after a position: what was read for all streams, if this one has
    /// everything before that.
    async fn next_page(&mut self, position: &Position) -> Result<EventPage, Error> {
        let read = self.changes.borrow_and_update().read.clone();
        let Some(read) = read.filter(|read| read.after == *position) else {
            return self.db.events(position, PAGE_LIMIT).await;
        };
        let mut page = read.page.clone();
        page.events.retain(|event| self.db.sees(event));
        // What follows was read, or is being read.
        page.is_full = false;
        Ok(page)
    }
}

/// Formats an event. The JSON has no line breaks, so it is three lines.
fn frame(event: &Event) -> String {
    let change = event.change.as_str();
    format!(
        "id: {}\nevent: {}.{change}\ndata: {}\n\n",
        event.position,
        event.entity,
        event.to_json()
    )
}
