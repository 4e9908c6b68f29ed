//! The progress of a consumer in one shard: its checkpoint advances with the effects of events.

use keyloom_store::ChangePage;

use super::checkpoint::{Checkpoint, Checkpoints, Lease};
use super::effects::Effects;
use super::heartbeat::Heartbeat;
use super::scanned::Scanned;
use super::transaction::JobTransaction;
use super::worker::Workers;
use super::{Event, Work};
use crate::db::Db;
use crate::error::Error;

/// How many events share a transaction, if their handler depends on the event alone.
pub(crate) const BATCH_MAX: usize = 16;
/// How many row changes are read at once: full batches, and no more than lanes can be read at once.
pub(crate) const CHANGES_MAX: usize = 6 * BATCH_MAX;
/// After how long a checkpoint is written even if nothing was for its consumer, so that the feed is
/// not trimmed past it.
const IDLE_MS: i64 = 10 * 60 * 1000;

/// How far a consumer is in one shard.
pub(crate) struct Progress {
    db: Db,
    /// As it is stored.
    pub(crate) checkpoint: Checkpoint,
    /// Whether events without effects were handled since: the checkpoint is behind them.
    is_ahead: bool,
}

/// A step of the checkpoint.
pub(crate) struct Advance<'a> {
    /// The database of the tenant that the effects belong to.
    pub(crate) db: &'a Db,
    pub(crate) effects: &'a Effects,
    /// The event that the checkpoint moves past.
    pub(crate) last: &'a Event,
    pub(crate) lease: LeaseUse,
}

/// What a commit does to the lease of its checkpoint, if it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeaseUse {
    Keep,
    Release,
}

/// Which process may deliver the events after a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    Here,
    /// Another one, until this time at most.
    ByOther {
        until_ms: i64,
    },
}

impl Progress {
    pub(crate) fn new(db: &Db, checkpoint: Checkpoint) -> Progress {
        Progress { db: db.clone(), checkpoint, is_ahead: false }
    }

    /// Notes that events were handled without effects. The checkpoint is written later.
    pub(crate) fn pass(&mut self) {
        self.is_ahead = true;
    }

    /// Keeps other processes from delivering the events after the checkpoint. Within a process, a
    /// claim has done that already.
    pub(crate) async fn hold(&mut self, lease_ms: i64) -> Result<Held, Error> {
        let shared = &self.db.shared;
        if shared.store.opening().is_some() {
            return Ok(Held::Here);
        }
        if let Some(lease) = self.checkpoint.lease
            && self.is_in_force(lease).await?
        {
            return Ok(Held::ByOther { until_ms: lease.until_ms });
        }
        let holder = Heartbeat::new(shared).holder().await?;
        let now_ms = shared.now_ms();
        let lease = Some(Lease { until_ms: now_ms.saturating_add(lease_ms), holder });
        let leased = Checkpoint { lease, ..self.checkpoint.clone() };
        if !Checkpoints::new(shared).replace(&self.checkpoint, &leased).await? {
            return Ok(Held::ByOther { until_ms: now_ms });
        }
        self.checkpoint = leased;
        Ok(Held::Here)
    }

    async fn is_in_force(&self, lease: Lease) -> Result<bool, Error> {
        let shared = &self.db.shared;
        if lease.until_ms <= shared.now_ms() {
            return Ok(false);
        }
        match lease.holder {
            None => Ok(true),
            // The row of a process goes when its heartbeat has stopped.
            Some(holder) => Workers::new(shared).has(holder).await,
        }
    }

    /// Writes effects and moves the checkpoint past an event, in one transaction.
    ///
    /// # Errors
    ///
    /// [`Error::Contended`] if the checkpoint or a lane has changed.
    pub(crate) async fn commit(&mut self, advance: Advance<'_>) -> Result<(), Error> {
        let Advance { db, effects, last, lease } = advance;
        let seq = last.position.0.get(&self.checkpoint.shard).copied();
        let next = Checkpoint {
            after: seq.or(self.checkpoint.after),
            time_ms: last.time_ms,
            moved_ms: db.shared.now_ms(),
            lease: self.checkpoint.lease.filter(|_| lease == LeaseUse::Keep),
            ..self.checkpoint.clone()
        };
        if effects.is_empty() {
            let is_moved = Checkpoints::new(&db.shared).replace(&self.checkpoint, &next).await?;
            is_moved.then_some(()).ok_or(Error::Contended)?;
        } else {
            let advance = self.checkpoint.advance(&next, &db.shared.table);
            JobTransaction::new(db).piggyback(advance).commit(effects).await?;
        }
        (self.checkpoint, self.is_ahead) = (next, false);
        Ok(())
    }

    /// Whether somebody else has moved the checkpoint or taken its lease.
    pub(crate) async fn is_overtaken(&self) -> Result<bool, Error> {
        let stored = Checkpoints::new(&self.db.shared);
        let stored = stored.get(&self.checkpoint.consumer, &self.checkpoint.shard).await?;
        let own = &self.checkpoint;
        Ok((stored.after, stored.lease, stored.reader) != (own.after, own.lease, own.reader))
    }

    /// Ends a page: moves the checkpoint behind it if something was handled, if the shard has ended,
    /// or if the feed could be trimmed past it. Otherwise writes nothing, because writing is a change
    /// too. Returns whether the consumer has now seen all of the shard.
    pub(crate) async fn end_page(
        self,
        page: &ChangePage,
        scanned: &Scanned,
        work: &mut Work,
    ) -> Result<bool, Error> {
        let now_ms = self.db.shared.now_ms();
        let is_full = page.changes.len() >= CHANGES_MAX;
        let is_due = now_ms.saturating_sub(self.checkpoint.moved_ms) >= IDLE_MS;
        let is_new = self.checkpoint.after != Some(page.next) || page.is_ended;
        if is_full {
            work.call_again();
        }
        if !is_new || !(self.is_ahead || is_full || is_due || page.is_ended) {
            scanned.note(&self.checkpoint, page.next);
            return Ok(false);
        }
        let time_ms = page.changes.last().map(|last| i64::try_from(last.at.0).unwrap_or(i64::MAX));
        let next = Checkpoint {
            after: Some(page.next),
            time_ms: time_ms.unwrap_or(self.checkpoint.time_ms),
            moved_ms: now_ms,
            is_ended: page.is_ended,
            ..self.checkpoint.clone()
        };
        let is_moved = Checkpoints::new(&self.db.shared).replace(&self.checkpoint, &next).await?;
        // Others go on from there: the next shards, or the process that has moved it.
        if !is_moved || page.is_ended {
            work.call_again();
        }
        Ok(is_moved && page.is_ended)
    }
}
