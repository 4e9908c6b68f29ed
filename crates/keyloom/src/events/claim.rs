//! Claims: within a process, one worker at a time runs a consumer.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// The consumers that workers of this process are running.
#[derive(Debug, Default)]
pub(crate) struct Claims(Mutex<BTreeSet<String>>);

/// The right of one worker to run a consumer, until it is dropped.
#[derive(Debug)]
pub(crate) struct Claim<'c> {
    claims: &'c Claims,
    consumer: String,
}

impl Claims {
    /// Claims a consumer. Returns none if another worker of this process runs it.
    pub(crate) fn claim(&self, consumer: &str) -> Option<Claim<'_>> {
        let mut claimed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_free = claimed.insert(consumer.to_owned());
        is_free.then(|| Claim { claims: self, consumer: consumer.to_owned() })
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.claims.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.consumer);
    }
}
