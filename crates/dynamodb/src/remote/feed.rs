//! The change feed: DynamoDB Streams.
//!
//! Shards are split over time. Each change is in one shard, and the changes of one item are in
//! order if a shard is read after its parent, so shards are listed parents first.

use aws_sdk_dynamodbstreams::operation::get_records::GetRecordsOutput;
use aws_sdk_dynamodbstreams::types::{Record, Shard, ShardIteratorType};
use keyloom_store::{
    Cause, Change, ChangePage, Error, Feed, FeedStart, Invalid, ReadChanges, SeqNo, ShardId,
    TableName,
};
use keyloom_value::Item;

use super::codes::{EXPIRED, NOT_FOUND, TRIMMED, VALIDATION};
use super::refusal::{failed, has_code, incomplete, unreadable};
use super::service::Service;
use super::stream_cache::{Continue, Reading, Stream};
use super::table_shape::table;
use super::values::{stream_item, time};

const RECORDS: &str = "GetRecords";
/// The most records per request.
const RECORDS_MAX: usize = 1000;
/// The most empty pages to follow in one call: a shard can have runs of them, and the page at its end
/// is empty.
const EMPTY_PAGES_MAX: usize = 5;
/// The most pages of a closed shard to read in one call.
const CLOSED_PAGES_MAX: usize = 100;
/// After how many calls without a change the end of a shard is assumed.
const EMPTY_ROUNDS_MAX: usize = 4;
/// The principal that deletes expired items.
const EXPIRY_PRINCIPAL: &str = "dynamodb.amazonaws.com";

/// The position before the first change.
const BEGINNING: SeqNo = SeqNo(0);

/// A shard to read from.
struct Source<'s> {
    table: &'s TableName,
    arn: &'s str,
    shard: &'s str,
    /// Whether it gets no more changes.
    is_closed: bool,
    /// The width of sequence numbers, which servers compare as strings, including leading zeros.
    digits: usize,
}

impl Source<'_> {
    fn pages_max(&self) -> usize {
        match self.is_closed {
            true => CLOSED_PAGES_MAX,
            false => EMPTY_PAGES_MAX,
        }
    }
}

impl Service {
    pub(super) async fn shards(&self, name: &TableName) -> Result<Vec<ShardId>, Error> {
        Ok(parents_first(&self.stream(name).await?.shards))
    }

    /// Returns the stream of a table, as it was a short time ago.
    async fn stream(&self, name: &TableName) -> Result<Stream, Error> {
        if let Some(stream) = self.streams.stream(name) {
            return Ok(stream);
        }
        let arn = self.stream_arn(name).await?;
        let stream = Stream::new(arn.clone(), self.sdk_shards(name, &arn).await?);
        self.streams.insert(name, stream.clone());
        Ok(stream)
    }

    async fn sdk_shards(&self, name: &TableName, arn: &str) -> Result<Vec<Shard>, Error> {
        let mut shards: Vec<Shard> = Vec::new();
        let mut last = None;
        loop {
            let request = self.connection.streams.describe_stream().stream_arn(arn);
            let request = request.set_exclusive_start_shard_id(last);
            let sent = self.send_read(|| request.clone().send()).await;
            let output = sent.map_err(|error| no_feed(name, failed("DescribeStream", &error)))?;
            let description = output.stream_description;
            let description =
                description.ok_or_else(|| incomplete("DescribeStream", "the stream"))?;
            last = description.last_evaluated_shard_id;
            if last.is_some() && shards.iter().any(|shard| shard.shard_id == last) {
                return Err(incomplete("DescribeStream", "an end"));
            }
            shards.extend(description.shards.unwrap_or_default());
            if last.is_none() {
                return Ok(shards);
            }
        }
    }

    pub(super) async fn changes(&self, read: ReadChanges) -> Result<ChangePage, Error> {
        let is_outdated = |error: &Error| {
            has_code(error, NOT_FOUND) || matches!(error, Error::Invalid(Invalid::Shard { .. }))
        };
        match self.changes_in(self.stream(&read.table).await?, &read).await {
            // Somebody else has created the stream, or shards of it, since they were listed.
            Err(error) if is_outdated(&error) => {
                self.streams.invalidate(&read.table);
                self.changes_in(self.stream(&read.table).await?, &read).await
            }
            result => result,
        }
    }

