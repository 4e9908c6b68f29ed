//! The timeline of a search: status, messages, events in order, and the next move. `story.rs` has the
//! sentences. Read-only.

use keyloom::{Db, Error, Number, Record, Value};
use serde_json::{Value as Json, json};

use crate::jobs::delivery_id;
use crate::message::message_text;
use crate::rows::{Attempt, AttemptStatus, Search, read, text};
use crate::steps::{Upcoming, upcoming};
use crate::time::time_text;

/// The maximum number of messages in a timeline.
const ATTEMPTS_MAX: u32 = 500;

/// A search with its messages and next move.
#[derive(Debug)]
pub(crate) struct Timeline {
    pub(crate) search: Search,
    pub(crate) record: Record,
    /// The names of the contacts, in order of escalation.
    pub(crate) names: Vec<String>,
    pub(crate) sendings: Vec<Sending>,
    pub(crate) next: Option<Upcoming>,
}

/// A message with the state of its delivery.
#[derive(Debug)]
pub(crate) struct Sending {
    pub(crate) attempt: Attempt,
    pub(crate) state: State,
    /// The number of delivery attempts; like the last error, unknown once delivery has ended.
    pub(crate) tries: i64,
    pub(crate) error: Option<String>,
    pub(crate) is_answered: bool,
}

/// The state of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Not sent yet.
    Waiting,
    /// Failed, will be retried.
    Retrying,
    Delivered,
    /// Failed permanently: a dead letter.
    Failed,
    /// Not sent, because the search had ended.
    Dropped,
}

impl State {
    pub(crate) fn word(self) -> &'static str {
        match self {
            State::Waiting => "waiting",
            State::Retrying => "retrying",
            State::Delivered => "delivered",
            State::Failed => "failed",
            State::Dropped => "dropped",
        }
    }
}

impl Timeline {
    /// Reads the timeline; none if the search does not exist.
    pub(crate) async fn read(db: &Db, search: &str) -> Result<Option<Timeline>, Error> {
        let Some((search, record)) = read::<Search>(db, "search", search).await? else {
            return Ok(None);
        };
        let mut names = vec![];
        for contact in std::iter::once(&search.contact).chain(&search.then) {
            names.push(name(db, contact).await?);
        }
        let list = db.list("attempt", "by_search").by("search", search.id.as_str());
        let attempts = list.limit(ATTEMPTS_MAX).read().await?;
        let mut sendings = vec![];
        for attempt in &attempts.items {
            sendings.push(Sending::read(db, attempt).await?);
        }
        let next = upcoming(db, &search).await?;
        Ok(Some(Timeline { search, record, names, sendings, next }))
    }

    /// The text of its messages.
    pub(crate) fn message_text(&self) -> String {
        message_text(&self.search, self.record.get("subject"))
    }

    /// The name of the contact of a stage.
    pub(crate) fn name(&self, stage: usize) -> &str {
        self.names.get(stage).map_or("", String::as_str)
    }

    pub(crate) fn to_json(&self) -> Json {
        let time = |time_ms: Option<i64>| time_ms.map(time_text);
        let events = self.events().into_iter().map(|event| event.to_json());
        let next = self
            .next
            .as_ref()
            .map(|next| json!({ "time": time_text(next.time_ms), "text": self.plan(next) }));
        json!({
            "search": self.search.id,
            "status": self.search.status.word(),
            "message": self.message_text(),
            "created": time_text(self.search.created),
            "ended": time(self.search.ended),
            "stage": self.search.stage,
            "name": self.name(0),
            "names": self.names,
            "attempts": self.sendings.iter().map(Sending::to_json).collect::<Vec<Json>>(),
            "events": events.collect::<Vec<Json>>(),
            "next": next,
        })
    }
}

/// The name of a contact; empty if it does not exist.
async fn name(db: &Db, contact: &str) -> Result<String, Error> {
    match db.get("contact", contact).await {
        Ok(found) => Ok(found.as_ref().map_or("", |found| text(found, "name")).to_owned()),
        Err(Error::Id { .. }) => Ok(String::new()),
        Err(error) => Err(error),
    }
}

impl Sending {
    async fn read(db: &Db, record: &Record) -> Result<Sending, Error> {
        let attempt: Attempt = record.to()?;
        let is_answered = record.get("answer").is_some();
        let job = match attempt.status {
            AttemptStatus::Waiting => db.get("job", &delivery_id(&attempt.id)).await?,
            AttemptStatus::Delivered | AttemptStatus::Dropped => None,
        };
        let number =
            |job: &Record| job.get("attempts").and_then(Value::as_n).and_then(Number::to_i64);
        let tries = job.as_ref().and_then(number).unwrap_or_default();
        let error = job.as_ref().map(|job| text(job, "error")).filter(|error| !error.is_empty());
        let is_dead = job.as_ref().is_some_and(|job| text(job, "status") == "failed");
        let state = match attempt.status {
            AttemptStatus::Delivered => State::Delivered,
            AttemptStatus::Dropped => State::Dropped,
            AttemptStatus::Waiting if is_dead => State::Failed,
            AttemptStatus::Waiting if error.is_some() => State::Retrying,
            AttemptStatus::Waiting => State::Waiting,
        };
        let error = error.map(str::to_owned);
        Ok(Sending { attempt, state, tries, error, is_answered })
    }

    fn to_json(&self) -> Json {
        json!({
            "id": self.attempt.id,
            "stage": self.attempt.stage,
            "name": self.attempt.name,
            "kind": self.attempt.kind.word(),
            "destination": self.attempt.destination,
            "state": self.state.word(),
            "created": time_text(self.attempt.created),
            "delivered": self.attempt.delivered.map(time_text),
            "tries": self.tries,
            "error": self.error,
            "answered": self.is_answered,
        })
    }
}
