//! Table settings that the store does not have: throughput, tags, the view of its stream.
//!
//! They are kept in the settings table of the same store, which clients do not see, one row per
//! table. A row names the creation time of its table, so a row that outlived its table is ignored.
//! A table without a row was not created through the endpoint and has the defaults.

use std::collections::BTreeMap;

use keyloom_store::{
    Delete, Error, Feed, Get, KeySchema, KeyType, Put, TableDescription, TableName, TableSpec, Time,
};
use keyloom_value::{Condition, Item, Path, Value};

use crate::wire::{Fault, FaultCode};

use super::Endpoint;
use super::refusal;

/// The table that holds the settings of all tables.
const SETTINGS_TABLE: &str = "keyloom.dynamodb.tables";
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
    pub(super) stream: Option<Stream>,
    pub(super) is_protected: bool,
    pub(super) class: Option<String>,
    /// Incremented by every change, to detect lost updates.
    pub(super) version: u64,
}

/// Units per second. They are reported, not enforced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Throughput {
    pub(super) read: u64,
    pub(super) write: u64,
}

/// A change stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stream {
    pub(super) view: StreamView,
    /// Also the stream's label.
    pub(super) enabled_at: Time,
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

/// Returns whether the table is the settings table.
pub(super) fn is_settings_table(table: &TableName) -> bool {
    table.as_str() == SETTINGS_TABLE
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
        match table.spec.feed {
            Feed::Off => settings.stream = None,
            Feed::Images => {
                let stream = || Stream { view: StreamView::Both, enabled_at: table.created };
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

fn settings_table() -> Result<TableName, Fault> {
    TableName::new(SETTINGS_TABLE).map_err(|invalid| Fault::validation(invalid.to_string()))
}

fn row_key(table: &TableName) -> Item {
    Item::from([("table", table.as_str())])
}

fn encode(settings: &Settings) -> Item {
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
        row.insert("view", stream.view.name());
        row.insert("since", stream.enabled_at.0);
    }
    if let Some(class) = &settings.class {
        row.insert("class", class.as_str());
    }
    row
}

fn decode(row: &Item) -> Settings {
    let members = |name: &str| match row.get(name) {
        Some(Value::M(members)) => members.clone(),
        _ => Item::new(),
    };
    let view = row.get("view").and_then(Value::as_s).and_then(StreamView::of_name);
    let enabled_at = to_u64(row.get("since")).map(Time);
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
        stream: view.zip(enabled_at).map(|(view, enabled_at)| Stream { view, enabled_at }),
        is_protected: row.get("protected") == Some(&Value::Bool(true)),
        class: row.get("class").and_then(Value::as_s).map(str::to_owned),
        version: to_u64(row.get("version")).unwrap_or_default(),
    }
}

fn encode_throughput(throughput: Throughput) -> Value {
    Value::L(vec![Value::from(throughput.read), Value::from(throughput.write)])
}

fn decode_throughput(value: &Value) -> Option<Throughput> {
    let Value::L(units) = value else { return None };
    Some(Throughput { read: to_u64(units.first())?, write: to_u64(units.get(1))? })
}

fn to_u64(value: Option<&Value>) -> Option<u64> {
    value?.as_n()?.to_i64()?.try_into().ok()
}
