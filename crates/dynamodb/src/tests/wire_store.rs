//! A store that talks to an endpoint.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use keyloom_store::{
    Alteration, Answer, BatchGet, BatchGot, BatchWrite, ChangePage, Delete, Error, Get, IndexScope,
    MemoryStore, Page, Put, Query, Read, ReadChanges, Scan, Shard, Store, TableDescription,
    TableName, TableSpec, TransactGet, TransactWrite, UpdateItem,
};
use keyloom_testkit::{ManualClock, Subject};
use keyloom_value::Item;

use super::{requests, responses};
use crate::endpoint::{Endpoint, EndpointOptions, Reply};
use crate::strict::{Strict, StrictOptions};

/// An endpoint over a memory store.
///
/// A rejected request changed nothing, so it is repeated on the store to get the store's error, which
/// must match the endpoint's code. Whatever the wire does not carry is also read from the store:
/// snapshots, the feed, descriptions, scanned bytes, unprocessed parts of batches.
struct WireStore {
    endpoint: Endpoint,
    store: Arc<MemoryStore>,
}

/// The store with its clock.
pub(super) struct WireSubject {
    wire: Arc<WireStore>,
    clock: ManualClock,
}

impl WireSubject {
    pub(super) fn new() -> WireSubject {
        let clock = ManualClock::new();
        let store = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
        let options = EndpointOptions { clock: Arc::new(clock.clone()), ..Default::default() };
        let endpoint = Endpoint::new(store.clone(), options);
        WireSubject { wire: Arc::new(WireStore { endpoint, store }), clock }
    }

    /// In strict mode, with rules that nothing breaks: it must not change any result.
    pub(super) fn strict() -> WireSubject {
        let subject = WireSubject::new();
        let clock = Arc::new(subject.clock.clone());
        let options = StrictOptions {
            write_units: f64::MAX,
            read_units: f64::MAX,
            index_lag: Duration::ZERO,
            replica_lag: Duration::ZERO,
            create_time: Duration::ZERO,
            ..StrictOptions::default()
        };
        let store = subject.wire.store.clone();
        let strict = Strict::new(store.clone(), clock.clone(), options);
        let options = EndpointOptions { clock, ..Default::default() };
        let endpoint = Endpoint::strict(Arc::new(strict), options);
        WireSubject { wire: Arc::new(WireStore { endpoint, store }), ..subject }
    }
}

impl Subject for WireSubject {
    fn store(&self) -> Arc<dyn Store> {
        self.wire.clone()
    }

    fn clock(&self) -> &ManualClock {
        &self.clock
    }

    fn settle(&self) {
        self.wire.store.expire();
    }
}

impl WireStore {
    /// Returns the response to a request or, if it is rejected, the store's error.
    async fn call<T>(
        &self,
        operation: &str,
        body: String,
        direct: impl Future<Output = Result<T, Error>>,
        read: impl FnOnce(&str) -> T,
    ) -> Result<T, Error> {
        let target = format!("DynamoDB_20120810.{operation}");
        let mut reply = self.endpoint.call(&target, body.as_bytes()).await;
        // In strict mode transactions of other threads conflict. They are short.
        for _ in 0..100_000 {
            if !BUSY.iter().any(|code| reply.body.contains(code)) {
                break;
            }
            std::thread::yield_now();
            reply = self.endpoint.call(&target, body.as_bytes()).await;
        }
        if reply.status == 200 {
            return Ok(read(&reply.body));
        }
        match direct.await {
            Err(error) => {
                assert!(
                    matches_error(&error, &reply),
                    "{operation} {body}\n{}\n{error:?}",
                    reply.body
                );
                Err(error)
            }
            Ok(result) => {
                let known = STRICTER.iter().any(|message| reply.body.contains(message));
                assert!(known, "only the wire rejects {operation} {body}\n{}", reply.body);
                Ok(result)
            }
        }
    }
}

/// Codes of requests that succeed when others have ended.
const BUSY: &[&str] = &["TransactionConflict", "TransactionInProgress"];

/// Messages of requests that the service rejects and a store accepts.
const STRICTER: &[&str] = &[
    "The first operand must be distinct",
    "Incorrect operand type for operator or function",
    "The BETWEEN operator requires",
    "TimeToLive is already",
    "TimeToLive is active on a different",
    "Table already has a",
    "Expression size has exceeded",
    "too many operands",
    "set  may not be empty",
    "sets should not be empty",
];

