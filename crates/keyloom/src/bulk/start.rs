//! Making a bulk change, and starting it.

use keyloom_model::{Entity, EntityId, EntityKey, FieldErrorKind, Image, LengthUnit};
use keyloom_store::{Query, Select};
use keyloom_value::{Item, Value};
use serde::Serialize;

use super::{BulkOperation, BulkRecord, Marker};
use crate::answer::Answer;
use crate::db::Db;
use crate::document::to_item;
use crate::error::Error;
use crate::pieces::Pieces;
use crate::read::ListQuery;
use crate::unknown::find_entity;
use crate::write::{Author, IdempotencyKey, PlannedAction};

/// How many operations of a tenant can run at once.
const OPEN_MAX: u64 = 20;
/// The record of an operation is a row of at most 400 KB, and holds the query and failures too.
const PATCH_BYTES_MAX: usize = 256 * 1024;

/// A change of all entities of a query, made by [`ListQuery::update_all`] and [`ListQuery::delete_all`].
///
/// ```
/// # use std::sync::Arc;
/// # use keyloom::Db;
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
/// for name in ["cook", "read"] {
///     db.create("task", &json!({ "name": name, "tags": { "room": "kitchen" } })).await?;
/// }
/// let bulk = db.list("task", "all").tag("room", "kitchen").update_all(&json!({ "done": true }))?;
/// bulk.start().await?;
/// // A server's workers do this.
/// while db.list("task", "open").total().await?.count > 0 {
///     db.advance_bulk().await?;
/// }
/// # Ok::<(), keyloom::Error>(())
/// # }).expect("the example runs");
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Bulk {
    query: ListQuery,
    /// None to delete.
    patch: Option<Item>,
    author: Author,
    key: Option<String>,
}

/// An operation that was started.
///
/// [`Bulk::idempotent`] has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StartedBulk {
    /// The operation.
    pub operation: BulkOperation,
    /// Whether an earlier request with the same key has started it.
    pub is_replayed: bool,
}

impl ListQuery {
    /// A change of some fields of all entities of this query, in the background: as
    /// [`Db::update`] for each of them. The order, limit and cursor of the query make no difference.
    ///
    /// [`Bulk`] has an example.
    ///
    /// # Errors
    ///
    /// If the patch is not an object.
    pub fn update_all<T: Serialize + ?Sized>(&self, patch: &T) -> Result<Bulk, Error> {
        Ok(self.update_all_item(to_item(patch).map_err(Error::Document)?))
    }

    /// As [`ListQuery::update_all`], with a patch that is an item already.
    pub fn update_all_item(&self, patch: Item) -> Bulk {
        Bulk::new(self, Some(patch))
    }

    /// A deletion of all entities of this query, in the background: as [`Db::delete`] for each of them.
    ///
    /// [`Db::bulk_operation`] has an example.
    pub fn delete_all(&self) -> Bulk {
        Bulk::new(self, None)
    }
}

impl Bulk {
    fn new(query: &ListQuery, patch: Option<Item>) -> Bulk {
        Bulk { query: query.clone(), patch, author: Author::Service, key: None }
    }

    /// Makes the change for a client of the program, as [`Change::from_client`](crate::Change::from_client).
    pub fn from_client(mut self) -> Bulk {
        self.author = Author::Client;
        self
    }

    /// Starts it once, however often it is started with this key: see [`Db::transact_idempotent`].
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::Db;
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # let model = "[entity.task]\nfields.name = \"text\"\nlist.all = {}";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// let bulk = db.list("task", "all").delete_all().idempotent("clean up 2026-11-19");
    /// let first = bulk.start().await?;
    /// let again = bulk.start().await?;
    /// assert!(again.is_replayed);
    /// assert_eq!(again.operation.id, first.operation.id);
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    pub fn idempotent(mut self, key: &str) -> Bulk {
        self.key = Some(key.to_owned());
        self
    }

