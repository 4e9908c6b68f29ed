//! `DescribeTable`, `ListTables` and `DeleteTable`.

use crate::json::Writer;
use crate::wire::{Fault, FaultCode};

use super::Endpoint;
use super::params::{Params, table_name};
use super::refusal;
use super::settings::is_internal_table;
use super::table_description;
use super::violations::Violations;

/// Names per response.
const NAMES_MAX: i64 = 100;

pub(super) async fn describe(endpoint: &Endpoint, params: Params<'_>) -> Result<String, Fault> {
    let table = endpoint.table(&required_table(&params)?).await?;
    let settings = endpoint.settings(&table).await?;
    let status = endpoint.table_status(&table.spec.name);
    Ok(table_description::response(endpoint, "Table", &table, &settings, status))
}

pub(super) async fn delete(endpoint: &Endpoint, params: Params<'_>) -> Result<String, Fault> {
    let name = required_table(&params)?;
    let table = endpoint.table(&name).await?;
    endpoint.check_unused(&name)?;
    let settings = endpoint.settings(&table).await?;
    if settings.is_protected {
        return Err(Fault::validation(
            "Resource cannot be deleted as it is currently protected against deletion. Disable \
             deletion protection first.",
        ));
    }
    let dropped = endpoint.store.drop_table(name.clone()).await;
    let table = dropped.map_err(|error| refusal::table_fault(endpoint, &name, error))?;
    endpoint.delete_settings(&table).await?;
    Ok(table_description::deleted(endpoint, &table, &settings))
}

pub(super) async fn list(endpoint: &Endpoint, params: Params<'_>) -> Result<String, Fault> {
    let limit = params.integer("Limit")?;
    let after = params.text("ExclusiveStartTableName")?;
    let mut violations = Violations::default();
    violations.at_least("limit", limit, 1);
    violations.at_most("limit", limit, NAMES_MAX);
    if let Some(after) = after {
        violations.name("exclusiveStartTableName", after);
    }
    violations.finish()?;
    let names = endpoint.store.list_tables().await;
    let names =
        names.map_err(|error| Fault::new(FaultCode::InternalServerError, error.to_string()))?;
    let limit = usize::try_from(limit.unwrap_or(NAMES_MAX)).unwrap_or(usize::MAX);
    let visible = names.into_iter().filter(|name| !is_internal_table(name));
    let mut rest = visible.filter(|name| after.is_none_or(|after| name.as_str() > after));
    let page: Vec<_> = rest.by_ref().take(limit).collect();
    let is_more = rest.next().is_some();
    let mut writer = Writer::new();
    writer.object(|w| {
        w.name("TableNames").list(|w| page.iter().for_each(|name| w.text(name.as_str())));
        if let Some(last) = page.last().filter(|_| is_more) {
            w.name("LastEvaluatedTableName").text(last.as_str());
        }
    });
    Ok(writer.finish())
}

/// Reads `TableName` of a table request.
pub(super) fn required_table(params: &Params<'_>) -> Result<keyloom_store::TableName, Fault> {
    let name = params.text("TableName")?;
    let Some(name) = name else {
        return Err(Fault::validation(
            "The parameter 'TableName' is required but was not present in the request",
        ));
    };
    let plain = super::arn::table_of(name);
    let mut violations = Violations::default();
    violations.name("tableName", plain);
    violations.finish()?;
    table_name(name)
}
