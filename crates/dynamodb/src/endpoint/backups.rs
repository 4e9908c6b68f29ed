//! `CreateBackup`, `DescribeBackup`, `ListBackups` and `DeleteBackup`.

use keyloom_store::{TableDescription, TableSpec, Time};

use crate::json::Writer;
use crate::wire::{Fault, FaultCode};

use super::Endpoint;
use super::arn;
use super::background;
use super::backup_record::{Backup, create_internal, failed};
use super::params::{Params, table_name};
use super::table_copy;
use super::table_description::{seconds, table_id, write_backed_up, write_key};
use super::violations::Violations;

/// Backups per response.
const BACKUPS_MAX: i64 = 100;
const TYPES: &[&str] = &["USER", "SYSTEM", "AWS_BACKUP", "ALL"];

pub(super) async fn create(endpoint: &Endpoint, params: Params<'_>) -> Result<String, Fault> {
    let (name, table) = (params.text("BackupName")?, params.text("TableName")?);
    let mut violations = Violations::default();
    violations.table_name(table);
    violations.required("backupName", name.is_some());
    if let Some(name) = name {
        violations.name("backupName", name);
    }
    violations.finish()?;
    let table = backed_up_table(endpoint, table.unwrap_or_default()).await?;
    let settings = endpoint.settings(&table).await?;
    let created = endpoint.options.clock.now();
    let mut backup = Backup {
        id: unused_id(endpoint, created).await?,
        name: name.unwrap_or_default().to_owned(),
        table: table.spec.name.clone(),
        table_id: table_id(&table),
        table_created: table.created,
        created,
        settings,
        copied_by: Some(endpoint.opening()),
    };
    endpoint.put_backup(&backup).await?;
    let spec = TableSpec::new(backup.data()?, table.spec.key.clone());
    let spec = TableSpec { indexes: table.spec.indexes.clone(), ..spec };
    create_internal(&*endpoint.settings_store, spec).await?;
    let copy = fill(endpoint.clone(), backup.clone());
    if background::run(table.items, copy).await? {
        backup.copied_by = None;
    }
    let mut writer = Writer::new();
    writer.object(|w| {
        w.name("BackupDetails").object(|w| {
            write_details(w, endpoint, &backup, backup.status(), table.bytes);
        });
    });
    Ok(writer.finish())
}

/// Copies the items as they are at one moment, then marks the backup as complete. A copy that fails
/// leaves no backup.
async fn fill(endpoint: Endpoint, backup: Backup) -> Result<(), Fault> {
    let copied = async {
        let store = &endpoint.settings_store;
        let snapshot = store.snapshot().await.map_err(failed)?;
        let target = backup.data()?;
        table_copy::copy(&*snapshot, &backup.table, &**store, &target).await.map_err(failed)?;
        endpoint.put_backup(&Backup { copied_by: None, ..backup.clone() }).await
    };
    if let Err(fault) = copied.await {
        endpoint.delete_backup(&backup).await?;
        return Err(fault);
    }
    Ok(())
}

pub(super) async fn describe(endpoint: &Endpoint, params: Params<'_>) -> Result<String, Fault> {
    let backup = find(endpoint, &params).await?;
    description(endpoint, &backup, backup.status()).await
}

pub(super) async fn delete(endpoint: &Endpoint, params: Params<'_>) -> Result<String, Fault> {
    let backup = find(endpoint, &params).await?;
    if backup.copied_by.is_some() {
        let message = format!("Backup is being created: {}", backup.arn(endpoint));
        return Err(Fault::new(FaultCode::BackupInUse, message));
    }
    let response = description(endpoint, &backup, "DELETED").await?;
    endpoint.delete_backup(&backup).await?;
    Ok(response)
}

pub(super) async fn list(endpoint: &Endpoint, params: Params<'_>) -> Result<String, Fault> {
    let (limit, kind) = (params.integer("Limit")?, params.text("BackupType")?);
    let mut violations = Violations::default();
    violations.at_least("limit", limit, 1);
    violations.at_most("limit", limit, BACKUPS_MAX);
    violations.one_of("backupType", kind, TYPES);
    violations.backup_arn("exclusiveStartBackupArn", params.text("ExclusiveStartBackupArn")?);
    violations.finish()?;
    let table = params.text("TableName")?.map(table_name).transpose()?;
    let (from, to) = (time(&params, "TimeRangeLowerBound")?, time(&params, "TimeRangeUpperBound")?);
    if from.zip(to).is_some_and(|(from, to)| from > to) {
        return Err(Fault::parameter(
            "Time range lower bound must be less than or equal to upper bound",
        ));
    }
    let after = params.text("ExclusiveStartBackupArn")?.map(backup_id).transpose()?;
    let is_listed = |backup: &Backup| {
        !matches!(kind, Some("SYSTEM" | "AWS_BACKUP"))
            && table.as_ref().is_none_or(|table| backup.table == *table)
            && from.is_none_or(|from| backup.created >= from)
            && to.is_none_or(|to| backup.created < to)
            && after.is_none_or(|after| backup.id.as_str() > after)
    };
    let mut backups = endpoint.all_backups().await?;
    backups.retain(is_listed);
    let limit = usize::try_from(limit.unwrap_or(BACKUPS_MAX)).unwrap_or(1);
    let is_more = backups.len() > limit;
    backups.truncate(limit);
    let mut sized = Vec::new();
    for backup in backups {
        let bytes = content(endpoint, &backup).await?.map_or(0, |content| content.bytes);
        sized.push((backup, bytes));
    }
    let mut writer = Writer::new();
    writer.object(|w| {
        w.name("BackupSummaries").list(|w| {
            sized.iter().for_each(|(backup, bytes)| {
                w.object(|w| write_summary(w, endpoint, backup, *bytes));
            });
        });
        if let Some((last, _)) = sized.last().filter(|_| is_more) {
            w.name("LastEvaluatedBackupArn").text(&last.arn(endpoint));
        }
    });
    Ok(writer.finish())
}

