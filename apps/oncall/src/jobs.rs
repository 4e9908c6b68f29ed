//! The jobs of hunts: their kinds, ids and payloads. Ids are derived, so each job is scheduled once.

use keyloom::Error;
use keyloom::events::Job;
use serde::{Deserialize, Serialize};

use crate::hunt::Leg;

/// The kind of the jobs that run a step.
pub(crate) const STEP: &str = "step";
/// The kind of the jobs that deliver a message.
pub(crate) const DELIVER: &str = "deliver";
/// The prefix of errors that kept a message from being sent: its receiver could not accept it.
pub(crate) const UNSENT: &str = "Not sent: ";

/// The payload of a step.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Step {
    pub(crate) search: String,
    pub(crate) number: i64,
    pub(crate) leg: Leg,
}

/// The payload of a delivery.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Delivery {
    pub(crate) search: String,
    pub(crate) attempt: String,
}

/// A job, as far as its handler reads it.
#[derive(Deserialize)]
pub(crate) struct Payload<T> {
    pub(crate) payload: T,
}

pub(crate) fn step_id(search: &str, number: i64) -> String {
    format!("{STEP}.{search}.{number}")
}

pub(crate) fn step_job(search: &str, number: i64, leg: Leg) -> Result<Job, Error> {
    let step = Step { search: search.to_owned(), number, leg };
    Job::new(STEP).id(step_id(search, number)).payload(&step)
}

/// The id of the attempt with a method in a stage of a search.
pub(crate) fn attempt_id(search: &str, stage: u32, method: &str) -> String {
    format!("{search}.{stage}.{method}")
}

/// The id of the job that delivers an attempt.
pub(crate) fn delivery_id(attempt: &str) -> String {
    format!("{DELIVER}.{attempt}")
}

/// Whether a delivery with this error has reached the receiver.
pub(crate) fn reached_receiver(error: &str) -> bool {
    !error.is_empty() && !error.starts_with(UNSENT)
}
