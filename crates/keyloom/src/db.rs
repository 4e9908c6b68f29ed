//! The database: a model on a store.

use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, PoisonError, RwLock};

use keyloom_model::{Entity, EntityId, EntityKey, Model};
use keyloom_query::{CursorKey, Reader};
use keyloom_store::{Clock, Read, Store, SystemClock, TableName};
use keyloom_value::Value;

use crate::answer::Answer;
use crate::background::{Calls, Others, Running};
use crate::error::{Error, TenantProblem};
use crate::events::Heart;
use crate::explain::Watch;
use crate::ordinals::Ordinals;
use crate::schema::{Schema, Stored, open_schema, reopen_schema};
use crate::stamp::{Entropy, Stamps, SystemEntropy};
use crate::write::{Executor, WriteContext};

/// A model on a store. Clones are the same database.
///
/// Every method can be called from many tasks and threads at once. A future that is dropped before
/// it is ready leaves its change whole or not at all. A deletion of very many entities happens at
/// one moment; if its call ends before all is removed, [`Db::work`] and [`Db::resume_deletions`]
/// remove the rest, also after the database was opened again. Until one of them is called, it takes
/// up space and is not seen; who needs one of the entities removes that.
///
/// On a store that several processes share, all of them have one model: whoever changes it stops
/// the others first. One that goes on with the old model does not keep what came with the new one.
#[derive(Clone)]
pub struct Db {
    pub(crate) shared: Arc<Shared>,
    pub(crate) tenant: Option<Value>,
    /// Who keeps count of reads, if anybody does.
    pub(crate) watch: Option<Arc<Watch>>,
    /// What reads are of, if it is one moment.
    pub(crate) moment: Option<Moment>,
}

/// A moment of the store, and the schema of before it: what became ready later is not whole in it.
#[derive(Clone)]
pub(crate) struct Moment {
    pub(crate) store: Arc<dyn Read>,
    pub(crate) schema: Arc<Schema>,
}

/// How a database is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// The name of the table that everything is kept in.
    pub table: String,
    /// What time it is: defaults, expiry and ids depend on it.
    pub clock: Arc<dyn Clock>,
    /// Where ids and the secret of cursors come from.
    pub entropy: Arc<dyn Entropy>,
    /// How tags and facets are kept. On data that is kept otherwise, it takes a backfill.
    pub matching: MatchingUse,
}

/// How what is looked for by tags and facets is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MatchingUse {
    /// As sets of the store, where it has any: small and fast. Otherwise as rows.
    #[default]
    Sets,
    /// As rows of the table, also where the store has sets.
    Rows,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            table: "keyloom".to_owned(),
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
            matching: MatchingUse::Sets,
        }
    }
}

pub(crate) struct Shared {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) table: TableName,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) stamps: Stamps,
    pub(crate) ordinals: Ordinals,
    /// The deletions that calls are at.
    pub(crate) running: Running,
    /// The deletions that other processes are at.
    pub(crate) others: Others,
    /// Other long work that calls are at.
    pub(crate) calls: Calls,
    pub(crate) cursor_key: CursorKey,
    /// Whether jobs of workers that are gone were released since the store was opened.
    pub(crate) are_orphans_released: AtomicBool,
    /// The heartbeat of this process, where others share the store.
    pub(crate) heart: Heart,
    /// Whether what was imported last was new.
    pub(crate) imports_are_new: AtomicBool,
    /// The model as it was opened.
    text: String,
    schema: RwLock<Arc<Schema>>,
}

impl Shared {
    /// The schema of this moment.
    pub(crate) fn schema(&self) -> Arc<Schema> {
        self.schema.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes up what other processes have done to the models that are kept: that a backfill is
    /// done, for one.
    ///
    /// # Errors
    ///
    /// If another model is in force.
    pub(crate) async fn refresh(&self) -> Result<Stored, Error> {
        let stored = Stored::load(&*self.store, &self.table).await?;
        let stored = stored.ok_or_else(|| Error::damaged("The table contains no model."))?;
        let schema = reopen_schema(&self.text, &stored)?.ok_or(Error::ModelChanged)?;
        *self.schema.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(schema);
        Ok(stored)
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
            running: &self.running,
            now_ms: self.now_ms(),
        }
    }

    pub(crate) fn executor<'a>(&'a self, schema: &'a Schema) -> Executor<'a> {
        Executor::new(self.write_context(schema))
    }

