//! Sends a difference as one transaction, and translates the result into terms of the model.

use keyloom_model::attribute::PARTITION;
use keyloom_model::{Amount, EntityKey, FieldId, SumTooLong, UniqueId};
use keyloom_store::{
    AddNumber, CancelReason, Error as StoreError, Invalid, SetChange, Store, TransactAction,
    TransactWrite,
};
use keyloom_value::{Item, Name};

use super::WriteContext;
use super::counters::Counters;
use super::difference::{ACTIONS_MAX, Difference};
use super::planned_action::{OnConflict, PlannedAction};
use crate::error::Error;

/// The result of a transaction.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It was committed.
    Done,
    /// A row is not what was read.
    Changed,
    /// A unique value is taken.
    UniqueViolation(UniqueConflict),
    /// The target of a reference does not exist, or is being deleted.
    TargetGone { owner: EntityKey, field: FieldId, target: EntityKey },
}

/// A unique value that an entity wants and another entity has.
#[derive(Debug)]
pub(crate) struct UniqueConflict {
    pub(crate) by: EntityKey,
    pub(crate) unique: UniqueId,
    /// The guard of the other entity.
    pub(crate) guard: Option<Item>,
}

impl Outcome {
    pub(crate) fn is_done(&self) -> bool {
        matches!(self, Outcome::Done)
    }
}

/// The changes of sets and counters in a transaction.
struct Others {
    sets: Vec<SetChange>,
    numbers: Vec<AddNumber>,
}

/// Sends all of it as one transaction, or as a single write if it is one.
pub(super) async fn commit(
    ctx: &WriteContext<'_>,
    difference: Difference,
) -> Result<Outcome, Error> {
    let store = ctx.store;
    let Difference { mut actions, postings: sets, deltas, counters } = difference;
    // A call can take long, and its own time stands still.
    let now_ms = i64::try_from(ctx.stamps.clock().now().0).unwrap_or(i64::MAX);
    if !deltas.is_empty() {
        ctx.groups.make_room(&deltas, ctx.stamps.clock()).await?;
        ctx.groups.register(store, ctx.table, &deltas, now_ms).await?;
        ctx.groups.note_written(&deltas);
        let stamp = ctx.stamps.next()?;
        actions.extend(deltas.iter().map(|delta| delta.action(ctx.table, &stamp)));
    }
    let boards = counters.changed_boards();
    ctx.boards.register(store, ctx.table, &boards, now_ms).await?;
    let _turns = match ctx.fence {
        Some(_) => ctx.turns.take(&contended(&actions, &counters), ctx.stamps.clock()).await?,
        None => vec![],
    };
    if store.adds_numbers() {
        let others = Others { sets, numbers: counters.numbers()? };
        return attempt(ctx, actions, others).await?.ok_or(Error::Contended);
    }
    let others = || Others { sets: sets.clone(), numbers: vec![] };
    if !counters.has_scores() {
        actions.extend(counters.actions(store).await?);
        return attempt(ctx, actions, others()).await?.ok_or(Error::Contended);
    }
    let mut attempts = ctx.attempts();
    loop {
        attempts.next().await?;
        let planned = [actions.clone(), counters.actions(store).await?].concat();
        if let Some(outcome) = attempt(ctx, planned, others()).await? {
            return Ok(outcome);
        }
    }
}

/// The partitions of rows that transactions of many writers touch: counters, and targets of references.
fn contended(actions: &[PlannedAction], counters: &Counters) -> Vec<Vec<u8>> {
    let targets = actions.iter().filter_map(|planned| match &planned.action {
        TransactAction::Check(check) => check.key.get(PARTITION)?.as_b().map(<[u8]>::to_vec),
        TransactAction::Put(_) | TransactAction::Update(_) | TransactAction::Delete(_) => None,
    });
    targets.chain(counters.partitions()).collect()
}

