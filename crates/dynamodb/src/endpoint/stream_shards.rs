//! Where streams are read from: the feed of the store, or the shards of strict mode.

use keyloom_store::{Error, FeedStart, ReadChanges, SeqNo, Shard, ShardId, TableName};

use super::Endpoint;
use super::refusal;
use crate::strict::{ShardPage, StreamShard};
use crate::wire::{Fault, FaultCode};

/// A shard as clients see it.
pub(super) struct WireShard {
    pub(super) id: ShardId,
    pub(super) parent: Option<ShardId>,
    pub(super) first: SeqNo,
    /// Its last change, once it is closed.
    pub(super) last: Option<SeqNo>,
}

/// Lists the shards of a stream, parents first.
pub(super) async fn all(endpoint: &Endpoint, table: &TableName) -> Result<Vec<WireShard>, Fault> {
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

/// Reads changes of a shard.
pub(super) async fn page(endpoint: &Endpoint, read: ReadChanges) -> Result<ShardPage, Fault> {
    let table = read.table.clone();
    let page = match &endpoint.strict {
        Some(strict) => strict.shard_page(&read).await,
        None => endpoint.store.changes(read).await.map(ShardPage::from),
    };
    page.map_err(|error| refused(endpoint, &table, error))
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
