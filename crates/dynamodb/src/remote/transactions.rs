//! Transactions. One that conflicts with another is retried, with backoff.

use std::sync::Arc;

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{BuildError, ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::transact_get_items::TransactGetItemsError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    CancellationReason, ConditionCheck, Delete as SdkDelete, Get as SdkGet, Put as SdkPut,
    ReturnConsumedCapacity, TransactGetItem, TransactWriteItem, Update as SdkUpdate,
};
use keyloom_store::{
    CancelReason, Check, Delete, Error, Get, Put, Refusal, TransactAction, TransactGet,
    TransactWrite, UpdateItem,
};
use keyloom_value::{Item, Path, Update};

use super::codes::{IN_PROGRESS, TOKEN_REUSED};
use super::expressions::{Expressions, on_condition_failed};
use super::refusal::{failed, has_code, incomplete, response_item};
use super::retry::{Outcome, new_token};
use super::service::Service;
use super::specs::Rules;
use super::values::attributes;

const WRITE: &str = "TransactWriteItems";
const GET: &str = "TransactGetItems";

/// Cancellation reasons after which a retry may succeed.
const TRANSIENT_REASONS: &[&str] =
    &[CONFLICT_REASON, "ThrottlingError", "ProvisionedThroughputExceeded"];
/// Another transaction was in progress.
const CONFLICT_REASON: &str = "TransactionConflict";

/// An attribute that no item has. In a transaction the service rejects an update that changes
/// nothing, so such an update removes this attribute.
const UNUSED_ATTRIBUTE: &str = "keyloom:nothing";

impl Service {
    pub(super) async fn transact_get(
        &self,
        transaction: TransactGet,
    ) -> Result<Vec<Option<Item>>, Error> {
        let tables = transaction.gets.iter().map(|get| &get.table).collect();
        let rules = Rules { tables, check: &|specs| transaction.check(specs) };
        self.validate(&rules).await?;
        let gets: Result<Vec<_>, _> = transaction.gets.iter().map(get_item).collect();
        let gets = gets.map_err(|error| incomplete(GET, &error.to_string()))?;
        let request = self.connection.tables.transact_get_items().set_transact_items(Some(gets));
        let request = request.return_consumed_capacity(ReturnConsumedCapacity::Total);
        let is_retryable = |error: &SdkError<TransactGetItemsError, HttpResponse>| {
            Outcome::of(error).may_succeed_later() || canceled_get(error).is_some_and(are_transient)
        };
        let sent =
            self.send_transaction(|| request.clone().send(), is_retryable, canceled_get).await;
        match sent {
            Ok(output) => {
                self.note_read(output.consumed_capacity());
                let responses = output.responses.unwrap_or_default().into_iter();
                responses.map(|response| response_item(GET, response.item)).collect()
            }
            Err(error) => match canceled_get(&error) {
                Some(reasons) => Err(refused(GET, reasons)),
                None => Err(self.explain(&rules, failed(GET, &error)).await),
            },
        }
    }

    /// Sends a transaction until it succeeds, is not retryable, or attempts run out. Conflicts with other
    /// transactions are retried soon and often; everything else as other requests are.
    async fn send_transaction<T, E, F>(
        &self,
        send: impl Fn() -> F,
        mut is_retryable: impl FnMut(&SdkError<E, HttpResponse>) -> bool,
        canceled: impl Fn(&SdkError<E, HttpResponse>) -> Option<&[CancellationReason]>,
    ) -> Result<T, SdkError<E, HttpResponse>>
    where
        F: Future<Output = Result<T, SdkError<E, HttpResponse>>>,
    {
        let (mut conflicts, mut others) = (self.conflict_backoff(), self.backoff());
        loop {
            let error = match send().await {
                Err(error) if is_retryable(&error) => error,
                result => return result,
            };
            let backoff = match canceled(&error).is_some_and(are_conflicts) {
                true => &mut conflicts,
                false => &mut others,
            };
            if !backoff.wait().await {
                return Err(error);
            }
        }
    }

