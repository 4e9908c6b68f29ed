//! Which part of the feed after a checkpoint is known to hold nothing for its consumer.
//!
//! A checkpoint is not written while nothing happens for its consumer, because writing it is itself
//! a change. Remembering the scanned range in memory saves reading it again.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use keyloom_store::{FeedStart, SeqNo, ShardId};

use super::checkpoint::Checkpoint;

/// The scanned ranges, by consumer and shard.
#[derive(Debug, Default)]
pub(crate) struct Scanned(Mutex<BTreeMap<(String, ShardId), Range>>);

#[derive(Clone, Copy, Debug)]
struct Range {
    after: Option<SeqNo>,
    to: SeqNo,
}

impl Scanned {
    /// Returns where to continue reading from a checkpoint.
    pub(crate) fn start(&self, checkpoint: &Checkpoint) -> FeedStart {
        let ranges = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match ranges.get(&key(checkpoint)) {
            Some(range) if checkpoint.after == range.after => FeedStart::After(range.to),
            Some(_) | None => checkpoint.start(),
        }
    }

    /// Records that nothing up to `to` is for the consumer.
    pub(crate) fn note(&self, checkpoint: &Checkpoint, to: SeqNo) {
        let mut ranges = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ranges.insert(key(checkpoint), Range { after: checkpoint.after, to });
    }
}

fn key(checkpoint: &Checkpoint) -> (String, ShardId) {
    (checkpoint.consumer.clone(), checkpoint.shard.clone())
}
