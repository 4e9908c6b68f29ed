//! Checkpoints: how far each consumer has come in each shard of the feed.
//!
//! ```text
//! ("m", "consumer") / name, shard   after: a sequence number, time of that change, moved,
//!                                  until, holder: a lease, if a process delivers webhooks
//!                                  reader: the process that reads the shard
//!                                  ended: the shard was read to its end; when it expires
//! ```
//!
//! A checkpoint advances in the transaction that writes the effects of the events before it, on the
//! condition that it is as it was read. If two processes run one consumer, one of them loses the
//! race, and nothing happens twice. Only webhooks need a lease: what is posted cannot be undone.

use keyloom_model::RowKey;
use keyloom_model::attribute::{EXPIRY, PARTITION, SORT};
use keyloom_store::TransactAction;
use keyloom_store::{
    BatchGet, ChangePage, Delete, Error as StoreError, FeedStart, Get, Put, SeqNo, Shard, ShardId,
    TableName,
};
use keyloom_value::{Condition, Item, KeyBytes, Number, Path, Value};

use super::consumer::Consumer;
use super::feed::Feed;
use crate::error::Error;
use crate::shared::Shared;
use crate::system_rows::system_rows;
use crate::unknown::unknown;
use crate::write::PlannedAction;

const NAME: &str = "consumer";
const AFTER: &str = "after";
const TIME: &str = "time";
const MOVED: &str = "moved";
const UNTIL: &str = "until";
const HOLDER: &str = "holder";
const READER: &str = "reader";
const ENDED: &str = "ended";
/// How long the checkpoint in a shard that has ended is kept: longer than any store lists the shard.
const ENDED_SECS: i64 = 7 * 24 * 3600;
/// Rows per request.
const BATCH_GETS_MAX: usize = 100;

/// How far a consumer has come in a shard of the feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    pub(crate) consumer: String,
    pub(crate) shard: ShardId,
    /// The last change that it has seen; none if it has seen nothing.
    pub(crate) after: Option<SeqNo>,
    /// When that change happened, in milliseconds.
    pub(crate) time_ms: i64,
    /// When the checkpoint was written, in milliseconds.
    pub(crate) moved_ms: i64,
    pub(crate) lease: Option<Lease>,
    /// The process that reads the shard for the consumer, as long as it has a heartbeat.
    pub(crate) reader: Option<u64>,
    /// Whether the shard has ended and the consumer has seen all of it.
    pub(crate) is_ended: bool,
}

/// The right of one process to deliver the events after a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lease {
    pub(crate) until_ms: i64,
    /// The process, if it has a heartbeat.
    pub(crate) holder: Option<u64>,
}

impl Checkpoint {
    /// Whether a partition is that of the checkpoints.
    pub(crate) fn is_at(partition: &[u8]) -> bool {
        partition == RowKey::system(NAME, &[]).partition.as_bytes()
    }

    fn key(consumer: &str, shard: &ShardId) -> RowKey {
        RowKey::system(NAME, &[consumer.into(), shard.0.as_str().into()])
    }

    /// The checkpoint of a consumer that has seen nothing of a shard.
    fn initial(consumer: &str, shard: &ShardId) -> Checkpoint {
        let (consumer, shard) = (consumer.to_owned(), shard.clone());
        Checkpoint {
            consumer,
            shard,
            after: None,
            time_ms: 0,
            moved_ms: 0,
            lease: None,
            reader: None,
            is_ended: false,
        }
    }

    pub(crate) fn read(row: &Item) -> Option<Checkpoint> {
        let sort = KeyBytes::decode(row.get(SORT)?.as_b()?).ok()?;
        let [consumer, shard] = &sort[..] else { return None };
        let ms = |name| row.get(name)?.as_n().and_then(Number::to_i64);
        let process = |name| ms(name).and_then(|id| u64::try_from(id).ok());
        let (holder, reader) = (process(HOLDER), process(READER));
        let lease = ms(UNTIL).map(|until_ms| Lease { until_ms, holder });
        let after = match row.get(AFTER) {
            // A shard of which the consumer has seen nothing, and somebody's.
            None if lease.is_some() || reader.is_some() => None,
            after => Some(SeqNo(after?.as_s()?.parse().ok()?)),
        };
        Some(Checkpoint {
            consumer: consumer.as_s()?.to_owned(),
            shard: ShardId(shard.as_s()?.to_owned()),
            after,
            time_ms: ms(TIME)?,
            moved_ms: ms(MOVED)?,
            lease,
            reader,
            is_ended: row.get(ENDED) == Some(&Value::Bool(true)),
        })
    }

