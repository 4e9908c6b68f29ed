//! Single-item requests.

use std::future::Future;

use aws_sdk_dynamodb::types::ReturnConsumedCapacity;
use keyloom_store::{
    CancelReason, Consistency, Delete, Error, Get, Put, TransactAction, UpdateItem,
};
use keyloom_value::Item;

use super::codes::VALIDATION;
use super::expressions::{Expressions, on_condition_failed, return_value};
use super::refusal::{failed, has_code, response_item, write_failed};
use super::service::Service;
use super::specs::Rules;
use super::values::{Attributes, attributes};

impl Service {
    pub(super) async fn get(&self, get: Get) -> Result<Option<Item>, Error> {
        let rules = Rules { tables: vec![&get.table], check: &|specs| get.check(specs) };
        self.validate(&rules).await?;
        let mut expressions = Expressions::default();
        let request = self.connection.tables.get_item();
        let request = request
            .table_name(get.table.as_str())
            .set_key(Some(attributes(get.key.clone())))
            .set_projection_expression(expressions.projection(get.projection.as_ref()))
            .set_expression_attribute_names(expressions.names())
            .consistent_read(get.consistency == Consistency::Strong)
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        match self.send_read(|| request.clone().send()).await {
            Ok(output) => {
                self.note_read(&output.consumed_capacity);
                response_item("GetItem", output.item)
            }
            Err(error) => Err(self.explain(&rules, failed("GetItem", &error)).await),
        }
    }

    pub(super) async fn put(&self, put: Put) -> Result<Option<Item>, Error> {
        let rules = Rules { tables: vec![&put.table], check: &|specs| put.check(specs) };
        self.validated_write(&rules, self.put_item(&put)).await
    }

    pub(super) async fn delete(&self, delete: Delete) -> Result<Option<Item>, Error> {
        let rules = Rules { tables: vec![&delete.table], check: &|specs| delete.check(specs) };
        self.validated_write(&rules, self.delete_item(&delete)).await
    }

    pub(super) async fn update(&self, update: UpdateItem) -> Result<Option<Item>, Error> {
        let rules = Rules { tables: vec![&update.table], check: &|specs| update.check(specs) };
        match self.validated_write(&rules, self.update_item(&update)).await {
            Err(error) if has_code(&error, VALIDATION) => {
                let reason = self.why_invalid(&TransactAction::Update(update)).await;
                Err(reason.map_or(error, Error::from))
            }
            result => result,
        }
    }

    /// Returns which rule the effect of an action breaks, as the other stores report it, by applying
    /// the action to the current item. `None` if it breaks none.
    pub(super) async fn why_invalid(&self, action: &TransactAction) -> Option<CancelReason> {
        let TransactAction::Update(update) = action else { return None };
        let spec = self.spec(&update.table).await.ok()?;
        // Boxed, because `get` is part of a recursive future type.
        let get = Box::pin(self.get(Get::new(&update.table, update.key.clone())));
        let old = get.await.ok()?;
        let reason = action.decide(&spec, old.as_ref()).err()?;
        matches!(reason, CancelReason::Invalid(_)).then_some(reason)
    }

    /// Validates a write and sends it; returns the requested image.
    async fn validated_write(
        &self,
        rules: &Rules<'_>,
        write: impl Future<Output = Result<Option<Item>, Error>>,
    ) -> Result<Option<Item>, Error> {
        self.validate(rules).await?;
        match write.await {
            Err(error) => Err(self.explain(rules, error).await),
            result => result,
        }
    }

    async fn put_item(&self, put: &Put) -> Result<Option<Item>, Error> {
        let mut expressions = Expressions::default();
        let request = self.connection.tables.put_item();
        let request = request
            .table_name(put.table.as_str())
            .set_item(Some(attributes(put.item.clone())))
            .set_condition_expression(expressions.condition(put.condition.as_ref()))
            .set_expression_attribute_names(expressions.names())
            .set_expression_attribute_values(expressions.values())
            .return_values(return_value(put.returns))
            .return_values_on_condition_check_failure(on_condition_failed(put.on_failure))
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        let sent = self.send_write(|| request.clone().send()).await;
        let output = sent.map_err(|error| write_failed("PutItem", error))?;
        self.note_written(&output.consumed_capacity);
        returned_image("PutItem", output.attributes)
    }

    async fn update_item(&self, update: &UpdateItem) -> Result<Option<Item>, Error> {
        let mut expressions = Expressions::default();
        let request = self.connection.tables.update_item();
        let request = request
            .table_name(update.table.as_str())
            .set_key(Some(attributes(update.key.clone())))
            .set_update_expression(expressions.update(&update.update))
            .set_condition_expression(expressions.condition(update.condition.as_ref()))
            .set_expression_attribute_names(expressions.names())
            .set_expression_attribute_values(expressions.values())
            .return_values(return_value(update.returns))
            .return_values_on_condition_check_failure(on_condition_failed(update.on_failure))
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        let sent = self.send_write(|| request.clone().send()).await;
        let output = sent.map_err(|error| write_failed("UpdateItem", error))?;
        self.note_written(&output.consumed_capacity);
        returned_image("UpdateItem", output.attributes)
    }

    async fn delete_item(&self, delete: &Delete) -> Result<Option<Item>, Error> {
        let mut expressions = Expressions::default();
        let request = self.connection.tables.delete_item();
        let request = request
            .table_name(delete.table.as_str())
            .set_key(Some(attributes(delete.key.clone())))
            .set_condition_expression(expressions.condition(delete.condition.as_ref()))
            .set_expression_attribute_names(expressions.names())
            .set_expression_attribute_values(expressions.values())
            .return_values(return_value(delete.returns))
            .return_values_on_condition_check_failure(on_condition_failed(delete.on_failure))
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        let sent = self.send_write(|| request.clone().send()).await;
        let output = sent.map_err(|error| write_failed("DeleteItem", error))?;
        self.note_written(&output.consumed_capacity);
        returned_image("DeleteItem", output.attributes)
    }
}

/// Converts the image that a write returned; an empty one counts as none.
fn returned_image(
    operation: &'static str,
    attributes: Option<Attributes>,
) -> Result<Option<Item>, Error> {
    response_item(operation, attributes.filter(|attributes| !attributes.is_empty()))
}
