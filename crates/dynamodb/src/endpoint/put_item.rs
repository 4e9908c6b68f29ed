//! `PutItem`.

use keyloom_store::{Put, Returns};
use keyloom_value::Item;

use crate::json::Writer;
use crate::wire::Fault;

use super::Endpoint;
use super::capacity::Consumed;
use super::expressions::Expressions;
use super::legacy::{self, Expected};
use super::params::{Params, table_name};
use super::refusal::{self, RequestKind};
use super::returned::{on_failure, returns_old, write_attributes};
use super::scalar_keys::NestedPaths;
use super::violations::enveloped;
use super::write_params::{WriteExtras, check_size, write_violations};

pub(super) async fn run(endpoint: &Endpoint, params: Params<'_>) -> Result<String, Fault> {
    let extras = WriteExtras::read(&params)?;
    let mut put = read(params).map_err(enveloped)?;
    check_size(&put.item)?;
    endpoint.check_visible(&put.table)?;
    let paths = NestedPaths::default().add_condition(put.condition.as_ref());
    endpoint.check_scalar_keys(&put.table, &paths).await?;
    let (table, returns) = (put.table.clone(), put.returns);
    let new = extras.is_requested().then(|| put.item.clone());
    if extras.is_requested() {
        put.returns = Returns::AllOld;
    }
    let old = match endpoint.store.put(put).await {
        Ok(old) => old,
        Err(error) => {
            return Err(refusal::item_fault(endpoint, &table, RequestKind::Item, error).await);
        }
    };
    let mut writer = Writer::new();
    let spec = if extras.is_requested() {
        Some(refusal::describe(endpoint, &table).await?.spec)
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

fn read(params: Params<'_>) -> Result<Put, Fault> {
    let item = params.item("Item")?;
    let expressions = Expressions::read(&params, &["ConditionExpression"])?;
    let expected = Expected::read(&params)?;
    let mut violations = write_violations(&params)?;
    violations.required("item", item.is_some());
    expected.violations(&mut violations);
    violations.finish()?;
    legacy::refuse_mixed(&params, Expected::PARAMETERS, &expressions.given())?;
    expressions.check()?;
    expected.check_operator()?;
    let item = item.unwrap_or_else(|| Ok(Item::new())).map_err(Fault::validation)?;
    let returns = returns_old(&params)?;
    let expected = expected.condition()?;
    let mut parsing = expressions.parse()?;
    let condition = parsing.condition("ConditionExpression")?.or(expected);
    parsing.finish()?;
    let table = table_name(params.text("TableName")?.unwrap_or_default())?;
    Ok(Put { table, item, condition, returns, on_failure: on_failure(&params)? })
}
