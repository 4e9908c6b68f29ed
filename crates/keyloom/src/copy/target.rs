//! A store as the target of a copy.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::future::try_join_all;
use keyloom_model::{Layout, Matching};
use keyloom_store::{Error as StoreError, Scan, Store, TableName, TransactWrite};

use super::aggregate::write_aggregates;
use super::audit::audit;
use super::position::StreamPosition;
use super::progress::{CopyProgress, CopyStep, OnProgress};
use super::record::CopyRecord;
use super::stream::Streams;
use super::summary::summarize;
use super::{CopyFrom, Heading, StoreSource, Summary};
use crate::answer::Answer;
use crate::error::Error;
use crate::options::Options;
use crate::schema::{Revision, Stored, ensure_table, open_stored, write_copied};
use crate::shared::Shared;

/// The most streams of a copy: their positions are removed in one transaction.
const STREAMS_MAX: u32 = 64;

/// A table that is being filled by a copy. It cannot be opened as a database until
/// [`StoreTarget::finish`].
///
/// The [module](crate::copy) has an example.
pub struct StoreTarget {
    shared: Arc<Shared>,
    record: CopyRecord,
}

impl StoreTarget {
    /// Begins to copy into a table that does not exist or is empty, or continues an unfinished copy from
    /// the same source.
    ///
    /// # Errors
    ///
    /// If the table contains anything else, or the store fails.
    pub fn begin<'a>(
        from: &'a dyn CopyFrom,
        store: Arc<dyn Store>,
        options: Options,
        streams: u32,
    ) -> Answer<'a, StoreTarget> {
        Box::pin(begin(from, store, options, streams))
    }

    /// Copies all rows that are not copied yet, and derives the rest.
    ///
    /// # Errors
    ///
    /// If the source or the store fails: begin again to continue.
    pub fn fill<'a>(
        &'a self,
        from: &'a dyn CopyFrom,
        on_progress: OnProgress<'a>,
    ) -> Answer<'a, ()> {
        Box::pin(async move {
            let (schema, of) = (self.shared.schema(), self.record.streams);
            let (copied, read) = (AtomicU64::new(0), AtomicU64::new(0));
            let streams = Streams {
                shared: &self.shared,
                schema: &schema,
                from,
                of,
                copied: &copied,
                read: &read,
                on_progress,
            };
            try_join_all((0..of).map(|stream| streams.run(stream))).await?;
            write_aggregates(&self.shared, &schema, of, on_progress).await
        })
    }

    /// Compares the target with the source, row by row, and verifies everything derived. Returns the
    /// summary of what was copied.
    ///
    /// # Errors
    ///
    /// If anything differs: the source was written while it was copied, or is damaged.
    pub fn check<'a>(
        &'a self,
        from: &'a dyn CopyFrom,
        on_progress: OnProgress<'a>,
    ) -> Answer<'a, Summary> {
        Box::pin(async move {
            let summary = self.compare(from, on_progress).await?;
            self.verify(on_progress).await?;
            Ok(summary)
        })
    }

    /// Ends the copy: from now on the table can be opened.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub fn finish(self) -> Answer<'static, ()> {
        Box::pin(async move {
            let table = &self.shared.table;
            let positions = (0..self.record.streams).map(|n| StreamPosition::remove(table, n));
            let actions = positions.chain([self.record.remove(table)]).collect();
            Ok(self.shared.store.transact_write(TransactWrite::new(actions)).await?)
        })
    }

    async fn compare(
        &self,
        from: &dyn CopyFrom,
        on_progress: OnProgress<'_>,
    ) -> Result<Summary, Error> {
        let stored = Stored::load(&*self.shared.store, &self.shared.table).await?;
        let stored = stored.ok_or_else(|| Error::damaged("The table contains no model."))?;
        let target = StoreSource::of(self.shared.clone(), &stored).await?;
        let total = from.rows_total().zip(target.rows_total()).map(|(left, right)| left + right);
        let (read, now_ms) = (AtomicU64::new(0), self.shared.now_ms());
        let on_read = |rows: u64| {
            let rows = rows + read.fetch_add(rows, Ordering::Relaxed);
            on_progress(CopyProgress { step: CopyStep::Comparing, rows, done: rows, total });
        };
        let expected = summarize(from, now_ms, &on_read).await?;
        let found = summarize(&target, now_ms, &on_read).await?;
        let differences = expected.differences(&found);
        if !differences.is_empty() {
            let reason = format!(
                "Source and target differ: {}. The source was written while it was copied. Remove the \
                 target and copy again while nothing writes to the source.",
                differences.join(", ")
            );
            return Err(Error::Copy { reason });
        }
        Ok(found)
    }

    /// Checks that the target has what its entities imply, and nothing else.
    async fn verify(&self, on_progress: OnProgress<'_>) -> Result<(), Error> {
        let schema = self.shared.schema();
        let readers = if self.shared.store.opening().is_some() { 1 } else { self.record.streams };
        let differences = audit(&self.shared, &schema, readers, on_progress).await?;
        if differences.is_empty() {
            return Ok(());
        }
        let reason = format!(
            "The target differs from what its entities imply: {}. Remove it and copy again; if that does \
             not help, verify and repair the source.",
            differences.join(", ")
        );
        Err(Error::Copy { reason })
    }
}

