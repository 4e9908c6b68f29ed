//! Databases on a store that behaves as DynamoDB does under load, in simulated time.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use keyloom::{Clock, Db, Options};
use keyloom_dynamodb::{Strict, StrictOptions};
use keyloom_store::{
    Answer, BatchGet, BatchGot, CancelReason, ChangePage, Delete, Error, Get, MemoryStore, Page,
    Put, Query, Read, ReadChanges, Scan, Shard, ShardId, Store, TableName, Time, TransactGet,
    TransactWrite, UpdateItem,
};
use keyloom_testkit::{Front, InFront, Random, SimClock};
use keyloom_value::Item;

/// A task of a test.
pub(crate) type Task<'t> = Pin<Box<dyn Future<Output = ()> + 't>>;

/// How long the remote store knows the shards of a stream.
const SHARDS_MS: u64 = 60_000;
/// The longest wait before a refused request is sent again: at first, and at most. Each is shortened at
/// random, as those of the remote store are.
const REST_MIN: Duration = Duration::from_millis(5);
const REST_MAX: Duration = Duration::from_millis(100);

/// Rules without latency and lag. What the tests are about is added to them.
pub(crate) fn rules() -> StrictOptions {
    let mut rules = StrictOptions::default();
    rules.latency = Duration::ZERO;
    rules.index_lag = Duration::ZERO;
    rules.replica_lag = Duration::ZERO;
    rules.create_time = Duration::ZERO;
    rules
}

/// The connection of one process: sends again what was refused for now, as clients of the service do,
/// and counts the requests by kind.
#[derive(Clone)]
pub(crate) struct Connection {
    strict: Arc<Strict>,
    clock: SimClock,
    counts: Arc<Mutex<BTreeMap<&'static str, u64>>>,
    /// As the remote store has them.
    shards: Arc<Mutex<Option<Listed>>>,
    random: Arc<Mutex<Random>>,
    /// The shards that were read.
    read: Arc<Mutex<BTreeSet<ShardId>>>,
}

/// Shards, and when they were listed.
type Listed = (Time, Vec<Shard>);

/// A table that processes share.
pub(crate) struct SharedTable {
    pub(crate) clock: SimClock,
    strict: Arc<Strict>,
}

impl SharedTable {
    pub(crate) fn new(rules: StrictOptions) -> SharedTable {
        let clock = SimClock::new();
        let memory = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
        let strict = Arc::new(Strict::new(memory, Arc::new(clock.clone()), rules));
        SharedTable { clock, strict }
    }

    pub(crate) fn connect(&self) -> Connection {
        let (strict, clock) = (self.strict.clone(), self.clock.clone());
        let (counts, shards, read) = (Arc::default(), Arc::default(), Arc::default());
        let random = Arc::new(Mutex::new(Random::new(1)));
        Connection { strict, clock, counts, shards, random, read }
    }

    /// Runs tasks until all are done.
    pub(crate) fn run(&self, tasks: Vec<Task<'_>>) {
        self.clock.run(tasks);
    }

    /// The shards of the feed.
    pub(crate) fn shards(&self) -> Vec<Shard> {
        let table = TableName::new("keyloom").expect("it is a name");
        self.one(self.strict.shards(table)).expect("they are listed")
    }

    /// Runs one task, for its result.
    pub(crate) fn one<T>(&self, task: impl Future<Output = T>) -> T {
        let task: Pin<Box<dyn Future<Output = T> + '_>> = Box::pin(task);
        self.clock.run(vec![task]).remove(0)
    }
}

impl Connection {
    /// A process with this model.
    pub(crate) async fn open(&self, model: &str) -> Db {
        let options = Options { clock: Arc::new(self.clock.clone()), ..Options::default() };
        let store: Arc<dyn Store> = Arc::new(InFront(self.clone()));
        Db::open_with(model, store, options).await.expect("the database opens")
    }

    /// The number of requests so far.
    pub(crate) fn requests(&self) -> u64 {
        self.counts.lock().unwrap().values().sum()
    }

