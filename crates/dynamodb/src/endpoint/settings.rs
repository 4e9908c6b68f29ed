//! What a table has here and not in the store: throughput, tags, the view of its stream.
//!
//! It is kept in a table of the same store that clients do not see, one row for a table. A row
//! counts for the table that was made at the moment it names, so a row that outlived its table
//! means nothing. A table without a row was made by other means and has the defaults.

use std::collections::BTreeMap;

use keyloom_store::{
    Delete, Error, Feed, Get, KeySchema, KeyType, Put, TableDescription, TableName, TableSpec, Time,
};
use keyloom_value::{Condition, Item, Path, Value};

use crate::wire::{Fault, FaultCode};

use super::Endpoint;
use super::refusal;

/// The endpoint's own table.
const OWN_TABLE: &str = "keyloom.dynamodb.tables";
/// How often a change is tried again when others change the same row.
const TRIES_MAX: usize = 20;

/// What a table has beside its spec.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Settings {
    /// None is pay per request.
    pub(super) throughput: Option<Throughput>,
    /// Of global indexes, by name.
    pub(super) index_throughput: BTreeMap<String, Throughput>,
    pub(super) tags: BTreeMap<String, String>,
    pub(super) stream: Option<Stream>,
    pub(super) is_protected: bool,
    pub(super) class: Option<String>,
    /// Counts changes, so that none is lost.
    pub(super) version: u64,
}

/// Units for a second. They are told back and not enforced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Throughput {
    pub(super) read: u64,
    pub(super) write: u64,
}

/// A change stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stream {
    pub(super) view: StreamView,
    /// When it was turned on; its label.
    pub(super) since: Time,
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

/// Whether the table is the endpoint's own.
pub(super) fn is_own_table(table: &TableName) -> bool {
    table.as_str() == OWN_TABLE
}

impl Endpoint {
    /// The settings of a table.
    pub(super) async fn settings(&self, table: &TableDescription) -> Result<Settings, Fault> {
        let get = Get::new(&own_table()?, row_key(&table.spec.name));
        let row = match self.store.get(get).await {
            Ok(row) => row,
            Err(Error::TableNotFound { .. }) => None,
            Err(error) => return Err(refusal::of_table(&table.spec.name, error)),
        };
        let row = row.filter(|row| whole(row.get("created")) == Some(table.created.0));
        let mut settings = row.map(|row| decode(&row)).unwrap_or_default();
        match table.spec.feed {
            Feed::Off => settings.stream = None,
            Feed::Images => {
                let stream = || Stream { view: StreamView::Both, since: table.created };
                settings.stream.get_or_insert_with(stream);
            }
        }
        Ok(settings)
    }

    /// Changes the settings of a table, and returns what they are now.
    pub(super) async fn change_settings(
        &self,
        table: &TableDescription,
        mut change: impl FnMut(&mut Settings) -> Result<(), Fault>,
    ) -> Result<Settings, Fault> {
        for _ in 0..TRIES_MAX {
            let mut settings = self.settings(table).await?;
            let version = settings.version;
            change(&mut settings)?;
            settings.version += 1;
            let mut row = encode(&settings);
            row.insert("table", table.spec.name.as_str());
            row.insert("created", table.created.0);
            // A row of a table that is gone may be replaced.
            let unchanged = Condition::equal(Path::from("version"), Value::from(version))
                .and(Condition::equal(Path::from("created"), Value::from(table.created.0)));
            let stale = Condition::equal(Path::from("created"), Value::from(table.created.0)).not();
            let put = Put::new(&own_table()?, row).when(unchanged.or(stale));
            match self.store.put(put).await {
                Ok(_) => return Ok(settings),
                Err(Error::ConditionFailed { .. }) => {}
                Err(Error::TableNotFound { .. }) => self.make_own_table().await?,
                Err(error) => return Err(refusal::of_table(&table.spec.name, error)),
            }
        }
        let message =
            "Attempt to change a resource which is still in use: too many changes at once";
        Err(Fault::new(FaultCode::ResourceInUse, message))
    }

    /// Forgets the settings of a table that was dropped.
    pub(super) async fn forget_settings(&self, table: &TableDescription) -> Result<(), Fault> {
        let same = Condition::equal(Path::from("created"), Value::from(table.created.0));
        let delete = Delete::new(&own_table()?, row_key(&table.spec.name)).when(same);
        match self.store.delete(delete).await {
            Ok(_) | Err(Error::ConditionFailed { .. } | Error::TableNotFound { .. }) => Ok(()),
            Err(error) => Err(refusal::of_table(&table.spec.name, error)),
        }
    }

    async fn make_own_table(&self) -> Result<(), Fault> {
        let table = own_table()?;
        let spec = TableSpec::new(table.clone(), KeySchema::partition("table", KeyType::S));
        match self.store.create_table(spec).await {
            Ok(_) | Err(Error::TableExists { .. }) => Ok(()),
            Err(error) => Err(refusal::of_table(&table, error)),
        }
    }
}

fn own_table() -> Result<TableName, Fault> {
    TableName::new(OWN_TABLE).map_err(|invalid| Fault::validation(invalid.to_string()))
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
        row.insert("since", stream.since.0);
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
    let since = whole(row.get("since")).map(Time);
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
        stream: view.zip(since).map(|(view, since)| Stream { view, since }),
        is_protected: row.get("protected") == Some(&Value::Bool(true)),
        class: row.get("class").and_then(Value::as_s).map(str::to_owned),
        version: whole(row.get("version")).unwrap_or_default(),
    }
}

fn encode_throughput(throughput: Throughput) -> Value {
    Value::L(vec![Value::from(throughput.read), Value::from(throughput.write)])
}

fn decode_throughput(value: &Value) -> Option<Throughput> {
    let Value::L(units) = value else { return None };
    Some(Throughput { read: whole(units.first())?, write: whole(units.get(1))? })
}

fn whole(value: Option<&Value>) -> Option<u64> {
    value?.as_n()?.to_i64()?.try_into().ok()
}
