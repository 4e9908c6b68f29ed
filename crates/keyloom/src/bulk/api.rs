//! The methods of [`Db`] for bulk operations.

use keyloom_store::{Direction, Query};

use super::collect::write;
use super::{BulkOperation, BulkRecord, BulkState, Marker, advance};
use crate::answer::Answer;
use crate::db::Db;
use crate::error::Error;
use crate::events::Next;
use crate::stamp::time_ms;
use crate::write::Attempts;

/// The greatest page of operations.
const PAGE_MAX: u32 = 100;

impl Db {
    /// Returns a bulk operation of this database's tenant with its progress; none if there is none, or
    /// it ended more than a week ago. One read.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::{Db, bulk::BulkKind, bulk::BulkState, events::Next};
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # let model = "[entity.task]\nfields.name = \"text\"\nlist.all = {}";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// db.create("task", &json!({ "name": "cook" })).await?;
    /// let started = db.list("task", "all").delete_all().start().await?;
    /// while db.advance_bulk().await? == Next::Now {}
    /// let ended = db.bulk_operation(&started.operation.id).await?.expect("it is kept for a week");
    /// assert_eq!((ended.kind, ended.state), (BulkKind::Delete, BulkState::Done));
    /// assert_eq!((ended.matched, ended.changed), (1, 1));
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub fn bulk_operation<'a>(&'a self, id: &'a str) -> Answer<'a, Option<BulkOperation>> {
        Box::pin(async move { Ok(find(self, id).await?.map(|record| record.operation)) })
    }

    /// Returns the newest bulk operations of this database's tenant, the newest first: at most `limit`,
    /// and at most 100. With an id, those before that one. One read.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::Db;
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # let model = "[entity.task]\nfields.name = \"text\"\nlist.all = {}";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// let tasks = db.list("task", "all");
    /// let first = tasks.update_all(&json!({ "name": "read" }))?.start().await?.operation;
    /// let second = tasks.delete_all().start().await?.operation;
    /// assert_eq!(db.bulk_operations(None, 10).await?, [second.clone(), first.clone()]);
    /// assert_eq!(db.bulk_operations(Some(&second.id), 10).await?, [first]);
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub fn bulk_operations<'a>(
        &'a self,
        before: Option<&'a str>,
        limit: u32,
    ) -> Answer<'a, Vec<BulkOperation>> {
        Box::pin(list(self, before, limit.clamp(1, PAGE_MAX)))
    }

    /// Cancels a bulk operation of this database's tenant. What it has changed stays changed; nothing
    /// more changes after this.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::{Db, bulk::BulkState};
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # let model = "[entity.task]\nfields.name = \"text\"\nlist.all = {}";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// let task = db.create("task", &json!({ "name": "cook" })).await?;
    /// let started = db.list("task", "all").delete_all().start().await?;
    /// let canceled = db.cancel_bulk(&started.operation.id).await?;
    /// assert_eq!(canceled.state, BulkState::Canceled);
    /// assert!(db.get("task", task.id()).await?.is_some());
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`]; [`Error::OperationEnded`]; if the store fails.
    pub fn cancel_bulk<'a>(&'a self, id: &'a str) -> Answer<'a, BulkOperation> {
        Box::pin(cancel(self, id))
    }

    /// Takes one step of each bulk operation of all tenants: finds its entities, or changes some of
    /// them. Returns when to call it again: [`Next::Now`] if there is more to do. Reads nothing if there
    /// can be nothing to do. Any number of threads and processes can call this; [`Db::work`] does too.
    ///
    /// Dropping the future keeps what was done; another call continues, also after a restart.
    ///
    /// [`Db::bulk_operation`] has an example.
    ///
    /// # Errors
    ///
    /// If the store fails. What failed is tried again by the next call.
    pub fn advance_bulk(&self) -> Answer<'_, Next> {
        Box::pin(advance(&self.shared))
    }
}

async fn find(db: &Db, id: &str) -> Result<Option<BulkRecord>, Error> {
    // Other texts may not fit into a key.
    if time_ms(id).is_none() {
        return Ok(None);
    }
    let record = Marker::new(db.tenant.as_ref(), id).record(&db.shared).await?;
    let now_ms = db.shared.now_ms();
    Ok(record.filter(|record| !record.has_expired(now_ms)))
}

async fn list(db: &Db, before: Option<&str>, limit: u32) -> Result<Vec<BulkOperation>, Error> {
    let start = match before {
        // Nothing is before what is no id.
        Some(id) if time_ms(id).is_none() => return Ok(vec![]),
        Some(id) => Some(Marker::new(db.tenant.as_ref(), id).record_key().to_item()),
        None => None,
    };
    let query = Query {
        direction: Direction::Backward,
        limit: Some(limit),
        start,
        ..Marker::query_of(db, Marker::record_partition())
    };
    let now_ms = db.shared.now_ms();
    let rows = db.shared.store.query(query).await?.items;
    let schema = db.shared.schema();
    let records = rows.iter().filter_map(BulkRecord::read);
    let records = records.map(|record| record.under(schema.model()));
    Ok(records.filter(|one| !one.has_expired(now_ms)).map(|one| one.operation).collect())
}

async fn cancel(db: &Db, id: &str) -> Result<BulkOperation, Error> {
    let shared = &db.shared;
    let mut attempts = Attempts::new(&shared.stamps);
    loop {
        attempts.next().await?;
        let not_found = || Error::NotFound { entity: "operation".to_owned(), id: id.to_owned() };
        let record = find(db, id).await?.ok_or_else(not_found)?;
        let BulkOperation { state, .. } = record.operation;
        if state.is_ended() {
            return Err(Error::OperationEnded { id: id.to_owned(), state });
        }
        let mut canceled = record.operation.clone();
        canceled.end(BulkState::Canceled, shared.now_ms());
        match write(shared, vec![record.advance(&shared.table, &canceled)]).await {
            Ok(()) => {
                shared.bulks.wake();
                return Ok(canceled);
            }
            // It has gone on meanwhile.
            Err(Error::Contended) => {}
            Err(error) => return Err(error),
        }
    }
}