/// Returns the outcome; none if the only conflict is that a ranked counter has changed.
async fn attempt(
    ctx: &WriteContext<'_>,
    mut planned: Vec<PlannedAction>,
    Others { sets, numbers }: Others,
) -> Result<Option<Outcome>, Error> {
    let (rows, rows_max) = (planned.len(), ACTIONS_MAX - ctx.reserved());
    if rows > rows_max {
        return Err(Error::TooLarge { rows, rows_max });
    }
    if rows == 0 && sets.is_empty() && numbers.is_empty() {
        return Ok(Some(Outcome::Done));
    }
    let (permit, _pass) = (ctx.permit().await?, ctx.pass()?);
    planned.extend(permit.as_ref().map(|permit| permit.check(ctx.table)));
    let (actions, meanings): (Vec<_>, Vec<_>) =
        planned.into_iter().map(|planned| (planned.action, planned.on_conflict)).unzip();
    let transaction = TransactWrite { sets, numbers, ..TransactWrite::new(actions) };
    match send(ctx.store, transaction).await {
        Ok(()) => Ok(Some(Outcome::Done)),
        Err(StoreError::Canceled { reasons }) => match permit {
            Some(permit) if permit.is_revoked(&reasons) => {
                permit.forget();
                Ok(Some(Outcome::Changed))
            }
            Some(_) | None => outcome(reasons, meanings),
        },
        Err(StoreError::ConditionFailed { item }) => {
            outcome(vec![Some(CancelReason::ConditionFailed { item })], meanings)
        }
        Err(StoreError::Invalid(Invalid::NotAddable { attribute })) => Err(not_addable(&attribute)),
        Err(error) => Err(Error::Store(error)),
    }
}

/// The error of a store that cannot add to a counter.
fn not_addable(attribute: &Name) -> Error {
    match Amount::summed_field(attribute) {
        Some(field) => Error::SumTooLong(SumTooLong { field: field.to_owned() }),
        None => Error::damaged("A counter cannot be added to."),
    }
}

/// A single write costs less than a transaction of one on DynamoDB.
async fn send(store: &dyn Store, mut transaction: TransactWrite) -> Result<(), StoreError> {
    let has_others = !transaction.sets.is_empty() || !transaction.numbers.is_empty();
    let is_single = transaction.actions.len() == 1 && !has_others;
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

/// Returns the conflict to handle first: stale reads, then missing targets, then unique values.
fn outcome(
    reasons: Vec<Option<CancelReason>>,
    meanings: Vec<OnConflict>,
) -> Result<Option<Outcome>, Error> {
    let (mut outcome, mut not_mine, mut is_counter_moved) = (Outcome::Done, None, false);
    let mut busy = None;
    for (reason, meaning) in reasons.into_iter().zip(meanings) {
        let item = match reason {
            None => continue,
            Some(CancelReason::ConditionFailed { item }) => item,
            // What else failed says more.
            Some(CancelReason::Refused(refusal)) if refusal.may_pass => {
                busy = Some(refusal);
                continue;
            }
            Some(reason @ (CancelReason::Invalid(_) | CancelReason::Refused(_))) => {
                return Err(match meaning {
                    OnConflict::SumTooLong(error) => error.into(),
                    OnConflict::DeltaFull if matches!(reason, CancelReason::Invalid(_)) => {
                        Error::Contended
                    }
                    _ => StoreError::from(reason).into(),
                });
            }
        };
        let found = match meaning {
            OnConflict::Changed | OnConflict::DeltaFull | OnConflict::SumTooLong(_) => {
                Outcome::Changed
            }
            // The caller reads the piggybacked row again after any error.
            OnConflict::LostRace => return Err(Error::Contended),
            OnConflict::NotMine { owner } => {
                not_mine = Some(owner);
                continue;
            }
            OnConflict::CounterMoved => {
                is_counter_moved = true;
                continue;
            }
            OnConflict::TargetGone { owner, field, target } => {
                Outcome::TargetGone { owner, field, target }
            }
            OnConflict::UniqueViolation { by, unique } => {
                let guard = item.map(|item| *item);
                Outcome::UniqueViolation(UniqueConflict { by, unique, guard })
            }
        };
        if rank(&found) > rank(&outcome) {
            outcome = found;
        }
    }
    let is_busy_alone = matches!(outcome, Outcome::Done) && not_mine.is_none() && !is_counter_moved;
    if let Some(refusal) = busy.filter(|_| is_busy_alone) {
        return Err(StoreError::Refused(refusal).into());
    }
    match (outcome, not_mine) {
        // No read was stale, so the rows themselves are inconsistent.
        (Outcome::Done, Some(owner)) => Err(Error::damaged(format!(
            "A unique value of the entity `{}` is reserved for another entity.",
            owner.id
        ))),
        (Outcome::Done, None) if is_counter_moved => Ok(None),
        // Canceled without a reason: another transaction was in progress.
        (Outcome::Done, None) => Ok(Some(Outcome::Changed)),
        (outcome, _) => Ok(Some(outcome)),
    }
}

fn rank(outcome: &Outcome) -> u8 {
    match outcome {
        Outcome::Done => 0,
        Outcome::UniqueViolation(_) => 1,
        Outcome::TargetGone { .. } => 2,
        Outcome::Changed => 3,
    }
}
