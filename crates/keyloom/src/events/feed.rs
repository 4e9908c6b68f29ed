//! The change feed of the table, shard by shard, and the events in it.

use keyloom_store::{
    ChangePage, Error as StoreError, FeedStart, Invalid, ReadChanges, SeqNo, Shard, ShardId,
};
use keyloom_value::Value;

use super::event::FeedChange;
use super::shard_order::ShardOrder;
use super::{Event, Position};
use crate::error::Error;
use crate::shared::Shared;

/// A page of events, the oldest first.
///
/// [`Db::events`](crate::Db::events) has an example.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EventPage {
    /// The events.
    pub events: Vec<Event>,
    /// Where to continue reading, also if there were no events.
    pub next: Position,
    /// Whether there may be more at once.
    pub is_full: bool,
}

impl EventPage {
    /// A page without events, at a position.
    pub fn empty(next: Position) -> EventPage {
        EventPage { events: vec![], next, is_full: false }
    }
}

/// Reads the change feed.
#[derive(Clone, Copy)]
pub(crate) struct Feed<'s> {
    shared: &'s Shared,
}

/// Which events somebody reads.
#[derive(Clone, Copy)]
pub(crate) struct ReadEvents<'r> {
    pub(crate) after: &'r Position,
    /// Limits the events to those of a tenant and of shared entities.
    pub(crate) tenant: Option<&'r Value>,
    /// How many row changes are examined in each shard.
    pub(crate) limit: usize,
}

impl<'s> Feed<'s> {
    pub(crate) fn new(shared: &'s Shared) -> Feed<'s> {
        Feed { shared }
    }

    /// Lists the shards of the feed, each after its parent.
    pub(crate) async fn shards(self) -> Result<Vec<Shard>, Error> {
        Ok(self.shared.store.shards(self.shared.table.clone()).await?)
    }

    /// Reads row changes of a shard.
    pub(crate) async fn changes(
        self,
        shard: &ShardId,
        start: FeedStart,
        limit: usize,
    ) -> Result<ChangePage, Error> {
        let (table, shard) = (self.shared.table.clone(), shard.clone());
        let read = ReadChanges { table, shard, start, limit: limit.max(1) };
        Ok(self.shared.store.changes(read).await?)
    }

    /// Returns the time of the oldest change that is kept.
    pub(crate) async fn oldest_ms(self, shard: &ShardId) -> Result<Option<i64>, Error> {
        let page = self.changes(shard, FeedStart::Oldest, 1).await?;
        let oldest = page.changes.first();
        Ok(oldest.map(|change| i64::try_from(change.at.0).unwrap_or(i64::MAX)))
    }

    /// Returns an empty page before the oldest change that is kept.
    pub(crate) async fn oldest(self, shard: &ShardId) -> Result<ChangePage, Error> {
        let page = self.changes(shard, FeedStart::Oldest, 1).await?;
        let first = page.changes.first().map(|change| change.seq.0.saturating_sub(1));
        let next = first.map_or(page.next, SeqNo);
        let is_ended = page.is_ended && page.changes.is_empty();
        Ok(ChangePage { changes: vec![], next, is_ended })
    }

    /// Returns an empty page after the newest change.
    pub(crate) async fn newest(self, shard: &ShardId) -> Result<ChangePage, Error> {
        self.changes(shard, FeedStart::Now, 1).await
    }

    /// Returns the position after everything that has happened.
    pub(crate) async fn newest_position(self) -> Result<Position, Error> {
        let shards = self.shards().await?;
        let mut order = ShardOrder::new(&shards);
        let mut position = Position::default();
        for shard in &shards {
            let newest = self.newest(&shard.id).await?;
            position.0.insert(shard.id.clone(), newest.next);
            if newest.is_ended {
                order.end(&shard.id);
            }
        }
        order.trim(&mut position);
        Ok(position)
    }

    /// Reads the events after a position.
    pub(crate) async fn events(self, read: ReadEvents<'_>) -> Result<EventPage, Error> {
        let schema = self.shared.schema();
        let (mut next, mut events) = (read.after.clone(), vec![]);
        let advanced = self.advance(&mut next, read.limit, |at, position| {
            let event = Event::in_feed(&schema, at, position)?;
            events.extend(event.filter(|event| event.is_seen_by(read.tenant)));
            Ok(())
        });
        let is_full = advanced.await?;
        Ok(EventPage { events, next, is_full })
    }

    /// Reads the next changes of every shard that may be read, and moves the position past them.
    /// Returns whether there may be more at once. Changes of one row come in their order.
    pub(crate) async fn advance(
        self,
        position: &mut Position,
        limit: usize,
        mut on_change: impl FnMut(FeedChange<'_>, &mut Position) -> Result<(), Error>,
    ) -> Result<bool, Error> {
        let (shards, mut is_full) = (self.shards().await?, false);
        check_known(position, &shards)?;
        let mut order = ShardOrder::new(&shards);
        order.end_ancestors(position);
        for shard in shards.iter().map(|shard| &shard.id) {
            let start = match position.0.get(shard) {
                Some(seq) => FeedStart::After(*seq),
                None if order.may_begin(shard) => FeedStart::Oldest,
                // It was read before, or its parent was not read to its end yet.
                None => continue,
            };
            let page = self.changes(shard, start, limit).await?;
            is_full |= page.changes.len() >= limit;
            for change in &page.changes {
                on_change(FeedChange { shard, change }, position)?;
            }
            position.0.insert(shard.clone(), page.next);
            if page.is_ended {
                order.end(shard);
            }
        }
        order.trim(position);
        Ok(is_full)
    }
}

/// Refuses a position none of whose shards exists. Shards come and go, but not all at once while
/// somebody reads.
fn check_known(position: &Position, shards: &[Shard]) -> Result<(), Error> {
    let mut named = position.0.keys();
    match named.clone().next() {
        Some(shard) if !named.any(|named| shards.iter().any(|shard| shard.id == *named)) => {
            let shard = shard.clone();
            Err(StoreError::from(Invalid::Shard { shard }).into())
        }
        Some(_) | None => Ok(()),
    }
}
