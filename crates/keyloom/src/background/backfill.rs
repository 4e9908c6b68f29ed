//! Rebuilds rows after a change of the model, page by page, while the service runs.

use keyloom_model::{EntityKey, OwnRow};
use keyloom_store::Scan;
use keyloom_value::Item;

use super::settle_all;
use crate::answer::Answer;
use crate::db::Db;
use crate::error::Error;
use crate::schema::{Pending, Position, Schema, remove_revision, write_progress};
use crate::shared::Shared;
use crate::write::{
    AttemptState, Outcome, SettledReader, TombstoneChange, WriteContext, expire_entity,
};

/// The number of rows to read between two writes of the progress.
const PAGE_ROWS: u32 = 500;

/// The progress of a background operation.
///
/// [`Db::backfill`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Rows of the table that were read.
    pub rows: u64,
    /// The approximate number of rows of the table.
    pub rows_total: u64,
}

impl Db {
    /// Whether rows must still be rebuilt after a change of the model: see [`Db::backfill`].
    ///
    /// The example there shows it.
    pub fn is_backfill_pending(&self) -> bool {
        !self.shared.schema().pending.is_empty()
    }

    /// Rebuilds rows that were written under an earlier model. Lists and uniques of the new model can
    /// be read when it is done; everything else works meanwhile. Dropping the future stops it; the
    /// next call continues, also after a restart.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::Db;
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # pollster::block_on(async {
    /// # let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    /// let db = Db::open("[entity.task]\nfields.name = \"text\"", store).await?;
    /// db.create("task", &json!({ "name": "cook" })).await?;
    /// let model = "[entity.task]\nfields.name = \"text\"\nlist.by_name = { order = \"name\" }";
    /// db.change_model(model).await?;
    /// assert!(db.is_backfill_pending());
    /// db.backfill(|progress| println!("{} of {}", progress.rows, progress.rows_total)).await?;
    /// assert!(!db.is_backfill_pending());
    /// assert_eq!(db.list("task", "by_name").read().await?.items.len(), 1);
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::UniqueViolation`] if two entities have the same value of a new unique: one was written
    /// since, or has expired but a reference forbids its deletion. Change or delete one of them, or
    /// what refers to the expired one, and call again. If the store fails.
    pub async fn backfill(&self, mut on_progress: impl FnMut(Progress)) -> Result<(), Error> {
        // Deleted entities need not be rewritten.
        self.resume_deletions().await?;
        while let Some(progress) = boxed_step(&self.shared).await? {
            on_progress(progress);
        }
        Ok(())
    }
}

/// Boxed, so that it is compiled once, in this crate.
fn boxed_step(shared: &Shared) -> Answer<'_, Option<Progress>> {
    Box::pin(step(shared))
}

/// Rebuilds one page; returns none if nothing is left.
async fn step(shared: &Shared) -> Result<Option<Progress>, Error> {
    let stored = shared.refresh().await?;
    let schema = shared.schema();
    if schema.pending.is_empty() {
        return Ok(None);
    }
    let (store, table) = (&*shared.store, &shared.table);
    let Some(mut revision) = stored.current().cloned() else {
        return Err(Error::damaged("The current model is missing from the table."));
    };
    let mut scan = Scan::new(table);
    scan.limit = Some(PAGE_ROWS);
    scan.start = revision.progress.key.take();
    let page = store.scan(scan).await?;
    let rows = page.items.iter().filter_map(|row| old_row(&schema, row)).collect();
    rebuild(&shared.write_context(&schema), rows).await?;
    let is_last = page.last_key.is_none();
    revision.progress =
        Position { key: page.last_key, done: revision.progress.done + page.scanned };
    let rows = revision.progress.done;
    if is_last {
        // Readers of the new model look for changes of scores in its shards alone.
        if schema.layouts.has_settled_boards() {
            settle_all(shared).await?;
        }
        // Old revisions first: if this stops in between, the end is repeated.
        for number in schema.layouts.before.keys() {
            remove_revision(store, table, *number).await?;
        }
        (revision.pending, revision.progress) = (Pending::default(), Position::default());
    }
    // If another process has changed the model meanwhile, the next step notices.
    write_progress(store, table, &stored.head, &revision).await?;
    let rows_total = store.describe_table(table.clone()).await?.items;
    Ok(Some(Progress { rows, rows_total: rows_total.max(rows) }))
}

/// Rebuilds entities under the current model: in batches, and one by one where a batch fails.
async fn rebuild(ctx: &WriteContext<'_>, rows: Vec<OwnRow>) -> Result<(), Error> {
    let mut transitions = vec![];
    for row in rows {
        transitions.push(ctx.rewritten(row, TombstoneChange::Drop).await?);
    }
    for some in ctx.planner(&[]).batches(&transitions, 0) {
        let is_marked = |row: &OwnRow| row.deletion.is_some() || !row.pending.is_empty();
        let is_plain = !some.iter().any(|member| member.before.as_ref().is_some_and(is_marked));
        if is_plain && ctx.commit(some, &[]).await.is_ok_and(|outcome| outcome.is_done()) {
            continue;
        }
        for member in some {
            rebuild_one(ctx, &member.key).await?;
        }
    }
    Ok(())
}

async fn rebuild_one(ctx: &WriteContext<'_>, key: &EntityKey) -> Result<(), Error> {
    let (reader, mut state) = (SettledReader::new(*ctx), AttemptState::default());
    let mut attempts = ctx.attempts();
    loop {
        attempts.next().await?;
        let Some(row) = reader.read(key, &mut state).await? else { return Ok(()) };
        if row.revision >= ctx.layouts.current.revision() {
            return Ok(());
        }
        let is_expired = ctx.is_expired(&row);
        let rewritten = ctx.rewritten(row, TombstoneChange::Drop).await?;
        match ctx.commit(&[rewritten], &state.called_off).await? {
            Outcome::Done => return Ok(()),
            Outcome::Changed | Outcome::TargetGone { .. } => {}
            Outcome::UniqueViolation(conflict) => {
                if is_expired && gives_way(ctx, key).await? {
                    return Ok(());
                }
                let room = reader.make_room(conflict, &mut state).await;
                room.map_err(|error| error.of(key))?;
            }
        }
    }
}

/// Deletes an expired entity, which readers do not see, in favor of the owner of its unique value.
/// Returns false if a reference forbids it: then it keeps its value, as it does against writes.
async fn gives_way(ctx: &WriteContext<'_>, key: &EntityKey) -> Result<bool, Error> {
    match expire_entity(ctx, key).await {
        Ok(()) => Ok(true),
        Err(Error::InUse { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns the own row of an entity that must still be rebuilt.
fn old_row(schema: &Schema, row: &Item) -> Option<OwnRow> {
    let layout = &schema.layouts.current;
    let own = layout.read_own(row).ok().filter(|own| own.revision < layout.revision())?;
    let name = &layout.model().entity(own.image.key.entity).stored;
    schema.pending.entities.contains(name).then_some(own)
}
