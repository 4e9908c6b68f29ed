//! Whether a stream may go on: tokens are revoked and expire while it is open. What this process revokes, it
//! knows at once; other processes that share the tokens say nothing, so they are read again from time to time.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use keyloom_store::Time;
use tokio::sync::watch;
use tokio::time::Instant;

use super::call::Call;
use super::tokens::Tokens;

/// The access of a stream.
#[derive(Debug)]
pub(super) struct StreamAccess {
    tokens: Arc<Tokens>,
    /// The id of the token; none if the request needed none, or that of an issuer.
    token: Option<String>,
    /// When the token expires, if that is known.
    expires: Option<Time>,
    /// Changes when this process revokes a token, perhaps this one.
    revocations: watch::Receiver<()>,
    checked: Instant,
    interval: Duration,
}

impl StreamAccess {
    /// The access of a call, which was just checked. It is checked again as often as idle connections are
    /// closed.
    pub(super) fn new(call: &Call, tokens: Arc<Tokens>) -> StreamAccess {
        let (token, interval) =
            (call.caller.token.clone(), call.exchange.origin.edge.limits.head_time);
        let (expires, mut revocations) = (call.caller.expires, tokens.revocations());
        // It may have been revoked since it was checked.
        revocations.mark_changed();
        let checked = Instant::now();
        StreamAccess { tokens, token, expires, revocations, checked, interval }
    }

    /// Whether the token is valid: it has not expired, and has not been revoked, which is not checked again
    /// if that was done a short time ago. If it cannot be checked, it is not valid: the client reconnects.
    pub(super) async fn holds(&mut self) -> bool {
        if self.expires.is_some_and(|expires| expires <= self.tokens.now()) {
            return false;
        }
        let is_any_revoked = self.revocations.has_changed().unwrap_or(true);
        match &self.token {
            Some(token) if is_any_revoked || self.checked.elapsed() >= self.interval => {
                // Before it is read: what is revoked meanwhile is checked again.
                self.revocations.mark_unchanged();
                self.checked = Instant::now();
                self.tokens.is_valid(token).await.unwrap_or(false)
            }
            Some(_) | None => true,
        }
    }

    /// Waits until this process has revoked a token since this one was checked.
    pub(super) async fn revocation(&self) {
        match self.token {
            // The original has not seen it yet when this is ready.
            Some(_) => drop(self.revocations.clone().changed().await),
            None => pending().await,
        }
    }

    /// A time, or when it is to be checked again, if that is earlier.
    pub(super) fn no_later(&self, time: Instant) -> Instant {
        let checked_again = self.token.is_some().then(|| self.checked + self.interval);
        // The clock of tokens may be set, so it is asked again after a while.
        let expired = self.expires.map(|expires| {
            let left_ms = expires.0.saturating_sub(self.tokens.now().0);
            Instant::now() + Duration::from_millis(left_ms).min(self.interval)
        });
        checked_again.into_iter().chain(expired).fold(time, Instant::min)
    }
}
