//! Folding: moves what writes have left in deltas into the chunks of posting lists, on a store without
//! sets.
//!
//! A delta is folded once [`READ_MAX`] has passed since it was first seen: every read that began
//! before the write is over by then, so none sees a part of it. Several processes may fold the same
//! deltas, because a fold reads the directory of a list, then its chunks, then the deltas, and writes
//! under the version of the directory: what it writes is at least as new as the directory it replaces.
//! A delta goes last, and only as far as it was folded. A lease keeps processes from doing the same
//! work, and writers wait when too many deltas do (`write/deltas.rs`).

mod lists;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::future::try_join_all;
use keyloom_model::attribute::SORT;
use keyloom_model::{ChunkKeys, Delta, EntityId, RowKey, ordinal_of};
use keyloom_query::READ_MAX;
use keyloom_store::{Delete, Error as StoreError, UpdateItem};
use keyloom_value::{Condition, Item, Path, Update, Value};

use self::lists::ListFold;
use super::OperationKind;
use super::lease::{Held, Lease};
use crate::answer::Answer;
use crate::db::Db;
use crate::error::Error;
use crate::schema::Schema;
use crate::shared::Shared;
use crate::system_rows::{key_of, system_rows};
use crate::write::{WAITING_MAX, forget_registered};

/// How long a delta is left alone: longer than a read may take, because clocks are set.
const WAIT_MS: i64 = READ_MAX.as_millis() as i64 + 1_000;
/// Of the row of a group: how many deltas wait.
const WAITING: &str = "waiting";
/// How long to wait before looking for groups again if there were none.
const IDLE_MS: i64 = 30_000;
/// The lease of this operation.
const LEASE: &str = "folding";
/// How many deltas are folded together: each list that they mention is written once for them.
const ROUND: usize = 500;
/// How many changes one request removes from a delta.
const REMOVED_MAX: usize = 100;
/// How many requests are sent at once.
const TOGETHER: usize = 16;

/// The deltas that this process has seen, by the row of their group.
#[derive(Debug, Default)]
pub(crate) struct Folding {
    /// One call folds at a time.
    is_running: Mutex<bool>,
    seen: Mutex<BTreeMap<Vec<u8>, Seen>>,
    /// When to look for groups of other processes again, in milliseconds.
    idle_until_ms: AtomicI64,
}

/// The deltas of a group, when they were first seen.
#[derive(Debug)]
struct Seen {
    at_ms: i64,
    deltas: Vec<(u64, Delta)>,
}

/// A group: a kind, of one tenant if it has tenants.
struct Group<'g> {
    shared: &'g Shared,
    schema: &'g Schema,
    entity: EntityId,
    tenant: Option<Value>,
}

impl Db {
    /// Folds what writes have left in deltas of posting lists, where the store has no sets: reads
    /// take all deltas, so they get slower the more there are. Call it every few seconds; servers do.
    /// A call folds what an earlier one has seen at least six seconds ago, and returns how many
    /// entities that were. Dropping the future stops it; the next call continues.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::Db;
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # let model = "[entity.task]\nfields.name = \"text\"\nlist.all = {}";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// // A program without a server calls these every few seconds.
    /// let folded = db.fold().await?;
    /// let settled = db.settle_scores().await?;
    /// let resumed = db.resume_deletions().await?;
    /// assert_eq!((folded, settled, resumed), (0, 0, 0));
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub fn fold(&self) -> Answer<'_, u64> {
        Box::pin(fold(&self.shared))
    }
}

