//! `ListStreams`, `DescribeStream`, `GetShardIterator` and `GetRecords`.
//!
//! A shard is a shard of the store's feed, or of strict mode. An iterator encodes a position in it;
//! only in strict mode does it expire.

use keyloom_store::{
    Cause, Change, Error, FeedStart, ReadChanges, SeqNo, ShardId, TableDescription, TableName, Time,
};

use crate::json::Writer;
use crate::strict::ShardPage;
use crate::wire::{Fault, FaultCode, write_item};

use super::Endpoint;
use super::arn;
use super::params::{Params, table_name};
use super::settings::{Stream, StreamView, is_internal_table};
use super::stream_shards::{self, WireShard};
use super::table_description::{label, seconds};
use super::violations::Violations;

/// Streams per response.
const STREAMS_MAX: i64 = 100;
/// Records per response.
const RECORDS_MAX: i64 = 1000;
/// Shards per response.
const SHARDS_MAX: i64 = 100;
/// How long an iterator is valid in strict mode.
const ITERATOR_MS: u64 = 15 * 60 * 1000;
/// Bytes of images per response.
const RECORD_BYTES_MAX: usize = 1024 * 1024;

const ITERATOR_TYPES: &[&str] =
    &["TRIM_HORIZON", "LATEST", "AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"];

/// A stream, with its table and ARN.
struct NamedStream {
    table: TableDescription,
    stream: Stream,
    arn: String,
}

pub(super) async fn list(endpoint: &Endpoint, params: Params<'_>) -> Result<String, Fault> {
    let limit = params.integer("Limit")?;
    let mut violations = Violations::default();
    violations.at_least("limit", limit, 1);
    violations.at_most("limit", limit, STREAMS_MAX);
    violations.finish()?;
    let only = params.text("TableName")?.map(table_name).transpose()?;
    let after = params.text("ExclusiveStartStreamArn")?;
    if let Some(after) = after.filter(|after| arn::stream_of(after).is_none()) {
        return Err(Fault::validation(format!("Invalid StreamArn: {after}")));
    }
    let limit = usize::try_from(limit.unwrap_or(STREAMS_MAX)).unwrap_or(usize::MAX);
    let names = endpoint.store.list_tables().await.map_err(internal)?;
    let mut found = Vec::new();
    for name in names {
        let is_requested =
            only.as_ref().is_none_or(|only| *only == name) && !is_internal_table(&name);
        let Some(table) = endpoint.table(&name).await.ok().filter(|_| is_requested) else {
            continue;
        };
        let settings = endpoint.settings(&table).await?;
        endpoint.retire_feed(&table, &settings).await;
        for stream in settings.past_streams.into_iter().chain(settings.stream) {
            let (table, arn) = (table.clone(), stream_arn(endpoint, &name, &stream));
            found.push(NamedStream { table, stream, arn });
        }
    }
    // Not the order of tables: `a` is before `a-b`, but not before it as part of an ARN.
    found.sort_by(|left, right| left.arn.cmp(&right.arn));
    found.retain(|named| after.is_none_or(|after| named.arn.as_str() > after));
    let is_more = found.len() > limit;
    found.truncate(limit);
    let mut writer = Writer::new();
    writer.object(|w| {
        w.name("Streams").list(|w| found.iter().for_each(|named| w.object(|w| identity(w, named))));
        if let Some(last) = found.last().filter(|_| is_more) {
            w.name("LastEvaluatedStreamArn").text(&last.arn);
        }
    });
    Ok(writer.finish())
}

