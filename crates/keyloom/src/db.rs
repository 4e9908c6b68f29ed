//! The database: a model on a store.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use keyloom_model::{Entity, EntityId, Model};
use keyloom_query::{CursorKey, Dependencies, Reader};
use keyloom_store::{Clock, Read, Store, SystemClock, TableName};
use keyloom_value::Value;

use crate::access::User;
use crate::answer::Answer;
use crate::background::{Calls, Folding, Leases, Others, Running, Settling};
use crate::bulk::Bulks;
use crate::error::Error;
use crate::events::{Checkpoints, Heart, Lags};
use crate::explain::Watch;
use crate::live::Hub;
use crate::ordinals::Ordinals;
use crate::schema::{Head, Opened, Schema, Stored, complete_switch, open_schema, reopen_schema};
use crate::scope::Scope;
use crate::stamp::{Entropy, Stamps, SystemEntropy};
use crate::write::{
    Attempts, Executor, Fence, FencedBy, Gate, GatedBy, Groups, Registry, Sequences, Turns,
    WriteContext,
};

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

/// Options of [`Db::open_with`].
///
/// ```
/// # use std::sync::Arc;
/// # use keyloom::{Db, MatchingUse, Options};
/// # use keyloom_store::{MemoryStore, SystemClock};
/// # use serde_json::json;
/// # let model = "[entity.shop]\nfields.name = \"text\"\nlist.all = {}";
/// # pollster::block_on(async {
/// # let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
/// // Each table of a store is a database of its own.
/// for table in ["north", "south"] {
///     let options = Options {
///         table: table.to_owned(),
///         matching: MatchingUse::Rows,
///         ..Options::default()
///     };
///     let db = Db::open_with(model, store.clone(), options).await?;
///     db.create("shop", &json!({ "name": table })).await?;
///     assert_eq!(db.list("shop", "all").read().await?.items.len(), 1);
/// }
/// # Ok::<(), keyloom::Error>(())
/// # }).expect("the example runs");
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    /// The name of the table that contains everything.
    pub table: String,
    /// The clock for defaults, expiry, ids and waits between attempts.
    pub clock: Arc<dyn Clock>,
    /// The source of randomness for ids, waits and the secret of cursors.
    pub entropy: Arc<dyn Entropy>,
    /// How tags and facets are stored. Changing it for existing data takes a backfill.
    pub matching: MatchingUse,
    /// Whether a model may replace the one that has replaced it ([`Error::OlderModel`]). Matters only
    /// if processes share the store: otherwise it may in any case.
    pub allow_older_model: bool,
}

/// How the posting lists of tags and facets are stored.
///
/// [`Options`] has an example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MatchingUse {
    /// As sets, if the store has them: small and fast. Otherwise as rows.
    #[default]
    Sets,
    /// As rows of the table, even if the store has sets.
    Rows,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            table: "keyloom".to_owned(),
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
            matching: MatchingUse::Sets,
            allow_older_model: false,
        }
    }
}

pub(crate) struct Shared {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) table: TableName,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) stamps: Stamps,
    pub(crate) ordinals: Ordinals,
    /// Groups in which this process has written deltas of posting lists.
    pub(crate) groups: Groups,
    pub(crate) folding: Folding,
    /// Boards with changes of scores that this process has written.
    pub(crate) boards: Registry,
    pub(crate) settling: Settling,
    /// Whose turn it is at rows that many writers touch.
    pub(crate) turns: Turns,
    /// Whose turn it is at entities whose numbers and lists are added to.
    pub(crate) row_turns: Turns,
    pub(crate) sequences: Sequences,
    /// Deletions that calls of this process are running.
    pub(crate) running: Running,
    /// Deletions that other processes are running.
    pub(crate) others: Others,
    /// What is known of the leases of other processes.
    pub(crate) leases: Leases,
    /// Other background operations that calls of this process are running.
    pub(crate) calls: Calls,
    /// When this process looks for bulk operations.
    pub(crate) bulks: Bulks,
    pub(crate) cursor_key: CursorKey,
    /// Whether jobs of dead workers were released since the store was opened.
    pub(crate) are_orphans_released: AtomicBool,
    /// The heartbeat of this process, where others share the store.
    pub(crate) heart: Heart,
    /// How many writes of entities this process has begun.
    pub(crate) writes: AtomicU64,
    /// How far consumers were behind when that was last measured.
    pub(crate) lags: Lags,
    /// Live reads, and who reads the feed for them.
    pub(crate) hub: Hub,
    /// Whether the last import created all of its entities.
    pub(crate) imports_are_new: AtomicBool,
    /// The fence of this process, where others share the store.
    fence: Option<Fence>,
    /// The gate of this process, where none does.
    gate: Option<Gate>,
    pub(crate) options: Options,
    schema: RwLock<Arc<Schema>>,
}

