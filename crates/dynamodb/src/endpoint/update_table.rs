//! `UpdateTable`.

use keyloom_store::{Alteration, Feed, IndexName, IndexScope, TableDescription, TableName};

use crate::wire::{Fault, FaultCode};

use super::Endpoint;
use super::create_table;
use super::params::Params;
use super::refusal;
use super::settings::{Settings, Stream, Throughput};
use super::table_description;
use super::table_shape::{Definitions, IndexShape, throughput};
use super::tables::required_table;
use super::violations::Violations;

/// Parameters of which at least one is required.
const CHANGES: &[&str] = &[
    "ProvisionedThroughput",
    "BillingMode",
    "StreamSpecification",
    "GlobalSecondaryIndexUpdates",
    "DeletionProtectionEnabled",
    "TableClass",
    "SSESpecification",
    "OnDemandThroughput",
    "WarmThroughput",
];

/// A change to a global index.
enum IndexChange<'a> {
    Create(IndexShape<'a>),
    Delete(&'a str),
    Update(&'a str, Option<Throughput>),
}

pub(super) async fn run(endpoint: &Endpoint, params: Params<'_>) -> Result<String, Fault> {
    let name = required_table(&params)?;
    let mut violations = Violations::default();
    let definitions = Definitions::read(&params, &mut violations)?;
    let billing = params.text("BillingMode")?;
    violations.one_of("billingMode", billing, &["PROVISIONED", "PAY_PER_REQUEST"]);
    let units = throughput(&params, "provisionedThroughput", &mut violations)?;
    let changes = index_changes(&params, &mut violations)?;
    violations.finish()?;
    check_params(&params, billing, units)?;
    definitions.check()?;
    check_index_changes(&changes)?;
    let table = endpoint.table(&name).await?;
    let before = endpoint.settings(&table).await?;
    check_billing(billing, units, &before)?;
    let table = change_stream(endpoint, &params, &table, &before).await?;
    for change in &changes {
        change_index(endpoint, &name, change, &definitions).await?;
    }
    let table = endpoint.table(&name).await.unwrap_or(table);
    let view = create_table::stream(&params)?;
    let protected = params.boolean("DeletionProtectionEnabled")?;
    let class = params.text("TableClass")?;
    let enabled_at = endpoint.options.clock.now();
    let settings = endpoint
        .change_settings(&table, |settings| {
            set_throughput(settings, billing, units, &changes);
            if let Some(view) = view.filter(|_| before.stream.is_none()) {
                settings.stream = Some(Stream { view, enabled_at });
            }
            settings.is_protected = protected.unwrap_or(settings.is_protected);
            settings.class = class.map(str::to_owned).or(settings.class.take());
            Ok(())
        })
        .await?;
    let status = endpoint.table_status(&table.spec.name);
    Ok(table_description::response(endpoint, "TableDescription", &table, &settings, status))
}

fn check_params(
    params: &Params<'_>,
    billing: Option<&str>,
    units: Option<Throughput>,
) -> Result<(), Fault> {
    if params.has("ReplicaUpdates") || params.has("GlobalTableWitnessUpdates") {
        return Err(Fault::validation("Global tables are not supported by this server"));
    }
    if !CHANGES.iter().any(|name| params.has(name)) {
        return Err(Fault::validation(
            "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, \
             GlobalSecondaryIndexUpdates or SSESpecification or ReplicaUpdates is required",
        ));
    }
    if billing == Some("PROVISIONED") && units.is_none() {
        return Err(Fault::parameter(
            "ProvisionedThroughput must be specified when BillingMode is PROVISIONED",
        ));
    }
    Ok(())
}

fn check_billing(
    billing: Option<&str>,
    units: Option<Throughput>,
    before: &Settings,
) -> Result<(), Fault> {
    let is_per_request = match billing {
        Some(billing) => billing == "PAY_PER_REQUEST",
        None => before.throughput.is_none(),
    };
    if is_per_request && units.is_some() {
        return Err(Fault::parameter(
            "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode \
             is PAY_PER_REQUEST",
        ));
    }
    match (before.throughput, units) {
        (Some(now), Some(wanted)) if now == wanted => Err(Fault::validation(format!(
            "The provisioned throughput for the table will not change. The requested value equals \
             the current value. Current ReadCapacityUnits provisioned for the table: {}. Requested \
             ReadCapacityUnits: {}. Current WriteCapacityUnits provisioned for the table: {}. \
             Requested WriteCapacityUnits: {}. Refer to the Amazon DynamoDB Developer Guide for \
             current limits and how to request higher limits.",
            now.read, wanted.read, now.write, wanted.write
        ))),
        _ => Ok(()),
    }
}

fn index_changes<'a>(
    params: &Params<'a>,
    violations: &mut Violations,
) -> Result<Vec<IndexChange<'a>>, Fault> {
    let mut changes = Vec::new();
    let elements = params.objects("GlobalSecondaryIndexUpdates")?.unwrap_or_default();
    for (position, element) in elements.iter().enumerate() {
        let at = format!("globalSecondaryIndexUpdates.{}.member", position + 1);
        if let Some(index) = element.object("Create")? {
            let at = format!("{at}.create");
            let shape = IndexShape::read(&index, &at, IndexScope::Global, violations)?;
            changes.push(IndexChange::Create(shape));
        }
        if let Some(index) = element.object("Delete")? {
            let name = index.text("IndexName")?;
            violations.required(&format!("{at}.delete.indexName"), name.is_some());
            changes.push(IndexChange::Delete(name.unwrap_or_default()));
        }
        if let Some(index) = element.object("Update")? {
            let name = index.text("IndexName")?;
            let at = format!("{at}.update");
            violations.required(&format!("{at}.indexName"), name.is_some());
            let units = throughput(&index, &format!("{at}.provisionedThroughput"), violations)?;
            changes.push(IndexChange::Update(name.unwrap_or_default(), units));
        }
    }
    if changes.len() < elements.len() {
        return Err(Fault::parameter(
            "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, \
             GlobalSecondaryIndexUpdate.Delete must not be null",
        ));
    }
    Ok(changes)
}

