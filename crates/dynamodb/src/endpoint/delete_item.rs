//! `DeleteItem`.

use keyloom_store::{Delete, Returns};
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
use super::write_params::{WriteExtras, write_violations};

pub(super) async fn run(endpoint: &Endpoint, params: Params<'_>) -> Result<String, Fault> {
    let extras = WriteExtras::read(&params)?;
    let mut delete = read(params).map_err(enveloped)?;
    endpoint.check_visible(&delete.table)?;
    let paths = NestedPaths::default().add_condition(delete.condition.as_ref());
    endpoint.check_scalar_keys(&delete.table, &paths).await?;
    let (table, returns) = (delete.table.clone(), delete.returns);
    let key = extras.is_requested().then(|| delete.key.clone());
    if extras.is_requested() {
        delete.returns = Returns::AllOld;
    }
    let old = match endpoint.store.delete(delete).await {
        Ok(old) => old,
        Err(error) => {
            return Err(refusal::item_fault(endpoint, &table, RequestKind::Key, error).await);
        }
    };
    let spec = if extras.is_requested() {
        Some(refusal::describe(endpoint, &table).await?.spec)
    } else {
        None
    };
    let mut writer = Writer::new();
    writer.object(|w| {
        write_attributes(w, old.as_ref().filter(|_| returns == Returns::AllOld));
        if let (Some(spec), Some(key)) = (&spec, &key) {
            extras.write(w, &Consumed::of_write(spec, old.as_ref(), None), spec, key);
        }
    });
    Ok(writer.finish())
}

fn read(params: Params<'_>) -> Result<Delete, Fault> {
    let key = params.item("Key")?;
    let expressions = Expressions::read(&params, &["ConditionExpression"])?;
    let expected = Expected::read(&params)?;
    let mut violations = write_violations(&params)?;
    violations.required("key", key.is_some());
    expected.violations(&mut violations);
    violations.finish()?;
    legacy::refuse_mixed(&params, Expected::PARAMETERS, &expressions.given())?;
    expressions.check()?;
    expected.check_operator()?;
    let key = key.unwrap_or_else(|| Ok(Item::new())).map_err(Fault::validation)?;
    let returns = returns_old(&params)?;
    let expected = expected.condition()?;
    let mut parsing = expressions.parse()?;
    let condition = parsing.condition("ConditionExpression")?.or(expected);
    parsing.finish()?;
    let table = table_name(params.text("TableName")?.unwrap_or_default())?;
    Ok(Delete { table, key, condition, returns, on_failure: on_failure(&params)? })
}
