//! Reading the feed for somebody who keeps the position: a stream to a client, for one.

use keyloom_store::{
    ChangePage, Error as StoreError, FeedStart, Invalid, ReadChanges, SeqNo, ShardId,
};

use super::{Event, Position};
use crate::answer::Answer;
use crate::db::Db;
use crate::error::Error;

/// Some events, the oldest first.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EventPage {
    /// The events.
    pub events: Vec<Event>,
    /// Where to read on, also if there were none.
    pub next: Position,
    /// Whether there may be more at once.
    pub is_full: bool,
}

impl Db {
    /// The position after everything that has happened.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub fn newest_position(&self) -> Answer<'_, Position> {
        Box::pin(async move {
            let mut position = Position::default();
            for shard in self.parts().await? {
                let page = self.changes(&shard, FeedStart::Now, 1).await?;
                position.0.insert(shard, page.next);
            }
            Ok(position)
        })
    }

    /// What has happened after a position, of all entities but jobs, of all tenants or, if this is
    /// the database of one, of that one and of what all share. At most `limit` changes of rows are
    /// looked at, so a page can be short or empty and not the last.
    ///
    /// # Errors
    ///
    /// [`keyloom_store::Error::ChangesGone`] if changes after the position are not kept any more;
    /// [`keyloom_store::Error::ChangesAhead`] or [`keyloom_store::Invalid::Shard`] if the position is
    /// of another database, or of this one before it was restored to an earlier moment.
    pub fn events<'a>(&'a self, after: &'a Position, limit: usize) -> Answer<'a, EventPage> {
        Box::pin(async move {
            let schema = self.shared.schema();
            let mut position = after.clone();
            let mut page = EventPage { events: vec![], next: after.clone(), is_full: false };
            let parts = self.parts().await?;
            check_known(after, &parts)?;
            for shard in parts {
                let start =
                    position.0.get(&shard).map_or(FeedStart::Oldest, |seq| FeedStart::After(*seq));
                let read = self.changes(&shard, start, limit).await?;
                page.is_full |= read.changes.len() >= limit;
                for change in &read.changes {
                    let Some(mut event) = Event::of(&schema, &shard, change)? else { continue };
                    let is_job = event.entity_id(&schema) == schema.model().jobs();
                    let is_seen = self.tenant.is_none()
                        || event.tenant.is_none()
                        || event.tenant == self.tenant;
                    if is_seen && !is_job {
                        position.0.insert(shard.clone(), change.seq);
                        event.position = position.clone();
                        page.events.push(event);
                    }
                }
                position.0.insert(shard, read.next);
            }
            page.next = position;
            Ok(page)
        })
    }

    /// The parts of the feed.
    pub(crate) async fn parts(&self) -> Result<Vec<ShardId>, Error> {
        Ok(self.shared.store.shards(self.shared.table.clone()).await?)
    }

    pub(crate) async fn changes(
        &self,
        shard: &ShardId,
        start: FeedStart,
        limit: usize,
    ) -> Result<ChangePage, Error> {
        let (table, shard) = (self.shared.table.clone(), shard.clone());
        let read = ReadChanges { table, shard, start, limit: limit.max(1) };
        Ok(self.shared.store.changes(read).await?)
    }

    /// When the oldest change happened that is kept.
    pub(crate) async fn oldest_ms(&self, shard: &ShardId) -> Result<Option<i64>, Error> {
        let page = self.changes(shard, FeedStart::Oldest, 1).await?;
        let oldest = page.changes.first();
        Ok(oldest.map(|change| i64::try_from(change.at.0).unwrap_or(i64::MAX)))
    }

    /// The number before the oldest change that is kept, or after the newest one.
    pub(crate) async fn end_of_feed(
        &self,
        shard: &ShardId,
        end: FeedStart,
    ) -> Result<SeqNo, Error> {
        match end {
            FeedStart::After(seq) => Ok(seq),
            FeedStart::Now => Ok(self.changes(shard, end, 1).await?.next),
            FeedStart::Oldest => {
                let page = self.changes(shard, end, 1).await?;
                let first = page.changes.first().map(|change| change.seq.0.saturating_sub(1));
                Ok(first.map_or(page.next, SeqNo))
            }
        }
    }
}

/// Refuses a position of which no part is known. Parts come and go, but not all at once while
/// somebody reads.
fn check_known(position: &Position, parts: &[ShardId]) -> Result<(), Error> {
    let mut named = position.0.keys();
    match named.clone().next() {
        Some(shard) if !named.any(|shard| parts.contains(shard)) => {
            let shard = shard.clone();
            Err(StoreError::from(Invalid::Shard { shard }).into())
        }
        Some(_) | None => Ok(()),
    }
}