/// Returns whether the error code in the reply matches the store's error.
fn matches_error(error: &Error, reply: &Reply) -> bool {
    let has = |code: &str| reply.body.contains(code);
    if STRICTER.iter().any(|message| has(message)) {
        return true;
    }
    match error {
        Error::Invalid(_) => {
            has("ValidationException")
                || has("SerializationException")
                || has("TransactionCanceledException")
                || has("LimitExceededException")
        }
        Error::TableNotFound { .. } => {
            has("ResourceNotFoundException") || has("ValidationException")
        }
        Error::TableExists { .. } => has("ResourceInUseException") || has("ValidationException"),
        Error::IndexNotFound { .. } => {
            has("ValidationException") || has("ResourceNotFoundException")
        }
        Error::IndexBuilding { .. } => has("ValidationException"),
        Error::ConditionFailed { .. } => has("ConditionalCheckFailedException"),
        Error::Canceled { .. } => has("TransactionCanceledException"),
        Error::TokenReused { .. } => has("IdempotentParameterMismatchException"),
        _ => false,
    }
}

impl Read for WireStore {
    fn list_tables(&self) -> Answer<'_, Vec<TableName>> {
        Box::pin(async move {
            let mut names: Vec<TableName> = Vec::new();
            loop {
                let body = requests::object(|w| {
                    if let Some(last) = names.last() {
                        w.name("ExclusiveStartTableName").text(last.as_str());
                    }
                });
                let reply = self.endpoint.call("DynamoDB_20120810.ListTables", body.as_bytes());
                let (page, is_more) = responses::table_names(&reply.await.body);
                names.extend(page);
                if !is_more {
                    return Ok(names);
                }
            }
        })
    }

    fn describe_table(&self, table: TableName) -> Answer<'_, TableDescription> {
        Box::pin(async move {
            let body = requests::object(|w| w.name("TableName").text(table.as_str()));
            let direct = self.store.describe_table(table.clone());
            self.call("DescribeTable", body, async { direct.await.map(drop) }, |_| ()).await?;
            self.store.describe_table(table).await
        })
    }

    fn get(&self, get: Get) -> Answer<'_, Option<Item>> {
        let body = requests::get(&get);
        let read = |body: &str| responses::item(&responses::json(body), "Item");
        Box::pin(self.call("GetItem", body, self.store.get(get), read))
    }

    fn query(&self, query: Query) -> Answer<'_, Page> {
        Box::pin(async move {
            if !requests::is_expressible(query.filter.as_ref()) {
                return self.store.query(query).await;
            }
            let body = requests::query(&query);
            let direct = self.store.query(query.clone());
            let mut page = self.call("Query", body, direct, responses::page).await?;
            page.scanned_bytes = self.store.query(query).await?.scanned_bytes;
            Ok(page)
        })
    }

    fn scan(&self, scan: Scan) -> Answer<'_, Page> {
        Box::pin(async move {
            if !requests::is_expressible(scan.filter.as_ref()) {
                return self.store.scan(scan).await;
            }
            let body = requests::scan(&scan);
            let direct = self.store.scan(scan.clone());
            let mut page = self.call("Scan", body, direct, responses::page).await?;
            page.scanned_bytes = self.store.scan(scan).await?.scanned_bytes;
            Ok(page)
        })
    }

    fn batch_get(&self, batch: BatchGet) -> Answer<'_, BatchGot> {
        Box::pin(async move {
            let same = |get: &Get, other: &Get| {
                get.table != other.table || get.projection == other.projection
            };
            let is_plain = batch.gets.iter().all(|get| batch.gets.iter().all(|o| same(get, o)));
            // The wire has one projection per table.
            if !is_plain {
                return self.store.batch_get(batch).await;
            }
            let body = requests::batch_get(&batch);
            let direct = self.store.batch_get(batch.clone());
            let mut got = self.call("BatchGetItem", body, direct, responses::batch_got).await?;
            got.unprocessed = self.store.batch_get(batch).await?.unprocessed;
            Ok(got)
        })
    }

    fn transact_get(&self, transaction: TransactGet) -> Answer<'_, Vec<Option<Item>>> {
        let body = requests::transact_get(&transaction);
        let direct = self.store.transact_get(transaction);
        Box::pin(self.call("TransactGetItems", body, direct, responses::responses))
    }
}

