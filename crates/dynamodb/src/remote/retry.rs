//! When a request is sent again, and after how long.
//!
//! The SDK sends everything once, and is not asked to repeat: it does not tell whether one of its
//! attempts may have been done, and for a write that is what counts.

use std::error::Error as StdError;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::time::Duration;

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

use super::refusal::{CONFLICT, IN_PROGRESS};

/// What a request that was not done is refused with, if it may well be done a little later.
const PASSING: &[&str] = &[
    "ProvisionedThroughputExceededException",
    "ThrottlingException",
    "RequestLimitExceeded",
    // Too many tables are being made or altered at this moment.
    "LimitExceededException",
    CONFLICT,
    IN_PROGRESS,
];

/// How many times as long as the first wait the longest is.
const GROWTH_MAX: u32 = 100;

/// What is known of a request that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It was not done, nor would it be another time.
    Refused,
    /// It was not done, and may be a little later: the service is busy, or nobody listens yet.
    Postponed,
    /// It may have been done. A little later there may be an answer.
    Unanswered,
    /// It may have been done. What came back is not from such a service, or nothing could be sent
    /// at all because there are no keys to sign with; the SDK does not tell these apart.
    Unknown,
}

impl Fate {
    pub(super) fn of<E>(error: &SdkError<E, HttpResponse>) -> Fate
    where
        E: ProvideErrorMetadata + StdError + 'static,
    {
        match error {
            // The service failed, or says that it has done it in words that cannot be read.
            SdkError::ServiceError(context) if !context.raw().status().is_client_error() => {
                Fate::Unanswered
            }
            SdkError::ServiceError(context) => {
                match context.err().code().is_some_and(|code| PASSING.contains(&code)) {
                    true => Fate::Postponed,
                    false => Fate::Refused,
                }
            }
            // Nothing was sent: there is no region.
            SdkError::ConstructionFailure(_) => Fate::Refused,
            SdkError::DispatchFailure(_) if is_not_there(error) => Fate::Postponed,
            SdkError::DispatchFailure(failure)
                if failure.is_user() || (failure.is_other() && failure.as_other().is_none()) =>
            {
                Fate::Unknown
            }
            _ => Fate::Unanswered,
        }
    }

    /// Whether something that can be done twice is sent again.
    pub(super) fn passes(self) -> bool {
        matches!(self, Fate::Postponed | Fate::Unanswered)
    }

    pub(super) fn may_be_done(self) -> bool {
        matches!(self, Fate::Unanswered | Fate::Unknown)
    }
}

/// Whether nobody listens at the endpoint, so that nothing can have been done.
fn is_not_there(error: &(dyn StdError + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        let io = error.downcast_ref::<io::Error>();
        if io.is_some_and(|io| io.kind() == io::ErrorKind::ConnectionRefused) {
            return true;
        }
        cause = error.source();
    }
    false
}

/// Waits that double, each cut at random so that those who met once do not meet again.
#[derive(Debug)]
pub(super) struct Backoff {
    attempts_left: u32,
    delay: Duration,
    delay_max: Duration,
}

impl Backoff {
    pub(super) fn new(attempts_max: u32, delay: Duration) -> Backoff {
        let delay_max = delay.saturating_mul(GROWTH_MAX);
        Backoff { attempts_left: attempts_max.saturating_sub(1), delay, delay_max }
    }

    /// Waits for the next attempt; false if there is none.
    pub(super) async fn wait(&mut self) -> bool {
        if self.attempts_left == 0 {
            return false;
        }
        self.attempts_left -= 1;
        tokio::time::sleep(self.delay.mul_f64(chance())).await;
        self.delay = self.delay.saturating_mul(2).min(self.delay_max);
        true
    }
}

/// A token that nobody else has.
pub(super) fn new_token() -> String {
    format!("{:016x}{:016x}", random(), random())
}

/// A number between 0 and 1.
fn chance() -> f64 {
    (random() >> 11) as f64 / (1_u64 << 53) as f64
}

/// From what the standard library seeds its hash maps with.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
