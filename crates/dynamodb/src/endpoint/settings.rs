//! Table settings that the store does not have: throughput, tags, the view of its stream.
//!
//! They are kept in the settings table of the same store, which clients do not see, one row per
//! table. A row names the creation time of its table, so a row that outlived its table is ignored.
//! A table without a row was not created through the endpoint and has the defaults.

use std::collections::BTreeMap;

use keyloom_store::{
    Delete, Error, Feed, Get, KeySchema, KeyType, Put, SeqNo, TableDescription, TableName,
    TableSpec, Time,
};
use keyloom_value::{Condition, Item, Path, Value};

use crate::wire::{Fault, FaultCode};

use super::Endpoint;
use super::recovery::Recovery;
use super::refusal;

/// How the names of tables begin that the endpoint uses for itself.
pub(super) const INTERNAL: &str = "keyloom.dynamodb.";
/// The table that holds the settings of all tables.
const SETTINGS_TABLE: &str = "keyloom.dynamodb.tables";
/// How long a stream can be read after it was disabled.
const KEPT_MS: u64 = 24 * 60 * 60 * 1000;
/// Attempts at a change while others change the same row.
const ATTEMPTS_MAX: usize = 20;

/// The settings of one table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Settings {
    /// `None` is pay per request.
    pub(super) throughput: Option<Throughput>,
    /// Throughput of global indexes, by name.
    pub(super) index_throughput: BTreeMap<String, Throughput>,
    pub(super) tags: BTreeMap<String, String>,
    /// The stream that is enabled.
    pub(super) stream: Option<Stream>,
    /// Streams that were disabled less than a day ago, oldest first.
    pub(super) past_streams: Vec<Stream>,
    /// Whether changes are recorded, if at all, for other reasons than an enabled stream.
    pub(super) is_stream_off: bool,
    pub(super) is_protected: bool,
    pub(super) class: Option<String>,
    /// How the table can be restored to an earlier time.
    pub(super) recovery: Option<Recovery>,
    /// Where the items came from, if the table was restored.
    pub(super) restored: Option<Restored>,
    /// Incremented by every change, to detect lost updates.
    pub(super) version: u64,
}

/// The origin of a restored table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Restored {
    /// The ARN of the backup, if it was one.
    pub(super) from_backup: Option<String>,
    /// The ARN of the table.
    pub(super) from_table: String,
    /// The time of its items.
    pub(super) at: Time,
    /// The opening of the store that still copies.
    pub(super) copied_by: Option<u64>,
}

/// Units per second. They are reported, not enforced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Throughput {
    pub(super) read: u64,
    pub(super) write: u64,
}

/// A change stream: a part of the feed of its table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stream {
    pub(super) view: StreamView,
    /// Also the stream's label.
    pub(super) enabled_at: Time,
    /// It begins after this change; `None` if it begins with the feed.
    pub(super) after: Option<SeqNo>,
    /// Where it ends, once it is disabled.
    pub(super) end: Option<StreamEnd>,
}

/// The end of a stream that was disabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StreamEnd {
    pub(super) at: Time,
    /// No later change is in it.
    pub(super) last: SeqNo,
}

impl Stream {
    /// A stream that has just been enabled.
    pub(super) fn new(view: StreamView, enabled_at: Time, after: Option<SeqNo>) -> Stream {
        Stream { view, enabled_at, after, end: None }
    }

    /// Whether it can still be read.
    pub(super) fn is_kept(&self, now: Time) -> bool {
        self.end.is_none_or(|end| now.0 < end.at.0.saturating_add(KEPT_MS))
    }
}

/// Which images the records of a stream have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamView {
    Keys,
    New,
    Old,
    Both,
}

impl StreamView {
    pub(super) const NAMES: &'static [&'static str] =
        &["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"];

    pub(super) fn of_name(name: &str) -> Option<StreamView> {
        Some(match name {
            "KEYS_ONLY" => StreamView::Keys,
            "NEW_IMAGE" => StreamView::New,
            "OLD_IMAGE" => StreamView::Old,
            "NEW_AND_OLD_IMAGES" => StreamView::Both,
            _ => return None,
        })
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            StreamView::Keys => "KEYS_ONLY",
            StreamView::New => "NEW_IMAGE",
            StreamView::Old => "OLD_IMAGE",
            StreamView::Both => "NEW_AND_OLD_IMAGES",
        }
    }
}

/// Returns whether the endpoint uses the table for itself.
pub(super) fn is_internal_table(table: &TableName) -> bool {
    table.as_str().starts_with(INTERNAL)
}

