//! Error responses: a code, a message, and sometimes an item or cancellation reasons.

use std::borrow::Cow;

use keyloom_value::Item;

use crate::json::Writer;

use super::encode::write_item;

/// An error response.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fault {
    pub(crate) code: FaultCode,
    pub(crate) message: String,
    /// The item that failed a condition, if requested.
    pub(crate) item: Option<Item>,
    /// One cancellation reason per action of a transaction.
    pub(crate) reasons: Vec<Reason>,
    /// What had no capacity left.
    pub(crate) throttling: Option<Throttling>,
}

/// Why a request was throttled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Throttling {
    /// As in `TableWriteKeyRangeThroughputExceeded`.
    pub(crate) reason: &'static str,
    /// The ARN of the table or index.
    pub(crate) resource: String,
}

/// The cancellation reason of one action of a transaction.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reason {
    /// `None` if the action did not fail.
    pub(crate) code: Cow<'static, str>,
    pub(crate) message: Option<String>,
    pub(crate) item: Option<Item>,
}

/// The service's error codes that can occur here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultCode {
    Validation,
    Serialization,
    UnknownOperation,
    ResourceNotFound,
    ResourceInUse,
    LimitExceeded,
    ConditionalCheckFailed,
    DuplicateItem,
    TransactionCanceled,
    IdempotentParameterMismatch,
    TrimmedDataAccess,
    ExpiredIterator,
    Throttled,
    TransactionConflict,
    TransactionInProgress,
    BackupNotFound,
    BackupInUse,
    TableNotFound,
    TableAlreadyExists,
    InvalidRestoreTime,
    PointInTimeRecoveryUnavailable,
    InternalServerError,
}

impl FaultCode {
    /// Returns the code with its namespace, as in `__type`.
    pub(crate) fn type_name(self) -> &'static str {
        match self {
            FaultCode::Validation => "com.amazon.coral.validate#ValidationException",
            FaultCode::Serialization => "com.amazon.coral.service#SerializationException",
            FaultCode::UnknownOperation => "com.amazon.coral.service#UnknownOperationException",
            FaultCode::ResourceNotFound => {
                "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException"
            }
            FaultCode::ResourceInUse => "com.amazonaws.dynamodb.v20120810#ResourceInUseException",
            FaultCode::LimitExceeded => "com.amazonaws.dynamodb.v20120810#LimitExceededException",
            FaultCode::ConditionalCheckFailed => {
                "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"
            }
            FaultCode::DuplicateItem => "com.amazonaws.dynamodb.v20120810#DuplicateItemException",
            FaultCode::TransactionCanceled => {
                "com.amazonaws.dynamodb.v20120810#TransactionCanceledException"
            }
            FaultCode::IdempotentParameterMismatch => {
                "com.amazonaws.dynamodb.v20120810#IdempotentParameterMismatchException"
            }
            FaultCode::TrimmedDataAccess => {
                "com.amazonaws.dynamodb.v20120810#TrimmedDataAccessException"
            }
            FaultCode::ExpiredIterator => {
                "com.amazonaws.dynamodb.v20120810#ExpiredIteratorException"
            }
            FaultCode::Throttled => {
                "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"
            }
            FaultCode::TransactionConflict => {
                "com.amazonaws.dynamodb.v20120810#TransactionConflictException"
            }
            FaultCode::TransactionInProgress => {
                "com.amazonaws.dynamodb.v20120810#TransactionInProgressException"
            }
            FaultCode::BackupNotFound => "com.amazonaws.dynamodb.v20120810#BackupNotFoundException",
            FaultCode::BackupInUse => "com.amazonaws.dynamodb.v20120810#BackupInUseException",
            FaultCode::TableNotFound => "com.amazonaws.dynamodb.v20120810#TableNotFoundException",
            FaultCode::TableAlreadyExists => {
                "com.amazonaws.dynamodb.v20120810#TableAlreadyExistsException"
            }
            FaultCode::InvalidRestoreTime => {
                "com.amazonaws.dynamodb.v20120810#InvalidRestoreTimeException"
            }
            FaultCode::PointInTimeRecoveryUnavailable => {
                "com.amazonaws.dynamodb.v20120810#PointInTimeRecoveryUnavailableException"
            }
            FaultCode::InternalServerError => {
                "com.amazonaws.dynamodb.v20120810#InternalServerError"
            }
        }
    }

    /// Returns the HTTP status.
    pub(crate) fn status(self) -> u16 {
        match self {
            FaultCode::InternalServerError => 500,
            FaultCode::Validation
            | FaultCode::Serialization
            | FaultCode::UnknownOperation
            | FaultCode::ResourceNotFound
            | FaultCode::ResourceInUse
            | FaultCode::LimitExceeded
            | FaultCode::ConditionalCheckFailed
            | FaultCode::DuplicateItem
            | FaultCode::TransactionCanceled
            | FaultCode::IdempotentParameterMismatch
            | FaultCode::TrimmedDataAccess
            | FaultCode::ExpiredIterator
            | FaultCode::Throttled
            | FaultCode::TransactionConflict
            | FaultCode::TransactionInProgress
            | FaultCode::BackupNotFound
            | FaultCode::BackupInUse
            | FaultCode::TableNotFound
            | FaultCode::TableAlreadyExists
            | FaultCode::InvalidRestoreTime
            | FaultCode::PointInTimeRecoveryUnavailable => 400,
        }
    }
}

