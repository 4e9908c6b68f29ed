//! `GET /changes`: what happens to entities, as server-sent events, while it happens.
//!
//! Whoever comes back with the id of the last event that it has seen goes on after it. What is not
//! kept any more is refused with a word, never skipped.

use std::time::Duration;

use bytes::Bytes;
use hyper::{Method, StatusCode};
use keyloom::Db;
use keyloom::events::{Event, EventPage, Position};
use keyloom_model::{EntityId, Model};
use serde_json::json;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout, timeout_at};

use super::super::access::Role;
use super::super::call::{Call, Reply, bad_parameter, cut};
use super::super::openapi::{Answer, Description, Group, header, query};
use super::super::operation::{Access, Action, Operation, Running, Segment};
use super::super::problem::{Kind, Problem};
use super::super::state::State;
use crate::http::layers::EVENT_STREAM;
use crate::http::refusal::Refusal;
use crate::http::streams::StreamPlace;
use crate::race::{Either, race};

/// How many changes of rows are looked at together.
const LOOKED: usize = 256;
/// Pieces that wait for a client that reads slowly.
const WAITING_MAX: usize = 16;
/// After so long without an event a sign of life is sent, so that nobody in between hangs up.
const QUIET_MAX: Duration = Duration::from_secs(15);
/// A client that takes nothing for so long has gone.
const PATIENCE: Duration = Duration::from_secs(60);

const DETAILS: &str = "\
Each event is a change of one entity: `event` names the entity and the change, as in `task.update`; \
`data` is JSON with the entity before (`old`) and after (`new`); `id` is the position. To resume, send \
the last position in `Last-Event-ID`, as browsers do automatically, or in `after`; without one, the \
stream starts with the next change. A position that is no longer available is answered with 410: read \
the data again and start without a position.";

/// Of these entities.
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
        let names: Vec<&str> = self.0.iter().map(|id| model.entity(*id).name.as_str()).collect();
        let kinds = json!({ "type": "array", "items": { "enum": names } });
        let position = json!({ "type": "string" });
        let about = "Return only changes after this position.";
        Description {
            details: vec![DETAILS.to_owned()],
            query: vec![
                query("entity", "Return only events of this entity; can be repeated.", kinds),
                query("after", about, position.clone()),
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

/// A stream that is being sent.
struct Stream {
    db: Db,
    /// Only events of these kinds.
    entities: Vec<String>,
    to: mpsc::Sender<Bytes>,
    news: watch::Receiver<u64>,
    stopped: watch::Receiver<bool>,
    /// Given back when the stream ends.
    _place: StreamPlace,
}

/// Why a stream goes on.
enum Woken {
    News,
    /// Nothing was said for a while.
    Quiet,
    /// The server stops, or the client has gone.
    End,
}

async fn run(state: &State, call: &Call, followed: &[EntityId]) -> Result<Reply, Problem> {
    call.check_parameters(&["entity", "after"])?;
    let entities = entities(call, &state.model, followed)?;
    let after = match position(call)? {
        Some(after) => after,
        None => call.db.newest_position().await?,
    };
    // Before the first look, so that nothing happens unnoticed between the two.
    let news = state.news.follow();
    // What is wrong is an answer of its own; later it could only end the stream.
    let first = call.db.events(&after, LOOKED).await?;
    let reply = Reply { media_type: EVENT_STREAM, ..Reply::empty(StatusCode::OK) };
    if call.method == Method::HEAD {
        return Ok(reply);
    }
    let place = call.origin.edge.streams.enter(call.origin.ip());
    let place = place.ok_or_else(|| Problem::from(Refusal::TooManyStreams))?;
    let (to, pieces) = mpsc::channel(WAITING_MAX);
    let (db, stopped) = (call.db.clone(), state.is_stopped.subscribe());
    let stream = Stream { db, entities, to, news, stopped, _place: place };
    tokio::spawn(stream.run(first));
    Ok(Reply { pieces: Some(pieces), ..reply })
}

/// The kinds of entities to tell of: those that were asked for, or all that the caller can read.
fn entities(call: &Call, model: &Model, followed: &[EntityId]) -> Result<Vec<String>, Problem> {
    let mut entities = vec![];
    for (_, value) in call.parameters.iter().filter(|(name, _)| name == "entity") {
        match model.find(value).filter(|entity| followed.contains(entity)) {
            Some(_) => entities.push(value.clone()),
            None => {
                let value = cut(value);
                return Err(bad_parameter(format!("There is no entity `{value}` to tell of.")));
            }
        }
    }
    if entities.is_empty() {
        entities.extend(followed.iter().map(|id| model.entity(*id).name.clone()));
    }
    Ok(entities)
}

/// Where to go on: what a browser says by itself when it comes back, or what a client says.
fn position(call: &Call) -> Result<Option<Position>, Problem> {
    let header = call.headers.get("last-event-id").map(|value| value.to_str().unwrap_or("?"));
    let text = match (header, call.parameter("after")?) {
        (Some(text), _) | (None, Some(text)) => text,
        (None, None) => return Ok(None),
    };
    Ok(Some(text.parse().map_err(Problem::from)?))
}

impl Stream {
    async fn run(mut self, first: EventPage) {
        let mut page = first;
        // How long a client waits before it comes back.
        let mut said = self.send("retry: 1000\n\n".to_owned()).await.then(Instant::now);
        while let Some(last) = said {
            let (position, is_full) = (page.next.clone(), page.is_full);
            if !self.tell(page, &mut said).await {
                return;
            }
            if !is_full {
                match self.wait(last + QUIET_MAX).await {
                    Woken::News => {}
                    Woken::Quiet => {
                        // The position goes along, so that whoever comes back looks at less.
                        let alive = self.send(format!("id: {position}\n: nothing new\n\n")).await;
                        said = alive.then(Instant::now);
                    }
                    Woken::End => return,
                }
            }
            page = match self.db.events(&position, LOOKED).await {
                Ok(page) => page,
                // Coming back, the client is told why.
                Err(_) => return,
            };
        }
    }

    /// Waits until there may be something to say.
    async fn wait(&mut self, quiet_until: Instant) -> Woken {
        let Stream { news, stopped, to, .. } = self;
        let stop = async { stopped.wait_for(|is_stopped| *is_stopped).await.is_ok() };
        let end = race(stop, to.closed());
        match timeout_at(quiet_until, race(end, news.changed())).await {
            Err(_) => Woken::Quiet,
            Ok(Either::Right(Ok(()))) => Woken::News,
            Ok(Either::Left(_) | Either::Right(Err(_))) => Woken::End,
        }
    }

    /// Sends the events of a page; whether there is somebody to send to.
    async fn tell(&self, page: EventPage, said: &mut Option<Instant>) -> bool {
        for event in page.events {
            if self.entities.contains(&event.entity) {
                if !self.send(frame(&event)).await {
                    return false;
                }
                *said = Some(Instant::now());
            }
        }
        !self.to.is_closed()
    }

    async fn send(&self, text: String) -> bool {
        matches!(timeout(PATIENCE, self.to.send(Bytes::from(text))).await, Ok(Ok(())))
    }
}

/// JSON has no line breaks of its own, so an event is three lines.
fn frame(event: &Event) -> String {
    let change = event.change.as_str();
    format!(
        "id: {}\nevent: {}.{change}\ndata: {}\n\n",
        event.position,
        event.entity,
        event.to_json()
    )
}
