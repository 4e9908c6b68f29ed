//! Where streams are read from: the feed of the store, or the shards of strict mode.

use keyloom_store::{
    Alteration, ChangePage, Error, Feed, FeedStart, ReadChanges, SeqNo, Shard, ShardId, Store,
    TableDescription, TableName,
};

use super::Endpoint;
use super::refusal;
use super::settings::{Settings, Stream};
use crate::strict::{ShardPage, StreamShard};
use crate::wire::{Fault, FaultCode};

/// How many pages of a feed one read looks at while they are empty, because all changes in that part of the log
/// are of other tables. With the pages of the engine, it is as much log as is kept by default.
const EMPTY_PAGES_MAX: usize = 64;

/// A shard as clients see it.
pub(super) struct WireShard {
    pub(super) id: ShardId,
    pub(super) parent: Option<ShardId>,
    pub(super) first: SeqNo,
    /// Its last change, once it is closed.
    pub(super) last: Option<SeqNo>,
}

/// Lists the shards of a stream, parents first.
pub(super) async fn all(
    endpoint: &Endpoint,
    table: &TableName,
    stream: &Stream,
) -> Result<Vec<WireShard>, Fault> {
    let mut shards = of_feed(endpoint, table).await?;
    if let Some(after) = stream.after {
        shards.retain(|shard| shard.last.is_none_or(|last| last > after));
        shards.iter_mut().for_each(|shard| shard.first = shard.first.max(SeqNo(after.0 + 1)));
    }
    if let Some(end) = stream.end {
        shards.retain(|shard| shard.first <= end.last);
        let last = |shard: &WireShard| shard.last.map_or(end.last, |last| last.min(end.last));
        shards.iter_mut().for_each(|shard| shard.last = Some(last(shard)));
    }
    Ok(shards)
}

async fn of_feed(endpoint: &Endpoint, table: &TableName) -> Result<Vec<WireShard>, Fault> {
    let refused = |error| refused(endpoint, table, error);
    if let Some(strict) = &endpoint.strict {
        strict.admit_description(table).map_err(refused)?;
        let shards = strict.stream_shards(table).await.map_err(refused)?;
        return Ok(shards.into_iter().map(WireShard::from).collect());
    }
    let listed = endpoint.store.shards(table.clone()).await.map_err(refused)?;
    let mut shards = vec![];
    for Shard { id, parent } in listed {
        let (shard, start) = (id.clone(), FeedStart::Oldest);
        let read = ReadChanges { table: table.clone(), shard, start, limit: 1 };
        let page = endpoint.store.changes(read).await.map_err(refused)?;
        let first = page.changes.first().map_or(page.next, |change| change.seq);
        shards.push(WireShard { id, parent, first, last: None });
    }
    Ok(shards)
}

/// Reads changes of a shard that are in the stream.
pub(super) async fn page(
    endpoint: &Endpoint,
    mut read: ReadChanges,
    stream: &Stream,
) -> Result<ShardPage, Fault> {
    let table = read.table.clone();
    if let Some(after) = stream.after {
        read.start = match read.start {
            FeedStart::After(seq) => FeedStart::After(seq.max(after)),
            FeedStart::Oldest => FeedStart::After(after),
            FeedStart::Now => FeedStart::Now,
        };
    }
    let from = read.start;
    let page = match &endpoint.strict {
        Some(strict) => strict.shard_page(&read).await,
        None => changes(&*endpoint.store, read).await.map(ShardPage::from),
    };
    let mut page = page.map_err(|error| refused(endpoint, &table, error))?;
    if let Some(end) = stream.end {
        let count = page.changes.len();
        page.changes.retain(|change| change.seq <= end.last);
        let is_past = page.next.is_some_and(|next| next >= end.last);
        let is_at_end = count == 0 && page.next.map(FeedStart::After) == Some(from);
        page.is_ended |= is_past || is_at_end || page.changes.len() < count;
    }
    Ok(page)
}

/// Reads changes of a shard. Where only other tables have changed, it goes on: a client that finds nothing waits
/// before it asks again. The store parks between two pages, so other requests pass.
async fn changes(store: &dyn Store, mut read: ReadChanges) -> Result<ChangePage, Error> {
    let mut page = store.changes(read.clone()).await?;
    let is_last = |page: &ChangePage| !page.changes.is_empty() || page.is_ended;
    if is_last(&page) || read.start == FeedStart::After(page.next) {
        return Ok(page);
    }
    let at_end = ReadChanges { start: FeedStart::Now, ..read.clone() };
    let end = store.changes(at_end).await?.next;
    for _ in 1..EMPTY_PAGES_MAX {
        if is_last(&page) || page.next >= end {
            break;
        }
        read.start = FeedStart::After(page.next);
        page = store.changes(read.clone()).await?;
    }
    Ok(page)
}

impl Endpoint {
    /// Returns the position after every change of a table so far.
    pub(super) async fn feed_end(&self, table: &TableName) -> Result<SeqNo, Fault> {
        let refused = |error| refused(self, table, error);
        let shards = self.settings_store.shards(table.clone()).await.map_err(refused)?;
        let mut end = SeqNo(0);
        for Shard { id, .. } in shards {
            let (table, start) = (table.clone(), FeedStart::Now);
            let read = ReadChanges { table, shard: id, start, limit: 1 };
            end = end.max(self.settings_store.changes(read).await.map_err(refused)?.next);
        }
        Ok(end)
    }

    /// Stops recording changes that no stream and no recovery needs any more.
    pub(super) async fn retire_feed(&self, table: &TableDescription, settings: &Settings) {
        let has_stream = settings.stream.is_some() || !settings.past_streams.is_empty();
        let is_needed = has_stream || settings.recovery.is_some();
        if table.spec.feed == Feed::Images && !is_needed {
            let name = table.spec.name.clone();
            // If it fails, the next call tries again.
            let _ = self.store.alter_table(name, Alteration::SetFeed(Feed::Off)).await;
        }
    }
}

/// Returns the end of a shard. Asking for it is not a read, so nothing limits it.
pub(super) async fn latest(endpoint: &Endpoint, read: ReadChanges) -> Result<Option<SeqNo>, Fault> {
    let table = read.table.clone();
    let latest = match &endpoint.strict {
        Some(strict) => strict.shard_end(&read).await,
        None => endpoint.store.changes(read).await.map(|page| page.next),
    };
    latest.map(Some).map_err(|error| refused(endpoint, &table, error))
}

impl From<StreamShard> for WireShard {
    fn from(shard: StreamShard) -> WireShard {
        WireShard {
            id: ShardId(shard.id),
            parent: shard.parent.map(ShardId),
            first: SeqNo(shard.after.map_or(0, |after| after.0) + 1),
            last: shard.last,
        }
    }
}

fn refused(endpoint: &Endpoint, table: &TableName, error: Error) -> Fault {
    match error {
        Error::ChangesGone { .. } => Fault::new(
            FaultCode::TrimmedDataAccess,
            "The operation attempted to read past the oldest stream record in a shard",
        ),
        Error::ChangesAhead { .. } | Error::Invalid(_) => {
            Fault::validation("Invalid ShardIterator")
        }
        Error::NoFeed { .. } => Fault::new(
            FaultCode::ResourceNotFound,
            "Requested resource not found: the stream is disabled",
        ),
        other => refusal::table_fault(endpoint, table, other),
    }
}