    /// All attempts carry the same token, so they can be retried and are applied once.
    pub(super) async fn transact_write(&self, transaction: TransactWrite) -> Result<(), Error> {
        if !transaction.numbers.is_empty() {
            return Err(Error::Unsupported { what: "DynamoDB does not add to ranked numbers" });
        }
        if !transaction.sets.is_empty() {
            return Err(Error::Unsupported { what: "DynamoDB has no sets of numbers" });
        }
        let tables = transaction.actions.iter().map(TransactAction::table).collect();
        let rules = Rules { tables, check: &|specs| transaction.check(specs) };
        self.validate(&rules).await?;
        let actions: Result<Vec<_>, _> = transaction.actions.iter().map(write_item).collect();
        let actions = actions.map_err(|error| incomplete(WRITE, &error.to_string()))?;
        let request = self.connection.tables.transact_write_items();
        let request = request
            .set_transact_items(Some(actions))
            .client_request_token(transaction.token.clone().unwrap_or_else(new_token))
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        let mut may_have_applied = false;
        let is_retryable = |error: &SdkError<TransactWriteItemsError, HttpResponse>| {
            let outcome = Outcome::of(error);
            // An earlier attempt is still running and may succeed.
            may_have_applied |= outcome.may_have_applied() || error.code() == Some(IN_PROGRESS);
            outcome.may_succeed_later() || canceled_write(error).is_some_and(are_transient)
        };
        let sent =
            self.send_transaction(|| request.clone().send(), is_retryable, canceled_write).await;
        let error = match sent {
            Ok(output) => {
                self.note_written(output.consumed_capacity());
                return Ok(());
            }
            Err(error) => error,
        };
        let plain = failed(WRITE, &error);
        match canceled_write(&error) {
            // Not applied: for the token of an applied transaction the service returns success.
            Some(reasons) if !may_have_applied || !are_transient(reasons) => {
                Err(self.reasons(&transaction, reasons).await)
            }
            _ if has_code(&plain, TOKEN_REUSED) => {
                Err(Error::TokenReused { token: transaction.token.unwrap_or_default() })
            }
            _ if may_have_applied => Err(in_doubt(plain)),
            _ => Err(self.explain(&rules, plain).await),
        }
    }

    /// Maps the cancellation reasons, in the order of the actions.
    async fn reasons(
        &self,
        transaction: &TransactWrite,
        sdk_reasons: &[CancellationReason],
    ) -> Error {
        let mut reasons = Vec::with_capacity(sdk_reasons.len());
        for (action, reason) in transaction.actions.iter().zip(sdk_reasons) {
            reasons.push(match reason.code.as_deref() {
                None | Some("None") => None,
                Some("ConditionalCheckFailed") => match response_item(WRITE, reason.item.clone()) {
                    Ok(item) => Some(CancelReason::ConditionFailed { item: item.map(Box::new) }),
                    Err(error) => return error,
                },
                Some("ValidationError") => {
                    let why = self.why_invalid(action).await;
                    Some(why.unwrap_or_else(|| CancelReason::Refused(refusal(WRITE, reason))))
                }
                Some(_) => Some(CancelReason::Refused(refusal(WRITE, reason))),
            });
        }
        Error::Canceled { reasons }
    }
}

/// Returns the reasons of a canceled write.
fn canceled_write(
    error: &SdkError<TransactWriteItemsError, HttpResponse>,
) -> Option<&[CancellationReason]> {
    match error.as_service_error() {
        Some(TransactWriteItemsError::TransactionCanceledException(canceled)) => {
            Some(canceled.cancellation_reasons()).filter(|reasons| !reasons.is_empty())
        }
        _ => None,
    }
}

/// Returns the reasons of a canceled read.
fn canceled_get(
    error: &SdkError<TransactGetItemsError, HttpResponse>,
) -> Option<&[CancellationReason]> {
    match error.as_service_error() {
        Some(TransactGetItemsError::TransactionCanceledException(canceled)) => {
            Some(canceled.cancellation_reasons()).filter(|reasons| !reasons.is_empty())
        }
        _ => None,
    }
}

/// Maps the refusal of the last attempt if an earlier one may have been applied.
fn in_doubt(error: Error) -> Error {
    match error {
        Error::Refused(refusal) => Error::Unanswered(refusal),
        other => other,
    }
}

/// Returns whether other transactions were in progress, and nothing else was wrong.
fn are_conflicts(reasons: &[CancellationReason]) -> bool {
    let mut codes = reasons.iter().filter_map(CancellationReason::code);
    codes.all(|code| code == "None" || code == CONFLICT_REASON)
}

