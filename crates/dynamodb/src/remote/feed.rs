//! The change feed: DynamoDB Streams.
//!
//! Shards are split over time. Each change is in one shard, and the changes of one item are in
//! order if a shard is read after the end of its parent.

use aws_sdk_dynamodbstreams::operation::get_records::GetRecordsOutput;
use aws_sdk_dynamodbstreams::types::{Record, ShardIteratorType};
use keyloom_store::{
    Cause, Change, ChangePage, Error, FeedStart, Invalid, ReadChanges, SeqNo, TableName,
};
use keyloom_value::Item;

use super::codes::{EXPIRED, NOT_FOUND, TRIMMED, VALIDATION};
use super::feed_position::FeedPosition;
use super::refusal::{failed, has_code, incomplete, unreadable};
use super::service::Service;
use super::stream_cache::{Continue, Reading, Stream};
use super::values::{stream_item, time};

const RECORDS: &str = "GetRecords";
/// The most records per request.
const RECORDS_MAX: usize = 1000;
/// The most pages to read in one call that has no iterator to continue with: a shard can have runs of
/// empty pages. With an iterator it is one, because a shard can be read five times a second only, and
/// the next call goes on where this one stops.
const FIRST_PAGES_MAX: usize = 5;
/// After how many calls without a change the end of a shard is assumed.
const EMPTY_ROUNDS_MAX: usize = 4;
/// The principal that deletes expired items.
const EXPIRY_PRINCIPAL: &str = "dynamodb.amazonaws.com";

/// A shard to read from.
struct Source<'s> {
    table: &'s TableName,
    arn: &'s str,
    shard: &'s str,
    /// Its last sequence number, if it gets no more changes.
    last: Option<SeqNo>,
    /// The width of sequence numbers, which servers compare as strings, including leading zeros.
    digits: usize,
}

impl Source<'_> {
    fn reading(&self, position: FeedPosition) -> Reading {
        let (table, arn) = (self.table.clone(), self.arn.to_owned());
        Reading { table, arn, shard: self.shard.to_owned(), position }
    }

    /// Returns the page at the end of the shard, if it is known that nothing follows.
    fn end(&self, position: FeedPosition) -> Option<ChangePage> {
        match (position, self.last) {
            (FeedPosition::After(seq), Some(last)) if seq == last => {
                Some(ChangePage { changes: vec![], next: seq, is_ended: true })
            }
            _ => None,
        }
    }
}

