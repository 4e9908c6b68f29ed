//! Leases of background operations: on a store that processes share, one of them runs each. Running
//! one twice is safe, so a lease only saves work.
//!
//! ```text
//! ("m", "lease") / operation   holder: a process; beat: grows while it runs
//! ```
//!
//! A process takes over a lease whose row has not changed for a while by its own clock, so clocks need
//! not agree.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use keyloom_model::RowKey;
use keyloom_model::attribute::PARTITION;
use keyloom_store::{Delete, Error as StoreError, Get, Put};
use keyloom_value::{Condition, Item, Number, Path, Value};

use crate::error::Error;
use crate::shared::Shared;
use crate::system_rows::delete_if;

const NAME: &str = "lease";
const HOLDER: &str = "holder";
const BEAT: &str = "beat";
/// How long the row must stay the same until its process counts as gone. Longer than any step of an
/// operation takes.
const SILENT_MS: i64 = 30_000;

/// What this process knows of its own leases and of those of others.
#[derive(Debug, Default)]
pub(crate) struct Leases(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The leases of others, as they were when they last changed.
    seen: BTreeMap<&'static str, Sighting>,
    /// The leases that this process has.
    held: BTreeSet<&'static str>,
}

#[derive(Clone, Copy, Debug)]
struct Sighting {
    seen: (u64, i64),
    /// Since when, by the clock of this process.
    since_ms: i64,
}

/// Whether this process runs an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    Yes,
    /// Another process runs it.
    No,
}

/// The lease of one operation.
#[derive(Clone, Copy)]
pub(crate) struct Lease<'s> {
    shared: &'s Shared,
    name: &'static str,
}

impl<'s> Lease<'s> {
    pub(crate) fn new(shared: &'s Shared, name: &'static str) -> Lease<'s> {
        Lease { shared, name }
    }

    /// Takes or renews the lease. Without other processes, nothing is read or written.
    pub(crate) async fn take(self) -> Result<Held, Error> {
        let Some(own) = self.shared.writer() else { return Ok(Held::Yes) };
        let row = self.shared.store.get(Get::new(&self.shared.table, self.key())).await?;
        let seen = row.as_ref().and_then(read);
        if let Some(seen @ (holder, _)) = seen
            && holder != own
            && !self.is_silent(seen)
        {
            return Ok(Held::No);
        }
        let unchanged = match (&row, seen) {
            (None, _) => Condition::missing(PARTITION),
            (Some(_), None) => Condition::exists(PARTITION),
            (Some(_), Some((holder, beat))) => {
                Condition::equal(Path::from(HOLDER), Value::from(holder))
                    .and(Condition::equal(Path::from(BEAT), Value::from(beat)))
            }
        };
        let mut item = self.key();
        item.insert(HOLDER, own);
        item.insert(BEAT, seen.map_or(0, |(_, beat)| beat.saturating_add(1)));
        match self.shared.store.put(Put::new(&self.shared.table, item).when(unchanged)).await {
            Ok(_) => {
                self.shared.leases.with(|state| state.held.insert(self.name));
                Ok(Held::Yes)
            }
            Err(StoreError::ConditionFailed { .. }) => Ok(Held::No),
            Err(error) => Err(error.into()),
        }
    }

    /// Lets another process run the operation, if this one has the lease.
    pub(crate) async fn release(self) -> Result<(), Error> {
        let is_held = self.shared.leases.with(|state| state.held.remove(self.name));
        let Some(own) = self.shared.writer().filter(|_| is_held) else { return Ok(()) };
        let is_own = Condition::equal(Path::from(HOLDER), Value::from(own));
        let delete = Delete::new(&self.shared.table, self.key()).when(is_own);
        delete_if(&*self.shared.store, delete).await
    }

    /// Whether the process that holds the lease counts as gone.
    fn is_silent(self, seen: (u64, i64)) -> bool {
        let now_ms = self.shared.now_ms();
        self.shared.leases.with(|state| {
            let new = Sighting { seen, since_ms: now_ms };
            let sighting = state.seen.entry(self.name).or_insert(new);
            if sighting.seen != seen {
                *sighting = new;
            }
            now_ms.saturating_sub(sighting.since_ms) >= SILENT_MS
        })
    }

    fn key(self) -> Item {
        RowKey::system(NAME, &[self.name.into()]).to_item()
    }
}

impl Leases {
    fn with<T>(&self, f: impl FnOnce(&mut State) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Reads the holder and its beat; none if the row cannot be read.
fn read(row: &Item) -> Option<(u64, i64)> {
    let number = |name| row.get(name).and_then(Value::as_n).and_then(Number::to_i64);
    Some((u64::try_from(number(HOLDER)?).ok()?, number(BEAT)?))
}