    /// Where to continue reading.
    pub(crate) fn start(&self) -> FeedStart {
        self.after.map_or(FeedStart::Oldest, FeedStart::After)
    }

    /// Replaces this checkpoint with the next one, if this one is still stored.
    pub(crate) fn advance(&self, next: &Checkpoint, table: &TableName) -> PlannedAction {
        PlannedAction::piggybacked(TransactAction::Put(next.put(table).when(self.as_read())))
    }

    fn as_read(&self) -> Condition {
        let after = match self.after {
            None => Condition::missing(AFTER),
            Some(after) => Condition::equal(Path::from(AFTER), Value::from(after.to_string())),
        };
        let lease = match self.lease {
            None => Condition::missing(UNTIL),
            Some(lease) => Condition::equal(Path::from(UNTIL), Value::from(lease.until_ms)),
        };
        let reader = match self.reader {
            None => Condition::missing(READER),
            Some(reader) => Condition::equal(Path::from(READER), Value::from(reader)),
        };
        after.and(lease).and(reader)
    }

    fn put(&self, table: &TableName) -> Put {
        let mut item = Checkpoint::key(&self.consumer, &self.shard).to_item();
        if let Some(after) = self.after {
            item.insert(AFTER, after.to_string());
        }
        if let Some(lease) = self.lease {
            item.insert(UNTIL, lease.until_ms);
            if let Some(holder) = lease.holder {
                item.insert(HOLDER, holder);
            }
        }
        if let Some(reader) = self.reader {
            item.insert(READER, reader);
        }
        item.insert(TIME, self.time_ms);
        item.insert(MOVED, self.moved_ms);
        if self.is_ended {
            item.insert(ENDED, true);
            item.insert(EXPIRY, self.moved_ms.div_euclid(1000).saturating_add(ENDED_SECS));
        }
        Put::new(table, item)
    }
}

/// The stored checkpoints.
#[derive(Clone, Copy)]
pub(crate) struct Checkpoints<'s> {
    shared: &'s Shared,
}