    /// Starts it. [`Db::advance_bulk`] runs it, also in another process; [`Db::work`] calls that.
    ///
    /// # Errors
    ///
    /// If the query or the patch is invalid for every entity; [`Error::TooManyOperations`]; with a key,
    /// those of [`Db::transact_idempotent`]; if the store fails.
    pub fn start(&self) -> Answer<'_, StartedBulk> {
        Box::pin(self.start_once())
    }

    async fn start_once(&self) -> Result<StartedBulk, Error> {
        let key = self.key.as_deref().map(|key| self.idempotency_key(key)).transpose()?;
        let Some(key) = key else { return self.start_new(None).await };
        if let Some(started) = self.started(&key).await? {
            return Ok(started);
        }
        match self.start_new(Some(&key)).await {
            Ok(started) => Ok(started),
            // A concurrent request with the same key may have been faster.
            Err(error) => self.started(&key).await?.ok_or(error),
        }
    }

    async fn start_new(&self, key: Option<&IdempotencyKey>) -> Result<StartedBulk, Error> {
        self.check().await?;
        let db = &self.query.db;
        let shared = &db.shared;
        let (schema, id) = (shared.schema(), shared.stamps.next()?);
        let (entity, _) = find_entity(&schema, &self.query.entity)?;
        let patch = self.patch.clone().map(storable);
        let record = BulkRecord::new(id, &self.query, patch, self.author);
        let table = &shared.table;
        let mut actions: Vec<PlannedAction> = vec![record.put(table), record.marker().put(table)];
        let ctx = shared.write_context(&schema);
        if let Some(key) = key {
            actions.push(key.record(&ctx, &[Some(&named(&record, entity))])?);
        }
        if !ctx.commit_difference(actions).await?.is_done() {
            return Err(Error::Contended);
        }
        shared.bulks.wake();
        Ok(StartedBulk { operation: record.operation, is_replayed: false })
    }

    /// The operation that an earlier request with the key has started.
    async fn started(&self, key: &IdempotencyKey) -> Result<Option<StartedBulk>, Error> {
        let shared = &self.query.db.shared;
        let schema = shared.schema();
        let Some(id) = key.look_up_id(&shared.write_context(&schema)).await? else {
            return Ok(None);
        };
        let operation = self.query.db.bulk_operation(&id).await?;
        Ok(operation.map(|operation| StartedBulk { operation, is_replayed: true }))
    }

    fn idempotency_key(&self, key: &str) -> Result<IdempotencyKey, Error> {
        let mut pieces = Pieces::new();
        pieces.add("bulk");
        pieces.add_some(Some(self.query.to_item()));
        pieces.add_some(self.patch.as_ref());
        IdempotencyKey::of(key, &self.query.db, pieces.hash())
    }

    /// Checks what can be known before the first entity is found.
    async fn check(&self) -> Result<(), Error> {
        let ListQuery { db, entity, .. } = &self.query;
        // It runs later, without the user.
        if db.user.as_deref().is_some_and(|user| !user.writes_all()) {
            let what = format!("changing all `{entity}` of a list requires the role `writer`");
            return Err(Error::Forbidden { what });
        }
        // A read finds out whether the query is valid.
        self.query.first_page().read().await?;
        if let Some(patch) = &self.patch {
            let schema = db.shared.schema();
            check_patch(find_entity(&schema, entity)?.1, patch)?;
            let (bytes, bytes_max) = (patch.size(), PATCH_BYTES_MAX);
            if bytes > bytes_max {
                return Err(Error::EntityTooLarge { entity: entity.clone(), bytes, bytes_max });
            }
        }
        match open_operations(db).await? < OPEN_MAX {
            true => Ok(()),
            false => Err(Error::TooManyOperations { operations_max: OPEN_MAX }),
        }
    }
}

/// What an idempotency record keeps: the id of the operation in place of that of an entity.
fn named(record: &BulkRecord, entity: EntityId) -> Image {
    let id = record.operation.id.clone();
    let key = EntityKey { entity, tenant: None, id };
    Image { key, version: String::new(), fields: Item::default(), ordinal: None }
}

/// The number of operations of a tenant that have not ended.
async fn open_operations(db: &Db) -> Result<u64, Error> {
    let query = Marker::query_of(db, Marker::partition());
    let query = Query { select: Select::Count, ..query };
    Ok(db.shared.store.query(query).await?.count)
}

/// Refuses a patch that no entity can take.
fn check_patch(entity: &Entity, patch: &Item) -> Result<(), Error> {
    let hopeless = |kind: &FieldErrorKind| {
        matches!(
            kind,
            FieldErrorKind::Unknown { .. }
                | FieldErrorKind::Reserved
                | FieldErrorKind::WrongType { .. }
                | FieldErrorKind::NotAMember { .. }
                | FieldErrorKind::NotATime { .. }
                | FieldErrorKind::NotBase64
                | FieldErrorKind::TooDeep { .. }
                // The store would not take the patch itself.
                | FieldErrorKind::Length { unit: LengthUnit::NameBytes, .. }
        )
    };
    let Err(mut errors) = entity.admit_patch(&Item::default(), patch) else { return Ok(()) };
    errors.retain(|error| hopeless(error.kind()));
    match errors.is_empty() {
        true => Ok(()),
        false => Err(Error::Fields { entity: entity.name.clone(), errors }),
    }
}

/// A patch without members that remove an empty name: no entity has one, and no row can.
fn storable(patch: Item) -> Item {
    let kept = patch
        .into_iter()
        .filter(|(name, value)| !name.as_str().is_empty() || *value != Value::Null);
    let nested = |value: Value| match value {
        Value::M(members) => Value::M(storable(members)),
        other => other,
    };
    kept.map(|(name, value)| (name, nested(value))).collect()
}
