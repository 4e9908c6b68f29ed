//! `PutItem`.

use keyloom_store::{Put, Returns};
use keyloom_value::Item;

use crate::json::Writer;
use crate::wire::Fault;

use super::Endpoint;
use super::capacity::{self, Consumed, Detail};
use super::expressions::Expressions;
use super::get_item::refuse_legacy;
use super::indexes::write_collection_metrics;
use super::params::{Params, table_name};
use super::refusal::{self, About};
use super::returned::{on_failure, returns_old, write_attributes};
use super::violations::{CAPACITY, METRICS, ON_FAILURE, RETURN_VALUES, Violations};

/// Parameters from before there were expressions, with what to use instead.
pub(super) const LEGACY: &[(&str, &str)] =
    &[("Expected", "ConditionExpression"), ("ConditionalOperator", "ConditionExpression")];

pub(super) async fn run(endpoint: &Endpoint, params: Params<'_>) -> Result<String, Fault> {
    let extras = WriteExtras::read(&params)?;
    let mut put = read(params)?;
    endpoint.check_visible(&put.table)?;
    let (table, returns) = (put.table.clone(), put.returns);
    let new = extras.is_wanted().then(|| put.item.clone());
    if extras.is_wanted() {
        put.returns = Returns::AllOld;
    }
    let old = match endpoint.store.put(put).await {
        Ok(old) => old,
        Err(error) => return Err(refusal::of_items(endpoint, &table, About::Item, error).await),
    };
    let mut writer = Writer::new();
    let spec = if extras.is_wanted() {
        Some(refusal::described(endpoint, &table).await?.spec)
    } else {
        None
    };
    writer.object(|w| {
        write_attributes(w, old.as_ref().filter(|_| returns == Returns::AllOld));
        if let (Some(spec), Some(new)) = (&spec, &new) {
            extras.write(w, &Consumed::of_write(spec, old.as_ref(), Some(new)), spec, new);
        }
    });
    Ok(writer.finish())
}

/// What a write may be asked to tell beside its image.
#[derive(Clone, Copy)]
pub(super) struct WriteExtras {
    pub(super) detail: Detail,
    pub(super) metrics: bool,
}

impl WriteExtras {
    pub(super) fn read(params: &Params<'_>) -> Result<WriteExtras, Fault> {
        let metrics = params.text("ReturnItemCollectionMetrics")? == Some("SIZE");
        Ok(WriteExtras { detail: Detail::read(params)?, metrics })
    }

    pub(super) fn is_wanted(self) -> bool {
        self.detail.is_wanted() || self.metrics
    }

    /// Writes what was asked for; `item` has the partition key.
    pub(super) fn write(
        self,
        w: &mut Writer,
        consumed: &Consumed,
        spec: &keyloom_store::TableSpec,
        item: &Item,
    ) {
        capacity::write_one(w, self.detail, consumed);
        if self.metrics {
            write_collection_metrics(w, spec, item);
        }
    }
}

/// The constraints that all writes of one item share.
pub(super) fn write_violations(params: &Params<'_>) -> Result<Violations, Fault> {
    let mut violations = Violations::default();
    let text = |name| params.text(name);
    violations.one_of("returnConsumedCapacity", text("ReturnConsumedCapacity")?, CAPACITY);
    violations.table_name(text("TableName")?);
    violations.one_of("returnValues", text("ReturnValues")?, RETURN_VALUES);
    let metrics = text("ReturnItemCollectionMetrics")?;
    violations.one_of("returnItemCollectionMetrics", metrics, METRICS);
    let on_failure = text("ReturnValuesOnConditionCheckFailure")?;
    violations.one_of("returnValuesOnConditionCheckFailure", on_failure, ON_FAILURE);
    Ok(violations)
}

fn read(params: Params<'_>) -> Result<Put, Fault> {
    let item = params.item("Item")?;
    let expressions = Expressions::read(&params, &["ConditionExpression"])?;
    let mut violations = write_violations(&params)?;
    violations.required("item", item.is_some());
    violations.finish()?;
    refuse_legacy(&params, LEGACY)?;
    expressions.check()?;
    let item = item.unwrap_or_else(|| Ok(Item::new())).map_err(Fault::validation)?;
    let returns = returns_old(&params)?;
    let mut parsing = expressions.parse()?;
    let condition = parsing.condition("ConditionExpression")?;
    parsing.finish()?;
    let table = table_name(params.text("TableName")?.unwrap_or_default())?;
    Ok(Put { table, item, condition, returns, on_failure: on_failure(&params)? })
}
