//! Sends what was planned, and says in the model's words what came of it.

use keyloom_model::{EntityKey, FieldId, UniqueId};
use keyloom_store::{CancelReason, Error as StoreError, Store, TransactAction, TransactWrite};
use keyloom_value::Item;

use super::plan::{ACTIONS_MAX, Otherwise, Plan};
use crate::error::Error;

/// What came of a transaction.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It happened.
    Done,
    /// Something is not what was read.
    Changed,
    /// A unique value is taken.
    Taken {
        by: EntityKey,
        unique: UniqueId,
        /// The guard that is in the way.
        guard: Option<Item>,
    },
    /// Something that is referred to is not there, or about to go.
    TargetGone { owner: EntityKey, field: FieldId, target: EntityKey },
}

/// Sends all of it as one transaction, or as a single write if it is one.
pub(crate) async fn commit(store: &dyn Store, plan: impl Into<Plan>) -> Result<Outcome, Error> {
    let Plan { actions: planned, sets } = plan.into();
    let rows = planned.len();
    if rows > ACTIONS_MAX {
        return Err(Error::TooLarge { rows, rows_max: ACTIONS_MAX });
    }
    let (actions, meanings): (Vec<_>, Vec<_>) =
        planned.into_iter().map(|planned| (planned.action, planned.otherwise)).unzip();
    match send(store, TransactWrite { sets, ..TransactWrite::new(actions) }).await {
        Ok(()) => Ok(Outcome::Done),
        Err(StoreError::Canceled { reasons }) => outcome(reasons, meanings),
        Err(StoreError::ConditionFailed { item }) => {
            outcome(vec![Some(CancelReason::ConditionFailed { item })], meanings)
        }
        Err(error) => Err(Error::Store(error)),
    }
}

/// A single write is cheaper than a transaction of one, where writes are paid for.
async fn send(store: &dyn Store, mut transaction: TransactWrite) -> Result<(), StoreError> {
    if transaction.actions.is_empty() && transaction.sets.is_empty() {
        return Ok(());
    }
    let is_single = transaction.actions.len() == 1 && transaction.sets.is_empty();
    match transaction.actions.pop() {
        Some(TransactAction::Put(put)) if is_single => store.put(put).await.map(|_| ()),
        Some(TransactAction::Delete(delete)) if is_single => store.delete(delete).await.map(|_| ()),
        Some(TransactAction::Update(update)) if is_single => store.update(update).await.map(|_| ()),
        last => {
            transaction.actions.extend(last);
            store.transact_write(transaction).await
        }
    }
}

/// The first thing to act on: what was read is old, then a target that is gone, then a taken value.
fn outcome(reasons: Vec<Option<CancelReason>>, meanings: Vec<Otherwise>) -> Result<Outcome, Error> {
    let (mut outcome, mut not_mine) = (Outcome::Done, None);
    for (reason, meaning) in reasons.into_iter().zip(meanings) {
        let item = match reason {
            None => continue,
            Some(CancelReason::ConditionFailed { item }) => item,
            Some(reason @ (CancelReason::Invalid(_) | CancelReason::Refused(_))) => {
                return Err(StoreError::from(reason).into());
            }
        };
        let found = match meaning {
            Otherwise::Changed => Outcome::Changed,
            // Whoever sends a row along looks what became of it after every error.
            Otherwise::Overtaken => return Err(Error::Contended),
            Otherwise::NotMine { owner } => {
                not_mine = Some(owner);
                continue;
            }
            Otherwise::TargetGone { owner, field, target } => {
                Outcome::TargetGone { owner, field, target }
            }
            Otherwise::Taken { by, unique } => {
                Outcome::Taken { by, unique, guard: item.map(|item| *item) }
            }
        };
        if rank(&found) > rank(&outcome) {
            outcome = found;
        }
    }
    match (outcome, not_mine) {
        // Nothing was read too late, so that is how the rows are.
        (Outcome::Done, Some(owner)) => Err(Error::damaged(format!(
            "A unique value of the entity `{}` is guarded for another one.",
            owner.id
        ))),
        // Canceled without a reason: another transaction was in the way.
        (Outcome::Done, None) => Ok(Outcome::Changed),
        (outcome, _) => Ok(outcome),
    }
}

fn rank(outcome: &Outcome) -> u8 {
    match outcome {
        Outcome::Done => 0,
        Outcome::Taken { .. } => 1,
        Outcome::TargetGone { .. } => 2,
        Outcome::Changed => 3,
    }
}
