//! Whether a stream may go on: tokens are revoked and expire while it is open.

use std::sync::Arc;
use std::time::Duration;

use keyloom_store::Time;
use tokio::time::Instant;

use super::call::Call;
use super::tokens::Tokens;

/// The access of a stream.
#[derive(Debug)]
pub(super) struct StreamAccess {
    tokens: Arc<Tokens>,
    /// The id of the token; none if the request needed none, or that of an issuer.
    token: Option<String>,
    /// When the token of an issuer expires.
    expires: Option<Time>,
    checked: Instant,
    interval: Duration,
}

impl StreamAccess {
    /// The access of a call, which was just checked. It is checked again as often as idle connections are
    /// closed.
    pub(super) fn new(call: &Call, tokens: Arc<Tokens>) -> StreamAccess {
        let (token, interval) = (call.caller.token.clone(), call.origin.edge.limits.head_time);
        let expires = call.caller.expires;
        StreamAccess { tokens, token, expires, checked: Instant::now(), interval }
    }

    /// Whether the token is valid; if it was checked a short time ago, it is not checked again. If it
    /// cannot be checked, it is not valid: the client reconnects.
    pub(super) async fn holds(&mut self) -> bool {
        if !self.is_limited() || self.checked.elapsed() < self.interval {
            return true;
        }
        self.checked = Instant::now();
        if self.expires.is_some_and(|expires| expires <= self.tokens.now()) {
            return false;
        }
        match &self.token {
            Some(token) => self.tokens.is_valid(token).await.unwrap_or(false),
            None => true,
        }
    }

    /// A time, or when it is to be checked again, if that is earlier.
    pub(super) fn no_later(&self, time: Instant) -> Instant {
        match self.is_limited() {
            true => time.min(self.checked + self.interval),
            false => time,
        }
    }

    /// Whether the access can end.
    fn is_limited(&self) -> bool {
        self.token.is_some() || self.expires.is_some()
    }
}