    pub(crate) fn reader<'a>(&'a self, schema: &'a Schema) -> Reader<'a> {
        self.write_context(schema).reader()
    }
}

impl Db {
    /// Opens a model on a store: makes the table if there is none, and otherwise makes sure that
    /// the data fits the model.
    ///
    /// # Errors
    ///
    /// If the model has errors, if the data was written under a model that cannot become this one,
    /// or if the store fails.
    pub async fn open(model: &str, store: Arc<dyn Store>) -> Result<Db, Error> {
        Db::open_with(model, store, Options::default()).await
    }

    /// Opens a model on a store, with options.
    ///
    /// # Errors
    ///
    /// As [`Db::open`].
    pub fn open_with(model: &str, store: Arc<dyn Store>, options: Options) -> Answer<'_, Db> {
        Box::pin(async move {
            let table = TableName::new(&options.table).map_err(keyloom_store::Error::from)?;
            let opened = open_schema(model, &*store, &table, &options).await?;
            let stamps = Stamps::new(options.clock.clone(), options.entropy);
            let shared = Shared {
                store,
                table,
                clock: options.clock,
                stamps,
                ordinals: Ordinals::default(),
                running: Running::default(),
                others: Others::default(),
                calls: Calls::default(),
                are_orphans_released: AtomicBool::new(false),
                heart: Heart::default(),
                imports_are_new: AtomicBool::new(true),
                cursor_key: opened.cursor_key,
                text: model.to_owned(),
                schema: RwLock::new(Arc::new(opened.schema)),
            };
            let db = Db { shared: Arc::new(shared), tenant: None, watch: None, moment: None };
            db.begin_consumers().await?;
            Ok(db)
        })
    }

    /// The same database for one tenant: sees and changes what is the tenant's, and what all share.
    /// Who may change what all share is for the caller to decide: deleting it can take along what
    /// other tenants keep, if the model says so.
    #[must_use]
    pub fn tenant(&self, tenant: impl Into<Value>) -> Db {
        Db { tenant: Some(tenant.into()), ..self.clone() }
    }

    /// The same database, all of whose reads are of this moment, so that what several of them bring
    /// fits together: a page and its total, for one. Drop it when they are done: a moment keeps what
    /// is removed after it on disk. Writes happen as always, and are not seen.
    ///
    /// On a store that cannot hold a moment, such as DynamoDB, and in a database that is
    /// [explained](Db::explained), reads are each of a moment of their own.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub fn at_one_moment(&self) -> Answer<'_, Db> {
        Box::pin(async move {
            let schema = self.shared.schema();
            let moment = match (&self.moment, &self.watch) {
                (Some(moment), _) => Some(moment.clone()),
                (None, Some(_)) => None,
                (None, None) => match self.shared.store.snapshot().await {
                    Err(keyloom_store::Error::Unsupported { .. }) => None,
                    store => Some(Moment { store: store?, schema }),
                },
            };
            Ok(Db { moment, ..self.clone() })
        })
    }

    /// The model as it was opened.
    pub fn model(&self) -> Model {
        self.shared.schema().model().clone()
    }

    /// The key of an entity, for this tenant.
    pub(crate) fn key(
        &self,
        schema: &Schema,
        entity: EntityId,
        id: impl Into<String>,
    ) -> Result<EntityKey, Error> {
        Ok(EntityKey { entity, tenant: self.tenant_of(schema, entity)?, id: id.into() })
    }

    /// The tenant, as far as entities of a kind belong to one.
    pub(crate) fn tenant_of(
        &self,
        schema: &Schema,
        entity: EntityId,
    ) -> Result<Option<Value>, Error> {
        let model = schema.model();
        let Some(field) = model.tenant_field(entity) else { return Ok(None) };
        let entity = &model.entity(entity).name;
        let problem = |problem| Error::Tenant { entity: entity.clone(), problem };
        let tenant = self.tenant.clone().ok_or_else(|| problem(TenantProblem::Missing))?;
        match field.check(&tenant) {
            Ok(()) => Ok(Some(tenant)),
            Err(_) => Err(problem(TenantProblem::Unfit)),
        }
    }
}

/// The entity of a name.
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

/// The error for a name that leads nowhere.
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
            .finish_non_exhaustive()
    }
}
