//! Writes table descriptions.

use keyloom_store::{
    IndexDescription, IndexProjection, IndexScope, IndexSpec, IndexState, KeySchema,
    TableDescription, TableSpec, Time,
};
use time::OffsetDateTime;

use crate::json::Writer;

use super::Endpoint;
use super::settings::{Settings, Throughput};

/// Writes a response with one member, the description of a table.
pub(super) fn response(
    endpoint: &Endpoint,
    member: &str,
    table: &TableDescription,
    settings: &Settings,
    status: &str,
) -> String {
    let mut writer = Writer::new();
    writer.object(|w| {
        w.name(member).object(|w| {
            write_spec(w, &table.spec);
            w.name("TableStatus").text(status);
            w.name("CreationDateTime").number(seconds(table.created));
            w.name("TableSizeBytes").number(table.bytes);
            w.name("ItemCount").number(table.items);
            w.name("TableArn").text(&endpoint.table_arn(&table.spec.name));
            w.name("TableId").text(&table_id(table));
            write_settings(w, table, settings);
            write_stream(w, endpoint, table, settings);
            write_restored(w, settings);
            write_indexes(w, endpoint, table, settings, IndexScope::Local);
            write_indexes(w, endpoint, table, settings, IndexScope::Global);
        });
    });
    writer.finish()
}

/// Writes the response to `DeleteTable`, which no longer has the keys, the indexes or the stream.
pub(super) fn deleted(
    endpoint: &Endpoint,
    table: &TableDescription,
    settings: &Settings,
) -> String {
    let mut writer = Writer::new();
    writer.object(|w| {
        w.name("TableDescription").object(|w| {
            w.name("TableName").text(table.spec.name.as_str());
            w.name("TableStatus").text("DELETING");
            write_throughput(w, settings.throughput);
            w.name("TableSizeBytes").number(0);
            w.name("ItemCount").number(0);
            w.name("TableArn").text(&endpoint.table_arn(&table.spec.name));
            w.name("TableId").text(&table_id(table));
            write_billing(w, table, settings);
            w.name("DeletionProtectionEnabled").boolean(settings.is_protected);
        });
    });
    writer.finish()
}

fn write_spec(w: &mut Writer, spec: &TableSpec) {
    w.name("AttributeDefinitions").list(|w| {
        let mut written: Vec<&str> = Vec::new();
        let indexes = spec.indexes.iter().flat_map(|index| index.key.attributes());
        for attribute in spec.key.attributes().chain(indexes) {
            let name = attribute.name.as_str();
            if written.contains(&name) {
                continue;
            }
            written.push(name);
            w.object(|w| {
                w.name("AttributeName").text(name);
                w.name("AttributeType").text(attribute.key_type.value_type().as_str());
            });
        }
    });
    w.name("TableName").text(spec.name.as_str());
    write_key(w, &spec.key);
}

