//! What all handles of one database share: the store, the schema in force, and the state of whoever
//! works on it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use keyloom_query::{CursorKey, Reader};
use keyloom_store::{Clock, Store, TableName};

use crate::background::{Calls, Folding, Leases, Others, Running, Settling};
use crate::bulk::Bulks;
use crate::error::Error;
use crate::events::{Heart, Lags};
use crate::live::Hub;
use crate::options::Options;
use crate::ordinals::Ordinals;
use crate::schema::{Head, Opened, Schema, Stored, complete_switch, open_schema, reopen_schema};
use crate::stamp::Stamps;
use crate::write::{
    Attempts, Executor, Fence, FencedBy, Gate, GatedBy, Groups, Registry, Sequences, Turns,
    WriteContext,
};

/// The state of a database.
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
    /// Opens the state of a database.
    pub(crate) async fn open(
        model: &str,
        store: Arc<dyn Store>,
        options: Options,
    ) -> Result<Shared, Error> {
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
    pub(crate) async fn change_model(&self, model: &str) -> Result<(), Error> {
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
