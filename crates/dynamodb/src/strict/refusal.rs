//! How strict mode refuses: the service's codes and messages.

use std::sync::Arc;

use keyloom_store::{CancelReason, Error, Refusal};

use super::charge::Space;
use super::usage::Access;

/// Error codes of the service.
pub(crate) mod code {
    pub(crate) const CONFLICT: &str = "TransactionConflictException";
    pub(crate) const IN_PROGRESS: &str = "TransactionInProgressException";
    pub(crate) const IN_USE: &str = "ResourceInUseException";
    pub(crate) const LIMIT: &str = "LimitExceededException";
    pub(crate) const THROTTLED: &str = "ProvisionedThroughputExceededException";
}

/// A partition without capacity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Throttled {
    pub(super) space: Space,
    pub(super) access: Access,
}

impl Throttled {
    fn refusal(&self, operation: &'static str, code: &str) -> Arc<Refusal> {
        let (table, access) = (&self.space.table, self.access.name());
        let resource = match &self.space.index {
            None => format!("table/{table}"),
            Some(index) => format!("table/{table}/index/{index}"),
        };
        let message = format!(
            "Throughput exceeds the current capacity of the key range: too many {access} units on \
             {resource}. Retry later; if this persists, the partition has a hot key."
        );
        let code = Some(code.to_owned());
        Arc::new(Refusal { operation, code, message, resource: Some(resource), may_pass: true })
    }

    /// The error of a single request.
    pub(super) fn error(&self, operation: &'static str) -> Error {
        Error::Refused(self.refusal(operation, code::THROTTLED))
    }

    /// The reason of an action of a transaction.
    pub(super) fn reason(&self, operation: &'static str) -> CancelReason {
        CancelReason::Refused(self.refusal(operation, "ProvisionedThroughputExceeded"))
    }
}

pub(super) fn refused(
    operation: &'static str,
    code: &'static str,
    message: impl Into<String>,
) -> Error {
    let may_pass = code == code::CONFLICT;
    let (code, message) = (Some(code.to_owned()), message.into());
    Error::Refused(Arc::new(Refusal { operation, code, message, resource: None, may_pass }))
}

/// A single write met a transaction in flight.
pub(super) fn conflict(operation: &'static str) -> Error {
    refused(operation, code::CONFLICT, "Transaction is ongoing for the item")
}

/// A transaction met another one in flight, at the actions that are set.
pub(super) fn canceled_by_conflict(operation: &'static str, conflicts: &[bool]) -> Error {
    let reason = || {
        let code = Some("TransactionConflict".to_owned());
        let message = "Transaction is ongoing for the item".to_owned();
        let (resource, may_pass) = (None, true);
        CancelReason::Refused(Arc::new(Refusal { operation, code, message, resource, may_pass }))
    };
    Error::Canceled { reasons: conflicts.iter().map(|is_set| is_set.then(reason)).collect() }
}