impl<'s> Checkpoints<'s> {
    pub(crate) fn new(shared: &'s Shared) -> Checkpoints<'s> {
        Checkpoints { shared }
    }

    /// Gives each new consumer a checkpoint at the end of the feed.
    pub(crate) async fn create_missing(self) -> Result<(), Error> {
        let consumers = Consumer::all(self.shared.schema().model());
        if consumers.is_empty() {
            return Ok(());
        }
        let known = self.all().await?;
        let is_new = |consumer: &&Consumer| known.iter().all(|c| c.consumer != consumer.name);
        let new: Vec<&Consumer> = consumers.iter().filter(is_new).collect();
        if new.is_empty() {
            return Ok(());
        }
        // All of them start at one position, and share what they read.
        for shard in Feed::new(self.shared).shards().await? {
            let newest = Feed::new(self.shared).newest(&shard.id).await?;
            for consumer in &new {
                let checkpoint = self.at(&consumer.name, &shard, &newest);
                let put = checkpoint.put(&self.shared.table).when(Condition::missing(PARTITION));
                match self.shared.store.put(put).await {
                    // Another process may have been faster.
                    Ok(_) | Err(StoreError::ConditionFailed { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(())
    }

    /// Moves a consumer to one end of the feed.
    pub(crate) async fn reset(self, consumer: &str, to: FeedStart) -> Result<(), Error> {
        let all = Consumer::all(self.shared.schema().model());
        if all.iter().all(|other| other.name != consumer) {
            let what = format!("The model calls no `{consumer}`");
            return Err(unknown(what, consumer, all.iter().map(|other| other.name.as_str())));
        }
        for shard in Feed::new(self.shared).shards().await? {
            let feed = Feed::new(self.shared);
            let page = match to {
                FeedStart::Now => feed.newest(&shard.id).await?,
                // It begins when its parent has been read.
                FeedStart::Oldest if shard.parent.is_some() => {
                    let key = Checkpoint::key(consumer, &shard.id).to_item();
                    self.shared.store.delete(Delete::new(&self.shared.table, key)).await?;
                    continue;
                }
                FeedStart::Oldest => feed.oldest(&shard.id).await?,
                FeedStart::After(next) => ChangePage { changes: vec![], next, is_ended: false },
            };
            let put = self.at(consumer, &shard, &page).put(&self.shared.table);
            self.shared.store.put(put).await?;
        }
        Ok(())
    }

    /// A checkpoint behind a page.
    fn at(self, consumer: &str, shard: &Shard, page: &ChangePage) -> Checkpoint {
        let now_ms = self.shared.now_ms();
        Checkpoint {
            after: Some(page.next),
            time_ms: now_ms,
            moved_ms: now_ms,
            is_ended: page.is_ended,
            ..Checkpoint::initial(consumer, &shard.id)
        }
    }

    /// Reads the checkpoints of a consumer in all shards, each after its parent.
    ///
    /// # Errors
    ///
    /// [`Error::Behind`] if it has some, and none of them is in a shard that exists: shards come and
    /// go, but not all at once while it reads. The store was restored, or the consumer away for
    /// longer than changes are kept.
    pub(crate) async fn of(self, consumer: &str) -> Result<Vec<(Shard, Checkpoint)>, Error> {
        let checkpoints = self.in_shards(consumer, Feed::new(self.shared).shards().await?).await?;
        let mut all = checkpoints.iter();
        if checkpoints.is_empty() || all.any(|(_, checkpoint)| checkpoint.after.is_some()) {
            return Ok(checkpoints);
        }
        let mut orphaned = self.all().await?;
        orphaned.retain(|other| other.consumer == consumer && other.after.is_some());
        let Some(seen_ms) = orphaned.iter().map(|checkpoint| checkpoint.time_ms).max() else {
            return Ok(checkpoints);
        };
        let oldest_ms = match checkpoints.first() {
            Some((first, _)) => Feed::new(self.shared).oldest_ms(&first.id).await?,
            None => None,
        };
        Err(Error::Behind { consumer: consumer.to_owned(), seen_ms, oldest_ms })
    }

    /// Reads the checkpoint of a consumer in a shard.
    pub(crate) async fn get(self, consumer: &str, shard: &ShardId) -> Result<Checkpoint, Error> {
        let row = self.shared.store.get(self.get_row(consumer, shard)).await?;
        read_or_initial(row.as_ref(), consumer, shard)
    }

    /// Reads the checkpoints of a consumer in some shards, in one request if that is possible.
    async fn in_shards(
        self,
        consumer: &str,
        shards: Vec<Shard>,
    ) -> Result<Vec<(Shard, Checkpoint)>, Error> {
        let mut rows = vec![];
        for some in shards.chunks(BATCH_GETS_MAX) {
            let gets = some.iter().map(|shard| self.get_row(consumer, &shard.id)).collect();
            let mut batch = BatchGet { gets };
            while !batch.gets.is_empty() {
                let got = self.shared.store.batch_get(batch).await?;
                rows.extend(got.items.into_iter().map(|(_, row)| row));
                batch = BatchGet { gets: got.unprocessed };
            }
        }
        let pair = |shard: Shard| {
            let key = Checkpoint::key(consumer, &shard.id).to_item();
            let is_of_shard =
                |row: &&Item| key.iter().all(|(name, part)| row.get(name.as_str()) == Some(part));
            let row = rows.iter().find(is_of_shard);
            let checkpoint = read_or_initial(row, consumer, &shard.id)?;
            Ok((shard, checkpoint))
        };
        shards.into_iter().map(pair).collect()
    }

    fn get_row(self, consumer: &str, shard: &ShardId) -> Get {
        Get::new(&self.shared.table, Checkpoint::key(consumer, shard).to_item())
    }

    /// Replaces a checkpoint. Returns whether it was still stored.
    pub(crate) async fn replace(self, old: &Checkpoint, new: &Checkpoint) -> Result<bool, Error> {
        let put = new.put(&self.shared.table).when(old.as_read());
        match self.shared.store.put(put).await {
            Ok(_) => Ok(true),
            Err(StoreError::ConditionFailed { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    async fn all(self) -> Result<Vec<Checkpoint>, Error> {
        let Shared { store, table, .. } = self.shared;
        let rows = system_rows(&**store, table, RowKey::system(NAME, &[]).partition).await?;
        Ok(rows.iter().filter_map(Checkpoint::read).collect())
    }
}

/// Reads a checkpoint. A shard without one is newer than the consumer, which reads all of it.
fn read_or_initial(
    row: Option<&Item>,
    consumer: &str,
    shard: &ShardId,
) -> Result<Checkpoint, Error> {
    let Some(row) = row else { return Ok(Checkpoint::initial(consumer, shard)) };
    let what = || format!("The checkpoint of the consumer `{consumer}` cannot be read.");
    Checkpoint::read(row).ok_or_else(|| Error::damaged(what()))
}
