//! What the SDK reports, as errors of a store.

use std::error::Error as StdError;
use std::sync::Arc;

use aws_sdk_dynamodb::Error as SdkFailure;
use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};
use keyloom_store::{Error, Refusal};
use keyloom_value::Item;

use super::retry::Fate;
use super::values::{Attributes, Unreadable, item};

pub(super) const VALIDATION: &str = "ValidationException";
pub(super) const NOT_FOUND: &str = "ResourceNotFoundException";
pub(super) const IN_USE: &str = "ResourceInUseException";
pub(super) const CONFLICT: &str = "TransactionConflictException";
pub(super) const IN_PROGRESS: &str = "TransactionInProgressException";
pub(super) const TOKEN_REUSED: &str = "IdempotentParameterMismatchException";
pub(super) const TRIMMED: &str = "TrimmedDataAccessException";

/// A failed request: refused by the service, or without an answer that says what was done.
pub(super) fn failed<E>(operation: &'static str, error: &SdkError<E, HttpResponse>) -> Error
where
    E: ProvideErrorMetadata + StdError + 'static,
{
    let (code, message) = match error {
        SdkError::ServiceError(context) => {
            let (code, message) = (context.err().code(), context.err().message());
            (code.map(str::to_owned), message.unwrap_or("it gave no reason").to_owned())
        }
        _ => (None, chain(error)),
    };
    let refusal = Arc::new(Refusal { operation, code, message });
    match Fate::of(error).may_be_done() {
        true => Error::Unanswered(refusal),
        false => Error::Refused(refusal),
    }
}

/// An error with all its causes, without the last part that is for programmers.
fn chain(error: &dyn StdError) -> String {
    let text = DisplayErrorContext(error).to_string();
    text.split(" (").next().unwrap_or(&text).to_owned()
}

/// Whether the service refused with this code.
pub(super) fn has_code(error: &Error, code: &str) -> bool {
    matches!(error, Error::Refused(refusal) if refusal.code.as_deref() == Some(code))
}

/// An answer that is none.
pub(super) fn unreadable(operation: &'static str, why: Unreadable) -> Error {
    let message = match why {
        Unreadable::Number(error) => format!("the answer has a number that is none: {error}"),
        Unreadable::Type => "the answer has a value of a type that is not known".to_owned(),
    };
    Error::Unanswered(Arc::new(Refusal { operation, code: None, message }))
}

/// An answer, or a part of one, that is missing.
pub(super) fn incomplete(operation: &'static str, what: &str) -> Error {
    let message = format!("the answer lacks {what}");
    Error::Unanswered(Arc::new(Refusal { operation, code: None, message }))
}

/// An item of an answer, if it has one.
pub(super) fn answered(
    operation: &'static str,
    attributes: Option<Attributes>,
) -> Result<Option<Item>, Error> {
    attributes.map(item).transpose().map_err(|why| unreadable(operation, why))
}

/// A failed write. A condition that did not hold may carry the item.
pub(super) fn write_failed<E>(operation: &'static str, error: SdkError<E, HttpResponse>) -> Error
where
    E: ProvideErrorMetadata + StdError + 'static,
    SdkFailure: From<SdkError<E, HttpResponse>>,
{
    let plain = failed(operation, &error);
    match SdkFailure::from(error) {
        SdkFailure::ConditionalCheckFailedException(failure) => {
            match answered(operation, failure.item) {
                Ok(item) => Error::ConditionFailed { item: item.map(Box::new) },
                Err(unreadable) => unreadable,
            }
        }
        _ => plain,
    }
}
