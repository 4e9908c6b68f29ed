//! A request and what is known about it, from the edge to its app and back.

use std::sync::{Arc, Mutex, PoisonError};

use super::edge::Origin;

/// A request on its way: where it came from, its id, and what its app notes for the log.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) origin: Arc<Origin>,
    pub(crate) request_id: String,
    /// `None` if the app did not get to see the request, or did not finish with it.
    noted: Mutex<Option<LogFields>>,
}

/// What an app adds to the log event of a request.
#[derive(Debug, Default)]
pub(crate) struct LogFields {
    pub(crate) operation: Option<Arc<str>>,
    /// The id of the caller's token.
    pub(crate) token: Option<String>,
    pub(crate) tenant: Option<String>,
    /// The code of a problem.
    pub(crate) code: Option<&'static str>,
    /// The internal cause of a problem.
    pub(crate) cause: Option<String>,
    pub(crate) bytes_in: usize,
}

impl Exchange {
    pub(crate) fn new(origin: Arc<Origin>, request_id: String) -> Exchange {
        Exchange { origin, request_id, noted: Mutex::default() }
    }

    /// Notes what the log event should say.
    pub(crate) fn note(&self, fields: LogFields) {
        *self.noted.lock().unwrap_or_else(PoisonError::into_inner) = Some(fields);
    }

    /// What was noted, which is gone then.
    pub(crate) fn take_noted(&self) -> Option<LogFields> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
