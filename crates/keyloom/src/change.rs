//! Changing entities: one at a time, or several together.

mod resolve;

use std::sync::Arc;

use keyloom_value::{Item, Value};
use serde::Serialize;

use crate::Record;
use crate::answer::Answer;
use crate::db::Db;
use crate::document::to_item;
use crate::error::Error;
use crate::events::JOB;
use crate::events::overflow::{keys_of_deleted, removal};
use crate::schema::Schema;
use crate::write::{Author, PlannedAction, WriteRequest};

pub(crate) use resolve::{check_chosen_id, resolve};

/// A change of one entity, for [`Db::transact`].
///
/// ```
/// # use std::sync::Arc;
/// # use keyloom::{Change, Db};
/// # use keyloom_store::{MemoryStore, SystemClock};
/// # use serde_json::json;
/// # pollster::block_on(async {
/// # let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
/// let model = r#"
///     [entity.order]
///     fields.buyer = "text"
///     [entity.line]
///     parent = "order"
///     fields.item = "text"
/// "#;
/// let db = Db::open(model, store).await?;
/// // The line refers to an order whose id nobody knows yet.
/// let order = Change::create("order", &json!({ "buyer": "ann" }))?.named("order");
/// let line = Change::create("line", &json!({ "order": { "$ref": "order" }, "item": "tea" }))?;
/// let records = db.transact(vec![order, line]).await?;
/// assert_eq!(records.len(), 2);
/// # Ok::<(), keyloom::Error>(())
/// # }).expect("the example runs");
/// ```
#[derive(Clone, Debug)]
pub struct Change {
    entity: String,
    id: Option<GivenId>,
    kind: Kind,
    expected: Option<String>,
    author: Author,
    /// What later changes of the transaction call its entity.
    name: Option<String>,
}

/// The id of the entity to change.
#[derive(Clone, Debug)]
pub(crate) enum GivenId {
    Text(String),
    /// That of the entity with this name.
    Of(String),
}

#[derive(Clone, Debug)]
enum Kind {
    Create(Item),
    Update(Item),
    Put(Item),
    Delete,
}

impl Change {
    /// Creates an entity. If callers choose the ids of its kind, the document contains it as `id`.
    ///
    /// # Errors
    ///
    /// If the document is not an object.
    pub fn create<T: Serialize + ?Sized>(entity: &str, document: &T) -> Result<Change, Error> {
        Ok(Change::create_item(entity, item(document)?))
    }

    /// As [`Change::create`], with a document that is an item already.
    pub fn create_item(entity: &str, document: Item) -> Change {
        Change::of(entity, None, Kind::Create(document))
    }

    /// Changes some fields, as a JSON merge patch does: null removes a field, omitted fields stay.
    /// `{"$add": 5}` adds to a number, `{"$append": [...]}` to a list: of many concurrent ones, none is
    /// lost.
    ///
    /// # Errors
    ///
    /// As [`Change::create`].
    pub fn update<T: Serialize + ?Sized>(
        entity: &str,
        id: &str,
        patch: &T,
    ) -> Result<Change, Error> {
        Ok(Change::update_item(entity, id, item(patch)?))
    }

    /// As [`Change::update`], with a patch that is an item already.
    pub fn update_item(entity: &str, id: &str, patch: Item) -> Change {
        Change::of(entity, Some(id), Kind::Update(patch))
    }

    /// Replaces all fields; omitted fields are reset to their default or removed. Where callers
    /// choose ids, it creates the entity if it does not exist.
    ///
    /// # Errors
    ///
    /// As [`Change::create`].
    pub fn put<T: Serialize + ?Sized>(
        entity: &str,
        id: &str,
        document: &T,
    ) -> Result<Change, Error> {
        Ok(Change::put_item(entity, id, item(document)?))
    }

    /// As [`Change::put`], with a document that is an item already.
    pub fn put_item(entity: &str, id: &str, document: Item) -> Change {
        Change::of(entity, Some(id), Kind::Put(document))
    }