pub(super) async fn describe(endpoint: &Endpoint, params: Params<'_>) -> Result<String, Fault> {
    let limit = params.integer("Limit")?;
    let filter = params.object("ShardFilter")?;
    let kind = filter.as_ref().map(|filter| filter.text("Type")).transpose()?.flatten();
    let parent = filter.as_ref().map(|filter| filter.text("ShardId")).transpose()?.flatten();
    let after = params.text("ExclusiveStartShardId")?;
    let mut violations = Violations::default();
    violations.at_least("limit", limit, 1);
    violations.at_most("limit", limit, SHARDS_MAX);
    violations.shard_id("exclusiveStartShardId", after);
    violations.one_of("shardFilter.type", kind, &["CHILD_SHARDS"]);
    violations.shard_id("shardFilter.shardId", parent);
    violations.finish()?;
    let named = named(endpoint, &params).await?;
    let shards = stream_shards::all(endpoint, &named.table.spec.name, &named.stream).await?;
    let id = |shard: &ShardId| wire_shard(&named.stream, shard);
    let is_listed = |shard: &&WireShard| {
        let is_child = parent
            .is_none_or(|parent| shard.parent.as_ref().is_some_and(|shard| id(shard) == parent));
        is_child && after.is_none_or(|after| id(&shard.id).as_str() > after)
    };
    let mut rest = shards.iter().filter(is_listed);
    let limit = usize::try_from(limit.unwrap_or(SHARDS_MAX)).unwrap_or(1);
    let page: Vec<&WireShard> = rest.by_ref().take(limit).collect();
    let is_more = rest.next().is_some();
    let mut writer = Writer::new();
    writer.object(|w| {
        w.name("StreamDescription").object(|w| {
            identity(w, &named);
            let is_open = named.stream.end.is_none();
            w.name("StreamStatus").text(if is_open { "ENABLED" } else { "DISABLED" });
            w.name("StreamViewType").text(named.stream.view.name());
            w.name("CreationRequestDateTime").number(seconds(named.stream.enabled_at));
            write_key(w, &named.table);
            w.name("Shards").list(|w| {
                page.iter().for_each(|shard| write_shard(w, &named.stream, shard));
            });
            if let Some(last) = page.last().filter(|_| is_more) {
                w.name("LastEvaluatedShardId").text(&wire_shard(&named.stream, &last.id));
            }
        });
    });
    Ok(writer.finish())
}

pub(super) async fn shard_iterator(
    endpoint: &Endpoint,
    params: Params<'_>,
) -> Result<String, Fault> {
    let kind = params.text("ShardIteratorType")?;
    let shard = params.text("ShardId")?;
    let number = params.text("SequenceNumber")?;
    let mut violations = Violations::default();
    violations.required("streamArn", params.has("StreamArn"));
    violations.required("shardId", shard.is_some());
    violations.shard_id("shardId", shard);
    violations.required("shardIteratorType", kind.is_some());
    violations.one_of("shardIteratorType", kind, ITERATOR_TYPES);
    violations.sequence_number(number);
    violations.finish()?;
    if number.is_some() && matches!(kind, Some("LATEST" | "TRIM_HORIZON")) {
        return Err(Fault::validation(format!(
            "Invalid SequenceNumber: it must not be specified when ShardIteratorType is {}",
            kind.unwrap_or_default()
        )));
    }
    let named = named(endpoint, &params).await?;
    let shard = shard_of(&named.stream, shard.unwrap_or_default())?;
    let table = named.table.spec.name.clone();
    let number = || {
        let seq = number.and_then(|number| number.parse::<u128>().ok()).map(SeqNo);
        seq.ok_or_else(|| Fault::validation("Invalid SequenceNumber"))
    };
    let position = match kind {
        Some("LATEST") => {
            let start = FeedStart::Now;
            let read = ReadChanges { table: table.clone(), shard: shard.clone(), start, limit: 1 };
            stream_shards::latest(endpoint, read).await?
        }
        Some("AT_SEQUENCE_NUMBER") => Some(SeqNo(number()?.0.saturating_sub(1))),
        Some("AFTER_SEQUENCE_NUMBER") => Some(number()?),
        _ => None,
    };
    let mut writer = Writer::new();
    writer.object(|w| {
        let at = Iterator { arn: &named.arn, shard, position, made: endpoint.options.clock.now() };
        w.name("ShardIterator").text(&at.text());
    });
    Ok(writer.finish())
}

