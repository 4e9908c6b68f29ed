//! Whether a stream may go on: tokens are revoked and expire while it is open.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::call::Call;
use super::tokens::Tokens;

/// The access of a stream.
#[derive(Debug)]
pub(super) struct StreamAccess {
    tokens: Arc<Tokens>,
    /// The id of the token; none if the request needed none.
    token: Option<String>,
    checked: Instant,
    interval: Duration,
}

impl StreamAccess {
    /// The access of a call, which was just checked. It is checked again as often as idle connections are
    /// closed.
    pub(super) fn new(call: &Call, tokens: Arc<Tokens>) -> StreamAccess {
        let (token, interval) = (call.caller.token.clone(), call.origin.edge.limits.head_time);
        StreamAccess { tokens, token, checked: Instant::now(), interval }
    }

    /// Whether the token is valid; if it was checked a short time ago, it is not checked again. If it
    /// cannot be checked, it is not valid: the client reconnects.
    pub(super) async fn holds(&mut self) -> bool {
        let Some(token) = self.token.as_deref().filter(|_| self.checked.elapsed() >= self.interval)
        else {
            return true;
        };
        self.checked = Instant::now();
        self.tokens.is_valid(token).await.unwrap_or(false)
    }

    /// A time, or when it is to be checked again, if that is earlier.
    pub(super) fn no_later(&self, time: Instant) -> Instant {
        match self.token {
            Some(_) => time.min(self.checked + self.interval),
            None => time,
        }
    }
}