impl Fault {
    pub(crate) fn new(code: FaultCode, message: impl Into<String>) -> Fault {
        Fault { code, message: message.into(), item: None, reasons: vec![], throttling: None }
    }

    pub(crate) fn validation(message: impl Into<String>) -> Fault {
        Fault::new(FaultCode::Validation, message)
    }

    pub(crate) fn serialization(message: impl Into<String>) -> Fault {
        Fault::new(FaultCode::Serialization, message)
    }

    /// An invalid parameter value, with the service's usual prefix.
    pub(crate) fn parameter(message: impl AsRef<str>) -> Fault {
        let message = message.as_ref();
        Fault::validation(format!("One or more parameter values were invalid: {message}"))
    }

    /// A canceled transaction, with one reason per action.
    pub(crate) fn canceled(reasons: Vec<Reason>) -> Fault {
        let codes: Vec<&str> = reasons.iter().map(|reason| &*reason.code).collect();
        let message = format!(
            "Transaction cancelled, please refer cancellation reasons for specific reasons [{}]",
            codes.join(", ")
        );
        Fault { reasons, ..Fault::new(FaultCode::TransactionCanceled, message) }
    }

    /// Returns the response body. The service spells the name of the message in two ways.
    pub(crate) fn body(&self) -> String {
        let name = match self.code {
            FaultCode::Serialization | FaultCode::TransactionCanceled => "Message",
            _ => "message",
        };
        let mut writer = Writer::new();
        writer.object(|w| {
            w.name("__type").text(self.code.type_name());
            if !self.reasons.is_empty() {
                w.name("CancellationReasons").list(|w| {
                    self.reasons.iter().for_each(|reason| write_reason(w, reason));
                });
            }
            if !self.message.is_empty() {
                w.name(name).text(&self.message);
            }
            if let Some(item) = &self.item {
                write_item(w.name("Item"), item);
            }
            if let Some(Throttling { reason, resource }) = &self.throttling {
                w.name("ThrottlingReasons").list(|w| {
                    w.object(|w| {
                        w.name("reason").text(reason);
                        w.name("resource").text(resource);
                    });
                });
            }
        });
        writer.finish()
    }
}

impl Reason {
    /// The action did not fail.
    pub(crate) const NONE: Reason =
        Reason { code: Cow::Borrowed("None"), message: None, item: None };

    pub(crate) fn validation(message: String) -> Reason {
        Reason { code: "ValidationError".into(), message: Some(message), item: None }
    }
}

fn write_reason(w: &mut Writer, reason: &Reason) {
    w.object(|w| {
        w.name("Code").text(&reason.code);
        if let Some(message) = &reason.message {
            w.name("Message").text(message);
        }
        if let Some(item) = &reason.item {
            write_item(w.name("Item"), item);
        }
    });
}
