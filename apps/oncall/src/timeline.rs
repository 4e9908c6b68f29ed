//! What has become of a search, for people to read: its status, its messages, what has happened in
//! order and what comes next. `story.rs` has the sentences. Reads only.

use keyloom::{Db, Error, Number, Record, Value};
use serde_json::{Value as Json, json};

use crate::message::said;
use crate::rows::{Attempt, AttemptStatus, Search, read, text};
use crate::steps::{Upcoming, delivery_id, upcoming};
use crate::time::time_text;

/// How many messages a timeline has at most.
const ATTEMPTS_MAX: u32 = 500;

/// A search with everything there is to tell of it.
#[derive(Debug)]
pub(crate) struct Timeline {
    pub(crate) search: Search,
    pub(crate) record: Record,
    /// The names of the contacts, in the order in which they have their turn.
    pub(crate) names: Vec<String>,
    pub(crate) sendings: Vec<Sending>,
    pub(crate) next: Option<Upcoming>,
}

/// A message, and how its delivery goes.
#[derive(Debug)]
pub(crate) struct Sending {
    pub(crate) attempt: Attempt,
    pub(crate) state: State,
    /// How often delivery was tried, and the last error. Unknown once it is over.
    pub(crate) tries: i64,
    pub(crate) error: Option<String>,
    pub(crate) is_answered: bool,
}

/// How the delivery of a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It is about to be sent.
    Waiting,
    /// It failed, and is tried again.
    Retrying,
    /// It has arrived.
    Delivered,
    /// It is not tried any more: a dead letter.
    Failed,
    /// It was not sent, because the search had ended.
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
    /// Reads it; none if there is no such search.
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
    pub(crate) fn said(&self) -> String {
        said(&self.search, self.record.get("subject"))
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
            "message": self.said(),
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

/// The name of a contact; empty if it is gone, or was never there.
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