    /// Deletes the entity, and applies the deletion rules of references and children.
    pub fn delete(entity: &str, id: &str) -> Change {
        Change::of(entity, Some(id), Kind::Delete)
    }

    /// Makes the change only if the entity has this version.
    ///
    /// [`Record`] has an example.
    #[must_use]
    pub fn expecting(mut self, version: &str) -> Change {
        self.expected = Some(version.to_owned());
        self
    }

    /// Makes the change for a client of the program: read-only fields keep their values. A document
    /// that changes one is refused with [`Error::Fields`]; a [`put`](Change::put) that omits them
    /// keeps them.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::{Change, Db, Error};
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # pollster::block_on(async {
    /// # let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    /// let model = r#"
    ///     [entity.order]
    ///     read_only = ["status"]
    ///     fields.status = "enum(open, paid) = open"
    /// "#;
    /// let db = Db::open(model, store).await?;
    /// let order = db.create("order", &json!({})).await?;
    /// let pay = Change::update("order", order.id(), &json!({ "status": "paid" }))?;
    /// let refused = db.transact(vec![pay.clone().from_client()]).await;
    /// assert!(matches!(refused, Err(Error::Fields { .. })));
    /// // The program itself may do it.
    /// db.transact(vec![pay]).await?;
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    #[must_use]
    pub fn from_client(mut self) -> Change {
        self.author = Author::Client;
        self
    }

    /// Names the entity of this change. In later changes of the same transaction, `{"$ref": NAME}`
    /// stands for its id, even if that is still to be generated: as `id`, in fields of type `ref` and
    /// `text`, and in lists of these.
    ///
    /// [`Change`] has an example.
    #[must_use]
    pub fn named(mut self, name: &str) -> Change {
        self.name = Some(name.to_owned());
        self
    }

    /// Changes the entity that has the same id as the one with this [name](Change::named).
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::{Change, Db};
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # pollster::block_on(async {
    /// # let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    /// let model = r#"
    ///     [entity.person]
    ///     fields.name = "text"
    ///     [entity.profile]
    ///     id = "given"
    ///     fields.motto = "text"
    /// "#;
    /// let db = Db::open(model, store).await?;
    /// let person = Change::create("person", &json!({ "name": "Ann" }))?.named("ann");
    /// let profile = Change::put("profile", "", &json!({ "motto": "Onward" }))?.with_id_of("ann");
    /// let records = db.transact(vec![person, profile]).await?;
    /// let ids: Vec<&str> = records.iter().flatten().map(|record| record.id()).collect();
    /// assert_eq!(ids[0], ids[1]);
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    #[must_use]
    pub fn with_id_of(mut self, name: &str) -> Change {
        self.id = Some(GivenId::Of(name.to_owned()));
        self
    }

    pub(crate) fn entity(&self) -> &str {
        &self.entity
    }

