//! The store that behaves as the service does under load.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use keyloom_store::{Clock, Error, Read, Store, TableName, TableSpec, Time};

use super::charge::Charge;
use super::conflicts::Conflicts;
use super::heat::Heat;
use super::lag::Lag;
use super::ledger::Metered;
use super::lifecycle::Lifecycle;
use super::options::StrictOptions;
use super::random::Random;
use super::refusal::Throttled;
use super::shards::Lineage;
use super::spaces::{Founding, Spaces};

/// How much longer a transaction takes than a request of one item.
pub(super) const TRANSACTION_LATENCY: u32 = 3;

/// A store that behaves as the service does under load, on top of a store that does not. See the
/// [options](StrictOptions) for its rules.
///
/// It claims nothing that the service lacks: no snapshots, no sets, no additions to numbers.
///
/// ```
/// use keyloom_dynamodb::{Strict, StrictOptions};
/// use keyloom_store::{KeySchema, KeyType, MemoryStore, Read, Store, SystemClock};
/// use keyloom_store::{TableName, TableSpec};
/// use std::sync::Arc;
///
/// let clock = Arc::new(SystemClock);
/// let store = Arc::new(MemoryStore::new(clock.clone()));
/// let strict = Strict::new(store, clock, StrictOptions::default());
/// let table = TableName::new("tasks")?;
/// let spec = TableSpec::new(table.clone(), KeySchema::partition("id", KeyType::S));
/// pollster::block_on(strict.create_table(spec))?;
/// assert_eq!(strict.table_status(&table), "CREATING");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Strict {
    pub(crate) inner: Arc<dyn Store>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) options: StrictOptions,
    pub(super) conflicts: Conflicts,
    pub(super) lag: Lag,
    pub(super) lifecycle: Lifecycle,
    measured: Mutex<Measured>,
}

/// What requests change together.
pub(super) struct Measured {
    pub(super) spaces: Spaces,
    pub(super) streams: HashMap<TableName, Lineage>,
    /// Definitions of tables: describing one may count its items. Only this store changes them.
    specs: HashMap<TableName, Arc<TableSpec>>,
    /// How often a definition has changed.
    spec_changes: u64,
    pub(super) random: Random,
}

impl Strict {
    /// Puts the rules in front of a store, which must have snapshots.
    pub fn new(inner: Arc<dyn Store>, clock: Arc<dyn Clock>, options: StrictOptions) -> Strict {
        let measured = Measured {
            spaces: Spaces::default(),
            streams: HashMap::new(),
            specs: HashMap::new(),
            spec_changes: 0,
            random: Random::new(options.seed),
        };
        Strict {
            inner,
            conflicts: Conflicts::default(),
            lag: Lag::new(options.index_lag.max(options.replica_lag)),
            lifecycle: Lifecycle::new(options.create_time, clock.now()),
            measured: Mutex::new(measured),
            clock,
            options,
        }
    }

    /// Also records every request, for [`Strict::take_metered`]. What is not taken is kept in memory.
    #[must_use]
    pub fn metered(self) -> Strict {
        self.measured().spaces.ledger.start();
        self
    }

    /// Returns what requests have consumed since the last call, if they are
    /// [recorded](Strict::metered).
    pub fn take_metered(&self) -> Vec<Metered> {
        self.measured().spaces.ledger.take()
    }

    /// Reports what partitions and keys have consumed.
    pub fn heat(&self) -> Heat {
        Heat::new(&self.measured().spaces, self.conflicts.count(), self.clock.now())
    }

    /// Returns the status of a table: `CREATING`, `UPDATING` or `ACTIVE`.
    pub fn table_status(&self, table: &TableName) -> &'static str {
        self.lifecycle.status(table, self.clock.now())
    }

    pub(super) fn measured(&self) -> MutexGuard<'_, Measured> {
        self.measured.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits as long as the service takes, more or less.
    pub(super) async fn wait(&self, times: u32) {
        if self.options.latency.is_zero() {
            return;
        }
        let varied = 0.75 + 0.5 * self.measured().random.fraction();
        self.clock.sleep((self.options.latency * times).mul_f64(varied)).await;
    }

    /// Returns the definition of a table; none if the store does not have it, so that the store is to
    /// say what is wrong with the request.
    pub(super) async fn spec(&self, table: &TableName) -> Result<Option<Arc<TableSpec>>, Error> {
        if !self.lifecycle.is_created(table, self.clock.now()) {
            return Err(Error::TableNotFound { table: table.clone() });
        }
        let (known, changes) = self.measured().known_spec(table);
        if known.is_some() {
            return Ok(known);
        }
        let Ok(description) = self.inner.describe_table(table.clone()).await else {
            return Ok(None);
        };
        let spec = Arc::new(description.spec);
        let mut measured = self.measured();
        // A table that was altered meanwhile is described again next time.
        if measured.spec_changes == changes {
            measured.specs.insert(table.clone(), spec.clone());
        }
        Ok(Some(spec))
    }

    pub(super) fn founding<'s>(&'s self, spec: &'s TableSpec) -> Founding<'s> {
        let since = self.lifecycle.since(&spec.name);
        Founding { options: &self.options, spec, since, now: self.clock.now() }
    }

    pub(super) fn charge(&self, spec: &TableSpec, charges: &[Charge]) -> Result<(), Throttled> {
        self.measured().spaces.charge(charges, self.founding(spec))
    }

    /// Returns the store to read from, which may lag, but not to before `since`.
    pub(super) fn replica(&self, lag_max: Duration, since: Time) -> Arc<dyn Read> {
        let lag = lag_max.mul_f64(self.measured().random.fraction());
        let lagging = self.lag.view(self.clock.now(), lag, since);
        lagging.unwrap_or_else(|| self.inner.clone())
    }

    /// Forgets what was measured of a table.
    pub(super) fn forget(&self, table: &TableName) {
        let mut measured = self.measured();
        measured.spaces.forget(table);
        measured.streams.remove(table);
        measured.forget_spec(table);
    }
}

impl Measured {
    /// Returns a definition, if it is known, and how often any has changed.
    fn known_spec(&self, table: &TableName) -> (Option<Arc<TableSpec>>, u64) {
        (self.specs.get(table).cloned(), self.spec_changes)
    }

    pub(super) fn forget_spec(&mut self, table: &TableName) {
        self.specs.remove(table);
        self.spec_changes += 1;
    }
}

impl fmt::Debug for Strict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Strict").field("options", &self.options).finish_non_exhaustive()
    }
}