/// A request can create or drop only one index, and change none twice.
fn check_index_changes(changes: &[IndexChange<'_>]) -> Result<(), Fault> {
    let mut names: Vec<&str> = Vec::new();
    for change in changes {
        let name = match change {
            IndexChange::Create(shape) => shape.name,
            IndexChange::Delete(name) | IndexChange::Update(name, _) => name,
        };
        if names.contains(&name) {
            return Err(Fault::parameter(format!(
                "Only one global secondary index update per index is allowed simultaneously. \
                 Index: {name}"
            )));
        }
        names.push(name);
    }
    let rebuilt = changes.iter().filter(|change| !matches!(change, IndexChange::Update(..)));
    if rebuilt.count() > 1 {
        return Err(Fault::new(
            FaultCode::LimitExceeded,
            "Subscriber limit exceeded: Only 1 online index can be created or deleted \
             simultaneously per table",
        ));
    }
    Ok(())
}

async fn change_index(
    endpoint: &Endpoint,
    table: &TableName,
    change: &IndexChange<'_>,
    definitions: &Definitions<'_>,
) -> Result<(), Fault> {
    let alteration = match change {
        IndexChange::Create(shape) => {
            Alteration::AddIndex(shape.spec(IndexScope::Global, definitions)?)
        }
        IndexChange::Delete(name) => Alteration::DropIndex(index_name(name)?),
        IndexChange::Update(..) => return Ok(()),
    };
    let altered = endpoint.store.alter_table(table.clone(), alteration).await;
    altered.map(drop).map_err(|error| refusal::table_fault(endpoint, table, error))
}

fn index_name(name: &str) -> Result<IndexName, Fault> {
    TableName::new(name).map_err(|invalid| Fault::validation(invalid.to_string()))
}

async fn change_stream(
    endpoint: &Endpoint,
    params: &Params<'_>,
    table: &TableDescription,
    before: &Settings,
) -> Result<TableDescription, Fault> {
    if !params.has("StreamSpecification") {
        return Ok(table.clone());
    }
    let name = &table.spec.name;
    let feed = match (create_table::stream(params)?, &before.stream) {
        (Some(_), Some(_)) => {
            return Err(Fault::validation(format!(
                "Table already has an enabled stream: TableName: {name}"
            )));
        }
        (None, None) => {
            return Err(Fault::validation(format!(
                "Table already has a disabled stream: TableName: {name}"
            )));
        }
        (Some(_), None) => Feed::Images,
        (None, Some(_)) => Feed::Off,
    };
    let altered = endpoint.store.alter_table(name.clone(), Alteration::SetFeed(feed)).await;
    altered.map_err(|error| refusal::table_fault(endpoint, name, error))
}

fn set_throughput(
    settings: &mut Settings,
    billing: Option<&str>,
    units: Option<Throughput>,
    changes: &[IndexChange<'_>],
) {
    if billing == Some("PAY_PER_REQUEST") {
        settings.throughput = None;
        settings.index_throughput.clear();
    }
    settings.throughput = units.or(settings.throughput);
    for change in changes {
        let (name, units) = match change {
            IndexChange::Create(shape) => (shape.name, shape.throughput),
            IndexChange::Update(name, units) => (*name, *units),
            IndexChange::Delete(name) => (*name, None),
        };
        match units {
            Some(units) => settings.index_throughput.insert(name.to_owned(), units),
            None => settings.index_throughput.remove(name),
        };
    }
}
