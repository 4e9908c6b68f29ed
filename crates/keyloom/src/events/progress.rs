//! The progress of a consumer in one shard: its checkpoint advances with the effects of events.

use keyloom_store::ChangePage;

use super::checkpoint::{Checkpoint, Checkpoints};
use super::effects::Effects;
use super::scanned::Scanned;
use super::transaction::JobTransaction;
use super::{Event, Work};
use crate::db::Db;
use crate::error::Error;

/// How many row changes are read at once: as many as lanes can be read at once.
pub(crate) const CHANGES_MAX: usize = 100;
/// After how long a checkpoint is written even if nothing was for its consumer, so that the feed is
/// not trimmed past it.
const IDLE_MS: i64 = 10 * 60 * 1000;

/// How far a consumer is in one shard.
pub(crate) struct Progress<'p> {
    db: &'p Db,
    /// As it is stored.
    pub(crate) checkpoint: Checkpoint,
    /// Whether events without effects were handled since: the checkpoint is behind them.
    is_ahead: bool,
}

impl<'p> Progress<'p> {
    pub(crate) fn new(db: &'p Db, checkpoint: Checkpoint) -> Progress<'p> {
        Progress { db, checkpoint, is_ahead: false }
    }

    /// Notes that events were handled without effects. The checkpoint is written later.
    pub(crate) fn pass(&mut self) {
        self.is_ahead = true;
    }

    /// Writes effects and moves the checkpoint past an event, in one transaction.
    ///
    /// # Errors
    ///
    /// [`Error::Contended`] if the checkpoint or a lane has changed.
    pub(crate) async fn commit(&mut self, effects: &Effects, last: &Event) -> Result<(), Error> {
        let seq = last.position.0.get(&self.checkpoint.shard).copied();
        let next = Checkpoint {
            after: seq.or(self.checkpoint.after),
            time_ms: last.time_ms,
            moved_ms: self.db.shared.now_ms(),
            ..self.checkpoint.clone()
        };
        let db = self.db.shared.db(last.tenant.clone());
        let advance = self.checkpoint.advance(&next, &db.shared.table);
        JobTransaction::new(&db).piggyback(advance).commit(effects).await?;
        (self.checkpoint, self.is_ahead) = (next, false);
        Ok(())
    }

    /// Whether somebody else has moved the checkpoint.
    pub(crate) async fn is_overtaken(&self) -> Result<bool, Error> {
        let stored = Checkpoints::new(&self.db.shared);
        let stored = stored.get(&self.checkpoint.consumer, &self.checkpoint.shard).await?;
        Ok(stored.after != self.checkpoint.after)
    }

    /// Ends a page: moves the checkpoint behind it if something was handled, or if the feed could
    /// be trimmed past it. Otherwise writes nothing, because writing is a change too.
    pub(crate) async fn end_page(
        self,
        page: &ChangePage,
        scanned: &Scanned,
        work: &mut Work,
    ) -> Result<(), Error> {
        let now_ms = self.db.shared.now_ms();
        let is_full = page.changes.len() >= CHANGES_MAX;
        let is_due = now_ms.saturating_sub(self.checkpoint.moved_ms) >= IDLE_MS;
        let is_new = self.checkpoint.after != Some(page.next);
        if is_full {
            work.call_again();
        }
        if !is_new || !(self.is_ahead || is_full || is_due) {
            scanned.note(&self.checkpoint, page.next);
            return Ok(());
        }
        let time_ms = page.changes.last().map(|last| i64::try_from(last.at.0).unwrap_or(i64::MAX));
        let next = Checkpoint {
            after: Some(page.next),
            time_ms: time_ms.unwrap_or(self.checkpoint.time_ms),
            moved_ms: now_ms,
            ..self.checkpoint.clone()
        };
        let advance = self.checkpoint.advance(&next, &self.db.shared.table);
        match JobTransaction::new(self.db).piggyback(advance).commit(&Effects::new()).await {
            Ok(_) => Ok(()),
            Err(Error::Contended) => {
                work.call_again();
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}
