//! Requests about one item.

use std::future::Future;

use aws_sdk_dynamodb::types::ReturnConsumedCapacity;
use keyloom_store::{
    CancelReason, Consistency, Delete, Error, Get, Put, TransactAction, UpdateItem,
};
use keyloom_value::Item;

use super::expressions::{Expressions, on_condition_failed, return_value};
use super::refusal::{VALIDATION, answered, failed, has_code, write_failed};
use super::service::Service;
use super::specs::Rules;
use super::values::{Attributes, attributes};

impl Service {
    pub(super) async fn get(&self, get: Get) -> Result<Option<Item>, Error> {
        let rules = Rules { tables: vec![&get.table], check: &|specs| get.check(specs) };
        self.admit(&rules).await?;
        let mut expressions = Expressions::default();
        let request = self.connection.tables.get_item();
        let request = request
            .table_name(get.table.as_str())
            .set_key(Some(attributes(get.key.clone())))
            .set_projection_expression(expressions.projection(get.projection.as_ref()))
            .set_expression_attribute_names(expressions.names())
            .consistent_read(get.consistency == Consistency::Strong)
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        match self.ask(|| request.clone().send()).await {
            Ok(output) => {
                self.meter.read(&output.consumed_capacity);
                answered("GetItem", output.item)
            }
            Err(error) => Err(self.explain(&rules, failed("GetItem", &error)).await),
        }
    }

    pub(super) async fn put(&self, put: Put) -> Result<Option<Item>, Error> {
        let rules = Rules { tables: vec![&put.table], check: &|specs| put.check(specs) };
        self.image(&rules, self.put_item(&put)).await
    }

    pub(super) async fn delete(&self, delete: Delete) -> Result<Option<Item>, Error> {
        let rules = Rules { tables: vec![&delete.table], check: &|specs| delete.check(specs) };
        self.image(&rules, self.delete_item(&delete)).await
    }

    pub(super) async fn update(&self, update: UpdateItem) -> Result<Option<Item>, Error> {
        let rules = Rules { tables: vec![&update.table], check: &|specs| update.check(specs) };
        match self.image(&rules, self.update_item(&update)).await {
            Err(error) if has_code(&error, VALIDATION) => {
                let reason = self.why_invalid(&TransactAction::Update(update)).await;
                Err(reason.map_or(error, Error::from))
            }
            result => result,
        }
    }

    /// Why the effect of an action would break a rule, in the words of our own stores: the action
    /// is tried on the item as it is now. None if it would not.
    pub(super) async fn why_invalid(&self, action: &TransactAction) -> Option<CancelReason> {
        let TransactAction::Update(update) = action else { return None };
        let spec = self.spec(&update.table).await.ok()?;
        // Boxed, because the compiler cannot see how deep futures of futures go.
        let get = Box::pin(self.get(Get::new(&update.table, update.key.clone())));
        let old = get.await.ok()?;
        let reason = action.decide(&spec, old.as_ref()).err()?;
        matches!(reason, CancelReason::Invalid(_)).then_some(reason)
    }

    /// The image that a write returned, if the request keeps the rules.
    async fn image(
        &self,
        rules: &Rules<'_>,
        written: impl Future<Output = Result<Option<Item>, Error>>,
    ) -> Result<Option<Item>, Error> {
        self.admit(rules).await?;
        match written.await {
            Err(error) => Err(self.explain(rules, error).await),
            done => done,
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
        let sent = self.write(|| request.clone().send()).await;
        let output = sent.map_err(|error| write_failed("PutItem", error))?;
        self.meter.written(&output.consumed_capacity);
        image("PutItem", output.attributes)
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
        let sent = self.write(|| request.clone().send()).await;
        let output = sent.map_err(|error| write_failed("UpdateItem", error))?;
        self.meter.written(&output.consumed_capacity);
        image("UpdateItem", output.attributes)
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
        let sent = self.write(|| request.clone().send()).await;
        let output = sent.map_err(|error| write_failed("DeleteItem", error))?;
        self.meter.written(&output.consumed_capacity);
        image("DeleteItem", output.attributes)
    }
}

/// The image that a write returned; one without attributes is none.
fn image(operation: &'static str, attributes: Option<Attributes>) -> Result<Option<Item>, Error> {
    answered(operation, attributes.filter(|attributes| !attributes.is_empty()))
}