impl Endpoint {
    /// Reads the settings of a table.
    pub(super) async fn settings(&self, table: &TableDescription) -> Result<Settings, Fault> {
        let get = Get::new(&settings_table()?, row_key(&table.spec.name));
        let row = match self.settings_store.get(get).await {
            Ok(row) => row,
            Err(Error::TableNotFound { .. }) => None,
            Err(error) => return Err(refusal::table_fault(self, &table.spec.name, error)),
        };
        let row = row.filter(|row| to_u64(row.get("created")) == Some(table.created.0));
        let mut settings = row.map(|row| decode(&row)).unwrap_or_default();
        let now = self.options.clock.now();
        settings.past_streams.retain(|stream| stream.is_kept(now));
        match table.spec.feed {
            Feed::Off => (settings.stream, settings.past_streams) = (None, vec![]),
            Feed::Images if settings.is_stream_off => settings.stream = None,
            Feed::Images => {
                let stream = || Stream::new(StreamView::Both, table.created, None);
                settings.stream.get_or_insert_with(stream);
            }
        }
        Ok(settings)
    }

    /// Changes the settings of a table and returns the new ones.
    pub(super) async fn change_settings(
        &self,
        table: &TableDescription,
        mut change: impl FnMut(&mut Settings) -> Result<(), Fault>,
    ) -> Result<Settings, Fault> {
        for _ in 0..ATTEMPTS_MAX {
            let mut settings = self.settings(table).await?;
            let version = settings.version;
            change(&mut settings)?;
            settings.version += 1;
            let mut row = encode(&settings);
            row.insert("table", table.spec.name.as_str());
            row.insert("created", table.created.0);
            // A row of a dropped table may be replaced.
            let unchanged = Condition::equal(Path::from("version"), Value::from(version))
                .and(Condition::equal(Path::from("created"), Value::from(table.created.0)));
            let stale = Condition::equal(Path::from("created"), Value::from(table.created.0)).not();
            let put = Put::new(&settings_table()?, row).when(unchanged.or(stale));
            match self.settings_store.put(put).await {
                Ok(_) => return Ok(settings),
                Err(Error::ConditionFailed { .. }) => {}
                Err(Error::TableNotFound { .. }) => self.create_settings_table().await?,
                Err(error) => return Err(refusal::table_fault(self, &table.spec.name, error)),
            }
        }
        let message =
            "Attempt to change a resource which is still in use: too many changes at once";
        Err(Fault::new(FaultCode::ResourceInUse, message))
    }

    /// Deletes the settings of a dropped table.
    pub(super) async fn delete_settings(&self, table: &TableDescription) -> Result<(), Fault> {
        let same = Condition::equal(Path::from("created"), Value::from(table.created.0));
        let delete = Delete::new(&settings_table()?, row_key(&table.spec.name)).when(same);
        match self.settings_store.delete(delete).await {
            Ok(_) | Err(Error::ConditionFailed { .. } | Error::TableNotFound { .. }) => Ok(()),
            Err(error) => Err(refusal::table_fault(self, &table.spec.name, error)),
        }
    }

    async fn create_settings_table(&self) -> Result<(), Fault> {
        let table = settings_table()?;
        let spec = TableSpec::new(table.clone(), KeySchema::partition("table", KeyType::S));
        match self.settings_store.create_table(spec).await {
            Ok(_) | Err(Error::TableExists { .. }) => Ok(()),
            Err(error) => Err(refusal::table_fault(self, &table, error)),
        }
    }
}

pub(super) fn settings_table() -> Result<TableName, Fault> {
    TableName::new(SETTINGS_TABLE).map_err(|invalid| Fault::validation(invalid.to_string()))
}

fn row_key(table: &TableName) -> Item {
    Item::from([("table", table.as_str())])
}

pub(super) fn encode(settings: &Settings) -> Item {
    let mut row = Item::new();
    row.insert("version", settings.version);
    row.insert("protected", settings.is_protected);
    if let Some(throughput) = settings.throughput {
        row.insert("throughput", encode_throughput(throughput));
    }
    let indexes = settings.index_throughput.iter();
    let indexes: Item =
        indexes.map(|(name, units)| (name.into(), encode_throughput(*units))).collect();
    row.insert("indexes", indexes);
    let tags: Item =
        settings.tags.iter().map(|(key, value)| (key.into(), value.as_str().into())).collect();
    row.insert("tags", tags);
    if let Some(stream) = &settings.stream {
        encode_stream(stream, &mut row);
    }
    if settings.is_stream_off {
        row.insert("stream_off", true);
    }
    if !settings.past_streams.is_empty() {
        let past = settings.past_streams.iter().map(|stream| {
            let mut row = Item::new();
            encode_stream(stream, &mut row);
            Value::M(row)
        });
        row.insert("past_streams", Value::L(past.collect()));
    }
    if let Some(class) = &settings.class {
        row.insert("class", class.as_str());
    }
    if let Some(recovery) = settings.recovery {
        row.insert("recovery_since", recovery.enabled_at.0);
        row.insert("recovery_days", recovery.days);
        row.insert("recovery_after", recovery.after.to_string());
    }
    if let Some(restored) = &settings.restored {
        row.insert("restored", encode_restored(restored));
    }
    row
}

