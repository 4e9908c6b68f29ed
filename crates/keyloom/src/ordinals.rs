//! Ordinals of entities that can be filtered by tags or facets, in ascending order for each kind and
//! tenant. They are allocated from a row of the table.
//!
//! A process that has the store to itself allocates them in blocks, one at a time, so that creates rarely
//! queue at that row; the rest of a block is lost when it ends. On a shared store that order would not be
//! the order of creation: one process would go on in an old block after another had begun a new one. There,
//! every create allocates its own, and those of one process that wait at the same time allocate together.
//! Either way, an entity that is created after another was answered has the greater ordinal, and in one
//! process those that ask for ordinals one after the other get them in this order. So a create that was begun
//! must be polled or dropped: one that is neither keeps those of its kind and tenant that come after it
//! waiting.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use futures_util::lock::Mutex as TurnMutex;
use keyloom_model::RowKey;
use keyloom_store::{Error as StoreError, Returns, Store, TableName, UpdateItem};
use keyloom_value::{Number, Path, Update, Value};

use crate::error::Error;

/// The size of the first block, and the maximum: each is twice the previous one.
const PORTION_MIN: u64 = 8;
const PORTION_MAX: u64 = 4096;

/// The attribute of the row: the first free ordinal.
const NEXT: &str = "next";

/// Allocates ordinals.
#[derive(Debug, Default)]
pub(crate) struct Ordinals {
    supplies: Mutex<HashMap<RowKey, Supply>>,
    queues: Mutex<HashMap<RowKey, Arc<Queue>>>,
}

/// The allocated ordinals of one kind and tenant.
#[derive(Debug, Default)]
struct Supply {
    left: Range<u64>,
    portion: u64,
    /// Those who found too few left, in the order in which they asked: they are served before others.
    waiting: VecDeque<Arc<Claim>>,
    /// Whoever holds it allocates the next block. With two blocks at once, whoever comes later could get
    /// the rest of the lower one.
    turn: Arc<TurnMutex<()>>,
}

/// Ordinals for all entities of a transaction, which follow one another as far as possible.
#[derive(Debug)]
struct Claim {
    count: usize,
    served: Mutex<Vec<u64>>,
}

/// The creates of one kind and tenant that wait for ordinals.
#[derive(Debug, Default)]
struct Queue {
    waiting: Mutex<Vec<Arc<Waiter>>>,
    /// Whoever holds it allocates, for everybody who waits.
    turn: TurnMutex<()>,
}

#[derive(Debug)]
struct Waiter {
    count: u64,
    first: OnceLock<u64>,
}

/// The row of the table that allocates the ordinals of a kind and tenant.
#[derive(Clone, Copy)]
pub(crate) struct AllocationRow<'a> {
    pub(crate) store: &'a dyn Store,
    pub(crate) table: &'a TableName,
    pub(crate) key: &'a RowKey,
}

impl Ordinals {
    /// Returns this many ordinals of a kind and tenant, for a process that has the store to itself.
    pub(crate) async fn take(
        &self,
        row: AllocationRow<'_>,
        count: usize,
    ) -> Result<Vec<u64>, Error> {
        let (claim, turn) = self.supply(row.key, |supply| supply.claim(count));
        if let Some(ordinals) = claim.complete() {
            return Ok(ordinals);
        }
        loop {
            let _turn = turn.lock().await;
            // Whoever had the turn before has served all who waited then.
            if let Some(ordinals) = claim.complete() {
                return Ok(ordinals);
            }
            let portion = self.supply(row.key, Supply::grow);
            let first = row.allocate(portion).await?;
            self.supply(row.key, |supply| supply.fill(first..first + portion));
        }
    }

    fn supply<T>(&self, row: &RowKey, with: impl FnOnce(&mut Supply) -> T) -> T {
        let mut supplies = lock(&self.supplies);
        match supplies.get_mut(row) {
            Some(supply) => with(supply),
            None => with(supplies.entry(row.clone()).or_default()),
        }
    }