async fn begin(
    from: &dyn CopyFrom,
    store: Arc<dyn Store>,
    options: Options,
    streams: u32,
) -> Result<StoreTarget, Error> {
    let table = TableName::new(&options.table).map_err(StoreError::from)?;
    let heading = from.heading();
    if is_empty(&*store, &table).await? {
        let source = from.identity().to_owned();
        let record = CopyRecord { source, streams: streams.clamp(1, STREAMS_MAX) };
        create(&*store, &table, heading, &record).await?;
    }
    let stored = match Stored::load(&*store, &table).await {
        Ok(Some(stored)) => stored,
        Ok(None) | Err(Error::Damaged { .. }) => return Err(occupied(&table)),
        Err(error) => return Err(error),
    };
    let record = stored.copy.as_ref().ok_or_else(|| occupied(&table))?;
    let record = CopyRecord::read(record)
        .ok_or_else(|| Error::damaged("The record of an unfinished copy cannot be read."))?;
    if record.source != from.identity() {
        return Err(other_source(&table));
    }
    let shared = Arc::new(Shared::new(open_stored(&stored)?, store, table, options)?);
    Ok(StoreTarget { shared, record })
}

/// Creates the table, its model and the record of the copy.
async fn create(
    store: &dyn Store,
    table: &TableName,
    heading: &Heading,
    record: &CopyRecord,
) -> Result<(), Error> {
    let model = keyloom_model::check(heading.model()).map_err(|_| Error::Copy {
        reason: "This version cannot read the model of the source: copy with the version that serves it."
            .to_owned(),
    })?;
    let matching = match store.sets() {
        Some(_) => Matching::Sets,
        None => Matching::Chunks,
    };
    let model = model.with_stored_names(&heading.revision.names);
    let layout = Layout::reopen(model, heading.head.revision, &heading.revision.slots);
    ensure_table(store, table, &layout.keeping(matching)).await?;
    let revision = Revision { matching: Some(matching), ..heading.revision.clone() };
    // If another process was faster, its record decides.
    let positions = (0..record.streams).map(|stream| StreamPosition::default().to_item(stream));
    let rows = positions.chain([record.to_item()]).collect();
    write_copied(store, table, &heading.head, &revision, rows).await?;
    Ok(())
}

/// Whether a table does not exist, or has no rows.
async fn is_empty(store: &dyn Store, table: &TableName) -> Result<bool, Error> {
    let mut scan = Scan::new(table);
    scan.limit = Some(1);
    match store.scan(scan).await {
        Err(StoreError::TableNotFound { .. }) => Ok(true),
        page => Ok(page?.items.is_empty()),
    }
}

fn occupied(table: &TableName) -> Error {
    let reason = format!(
        "The table `{table}` of the target already contains data: copy into one that is empty or does \
         not exist. If a copy into it was interrupted, that copy was complete."
    );
    Error::Copy { reason }
}

fn other_source(table: &TableName) -> Error {
    let reason = format!(
        "The table `{table}` of the target holds an unfinished copy of another source, or of this one \
         before it was changed: remove it and copy again."
    );
    Error::Copy { reason }
}

impl fmt::Debug for StoreTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreTarget").field("record", &self.record).finish_non_exhaustive()
    }
}