async fn fold(shared: &Shared) -> Result<u64, Error> {
    let schema = shared.schema();
    if !schema.layouts.has_chunks() {
        return Ok(0);
    }
    let Some(_running) = Running::begin(&shared.folding) else { return Ok(0) };
    let (now_ms, has_written) = (shared.now_ms(), shared.groups.have_written());
    if !has_written && shared.folding.is_idle(now_ms) {
        return Ok(0);
    }
    let mut count = 0;
    let rows = system_rows(&*shared.store, &shared.table, ChunkKeys::groups()).await?;
    if rows.is_empty() {
        shared.folding.rest_until(now_ms.saturating_add(IDLE_MS));
    }
    // Without groups, nothing is leased.
    let lease = Lease::new(shared, LEASE);
    let is_mine = !rows.is_empty() && lease.take().await? == Held::Yes;
    let mut failure = None;
    for row in rows {
        let Some(sort) = row.get(SORT).and_then(Value::as_b) else { continue };
        let known = schema.layouts.current.chunks().read_group(sort);
        // A kind that the model no longer has is not read either.
        let Some((entity, tenant)) = known else { continue };
        let group = Group { shared, schema: &schema, entity, tenant };
        match is_mine {
            // A group that cannot be folded does not hold up the others.
            true => match group.fold(&row, sort).await {
                Ok(folded) => count += folded,
                Err(error) => failure = failure.or(Some(error)),
            },
            false => group.note(waiting(&row)),
        }
    }
    failure.map_or(Ok(count), Err)
}

/// A call that folds, until it is dropped.
struct Running<'f>(&'f Folding);

impl Running<'_> {
    fn begin(folding: &Folding) -> Option<Running<'_>> {
        let mut is_running = folding.is_running.lock().unwrap_or_else(PoisonError::into_inner);
        (!std::mem::replace(&mut *is_running, true)).then_some(Running(folding))
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        *self.0.is_running.lock().unwrap_or_else(PoisonError::into_inner) = false;
    }
}

impl Folding {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Vec<u8>, Seen>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_idle(&self, now_ms: i64) -> bool {
        now_ms < self.idle_until_ms.load(Ordering::Relaxed)
    }

    fn rest_until(&self, time_ms: i64) {
        self.idle_until_ms.store(time_ms, Ordering::Relaxed);
    }

    /// Takes what was seen of a group long enough ago.
    fn take_due(&self, group: &[u8], now_ms: i64) -> Option<Seen> {
        let mut seen = self.lock();
        let at_ms = seen.get(group)?.at_ms;
        // A clock that was set back says nothing about how much time has passed.
        let is_waiting = (at_ms..at_ms.saturating_add(WAIT_MS)).contains(&now_ms);
        (!is_waiting).then(|| seen.remove(group))?.filter(|seen| seen.at_ms <= now_ms)
    }
}

