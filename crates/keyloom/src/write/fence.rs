//! The fence of this process: which of its permits are free. A transaction in flight has a permit to
//! itself, so transactions of one process do not conflict on permits, and those of two processes
//! never share one. `schema/permits.rs` says what permits guarantee.

use std::sync::{Mutex, MutexGuard, PoisonError};

use keyloom_model::RowKey;
use keyloom_model::attribute::PARTITION;
use keyloom_store::{
    CancelReason, Check, Error as StoreError, OnFailure, TableName, TransactAction,
};
use keyloom_value::Condition;

use super::WriteContext;
use super::planned_action::PlannedAction;
use crate::error::Error;
use crate::schema::{create_permits, permit_key};

/// The most permits that one transaction creates. Each creates as many as there are.
const CREATED_MAX: u32 = 32;

/// The permits of this process.
#[derive(Debug)]
pub(crate) struct Fence {
    /// Identifies this opening of the database.
    writer: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The epoch of the free permits.
    epoch: u32,
    free: Vec<RowKey>,
    /// How many permits of the epoch exist.
    count: u32,
    /// The number of the next permit: numbers are not used again.
    next: u32,
}

/// A permit that one transaction uses, until it is dropped.
#[derive(Debug)]
pub(super) struct Permit<'f> {
    fence: &'f Fence,
    epoch: u32,
    key: RowKey,
}

impl Permit<'_> {
    /// Checks that the permit exists. The last action of its transaction.
    pub(super) fn check(&self, table: &TableName) -> PlannedAction {
        let (table, key) = (table.clone(), self.key.to_item());
        let condition = Condition::exists(PARTITION);
        let check = Check { table, key, condition, on_failure: OnFailure::Nothing };
        PlannedAction::or_changed(TransactAction::Check(check))
    }

    /// Whether its transaction was canceled because it does not exist: it has expired, or the model
    /// has changed.
    pub(super) fn is_revoked(&self, reasons: &[Option<CancelReason>]) -> bool {
        matches!(reasons.last(), Some(Some(CancelReason::ConditionFailed { .. })))
    }

    /// Gives up a permit that was revoked, and the others of its epoch, which probably were too.
    pub(super) fn forget(self) {
        self.fence.forget(self.epoch);
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut state = self.fence.lock();
        if state.epoch == self.epoch && state.count > 0 {
            state.free.push(self.key.clone());
        }
    }
}

impl Fence {
    pub(crate) fn new(writer: u64) -> Fence {
        Fence { writer, state: Mutex::default() }
    }

    /// Identifies this opening of the database.
    pub(crate) fn writer(&self) -> u64 {
        self.writer
    }

    /// Returns a permit for a transaction that was decided under an epoch.
    ///
    /// # Errors
    ///
    /// [`Error::ModelChanged`] if the epoch is not in force.
    pub(super) async fn permit<'f>(
        &'f self,
        ctx: &WriteContext<'_>,
        epoch: u32,
    ) -> Result<Permit<'f>, Error> {
        let mut attempts = ctx.attempts();
        loop {
            if let Some(key) = self.take(epoch)? {
                return Ok(Permit { fence: self, epoch, key });
            }
            attempts.next().await?;
            self.create(ctx, epoch).await?;
        }
    }

    fn forget(&self, epoch: u32) {
        let mut state = self.lock();
        if state.epoch == epoch {
            (state.free, state.count) = (vec![], 0);
        }
    }

    fn take(&self, epoch: u32) -> Result<Option<RowKey>, Error> {
        let mut state = self.lock();
        if state.epoch > epoch {
            return Err(Error::ModelChanged);
        }
        if state.epoch < epoch {
            *state = State { epoch, next: state.next, ..State::default() };
        }
        Ok(state.free.pop())
    }

    /// Creates more permits, unless another transaction conflicts.
    async fn create(&self, ctx: &WriteContext<'_>, epoch: u32) -> Result<(), Error> {
        let keys = self.next_keys();
        let transaction = create_permits(ctx.table, epoch, &keys, ctx.now_ms);
        match ctx.store.transact_write(transaction).await {
            Ok(()) => {
                let mut state = self.lock();
                if state.epoch == epoch {
                    state.count += u32::try_from(keys.len()).unwrap_or(u32::MAX);
                    state.free.extend(keys);
                }
                Ok(())
            }
            Err(StoreError::Canceled { reasons }) => match reasons.into_iter().flatten().next() {
                None => Ok(()),
                Some(CancelReason::ConditionFailed { .. }) => Err(Error::ModelChanged),
                Some(reason @ (CancelReason::Invalid(_) | CancelReason::Refused(_))) => {
                    Err(StoreError::from(reason).into())
                }
            },
            Err(error) => Err(error.into()),
        }
    }

    fn next_keys(&self) -> Vec<RowKey> {
        let mut state = self.lock();
        let first = state.next;
        state.next += state.count.clamp(1, CREATED_MAX);
        (first..state.next).map(|number| permit_key(self.writer, number)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
