//! Writing rows anew after the model was changed, while the service runs.

use keyloom_model::{EntityKey, OwnRow};
use keyloom_store::Scan;
use keyloom_value::Item;

use crate::answer::Answer;
use crate::db::Db;
use crate::error::Error;
use crate::schema::{Pending, Position, Schema, remove_revision, write_progress};
use crate::write::{ATTEMPTS_MAX, AttemptState, Outcome, Transition, WriteContext};

/// How many rows of the table are looked at before progress is saved.
const PAGE_ROWS: u32 = 500;

/// How far a long work has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Rows of the table that were looked at.
    pub rows: u64,
    /// Rows that the table has, about.
    pub rows_total: u64,
}

impl Db {
    /// Whether rows must still be written anew because the model was changed: see
    /// [`Db::backfill`].
    pub fn is_backfill_pending(&self) -> bool {
        !self.shared.schema().pending.is_empty()
    }

    /// Writes rows anew that were written under a model of before. Lists and uniques that came
    /// with the new model answer when this is done. The service can go on meanwhile. Whoever drops
    /// the future stops it; the next call, also after a restart, goes on where it was.
    ///
    /// # Errors
    ///
    /// [`Error::UniqueViolation`] if two entities have the same value of a new unique, which was written
    /// since: change one of them and call again. If the store fails.
    pub async fn backfill(&self, mut on_progress: impl FnMut(Progress)) -> Result<(), Error> {
        // What is gone need not be written again.
        self.resume_deletions().await?;
        while let Some(progress) = self.backfill_step().await? {
            on_progress(progress);
        }
        Ok(())
    }

    /// One step of a backfill; none if there is nothing left to do.
    fn backfill_step(&self) -> Answer<'_, Option<Progress>> {
        Box::pin(self.backfill_page())
    }

    async fn backfill_page(&self) -> Result<Option<Progress>, Error> {
        let stored = self.shared.refresh().await?;
        let schema = self.shared.schema();
        if schema.pending.is_empty() {
            return Ok(None);
        }
        let (store, table) = (&*self.shared.store, &self.shared.table);
        let Some(mut revision) = stored.current().cloned() else {
            return Err(Error::damaged("Today's model is not kept."));
        };
        let mut scan = Scan::new(table);
        scan.limit = Some(PAGE_ROWS);
        scan.start = revision.progress.key.take();
        let page = store.scan(scan).await?;
        self.rewrite(&schema, &page.items).await?;
        let is_last = page.last_key.is_none();
        revision.progress =
            Position { key: page.last_key, done: revision.progress.done + page.scanned };
        let rows = revision.progress.done;
        if is_last {
            // First what is not needed any more: if this stops between, the end is done again.
            for number in schema.layouts.before.keys() {
                remove_revision(store, table, *number).await?;
            }
            (revision.pending, revision.progress) = (Pending::default(), Position::default());
        }
        // If another one has changed the model meanwhile, the next step finds out.
        write_progress(store, table, &stored.head, &revision).await?;
        let rows_total = store.describe_table(table.clone()).await?.items;
        Ok(Some(Progress { rows, rows_total: rows_total.max(rows) }))
    }

    /// Writes those rows of a page anew that need it: as many together as fit, and one by one
    /// where that fails.
    async fn rewrite(&self, schema: &Schema, page: &[Item]) -> Result<(), Error> {
        let writes = self.shared.write_context(schema);
        let rows: Vec<OwnRow> = page.iter().filter_map(|row| old_row(schema, row)).collect();
        let mut transitions = vec![];
        for row in rows {
            transitions.push(writes.rewritten(row).await?);
        }
        for some in writes.batches(&transitions, 0) {
            let is_marked = |row: &OwnRow| row.deletion.is_some() || !row.pending.is_empty();
            let is_plain = !some.iter().any(|member| member.before.as_ref().is_some_and(is_marked));
            if is_plain && writes.is_committed(some).await {
                continue;
            }
            for member in some {
                writes.rewrite(&member.key).await?;
            }
        }
        Ok(())
    }
}

impl WriteContext<'_> {
    /// The same entity, written under the model of today.
    async fn rewritten(&self, row: OwnRow) -> Result<Transition, Error> {
        let after = Some(self.layouts.upgraded(row.clone()));
        let mut transition = Transition::new(row.image.key.clone(), Some(row), after);
        self.number(&mut transition).await?;
        Ok(transition)
    }

    async fn is_committed(&self, transitions: &[Transition]) -> bool {
        matches!(self.commit_transitions(transitions, &[]).await, Ok(Outcome::Done))
    }

    async fn rewrite(&self, key: &EntityKey) -> Result<(), Error> {
        let mut attempt = AttemptState::default();
        for _ in 0..ATTEMPTS_MAX {
            let Some(row) = self.read(key, &mut attempt).await? else { return Ok(()) };
            if row.revision >= self.layouts.current.revision() {
                return Ok(());
            }
            let is_expired = self.is_expired(&row);
            match self.commit_transitions(&[self.rewritten(row).await?], &attempt.void).await? {
                // It is not there for readers, so it gives way.
                Outcome::UniqueViolation { .. } if is_expired => return self.expire(key).await,
                Outcome::Done => return Ok(()),
                Outcome::Changed | Outcome::TargetGone { .. } => {}
                Outcome::UniqueViolation { by, unique, guard } => {
                    let room = self.make_room((&by, unique), guard, &mut attempt).await;
                    room.map_err(|error| error.of(key))?;
                }
            }
        }
        Err(Error::Contended)
    }
}

/// The row, if it is of an entity that must be written anew and was not yet.
fn old_row(schema: &Schema, row: &Item) -> Option<OwnRow> {
    let layout = &schema.layouts.current;
    let own = layout.read_own(row).ok().filter(|own| own.revision < layout.revision())?;
    let name = &layout.model().entity(own.image.key.entity).name;
    schema.pending.entities.contains(name).then_some(own)
}
