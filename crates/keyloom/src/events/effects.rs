//! What a handler wants done in the store.

use keyloom_value::Value;

use super::Job;
use crate::change::Change;

/// What a handler wants done in the store: all of it together, once, or nothing.
///
/// [`Handlers`](super::Handlers) and [`Handlers::job`](super::Handlers::job) have examples.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Effects {
    pub(crate) changes: Vec<Change>,
    pub(crate) jobs: Vec<Job>,
    pub(crate) result: Option<Value>,
}

impl Effects {
    /// No effects.
    pub fn new() -> Effects {
        Effects::default()
    }

    /// Adds a change.
    pub fn change(mut self, change: Change) -> Effects {
        self.changes.push(change);
        self
    }

    /// Adds a job to schedule.
    pub fn schedule(mut self, job: Job) -> Effects {
        self.jobs.push(job);
        self
    }

    /// Sets what is stored as the result of the job.
    pub fn result(mut self, result: impl Into<Value>) -> Effects {
        self.result = Some(result.into());
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.jobs.is_empty()
    }
}
