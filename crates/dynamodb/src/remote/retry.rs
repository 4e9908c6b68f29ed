//! Which requests are retried, and with what backoff.
//!
//! The SDK's own retries are off: they do not report whether an earlier attempt may have been
//! applied, which is what matters for a write.

use std::error::Error as StdError;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::time::Duration;

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

use super::codes::{CONFLICT, IN_PROGRESS};

/// Error codes of requests that were not applied and may succeed later.
const TRANSIENT_CODES: &[&str] = &[
    "ProvisionedThroughputExceededException",
    "ThrottlingException",
    "RequestLimitExceeded",
    // Too many tables are being created or altered.
    "LimitExceededException",
    CONFLICT,
    IN_PROGRESS,
];

/// The longest wait, as a multiple of the first.
const GROWTH_MAX: u32 = 100;
/// A transaction that conflicts waits for another one to end, which takes about ten milliseconds: more
/// attempts than at other requests, closer together.
const CONFLICT_ATTEMPTS: u32 = 12;
const CONFLICT_SHARE: u32 = 10;
const CONFLICT_GROWTH_MAX: u32 = 20;

/// What is known about a failed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Not applied, and a retry would fail too.
    Refused,
    /// Not applied, and a retry may succeed: the service is busy, or not listening yet.
    Transient,
    /// May have been applied. A retry may get a response.
    Unanswered,
    /// May have been applied. The response is not DynamoDB's, or nothing was sent because there are
    /// no keys to sign with; the SDK does not distinguish these.
    Unknown,
}

impl Outcome {
    pub(super) fn of<E>(error: &SdkError<E, HttpResponse>) -> Outcome
    where
        E: ProvideErrorMetadata + StdError + 'static,
    {
        match error {
            // The service failed, or reported success in a form that cannot be parsed.
            SdkError::ServiceError(context) if !context.raw().status().is_client_error() => {
                Outcome::Unanswered
            }
            SdkError::ServiceError(context) => {
                match context.err().code().is_some_and(|code| TRANSIENT_CODES.contains(&code)) {
                    true => Outcome::Transient,
                    false => Outcome::Refused,
                }
            }
            // Nothing was sent: the region is missing.
            SdkError::ConstructionFailure(_) => Outcome::Refused,
            SdkError::DispatchFailure(_) if is_connection_refused(error) => Outcome::Transient,
            SdkError::DispatchFailure(failure)
                if failure.is_user() || (failure.is_other() && failure.as_other().is_none()) =>
            {
                Outcome::Unknown
            }
            _ => Outcome::Unanswered,
        }
    }

    /// Returns whether to retry an idempotent request.
    pub(super) fn may_succeed_later(self) -> bool {
        matches!(self, Outcome::Transient | Outcome::Unanswered)
    }

    pub(super) fn may_have_applied(self) -> bool {
        matches!(self, Outcome::Unanswered | Outcome::Unknown)
    }
}

/// Returns whether the endpoint refused the connection, so that nothing can have been applied.
fn is_connection_refused(error: &(dyn StdError + 'static)) -> bool {
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

/// Exponential backoff with jitter, so that clients that collided do not collide again.
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

    /// The backoff of a transaction. With the default options, waits are up to 5 ms at first, and up to
    /// 100 ms later, and add up to 12 seconds at most.
    pub(super) fn of_transactions(attempts_max: u32, delay: Duration) -> Backoff {
        let delay = delay / CONFLICT_SHARE;
        Backoff {
            attempts_left: attempts_max.saturating_mul(CONFLICT_ATTEMPTS).saturating_sub(1),
            delay,
            delay_max: delay.saturating_mul(CONFLICT_GROWTH_MAX),
        }
    }

    /// Waits for the next attempt; returns false if there is none.
    pub(super) async fn wait(&mut self) -> bool {
        if self.attempts_left == 0 {
            return false;
        }
        self.attempts_left -= 1;
        tokio::time::sleep(self.delay.mul_f64(jitter())).await;
        self.delay = self.delay.saturating_mul(2).min(self.delay_max);
        true
    }
}

/// Returns a unique idempotency token.
pub(super) fn new_token() -> String {
    format!("{:016x}{:016x}", random(), random())
}

/// Returns a random number between 0 and 1.
fn jitter() -> f64 {
    (random() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Uses the seed of the standard library's hash maps as a source of randomness.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
