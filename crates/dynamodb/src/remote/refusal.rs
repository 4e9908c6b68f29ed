//! Maps SDK errors to store errors.

use std::error::Error as StdError;
use std::sync::Arc;

use aws_sdk_dynamodb::Error as SdkFailure;
use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};
use keyloom_store::{Error, Refusal};
use keyloom_value::Item;

use super::retry::Outcome;
use super::values::{Attributes, Unreadable, item};

/// Maps a failed request: refused by the service, or with an unknown outcome.
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
    let outcome = Outcome::of(error);
    let may_pass = outcome.may_succeed_later();
    let refusal = Arc::new(Refusal { operation, code, message, resource: None, may_pass });
    match outcome.may_have_applied() {
        true => Error::Unanswered(refusal),
        false => Error::Refused(refusal),
    }
}

/// Formats an error with all its causes, without the debug output that the SDK appends.
fn chain(error: &dyn StdError) -> String {
    let text = DisplayErrorContext(error).to_string();
    text.split(" (").next().unwrap_or(&text).to_owned()
}

/// Returns whether the service refused with this code.
pub(super) fn has_code(error: &Error, code: &str) -> bool {
    matches!(error, Error::Refused(refusal) if refusal.code.as_deref() == Some(code))
}

/// The response has an attribute value that cannot be read.
pub(super) fn unreadable(operation: &'static str, why: Unreadable) -> Error {
    let message = match why {
        Unreadable::Number(error) => format!("the response contains an invalid number: {error}"),
        Unreadable::Type => "the response contains a value of an unknown type".to_owned(),
    };
    Error::Unanswered(Arc::new(Refusal {
        operation,
        code: None,
        message,
        resource: None,
        may_pass: false,
    }))
}

/// The response lacks a required part.
pub(super) fn incomplete(operation: &'static str, what: &str) -> Error {
    let message = format!("the response lacks {what}");
    Error::Unanswered(Arc::new(Refusal {
        operation,
        code: None,
        message,
        resource: None,
        may_pass: false,
    }))
}

/// Converts the item of a response, if it has one.
pub(super) fn response_item(
    operation: &'static str,
    attributes: Option<Attributes>,
) -> Result<Option<Item>, Error> {
    attributes.map(item).transpose().map_err(|why| unreadable(operation, why))
}

/// Maps a failed write. A failed condition may carry the item.
pub(super) fn write_failed<E>(operation: &'static str, error: SdkError<E, HttpResponse>) -> Error
where
    E: ProvideErrorMetadata + StdError + 'static,
    SdkFailure: From<SdkError<E, HttpResponse>>,
{
    let plain = failed(operation, &error);
    match SdkFailure::from(error) {
        SdkFailure::ConditionalCheckFailedException(failure) => {
            match response_item(operation, failure.item) {
                Ok(item) => Error::ConditionFailed { item: item.map(Box::new) },
                Err(unreadable) => unreadable,
            }
        }
        _ => plain,
    }
}