    /// Allocates ordinals on a shared store: greater ones than any create had that is answered.
    pub(crate) async fn allocate(
        &self,
        row: AllocationRow<'_>,
        count: u64,
    ) -> Result<Range<u64>, Error> {
        let queue = lock(&self.queues).entry(row.key.clone()).or_default().clone();
        let first = queue.first_of(row, count).await;
        let mut queues = lock(&self.queues);
        // In the map and here: nobody else waits.
        if Arc::strong_count(&queue) == 2 {
            queues.remove(row.key);
        }
        first.map(|first| first..first + count)
    }
}

impl Supply {
    /// Takes what is left, if nobody waits, and queues for the rest.
    fn claim(&mut self, count: usize) -> (Arc<Claim>, Arc<TurnMutex<()>>) {
        debug_assert!(self.waiting.is_empty() || self.left.is_empty(), "those who wait come first");
        let claim = Arc::new(Claim { count, served: Mutex::default() });
        if claim.serve(&mut self.left) > 0 {
            self.waiting.push_back(claim.clone());
        }
        (claim, self.turn.clone())
    }

    /// Returns the size of the next block: enough for all who wait. Those who have given up, because they were
    /// dropped or nothing could be allocated for them, no longer do.
    fn grow(&mut self) -> u64 {
        self.waiting.retain(|claim| Arc::strong_count(claim) > 1);
        self.portion = (self.portion * 2).clamp(PORTION_MIN, PORTION_MAX);
        self.portion.max(self.waiting.iter().map(|claim| claim.count as u64).sum())
    }

    /// Takes a new block, and serves those who wait. What somebody gets who has given up is lost.
    fn fill(&mut self, block: Range<u64>) {
        debug_assert!(self.left.is_empty() && self.left.end <= block.start, "blocks ascend");
        self.left = block;
        while self.waiting.front().is_some_and(|claim| claim.serve(&mut self.left) == 0) {
            self.waiting.pop_front();
        }
    }
}

impl Claim {
    /// Takes as many ordinals as it lacks. Returns how many it lacks still.
    fn serve(&self, left: &mut Range<u64>) -> usize {
        let mut served = lock(&self.served);
        let lacking = self.count - served.len();
        served.extend(left.take(lacking));
        self.count - served.len()
    }

    /// All of its ordinals, in ascending order, once it has them.
    fn complete(&self) -> Option<Vec<u64>> {
        let mut served = lock(&self.served);
        (served.len() == self.count).then(|| std::mem::take(&mut *served))
    }
}

impl Queue {
    /// Returns the first of this many ordinals, once it is the turn of those who wait for them.
    async fn first_of(&self, row: AllocationRow<'_>, count: u64) -> Result<u64, Error> {
        let waiter = Arc::new(Waiter { count, first: OnceLock::new() });
        lock(&self.waiting).push(waiter.clone());
        let _turn = self.turn.lock().await;
        if let Some(first) = waiter.first.get() {
            return Ok(*first);
        }
        let mut served = std::mem::take(&mut *lock(&self.waiting));
        // Who allocated for this one may have failed, or been dropped: it waits no more, and asked before them.
        if !served.iter().any(|other| Arc::ptr_eq(other, &waiter)) {
            served.insert(0, waiter.clone());
        }
        let mut free = row.allocate(served.iter().map(|waiter| waiter.count).sum()).await?;
        let mut first = free;
        for other in &served {
            if Arc::ptr_eq(other, &waiter) {
                first = free;
            }
            // Nobody else has set it: those who did were not served.
            let _ = other.first.set(free);
            free += other.count;
        }
        Ok(first)
    }
}

impl AllocationRow<'_> {
    /// Allocates this many ordinals, and returns the first.
    async fn allocate(self, count: u64) -> Result<u64, Error> {
        let add = Update::new().add(Path::from(NEXT), Value::from(count));
        let update = UpdateItem::new(self.table, self.key.to_item(), add);
        let update = update.returning(Returns::UpdatedNew);
        let image = match self.store.update(update.clone()).await {
            // Ordinals that were allocated to nobody are only lost.
            Err(StoreError::Unanswered(_)) => self.store.update(update).await?,
            image => image?,
        };
        let end = image.as_ref().and_then(|image| image.get(NEXT)).and_then(Value::as_n);
        let end = end.and_then(Number::to_i64).and_then(|end| u64::try_from(end).ok());
        end.and_then(|end| end.checked_sub(count)).ok_or_else(|| {
            Error::damaged("The row that allocates ordinals cannot be read, or has no more.")
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
