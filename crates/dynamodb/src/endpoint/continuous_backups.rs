//! `DescribeContinuousBackups` and `UpdateContinuousBackups`: whether a table can be restored to an
//! earlier time. The log has its changes for that, so its feed is on as long as it can.

use keyloom_store::{
    Alteration, Error, Feed, FeedStart, ReadChanges, Shard, Store, TableDescription, TableName,
    Time,
};

use crate::json::Writer;
use crate::wire::Fault;

use super::Endpoint;
use super::backup_record::failed;
use super::backups::backed_up_table;
use super::params::Params;
use super::recovery::Recovery;
use super::refusal;
use super::settings::Settings;
use super::table_description::seconds;
use super::violations::Violations;

/// The longest recovery period, and the default.
const DAYS_MAX: i64 = 35;

impl Recovery {
    /// Returns where to read the changes since it was enabled: the beginning of the log, if it no
    /// longer has all of them.
    pub(super) async fn start(
        &self,
        store: &dyn Store,
        table: &TableName,
    ) -> Result<FeedStart, Fault> {
        let after = FeedStart::After(self.after);
        match first_change(store, table, after).await {
            Ok(_) => Ok(after),
            Err(Error::ChangesGone { .. }) => Ok(FeedStart::Oldest),
            Err(error) => Err(failed(error)),
        }
    }
}

pub(super) async fn describe(endpoint: &Endpoint, params: Params<'_>) -> Result<String, Fault> {
    let table = required(endpoint, &params).await?;
    let settings = endpoint.settings(&table).await?;
    response(endpoint, &table, &settings).await
}

pub(super) async fn update(endpoint: &Endpoint, params: Params<'_>) -> Result<String, Fault> {
    let wanted = params.object("PointInTimeRecoverySpecification")?;
    let mut violations = Violations::default();
    violations.required("pointInTimeRecoverySpecification", wanted.is_some());
    let (mut enabled, mut days) = (None, None);
    if let Some(wanted) = wanted {
        enabled = wanted.boolean("PointInTimeRecoveryEnabled")?;
        days = wanted.integer("RecoveryPeriodInDays")?;
        let at = "pointInTimeRecoverySpecification";
        violations.required(&format!("{at}.pointInTimeRecoveryEnabled"), enabled.is_some());
        violations.at_least(&format!("{at}.recoveryPeriodInDays"), days, 1);
        violations.at_most(&format!("{at}.recoveryPeriodInDays"), days, DAYS_MAX);
    }
    violations.finish()?;
    let enabled = enabled.unwrap_or_default();
    if !enabled && days.is_some() {
        return Err(Fault::validation(
            "Invalid Request: Cannot specify RecoveryPeriodInDays when disabling point-in-time \
             recovery.",
        ));
    }
    let table = required(endpoint, &params).await?;
    let before = endpoint.settings(&table).await?.recovery;
    let recovery = match enabled {
        true => Some(enable(endpoint, &table, before, days).await?),
        false => None,
    };
    let settings = endpoint
        .change_settings(&table, |settings| {
            // Nothing but recovery needs the feed if it was off before.
            settings.is_stream_off |= enabled && settings.stream.is_none();
            settings.recovery = recovery;
            Ok(())
        })
        .await?;
    endpoint.retire_feed(&table, &settings).await;
    response(endpoint, &table, &settings).await
}

async fn enable(
    endpoint: &Endpoint,
    table: &TableDescription,
    before: Option<Recovery>,
    days: Option<i64>,
) -> Result<Recovery, Fault> {
    let days = days.and_then(|days| u64::try_from(days).ok());
    if let Some(before) = before {
        return Ok(Recovery { days: days.unwrap_or(before.days), ..before });
    }
    let name = &table.spec.name;
    if table.spec.feed == Feed::Off {
        // Written first: the feed that is on is then not taken for a stream.
        endpoint
            .change_settings(table, |settings| {
                settings.is_stream_off = true;
                Ok(())
            })
            .await?;
        let alteration = Alteration::SetFeed(Feed::Images);
        let altered = endpoint.store.alter_table(name.clone(), alteration).await;
        altered.map_err(|error| refusal::table_fault(endpoint, name, error))?;
    }
    let after = endpoint.feed_end(name).await?;
    let enabled_at = endpoint.options.clock.now();
    Ok(Recovery { enabled_at, days: days.unwrap_or(DAYS_MAX as u64), after })
}

/// Returns the earliest time that a table can be restored to.
pub(super) async fn earliest(
    endpoint: &Endpoint,
    table: &TableDescription,
    recovery: Recovery,
) -> Result<Time, Fault> {
    let (store, name) = (&*endpoint.settings_store, &table.spec.name);
    let now = endpoint.options.clock.now();
    let kept = Time(now.0.saturating_sub(recovery.days * 24 * 60 * 60 * 1000));
    let earliest = match first_change(store, name, FeedStart::After(recovery.after)).await {
        Ok(_) => recovery.enabled_at,
        // Every change that the log no longer has was before the first that it has.
        Err(Error::ChangesGone { .. }) => {
            first_change(store, name, FeedStart::Oldest).await.map_err(failed)?.unwrap_or(now)
        }
        Err(error) => return Err(failed(error)),
    };
    Ok(earliest.max(kept))
}

/// Returns the time of the first change; `None` if there is none yet.
async fn first_change(
    store: &dyn Store,
    table: &TableName,
    mut start: FeedStart,
) -> Result<Option<Time>, Error> {
    let Some(Shard { id, .. }) = store.shards(table.clone()).await?.into_iter().next() else {
        return Ok(None);
    };
    loop {
        let read = ReadChanges { table: table.clone(), shard: id.clone(), start, limit: 1 };
        let page = store.changes(read).await?;
        if let Some(change) = page.changes.first() {
            return Ok(Some(change.at));
        }
        if FeedStart::After(page.next) == start {
            return Ok(None);
        }
        start = FeedStart::After(page.next);
    }
}

async fn required(endpoint: &Endpoint, params: &Params<'_>) -> Result<TableDescription, Fault> {
    let name = params.text("TableName")?;
    let mut violations = Violations::default();
    violations.table_name(name);
    violations.finish()?;
    backed_up_table(endpoint, name.unwrap_or_default()).await
}

async fn response(
    endpoint: &Endpoint,
    table: &TableDescription,
    settings: &Settings,
) -> Result<String, Fault> {
    let window = match settings.recovery {
        Some(recovery) => Some((recovery, earliest(endpoint, table, recovery).await?)),
        None => None,
    };
    let mut writer = Writer::new();
    writer.object(|w| {
        w.name("ContinuousBackupsDescription").object(|w| {
            w.name("ContinuousBackupsStatus").text("ENABLED");
            w.name("PointInTimeRecoveryDescription").object(|w| {
                let Some((recovery, earliest)) = window else {
                    w.name("PointInTimeRecoveryStatus").text("DISABLED");
                    return;
                };
                w.name("PointInTimeRecoveryStatus").text("ENABLED");
                w.name("RecoveryPeriodInDays").number(recovery.days);
                w.name("EarliestRestorableDateTime").number(seconds(earliest));
                let now = endpoint.options.clock.now();
                w.name("LatestRestorableDateTime").number(seconds(now));
            });
        });
    });
    Ok(writer.finish())
}