    /// The number of requests so far, by kind.
    pub(crate) fn counts(&self) -> BTreeMap<&'static str, u64> {
        self.counts.lock().unwrap().clone()
    }

    /// Returns the shards that were read since the last call.
    pub(crate) fn take_read(&self) -> BTreeSet<ShardId> {
        std::mem::take(&mut self.read.lock().unwrap())
    }

    async fn list(&self, table: TableName) -> Result<Vec<Shard>, Error> {
        let (now, known) = (self.clock.now(), self.shards.lock().unwrap().clone());
        if let Some((_, shards)) = known.filter(|(at, _)| now.0 < at.0 + SHARDS_MS) {
            return Ok(shards);
        }
        let listed = self.send("DescribeStream", table, |strict, table| strict.shards(table));
        let shards = listed.await?;
        *self.shards.lock().unwrap() = Some((now, shards.clone()));
        Ok(shards)
    }

    async fn page(&self, read: ReadChanges) -> Result<ChangePage, Error> {
        self.read.lock().unwrap().insert(read.shard.clone());
        let page = self.send("GetRecords", read, |strict, read| strict.changes(read)).await?;
        if page.is_ended {
            *self.shards.lock().unwrap() = None;
        }
        Ok(page)
    }

    async fn send<'s, T, R: Clone>(
        &'s self,
        kind: &'static str,
        request: R,
        send: impl Fn(&'s Strict, R) -> Answer<'s, T>,
    ) -> Result<T, Error> {
        let mut rest = REST_MIN;
        loop {
            *self.counts.lock().unwrap().entry(kind).or_default() += 1;
            match send(&self.strict, request.clone()).await {
                Err(error) if is_for_now(&error) => {
                    let share = self.random.lock().unwrap().below(1_001) as u32;
                    self.clock.sleep(rest * share / 1_000).await;
                    rest = (rest * 2).min(REST_MAX);
                }
                result => return result,
            }
        }
    }
}

/// Whether a request was refused because of load.
fn is_for_now(error: &Error) -> bool {
    let is_refused = |reason: &CancelReason| matches!(reason, CancelReason::Refused(_));
    match error {
        Error::Refused(_) => true,
        Error::Canceled { reasons } => reasons.iter().flatten().any(is_refused),
        _ => false,
    }
}

impl Front for Connection {
    fn behind(&self) -> &dyn Store {
        &*self.strict
    }

    fn get(&self, get: Get) -> Answer<'_, Option<Item>> {
        Box::pin(self.send("GetItem", get, |strict, get| strict.get(get)))
    }

    fn query(&self, query: Query) -> Answer<'_, Page> {
        Box::pin(self.send("Query", query, |strict, query| strict.query(query)))
    }

    fn batch_get(&self, batch: BatchGet) -> Answer<'_, BatchGot> {
        Box::pin(self.send("BatchGetItem", batch, |strict, batch| strict.batch_get(batch)))
    }

    fn scan(&self, scan: Scan) -> Answer<'_, Page> {
        Box::pin(self.send("Scan", scan, |strict, scan| strict.scan(scan)))
    }

    fn transact_get(&self, get: TransactGet) -> Answer<'_, Vec<Option<Item>>> {
        Box::pin(self.send("TransactGetItems", get, |strict, get| strict.transact_get(get)))
    }

    fn put(&self, put: Put) -> Answer<'_, Option<Item>> {
        Box::pin(self.send("PutItem", put, |strict, put| strict.put(put)))
    }

    fn update(&self, update: UpdateItem) -> Answer<'_, Option<Item>> {
        Box::pin(self.send("UpdateItem", update, |strict, update| strict.update(update)))
    }

    fn delete(&self, delete: Delete) -> Answer<'_, Option<Item>> {
        Box::pin(self.send("DeleteItem", delete, |strict, delete| strict.delete(delete)))
    }

    fn transact_write(&self, write: TransactWrite) -> Answer<'_, ()> {
        Box::pin(
            self.send("TransactWriteItems", write, |strict, write| strict.transact_write(write)),
        )
    }

    fn shards(&self, table: TableName) -> Answer<'_, Vec<Shard>> {
        Box::pin(self.list(table))
    }

    fn changes(&self, read: ReadChanges) -> Answer<'_, ChangePage> {
        Box::pin(self.page(read))
    }
}
