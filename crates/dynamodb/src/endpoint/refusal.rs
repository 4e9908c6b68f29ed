//! Maps a store's errors to the service's codes and messages.
//!
//! The store reports which rule a request breaks; the message often names parts of the table. The
//! table's description is read only after such an error.

use keyloom_store::{
    CancelReason, Error, Invalid, Query, Refusal, Scan, Select, TableDescription, TableName,
    TableSpec,
};
use keyloom_value::{Name, UpdateError, ValueType};

use crate::strict::code;
use crate::wire::{Fault, FaultCode, Reason, TOO_DEEP, Throttling, number_error};

use super::Endpoint;
use super::query_refusal;

/// The kind of an item request, on which messages depend.
#[derive(Clone, Copy)]
pub(super) enum RequestKind<'a> {
    /// An item given by its key.
    Key,
    /// A whole item.
    Item,
    /// An update of an item given by its key.
    Update,
    Query(&'a Query),
    Scan(&'a Scan),
    BatchGet,
    BatchWrite,
    Transaction,
}

/// Maps the error of an item request.
pub(super) async fn item_fault(
    endpoint: &Endpoint,
    table: &TableName,
    kind: RequestKind<'_>,
    error: Error,
) -> Fault {
    match error {
        Error::Invalid(invalid) => {
            let spec = endpoint.store.describe_table(table.clone()).await;
            let spec = spec.map(|description| description.spec).ok();
            Fault::validation(invalid_message(spec.as_ref(), kind, &invalid))
        }
        Error::IndexNotFound { index, .. } => {
            Fault::validation(format!("The table does not have the specified index: {index}"))
        }
        Error::IndexBuilding { index, .. } => Fault::validation(format!(
            "Cannot read from backfilling global secondary index: {index}"
        )),
        Error::ConditionFailed { item } => {
            let message = "The conditional request failed";
            let item = item.map(|item| *item);
            Fault { item, ..Fault::new(FaultCode::ConditionalCheckFailed, message) }
        }
        Error::Canceled { reasons } => {
            let spec = endpoint.store.describe_table(table.clone()).await;
            let spec = spec.map(|description| description.spec).ok();
            Fault::canceled(reasons.into_iter().map(|why| reason(spec.as_ref(), why)).collect())
        }
        Error::TokenReused { .. } => Fault::new(
            FaultCode::IdempotentParameterMismatch,
            "The request uses the same client token as a previous, but non-identical request. Do \
             not reuse a client token with different requests, unless the requests are identical",
        ),
        Error::Refused(refusal) => refused_fault(endpoint, &refusal),
        other => store_fault(other),
    }
}

/// Maps what strict mode refuses.
pub(super) fn refused_fault(endpoint: &Endpoint, refusal: &Refusal) -> Fault {
    let code = match refusal.code.as_deref() {
        Some(code::THROTTLED) => FaultCode::Throttled,
        Some(code::CONFLICT) => FaultCode::TransactionConflict,
        Some(code::IN_PROGRESS) => FaultCode::TransactionInProgress,
        Some(code::IN_USE) => FaultCode::ResourceInUse,
        Some(code::LIMIT) => FaultCode::LimitExceeded,
        _ => FaultCode::InternalServerError,
    };
    let throttling = refusal.resource.as_ref().map(|resource| {
        let is_read = matches!(refusal.operation, "GetItem" | "BatchGetItem" | "Query" | "Scan");
        let reason = match (resource.contains("/index/"), is_read) {
            (false, false) => "TableWriteKeyRangeThroughputExceeded",
            (false, true) => "TableReadKeyRangeThroughputExceeded",
            (true, false) => "IndexWriteKeyRangeThroughputExceeded",
            (true, true) => "IndexReadKeyRangeThroughputExceeded",
        };
        Throttling { reason, resource: endpoint.arn(resource) }
    });
    Fault { throttling, ..Fault::new(code, refusal.message.clone()) }
}

/// Maps the error of a table request.
pub(super) fn table_fault(endpoint: &Endpoint, table: &TableName, error: Error) -> Fault {
    match error {
        Error::TableNotFound { .. } => table_not_found(table),
        Error::TableExists { .. } => {
            Fault::new(FaultCode::ResourceInUse, format!("Table already exists: {table}"))
        }
        Error::IndexNotFound { .. } => {
            Fault::new(FaultCode::ResourceNotFound, "Requested resource not found")
        }
        Error::Invalid(invalid) => Fault::parameter(invalid.to_string()),
        Error::Refused(refusal) => refused_fault(endpoint, &refusal),
        other => store_fault(other),
    }
}

pub(super) fn table_not_found(table: &TableName) -> Fault {
    let message = format!("Requested resource not found: Table: {table} not found");
    Fault::new(FaultCode::ResourceNotFound, message)
}

/// Maps the remaining errors: a missing table, and internal errors.
fn store_fault(error: Error) -> Fault {
    match error {
        Error::TableNotFound { .. } => {
            Fault::new(FaultCode::ResourceNotFound, "Requested resource not found")
        }
        other => Fault::new(FaultCode::InternalServerError, other.to_string()),
    }
}

fn reason(spec: Option<&TableSpec>, reason: Option<CancelReason>) -> Reason {
    match reason {
        None => Reason::NONE,
        Some(CancelReason::ConditionFailed { item }) => Reason {
            code: "ConditionalCheckFailed".into(),
            message: Some("The conditional request failed".to_owned()),
            item: item.map(|item| *item),
        },
        Some(CancelReason::Invalid(invalid)) => {
            Reason::validation(invalid_message(spec, RequestKind::Update, &invalid))
        }
        Some(CancelReason::Refused(refusal)) => Reason {
            code: refusal.code.clone().unwrap_or_else(|| "TransactionConflict".to_owned()).into(),
            message: Some(refusal.message.clone()),
            item: None,
        },
    }
}

/// Returns the service's message for a rule that a request breaks.
pub(super) fn invalid_message(
    spec: Option<&TableSpec>,
    kind: RequestKind<'_>,
    invalid: &Invalid,
) -> String {
    match invalid {
        Invalid::KeyMissing { .. }
        | Invalid::KeyExtra { .. }
        | Invalid::KeyType { .. }
        | Invalid::KeyEmpty { .. }
        | Invalid::KeyTooLong { .. } => key_message(spec, kind, invalid),
        Invalid::ItemTooLarge { .. } => match kind {
            RequestKind::Update => {
                "Item size to update has exceeded the maximum allowed size".to_owned()
            }
            _ => "Item size has exceeded the maximum allowed size".to_owned(),
        },
        Invalid::TooDeep { .. } => TOO_DEEP.to_owned(),
        Invalid::UpdatesKey { attribute } => parameter(&format!(
            "Cannot update attribute {attribute}. This attribute is part of the key"
        )),
        Invalid::Update(error) => update_message(error),
        Invalid::KeyCondition { .. } | Invalid::StartKey { .. } => match (spec, kind) {
            (Some(spec), RequestKind::Query(requested)) => {
                query_refusal::range_message(spec, requested)
            }
            _ => "The provided starting key is invalid".to_owned(),
        },
        Invalid::FilterOnKey { attribute } => format!(
            "Filter Expression can only contain non-primary key attributes: Primary key \
             attribute: {attribute}"
        ),
        Invalid::FilterNotProjected { index, attributes } => parameter(&format!(
            "Secondary index {index} does not project one or more filter attributes: [{}]",
            attributes.iter().map(Name::as_str).collect::<Vec<_>>().join(", ")
        )),
        Invalid::NotProjected { index } => not_projected(kind, index),
        Invalid::ItemTwice { .. } => match kind {
            RequestKind::Transaction => {
                "Transaction request cannot include multiple operations on one item".to_owned()
            }
            _ => "Provided list of item keys contains duplicates".to_owned(),
        },
        Invalid::TooManyActions { .. } => match kind {
            RequestKind::BatchGet => {
                "Too many items requested for the BatchGetItem call".to_owned()
            }
            _ => "Too many items requested for the BatchWriteItem call".to_owned(),
        },
        other => parameter(&other.to_string()),
    }
}

/// Returns the message for an invalid key, whether sent alone or inside an item.
fn key_message(spec: Option<&TableSpec>, kind: RequestKind<'_>, invalid: &Invalid) -> String {
    let in_item = matches!(kind, RequestKind::Item | RequestKind::BatchWrite);
    let in_update = matches!(kind, RequestKind::Update);
    match invalid {
        Invalid::KeyType { attribute, expected, found } if in_item || in_update => {
            match index_of(spec, attribute) {
                Some(index) => parameter(&format!(
                    "Type mismatch for Index Key {attribute} Expected: {expected} Actual: {found} \
                     IndexName: {index}"
                )),
                None if matches!(kind, RequestKind::Item) => parameter(&format!(
                    "Type mismatch for key {attribute} expected: {expected} actual: {found}"
                )),
                None => NO_MATCH.to_owned(),
            }
        }
        Invalid::KeyType { .. } if matches!(kind, RequestKind::Query(_)) => {
            parameter("Condition parameter type does not match schema type")
        }
        Invalid::KeyMissing { attribute } if matches!(kind, RequestKind::Item) => {
            parameter(&format!("Missing the key {attribute} in the item"))
        }
        Invalid::KeyEmpty { attribute } => empty_key_message(spec, attribute),
        Invalid::KeyTooLong { limit, .. } if *limit > 1024 => {
            parameter("Size of hashkey has exceeded the maximum size limit of2048 bytes")
        }
        Invalid::KeyTooLong { .. } => {
            parameter("Aggregated size of all range keys has exceeded the size limit of 1024 bytes")
        }
        _ => NO_MATCH.to_owned(),
    }
}

const NO_MATCH: &str = "The provided key element does not match the schema";

fn empty_key_message(spec: Option<&TableSpec>, attribute: &Name) -> String {
    let kind = match spec.and_then(|spec| key_type(spec, attribute)) {
        Some(ValueType::B) => "binary",
        _ => "string",
    };
    let start = "One or more parameter values are not valid.";
    match index_of(spec, attribute) {
        Some(index) => format!(
            "{start} A value specified for a secondary index key is not supported. The \
             AttributeValue for a key attribute cannot contain an empty {kind} value. IndexName: \
             {index}, IndexKey: {attribute}"
        ),
        None => format!(
            "{start} The AttributeValue for a key attribute cannot contain an empty {kind} value. \
             Key: {attribute}"
        ),
    }
}

fn key_type(spec: &TableSpec, attribute: &Name) -> Option<ValueType> {
    let indexes = spec.indexes.iter().flat_map(|index| index.key.attributes());
    let found = spec.key.attributes().chain(indexes).find(|known| known.name == *attribute)?;
    Some(found.key_type.value_type())
}

/// Returns the index whose key has the attribute, unless it is part of the table's key.
fn index_of<'a>(spec: Option<&'a TableSpec>, attribute: &Name) -> Option<&'a TableName> {
    let spec = spec.filter(|spec| !spec.key.has(attribute))?;
    spec.indexes.iter().find(|index| index.key.has(attribute)).map(|index| &index.name)
}

