//! Which process folds a group. One is enough: several would do the same work. If two do, nothing is
//! lost, so a lease needs no fence: the holder counts up in the row of the group whenever it folds, and
//! a process that has seen no change of the row for a while takes over.

use keyloom_model::attribute::{PARTITION, SORT};
use keyloom_store::{Error as StoreError, UpdateItem};
use keyloom_value::{Condition, Item, Path, Update, Value};

use super::Group;
use crate::error::Error;

/// How long the row of a group must stay the same until its holder counts as gone.
const SILENT_MS: i64 = 30_000;
/// Of the row of a group: the process that folds it, how often it has, and how many deltas wait.
const HOLDER: &str = "holder";
const BEAT: &str = "beat";
const WAITING: &str = "waiting";

/// The lease in the row of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Lease {
    holder: Option<String>,
    beat: i64,
    /// How many deltas waited when the holder looked last.
    pub(super) waiting: u64,
}

/// A lease of another process, since it was first seen like this.
#[derive(Clone, Debug)]
pub(super) struct Observed {
    lease: Lease,
    since_ms: i64,
}

impl Lease {
    pub(super) fn read(row: &Item) -> Lease {
        let number = |name| row.get(name).and_then(Value::as_n).and_then(|n| n.to_i64());
        Lease {
            holder: row.get(HOLDER).and_then(Value::as_s).map(str::to_owned),
            beat: number(BEAT).unwrap_or(0),
            waiting: number(WAITING).and_then(|n| u64::try_from(n).ok()).unwrap_or(0),
        }
    }

    /// The row is as it was read.
    fn unchanged(&self) -> Condition {
        match &self.holder {
            None => Condition::missing(HOLDER),
            Some(holder) => {
                let holder = Condition::equal(Path::from(HOLDER), Value::from(holder.as_str()));
                holder.and(Condition::equal(Path::from(BEAT), Value::from(self.beat)))
            }
        }
    }
}

impl Group<'_> {
    /// Whether this process may fold the group: nobody else does, or not for a while.
    pub(super) fn is_mine(&self, name: &[u8], lease: &Lease) -> bool {
        let folding = &self.shared.folding;
        let is_other = lease.holder.as_deref().is_some_and(|holder| holder != folding.holder());
        if !is_other {
            return true;
        }
        let now_ms = self.shared.now_ms();
        let mut observed = folding.observed();
        let seen = observed
            .entry(name.to_vec())
            .or_insert_with(|| Observed { lease: lease.clone(), since_ms: now_ms });
        if seen.lease != *lease {
            *seen = Observed { lease: lease.clone(), since_ms: now_ms };
        }
        now_ms.saturating_sub(seen.since_ms) >= SILENT_MS
    }

    /// Takes or renews the lease. False if another process was faster.
    pub(super) async fn hold(
        &self,
        row: &Item,
        lease: &Lease,
        waiting: usize,
    ) -> Result<bool, Error> {
        let key = [PARTITION, SORT].into_iter();
        let key = key.filter_map(|name| Some((name.into(), row.get(name)?.clone()))).collect();
        let update = Update::new()
            .set(Path::from(HOLDER), Value::from(self.shared.folding.holder()))
            .set(Path::from(BEAT), Value::from(lease.beat.saturating_add(1)))
            .set(Path::from(WAITING), Value::from(waiting as u64));
        let update = UpdateItem::new(&self.shared.table, key, update).when(lease.unchanged());
        match self.shared.store.update(update).await {
            Ok(_) => Ok(true),
            Err(StoreError::ConditionFailed { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
