//! `ListStreams`, `DescribeStream`, `GetShardIterator` and `GetRecords`.
//!
//! A shard is a shard of the store's feed. An iterator encodes a position in it and does not
//! expire.

use keyloom_store::{
    Cause, Change, ChangePage, Error, FeedStart, ReadChanges, SeqNo, ShardId, TableDescription,
    TableName,
};

use crate::json::Writer;
use crate::wire::{Fault, FaultCode, write_item};

use super::Endpoint;
use super::arn;
use super::params::{Params, table_name};
use super::refusal;
use super::settings::{Stream, StreamView, is_settings_table};
use super::table_description::{label, seconds};
use super::violations::Violations;

/// Streams per response.
const STREAMS_MAX: i64 = 100;
/// Records per response.
const RECORDS_MAX: i64 = 1000;
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
    let limit = usize::try_from(limit.unwrap_or(STREAMS_MAX)).unwrap_or(usize::MAX);
    let names = endpoint.store.list_tables().await.map_err(internal)?;
    let mut found = Vec::new();
    for name in names {
        let is_requested =
            only.as_ref().is_none_or(|only| *only == name) && !is_settings_table(&name);
        let Ok(table) = endpoint.table(&name).await else { continue };
        let Some(stream) = endpoint.settings(&table).await?.stream.filter(|_| is_requested) else {
            continue;
        };
        let arn = stream_arn(endpoint, &name, &stream);
        if after.is_none_or(|after| arn.as_str() > after) {
            found.push(NamedStream { table, stream, arn });
        }
        if found.len() > limit {
            break;
        }
    }
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
    let named = named(endpoint, &params).await?;
    let name = named.table.spec.name.clone();
    let shards = endpoint.store.shards(name.clone()).await;
    let shards = shards.map_err(|error| refused(&name, error))?;
    let mut starts = Vec::new();
    for shard in shards {
        let read = ReadChanges {
            table: name.clone(),
            shard: shard.clone(),
            start: FeedStart::Oldest,
            limit: 1,
        };
        let page = endpoint.store.changes(read).await.map_err(|error| refused(&name, error))?;
        starts.push((shard, page.changes.first().map_or(page.next, |change| change.seq)));
    }
    let mut writer = Writer::new();
    writer.object(|w| {
        w.name("StreamDescription").object(|w| {
            identity(w, &named);
            w.name("StreamStatus").text("ENABLED");
            w.name("StreamViewType").text(named.stream.view.name());
            w.name("CreationRequestDateTime").number(seconds(named.stream.enabled_at));
            write_key(w, &named.table);
            w.name("Shards").list(|w| {
                for (shard, start) in &starts {
                    w.object(|w| {
                        w.name("ShardId").text(&wire_shard(&named.stream, shard));
                        w.name("SequenceNumberRange").object(|w| {
                            w.name("StartingSequenceNumber").text(&wire_seq(*start));
                        });
                    });
                }
            });
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
    violations.required("shardIteratorType", kind.is_some());
    violations.one_of("shardIteratorType", kind, ITERATOR_TYPES);
    violations.finish()?;
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
            let page = endpoint.store.changes(read).await;
            Some(page.map_err(|error| refused(&table, error))?.next)
        }
        Some("AT_SEQUENCE_NUMBER") => Some(SeqNo(number()?.0.saturating_sub(1))),
        Some("AFTER_SEQUENCE_NUMBER") => Some(number()?),
        _ => None,
    };
    let mut writer = Writer::new();
    writer.object(|w| {
        w.name("ShardIterator").text(&iterator(&named.arn, &shard, position));
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
    let (arn, shard, position) = parse_iterator(text.unwrap_or_default())?;
    let named = find(endpoint, arn).await?;
    let table = named.table.spec.name.clone();
    let read = ReadChanges {
        table: table.clone(),
        shard: shard.clone(),
        start: position.map_or(FeedStart::Oldest, FeedStart::After),
        limit: usize::try_from(limit.unwrap_or(RECORDS_MAX)).unwrap_or(1),
    };
    let mut page = endpoint.store.changes(read).await.map_err(|error| refused(&table, error))?;
    truncate(&mut page);
    let mut writer = Writer::new();
    writer.object(|w| {
        w.name("Records").list(|w| {
            for change in &page.changes {
                write_record(w, endpoint, named.stream.view, change);
            }
        });
        w.name("NextShardIterator").text(&iterator(&named.arn, &shard, Some(page.next)));
    });
    Ok(writer.finish())
}

/// Keeps the changes that fit into one response, and at least one.
fn truncate(page: &mut ChangePage) {
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
        page.next = last.seq;
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

/// Finds the stream of an ARN. Disabling and enabling a stream makes a new one.
async fn find(endpoint: &Endpoint, arn: &str) -> Result<NamedStream, Fault> {
    let missing = || {
        let message = format!("Requested resource not found: Stream: {arn} not found");
        Fault::new(FaultCode::ResourceNotFound, message)
    };
    let (table, wanted) = arn::stream_of(arn)
        .ok_or_else(|| Fault::validation(format!("Invalid StreamArn: {arn}")))?;
    let name = table_name(table).map_err(|_| missing())?;
    let table = endpoint.table(&name).await.map_err(|_| missing())?;
    let stream = endpoint.settings(&table).await?.stream.ok_or_else(missing)?;
    if label(stream.enabled_at) != wanted {
        return Err(missing());
    }
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

/// ```text
/// iterator ::= arn "|" shard "|" (digits | "oldest")
/// ```
fn iterator(arn: &str, shard: &ShardId, position: Option<SeqNo>) -> String {
    match position {
        Some(SeqNo(position)) => format!("{arn}|{shard}|{position}"),
        None => format!("{arn}|{shard}|oldest"),
    }
}

fn parse_iterator(text: &str) -> Result<(&str, ShardId, Option<SeqNo>), Fault> {
    let invalid = || Fault::validation("Invalid ShardIterator");
    let (rest, position) = text.rsplit_once('|').ok_or_else(invalid)?;
    let (arn, shard) = rest.split_once('|').ok_or_else(invalid)?;
    let position = match position {
        "oldest" => None,
        digits => Some(SeqNo(digits.parse().map_err(|_| invalid())?)),
    };
    Ok((arn, ShardId(shard.to_owned()), position))
}

fn refused(table: &TableName, error: Error) -> Fault {
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
        other => refusal::table_fault(table, other),
    }
}

fn internal(error: Error) -> Fault {
    Fault::new(FaultCode::InternalServerError, error.to_string())
}
