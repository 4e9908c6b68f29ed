//! What has become of a search, as people are told it: its status, its messages, and what happened
//! in order.

use keyloom::{Db, Error, Number, Record, Value};
use keyloom_model::FieldType;
use serde_json::{Value as Json, json};

use crate::rows::{Attempt, AttemptStatus, Search, read, text};
use crate::steps::delivery_id;

/// As many messages as are shown.
const ATTEMPTS_MAX: u32 = 500;

/// A search with everything that people are told of it.
#[derive(Debug)]
pub(crate) struct Timeline {
    pub(crate) search: Search,
    /// What it is about, who ended it and how.
    pub(crate) record: Record,
    /// Whom it looks for.
    pub(crate) name: String,
    pub(crate) sendings: Vec<Sending>,
}

/// A message, and how far it has come.
#[derive(Debug)]
pub(crate) struct Sending {
    pub(crate) attempt: Attempt,
    pub(crate) state: State,
    /// How often it was tried, and what was wrong the last time, while that is known.
    pub(crate) tries: i64,
    pub(crate) error: Option<String>,
    pub(crate) is_answered: bool,
}

/// How far a message has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It is about to be sent.
    Waiting,
    /// It was tried, and will be again.
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
        let contact = db.get("contact", &search.contact).await?;
        let name = contact.as_ref().map_or("", |contact| text(contact, "name")).to_owned();
        let list = db.list("attempt", "by_search").by("search", search.id.as_str());
        let attempts = list.limit(ATTEMPTS_MAX).read().await?;
        let mut sendings = vec![];
        for attempt in &attempts.items {
            sendings.push(Sending::read(db, attempt).await?);
        }
        Ok(Some(Timeline { search, record, name, sendings }))
    }

    /// What happened, in order: times and sentences.
    pub(crate) fn events(&self) -> Vec<(i64, String)> {
        let begin = self.search.created;
        let mut events = vec![(begin, format!("The search for {} was opened.", self.name))];
        for (index, time) in self.search.escalated.iter().enumerate() {
            events.push((*time, format!("Nobody answered; on to stage {}.", index + 1)));
        }
        for sending in &self.sendings {
            let Attempt { name, kind, destination, created, delivered, .. } = &sending.attempt;
            let (kind, to) = (kind.word(), format!("{name} at {destination}"));
            events.push((*created, format!("A message goes to {to} ({kind}).")));
            events.extend(delivered.map(|time| (time, format!("It has come to {to} ({kind})."))));
        }
        events.sort_by_key(|(time, _)| *time);
        if let Some(ended) = self.search.ended {
            events.push((ended, self.end()));
        }
        events
    }

    /// How it ended, in a sentence.
    fn end(&self) -> String {
        let word = |name| match self.record.get("resolution") {
            Some(Value::M(resolution)) => resolution.get(name).and_then(Value::as_s),
            _ => None,
        };
        let status = self.search.status.word();
        let by = word("by").map(|by| format!(" by {by}")).unwrap_or_default();
        let why = word("reason").or(word("note"));
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        format!("The search ended {status}{by}{why}")
    }

    pub(crate) fn to_json(&self) -> Json {
        let events = self.events().into_iter();
        let events: Vec<Json> =
            events.map(|(time, text)| json!({ "time": time_text(time), "text": text })).collect();
        json!({
            "search": self.search.id,
            "status": self.search.status.word(),
            "stage": self.search.stage,
            "name": self.name,
            "attempts": self.sendings.iter().map(Sending::to_json).collect::<Vec<Json>>(),
            "events": events,
        })
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
            "tries": self.tries,
            "error": self.error,
            "answered": self.is_answered,
        })
    }
}

/// A time as the model shows it.
pub(crate) fn time_text(time_ms: i64) -> String {
    let shown = FieldType::Time.show(&Value::from(time_ms));
    shown.as_s().unwrap_or_default().to_owned()
}
