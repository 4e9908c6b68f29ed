//! Retry policies: how many attempts, and how long between them.

use std::time::Duration;

use crate::error::Error;
use crate::stamp::Stamps;

/// How often a handler is tried, and when again.
///
/// ```
/// # use std::sync::Arc;
/// # use keyloom::events::{Failure, Handlers, Job, Next, Retry};
/// # use keyloom::{Db, Value};
/// # use keyloom_store::{MemoryStore, SystemClock};
/// # let model = "jobs = true\n[entity.order]";
/// # pollster::block_on(async {
/// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
/// let once = Retry { attempts_max: 1, ..Retry::default() };
/// let handlers = Handlers::new()
///     .job("call", |_, _| async { Err(Failure::new("No answer.")) })
///     .retry("call", once);
/// db.schedule(Job::new("call").id("one")).await?;
/// while db.work(&handlers).await?.next == Next::Now {}
/// let job = db.get("job", "one").await?.expect("dead letters are kept");
/// assert_eq!(job.get("status"), Some(&Value::from("failed")));
/// # Ok::<(), keyloom::Error>(())
/// # }).expect("the example runs");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Number of attempts before it becomes a dead letter.
    pub attempts_max: u32,
    /// Approximate delay after the first failure. It doubles with each further failure.
    pub first: Duration,
    /// Upper bound of a delay.
    pub longest: Duration,
    /// How long one attempt may take before another worker takes over.
    pub lease: Duration,
}

impl Default for Retry {
    /// Sixteen attempts, with delays from one second to one hour: five hours in all.
    fn default() -> Retry {
        Retry {
            attempts_max: 16,
            first: Duration::from_secs(1),
            longest: Duration::from_secs(3600),
            lease: Duration::from_secs(60),
        }
    }
}

impl Retry {
    /// Returns the delay before the next attempt: random, between half of the longest and all.
    pub(crate) fn delay_ms(&self, attempts: i64, stamps: &Stamps) -> Result<i64, Error> {
        let longest = self.longest_delay_ms(attempts);
        let jitter = stamps.below(longest / 2 + 1)?;
        Ok(i64::try_from(longest - longest / 2 + jitter).unwrap_or(i64::MAX))
    }

    pub(crate) fn lease_ms(&self) -> i64 {
        i64::try_from(self.lease.as_millis()).unwrap_or(i64::MAX)
    }

    fn longest_delay_ms(&self, attempts: i64) -> u64 {
        let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let doublings = u32::try_from(attempts.saturating_sub(1)).unwrap_or(0).min(63);
        ms(self.first).saturating_mul(1 << doublings).min(ms(self.longest))
    }
}
