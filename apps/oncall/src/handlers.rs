//! The event handler and the jobs of the service, with their retries.

use std::sync::Arc;
use std::time::Duration;

use keyloom::events::{Handlers, Retry};

use crate::deliver::deliver;
use crate::jobs::{DELIVER, STEP};
use crate::service::Service;
use crate::steps::{begin, step};

/// Steps are retried forever: nothing else would continue the hunt.
const STEPS: Retry = Retry {
    attempts_max: u32::MAX,
    first: Duration::from_secs(1),
    longest: Duration::from_secs(30),
    lease: Duration::from_secs(30),
};

/// Deliveries are retried for three hours, or until the search ends.
const DELIVERIES: Retry = Retry {
    attempts_max: 200,
    first: Duration::from_secs(2),
    longest: Duration::from_secs(60),
    lease: Duration::from_secs(60),
};

impl Service {
    /// The handlers that start hunts, run their steps and deliver their messages.
    pub fn handlers(self: &Arc<Service>) -> Handlers {
        let (stepping, delivering) = (self.clone(), self.clone());
        Handlers::new()
            .event_with("hunt", begin)
            .job(STEP, move |job, db| step(job, db, stepping.now_ms()))
            .job(DELIVER, move |job, db| {
                let service = delivering.clone();
                async move { deliver(&service, job, db).await }
            })
            .retry("hunt", STEPS)
            .retry(STEP, STEPS)
            .retry(DELIVER, DELIVERIES)
    }
}