impl Shared {
    /// Returns the database of a tenant, or of all.
    pub(crate) fn db(self: &Arc<Shared>, tenant: Option<Value>) -> Db {
        Db { shared: self.clone(), tenant, user: None, watch: None, snapshot: None, noted: None }
    }

    async fn open(model: &str, store: Arc<dyn Store>, options: Options) -> Result<Shared, Error> {
        let table = TableName::new(&options.table).map_err(keyloom_store::Error::from)?;
        let opened = open_schema(model, &*store, &table, &options).await?;
        Shared::new(opened, store, table, options)
    }

    /// The state of a database that was opened.
    pub(crate) fn new(
        opened: Opened,
        store: Arc<dyn Store>,
        table: TableName,
        options: Options,
    ) -> Result<Shared, Error> {
        let stamps = Stamps::new(options.clock.clone(), options.entropy.clone());
        let (fence, gate) = match store.opening() {
            Some(_) => (None, Some(Gate::new(opened.schema.epoch))),
            None => (Some(Fence::new(stamps.below(1 << 53)?)), None),
        };
        Ok(Shared {
            store,
            table,
            stamps,
            clock: options.clock.clone(),
            ordinals: Ordinals::default(),
            groups: Groups::default(),
            folding: Folding::default(),
            boards: Registry::default(),
            turns: Turns::default(),
            row_turns: Turns::default(),
            sequences: Sequences::default(),
            settling: Settling::default(),
            running: Running::default(),
            others: Others::default(),
            leases: Leases::default(),
            calls: Calls::default(),
            bulks: Bulks::default(),
            are_orphans_released: AtomicBool::new(false),
            heart: Heart::default(),
            writes: AtomicU64::new(0),
            lags: Lags::default(),
            hub: Hub::default(),
            imports_are_new: AtomicBool::new(true),
            cursor_key: opened.cursor_key,
            fence,
            gate,
            options,
            schema: RwLock::new(Arc::new(opened.schema)),
        })
    }