impl Group<'_> {
    /// Folds what was seen long enough ago, and looks for more. Returns how many were folded.
    async fn fold(&self, row: &Item, name: &[u8]) -> Result<u64, Error> {
        let (folding, mut count) = (&self.shared.folding, 0);
        if let Some(seen) = folding.take_due(name, self.shared.now_ms()) {
            let kind = &self.schema.model().entity(self.entity).name;
            let call = self.shared.calls.begin(OperationKind::Folding, kind, seen.at_ms);
            count = self.fold_deltas(&seen.deltas).await?;
            call.is_done(count);
        }
        if folding.lock().contains_key(name) {
            return Ok(count);
        }
        // The time after all of them were seen.
        let (deltas, at_ms) = (self.deltas().await?, self.shared.now_ms());
        self.publish(row, deltas.len() as u64).await?;
        match deltas.is_empty() {
            true => {
                let Shared { store, table, .. } = self.shared;
                forget_registered(&**store, table, row, at_ms).await?;
            }
            false => drop(folding.lock().insert(name.to_vec(), Seen { at_ms, deltas })),
        }
        Ok(count)
    }

    /// Tells writers of all processes how many deltas wait: others read the row of the group.
    async fn publish(&self, row: &Item, now: u64) -> Result<(), Error> {
        self.note(now);
        // Few need not be known exactly.
        let is_few = |count: u64| count < WAITING_MAX / 2;
        if is_few(now) && is_few(waiting(row)) {
            return Ok(());
        }
        let update = Update::new().set(Path::from(WAITING), Value::from(now));
        let update = UpdateItem::new(&self.shared.table, key_of(row), update);
        self.shared.store.update(update).await?;
        Ok(())
    }

    /// Tells writers of this process how many deltas wait.
    fn note(&self, waiting: u64) {
        let chunks = self.schema.layouts.current.chunks();
        let group = chunks.group_key(self.entity, self.tenant.as_ref());
        self.shared.groups.set_waiting(group, waiting);
    }

    /// Reads all deltas, in the order of their ordinals: neighbours are folded into the same chunks.
    async fn deltas(&self) -> Result<Vec<(u64, Delta)>, Error> {
        let chunks = self.schema.layouts.current.chunks();
        let partitions = chunks.delta_partitions(self.entity, self.tenant.as_ref());
        let (store, table) = (&*self.shared.store, &self.shared.table);
        let read = partitions.into_iter().map(|partition| system_rows(store, table, partition));
        let rows = try_join_all(read).await?;
        let deltas = rows.iter().flatten().map(read_delta);
        let mut deltas = deltas.collect::<Result<Vec<(u64, Delta)>, Error>>()?;
        deltas.sort_by_key(|(ordinal, _)| *ordinal);
        Ok(deltas)
    }

    fn delta_key(&self, ordinal: u64) -> RowKey {
        let chunks = self.schema.layouts.current.chunks();
        chunks.delta_key(self.entity, self.tenant.as_ref(), ordinal)
    }

    /// Folds deltas as far as they were seen, some at a time, and removes what was folded. Returns how
    /// many that were.
    async fn fold_deltas(&self, seen: &[(u64, Delta)]) -> Result<u64, Error> {
        let mut count = 0;
        for seen in seen.chunks(ROUND) {
            if Lease::new(self.shared, LEASE).take().await? == Held::No {
                break;
            }
            let folded = ListFold { group: self, seen }.run().await?;
            let due: Vec<(u64, &Delta, &str)> = seen
                .iter()
                .filter_map(|(ordinal, seen)| Some((*ordinal, folded.get(ordinal)?, seen.last()?)))
                .collect();
            for some in due.chunks(TOGETHER) {
                let trim = |(ordinal, now, through): &(u64, &Delta, &str)| {
                    self.trim(*ordinal, (*now).clone(), (*through).to_owned())
                };
                try_join_all(some.iter().map(trim)).await?;
            }
            count += due.len() as u64;
        }
        Ok(count)
    }

    /// Removes the changes up to a write from a delta that was just read; all of it, if no other was
    /// appended since.
    async fn trim(&self, ordinal: u64, now: Delta, folded: String) -> Result<(), Error> {
        let Some(place) = now.position(&folded) else { return Ok(()) };
        let (store, table) = (&self.shared.store, &self.shared.table);
        let key = self.delta_key(ordinal).to_item();
        if now.last() == Some(folded.as_str()) {
            let is_last = Condition::equal(Path::from(Delta::LAST), Value::from(folded.as_str()));
            let delete = Delete::new(table, key.clone()).when(is_last);
            match store.delete(delete).await {
                Err(StoreError::ConditionFailed { .. }) => {}
                deleted => return Ok(deleted.map(drop)?),
            }
        }
        // An expression has room for so many; a later call removes the rest.
        let count = (place + 1).min(REMOVED_MAX);
        let Some(last) = now.changes.get(count - 1) else { return Ok(()) };
        let (update, is_same) = Delta::remove_first(count, &last.stamp);
        match store.update(UpdateItem::new(table, key, update).when(is_same)).await {
            // Another process was faster.
            Ok(_) | Err(StoreError::ConditionFailed { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// How many deltas waited when the process that folds looked last, if there were many.
fn waiting(row: &Item) -> u64 {
    let waiting = row.get(WAITING).and_then(Value::as_n).and_then(|count| count.to_i64());
    waiting.and_then(|count| u64::try_from(count).ok()).unwrap_or(0)
}

/// Reads a delta row, with its ordinal.
fn read_delta(row: &Item) -> Result<(u64, Delta), Error> {
    let ordinal = row.get(SORT).and_then(Value::as_b).and_then(ordinal_of);
    let delta = Delta::read(row).ok();
    ordinal.zip(delta).ok_or_else(|| Error::damaged("A delta of posting lists cannot be read."))
}
