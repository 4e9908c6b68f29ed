//! Copies the items of a table: from a snapshot into a backup, from a backup into a new table, or
//! from what a table was at an earlier time.

use std::collections::{BTreeMap, BTreeSet};

use keyloom_store::{
    BatchAction, BatchGet, BatchWrite, Change, Error, FeedStart, Get, KeySchema, Read, ReadChanges,
    Scan, SeqNo, Shard, Store, TableName, Time,
};
use keyloom_value::{Item, KeyBytes};

/// Writes of one batch.
const WRITES_MAX: usize = 25;
/// Keys of one batch.
const GETS_MAX: usize = 100;
/// Changes that are read at a time.
const CHANGES_MAX: usize = 1000;

/// Copies every item of a table.
pub(super) async fn copy(
    from: &dyn Read,
    source: &TableName,
    to: &dyn Store,
    target: &TableName,
) -> Result<(), Error> {
    let mut scan = Scan::new(source);
    loop {
        let page = from.scan(scan.clone()).await?;
        put_all(to, target, page.items).await?;
        match page.last_key {
            Some(key) => scan.start = Some(key),
            None => return Ok(()),
        }
    }
}

/// Where an earlier state of a table is written.
pub(super) struct Rewind<'a> {
    pub(super) store: &'a dyn Store,
    pub(super) source: &'a TableName,
    pub(super) key: &'a KeySchema,
    /// The table that gets the earlier state. It is empty.
    pub(super) target: &'a TableName,
    /// An empty table with the same key, for the keys of items that did not exist.
    pub(super) absent: &'a TableName,
}

impl Rewind<'_> {
    /// Writes what the table was at a time. The first later change of an item has its image of then;
    /// an item without a later change is as it is now.
    ///
    /// Exact, because the snapshot is taken before the changes are read to their end: what changed
    /// after it has an image too, the same as in the snapshot unless it changed before.
    pub(super) async fn run(&self, after: FeedStart, to: Time) -> Result<(), Error> {
        let snapshot = self.store.snapshot().await?;
        self.undo(after, to).await?;
        let mut scan = Scan::new(self.source);
        loop {
            let page = snapshot.scan(scan.clone()).await?;
            let unchanged = self.unknown(page.items).await?;
            put_all(self.store, self.target, unchanged).await?;
            match page.last_key {
                Some(key) => scan.start = Some(key),
                None => return Ok(()),
            }
        }
    }

    /// Writes the images of all items that changed after the time.
    async fn undo(&self, after: FeedStart, to: Time) -> Result<(), Error> {
        for Shard { id, .. } in self.store.shards(self.source.clone()).await? {
            let end = self.end(&id).await?;
            let mut start = after;
            loop {
                let (table, shard) = (self.source.clone(), id.clone());
                let read = ReadChanges { table, shard, start, limit: CHANGES_MAX };
                let page = self.store.changes(read).await?;
                let is_read = page.next >= end || FeedStart::After(page.next) == start;
                let later = page.changes.into_iter().filter(|change| change.at > to);
                self.undo_page(later.collect()).await?;
                if is_read {
                    break;
                }
                start = FeedStart::After(page.next);
            }
        }
        Ok(())
    }

    async fn end(&self, shard: &keyloom_store::ShardId) -> Result<SeqNo, Error> {
        let (table, shard) = (self.source.clone(), shard.clone());
        let read = ReadChanges { table, shard, start: FeedStart::Now, limit: 1 };
        Ok(self.store.changes(read).await?.next)
    }

    async fn undo_page(&self, changes: Vec<Change>) -> Result<(), Error> {
        let mut first: BTreeMap<KeyBytes, Change> = BTreeMap::new();
        for change in changes {
            first.entry(encoded(self.key, &change.key)).or_insert(change);
        }
        let keys = first.values().map(|change| change.key.clone()).collect();
        let unknown = self.unknown(keys).await?;
        let (mut images, mut absent) = (Vec::new(), Vec::new());
        for key in unknown {
            match first.remove(&encoded(self.key, &key)).and_then(|change| change.old) {
                Some(old) => images.push(old),
                None => absent.push(key),
            }
        }
        put_all(self.store, self.target, images).await?;
        put_all(self.store, self.absent, absent).await
    }

    /// Returns those of the items about which nothing is written yet.
    async fn unknown(&self, items: Vec<Item>) -> Result<Vec<Item>, Error> {
        let mut known = BTreeSet::new();
        for chunk in items.chunks(GETS_MAX) {
            for table in [self.target, self.absent] {
                let gets = chunk.iter().map(|item| Get::new(table, self.key.of(item)));
                let mut batch = BatchGet { gets: gets.collect() };
                while !batch.gets.is_empty() {
                    let got = self.store.batch_get(batch).await?;
                    for (_, item) in got.items {
                        known.insert(encoded(self.key, &item));
                    }
                    batch = BatchGet { gets: got.unprocessed };
                }
            }
        }
        let is_unknown = |item: &Item| !known.contains(&encoded(self.key, item));
        Ok(items.into_iter().filter(is_unknown).collect())
    }
}

/// Encodes the key of an item, to tell keys apart. Keys that are stored have values that can be
/// encoded.
fn encoded(schema: &KeySchema, item: &Item) -> KeyBytes {
    let mut bytes = KeyBytes::default();
    for attribute in schema.attributes() {
        if let Some(value) = item.get(attribute.name.as_str()) {
            let pushed = bytes.push(value);
            debug_assert!(pushed.is_ok(), "a stored key has values that no key can have");
        }
    }
    bytes
}

/// Writes items. All batches are requested before the first is awaited, so that they share syncs.
async fn put_all(to: &dyn Store, target: &TableName, items: Vec<Item>) -> Result<(), Error> {
    let batches = items.chunks(WRITES_MAX).map(|chunk| {
        let puts = chunk.iter().map(|item| BatchAction::Put(target.clone(), item.clone()));
        to.batch_write(BatchWrite { actions: puts.collect() })
    });
    for batch in batches.collect::<Vec<_>>() {
        let mut left = batch.await?;
        while !left.actions.is_empty() {
            left = to.batch_write(left).await?;
        }
    }
    Ok(())
}
