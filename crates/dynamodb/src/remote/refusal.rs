//! What the SDK reports, as errors of a store.

use std::error::Error as StdError;
use std::io;
use std::sync::Arc;

use aws_sdk_dynamodb::Error as SdkFailure;
use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};
use keyloom_store::{Error, Refusal};
use keyloom_value::Item;

use super::values::{Attributes, Unreadable, item};

pub(super) const VALIDATION: &str = "ValidationException";
pub(super) const NOT_FOUND: &str = "ResourceNotFoundException";
pub(super) const IN_USE: &str = "ResourceInUseException";
pub(super) const CONFLICT: &str = "TransactionConflictException";
pub(super) const TOKEN_REUSED: &str = "IdempotentParameterMismatchException";
pub(super) const TRIMMED: &str = "TrimmedDataAccessException";

/// A failed request: refused by the service, or without an answer that says what was done.
pub(super) fn failed<E>(operation: &'static str, error: &SdkError<E, HttpResponse>) -> Error
where
    E: ProvideErrorMetadata + StdError + 'static,
{
    let refusal = |code: Option<&str>, message: String| {
        Arc::new(Refusal { operation, code: code.map(str::to_owned), message })
    };
    match error {
        SdkError::ServiceError(context) => {
            let (code, message) = (context.err().code(), context.err().message());
            let message = message.unwrap_or("it gave no reason").to_owned();
            match context.raw().status().is_server_error() {
                true => Error::Unanswered(refusal(code, message)),
                false => Error::Refused(refusal(code, message)),
            }
        }
        // Nothing was sent: there are no credentials, or no region.
        SdkError::ConstructionFailure(_) => Error::Refused(refusal(None, chain(error))),
        SdkError::DispatchFailure(_) if is_not_there(error) => {
            Error::Refused(refusal(None, chain(error)))
        }
        _ => Error::Unanswered(refusal(None, chain(error))),
    }
}

/// Whether nobody listens at the endpoint, so that nothing can have been done.
fn is_not_there(error: &(dyn StdError + 'static)) -> bool {
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
