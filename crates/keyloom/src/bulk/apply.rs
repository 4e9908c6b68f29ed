//! Applying: changes the entities of some work rows. Each transaction has the changes of several
//! entities, the removal of their work rows, and the progress. If the entities cannot be changed
//! together, the halves are tried, down to single ones; so each has its own outcome.

use std::collections::VecDeque;
use std::sync::Arc;

use keyloom_model::{EntityKey, OwnRow};
use keyloom_query::ListRequest;

use super::collect::write;
use super::work_row::WorkRows;
use super::{BulkKind, BulkOperation, BulkRecord, BulkState};
use crate::change::{Change, resolve};
use crate::db::Db;
use crate::error::Error;
use crate::read::{ListQuery, ReadFor};
use crate::schema::Schema;
use crate::shared::Shared;
use crate::write::{Attempts, Decision, PlannedAction};

/// How many work rows one step takes.
const STEP: u32 = 128;
/// How many entities are changed in one transaction, if they fit.
const TOGETHER: usize = 16;

/// Changes the entities of the next work rows; ends the operation if there are none.
pub(super) async fn apply(shared: &Arc<Shared>, record: BulkRecord) -> Result<(), Error> {
    let ids = WorkRows::new(shared, &record.operation.id).first(STEP).await?;
    if ids.is_empty() {
        let mut done = record.operation.clone();
        done.end(BulkState::Done, shared.now_ms());
        let table = &shared.table;
        let actions = vec![record.advance(table, &done), record.marker().removal(table)];
        return write(shared, actions).await;
    }
    let db = record.db(shared);
    let query = ListQuery::from_item(&db, &record.query)?;
    Applying { shared, db, query, record }.run(ids).await
}

/// A step of an operation.
struct Applying<'a> {
    shared: &'a Arc<Shared>,
    db: Db,
    query: ListQuery,
    record: BulkRecord,
}

/// What one transaction does.
struct Batch {
    changes: Vec<Change>,
    /// The operation afterwards.
    after: BulkOperation,
}

/// How an attempt ended.
enum Attempted {
    Done,
    /// Another writer was faster, or the model has changed: read again.
    Stale,
    /// The entities cannot be changed together.
    Refused(Error),
}

