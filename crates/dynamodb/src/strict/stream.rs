//! Reads of streams in strict mode.

use std::sync::Arc;

use keyloom_store::{
    ChangePage, Error, FeedStart, Invalid, ReadChanges, SeqNo, TableName, TableSpec,
};

use super::charge::Space;
use super::position::Position;
use super::refusal::{code, refused};
use super::shards::{FeedRead, Lineage, ShardPage, StreamShard};
use super::store::Strict;

const TOO_OFTEN: &str = "Rate exceeded for the stream or shard: read it less often";

impl Strict {
    async fn existing(&self, table: &TableName) -> Result<Arc<TableSpec>, Error> {
        let missing = || Error::TableNotFound { table: table.clone() };
        self.spec(table).await?.ok_or_else(missing)
    }

    /// Lists the shards of a stream, after closing those that are due.
    pub(crate) async fn stream_shards(&self, table: &TableName) -> Result<Vec<StreamShard>, Error> {
        let (spec, end) = (self.existing(table).await?, self.feed_end(table).await?);
        let now = self.clock.now();
        let mut measured = self.measured();
        let capacity = measured.spaces.of(&Space::of_table(table), self.founding(&spec));
        let starts: Vec<Position> =
            capacity.partitions.iter().map(|(start, _)| start.clone()).collect();
        let shard_time = self.options.shard_time;
        let fresh = || Lineage::new(shard_time, now);
        let lineage = measured.streams.entry(table.clone()).or_insert_with(fresh);
        lineage.follow(&starts, end, now);
        Ok(lineage.shards().to_vec())
    }

    /// Refuses to describe a stream too often.
    pub(crate) fn admit_description(&self, table: &TableName) -> Result<(), Error> {
        let now = self.clock.now();
        let mut measured = self.measured();
        let lineage = measured.streams.get_mut(table);
        match lineage.is_none_or(|lineage| lineage.admits_description(now)) {
            true => Ok(()),
            false => Err(refused("DescribeStream", code::LIMIT, TOO_OFTEN)),
        }
    }

    /// Reads changes of a shard.
    pub(crate) async fn shard_page(&self, read: &ReadChanges) -> Result<ShardPage, Error> {
        let spec = self.existing(&read.table).await?;
        if !self.measured().streams.contains_key(&read.table) {
            self.stream_shards(&read.table).await?;
        }
        self.admit_shard_read(read)?;
        self.wait(1).await;
        self.stream_shards(&read.table).await?;
        let shard = self.shard(read)?;
        let start = match (read.start, shard.after) {
            (FeedStart::Oldest, Some(after)) => FeedStart::After(after),
            (start, _) => start,
        };
        if self.is_empty_page(start) {
            let next = match start {
                FeedStart::After(seq) => Some(seq),
                FeedStart::Oldest | FeedStart::Now => None,
            };
            return Ok(ShardPage { changes: vec![], next, is_ended: false });
        }
        let page = self.feed_page(&read.table, start, read.limit).await;
        let page = match (page, read.start) {
            // What came before its first change has been trimmed.
            (Err(Error::ChangesGone { .. }), FeedStart::Oldest) => {
                self.feed_page(&read.table, FeedStart::Oldest, read.limit).await?
            }
            (page, _) => page?,
        };
        // It may have been closed meanwhile: then what came later is in its children.
        let shard = self.serve(read, page.next)?;
        Ok(shard.page(&spec.key, FeedRead { start, page }))
    }

    /// Notes how far a shard is served, and returns it as it is now.
    fn serve(&self, read: &ReadChanges, next: SeqNo) -> Result<StreamShard, Error> {
        let mut measured = self.measured();
        let lineage = measured.streams.get_mut(&read.table);
        let shard = lineage.and_then(|lineage| {
            lineage.serve(next);
            lineage.find(&read.shard.0).cloned()
        });
        shard.ok_or_else(|| Invalid::Shard { shard: read.shard.clone() }.into())
    }

    /// Returns the end of a shard: of the feed, or where it was closed.
    pub(crate) async fn shard_end(&self, read: &ReadChanges) -> Result<SeqNo, Error> {
        let shards = self.stream_shards(&read.table).await?;
        let unknown = || Error::from(Invalid::Shard { shard: read.shard.clone() });
        let shard = shards.into_iter().find(|shard| shard.id == read.shard.0);
        let end = self.feed_end(&read.table).await?;
        Ok(shard.ok_or_else(unknown)?.last.unwrap_or(end))
    }

    /// Refuses to read a shard too often.
    fn admit_shard_read(&self, read: &ReadChanges) -> Result<(), Error> {
        self.shard(read)?;
        let now = self.clock.now();
        let mut measured = self.measured();
        let lineage = measured.streams.get_mut(&read.table);
        match lineage.is_none_or(|lineage| lineage.admits_read(&read.shard.0, now)) {
            true => Ok(()),
            false => Err(refused("GetRecords", code::LIMIT, TOO_OFTEN)),
        }
    }

    /// Returns a shard as it is now.
    fn shard(&self, read: &ReadChanges) -> Result<StreamShard, Error> {
        let measured = self.measured();
        let lineage = measured.streams.get(&read.table);
        let shard = lineage.and_then(|lineage| lineage.find(&read.shard.0)).cloned();
        shard.ok_or_else(|| Invalid::Shard { shard: read.shard.clone() }.into())
    }

    fn is_empty_page(&self, start: FeedStart) -> bool {
        start != FeedStart::Now && self.measured().random.fraction() < self.options.empty_pages
    }

    /// Reads the whole feed of a table.
    async fn feed_page(
        &self,
        table: &TableName,
        start: FeedStart,
        limit: usize,
    ) -> Result<ChangePage, Error> {
        let shards = self.inner.shards(table.clone()).await?;
        let shard = shards.into_iter().next_back().map(|shard| shard.id);
        let shard = shard.ok_or_else(|| Error::NoFeed { table: table.clone() })?;
        self.inner.changes(ReadChanges { table: table.clone(), shard, start, limit }).await
    }

    async fn feed_end(&self, table: &TableName) -> Result<SeqNo, Error> {
        Ok(self.feed_page(table, FeedStart::Now, 1).await?.next)
    }
}
