//! The database: a model on a store.

use std::fmt;
use std::sync::Arc;

use keyloom_model::Model;
use keyloom_query::{CursorKey, Dependencies, Reader};
use keyloom_store::{Read, Store, TableSpec};
use keyloom_value::Value;

use crate::access::User;
use crate::answer::Answer;
use crate::error::Error;
use crate::events::Checkpoints;
use crate::explain::Watch;
use crate::options::Options;
use crate::schema::{Schema, table_of};
use crate::scope::Scope;
use crate::shared::Shared;

/// A model on a store. Clones share one database.
///
/// All methods can be called from many tasks and threads at once. Dropping a future before it is
/// ready leaves its change applied completely or not at all. A deletion of very many entities takes
/// effect at one moment; if its call ends before everything is removed, [`Db::work`] and
/// [`Db::resume_deletions`] remove the rest, also after the database was opened again. Until then,
/// the rest is invisible and takes up space; a write that needs the id or a unique value of one of
/// the entities removes that entity first.
///
/// Processes can share a store, such as DynamoDB. The model is stored with the data: if one process
/// opens it with a new model, the others load that model with their next write, or within seconds
/// while they call [`Db::work`]. A write that was decided under the old model is never applied after
/// one under the new model. A process whose version of the library cannot read the new model does not
/// write any more ([`Error::ModelChanged`]).
///
/// The [crate](crate) has an example of the usual calls; most methods have one of their own.
#[derive(Clone)]
pub struct Db {
    pub(crate) shared: Arc<Shared>,
    pub(crate) tenant: Option<Value>,
    /// The user whom the access rules of the model limit; none if the program itself reads and writes.
    pub(crate) user: Option<Arc<User>>,
    /// Records reads, if the database is explained.
    pub(crate) watch: Option<Arc<Watch>>,
    /// The snapshot that reads use; without it, each read sees the current state.
    pub(crate) snapshot: Option<Snapshot>,
    /// Where to note what is read, for live reads.
    pub(crate) noted: Option<Arc<Dependencies>>,
}

/// A snapshot of the store, and the schema from before it was taken: lists that became ready later
/// are incomplete in the snapshot.
#[derive(Clone)]
pub(crate) struct Snapshot {
    pub(crate) store: Arc<dyn Read>,
    pub(crate) schema: Arc<Schema>,
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").field("as_of", &self.store.as_of()).finish_non_exhaustive()
    }
}

impl Snapshot {
    /// The snapshot of a database, or a new one; `None` if the store has no snapshots or the reads
    /// are recorded.
    pub(crate) async fn take(db: &Db) -> Result<Option<Snapshot>, Error> {
        match (&db.snapshot, &db.watch) {
            (Some(snapshot), _) => Ok(Some(snapshot.clone())),
            (None, Some(_)) => Ok(None),
            (None, None) => {
                let schema = db.shared.schema();
                match db.shared.store.snapshot().await {
                    Err(keyloom_store::Error::Unsupported { .. }) => Ok(None),
                    store => Ok(Some(Snapshot { store: store?, schema })),
                }
            }
        }
    }
}

impl Db {
    /// The database of a tenant, or of all.
    pub(crate) fn new(shared: Arc<Shared>, tenant: Option<Value>) -> Db {
        Db { shared, tenant, user: None, watch: None, snapshot: None, noted: None }
    }

    /// Opens a model on a store. Creates the table if it does not exist; otherwise checks that the
    /// data fits the model.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::{Db, Error};
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # pollster::block_on(async {
    /// # let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    /// let db = Db::open("[entity.task]\nfields.name = \"text\"", store.clone()).await?;
    /// assert!(db.model().find("task").is_some());
    /// // An error contains all errors of the model, each with its line.
    /// let refused = Db::open("[entity.task]\nfields.name = \"txt\"\nlist.all = 1", store).await;
    /// assert!(matches!(refused, Err(Error::Model(errors)) if errors.len() == 2));
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    ///
    /// # Errors
    ///
    /// If the model has errors, if the data was written under an incompatible model, or if the store
    /// fails.
    pub async fn open(model: &str, store: Arc<dyn Store>) -> Result<Db, Error> {
        Db::open_with(model, store, Options::default()).await
    }

