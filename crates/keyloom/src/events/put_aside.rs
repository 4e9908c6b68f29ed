//! Putting events aside: an event that failed, or that waits behind one, becomes a job.

use keyloom_model::Target;

use super::consumer::Consumer;
use super::failure::Failure;
use super::job::{Due, FirstFailure};
use super::retry::Retry;
use super::{Event, Job};
use crate::error::Error;
use crate::shared::Shared;

/// The prefix of the kind of jobs that are events of a consumer.
pub(crate) const EVENT_KIND: &str = "event:";

/// Why an event is put aside, and the policy by which it is retried.
#[derive(Debug)]
pub(crate) struct Aside {
    /// The failure of its first attempt; none if it waits behind another event of its entity.
    pub(crate) failure: Option<Failure>,
    pub(crate) retry: Retry,
}

/// The lane of the events of one entity that a consumer has put aside. Those of a webhook are jobs of
/// a kind of their own, in the lane that the consumer itself names.
pub(crate) fn retry_lane(consumer: &Consumer, event: &Event) -> String {
    match &consumer.target {
        Target::Webhook(_) => consumer.lane(event),
        Target::Handler(_) | Target::Job(_) => format!("{EVENT_KIND}{}", consumer.lane(event)),
    }
}

/// The job that retries an event.
pub(crate) fn retry_job(consumer: &Consumer, event: &Event) -> Job {
    Job::new(&format!("{EVENT_KIND}{}", consumer.name))
        .lane(retry_lane(consumer, event))
        .payload_value(event.to_json())
}

impl Aside {
    /// Whether the event becomes a dead letter at once, so that later ones need not wait for it.
    pub(crate) fn is_dead(&self) -> bool {
        let failure = self.failure.as_ref();
        failure.is_some_and(|failure| failure.is_final || self.retry.attempts_max <= 1)
    }

    /// Schedules the job of the event: after a delay if the event has failed.
    pub(crate) fn schedule(&self, mut job: Job, shared: &Shared) -> Result<Job, Error> {
        if let Some(failure) = &self.failure {
            let delay_ms = self.retry.delay_ms(1, &shared.stamps)?;
            job.due = Due::At(shared.now_ms().saturating_add(delay_ms));
            let error = failure.stored_message();
            job.failed = Some(FirstFailure { error, is_dead: self.is_dead() });
        }
        Ok(job)
    }
}