    pub(crate) fn id(&self) -> Option<&GivenId> {
        self.id.as_ref()
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    pub(crate) fn expected(&self) -> Option<&str> {
        self.expected.as_deref()
    }

    /// The id of the job that it deletes.
    pub(crate) fn deleted_job(&self) -> Option<&str> {
        let is_deletion = matches!(self.kind, Kind::Delete) && self.entity == JOB;
        match &self.id {
            Some(GivenId::Text(id)) if is_deletion => Some(id),
            Some(_) | None => None,
        }
    }

    /// The name of the kind of change, and its document.
    pub(crate) fn kind(&self) -> (&'static str, Option<&Item>) {
        match &self.kind {
            Kind::Create(document) => ("create", Some(document)),
            Kind::Update(patch) => ("update", Some(patch)),
            Kind::Put(document) => ("put", Some(document)),
            Kind::Delete => ("delete", None),
        }
    }

    /// Makes this change, which is not a deletion, alone.
    async fn make(self, db: &Db) -> Result<Record, Error> {
        let mut records = db.transact(vec![self]).await?;
        records.pop().flatten().ok_or(Error::Contended)
    }

    /// A `version` in a document is the expected version.
    fn of(entity: &str, id: Option<&str>, kind: Kind) -> Change {
        let (entity, id) = (entity.to_owned(), id.map(|id| GivenId::Text(id.to_owned())));
        let (expected, author, name) = (None, Author::Service, None);
        let mut change = Change { entity, id, kind, expected, author, name };
        let expected = match &mut change.kind {
            Kind::Create(document) => {
                document.remove("version");
                None
            }
            Kind::Update(document) | Kind::Put(document) => document.remove("version"),
            Kind::Delete => None,
        };
        change.expected = match expected {
            None | Some(Value::Null) => None,
            Some(Value::S(version)) => Some(version),
            // Versions are texts, so this one matches none.
            Some(other) => Some(other.to_string()),
        };
        change
    }
}

fn item<T: Serialize + ?Sized>(document: &T) -> Result<Item, Error> {
    to_item(document).map_err(Error::Document)
}

impl Db {
    /// Creates an entity.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::{Db, Error, Value};
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # let model = "[entity.task]\nfields.name = \"text\"\nfields.done = \"bool = false\"\n\
    /// #     list.all = {}";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// let task = db.create("task", &json!({ "name": "cook" })).await?;
    /// assert_eq!(task.get("done"), Some(&Value::from(false))); // its default
    /// // An error contains all violations.
    /// let refused = db.create("task", &json!({ "nmae": "read", "done": 1 })).await;
    /// assert!(matches!(refused, Err(Error::Fields { errors, .. }) if errors.len() == 3));
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    ///
    /// # Errors
    ///
    /// If it breaks a rule of the model: [`Error::Fields`], [`Error::UniqueViolation`], [`Error::Exists`],
    /// [`Error::TargetGone`].
    pub async fn create<T: Serialize + ?Sized>(
        &self,
        entity: &str,
        document: &T,
    ) -> Result<Record, Error> {
        Change::create(entity, document)?.make(self).await
    }

    /// Changes some fields, as a JSON merge patch does: null removes a field, omitted fields stay.
    /// A patch that changes nothing writes nothing.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::{Db, Value};
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # let model = "[entity.player]\nfields.points = \"int\"\nfields.team = \"text?\"";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// let ann = db.create("player", &json!({ "points": 1, "team": "red" })).await?;
    /// let patch = json!({ "points": { "$add": 5 }, "team": null });
    /// let ann = db.update("player", ann.id(), &patch).await?;
    /// assert_eq!(ann.get("points"), Some(&Value::from(6)));
    /// assert_eq!(ann.get("team"), None);
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Db::create`]; [`Error::NotFound`]; and [`Error::VersionMismatch`] if the patch contains a
    /// `version` that is not the entity's.
    pub async fn update<T: Serialize + ?Sized>(
        &self,
        entity: &str,
        id: &str,
        patch: &T,
    ) -> Result<Record, Error> {
        Change::update(entity, id, patch)?.make(self).await
    }

    /// Replaces all fields. Where callers choose ids, it creates the entity if it does not exist.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::{Db, Value};
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # let model = "[entity.setting]\nid = \"given\"\nfields.value = \"text\"";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// db.put("setting", "theme", &json!({ "value": "dark" })).await?;
    /// let theme = db.put("setting", "theme", &json!({ "value": "light" })).await?;
    /// assert_eq!(theme.get("value"), Some(&Value::from("light")));
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Db::update`].
    pub async fn put<T: Serialize + ?Sized>(
        &self,
        entity: &str,
        id: &str,
        document: &T,
    ) -> Result<Record, Error> {
        Change::put(entity, id, document)?.make(self).await
    }

