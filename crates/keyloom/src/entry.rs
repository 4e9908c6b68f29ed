//! An entity outside of a database, for exports and imports, as one line of JSON.
//!
//! ```text
//! {"entity":"contact","id":"7","tenant":"acme","fields":{"domain":"acme","name":"Ann"}}
//! ```
//!
//! `tenant` is present if the entity belongs to one. Fields have an object of their own, so that
//! their names cannot collide. Versions are not included.

use keyloom_value::{Item, Value};

use crate::document::{item_to_json, json_to_item};
use crate::error::Error;

const ENTITY: &str = "entity";
const TENANT: &str = "tenant";
const ID: &str = "id";
const FIELDS: &str = "fields";

/// An entity outside of a database.
///
/// ```
/// # use std::sync::Arc;
/// # use keyloom::{Db, Entry, Existing};
/// # use keyloom_store::{MemoryStore, SystemClock};
/// # use serde_json::json;
/// # pollster::block_on(async {
/// # let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
/// let model = r#"
///     [entity.task]
///     fields.name = "text"
/// "#;
/// let db = Db::open(model, store).await?;
/// db.create("task", &json!({ "name": "cook" })).await?;
/// let mut export = db.export(&["task"]).await?;
/// let mut lines = vec![];
/// while let Some(entries) = export.next().await? {
///     lines.extend(entries.iter().map(Entry::to_json));
/// }
/// // Into another database, with the same ids.
/// # let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
/// let other = Db::open(model, store).await?;
/// let entries = lines.iter().map(|line| Entry::from_json(line.as_bytes())).collect::<Result<_, _>>()?;
/// other.import(entries, Existing::Keep).await?;
/// # Ok::<(), keyloom::Error>(())
/// # }).expect("the example runs");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name of its kind.
    pub entity: String,
    /// Its tenant, if its kind has tenants.
    pub tenant: Option<Value>,
    /// Its id.
    pub id: String,
    /// Its fields as in a document; null where a field with a default is absent.
    pub fields: Item,
}

impl Entry {
    /// Returns the entry as JSON on one line, without a line break.
    pub fn to_json(&self) -> String {
        let mut head = Item::from([
            (ENTITY, Value::from(self.entity.as_str())),
            (ID, Value::from(self.id.as_str())),
        ]);
        if let Some(tenant) = &self.tenant {
            head.insert(TENANT, tenant.clone());
        }
        let mut json = item_to_json(&head);
        // Last, against the order of names: people look for the entity and the id.
        json.pop();
        json.push_str(&format!(",\"{FIELDS}\":{}}}", item_to_json(&self.fields)));
        json
    }

    /// Reads what [`Entry::to_json`] writes, in any order.
    ///
    /// # Errors
    ///
    /// If it is not JSON, or a member is missing, unknown or of a wrong type.
    pub fn from_json(json: &[u8]) -> Result<Entry, Error> {
        let mut item = json_to_item(json).map_err(Error::Document)?;
        let entry = Entry {
            entity: text(item.remove(ENTITY), ENTITY)?,
            tenant: item.remove(TENANT).map(tenant).transpose()?,
            id: text(item.remove(ID), ID)?,
            fields: fields(item.remove(FIELDS))?,
        };
        match item.names().next() {
            None => Ok(entry),
            Some(name) => {
                let names = [ENTITY, TENANT, ID, FIELDS].into_iter();
                let what = format!("An entry has no `{}`", name.as_str());
                Err(crate::unknown::unknown(what, name.as_str(), names))
            }
        }
    }
}

fn text(value: Option<Value>, name: &str) -> Result<String, Error> {
    match value {
        Some(Value::S(text)) => Ok(text),
        Some(_) => Err(wrong(format!("`{name}` of an entry must be a text"), None)),
        None => Err(wrong(format!("The entry has no `{name}`"), Some("every entry needs one"))),
    }
}

fn tenant(value: Value) -> Result<Value, Error> {
    match value {
        Value::S(_) | Value::N(_) => Ok(value),
        _ => Err(wrong(format!("`{TENANT}` of an entry must be a text or a number"), None)),
    }
}

fn fields(value: Option<Value>) -> Result<Item, Error> {
    match value {
        Some(Value::M(fields)) => Ok(fields),
        Some(_) => Err(wrong(format!("`{FIELDS}` of an entry must be an object"), None)),
        None => Err(wrong(
            format!("The entry has no `{FIELDS}`"),
            Some("put the fields of the entity there"),
        )),
    }
}

fn wrong(what: String, help: Option<&str>) -> Error {
    Error::Unknown { what, help: help.map(str::to_owned) }
}