    async fn changes_in(&self, stream: Stream, read: &ReadChanges) -> Result<ChangePage, Error> {
        let shard = stream.shards.iter().find(|known| known.shard_id() == Some(&read.shard.0));
        let Some(shard) = shard else {
            return Err(Invalid::Shard { shard: read.shard.clone() }.into());
        };
        if read.limit == 0 {
            return Err(Invalid::LimitZero.into());
        }
        let range = shard.sequence_number_range();
        let first = range.and_then(|range| range.starting_sequence_number());
        let source = Source {
            table: &read.table,
            arn: &stream.arn,
            shard: &read.shard.0,
            is_closed: range.is_some_and(|range| range.ending_sequence_number().is_some()),
            digits: first.map_or(0, str::len),
        };
        let after = match read.start {
            FeedStart::Oldest => BEGINNING,
            FeedStart::After(seq) => seq,
            FeedStart::Now => return self.end_of_shard(&source).await,
        };
        match self.page_after(&source, after, read.limit).await {
            Err(error) if has_code(&error, TRIMMED) => {
                let page = self.page_after(&source, BEGINNING, 1).await?;
                let oldest = page.changes.first().map_or(BEGINNING, |change| change.seq);
                Err(Error::ChangesGone { oldest })
            }
            // The service does not report what is wrong with a position.
            Err(error) if has_code(&error, VALIDATION) => {
                let newest = self.end_of_shard(&source).await?.next;
                Err(if after > newest { Error::ChangesAhead { newest } } else { error })
            }
            result => result,
        }
    }

    /// Returns an empty page at the end of the shard. The service has no position after the last
    /// change other than its sequence number, so the whole shard is read.
    async fn end_of_shard(&self, source: &Source<'_>) -> Result<ChangePage, Error> {
        let (mut next, mut empty) = (BEGINNING, 0);
        while empty < EMPTY_ROUNDS_MAX {
            let page = self.page_after(source, next, RECORDS_MAX).await?;
            empty = if page.changes.is_empty() { empty + 1 } else { 0 };
            next = page.next;
        }
        Ok(ChangePage { changes: vec![], next })
    }

    /// Returns the first changes after a position. An empty page of an open shard is no end: the next
    /// call goes on where this one stopped. A closed shard has children, which may be read when it has
    /// been read: its page has as many changes as requested, or it is the last one.
    async fn page_after(
        &self,
        source: &Source<'_>,
        after: SeqNo,
        limit: usize,
    ) -> Result<ChangePage, Error> {
        let reading =
            |after| Reading { arn: source.arn.to_owned(), shard: source.shard.to_owned(), after };
        let mut place = match self.streams.take(&reading(after)) {
            Some(kept) => kept,
            None => self.iterator(source, after).await?,
        };
        let mut changes: Vec<Change> = vec![];
        let last = |changes: &[Change]| changes.last().map_or(after, |change| change.seq);
        for _ in 0..source.pages_max() {
            let Continue::At(iterator) = &place else { break };
            let output = match self.records(iterator, limit - changes.len()).await {
                Err(error) if has_code(&error, EXPIRED) => {
                    place = self.iterator(source, last(&changes)).await?;
                    continue;
                }
                output => output?,
            };
            let records = output.records.unwrap_or_default().into_iter();
            let found: Vec<Change> = records.map(change).collect::<Result<_, _>>()?;
            // A reader that continues from here must not see a change twice, whatever the server does.
            let position = last(&changes);
            changes.extend(found.into_iter().filter(|change| change.seq > position));
            place = Continue::new(output.next_shard_iterator);
            if matches!(place, Continue::Ended) {
                // It has children, which may not be listed yet.
                self.streams.invalidate(source.table);
            }
            if changes.len() >= limit || (!changes.is_empty() && !source.is_closed) {
                break;
            }
        }
        let next = last(&changes);
        self.streams.keep(reading(next), place);
        Ok(ChangePage { changes, next })
    }

