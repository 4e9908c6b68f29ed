//! One process reads a shard for a consumer, where processes share a store.
//!
//! Without that, each of them would read everything, and all but one for nothing: the service lets few
//! readers read a shard, and charges for each read. The checkpoint names its reader, which has a
//! heartbeat; when that is gone, another process takes its place. That effects happen once does not
//! depend on it: a checkpoint moves on the condition that it is as it was read.

use super::Work;
use super::checkpoint::{Checkpoint, Checkpoints};
use super::heartbeat::Heartbeat;
use crate::error::Error;
use crate::shared::Shared;

/// The right of a process to read a shard for a consumer.
#[derive(Clone, Copy)]
pub(crate) struct ReaderLease<'s> {
    shared: &'s Shared,
}

impl<'s> ReaderLease<'s> {
    pub(crate) fn new(shared: &'s Shared) -> ReaderLease<'s> {
        ReaderLease { shared }
    }

    /// Returns the checkpoint if this process is its reader, after it has become that if nobody else
    /// is. A process without heartbeat, whose end nobody would notice, reads beside the others.
    pub(crate) async fn take(
        self,
        checkpoint: Checkpoint,
        work: &mut Work,
    ) -> Result<Option<Checkpoint>, Error> {
        let heartbeat = Heartbeat::new(self.shared);
        let Some(own) = heartbeat.reader().await? else { return Ok(Some(checkpoint)) };
        match checkpoint.reader {
            Some(reader) if reader == own => return Ok(Some(checkpoint)),
            Some(other) if heartbeat.is_alive(other).await? => return Ok(None),
            Some(_) | None => {}
        }
        let taken = Checkpoint { reader: Some(own), ..checkpoint.clone() };
        if Checkpoints::new(self.shared).replace(&checkpoint, &taken).await? {
            return Ok(Some(taken));
        }
        work.call_again();
        Ok(None)
    }
}