pub(super) async fn records(endpoint: &Endpoint, params: Params<'_>) -> Result<String, Fault> {
    let text = params.text("ShardIterator")?;
    let limit = params.integer("Limit")?;
    let mut violations = Violations::default();
    violations.required("shardIterator", text.is_some());
    violations.at_least("limit", limit, 1);
    violations.at_most("limit", limit, RECORDS_MAX);
    violations.finish()?;
    let iterator = Iterator::parse(text.unwrap_or_default())?;
    let now = endpoint.options.clock.now();
    if endpoint.strict.is_some() && now.0 > iterator.made.0.saturating_add(ITERATOR_MS) {
        let message = "Iterator expired: get a new one at the last sequence number that was read";
        return Err(Fault::new(FaultCode::ExpiredIterator, message));
    }
    let named = find(endpoint, iterator.arn).await?;
    let read = ReadChanges {
        table: named.table.spec.name.clone(),
        shard: iterator.shard.clone(),
        start: iterator.position.map_or(FeedStart::Oldest, FeedStart::After),
        limit: usize::try_from(limit.unwrap_or(RECORDS_MAX)).unwrap_or(1),
    };
    let mut page = stream_shards::page(endpoint, read, &named.stream).await?;
    truncate(&mut page);
    let mut writer = Writer::new();
    writer.object(|w| {
        w.name("Records").list(|w| {
            for change in &page.changes {
                write_record(w, endpoint, named.stream.view, change);
            }
        });
        if !page.is_ended {
            let next = Iterator { position: page.next, made: now, ..iterator };
            w.name("NextShardIterator").text(&next.text());
        }
    });
    Ok(writer.finish())
}

/// Keeps the changes that fit into one response, and at least one.
fn truncate(page: &mut ShardPage) {
    let mut bytes = 0;
    let fitting = page.changes.iter().take_while(|change| {
        let fits = bytes < RECORD_BYTES_MAX;
        bytes += change_bytes(change);
        fits
    });
    let kept = fitting.count();
    if let Some(last) =
        page.changes.get(kept.saturating_sub(1)).filter(|_| kept < page.changes.len())
    {
        page.next = Some(last.seq);
        page.is_ended = false;
        page.changes.truncate(kept);
    }
}

fn change_bytes(change: &Change) -> usize {
    let images = change.old.iter().chain(&change.new).map(keyloom_value::Item::size);
    change.key.size() + images.sum::<usize>()
}

fn write_record(w: &mut Writer, endpoint: &Endpoint, view: StreamView, change: &Change) {
    let kind = match (&change.old, &change.new) {
        (None, _) => "INSERT",
        (Some(_), Some(_)) => "MODIFY",
        (Some(_), None) => "REMOVE",
    };
    let old = change.old.as_ref().filter(|_| matches!(view, StreamView::Old | StreamView::Both));
    let new = change.new.as_ref().filter(|_| matches!(view, StreamView::New | StreamView::Both));
    w.object(|w| {
        w.name("eventID").plain_text(format_args!("{:032x}", change.seq.0));
        w.name("eventName").text(kind);
        w.name("eventVersion").text("1.1");
        w.name("eventSource").text("aws:dynamodb");
        w.name("awsRegion").text(&endpoint.options.region);
        w.name("dynamodb").object(|w| {
            w.name("ApproximateCreationDateTime").number(change.at.secs());
            write_item(w.name("Keys"), &change.key);
            if let Some(new) = new {
                write_item(w.name("NewImage"), new);
            }
            if let Some(old) = old {
                write_item(w.name("OldImage"), old);
            }
            w.name("SequenceNumber").text(&wire_seq(change.seq));
            w.name("SizeBytes").number(change_bytes(change));
            w.name("StreamViewType").text(view.name());
        });
        if change.cause == Cause::Expiry {
            w.name("userIdentity").object(|w| {
                w.name("PrincipalId").text("dynamodb.amazonaws.com");
                w.name("Type").text("Service");
            });
        }
    });
}

fn write_key(w: &mut Writer, table: &TableDescription) {
    w.name("KeySchema").list(|w| {
        let key = &table.spec.key;
        for (parts, kind) in [(&key.partition, "HASH"), (&key.sort, "RANGE")] {
            for part in parts {
                w.object(|w| {
                    w.name("AttributeName").text(part.name.as_str());
                    w.name("KeyType").text(kind);
                });
            }
        }
    });
}

fn identity(w: &mut Writer, named: &NamedStream) {
    w.name("StreamArn").text(&named.arn);
    w.name("TableName").text(named.table.spec.name.as_str());
    w.name("StreamLabel").text(&label(named.stream.enabled_at));
}

fn stream_arn(endpoint: &Endpoint, table: &TableName, stream: &Stream) -> String {
    format!("{}/stream/{}", endpoint.table_arn(table), label(stream.enabled_at))
}

