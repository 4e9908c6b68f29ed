//! Numbers of sequences. A transaction writes the last number of a sequence, on condition that it is the
//! one that was read, together with the entities that it numbers. So a transaction that fails takes no
//! number, two never take the same one, and numbers are in the order in which entities are created.

use std::collections::BTreeMap;

use keyloom_model::attribute::PARTITION;
use keyloom_model::{Image, RowKey};
use keyloom_store::{Get, Put, TransactAction};
use keyloom_value::{Condition, Item, Number, Path, Value};

use super::{Numbering, PlannedAction, Transition, Turn, WriteContext};
use crate::error::Error;

/// The attribute of a sequence's row: the last number that it assigned.
const LAST: &str = "last";

/// The rows of the sequences that a transaction takes numbers from.
#[derive(Debug, Default)]
pub(crate) struct Numbers<'a> {
    pub(crate) actions: Vec<PlannedAction>,
    /// Until the transaction is over, those who wait would all read the same last number.
    _turns: Vec<Turn<'a>>,
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
        let partitions = sequences.keys().map(|key| key.partition.as_bytes().to_vec());
        let partitions: Vec<Vec<u8>> = partitions.collect();
        let turns = self.sequence_turns.take(&partitions, self.stamps.clock()).await?;
        let mut actions = vec![];
        for (key, members) in sequences {
            actions.extend(self.advance(&key, members).await?);
        }
        Ok(Numbers { actions, _turns: turns })
    }

    /// Numbers entities of one sequence; returns the action that writes its last number, if it is another.
    async fn advance(
        &self,
        key: &RowKey,
        members: Vec<(Numbering, &mut Image)>,
    ) -> Result<Option<PlannedAction>, Error> {
        let row = self.store.get(Get::new(self.table, key.to_item())).await?;
        let before = row.as_ref().map(last_number).transpose()?;
        let mut last = before.unwrap_or(0);
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
        if last == before.unwrap_or(0) {
            return Ok(None);
        }
        Ok(Some(PlannedAction::or_changed(self.write_last(key, row.as_ref(), last))))
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
