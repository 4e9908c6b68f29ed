//! A store behind the wire.

use std::future::Future;
use std::sync::Arc;

use keyloom_store::{
    Alteration, Answer, BatchGet, BatchGot, BatchWrite, ChangePage, Delete, Error, Get, IndexScope,
    MemoryStore, Page, Put, Query, Read, ReadChanges, Scan, ShardId, Store, TableDescription,
    TableName, TableSpec, TransactGet, TransactWrite, UpdateItem,
};
use keyloom_testkit::{ManualClock, Subject};
use keyloom_value::Item;

use super::{answers, requests};
use crate::endpoint::{Endpoint, EndpointOptions, Reply};

/// A reference in memory behind an endpoint.
///
/// A refused request changed nothing, so the store itself is asked what is wrong, in its own words;
/// the endpoint's code must fit them. What the wire does not carry is asked of the store too:
/// snapshots, the feed, descriptions, bytes looked at, what a batch left over.
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
    /// The answer to a request, or, if it is refused, what the store says of it.
    async fn ask<T>(
        &self,
        operation: &str,
        body: String,
        direct: impl Future<Output = Result<T, Error>>,
        read: impl FnOnce(&str) -> T,
    ) -> Result<T, Error> {
        let target = format!("DynamoDB_20120810.{operation}");
        let reply = self.endpoint.call(&target, body.as_bytes()).await;
        if reply.status == 200 {
            return Ok(read(&reply.body));
        }
        match direct.await {
            Err(error) => {
                assert!(fits(&error, &reply), "{operation} {body}\n{}\n{error:?}", reply.body);
                Err(error)
            }
            Ok(done) => {
                let known = STRICTER.iter().any(|words| reply.body.contains(words));
                assert!(known, "only the wire refuses {operation} {body}\n{}", reply.body);
                Ok(done)
            }
        }
    }
}

/// What the service refuses and a store takes, in words of the refusal.
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

/// Whether the code that the client gets fits what the store says.
fn fits(error: &Error, reply: &Reply) -> bool {
    let has = |code: &str| reply.body.contains(code);
    if STRICTER.iter().any(|words| has(words)) {
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
                let (page, is_more) = answers::table_names(&reply.await.body);
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
            self.ask("DescribeTable", body, async { direct.await.map(drop) }, |_| ()).await?;
            self.store.describe_table(table).await
        })
    }

    fn get(&self, get: Get) -> Answer<'_, Option<Item>> {
        let body = requests::get(&get);
        let read = |body: &str| answers::item(&answers::json(body), "Item");
        Box::pin(self.ask("GetItem", body, self.store.get(get), read))
    }

    fn query(&self, query: Query) -> Answer<'_, Page> {
        Box::pin(async move {
            if !requests::can_say(query.filter.as_ref()) {
                return self.store.query(query).await;
            }
            let body = requests::query(&query);
            let direct = self.store.query(query.clone());
            let mut page = self.ask("Query", body, direct, answers::page).await?;
            page.scanned_bytes = self.store.query(query).await?.scanned_bytes;
            Ok(page)
        })
    }

    fn scan(&self, scan: Scan) -> Answer<'_, Page> {
        Box::pin(async move {
            if !requests::can_say(scan.filter.as_ref()) {
                return self.store.scan(scan).await;
            }
            let body = requests::scan(&scan);
            let direct = self.store.scan(scan.clone());
            let mut page = self.ask("Scan", body, direct, answers::page).await?;
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
            // The wire has one projection for a table.
            if !is_plain {
                return self.store.batch_get(batch).await;
            }
            let body = requests::batch_get(&batch);
            let direct = self.store.batch_get(batch.clone());
            let mut got = self.ask("BatchGetItem", body, direct, answers::batch_got).await?;
            got.unprocessed = self.store.batch_get(batch).await?.unprocessed;
            Ok(got)
        })
    }

    fn transact_get(&self, transaction: TransactGet) -> Answer<'_, Vec<Option<Item>>> {
        let body = requests::transact_get(&transaction);
        let direct = self.store.transact_get(transaction);
        Box::pin(self.ask("TransactGetItems", body, direct, answers::responses))
    }
}