/// Finds the backup of `BackupArn`.
pub(super) async fn find(endpoint: &Endpoint, params: &Params<'_>) -> Result<Backup, Fault> {
    let arn = params.text("BackupArn")?;
    let mut violations = Violations::default();
    violations.required("backupArn", arn.is_some());
    violations.backup_arn("backupArn", arn);
    violations.finish()?;
    let arn = arn.unwrap_or_default();
    let backup = endpoint.backup(backup_id(arn)?).await?;
    backup
        .filter(|backup| backup.arn(endpoint) == arn)
        .ok_or_else(|| Fault::new(FaultCode::BackupNotFound, format!("Backup not found: {arn}")))
}

/// Describes the table with the items of a backup.
pub(super) async fn content(
    endpoint: &Endpoint,
    backup: &Backup,
) -> Result<Option<TableDescription>, Fault> {
    match endpoint.settings_store.describe_table(backup.data()?).await {
        Ok(table) => Ok(Some(table)),
        Err(keyloom_store::Error::TableNotFound { .. }) => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

/// Describes a table for an operation that reports a missing one in its own way.
pub(super) async fn backed_up_table(
    endpoint: &Endpoint,
    name: &str,
) -> Result<TableDescription, Fault> {
    let name = table_name(name)?;
    endpoint.table(&name).await.map_err(|fault| match fault.code {
        FaultCode::ResourceNotFound => {
            Fault::new(FaultCode::TableNotFound, format!("Table not found: {name}"))
        }
        _ => fault,
    })
}

/// Reads a time in seconds.
pub(super) fn time(params: &Params<'_>, name: &str) -> Result<Option<Time>, Fault> {
    let seconds = params.number(name)?;
    Ok(seconds.map(|seconds| Time((seconds.max(0.0) * 1000.0) as u64)))
}

fn backup_id(text: &str) -> Result<&str, Fault> {
    arn::backup_of(text).ok_or_else(|| Fault::validation("Invalid Backup ARN"))
}

/// Returns an id as the service forms them: the time, and something that makes it unique.
async fn unused_id(endpoint: &Endpoint, now: Time) -> Result<String, Fault> {
    let mut number = 0_u32;
    loop {
        let id = format!("{:014}-{number:08x}", now.0);
        if endpoint.backup(&id).await?.is_none() {
            return Ok(id);
        }
        number += 1;
    }
}

async fn description(endpoint: &Endpoint, backup: &Backup, status: &str) -> Result<String, Fault> {
    let content = content(endpoint, backup).await?;
    let mut writer = Writer::new();
    writer.object(|w| {
        w.name("BackupDescription").object(|w| {
            let bytes = content.as_ref().map_or(0, |content| content.bytes);
            w.name("BackupDetails").object(|w| write_details(w, endpoint, backup, status, bytes));
            if let Some(content) = &content {
                write_source(w, endpoint, backup, content);
            }
        });
    });
    Ok(writer.finish())
}

fn write_source(w: &mut Writer, endpoint: &Endpoint, backup: &Backup, content: &TableDescription) {
    w.name("SourceTableDetails").object(|w| {
        write_table(w, endpoint, backup);
        w.name("TableSizeBytes").number(content.bytes);
        w.name("ItemCount").number(content.items);
        write_key(w, &content.spec.key);
        w.name("TableCreationDateTime").number(seconds(backup.table_created));
        let throughput = backup.settings.throughput.unwrap_or_default();
        w.name("ProvisionedThroughput").object(|w| {
            w.name("ReadCapacityUnits").number(throughput.read);
            w.name("WriteCapacityUnits").number(throughput.write);
        });
        let is_provisioned = backup.settings.throughput.is_some();
        w.name("BillingMode").text(if is_provisioned { "PROVISIONED" } else { "PAY_PER_REQUEST" });
    });
    w.name("SourceTableFeatureDetails").object(|w| {
        write_backed_up(w, &content.spec, &backup.settings);
    });
}

fn write_details(w: &mut Writer, endpoint: &Endpoint, backup: &Backup, status: &str, bytes: u64) {
    w.name("BackupArn").text(&backup.arn(endpoint));
    w.name("BackupName").text(&backup.name);
    w.name("BackupSizeBytes").number(bytes);
    w.name("BackupStatus").text(status);
    w.name("BackupType").text("USER");
    w.name("BackupCreationDateTime").number(seconds(backup.created));
}

fn write_summary(w: &mut Writer, endpoint: &Endpoint, backup: &Backup, bytes: u64) {
    write_table(w, endpoint, backup);
    write_details(w, endpoint, backup, backup.status(), bytes);
}

fn write_table(w: &mut Writer, endpoint: &Endpoint, backup: &Backup) {
    w.name("TableName").text(backup.table.as_str());
    w.name("TableId").text(&backup.table_id);
    w.name("TableArn").text(&endpoint.table_arn(&backup.table));
}