pub(super) fn write_key(w: &mut Writer, key: &KeySchema) {
    w.name("KeySchema").list(|w| {
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

fn write_settings(w: &mut Writer, table: &TableDescription, settings: &Settings) {
    write_throughput(w, settings.throughput);
    write_billing(w, table, settings);
    w.name("DeletionProtectionEnabled").boolean(settings.is_protected);
    if let Some(class) = &settings.class {
        w.name("TableClassSummary").object(|w| w.name("TableClass").text(class));
    }
}

fn write_billing(w: &mut Writer, table: &TableDescription, settings: &Settings) {
    if settings.throughput.is_none() {
        w.name("BillingModeSummary").object(|w| {
            w.name("BillingMode").text("PAY_PER_REQUEST");
            w.name("LastUpdateToPayPerRequestDateTime").number(seconds(table.created));
        });
        w.name("TableThroughputModeSummary").object(|w| {
            w.name("TableThroughputMode").text("PAY_PER_REQUEST");
            w.name("LastUpdateToPayPerRequestDateTime").number(seconds(table.created));
        });
    }
}

fn write_throughput(w: &mut Writer, throughput: Option<Throughput>) {
    let Throughput { read, write } = throughput.unwrap_or_default();
    w.name("ProvisionedThroughput").object(|w| {
        w.name("NumberOfDecreasesToday").number(0);
        w.name("ReadCapacityUnits").number(read);
        w.name("WriteCapacityUnits").number(write);
    });
}

fn write_restored(w: &mut Writer, settings: &Settings) {
    let Some(restored) = &settings.restored else { return };
    w.name("RestoreSummary").object(|w| {
        if let Some(backup) = &restored.from_backup {
            w.name("SourceBackupArn").text(backup);
        }
        w.name("SourceTableArn").text(&restored.from_table);
        w.name("RestoreDateTime").number(seconds(restored.at));
        w.name("RestoreInProgress").boolean(restored.copied_by.is_some());
    });
}

/// Writes the features of a table as its backup has them.
pub(super) fn write_backed_up(w: &mut Writer, spec: &TableSpec, settings: &Settings) {
    let scopes = [
        (IndexScope::Local, "LocalSecondaryIndexes"),
        (IndexScope::Global, "GlobalSecondaryIndexes"),
    ];
    for (scope, member) in scopes {
        let indexes = || spec.indexes.iter().filter(move |index| index.scope == scope);
        if indexes().next().is_none() {
            continue;
        }
        w.name(member).list(|w| {
            for index in indexes() {
                w.object(|w| {
                    write_index_spec(w, index);
                    if scope == IndexScope::Global {
                        let units = settings.index_throughput.get(index.name.as_str());
                        write_throughput(w, units.copied());
                    }
                });
            }
        });
    }
}

fn write_stream(w: &mut Writer, endpoint: &Endpoint, table: &TableDescription, s: &Settings) {
    let Some(stream) = s.stream.as_ref().or(s.past_streams.last()) else { return };
    let label = label(stream.enabled_at);
    if stream.end.is_none() {
        w.name("StreamSpecification").object(|w| {
            w.name("StreamEnabled").boolean(true);
            w.name("StreamViewType").text(stream.view.name());
        });
    }
    w.name("LatestStreamLabel").text(&label);
    let arn = format!("{}/stream/{label}", endpoint.table_arn(&table.spec.name));
    w.name("LatestStreamArn").text(&arn);
}

fn write_indexes(
    w: &mut Writer,
    endpoint: &Endpoint,
    table: &TableDescription,
    settings: &Settings,
    scope: IndexScope,
) {
    let indexes = || {
        let pairs = table.spec.indexes.iter().zip(&table.indexes);
        pairs.filter(|(spec, _)| spec.scope == scope)
    };
    if indexes().next().is_none() {
        return;
    }
    let member = match scope {
        IndexScope::Local => "LocalSecondaryIndexes",
        IndexScope::Global => "GlobalSecondaryIndexes",
    };
    let arn = endpoint.table_arn(&table.spec.name);
    w.name(member).list(|w| {
        for (spec, now) in indexes() {
            w.object(|w| {
                write_index(w, spec, now);
                w.name("IndexArn").text(&format!("{arn}/index/{}", spec.name));
                if scope == IndexScope::Global {
                    write_state(w, now);
                    write_throughput(w, settings.index_throughput.get(spec.name.as_str()).copied());
                }
            });
        }
    });
}

fn write_index(w: &mut Writer, spec: &IndexSpec, now: &IndexDescription) {
    write_index_spec(w, spec);
    w.name("IndexSizeBytes").number(now.bytes);
    w.name("ItemCount").number(now.items);
}

fn write_index_spec(w: &mut Writer, spec: &IndexSpec) {
    w.name("IndexName").text(spec.name.as_str());
    write_key(w, &spec.key);
    w.name("Projection").object(|w| {
        let kind = match &spec.projection {
            IndexProjection::All => "ALL",
            IndexProjection::Keys => "KEYS_ONLY",
            IndexProjection::Include(_) => "INCLUDE",
        };
        w.name("ProjectionType").text(kind);
        if let IndexProjection::Include(names) = &spec.projection {
            w.name("NonKeyAttributes")
                .list(|w| names.iter().for_each(|name| w.text(name.as_str())));
        }
    });
}

fn write_state(w: &mut Writer, now: &IndexDescription) {
    match now.state {
        IndexState::Active => w.name("IndexStatus").text("ACTIVE"),
        IndexState::Building { .. } => {
            w.name("IndexStatus").text("CREATING");
            w.name("Backfilling").boolean(true);
        }
    }
}

/// Formats a time as the service does: seconds with a fraction.
pub(super) fn seconds(time: Time) -> String {
    format!("{}.{:03}", time.secs(), time.0 % 1000)
}

/// Returns the label of a stream enabled at a time: `2026-01-31T09:05:07.042`.
pub(super) fn label(enabled_at: Time) -> String {
    let time_utc = i64::try_from(enabled_at.secs()).ok();
    let time_utc = time_utc.and_then(|secs| OffsetDateTime::from_unix_timestamp(secs).ok());
    // Times after the year 9999 only come from a broken clock.
    let time_utc = time_utc.unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let (date, (hour, minute, second)) = (time_utc.date(), time_utc.to_hms());
    let millis = enabled_at.0 % 1000;
    format!("{date}T{hour:02}:{minute:02}:{second:02}.{millis:03}")
}

/// Derives a unique id from the table's name and creation time, with FNV-1a.
pub(super) fn table_id(table: &TableDescription) -> String {
    let time_utc = table.created.0.to_be_bytes();
    let bytes = table.spec.name.as_str().bytes().chain(time_utc);
    let hash = bytes.fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128, |hash, byte| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b)
    });
    let hex = format!("{hash:032x}");
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    format!("{}-{}-4{}-a{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}