    /// Deletes an entity, and applies the deletion rules of references and children. Readers see all
    /// of it or nothing, however many entities it affects.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::{Db, Error};
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # let model = "[entity.person]\n[entity.task]\nfields.owner = \"ref person\"";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// let ann = db.create("person", &json!({})).await?;
    /// let task = db.create("task", &json!({ "owner": ann.id() })).await?;
    /// // The task refers to her.
    /// assert!(matches!(db.delete("person", ann.id()).await, Err(Error::InUse { .. })));
    /// db.delete("task", task.id()).await?;
    /// db.delete("person", ann.id()).await?;
    /// assert!(db.get("person", ann.id()).await?.is_none());
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`]; [`Error::InUse`] if a reference forbids it.
    pub fn delete<'a>(&'a self, entity: &'a str, id: &'a str) -> Answer<'a, ()> {
        Box::pin(async move { self.transact(vec![Change::delete(entity, id)]).await.map(|_| ()) })
    }

    /// Makes several changes, all or none. Returns the entity after each change; none if it was
    /// deleted.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::{Change, Db, Value};
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # let model = "[entity.account]\nid = \"given\"\nfields.cents = \"int 0..\"";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// # for (id, cents) in [("ann", 1000), ("bo", 0)] {
    /// #     db.create("account", &json!({ "id": id, "cents": cents })).await?;
    /// # }
    /// let add = |id, cents| Change::update("account", id, &json!({ "cents": { "$add": cents } }));
    /// db.transact(vec![add("ann", -500)?, add("bo", 500)?]).await?;
    /// // `cents` is an `int 0..`, and Ann has 500: nothing changes.
    /// assert!(db.transact(vec![add("ann", -900)?, add("bo", 900)?]).await.is_err());
    /// let bo = db.get("account", "bo").await?.expect("it exists");
    /// assert_eq!(bo.get("cents"), Some(&Value::from(500)));
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    ///
    /// # Errors
    ///
    /// As the single changes; [`Error::TooLarge`] if they do not fit into one transaction;
    /// [`Error::NameTwice`] if two have the same [name](Change::named).
    pub fn transact(&self, changes: Vec<Change>) -> Answer<'_, Vec<Option<Record>>> {
        Box::pin(async move { self.transact_with(changes, vec![]).await })
    }

    /// As [`Db::transact`], with piggybacked rows. Returns [`Error::Contended`] if the condition of
    /// one of them does not hold.
    pub(crate) async fn transact_with(
        &self,
        changes: Vec<Change>,
        mut piggybacked: Vec<PlannedAction>,
    ) -> Result<Vec<Option<Record>>, Error> {
        let orphans = keys_of_deleted(self, changes.iter().filter_map(Change::deleted_job)).await?;
        piggybacked.extend(orphans.into_iter().map(|key| removal(&self.shared.table, key)));
        let mut request = (changes, piggybacked);
        loop {
            let (schema, again) = (self.shared.schema(), self.shared.keep_for_retry(&request));
            let (changes, piggybacked) = request;
            let done = self.transact_under(&schema, changes, piggybacked).await;
            match again {
                Some(again) if self.shared.is_superseded(&schema, &done).await? => request = again,
                Some(_) | None => return done,
            }
        }
    }

    /// Makes changes that are decided by a schema.
    async fn transact_under(
        &self,
        schema: &Arc<Schema>,
        changes: Vec<Change>,
        piggybacked: Vec<PlannedAction>,
    ) -> Result<Vec<Option<Record>>, Error> {
        let intents = resolve(changes, self.scope(schema), &self.shared.stamps)?;
        let request = WriteRequest {
            intents,
            piggybacked,
            user: self.user.clone(),
            ..WriteRequest::default()
        };
        let executed = self.shared.executor(schema).execute(&request).await;
        let executed = executed.map_err(|error| self.shown_error(error))?;
        Ok(Record::all(schema, executed.into_iter().map(|done| done.after).collect()))
    }
}