    async fn iterator(&self, source: &Source<'_>, after: SeqNo) -> Result<Continue, Error> {
        let Source { arn, shard, digits, .. } = *source;
        let request = self.connection.streams.get_shard_iterator();
        let request = request.stream_arn(arn).shard_id(shard);
        let request = match after {
            BEGINNING => request.shard_iterator_type(ShardIteratorType::TrimHorizon),
            SeqNo(number) => request
                .shard_iterator_type(ShardIteratorType::AfterSequenceNumber)
                .sequence_number(format!("{number:0digits$}")),
        };
        let sent = self.send_read(|| request.clone().send()).await;
        let output = sent.map_err(|error| failed("GetShardIterator", &error))?;
        Ok(Continue::new(output.shard_iterator))
    }

    async fn records(&self, iterator: &str, limit: usize) -> Result<GetRecordsOutput, Error> {
        let limit = i32::try_from(limit.min(RECORDS_MAX)).unwrap_or(1);
        let request = self.connection.streams.get_records().shard_iterator(iterator).limit(limit);
        let sent = self.send_read(|| request.clone().send()).await;
        sent.map_err(|error| failed(RECORDS, &error))
    }

    /// Returns the ARN of the table's stream. A stream without both images does not count as a feed.
    async fn stream_arn(&self, name: &TableName) -> Result<String, Error> {
        let described = self.sdk_table(name).await?;
        match table(&described)?.spec.feed {
            Feed::Off => Err(Error::NoFeed { table: name.clone() }),
            Feed::Images => {
                let arn = described.latest_stream_arn;
                arn.ok_or_else(|| incomplete("DescribeTable", "the name of the stream"))
            }
        }
    }
}

fn no_feed(table: &TableName, error: Error) -> Error {
    match has_code(&error, NOT_FOUND) {
        true => Error::NoFeed { table: table.clone() },
        false => error,
    }
}

/// Orders shards so that none comes before its parent. A parent that is not listed has been
/// trimmed.
fn parents_first(shards: &[Shard]) -> Vec<ShardId> {
    let mut waiting: Vec<&Shard> = shards.iter().collect();
    let mut ordered: Vec<ShardId> = Vec::new();
    while !waiting.is_empty() {
        let is_waiting = |id: Option<&str>| waiting.iter().any(|shard| shard.shard_id() == id);
        let (later, ready): (Vec<&Shard>, Vec<&Shard>) = waiting.iter().partition(|shard| {
            shard.parent_shard_id().is_some() && is_waiting(shard.parent_shard_id())
        });
        // A cycle of parents has no order: take what is left as it is.
        let (ready, later) = if ready.is_empty() { (later, vec![]) } else { (ready, later) };
        let ids = ready.into_iter().filter_map(Shard::shard_id);
        ordered.extend(ids.map(|id| ShardId(id.to_owned())));
        waiting = later;
    }
    ordered
}

fn change(record: Record) -> Result<Change, Error> {
    let is_expiry = record
        .user_identity
        .as_ref()
        .is_some_and(|who| who.principal_id() == Some(EXPIRY_PRINCIPAL));
    let stream_record =
        record.dynamodb.ok_or_else(|| incomplete(RECORDS, "the change of a record"))?;
    let seq = stream_record.sequence_number().and_then(|number| number.parse().ok());
    let seq = SeqNo(seq.ok_or_else(|| incomplete(RECORDS, "the number of a record"))?);
    let at = time(stream_record.approximate_creation_date_time());
    let image = |attributes: Option<_>| -> Result<Option<Item>, Error> {
        attributes.map(stream_item).transpose().map_err(|why| unreadable(RECORDS, why))
    };
    let key =
        image(stream_record.keys)?.ok_or_else(|| incomplete(RECORDS, "the key of a record"))?;
    Ok(Change {
        seq,
        at,
        key,
        old: image(stream_record.old_image)?,
        new: image(stream_record.new_image)?,
        cause: if is_expiry { Cause::Expiry } else { Cause::Request },
    })
}
