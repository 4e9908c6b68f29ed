//! What the parts of the service share, and what runs its jobs.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use keyloom::events::{Failure, Handlers, Retry};
use keyloom::{Clock, Entropy};

use crate::carry::Carry;
use crate::deliver::deliver;
use crate::steps::{DELIVER, STEP, begin, step};

/// What is kept.
pub const MODEL: &str = include_str!("../model.toml");

/// What the parts of the service share.
#[derive(Debug)]
pub struct Service {
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// What secrets are made from.
    pub entropy: Arc<dyn Entropy>,
    /// What brings messages to people.
    pub carry: Arc<dyn Carry>,
    /// Where people reach this service, known when it listens: `https://oncall.example`.
    pub url: Arc<OnceLock<String>>,
}

/// Steps are tried for ever: nothing else would end a hunt whose step is given up.
const STEPS: Retry = Retry {
    attempts_max: u32::MAX,
    first: Duration::from_secs(1),
    longest: Duration::from_secs(30),
    lease: Duration::from_secs(30),
};

/// Deliveries are tried for three hours; a search that ends before ends them too.
const DELIVERIES: Retry = Retry {
    attempts_max: 200,
    first: Duration::from_secs(2),
    longest: Duration::from_secs(60),
    lease: Duration::from_secs(60),
};

impl Service {
    /// What begins hunts, runs their steps and delivers their messages.
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

    pub(crate) fn now_ms(&self) -> i64 {
        i64::try_from(self.clock.now().0).unwrap_or(i64::MAX)
    }

    /// The address of one of its pages.
    pub(crate) fn address(&self, path: &str) -> Result<String, Failure> {
        let url = self.url.get().ok_or_else(|| Failure::new("It is not served yet."))?;
        Ok(format!("{}{path}", url.trim_end_matches('/')))
    }
}
