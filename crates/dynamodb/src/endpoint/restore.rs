//! `RestoreTableFromBackup` and `RestoreTableToPointInTime`: a new table with the items of a backup,
//! or of another table at an earlier time.
//!
//! Requests about items do not find the new table before it is complete. If the server stops
//! meanwhile, [`Endpoint::recover`] drops it.

use keyloom_store::{Error, IndexScope, Scan, TableDescription, TableName, TableSpec, Time};

use crate::wire::{Fault, FaultCode};

use super::Endpoint;
use super::background;
use super::backup_record::{Backup, create_internal, drop_internal, failed, internal_table};
use super::backups::{self, backed_up_table, time};
use super::continuous_backups::earliest;
use super::params::{Params, table_name};
use super::recovery::Recovery;
use super::settings::{Restored, Settings, Throughput, is_internal_table, settings_table};
use super::table_copy::{self, Rewind};
use super::table_description::{self, table_id};
use super::table_shape::throughput;
use super::violations::Violations;

/// Where the items of the new table come from.
enum Source {
    Backup(Box<Backup>),
    /// A table, as it was at a time.
    Table(Box<TableDescription>, Recovery, Time),
}

pub(super) async fn from_backup(endpoint: &Endpoint, params: Params<'_>) -> Result<String, Fault> {
    let target = target(&params)?;
    let backup = backups::find(endpoint, &params).await?;
    if backup.copied_by.is_some() {
        let message = format!("Backup is being created: {}", backup.arn(endpoint));
        return Err(Fault::new(FaultCode::BackupInUse, message));
    }
    let content = backups::content(endpoint, &backup).await?;
    let content = content.ok_or_else(|| {
        let message = format!("Backup not found: {}", backup.arn(endpoint));
        Fault::new(FaultCode::BackupNotFound, message)
    })?;
    let restored = Restored {
        from_backup: Some(backup.arn(endpoint)),
        from_table: endpoint.table_arn(&backup.table),
        at: backup.created,
        copied_by: Some(endpoint.opening()),
    };
    let settings = backup.settings.clone();
    let plan = plan(&params, target, &content.spec, &settings)?;
    restore(endpoint, plan, restored, Source::Backup(Box::new(backup)), content.items).await
}

pub(super) async fn to_point_in_time(
    endpoint: &Endpoint,
    params: Params<'_>,
) -> Result<String, Fault> {
    let target = target(&params)?;
    let source = match (params.text("SourceTableName")?, params.text("SourceTableArn")?) {
        (Some(name), None) | (None, Some(name)) => name,
        _ => {
            return Err(Fault::validation(
                "Must provide exactly one of: sourceTableArn, sourceTableName",
            ));
        }
    };
    let latest = params.boolean("UseLatestRestorableTime")?.unwrap_or_default();
    let wanted = time(&params, "RestoreDateTime")?;
    let now = endpoint.options.clock.now();
    let at = match (wanted, latest) {
        (Some(at), false) => at,
        (None, true) => now,
        _ => {
            return Err(Fault::validation(
                "Invalid Request: Either one of RestoreDateTime or UseLatestRestorableTime must \
                 be specified, but not both",
            ));
        }
    };
    let table = backed_up_table(endpoint, source).await?;
    let settings = endpoint.settings(&table).await?;
    let unavailable = || {
        let message =
            format!("Point in time recovery is not enabled for table '{}'", table.spec.name);
        Fault::new(FaultCode::PointInTimeRecoveryUnavailable, message)
    };
    let recovery = settings.recovery.ok_or_else(unavailable)?;
    if at < earliest(endpoint, &table, recovery).await? || at > now {
        let message = "Invalid Request: RestoreDateTime is out of the recovery window";
        return Err(Fault::new(FaultCode::InvalidRestoreTime, message));
    }
    let restored = Restored {
        from_backup: None,
        from_table: endpoint.table_arn(&table.spec.name),
        at,
        copied_by: Some(endpoint.opening()),
    };
    let plan = plan(&params, target, &table.spec, &settings)?;
    let items = table.items;
    restore(endpoint, plan, restored, Source::Table(Box::new(table), recovery, at), items).await
}

/// The definition of the new table.
struct Plan {
    spec: TableSpec,
    settings: Settings,
}