pub(super) fn decode(row: &Item) -> Settings {
    let members = |name: &str| match row.get(name) {
        Some(Value::M(members)) => members.clone(),
        _ => Item::new(),
    };
    let past = match row.get("past_streams") {
        Some(Value::L(past)) => past.as_slice(),
        _ => &[],
    };
    let indexes = members("indexes").into_iter();
    let tags = members("tags").into_iter();
    Settings {
        throughput: row.get("throughput").and_then(decode_throughput),
        index_throughput: indexes
            .filter_map(|(name, value)| Some((name.to_string(), decode_throughput(&value)?)))
            .collect(),
        tags: tags
            .filter_map(|(key, value)| Some((key.to_string(), value.as_s()?.to_owned())))
            .collect(),
        stream: decode_stream(row),
        past_streams: past
            .iter()
            .filter_map(|stream| match stream {
                Value::M(members) => decode_stream(members),
                _ => None,
            })
            .collect(),
        is_stream_off: row.get("stream_off") == Some(&Value::Bool(true)),
        is_protected: row.get("protected") == Some(&Value::Bool(true)),
        class: row.get("class").and_then(Value::as_s).map(str::to_owned),
        recovery: decode_recovery(row),
        restored: match row.get("restored") {
            Some(Value::M(members)) => decode_restored(members),
            _ => None,
        },
        version: to_u64(row.get("version")).unwrap_or_default(),
    }
}

fn decode_recovery(row: &Item) -> Option<Recovery> {
    Some(Recovery {
        enabled_at: to_u64(row.get("recovery_since")).map(Time)?,
        days: to_u64(row.get("recovery_days"))?,
        after: SeqNo(row.get("recovery_after")?.as_s()?.parse().ok()?),
    })
}

fn encode_restored(restored: &Restored) -> Item {
    let mut row = Item::from([("table", restored.from_table.as_str())]);
    row.insert("at", restored.at.0);
    if let Some(backup) = &restored.from_backup {
        row.insert("backup", backup.as_str());
    }
    if let Some(opening) = restored.copied_by {
        row.insert("copied_by", opening.to_string());
    }
    row
}

fn decode_restored(row: &Item) -> Option<Restored> {
    let text = |name: &str| row.get(name)?.as_s().map(str::to_owned);
    Some(Restored {
        from_backup: text("backup"),
        from_table: text("table")?,
        at: to_u64(row.get("at")).map(Time)?,
        copied_by: text("copied_by").and_then(|opening| opening.parse().ok()),
    })
}

fn encode_stream(stream: &Stream, row: &mut Item) {
    row.insert("view", stream.view.name());
    row.insert("since", stream.enabled_at.0);
    if let Some(after) = stream.after {
        row.insert("after", after.to_string());
    }
    if let Some(end) = stream.end {
        row.insert("until", end.at.0);
        row.insert("last", end.last.to_string());
    }
}

fn decode_stream(row: &Item) -> Option<Stream> {
    let number = |name: &str| Some(SeqNo(row.get(name)?.as_s()?.parse().ok()?));
    let view = row.get("view").and_then(Value::as_s).and_then(StreamView::of_name)?;
    let enabled_at = to_u64(row.get("since")).map(Time)?;
    let until = to_u64(row.get("until")).map(Time);
    let end = until.zip(number("last")).map(|(at, last)| StreamEnd { at, last });
    Some(Stream { view, enabled_at, after: number("after"), end })
}

fn encode_throughput(throughput: Throughput) -> Value {
    Value::L(vec![Value::from(throughput.read), Value::from(throughput.write)])
}

fn decode_throughput(value: &Value) -> Option<Throughput> {
    let Value::L(units) = value else { return None };
    Some(Throughput { read: to_u64(units.first())?, write: to_u64(units.get(1))? })
}

pub(super) fn to_u64(value: Option<&Value>) -> Option<u64> {
    value?.as_n()?.to_i64()?.try_into().ok()
}