/// Returns whether a retry may succeed.
fn are_transient(reasons: &[CancellationReason]) -> bool {
    let mut codes = reasons.iter().filter_map(CancellationReason::code);
    codes.all(|code| code == "None" || TRANSIENT_REASONS.contains(&code))
}

/// Maps a canceled read to the first of its reasons.
fn refused(operation: &'static str, reasons: &[CancellationReason]) -> Error {
    let first = reasons.iter().find(|reason| reason.code().is_some_and(|code| code != "None"));
    match first {
        Some(reason) => Error::Refused(refusal(operation, reason)),
        None => incomplete(operation, "a cancellation reason"),
    }
}

fn refusal(operation: &'static str, reason: &CancellationReason) -> Arc<Refusal> {
    let message = reason.message().unwrap_or("it gave no reason").to_owned();
    let code = reason.code.clone();
    let may_pass = code.as_deref().is_some_and(|code| TRANSIENT_REASONS.contains(&code));
    Arc::new(Refusal { operation, code, message, resource: None, may_pass })
}

fn get_item(get: &Get) -> Result<TransactGetItem, BuildError> {
    let mut expressions = Expressions::default();
    let get = SdkGet::builder()
        .table_name(get.table.as_str())
        .set_key(Some(attributes(get.key.clone())))
        .set_projection_expression(expressions.projection(get.projection.as_ref()))
        .set_expression_attribute_names(expressions.names())
        .build()?;
    Ok(TransactGetItem::builder().get(get).build())
}

fn write_item(action: &TransactAction) -> Result<TransactWriteItem, BuildError> {
    let item = TransactWriteItem::builder();
    Ok(match action {
        TransactAction::Put(action) => item.put(put(action)?),
        TransactAction::Update(action) => item.update(update(action)?),
        TransactAction::Delete(action) => item.delete(delete(action)?),
        TransactAction::Check(action) => item.condition_check(check(action)?),
    }
    .build())
}

fn put(put: &Put) -> Result<SdkPut, BuildError> {
    let mut expressions = Expressions::default();
    SdkPut::builder()
        .table_name(put.table.as_str())
        .set_item(Some(attributes(put.item.clone())))
        .set_condition_expression(expressions.condition(put.condition.as_ref()))
        .set_expression_attribute_names(expressions.names())
        .set_expression_attribute_values(expressions.values())
        .return_values_on_condition_check_failure(on_condition_failed(put.on_failure))
        .build()
}

fn update(update: &UpdateItem) -> Result<SdkUpdate, BuildError> {
    let mut expressions = Expressions::default();
    let text = expressions.update(&update.update);
    let nothing = Update::new().remove(Path::from(UNUSED_ATTRIBUTE));
    SdkUpdate::builder()
        .table_name(update.table.as_str())
        .set_key(Some(attributes(update.key.clone())))
        .set_update_expression(text.or_else(|| expressions.update(&nothing)))
        .set_condition_expression(expressions.condition(update.condition.as_ref()))
        .set_expression_attribute_names(expressions.names())
        .set_expression_attribute_values(expressions.values())
        .return_values_on_condition_check_failure(on_condition_failed(update.on_failure))
        .build()
}

fn delete(delete: &Delete) -> Result<SdkDelete, BuildError> {
    let mut expressions = Expressions::default();
    SdkDelete::builder()
        .table_name(delete.table.as_str())
        .set_key(Some(attributes(delete.key.clone())))
        .set_condition_expression(expressions.condition(delete.condition.as_ref()))
        .set_expression_attribute_names(expressions.names())
        .set_expression_attribute_values(expressions.values())
        .return_values_on_condition_check_failure(on_condition_failed(delete.on_failure))
        .build()
}

fn check(check: &Check) -> Result<ConditionCheck, BuildError> {
    let mut expressions = Expressions::default();
    ConditionCheck::builder()
        .table_name(check.table.as_str())
        .set_key(Some(attributes(check.key.clone())))
        .set_condition_expression(expressions.condition(Some(&check.condition)))
        .set_expression_attribute_names(expressions.names())
        .set_expression_attribute_values(expressions.values())
        .return_values_on_condition_check_failure(on_condition_failed(check.on_failure))
        .build()
}
