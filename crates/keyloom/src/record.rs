//! An entity that was read or written.

use std::fmt;
use std::sync::Arc;

use keyloom_model::{Entity, Image};
use keyloom_value::{Item, Value};
use serde::de::DeserializeOwned;

use crate::Fields;
use crate::document::{from_item, item_to_json};
use crate::error::Error;
use crate::schema::Schema;

/// An entity that was read or written.
///
/// ```
/// # use std::sync::Arc;
/// # use keyloom::{Change, Db};
/// # use keyloom_store::{MemoryStore, SystemClock};
/// # use serde_json::json;
/// # pollster::block_on(async {
/// # let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
/// let model = r#"
///     [entity.task]
///     fields.name = "text"
///     fields.done = "bool = false"
///     fields.tags = "tags = {}"
///     list.all  = {}
///     list.open = { order = "-name", where = { done = false } }
/// "#;
/// let db = Db::open(model, store).await?;
/// #[derive(serde::Deserialize)]
/// struct Task {
///     name: String,
/// }
/// let task = db.create("task", &json!({ "name": "cook" })).await?;
/// assert_eq!(task.to::<Task>()?.name, "cook");
/// // Only if it is still as it was read.
/// let change = Change::update("task", task.id(), &json!({ "done": true }))?.expecting(task.version());
/// db.transact(vec![change]).await?;
/// # Ok::<(), keyloom::Error>(())
/// # }).expect("the example runs");
/// ```
#[derive(Clone)]
pub struct Record {
    schema: Arc<Schema>,
    image: Image,
}

impl Record {
    pub(crate) fn new(schema: &Arc<Schema>, image: Image) -> Record {
        Record { schema: schema.clone(), image }
    }

    /// Returns a record for each image.
    pub(crate) fn all(schema: &Arc<Schema>, images: Vec<Option<Image>>) -> Vec<Option<Record>> {
        let record = |image: Option<Image>| Some(Record::new(schema, image?));
        images.into_iter().map(record).collect()
    }

    pub(crate) fn image(&self) -> &Image {
        &self.image
    }

    /// Returns the name of its kind.
    pub fn entity(&self) -> &str {
        &self.declared().name
    }

    /// Returns its id.
    pub fn id(&self) -> &str {
        &self.image.key.id
    }

    /// Returns its version, which changes on every write.
    pub fn version(&self) -> &str {
        &self.image.version
    }

    /// Returns the stored value of a field: times are milliseconds.
    ///
    /// [`Db::create`](crate::Db::create) and [`Db::update`](crate::Db::update) have examples.
    pub fn get(&self, field: &str) -> Option<&Value> {
        self.image.fields.get(field)
    }

    /// Returns the stored values of all fields, without `id` and `version`.
    pub fn fields(&self) -> &Item {
        &self.image.fields
    }

    /// Returns the same record with another value of a field.
    pub(crate) fn with_field(&self, field: &str, value: Value) -> Record {
        let mut record = self.clone();
        record.image.fields.insert(field, value);
        record
    }

    /// Returns the entity as a type of yours; `id` and `version` are fields too.
    ///
    /// [`Record`] has an example.
    ///
    /// # Errors
    ///
    /// If the type requires fields that the entity lacks, or fields of other types.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, Error> {
        let item = self.with_id(self.image.fields.clone());
        from_item(&item, self.declared()).map_err(Error::Document)
    }

    /// Returns the entity as JSON: times as texts such as `2024-02-29T12:00:00Z`, bytes in base64.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::{Db, Value};
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # let model = "[entity.task]\nfields.due = \"time\"";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// let task = db.create("task", &json!({ "due": "2026-11-19T12:00:00Z" })).await?;
    /// assert!(task.to_json().starts_with(r#"{"due":"2026-11-19T12:00:00Z","id":"#));
    /// // Its fields have the stored form: milliseconds since 1970.
    /// assert_eq!(task.fields().get("due"), Some(&Value::from(1_795_089_600_000_i64)));
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    pub fn to_json(&self) -> String {
        item_to_json(&self.shown())
    }

    /// Returns the same JSON with these fields only, and with `id` and `version`.
    ///
    /// [`Db::fields`](crate::Db::fields) has an example.
    pub fn to_json_of(&self, fields: &Fields) -> String {
        item_to_json(&self.shown_of(fields))
    }

    /// The external form of some fields of the entity, with `id` and `version`.
    pub(crate) fn shown_of(&self, fields: &Fields) -> Item {
        let all = self.declared().to_external(&self.image.fields);
        let shown = all.into_iter().filter(|(name, _)| fields.has(name.as_str()));
        self.with_id(shown.collect())
    }

    /// The external form of the entity, with `id` and `version`.
    pub(crate) fn shown(&self) -> Item {
        self.with_id(self.declared().to_external(&self.image.fields))
    }

    fn with_id(&self, mut item: Item) -> Item {
        item.insert("id", self.id());
        item.insert("version", self.version());
        item
    }

    fn declared(&self) -> &Entity {
        self.schema.model().entity(self.image.key.entity)
    }
}

impl PartialEq for Record {
    /// Whether both are the same version of the same entity, without what records do not show.
    fn eq(&self, other: &Record) -> bool {
        let (left, right) = (&self.image, &other.image);
        self.entity() == other.entity()
            && (&left.key.tenant, &left.key.id) == (&right.key.tenant, &right.key.id)
            && (&left.version, &left.fields) == (&right.version, &right.fields)
    }
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.entity(), self.to_json())
    }
}