fn update_message(error: &UpdateError) -> String {
    match error {
        UpdateError::StoredType { .. } => {
            "An operand in the update expression has an incorrect data type".to_owned()
        }
        UpdateError::MissingOperand { .. } => {
            "The provided expression refers to an attribute that does not exist in the item"
                .to_owned()
        }
        UpdateError::MissingParent { .. } => {
            "The document path provided in the update expression is invalid for update".to_owned()
        }
        UpdateError::Number { error, .. } => number_error("", error),
        other => format!("Invalid UpdateExpression: {other}"),
    }
}

fn not_projected(kind: RequestKind<'_>, index: &TableName) -> String {
    let select = match kind {
        RequestKind::Query(query) => Some(&query.select),
        RequestKind::Scan(scan) => Some(&scan.select),
        _ => None,
    };
    match select {
        Some(Select::Parts(projection)) => {
            let names: Vec<&str> =
                projection.paths().iter().map(|path| path.root().as_str()).collect();
            parameter(&format!(
                "Global secondary index {index} does not project [{}]",
                names.join(", ")
            ))
        }
        _ => parameter(&format!(
            "Select type ALL_ATTRIBUTES is not supported for global secondary index {index} \
             because its projection type is not ALL"
        )),
    }
}

fn parameter(message: &str) -> String {
    format!("One or more parameter values were invalid: {message}")
}

/// Describes a table, for responses that need its spec. A table dropped in the meantime is
/// reported as missing.
pub(super) async fn describe(
    endpoint: &Endpoint,
    table: &TableName,
) -> Result<TableDescription, Fault> {
    endpoint.store.describe_table(table.clone()).await.map_err(store_fault)
}