/// Creates the new table and fills it.
async fn restore(
    endpoint: &Endpoint,
    plan: Plan,
    restored: Restored,
    source: Source,
    items: u64,
) -> Result<String, Fault> {
    let name = plan.spec.name.clone();
    let exists =
        || Fault::new(FaultCode::TableAlreadyExists, format!("Table already exists: {name}"));
    // A table that exists stays visible: only the new one is hidden.
    if endpoint.store.describe_table(name.clone()).await.is_ok() || !endpoint.restoring.begin(&name)
    {
        return Err(exists());
    }
    let table = match create(endpoint, plan, restored).await {
        Ok(Some(table)) => table,
        created => {
            endpoint.restoring.end(&name);
            return Err(created.err().unwrap_or_else(exists));
        }
    };
    background::run(items, fill(endpoint.clone(), table.clone(), source)).await?;
    let table = endpoint.table(&name).await?;
    let settings = endpoint.settings(&table).await?;
    Ok(table_description::response(endpoint, "TableDescription", &table, &settings, "CREATING"))
}

/// Creates the new table with its settings; `None` if there is one of that name.
async fn create(
    endpoint: &Endpoint,
    plan: Plan,
    restored: Restored,
) -> Result<Option<TableDescription>, Fault> {
    let table = match endpoint.store.create_table(plan.spec).await {
        Ok(table) => table,
        Err(Error::TableExists { .. }) => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let settings = plan.settings;
    let changed = endpoint.change_settings(&table, |now| {
        let version = now.version;
        *now = Settings { restored: Some(restored.clone()), version, ..settings.clone() };
        Ok(())
    });
    if let Err(fault) = changed.await {
        drop_internal(&*endpoint.settings_store, table.spec.name.clone()).await?;
        return Err(fault);
    }
    Ok(Some(table))
}

/// Fills the new table. If that fails, the table is dropped.
async fn fill(endpoint: Endpoint, table: TableDescription, source: Source) -> Result<(), Fault> {
    let name = table.spec.name.clone();
    let filled = async {
        match &source {
            Source::Backup(backup) => {
                let (store, from) = (&endpoint.settings_store, backup.data()?);
                let snapshot = store.snapshot().await.map_err(failed)?;
                table_copy::copy(&*snapshot, &from, &**store, &name).await.map_err(failed)?;
            }
            Source::Table(source, recovery, at) => {
                rewind(&endpoint, source, *recovery, *at, &table).await?;
            }
        }
        let finished = endpoint.change_settings(&table, |settings| {
            if let Some(restored) = &mut settings.restored {
                restored.copied_by = None;
            }
            Ok(())
        });
        finished.await.map(drop)
    };
    let filled = filled.await;
    if filled.is_err() {
        drop_internal(&*endpoint.settings_store, name.clone()).await?;
        endpoint.delete_settings(&table).await?;
    }
    endpoint.restoring.end(&name);
    filled
}

async fn rewind(
    endpoint: &Endpoint,
    source: &TableDescription,
    recovery: Recovery,
    at: Time,
    target: &TableDescription,
) -> Result<(), Fault> {
    let store = &*endpoint.settings_store;
    let absent = internal_table(&format!("absent.{}", table_id(target)))?;
    drop_internal(store, absent.clone()).await?;
    create_internal(store, TableSpec::new(absent.clone(), source.spec.key.clone())).await?;
    let (key, target) = (&source.spec.key, &target.spec.name);
    let rewind = Rewind { store, source: &source.spec.name, key, target, absent: &absent };
    let run = rewind.run(recovery.start(store, &source.spec.name).await?, at).await;
    drop_internal(store, absent).await?;
    run.map_err(failed)
}

fn target(params: &Params<'_>) -> Result<TableName, Fault> {
    let name = params.text("TargetTableName")?;
    let mut violations = Violations::default();
    violations.required("targetTableName", name.is_some());
    if let Some(name) = name {
        violations.name("targetTableName", name);
    }
    violations.finish()?;
    let name = table_name(name.unwrap_or_default())?;
    match is_internal_table(&name) {
        true => Err(Fault::parameter("The table name is reserved by this server")),
        false => Ok(name),
    }
}

/// Applies the overrides: fewer indexes, another throughput. As in the service, tags, streams, the
/// time to live and the protection are not restored.
fn plan(
    params: &Params<'_>,
    target: TableName,
    source: &TableSpec,
    settings: &Settings,
) -> Result<Plan, Fault> {
    let mut spec = TableSpec::new(target, source.key.clone());
    spec.indexes = source.indexes.clone();
    let scopes = [
        (IndexScope::Global, "GlobalSecondaryIndexOverride"),
        (IndexScope::Local, "LocalSecondaryIndexOverride"),
    ];
    for (scope, name) in scopes {
        let Some(kept) = params.objects(name)? else { continue };
        let mut names = Vec::new();
        for index in kept {
            let name = index.text("IndexName")?.unwrap_or_default();
            let is_there = |known: &keyloom_store::IndexSpec| {
                known.scope == scope && known.name.as_str() == name
            };
            if !source.indexes.iter().any(is_there) {
                return Err(Fault::validation(format!(
                    "Invalid Request: Index {name} does not match a secondary index that existed \
                     in the source table and cannot be created during the restore operation"
                )));
            }
            names.push(name);
        }
        spec.indexes.retain(|index| index.scope != scope || names.contains(&index.name.as_str()));
    }
    let throughput = overridden(params, settings.throughput)?;
    let index_throughput = match throughput {
        Some(_) => settings.index_throughput.clone(),
        None => Default::default(),
    };
    let settings = Settings { throughput, index_throughput, ..Settings::default() };
    Ok(Plan { spec, settings })
}

fn overridden(params: &Params<'_>, now: Option<Throughput>) -> Result<Option<Throughput>, Fault> {
    let mut violations = Violations::default();
    let billing = params.text("BillingModeOverride")?;
    violations.one_of("billingModeOverride", billing, &["PROVISIONED", "PAY_PER_REQUEST"]);
    let at = "provisionedThroughputOverride";
    let units = throughput(params, "ProvisionedThroughputOverride", at, &mut violations)?;
    violations.finish()?;
    match (billing, units) {
        (Some("PAY_PER_REQUEST"), Some(_)) => Err(Fault::validation(
            "Invalid Request: Cannot override ProvisionedThroughput if BillingMode is overridden \
             to PAY_PER_REQUEST",
        )),
        (Some("PROVISIONED"), None) => Err(Fault::validation(
            "Invalid Request: Must override ProvisionedThroughput if BillingMode is overridden to \
             PROVISIONED",
        )),
        (Some("PAY_PER_REQUEST"), None) => Ok(None),
        (_, Some(units)) => Ok(Some(units)),
        (_, None) => Ok(now),
    }
}

impl Endpoint {
    /// Drops backups and restored tables that an earlier opening of the store left unfinished. Call it
    /// before the first request.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn recover(&self) -> Result<(), String> {
        self.drop_unfinished().await.map_err(|fault| fault.message)
    }

    async fn drop_unfinished(&self) -> Result<(), Fault> {
        let opening = self.opening();
        let is_left = |copied_by: Option<u64>| copied_by.is_some_and(|by| by != opening);
        for backup in self.all_backups().await? {
            if is_left(backup.copied_by) {
                self.delete_backup(&backup).await?;
            }
        }
        self.drop_unnamed().await?;
        let mut scan = Scan::new(&settings_table()?);
        loop {
            let page = match self.settings_store.scan(scan.clone()).await {
                Ok(page) => page,
                Err(Error::TableNotFound { .. }) => return Ok(()),
                Err(error) => return Err(failed(error)),
            };
            for row in &page.items {
                let name = row.get("table").and_then(keyloom_value::Value::as_s);
                let Some(name) = name.and_then(|name| TableName::new(name).ok()) else { continue };
                let Ok(table) = self.settings_store.describe_table(name.clone()).await else {
                    continue;
                };
                let restored = self.settings(&table).await?.restored;
                if is_left(restored.and_then(|restored| restored.copied_by)) {
                    drop_internal(&*self.settings_store, name).await?;
                    self.delete_settings(&table).await?;
                }
            }
            match page.last_key {
                Some(key) => scan.start = Some(key),
                None => return Ok(()),
            }
        }
    }

    /// Drops internal tables that no record names: those of backups whose record was deleted first,
    /// and those that only a restore uses.
    async fn drop_unnamed(&self) -> Result<(), Fault> {
        let mut named = vec![settings_table()?, internal_table("backups")?];
        for backup in self.all_backups().await? {
            named.push(backup.data()?);
        }
        for table in self.settings_store.list_tables().await.map_err(failed)? {
            if is_internal_table(&table) && !named.contains(&table) {
                drop_internal(&*self.settings_store, table).await?;
            }
        }
        Ok(())
    }
}
