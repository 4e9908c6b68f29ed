//! The rows of processes that run jobs, or read the feed, on a shared store.
//!
//! ```text
//! ("m", "worker") / id   seen: when it was written, larger each time; every: how often that
//!                         should be; when it expires
//! ```

use keyloom_model::RowKey;
use keyloom_model::attribute::{EXPIRY, SORT};
use keyloom_store::{Delete, Get, Put};
use keyloom_value::{Condition, Item, KeyBytes, Number, Path, Value};

use crate::error::Error;
use crate::shared::Shared;
use crate::system_rows::{delete_if, system_rows};

const NAME: &str = "worker";
/// How often a process that runs jobs writes its row.
pub(crate) const BEAT_MS: i64 = 2_000;
const SEEN: &str = "seen";
const EVERY: &str = "every";
/// How long a row is kept that nobody writes or removes. No lease is as long.
const KEPT_SECS: i64 = 30 * 24 * 3600;

/// The row of a process that runs jobs or reads the feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Worker {
    pub(crate) id: u64,
    pub(crate) seen: i64,
    /// How often it is written, in milliseconds.
    pub(crate) every_ms: i64,
}

impl Worker {
    /// Whether a partition is that of the workers.
    pub(crate) fn is_at(partition: &[u8]) -> bool {
        partition == RowKey::system(NAME, &[]).partition.as_bytes()
    }

    pub(crate) fn read(row: &Item) -> Option<Worker> {
        let sort = KeyBytes::decode(row.get(SORT)?.as_b()?).ok()?;
        let [id] = &sort[..] else { return None };
        let id = u64::try_from(id.as_n()?.to_i64()?).ok()?;
        let ms = |name| row.get(name)?.as_n().and_then(Number::to_i64);
        // Version 0.1 wrote it only while jobs were running.
        Some(Worker { id, seen: ms(SEEN)?, every_ms: ms(EVERY).unwrap_or(BEAT_MS) })
    }

    fn key(id: u64) -> Item {
        RowKey::system(NAME, &[Value::from(id)]).to_item()
    }

    fn to_item(self, now_ms: i64) -> Item {
        let mut item = Worker::key(self.id);
        item.insert(SEEN, self.seen);
        item.insert(EVERY, self.every_ms);
        item.insert(EXPIRY, now_ms.div_euclid(1000).saturating_add(KEPT_SECS));
        item
    }
}

/// The rows of all processes, and when they were requested and received.
pub(crate) struct Observation {
    pub(crate) rows: Vec<Worker>,
    pub(crate) asked_ms: i64,
    pub(crate) read_ms: i64,
}

/// The stored rows of all processes.
#[derive(Clone, Copy)]
pub(crate) struct Workers<'s> {
    shared: &'s Shared,
}

impl<'s> Workers<'s> {
    pub(crate) fn new(shared: &'s Shared) -> Workers<'s> {
        Workers { shared }
    }

    pub(crate) async fn put(self, worker: Worker) -> Result<(), Error> {
        let item = worker.to_item(self.shared.now_ms());
        self.shared.store.put(Put::new(&self.shared.table, item)).await?;
        Ok(())
    }

    /// Removes a row, unless it was written meanwhile.
    pub(crate) async fn remove(self, worker: Worker) -> Result<(), Error> {
        let as_read = Condition::equal(Path::from(SEEN), Value::from(worker.seen));
        let delete = Delete::new(&self.shared.table, Worker::key(worker.id)).when(as_read);
        delete_if(&*self.shared.store, delete).await
    }

    /// Whether a process has a row.
    pub(crate) async fn has(self, id: u64) -> Result<bool, Error> {
        let get = Get::new(&self.shared.table, Worker::key(id));
        Ok(self.shared.store.get(get).await?.is_some())
    }

    pub(crate) async fn all(self) -> Result<Vec<Worker>, Error> {
        let Shared { store, table, .. } = self.shared;
        let rows = system_rows(&**store, table, RowKey::system(NAME, &[]).partition).await?;
        Ok(rows.iter().filter_map(Worker::read).collect())
    }
}
