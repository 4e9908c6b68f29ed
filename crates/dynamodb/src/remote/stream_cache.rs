//! What is kept of streams between calls: their shards, and the iterators of those who read them.
//!
//! A shard can return many empty pages before its next record. The position of a reader is the last
//! record, which does not change meanwhile, so starting again from there would never get past them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aws_sdk_dynamodbstreams::types::Shard;
use keyloom_store::{TableName, Time};

use super::feed_position::FeedPosition;

/// After how long shards are listed again. The end of a shard, which is when there are new ones, is
/// noticed earlier.
const SHARDS_AGE_MAX_MS: u64 = 60_000;
/// How long an iterator is used, which the service ends after 15 minutes.
const ITERATOR_AGE_MAX_MS: u64 = 10 * 60 * 1000;
/// Readers that are remembered. Those that are not start from their position.
const READERS_MAX: usize = 10_000;

/// The stream of a table.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    pub(super) arn: String,
    pub(super) shards: Arc<Vec<Shard>>,
    pub(super) listed: Time,
}

/// Who reads: a shard, from a position on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Reading {
    pub(super) table: TableName,
    /// The stream: shards of different ones may share a name.
    pub(super) arn: String,
    pub(super) shard: String,
    pub(super) position: FeedPosition,
}

/// Where a reader continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Continue {
    /// With this iterator, behind the position.
    At(String),
    /// With this iterator, before the position: there are changes to be left out.
    Before(String),
    /// The shard is closed and has been read to its end.
    Ended,
}

/// A cache; nothing in it is needed.
#[derive(Debug, Default)]
pub(super) struct StreamCache(Mutex<Streams>);

#[derive(Debug, Default)]
struct Streams {
    by_table: HashMap<TableName, Stream>,
    readers: HashMap<Reading, (Continue, Time)>,
}

impl StreamCache {
    /// Returns the stream of a table, if it was listed a short time ago.
    pub(super) fn stream(&self, table: &TableName, now: Time) -> Option<Stream> {
        let stream = self.lock().by_table.get(table).cloned();
        stream.filter(|stream| is_within(stream.listed, now, SHARDS_AGE_MAX_MS))
    }

    pub(super) fn insert(&self, table: &TableName, stream: Stream) {
        self.lock().by_table.insert(table.clone(), stream);
    }

    /// Forgets the shards of a table, because they may have changed.
    pub(super) fn invalidate(&self, table: &TableName) {
        self.lock().by_table.remove(table);
    }

    /// Forgets everything about a table: its stream may be another one, even of the same name.
    pub(super) fn forget(&self, table: &TableName) {
        let mut streams = self.lock();
        streams.by_table.remove(table);
        streams.readers.retain(|reading, _| reading.table != *table);
    }

    /// Returns what a reader at this position has left. Readers share iterators, which are only
    /// positions to the service.
    pub(super) fn find(&self, reading: &Reading, now: Time) -> Option<Continue> {
        let (kept, since) = self.lock().readers.get(reading)?.clone();
        Some(kept).filter(|_| is_within(since, now, ITERATOR_AGE_MAX_MS))
    }

    /// Remembers where a reader continues that came from another position. Others may still be at
    /// the end of a shard, which nothing but its iterator leads back to.
    pub(super) fn keep(&self, from: FeedPosition, reading: Reading, next: Continue, now: Time) {
        let mut streams = self.lock();
        let left = Reading { position: from, ..reading.clone() };
        if from != reading.position && !matches!(from, FeedPosition::End(_)) {
            streams.readers.remove(&left);
        }
        streams.make_room(now);
        streams.readers.insert(reading, (next, now));
    }

    /// Remembers an iterator at the end of a shard, unless there is one from the same moment, which
    /// is the earlier one.
    pub(super) fn keep_first(&self, reading: Reading, next: Continue, now: Time) {
        if self.find(&reading, now).is_none() {
            self.keep(reading.position, reading, next, now);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Streams> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Streams {
    fn make_room(&mut self, now: Time) {
        if self.readers.len() >= READERS_MAX {
            self.readers.retain(|_, (_, since)| is_within(*since, now, ITERATOR_AGE_MAX_MS));
        }
        if self.readers.len() >= READERS_MAX {
            self.readers.clear();
        }
    }
}

/// Whether less time has passed than this. If the clock was set back, it is not known.
fn is_within(since: Time, now: Time, ms: u64) -> bool {
    now.0.checked_sub(since.0).is_some_and(|age| age < ms)
}
