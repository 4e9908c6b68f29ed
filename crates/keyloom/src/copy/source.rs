//! A store as the source of a copy.

use std::fmt;
use std::sync::Arc;

use keyloom_store::{Error as StoreError, Read, Scan, Segment, Store, TableName, yield_point};
use keyloom_value::Item;

use super::portable::portable;
use super::{CopyFrom, CopyPage, CopyRow, Heading};
use crate::answer::Answer;
use crate::db::Db;
use crate::error::Error;
use crate::options::Options;
use crate::schema::{Schema, Stored, open_stored};
use crate::shared::Shared;
use crate::system_rows::key_of;

/// The number of rows to read for a page.
const PAGE_ROWS: u32 = 1000;
/// How many segments of a remote store are read at the same time.
const READERS: u32 = 16;

/// A database in a store, as of one moment if the store has snapshots. Without them, such as in
/// DynamoDB, it must not be written while it is copied; [`StoreTarget::check`](super::StoreTarget::check)
/// finds out whether it was.
///
/// The [module](crate::copy) has an example.
pub struct StoreSource {
    shared: Arc<Shared>,
    schema: Arc<Schema>,
    reads: Arc<dyn Read>,
    heading: Heading,
    identity: String,
    rows_total: u64,
}

impl StoreSource {
    /// Opens the database in a table, under the model that is stored there. `moment` says which state of
    /// it this is, if the store counts its changes: an interrupted copy continues only from the same one.
    ///
    /// # Errors
    ///
    /// If there is no database, it is being changed to another model, or the store fails.
    pub fn open(
        store: Arc<dyn Store>,
        options: Options,
        moment: Option<u64>,
    ) -> Answer<'static, StoreSource> {
        Box::pin(async move {
            let table = TableName::new(&options.table).map_err(StoreError::from)?;
            let stored = match Stored::load(&*store, &table).await {
                Err(Error::Store(StoreError::TableNotFound { .. })) => None,
                stored => stored?,
            };
            let missing = || Error::Copy {
                reason: format!("The source has no database in the table `{table}`."),
            };
            let stored = stored.ok_or_else(missing)?;
            if stored.copy.is_some() {
                return Err(Error::UnfinishedCopy);
            }
            let opened = open_stored(&stored)?;
            let shared = Arc::new(Shared::new(opened, store, table, options)?);
            let mut source = StoreSource::of(shared, &stored).await?;
            if let Some(moment) = moment {
                source.identity = format!("{}@{moment}", source.identity);
            }
            Ok(source)
        })
    }

    /// The database of stored models.
    pub(super) async fn of(shared: Arc<Shared>, stored: &Stored) -> Result<StoreSource, Error> {
        let (heading, schema) = (Heading::of(stored)?, shared.schema());
        let reads = match shared.store.snapshot().await {
            Err(StoreError::Unsupported { .. }) => shared.store.clone() as Arc<dyn Read>,
            snapshot => snapshot?,
        };
        let rows_total = shared.store.describe_table(shared.table.clone()).await?.items;
        let identity = heading.database();
        Ok(StoreSource { shared, schema, reads, heading, identity, rows_total })
    }

    /// Consumers with events that they have not handled. They do not get them from the target.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub fn consumers_behind(&self) -> Answer<'_, Vec<String>> {
        Box::pin(async move {
            let backlog = Db::new(self.shared.clone(), None).backlog().await?;
            let behind = backlog.consumers.into_iter().filter(|lag| lag.events > 0 || lag.is_lost);
            Ok(behind.map(|lag| lag.consumer).collect())
        })
    }
}

impl CopyFrom for StoreSource {
    fn heading(&self) -> &Heading {
        &self.heading
    }

    fn identity(&self) -> &str {
        &self.identity
    }

    fn rows_total(&self) -> Option<u64> {
        Some(self.rows_total)
    }

    fn readers(&self) -> u32 {
        // A store here has no latency that others could hide.
        if self.reads.is_snapshot() { 1 } else { READERS }
    }

    fn page<'a>(&'a self, segment: Segment, after: Option<&'a Item>) -> Answer<'a, CopyPage> {
        Box::pin(async move {
            yield_point().await;
            let mut scan = Scan::new(&self.shared.table);
            scan.limit = Some(PAGE_ROWS);
            scan.segment = Some(segment);
            scan.start = after.cloned();
            let page = self.reads.scan(scan).await?;
            let now_ms = self.shared.now_ms();
            let mut rows = vec![];
            for row in page.items {
                let position = key_of(&row);
                let row = portable(&self.schema.layouts, row, now_ms)?;
                rows.extend(row.map(|row| CopyRow { row, position }));
            }
            Ok(CopyPage { rows, next: page.last_key, read: page.scanned })
        })
    }
}

impl fmt::Debug for StoreSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreSource").field("identity", &self.identity).finish_non_exhaustive()
    }
}