    /// Returns the current schema.
    pub(crate) fn schema(&self) -> Arc<Schema> {
        self.schema.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Loads what other processes have done to the stored models, such as changing the model or
    /// completing a backfill.
    ///
    /// # Errors
    ///
    /// [`Error::ModelChanged`] if this version cannot read the model in force.
    pub(crate) async fn refresh(&self) -> Result<Stored, Error> {
        let mut attempts = Attempts::new(&self.stamps);
        loop {
            attempts.next().await?;
            let stored = Stored::load(&*self.store, &self.table).await?;
            let mut stored =
                stored.ok_or_else(|| Error::damaged("The table contains no model."))?;
            if complete_switch(&*self.store, &self.table, &mut stored).await? {
                self.replace_schema(reopen_schema(&stored)?);
                return Ok(stored);
            }
        }
    }

    /// Loads the stored models if they have changed. One read of one row, otherwise.
    pub(crate) async fn notice_changes(&self) -> Result<(), Error> {
        let head = Head::load(&*self.store, &self.table).await?;
        if head.is_none_or(|head| head.edit != self.schema().edit) {
            self.refresh().await?;
        }
        Ok(())
    }

    /// After a write that was decided by a schema was refused: returns whether to decide it again,
    /// because another process has changed the model. If it has not, that takes one read of one row.
    pub(crate) async fn is_superseded<T>(
        &self,
        schema: &Schema,
        done: &Result<T, Error>,
    ) -> Result<bool, Error> {
        let Err(error) = done else { return Ok(false) };
        if !error.depends_on_model() {
            return Ok(false);
        }
        if let Some(gate) = &self.gate {
            // A change that was refused leaves the epoch as it is.
            let is_other = gate.epoch_when_open().await != schema.epoch;
            return Ok(is_other || matches!(error, Error::ModelChanged));
        }
        let head = Head::load(&*self.store, &self.table).await?;
        if head.is_some_and(|head| head.epoch == schema.epoch && !head.is_switching()) {
            return Ok(false);
        }
        let stored = self.refresh().await?;
        Ok(stored.head.epoch != schema.epoch)
    }

    /// Identifies this opening of the database, where others share the store.
    pub(crate) fn writer(&self) -> Option<u64> {
        self.fence.as_ref().map(Fence::writer)
    }

    /// Returns a copy of a request: it may have to be decided again, by another model.
    pub(crate) fn keep_for_retry<T: Clone>(&self, request: &T) -> Option<T> {
        (self.fence.is_some() || self.gate.is_some()).then(|| request.clone())
    }

    /// Replaces the model, as opening the store with another one does.
    async fn change_model(&self, model: &str) -> Result<(), Error> {
        let closed = match &self.gate {
            Some(gate) => Some(gate.close().await),
            None => None,
        };
        let opened = open_schema(model, &*self.store, &self.table, &self.options).await?;
        let epoch = opened.schema.epoch;
        self.replace_schema(opened.schema);
        if let Some(closed) = closed {
            closed.open_for(epoch);
        }
        Ok(())
    }

    fn replace_schema(&self, schema: Schema) {
        let mut current = self.schema.write().unwrap_or_else(PoisonError::into_inner);
        // Another call may have loaded a later one.
        if schema.edit >= current.edit {
            *current = Arc::new(schema);
        }
        drop(current);
        // Who begins to wait from now on knows that there is another model.
        self.hub.note_other_model();
    }

    pub(crate) fn now_ms(&self) -> i64 {
        i64::try_from(self.clock.now().0).unwrap_or(i64::MAX)
    }

    pub(crate) fn write_context<'a>(&'a self, schema: &'a Schema) -> WriteContext<'a> {
        WriteContext {
            store: &*self.store,
            table: &self.table,
            layouts: &schema.layouts,
            stamps: &self.stamps,
            ordinals: &self.ordinals,
            groups: &self.groups,
            boards: &self.boards,
            turns: &self.turns,
            row_turns: &self.row_turns,
            sequences: &self.sequences,
            running: &self.running,
            fence: self.fence.as_ref().map(|fence| FencedBy { fence, epoch: schema.epoch }),
            gate: self.gate.as_ref().map(|gate| GatedBy { gate, epoch: schema.epoch }),
            now_ms: self.now_ms(),
        }
    }

    pub(crate) fn executor<'a>(&'a self, schema: &'a Schema) -> Executor<'a> {
        self.writes.fetch_add(1, Ordering::Relaxed);
        Executor::new(self.write_context(schema))
    }

    pub(crate) fn reader<'a>(&'a self, schema: &'a Schema) -> Reader<'a> {
        self.write_context(schema).reader()
    }
}

impl Db {
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
            let db = shared.db(None);
            Checkpoints::new(&db.shared).create_missing().await?;
            Ok(db)
        })
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

    /// The model as this database's tenant and user use it.
    pub(crate) fn scope<'a>(&'a self, schema: &'a Schema) -> Scope<'a> {
        Scope { schema, tenant: self.tenant.as_ref(), user: self.user.as_deref() }
    }
}

/// Finds an entity by name.
pub(crate) fn find_entity<'s>(
    schema: &'s Schema,
    name: &str,
) -> Result<(EntityId, &'s Entity), Error> {
    let model = schema.model();
    let Some(id) = model.find(name) else {
        let names = model.entities().map(|(_, entity)| entity.name.as_str());
        return Err(unknown(format!("The model has no entity `{name}`"), name, names));
    };
    Ok((id, model.entity(id)))
}

/// An unknown name, with the most similar of the known ones.
pub(crate) fn unknown<'n>(what: String, name: &str, known: impl Iterator<Item = &'n str>) -> Error {
    let known: Vec<&str> = known.collect();
    let help = match keyloom_model::nearest(name, &known) {
        Some(close) => Some(format!("did you mean `{close}`?")),
        None if known.is_empty() => None,
        None => Some(format!("expected one of `{}`", known.join("`, `"))),
    };
    Error::Unknown { what, help }
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
