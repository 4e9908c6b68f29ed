//! Numbers of sequences. A transaction writes the last number of a sequence, on condition that it is the
//! one that was read, together with the entities that it numbers. So a transaction that fails takes no
//! number, two never take the same one, and numbers are in the order in which entities are created.
//!
//! Writers of one process take turns at a sequence. On a shared store, a turn lasts as long as the
//! transaction. A process that has the store to itself knows what the transactions before assign, and
//! sends the next one at once: the store decides them in order, and syncs them together. If one fails,
//! so do those after it that were sent already, and are tried again.

use std::collections::{BTreeMap, HashMap};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use keyloom_model::attribute::PARTITION;
use keyloom_model::{Image, RowKey};
use keyloom_store::{Get, Put, TransactAction};
use keyloom_value::{Condition, Item, Number, Path, Value};

use super::{Numbering, PlannedAction, Transition, Turn, Turns, WriteContext};
use crate::error::Error;

/// The attribute of a sequence's row: the last number that it assigned.
const LAST: &str = "last";

/// The sequences at which writers of a process take turns.
#[derive(Debug, Default)]
pub(crate) struct Sequences {
    turns: Turns,
    /// The last numbers that transactions assign which were sent and are not over.
    sent: Mutex<HashMap<RowKey, i64>>,
}

impl Sequences {
    fn sent(&self) -> MutexGuard<'_, HashMap<RowKey, i64>> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The numbers that a transaction takes.
#[derive(Debug, Default)]
pub(crate) struct Numbers<'a> {
    /// Writes the last number of each sequence.
    pub(crate) actions: Vec<PlannedAction>,
    assigned: Vec<(RowKey, i64)>,
    turns: Vec<Turn<'a>>,
    /// If the transaction was sent before those that it follows were over.
    sent: Option<&'a Sequences>,
}

impl<'a> Numbers<'a> {
    /// The transaction was sent: on a store that no other process has, the next one can follow.
    pub(crate) fn send(&mut self, ctx: &WriteContext<'a>) {
        if ctx.fence.is_some() || self.assigned.is_empty() {
            return;
        }
        ctx.sequences.sent().extend(self.assigned.iter().cloned());
        self.sent = Some(ctx.sequences);
        self.turns.clear();
    }

    /// The transaction was committed.
    pub(crate) fn commit(&mut self) {
        let Some(sequences) = self.sent.take() else { return };
        let mut sent = sequences.sent();
        for (key, last) in &self.assigned {
            // Nobody has followed.
            if sent.get(key) == Some(last) {
                sent.remove(key);
            }
        }
    }
}

impl Drop for Numbers<'_> {
    fn drop(&mut self) {
        // It failed, or nobody waits for it: the next one reads what the last number is.
        if let Some(sequences) = self.sent {
            let mut sent = sequences.sent();
            for (key, _) in &self.assigned {
                sent.remove(key);
            }
        }
    }
}

/// Runs a future, and calls a function once it has been polled for the first time.
pub(crate) async fn once_begun<F: Future>(future: F, begun: impl FnOnce()) -> F::Output {
    let (mut future, mut begun) = (pin!(future), Some(begun));
    poll_fn(|context| {
        let polled = future.as_mut().poll(context);
        if let Some(begun) = begun.take() {
            begun();
        }
        polled
    })
    .await
}

impl<'a> WriteContext<'a> {
    /// Numbers the entities that are to get a number, in this order.
    pub(crate) async fn assign_numbers(
        &self,
        transitions: &mut [&mut Transition],
    ) -> Result<Numbers<'a>, Error> {
        let mut sequences: BTreeMap<RowKey, Vec<(Numbering, &mut Image)>> = BTreeMap::new();
        for transition in transitions {
            let (numbering, after) = (transition.numbering, transition.after.as_mut());
            if let Some(after) = after.filter(|_| numbering != Numbering::Kept)
                && let Some(key) = self.layouts.current.sequence_key(after)?
            {
                sequences.entry(key).or_default().push((numbering, after));
            }
        }
        if sequences.is_empty() {
            return Ok(Numbers::default());
        }
        let partitions = sequences.keys().map(|key| key.partition.as_bytes().to_vec());
        let partitions: Vec<Vec<u8>> = partitions.collect();
        let turns = self.sequences.turns.take(&partitions, self.stamps.clock()).await?;
        let mut numbers = Numbers { actions: vec![], assigned: vec![], turns, sent: None };
        for (key, members) in sequences {
            self.advance(key, members, &mut numbers).await?;
        }
        Ok(numbers)
    }

    /// Numbers entities of one sequence.
    async fn advance(
        &self,
        key: RowKey,
        members: Vec<(Numbering, &mut Image)>,
        numbers: &mut Numbers<'a>,
    ) -> Result<(), Error> {
        let row = self.last_row(&key).await?;
        let before = row.as_ref().map(last_number).transpose()?.unwrap_or(0);
        let mut last = before;
        for (numbering, image) in members {
            let entity = self.layouts.current.model().entity(image.key.entity);
            let Some(sequence) = &entity.sequence else { continue };
            let field = entity.field(sequence.field).name.as_str();
            if numbering == Numbering::Next {
                last = last.checked_add(1).ok_or_else(|| {
                    Error::damaged(format!(
                        "The sequence of `{}` has no more numbers.",
                        entity.name
                    ))
                })?;
                image.fields.insert(field, last);
            } else if let Some(given) = number_of(image.fields.get(field)) {
                last = last.max(given);
            }
        }
        if last != before {
            let write = self.write_last(&key, row.as_ref(), last);
            numbers.actions.push(PlannedAction::or_changed(write));
            numbers.assigned.push((key, last));
        }
        Ok(())
    }

    /// The row of a sequence, as the transactions leave it that were sent.
    async fn last_row(&self, key: &RowKey) -> Result<Option<Item>, Error> {
        let sent = self.sequences.sent().get(key).copied();
        match sent {
            Some(last) => {
                let mut row = key.to_item();
                row.insert(LAST, last);
                Ok(Some(row))
            }
            None => Ok(self.store.get(Get::new(self.table, key.to_item())).await?),
        }
    }

    /// Writes the last number of a sequence, if its row is still as it was read.
    pub(crate) fn write_last(
        &self,
        key: &RowKey,
        read: Option<&Item>,
        last: i64,
    ) -> TransactAction {
        let unchanged = match read.map(|row| row.get(LAST)) {
            None => Condition::missing(PARTITION),
            Some(None) => Condition::exists(PARTITION).and(Condition::missing(LAST)),
            Some(Some(before)) => Condition::equal(Path::from(LAST), before.clone()),
        };
        let mut row = key.to_item();
        row.insert(LAST, last);
        TransactAction::Put(Put::new(self.table, row).when(unchanged))
    }
}

/// The last number that a sequence assigned, according to its row.
///
/// # Errors
///
/// If the row has none.
pub(crate) fn last_number(row: &Item) -> Result<i64, Error> {
    let last = number_of(row.get(LAST));
    last.ok_or_else(|| Error::damaged("The last number of a sequence cannot be read."))
}

fn number_of(value: Option<&Value>) -> Option<i64> {
    value.and_then(Value::as_n).and_then(Number::to_i64)
}
