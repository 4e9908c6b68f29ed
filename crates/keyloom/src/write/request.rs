//! What a caller wants to be written, all of it in one transaction.

use std::sync::Arc;

use keyloom_model::Image;

use super::{IdempotencyKey, Intent, PlannedAction, WriteContext};
use crate::access::User;
use crate::error::Error;

/// Changes to write in one transaction.
#[derive(Debug, Default)]
pub(crate) struct WriteRequest {
    pub(crate) intents: Vec<Intent>,
    /// Makes the request idempotent.
    pub(crate) idempotency_key: Option<IdempotencyKey>,
    /// Rows to write in the same transaction.
    pub(crate) piggybacked: Vec<PlannedAction>,
    pub(crate) existence: Existence,
    /// The user whose changes these are, if the access rules of the model limit them.
    pub(crate) user: Option<Arc<User>>,
}

/// What is known, before any is read, about whether the entities of a request exist. Entities that
/// are assumed not to exist are not read; the conditions of the transaction hold all the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Existence {
    /// Nothing: each is read first.
    #[default]
    Unknown,
    /// They probably do not exist. If the assumption fails, they are read.
    Unlikely,
    /// They cannot exist: their ids were just generated.
    Impossible,
}

impl From<Intent> for WriteRequest {
    fn from(intent: Intent) -> WriteRequest {
        WriteRequest::from(vec![intent])
    }
}

impl From<Vec<Intent>> for WriteRequest {
    fn from(intents: Vec<Intent>) -> WriteRequest {
        WriteRequest { intents, ..WriteRequest::default() }
    }
}

impl WriteRequest {
    /// Returns the actions besides those of the intents.
    pub(crate) fn others(
        &self,
        ctx: &WriteContext<'_>,
        answers: &[Option<&Image>],
    ) -> Result<Vec<PlannedAction>, Error> {
        let mut others = self.piggybacked.clone();
        if let Some(key) = &self.idempotency_key {
            others.push(key.record(ctx, answers)?);
        }
        Ok(others)
    }
}