impl Applying<'_> {
    async fn run(mut self, ids: Vec<String>) -> Result<(), Error> {
        let mut size = TOGETHER;
        let mut left: VecDeque<Vec<String>> = VecDeque::from([ids]);
        while let Some(mut ids) = left.pop_front() {
            if ids.len() > size {
                left.push_front(ids.split_off(size));
            }
            let attempted = match &ids[..] {
                [id] => self.change_one(id).await?,
                ids => self.attempt(ids).await?,
            };
            match attempted {
                Attempted::Done => {}
                Attempted::Stale | Attempted::Refused(_) if ids.len() == 1 => {}
                Attempted::Stale => left.extend(halves(ids)),
                Attempted::Refused(error) => {
                    if matches!(error, Error::TooLarge { .. }) {
                        size = (ids.len() / 2).max(1);
                    }
                    left.extend(halves(ids));
                }
            }
        }
        Ok(())
    }

    /// Changes one entity, or counts why it cannot be changed. If others change it all the time, it is
    /// left for a later step.
    async fn change_one(&mut self, id: &str) -> Result<Attempted, Error> {
        let shared = self.shared.clone();
        let mut attempts = Attempts::new(&shared.stamps);
        loop {
            match attempts.next().await {
                Ok(()) => {}
                Err(Error::Contended) => return Ok(Attempted::Stale),
                Err(error) => return Err(error),
            }
            match self.attempt(&[id.to_owned()]).await? {
                Attempted::Done => return Ok(Attempted::Done),
                Attempted::Stale => {}
                Attempted::Refused(error) => {
                    let mut after = self.record.operation.clone();
                    after.fail(id, &error.to_string());
                    let batch = Batch { changes: vec![], after };
                    self.commit(&[id.to_owned()], batch).await?;
                    return Ok(Attempted::Done);
                }
            }
        }
    }

    /// Changes entities in one transaction.
    async fn attempt(&mut self, ids: &[String]) -> Result<Attempted, Error> {
        let done = match self.decide(ids).await {
            Ok(Some(batch)) => self.commit(ids, batch).await,
            Ok(None) => return Ok(Attempted::Stale),
            Err(error) => Err(error),
        };
        match done {
            Ok(()) => Ok(Attempted::Done),
            Err(Error::VersionMismatch { .. } | Error::NotFound { .. }) => Ok(Attempted::Stale),
            Err(error @ Error::Contended) => {
                // If the record is as it was read, the entities were contended for.
                let stored = self.record.marker().record(self.shared).await?;
                let is_same = self.record.is_same_turn(stored.as_ref());
                if is_same { Ok(Attempted::Stale) } else { Err(error) }
            }
            // The model has no such list any more.
            Err(error @ (Error::Unknown { .. } | Error::Request(_))) => Err(error),
            Err(error) if may_pass(&error) => Err(error),
            Err(error) => Ok(Attempted::Refused(error)),
        }
    }

    /// Reads entities and decides what happens to each. None if the model has changed.
    async fn decide(&self, ids: &[String]) -> Result<Option<Batch>, Error> {
        let shared = self.shared;
        let schema = shared.schema();
        let request = self.query.request(&schema, ReadFor::Page).await?;
        let key = |id: &String| EntityKey {
            entity: request.entity,
            tenant: request.tenant.clone(),
            id: id.clone(),
        };
        let keys: Vec<EntityKey> = ids.iter().map(key).collect();
        let rows = shared.reader(&schema).get_many(&keys).await?;
        let mut batch = Batch { changes: vec![], after: self.record.operation.clone() };
        for (id, row) in ids.iter().zip(rows) {
            match self.decide_one(&schema, &request, row, &mut batch) {
                Ok(()) => {}
                Err(error) if may_pass(&error) => return Err(error),
                Err(error) => {
                    if shared.is_superseded(&schema, &Err::<(), _>(error.clone())).await? {
                        return Ok(None);
                    }
                    batch.after.fail(id, &error.to_string());
                }
            }
        }
        Ok(Some(batch))
    }

    fn decide_one(
        &self,
        schema: &Schema,
        request: &ListRequest,
        row: Option<OwnRow>,
        batch: &mut Batch,
    ) -> Result<(), Error> {
        let Some(row) = row else {
            batch.after.skipped += 1;
            return Ok(());
        };
        let image = schema.layouts.upgraded(row.clone());
        if !self.shared.reader(schema).is_listed(request, &image)? {
            batch.after.skipped += 1;
            return Ok(());
        }
        let change = self.record.change(&image.key.id, &image.version);
        if self.record.operation.kind == BulkKind::Update {
            let intents =
                resolve(vec![change.clone()], self.db.scope(schema), &self.shared.stamps)?;
            let admission = self.shared.write_context(schema).admission();
            if let [intent] = &intents[..]
                && let Decision::Unchanged(_) = admission.decide(intent, Some(row))?
            {
                batch.after.unchanged += 1;
                return Ok(());
            }
        }
        batch.changes.push(change);
        batch.after.changed += 1;
        Ok(())
    }

    /// Writes a batch, removes the work rows of its entities, and counts them.
    async fn commit(&mut self, ids: &[String], batch: Batch) -> Result<(), Error> {
        let Batch { changes, after } = batch;
        let rows = WorkRows::new(self.shared, &self.record.operation.id);
        let mut others: Vec<PlannedAction> = ids.iter().map(|id| rows.removal(id)).collect();
        others.push(self.record.advance(&self.shared.table, &after));
        self.db.transact_with(changes, others).await?;
        self.record.advanced(after);
        Ok(())
    }
}

/// Two parts of several ids.
fn halves(mut ids: Vec<String>) -> [Vec<String>; 2] {
    let second = ids.split_off(ids.len() / 2);
    [ids, second]
}

/// Whether an error says nothing about the entity, so that the same may succeed later.
pub(super) fn may_pass(error: &Error) -> bool {
    match error {
        Error::Store(error) => !matches!(error, keyloom_store::Error::Invalid(_)),
        Error::Contended
        | Error::ModelChanged
        | Error::Unanswered { .. }
        | Error::Entropy { .. }
        | Error::Building { .. } => true,
        _ => false,
    }
}
