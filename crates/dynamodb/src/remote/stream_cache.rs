//! What is kept of streams between calls: their shards, and the iterators of those who read them.
//!
//! A shard can return many empty pages before its next record. The position of a reader is the last
//! record, which does not change meanwhile, so starting again from there would never get past them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use aws_sdk_dynamodbstreams::types::Shard;
use keyloom_store::{SeqNo, TableName};

/// After how long shards are listed again.
const SHARDS_AGE_MAX: Duration = Duration::from_secs(10);
/// How long an iterator is used, which the service ends after 15 minutes.
const ITERATOR_AGE_MAX: Duration = Duration::from_secs(10 * 60);
/// Readers that are remembered. Those that are not start from their position.
const READERS_MAX: usize = 10_000;

/// The stream of a table.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    pub(super) arn: String,
    pub(super) shards: Arc<Vec<Shard>>,
    listed: Instant,
}

/// Who reads: a shard, after a record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Reading {
    /// The stream: shards of different ones may share a name.
    pub(super) arn: String,
    pub(super) shard: String,
    pub(super) after: SeqNo,
}

/// Where a reader continues.
#[derive(Clone, Debug)]
pub(super) enum Continue {
    At(String),
    /// The shard is closed and has been read to its end.
    Ended,
}

/// A cache; nothing in it is needed.
#[derive(Debug, Default)]
pub(super) struct StreamCache(Mutex<Streams>);

#[derive(Debug, Default)]
struct Streams {
    by_table: HashMap<TableName, Stream>,
    readers: HashMap<Reading, (Continue, Instant)>,
}

impl Stream {
    pub(super) fn new(arn: String, shards: Vec<Shard>) -> Stream {
        Stream { arn, shards: Arc::new(shards), listed: Instant::now() }
    }
}

impl Continue {
    pub(super) fn new(next_iterator: Option<String>) -> Continue {
        next_iterator.map_or(Continue::Ended, Continue::At)
    }
}

impl StreamCache {
    /// Returns the stream of a table, if it was listed a short time ago.
    pub(super) fn stream(&self, table: &TableName) -> Option<Stream> {
        let stream = self.lock().by_table.get(table).cloned();
        stream.filter(|stream| stream.listed.elapsed() < SHARDS_AGE_MAX)
    }

    pub(super) fn insert(&self, table: &TableName, stream: Stream) {
        self.lock().by_table.insert(table.clone(), stream);
    }

    /// Forgets the shards of a table, because they may have changed.
    pub(super) fn invalidate(&self, table: &TableName) {
        self.lock().by_table.remove(table);
    }

    /// Takes what a reader left. Two readers at one position do not share an iterator.
    pub(super) fn take(&self, reading: &Reading) -> Option<Continue> {
        let (kept, since) = self.lock().readers.remove(reading)?;
        Some(kept).filter(|_| since.elapsed() < ITERATOR_AGE_MAX)
    }

    pub(super) fn keep(&self, reading: Reading, next: Continue) {
        let mut streams = self.lock();
        if streams.readers.len() >= READERS_MAX {
            streams.readers.clear();
        }
        streams.readers.insert(reading, (next, Instant::now()));
    }

    fn lock(&self) -> MutexGuard<'_, Streams> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
