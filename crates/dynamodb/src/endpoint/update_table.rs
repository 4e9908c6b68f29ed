//! `UpdateTable`.

use std::sync::Arc;

use keyloom_store::{Alteration, Feed, IndexName, IndexScope, TableDescription, TableName};

use crate::wire::{Fault, FaultCode};

use super::Endpoint;
use super::create_table::{self, StreamWords};
use super::params::Params;
use super::refusal;
use super::settings::{Settings, Stream, StreamEnd, Throughput};
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
    let units =
        throughput(&params, "ProvisionedThroughput", "provisionedThroughput", &mut violations)?;
    let changes = index_changes(&params, &mut violations)?;
    violations.finish()?;
    check_params(&params, billing, units)?;
    let class = create_table::class(&params)?;
    definitions.check()?;
    check_index_changes(&changes)?;
    let table = endpoint.table(&name).await?;
    endpoint.check_unused(&name)?;
    let before = endpoint.settings(&table).await?;
    check_billing(billing, units, &before)?;
    check_indexes(&changes, &table)?;
    let is_provisioned = match billing {
        Some(billing) => billing == "PROVISIONED",
        None => before.throughput.is_some(),
    };
    check_index_throughput(&changes, &table, &before, is_provisioned)?;
    let feed = change_stream(endpoint, &params, &table, &before).await?;
    for change in &changes {
        change_index(endpoint, &name, change, &definitions).await?;
    }
    let table = endpoint.table(&name).await.unwrap_or(table);
    let protected = params.boolean("DeletionProtectionEnabled")?;
    let settings = endpoint
        .change_settings(&table, |settings| {
            set_throughput(settings, billing, units, &changes);
            if let Some(change) = &feed {
                change.apply(settings);
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
    let is_empty = params.list("GlobalSecondaryIndexUpdates")?.is_some_and(<[_]>::is_empty);
    let is_given =
        |name: &&str| params.has(name) && !(*name == "GlobalSecondaryIndexUpdates" && is_empty);
    if !CHANGES.iter().any(is_given) {
        return Err(Fault::validation(
            "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, \
             GlobalSecondaryIndexUpdates, SSESpecification, ReplicaUpdates, \
             MultiAccountReplicaReady, ReplicaTransitRoleArn, MultiRegionConsistency, \
             DeletionProtectionEnabled, OnDemandThroughput, WarmThroughput or TableClass is \
             required",
        ));
    }
    if is_empty {
        return Err(Fault::parameter("List of GlobalSecondaryIndexUpdates is empty"));
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
        let actions = ["Create", "Delete", "Update"].iter().filter(|name| element.has(name));
        if actions.count() > 1 {
            return Err(Fault::parameter(
                "Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate \
                 object",
            ));
        }
        if let Some(index) = element.object("Create")? {
            let at = format!("{at}.create");
            let shape = IndexShape::read(&index, &at, IndexScope::Global, violations)?;
            changes.push(IndexChange::Create(shape));
        }
        if let Some(index) = element.object("Delete")? {
            let name = named(&index, &format!("{at}.delete"), violations)?;
            changes.push(IndexChange::Delete(name.unwrap_or_default()));
        }
        if let Some(index) = element.object("Update")? {
            let at = format!("{at}.update");
            let name = named(&index, &at, violations)?;
            let units = throughput(
                &index,
                "ProvisionedThroughput",
                &format!("{at}.provisionedThroughput"),
                violations,
            )?;
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

/// Reads `IndexName`.
fn named<'a>(
    index: &Params<'a>,
    at: &str,
    violations: &mut Violations,
) -> Result<Option<&'a str>, Fault> {
    let name = index.text("IndexName")?;
    violations.required(&format!("{at}.indexName"), name.is_some());
    if let Some(name) = name {
        violations.name(&format!("{at}.indexName"), name);
    }
    Ok(name)
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

/// Rejects changes of indexes that do not exist, or are local, and new ones that do exist.
fn check_indexes(changes: &[IndexChange<'_>], table: &TableDescription) -> Result<(), Fault> {
    for change in changes {
        let (name, verb) = match change {
            IndexChange::Create(shape) => (shape.name, "create"),
            IndexChange::Delete(name) => (*name, "delete"),
            IndexChange::Update(name, _) => (*name, "update"),
        };
        let found = table.spec.indexes.iter().find(|index| index.name.as_str() == name);
        match (change, found) {
            (IndexChange::Create(_), Some(_)) => {
                return Err(Fault::validation(
                    "Attempting to create an index which already exists",
                ));
            }
            (IndexChange::Create(_), None) => {}
            (IndexChange::Delete(_) | IndexChange::Update(..), None) => {
                let message = format!(
                    "Requested resource not found: Index {name} for table {}",
                    table.spec.name
                );
                return Err(Fault::new(FaultCode::ResourceNotFound, message));
            }
            (_, Some(index)) if index.scope == IndexScope::Local => {
                return Err(Fault::validation(format!(
                    "Cannot {verb} an index that is not a GlobalSecondaryIndex: {name}"
                )));
            }
            (_, Some(_)) => {}
        }
    }
    Ok(())
}

/// In a provisioned table every global index has throughput, in any other none.
fn check_index_throughput(
    changes: &[IndexChange<'_>],
    table: &TableDescription,
    before: &Settings,
    is_provisioned: bool,
) -> Result<(), Fault> {
    for change in changes {
        let (name, units) = match change {
            IndexChange::Create(shape) => (shape.name, shape.throughput),
            IndexChange::Update(name, units) => (*name, *units),
            IndexChange::Delete(_) => continue,
        };
        let is_new = matches!(change, IndexChange::Create(_));
        match units {
            Some(_) if !is_provisioned => {
                return Err(Fault::parameter(format!(
                    "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: \
                     {name} when BillingMode is PAY_PER_REQUEST"
                )));
            }
            None if is_provisioned && is_new => {
                return Err(Fault::parameter(format!(
                    "Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: \
                     {name}"
                )));
            }
            Some(_) | None => {}
        }
    }
    let is_given = |name: &str| {
        changes.iter().any(|change| match change {
            IndexChange::Update(named, units) => *named == name && units.is_some(),
            IndexChange::Delete(named) => *named == name,
            IndexChange::Create(_) => false,
        })
    };
    let global = table.spec.indexes.iter().filter(|index| index.scope == IndexScope::Global);
    let lacking = global.map(|index| index.name.as_str()).filter(|name| {
        is_provisioned && !before.index_throughput.contains_key(*name) && !is_given(name)
    });
    let lacking: Vec<&str> = lacking.collect();
    match before.throughput.is_none() && !lacking.is_empty() {
        true => Err(Fault::parameter(format!(
            "ProvisionedThroughput must be specified for index: {}",
            lacking.join(",")
        ))),
        false => Ok(()),
    }
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
    let refused = |error| refusal::table_fault(endpoint, table, error);
    let described = endpoint.store.describe_table(table.clone()).await.map_err(refused)?;
    // The store may allow more than the service does.
    let spec = Arc::new(described.spec);
    alteration.check(&|_| Ok(Arc::clone(&spec)), table).map_err(refused)?;
    let altered = endpoint.store.alter_table(table.clone(), alteration).await;
    altered.map(drop).map_err(refused)
}

fn index_name(name: &str) -> Result<IndexName, Fault> {
    TableName::new(name).map_err(|invalid| Fault::validation(invalid.to_string()))
}

/// A stream that is enabled or disabled.
enum StreamChange {
    Enabled(Stream),
    Disabled(StreamEnd),
}

impl StreamChange {
    fn apply(&self, settings: &mut Settings) {
        match self {
            StreamChange::Enabled(stream) => settings.stream = Some(stream.clone()),
            StreamChange::Disabled(end) => {
                let past = settings.stream.take();
                let past = past.map(|stream| Stream { end: Some(*end), ..stream });
                settings.past_streams.extend(past);
            }
        }
        settings.is_stream_off = matches!(self, StreamChange::Disabled(_));
    }
}

/// Enables or disables the stream. A disabled one can be read for another day, so the feed of the
/// table goes on until then.
async fn change_stream(
    endpoint: &Endpoint,
    params: &Params<'_>,
    table: &TableDescription,
    before: &Settings,
) -> Result<Option<StreamChange>, Fault> {
    if !params.has("StreamSpecification") {
        return Ok(None);
    }
    let (name, now) = (&table.spec.name, endpoint.options.clock.now());
    let view = create_table::stream(params, StreamWords::UPDATE)?;
    Ok(Some(match (view, &before.stream) {
        (Some(_), Some(_)) => {
            return Err(Fault::validation(format!(
                "Table already has an enabled stream: TableName: {name}"
            )));
        }
        (None, None) => {
            return Err(Fault::validation(format!(
                "Table has no stream to disable: TableName: {name}"
            )));
        }
        (Some(view), None) if table.spec.feed == Feed::Images => {
            let after = endpoint.feed_end(name).await?;
            StreamChange::Enabled(Stream::new(view, now, Some(after)))
        }
        (Some(view), None) => {
            let alteration = Alteration::SetFeed(Feed::Images);
            let altered = endpoint.store.alter_table(name.clone(), alteration).await;
            altered.map_err(|error| refusal::table_fault(endpoint, name, error))?;
            StreamChange::Enabled(Stream::new(view, now, None))
        }
        (None, Some(_)) => {
            StreamChange::Disabled(StreamEnd { at: now, last: endpoint.feed_end(name).await? })
        }
    }))
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