async fn named(endpoint: &Endpoint, params: &Params<'_>) -> Result<NamedStream, Fault> {
    let arn = params.text("StreamArn")?;
    let mut violations = Violations::default();
    violations.required("streamArn", arn.is_some());
    violations.finish()?;
    find(endpoint, arn.unwrap_or_default()).await
}

/// Finds the stream of an ARN. Disabling and enabling a stream makes a new one. The service's model has lengths
/// of ARNs, too, but the service says `Invalid StreamArn` of one that is too short (tests of the SDK for
/// JavaScript).
async fn find(endpoint: &Endpoint, arn: &str) -> Result<NamedStream, Fault> {
    let missing = || {
        let message = format!("Requested resource not found: Stream: {arn} not found");
        Fault::new(FaultCode::ResourceNotFound, message)
    };
    let (table, wanted) = arn::stream_of(arn)
        .ok_or_else(|| Fault::validation(format!("Invalid StreamArn: {arn}")))?;
    let name = table_name(table).map_err(|_| missing())?;
    let table = endpoint.table(&name).await.map_err(|_| missing())?;
    let settings = endpoint.settings(&table).await?;
    let mut streams = settings.stream.into_iter().chain(settings.past_streams);
    let stream = streams.find(|stream| label(stream.enabled_at) == wanted).ok_or_else(missing)?;
    let arn = stream_arn(endpoint, &name, &stream);
    Ok(NamedStream { table, stream, arn })
}

/// Formats a shard id; clients check that it has at least 28 characters.
fn wire_shard(stream: &Stream, shard: &ShardId) -> String {
    format!("shardId-{:020}-{shard}", stream.enabled_at.0)
}

fn shard_of(stream: &Stream, text: &str) -> Result<ShardId, Fault> {
    let prefix = wire_shard(stream, &ShardId(String::new()));
    let shard = text.strip_prefix(&prefix).map(|shard| ShardId(shard.to_owned()));
    shard.ok_or_else(|| {
        let message = "Requested resource not found: Shard does not exist";
        Fault::new(FaultCode::ResourceNotFound, message)
    })
}

/// Formats a sequence number; clients check that it has at least 21 digits.
fn wire_seq(seq: SeqNo) -> String {
    format!("{:021}", seq.0)
}

/// A position in a shard, as a client holds it.
struct Iterator<'a> {
    arn: &'a str,
    shard: ShardId,
    /// `None` is the oldest change.
    position: Option<SeqNo>,
    made: Time,
}

impl<'a> Iterator<'a> {
    /// ```text
    /// iterator ::= arn "|" shard "|" milliseconds "|" (digits | "oldest")
    /// ```
    fn text(&self) -> String {
        let Iterator { arn, shard, position, made: Time(made) } = self;
        match position {
            Some(SeqNo(position)) => format!("{arn}|{shard}|{made}|{position}"),
            None => format!("{arn}|{shard}|{made}|oldest"),
        }
    }

    fn parse(text: &'a str) -> Result<Iterator<'a>, Fault> {
        let invalid = || Fault::validation("Invalid ShardIterator");
        let parts: Vec<&str> = text.split('|').collect();
        let (arn, shard, made, position) = match parts[..] {
            [arn, shard, made, position] => (arn, shard, made, position),
            // As version 0.1.0 wrote it.
            [arn, shard, position] => (arn, shard, "0", position),
            _ => return Err(invalid()),
        };
        let position = match position {
            "oldest" => None,
            digits => Some(SeqNo(digits.parse().map_err(|_| invalid())?)),
        };
        let made = Time(made.parse().map_err(|_| invalid())?);
        Ok(Iterator { arn, shard: ShardId(shard.to_owned()), position, made })
    }
}

fn write_shard(w: &mut Writer, stream: &Stream, shard: &WireShard) {
    w.object(|w| {
        w.name("ShardId").text(&wire_shard(stream, &shard.id));
        w.name("SequenceNumberRange").object(|w| {
            w.name("StartingSequenceNumber").text(&wire_seq(shard.first));
            if let Some(last) = shard.last {
                w.name("EndingSequenceNumber").text(&wire_seq(last));
            }
        });
        if let Some(parent) = &shard.parent {
            w.name("ParentShardId").text(&wire_shard(stream, parent));
        }
    });
}

fn internal(error: Error) -> Fault {
    Fault::new(FaultCode::InternalServerError, error.to_string())
}