impl Store for WireStore {
    fn create_table(&self, spec: TableSpec) -> Answer<'_, TableDescription> {
        Box::pin(async move {
            // The wire makes a table and then its time to live, and names local indexes first.
            let is_ordered =
                spec.indexes.is_sorted_by_key(|index| index.scope == IndexScope::Global);
            if spec.ttl.is_some() || !is_ordered {
                return self.store.create_table(spec).await;
            }
            let (body, name) = (requests::create_table(&spec), spec.name.clone());
            let direct = self.store.create_table(spec);
            self.ask("CreateTable", body, async { direct.await.map(drop) }, |_| ()).await?;
            self.store.describe_table(name).await
        })
    }

    fn alter_table(&self, table: TableName, change: Alteration) -> Answer<'_, TableDescription> {
        Box::pin(async move {
            // The wire has no way to ask for a local index here.
            if matches!(&change, Alteration::AddIndex(index) if index.scope == IndexScope::Local) {
                return self.store.alter_table(table, change).await;
            }
            let now = self.store.describe_table(table.clone()).await.ok();
            let ttl = now.and_then(|now| now.spec.ttl);
            let ttl = ttl.as_ref().map(|name| name.as_str());
            let (operation, body) = requests::alter_table(&table, &change, ttl);
            let direct = self.store.alter_table(table.clone(), change);
            self.ask(operation, body, async { direct.await.map(drop) }, |_| ()).await?;
            self.store.describe_table(table).await
        })
    }

    fn drop_table(&self, table: TableName) -> Answer<'_, TableDescription> {
        Box::pin(async move {
            let before = self.store.describe_table(table.clone()).await;
            let body = requests::object(|w| w.name("TableName").text(table.as_str()));
            let direct = self.store.drop_table(table);
            self.ask("DeleteTable", body, async { direct.await.map(drop) }, |_| ()).await?;
            before
        })
    }

    fn put(&self, put: Put) -> Answer<'_, Option<Item>> {
        if !requests::can_say(put.condition.as_ref()) {
            return self.store.put(put);
        }
        let body = requests::put(&put);
        Box::pin(self.ask("PutItem", body, self.store.put(put), image))
    }

    fn update(&self, update: UpdateItem) -> Answer<'_, Option<Item>> {
        if !requests::can_say(update.condition.as_ref()) {
            return self.store.update(update);
        }
        let body = requests::update(&update);
        Box::pin(self.ask("UpdateItem", body, self.store.update(update), image))
    }

    fn delete(&self, delete: Delete) -> Answer<'_, Option<Item>> {
        if !requests::can_say(delete.condition.as_ref()) {
            return self.store.delete(delete);
        }
        let body = requests::delete(&delete);
        Box::pin(self.ask("DeleteItem", body, self.store.delete(delete), image))
    }

    fn batch_write(&self, batch: BatchWrite) -> Answer<'_, BatchWrite> {
        let body = requests::batch_write(&batch);
        let direct = self.store.batch_write(batch);
        Box::pin(self.ask("BatchWriteItem", body, direct, |_| BatchWrite::default()))
    }

    fn transact_write(&self, transaction: TransactWrite) -> Answer<'_, ()> {
        if !transaction.actions.iter().all(requests::can_say_action) {
            return self.store.transact_write(transaction);
        }
        let body = requests::transact_write(&transaction);
        let direct = self.store.transact_write(transaction);
        Box::pin(self.ask("TransactWriteItems", body, direct, |_| ()))
    }

    fn snapshot(&self) -> Answer<'_, Arc<dyn Read>> {
        Box::pin(async move {
            let moment = self.store.snapshot().await?;
            Ok(Arc::new(Moment { moment }) as Arc<dyn Read>)
        })
    }

    fn shards(&self, table: TableName) -> Answer<'_, Vec<ShardId>> {
        self.store.shards(table)
    }

    fn changes(&self, read: ReadChanges) -> Answer<'_, ChangePage> {
        self.store.changes(read)
    }
}

/// A moment of the store, without the endpoint's own table.
struct Moment {
    moment: Arc<dyn Read>,
}

impl Read for Moment {
    fn list_tables(&self) -> Answer<'_, Vec<TableName>> {
        Box::pin(async move {
            let mut names = self.moment.list_tables().await?;
            names.retain(|name| !name.as_str().starts_with("keyloom."));
            Ok(names)
        })
    }

    fn describe_table(&self, table: TableName) -> Answer<'_, TableDescription> {
        self.moment.describe_table(table)
    }

    fn get(&self, get: Get) -> Answer<'_, Option<Item>> {
        self.moment.get(get)
    }

    fn query(&self, query: Query) -> Answer<'_, Page> {
        self.moment.query(query)
    }

    fn scan(&self, scan: Scan) -> Answer<'_, Page> {
        self.moment.scan(scan)
    }

    fn batch_get(&self, batch: BatchGet) -> Answer<'_, BatchGot> {
        self.moment.batch_get(batch)
    }

    fn transact_get(&self, transaction: TransactGet) -> Answer<'_, Vec<Option<Item>>> {
        self.moment.transact_get(transaction)
    }
}

fn image(body: &str) -> Option<Item> {
    answers::item(&answers::json(body), "Attributes")
}