impl Service {
    pub(super) async fn changes(&self, read: ReadChanges) -> Result<ChangePage, Error> {
        let is_outdated = |error: &Error| {
            has_code(error, NOT_FOUND) || matches!(error, Error::Invalid(Invalid::Shard { .. }))
        };
        match self.changes_in(self.stream(&read.table).await?, &read).await {
            // Somebody else has created the stream, or shards of it, since they were listed.
            Err(error) if is_outdated(&error) => {
                self.streams.forget(&read.table);
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
        let last = range.and_then(|range| range.ending_sequence_number());
        let source = Source {
            table: &read.table,
            arn: &stream.arn,
            shard: &read.shard.0,
            last: last.and_then(|last| last.parse().ok()).map(SeqNo),
            digits: first.map_or(0, str::len),
        };
        let position = match read.start {
            FeedStart::Oldest => FeedPosition::Beginning,
            FeedStart::After(seq) => seq.into(),
            FeedStart::Now => return self.end_of_shard(&source).await,
        };
        match self.page_after(&source, position, read.limit).await {
            Err(error) if has_code(&error, TRIMMED) => {
                let page = self.page_after(&source, FeedPosition::Beginning, 1).await?;
                let oldest = page.changes.first().map_or(SeqNo(0), |change| change.seq);
                Err(Error::ChangesGone { oldest })
            }
            // The service does not report what is wrong with a position.
            Err(error) if has_code(&error, VALIDATION) => {
                let newest = self.newest_change(&source).await?;
                let is_ahead = position.to_seq() > newest;
                Err(if is_ahead { Error::ChangesAhead { newest } } else { error })
            }
            result => result,
        }
    }

    /// Returns an empty page at the end of the shard, without reading it.
    async fn end_of_shard(&self, source: &Source<'_>) -> Result<ChangePage, Error> {
        if let Some(last) = source.last {
            return Ok(ChangePage { changes: vec![], next: last, is_ended: true });
        }
        // Before the request, so that no change comes between the iterator and the moment.
        let now = self.clock.now();
        let (end, latest) = (FeedPosition::End(now), ShardIteratorType::Latest);
        let next = self.iterator(source, latest, None).await?;
        self.streams.keep_first(source.reading(end), next, now);
        Ok(ChangePage { changes: vec![], next: end.to_seq(), is_ended: false })
    }

    /// Returns the sequence number of the last change. Reads the whole shard.
    async fn newest_change(&self, source: &Source<'_>) -> Result<SeqNo, Error> {
        let (mut position, mut empty) = (FeedPosition::Beginning, 0);
        while empty < EMPTY_ROUNDS_MAX {
            let page = self.page_after(source, position, RECORDS_MAX).await?;
            empty = if page.changes.is_empty() { empty + 1 } else { 0 };
            position = page.next.into();
            if page.is_ended {
                break;
            }
        }
        Ok(position.to_seq())
    }

    /// Returns the first changes after a position. An empty page is no end: the next call goes on
    /// where this one stopped.
    async fn page_after(
        &self,
        source: &Source<'_>,
        position: FeedPosition,
        limit: usize,
    ) -> Result<ChangePage, Error> {
        if let Some(end) = source.end(position) {
            return Ok(end);
        }
        let kept = self.streams.find(&source.reading(position), self.clock.now());
        let pages_max = if kept.is_some() { 1 } else { FIRST_PAGES_MAX };
        let mut at = match kept {
            Some(kept) => kept,
            None => self.iterator_at(source, position).await?,
        };
        let mut changes: Vec<Change> = vec![];
        for _ in 0..pages_max {
            let output = match self.records(&at, limit).await {
                // Its next call gets a new one.
                Err(error) if has_code(&error, EXPIRED) => {
                    at = self.iterator_at(source, position).await?;
                    continue;
                }
                output => output?,
            };
            let Some(output) = output else { break };
            let records = output.records.unwrap_or_default().into_iter();
            changes = records.map(change).collect::<Result<_, _>>()?;
            // A reader that continues from here must not see a change twice, whatever the server does.
            if !matches!((&at, position), (Continue::At(_), FeedPosition::End(_))) {
                changes.retain(|change| position.is_before(change));
            }
            at = at.followed_by(output.next_shard_iterator);
            if !changes.is_empty() || at == Continue::Ended {
                break;
            }
        }
        if at == Continue::Ended {
            // It has children, which may not be listed yet.
            self.streams.invalidate(source.table);
        }
        Ok(self.changes_page(source, position, at, changes, limit))
    }

    /// Makes a page of what was read, and remembers where the next one starts.
    fn changes_page(
        &self,
        source: &Source<'_>,
        position: FeedPosition,
        at: Continue,
        mut changes: Vec<Change>,
        limit: usize,
    ) -> ChangePage {
        let is_cut = changes.len() > limit;
        changes.truncate(limit);
        let next = changes.last().map_or(position, |change| FeedPosition::After(change.seq));
        let is_ended = at == Continue::Ended && !is_cut;
        if !is_cut {
            // What was before the position is behind it, once something after it was found.
            let at = if next == position { at } else { at.behind() };
            self.streams.keep(position, source.reading(next), at, self.clock.now());
        }
        ChangePage { changes, next: next.to_seq(), is_ended }
    }

    /// Returns where a reader without iterator continues.
    async fn iterator_at(
        &self,
        source: &Source<'_>,
        position: FeedPosition,
    ) -> Result<Continue, Error> {
        match position {
            FeedPosition::Beginning => {
                self.iterator(source, ShardIteratorType::TrimHorizon, None).await
            }
            FeedPosition::After(seq) => {
                self.iterator(source, ShardIteratorType::AfterSequenceNumber, Some(seq)).await
            }
            FeedPosition::End(_) => {
                let oldest = self.iterator(source, ShardIteratorType::TrimHorizon, None).await?;
                Ok(oldest.before())
            }
        }
    }

    async fn iterator(
        &self,
        source: &Source<'_>,
        kind: ShardIteratorType,
        seq: Option<SeqNo>,
    ) -> Result<Continue, Error> {
        let digits = source.digits;
        let request = self.connection.streams.get_shard_iterator();
        let request = request.stream_arn(source.arn).shard_id(source.shard);
        let request = request
            .shard_iterator_type(kind)
            .set_sequence_number(seq.map(|SeqNo(number)| format!("{number:0digits$}")));
        let sent = self.send_read(|| request.clone().send()).await;
        let output = sent.map_err(|error| failed("GetShardIterator", &error))?;
        Ok(output.shard_iterator.map_or(Continue::Ended, Continue::At))
    }

    /// Reads records; none if the shard has ended.
    async fn records(
        &self,
        at: &Continue,
        limit: usize,
    ) -> Result<Option<GetRecordsOutput>, Error> {
        let (iterator, limit) = match at {
            Continue::Ended => return Ok(None),
            Continue::At(iterator) => (iterator, limit.min(RECORDS_MAX)),
            Continue::Before(iterator) => (iterator, RECORDS_MAX),
        };
        let limit = i32::try_from(limit).unwrap_or(1);
        let request = self.connection.streams.get_records().shard_iterator(iterator).limit(limit);
        let sent = self.send_read(|| request.clone().send()).await;
        sent.map(Some).map_err(|error| failed(RECORDS, &error))
    }
}

impl Continue {
    /// The next iterator of a page.
    fn followed_by(&self, next: Option<String>) -> Continue {
        match (self, next) {
            (Continue::Before(_), Some(next)) => Continue::Before(next),
            (Continue::At(_) | Continue::Ended, Some(next)) => Continue::At(next),
            (_, None) => Continue::Ended,
        }
    }

    fn before(self) -> Continue {
        match self {
            Continue::At(iterator) | Continue::Before(iterator) => Continue::Before(iterator),
            Continue::Ended => Continue::Ended,
        }
    }

    fn behind(self) -> Continue {
        match self {
            Continue::At(iterator) | Continue::Before(iterator) => Continue::At(iterator),
            Continue::Ended => Continue::Ended,
        }
    }
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
