//! When a request is sent again, and after how long.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use aws_sdk_dynamodb::config::interceptors::InterceptorContext;
use aws_sdk_dynamodb::config::retry::{ClassifyRetry, RetryAction};

/// The greatest wait before the second attempt.
pub(super) const DELAY_MIN: Duration = Duration::from_millis(50);
/// The greatest wait of all.
pub(super) const DELAY_MAX: Duration = Duration::from_secs(5);

/// Forbids to send a write again that may have been done: a repeated put can undo what another
/// writer did in between, and a repeated addition counts twice. What the service refused, because
/// it is busy for example, was not done and may be sent again.
#[derive(Debug)]
pub(super) struct NotTwice;

impl ClassifyRetry for NotTwice {
    fn classify_retry(&self, context: &InterceptorContext) -> RetryAction {
        let Some(Err(error)) = context.output_or_error() else {
            return RetryAction::NoActionIndicated;
        };
        let is_unanswered =
            error.is_connector_error() || error.is_timeout_error() || error.is_response_error();
        let is_failed =
            context.response().is_some_and(|response| response.status().is_server_error());
        if is_unanswered || is_failed {
            RetryAction::RetryForbidden
        } else {
            RetryAction::NoActionIndicated
        }
    }

    fn name(&self) -> &'static str {
        "not twice"
    }
}

/// Waits that double, each cut at random so that those who met once do not meet again.
#[derive(Debug)]
pub(super) struct Backoff {
    attempts_left: u32,
    delay: Duration,
}

impl Backoff {
    pub(super) fn new(attempts_max: u32) -> Backoff {
        Backoff { attempts_left: attempts_max.saturating_sub(1), delay: DELAY_MIN }
    }

    /// Waits for the next attempt; false if there is none.
    pub(super) async fn wait(&mut self) -> bool {
        if self.attempts_left == 0 {
            return false;
        }
        self.attempts_left -= 1;
        tokio::time::sleep(self.delay.mul_f64(chance())).await;
        self.delay = (self.delay * 2).min(DELAY_MAX);
        true
    }
}

/// A number between 0 and 1, from what the standard library seeds its hash maps with.
fn chance() -> f64 {
    let bits = RandomState::new().build_hasher().finish() >> 11;
    bits as f64 / (1_u64 << 53) as f64
}