impl Store for WireStore {
    fn create_table(&self, spec: TableSpec) -> Answer<'_, TableDescription> {
        Box::pin(async move {
            // The wire creates a table without its time to live, and lists local indexes first.
            let is_ordered =
                spec.indexes.is_sorted_by_key(|index| index.scope == IndexScope::Global);
            if spec.ttl.is_some() || !is_ordered {
                return self.store.create_table(spec).await;
            }
            let (body, name) = (requests::create_table(&spec), spec.name.clone());
            let direct = async {
                // The store alone allows more indexes.
                spec.check()?;
                self.store.create_table(spec).await.map(drop)
            };
            self.call("CreateTable", body, direct, |_| ()).await?;
            self.store.describe_table(name).await
        })
    }

    fn alter_table(&self, table: TableName, change: Alteration) -> Answer<'_, TableDescription> {
        Box::pin(async move {
            // The wire cannot add a local index, and keeps the feed of a disabled stream for a day.
            let is_local =
                matches!(&change, Alteration::AddIndex(index) if index.scope == IndexScope::Local);
            if is_local || matches!(change, Alteration::SetFeed(_)) {
                return self.store.alter_table(table, change).await;
            }
            let now = self.store.describe_table(table.clone()).await.ok();
            let now = now.map(|now| Arc::new(now.spec));
            let ttl = now.as_ref().and_then(|now| now.ttl.as_ref()).map(|name| name.as_str());
            let (operation, body) = requests::alter_table(&table, &change, ttl);
            let direct = async {
                // The store alone allows more indexes.
                if let Some(now) = &now {
                    change.check(&|_| Ok(Arc::clone(now)), &table)?;
                }
                self.store.alter_table(table.clone(), change.clone()).await.map(drop)
            };
            self.call(operation, body, direct, |_| ()).await?;
            self.store.describe_table(table).await
        })
    }

    fn drop_table(&self, table: TableName) -> Answer<'_, TableDescription> {
        Box::pin(async move {
            let before = self.store.describe_table(table.clone()).await;
            let body = requests::object(|w| w.name("TableName").text(table.as_str()));
            let direct = self.store.drop_table(table);
            self.call("DeleteTable", body, async { direct.await.map(drop) }, |_| ()).await?;
            before
        })
    }

    fn put(&self, put: Put) -> Answer<'_, Option<Item>> {
        if !requests::is_expressible(put.condition.as_ref()) {
            return self.store.put(put);
        }
        let body = requests::put(&put);
        Box::pin(self.call("PutItem", body, self.store.put(put), image))
    }

    fn update(&self, update: UpdateItem) -> Answer<'_, Option<Item>> {
        if !requests::is_expressible(update.condition.as_ref()) {
            return self.store.update(update);
        }
        let body = requests::update(&update);
        Box::pin(self.call("UpdateItem", body, self.store.update(update), image))
    }

    fn delete(&self, delete: Delete) -> Answer<'_, Option<Item>> {
        if !requests::is_expressible(delete.condition.as_ref()) {
            return self.store.delete(delete);
        }
        let body = requests::delete(&delete);
        Box::pin(self.call("DeleteItem", body, self.store.delete(delete), image))
    }

    fn batch_write(&self, batch: BatchWrite) -> Answer<'_, BatchWrite> {
        let body = requests::batch_write(&batch);
        let direct = self.store.batch_write(batch);
        Box::pin(self.call("BatchWriteItem", body, direct, |_| BatchWrite::default()))
    }

    fn transact_write(&self, transaction: TransactWrite) -> Answer<'_, ()> {
        if !transaction.actions.iter().all(requests::is_expressible_action) {
            return self.store.transact_write(transaction);
        }
        let body = requests::transact_write(&transaction);
        let direct = self.store.transact_write(transaction);
        Box::pin(self.call("TransactWriteItems", body, direct, |_| ()))
    }

    fn snapshot(&self) -> Answer<'_, Arc<dyn Read>> {
        Box::pin(async move {
            let snapshot = self.store.snapshot().await?;
            Ok(Arc::new(Snapshot { snapshot }) as Arc<dyn Read>)
        })
    }

    fn shards(&self, table: TableName) -> Answer<'_, Vec<Shard>> {
        self.store.shards(table)
    }

    fn changes(&self, read: ReadChanges) -> Answer<'_, ChangePage> {
        self.store.changes(read)
    }
}

/// A snapshot of the store, without the endpoint's settings table.
struct Snapshot {
    snapshot: Arc<dyn Read>,
}

impl Read for Snapshot {
    fn list_tables(&self) -> Answer<'_, Vec<TableName>> {
        Box::pin(async move {
            let mut names = self.snapshot.list_tables().await?;
            names.retain(|name| !name.as_str().starts_with("keyloom."));
            Ok(names)
        })
    }

    fn describe_table(&self, table: TableName) -> Answer<'_, TableDescription> {
        self.snapshot.describe_table(table)
    }

    fn get(&self, get: Get) -> Answer<'_, Option<Item>> {
        self.snapshot.get(get)
    }

    fn query(&self, query: Query) -> Answer<'_, Page> {
        self.snapshot.query(query)
    }

    fn scan(&self, scan: Scan) -> Answer<'_, Page> {
        self.snapshot.scan(scan)
    }

    fn batch_get(&self, batch: BatchGet) -> Answer<'_, BatchGot> {
        self.snapshot.batch_get(batch)
    }

    fn transact_get(&self, transaction: TransactGet) -> Answer<'_, Vec<Option<Item>>> {
        self.snapshot.transact_get(transaction)
    }
}

fn image(body: &str) -> Option<Item> {
    responses::item(&responses::json(body), "Attributes")
}
