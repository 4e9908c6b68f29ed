//! The entities of the model as types, with the fields that the hunt needs.

use keyloom::{Db, Error, Record, Value};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The status of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The hunt is running.
    Active,
    /// Somebody answered.
    Successful,
    /// Nobody answered.
    Failed,
    /// Somebody canceled it.
    Canceled,
}

impl Status {
    /// The value in the model.
    pub fn word(self) -> &'static str {
        match self {
            Status::Active => "active",
            Status::Successful => "successful",
            Status::Failed => "failed",
            Status::Canceled => "canceled",
        }
    }
}

/// A search.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Search {
    pub(crate) id: String,
    pub(crate) version: String,
    pub(crate) domain: String,
    pub(crate) contact: String,
    pub(crate) then: Vec<String>,
    pub(crate) status: Status,
    pub(crate) created: i64,
    pub(crate) message: Option<String>,
    pub(crate) patience_seconds: i64,
    pub(crate) stage: u32,
    pub(crate) step: i64,
    pub(crate) escalated: Vec<i64>,
    pub(crate) ended: Option<i64>,
}

impl Search {
    /// The contact of a stage, if there is one.
    pub(crate) fn contact_at(&self, stage: u32) -> Option<&str> {
        match usize::try_from(stage).ok()?.checked_sub(1) {
            None => Some(&self.contact),
            Some(index) => self.then.get(index).map(String::as_str),
        }
    }
}

/// A contact's method.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Method {
    pub(crate) id: String,
    pub(crate) kind: Kind,
    pub(crate) destination: String,
    pub(crate) wait_seconds: i64,
    pub(crate) enabled: bool,
    pub(crate) position: i64,
}

/// A message to a contact.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Attempt {
    pub(crate) id: String,
    pub(crate) stage: u32,
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) destination: String,
    pub(crate) created: i64,
    pub(crate) status: AttemptStatus,
    pub(crate) delivered: Option<i64>,
}

/// The status of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AttemptStatus {
    Waiting,
    Delivered,
    Dropped,
}

/// The channels of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A phone call through the provider.
    Call,
    /// A text message through the provider.
    Text,
    /// An email.
    Email,
    /// An HTTP request to a server of the contact.
    Webhook,
}

impl Kind {
    /// The value in the model.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Call => "call",
            Kind::Text => "text",
            Kind::Email => "email",
            Kind::Webhook => "webhook",
        }
    }
}

/// Reads an entity as a type, with its record; none if it does not exist.
pub(crate) async fn read<T: DeserializeOwned>(
    db: &Db,
    entity: &str,
    id: &str,
) -> Result<Option<(T, Record)>, Error> {
    match db.get(entity, id).await {
        Ok(Some(record)) => Ok(Some((record.to()?, record))),
        Ok(None) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A text field; empty if absent.
pub(crate) fn text<'r>(record: &'r Record, field: &str) -> &'r str {
    record.get(field).and_then(Value::as_s).unwrap_or_default()
}