    /// Opens a model on a store, with options.
    ///
    /// [`Options`] has an example.
    ///
    /// # Errors
    ///
    /// As [`Db::open`].
    pub fn open_with(model: &str, store: Arc<dyn Store>, options: Options) -> Answer<'_, Db> {
        Box::pin(async move {
            let shared = Arc::new(Shared::open(model, store, options).await?);
            Checkpoints::new(&shared).create_missing().await?;
            Ok(Db::new(shared, None))
        })
    }

    /// Returns the table that [`Db::open_with`] creates for a model on a store without sets, such as
    /// DynamoDB: its key, indexes, time to live and feed. For tools that create it beforehand.
    ///
    /// # Errors
    ///
    /// If the model or the name of the table is invalid, or the model needs more indexes than a table of
    /// DynamoDB can have.
    pub fn table_spec(model: &str, table: &str) -> Result<TableSpec, Error> {
        table_of(model, table)
    }

    /// Replaces the model while the database is in use, as opening it with the new one would: the data is
    /// checked first, and [`Db::backfill`] rewrites it afterwards. Reads go on under the old model until
    /// the change. Writes wait while the data is checked; one that was decided under the old model is not
    /// applied after the change, but decided again.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::{Db, Error};
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # let model = "[entity.task]\nfields.name = \"text\"";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// db.create("task", &json!({ "name": "cook" })).await?;
    /// // Existing tasks would lack a required value.
    /// let model = "[entity.task]\nfields.name = \"text\"\nfields.due = \"time\"";
    /// assert!(matches!(db.change_model(model).await, Err(Error::Evolution(_))));
    /// let model = "[entity.task]\nfields.name = \"text\"\nfields.due = \"time?\"";
    /// db.change_model(model).await?;
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Db::open`]; then nothing has changed.
    pub fn change_model<'a>(&'a self, model: &'a str) -> Answer<'a, ()> {
        Box::pin(async move {
            self.shared.change_model(model).await?;
            Checkpoints::new(&self.shared).create_missing().await
        })
    }

    /// Returns the same database for one tenant: it reads and writes the tenant's entities and those
    /// that all tenants share. The caller decides who may change shared entities: if the model says
    /// so, deleting one cascades to entities of other tenants.
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
    ///     tenant = "team"
    ///     fields.team = "text"
    ///     fields.name = "text"
    /// "#;
    /// let db = Db::open(model, store).await?;
    /// let (red, blue) = (db.tenant("red"), db.tenant("blue"));
    /// let task = red.create("task", &json!({ "name": "cook" })).await?;
    /// assert!(red.get("task", task.id()).await?.is_some());
    /// assert!(blue.get("task", task.id()).await?.is_none());
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    #[must_use]
    pub fn tenant(&self, tenant: impl Into<Value>) -> Db {
        Db { tenant: Some(tenant.into()), ..self.clone() }
    }

    /// Returns the same database for one user: reads return what the access rules of the model let them
    /// see, and changes that the rules do not allow are refused with [`Error::Forbidden`]. What an
    /// operator does is not limited: explaining, exporting, importing, verifying, events and jobs.
    ///
    /// A rule decides about one entity at the moment of the change. What the change causes follows the
    /// model, as without a user: a deletion cascades, and a reference can be to an entity that the user
    /// cannot see.
    ///
    /// [`User`] has an example.
    #[must_use]
    pub fn user(&self, user: User) -> Db {
        Db { user: Some(user.into()), ..self.clone() }
    }

    /// Returns the same database as of this moment, so that several reads are consistent with each
    /// other, such as a page and its total. Drop it after reading: a snapshot keeps removed data on
    /// disk. Writes work as usual; its reads do not see them.
    ///
    /// On a store without snapshots, such as DynamoDB, and in a database that is
    /// [explained](Db::explained), each read is of its own moment.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use keyloom::Db;
    /// # use keyloom_store::{MemoryStore, SystemClock};
    /// # use serde_json::json;
    /// # let model = "[entity.task]\nfields.name = \"text\"\nlist.all = {}";
    /// # pollster::block_on(async {
    /// # let db = Db::open(model, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
    /// let moment = db.at_one_moment().await?;
    /// db.create("task", &json!({ "name": "cook" })).await?;
    /// assert!(moment.list("task", "all").read().await?.items.is_empty());
    /// assert_eq!(db.list("task", "all").read().await?.items.len(), 1);
    /// # Ok::<(), keyloom::Error>(())
    /// # }).expect("the example runs");
    /// ```
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub fn at_one_moment(&self) -> Answer<'_, Db> {
        Box::pin(async move { Ok(Db { snapshot: Snapshot::take(self).await?, ..self.clone() }) })
    }

    /// The same database, as of this moment if its reads must be consistent with each other.
    pub(crate) async fn at_one_moment_if(&self, is_needed: bool) -> Result<Db, Error> {
        match is_needed && self.snapshot.is_none() {
            true => self.at_one_moment().await,
            false => Ok(self.clone()),
        }
    }

    /// Returns the model in force: the one that the database was opened with, or a later one that
    /// another process has opened it with since.
    ///
    /// [`Db::open`] has an example.
    pub fn model(&self) -> Model {
        self.shared.schema().model().clone()
    }

    /// The reader of a caller: one that is recorded, or of a snapshot, if that was asked for.
    pub(crate) fn reader<'a>(&'a self, schema: &'a Schema) -> Reader<'a> {
        let noted = self.noted.as_deref();
        let reader = Reader { noted, ..self.shared.reader(schema) };
        match (&self.watch, &self.snapshot) {
            (Some(watch), _) => Reader { store: &watch.store, ..reader },
            (None, Some(snapshot)) => Reader { store: &*snapshot.store, ..reader },
            (None, None) => reader,
        }
    }

    /// The model as this database's tenant and user use it.
    pub(crate) fn scope<'a>(&'a self, schema: &'a Schema) -> Scope<'a> {
        Scope { schema, tenant: self.tenant.as_ref(), user: self.user.as_deref() }
    }

    /// The key of cursors. Those of a user may be at positions of what they may not see.
    pub(crate) fn cursors(&self) -> CursorKey {
        match self.user {
            Some(_) => self.shared.cursor_key.hiding(),
            None => self.shared.cursor_key.clone(),
        }
    }

    /// An error without what the user may not see: which entity has a unique value.
    pub(crate) fn shown_error(&self, mut error: Error) -> Error {
        if let Error::UniqueViolation { owner, .. } = &mut error
            && self.user.is_some()
        {
            *owner = None;
        }
        error
    }
}

impl fmt::Debug for Db {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Db")
            .field("table", &self.shared.table)
            .field("tenant", &self.tenant)
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}
