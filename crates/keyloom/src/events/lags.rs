//! How far consumers were behind when that was last measured.
//!
//! A page of a stream can be empty although changes follow. As long as a checkpoint has not moved, what
//! was once found after it is still there.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use keyloom_store::{SeqNo, ShardId};

use super::checkpoint::Checkpoint;

/// Events after a checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ShardLag {
    pub(crate) events: u32,
    /// Whether there are changes after those that were examined.
    pub(crate) is_more: bool,
    /// When the oldest event happened.
    pub(crate) oldest_ms: Option<i64>,
}

/// The last measurements, by consumer and shard.
#[derive(Debug, Default)]
pub(crate) struct Lags(Mutex<BTreeMap<(String, ShardId), Measured>>);

#[derive(Clone, Copy, Debug)]
struct Measured {
    after: Option<SeqNo>,
    lag: ShardLag,
}

impl Lags {
    /// Adds what is known from before to a measurement, and remembers it.
    pub(crate) fn complete(&self, checkpoint: &Checkpoint, found: ShardLag) -> ShardLag {
        let mut measured = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (checkpoint.consumer.clone(), checkpoint.shard.clone());
        let before = measured.get(&key).filter(|before| before.after == checkpoint.after);
        let lag = before.map_or(found, |before| before.lag.max(found));
        measured.insert(key, Measured { after: checkpoint.after, lag });
        lag
    }
}

impl ShardLag {
    fn max(self, other: ShardLag) -> ShardLag {
        let oldest = [self.oldest_ms, other.oldest_ms].into_iter().flatten().min();
        ShardLag {
            events: self.events.max(other.events),
            is_more: self.is_more || other.is_more,
            oldest_ms: oldest,
        }
    }
}
