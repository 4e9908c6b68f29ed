//! What a transaction adds to counters. A store that adds ([`Store::adds_numbers`]) does so when it
//! commits, so that writers never conflict on counters. On other stores, plain counters are updates
//! that add; others are written only if they are unchanged: the index key of a score depends on it, and
//! others have no row for 0.

use std::collections::{BTreeMap, BTreeSet};

use keyloom_model::attribute::{COUNT, MOVED, PARTITION};
use keyloom_model::{Addend, Amount, Counter, RowKey, SumTooLong};
use keyloom_store::{
    AddNumber, Delete, Get, Put, Rank, Store, TableName, TransactAction, UpdateItem,
};
use keyloom_value::{Condition, Item, Path, Update, Value};

use super::planned_action::{OnConflict, PlannedAction};
use crate::error::Error;

/// What is added to which counters.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    table: Option<TableName>,
    /// Whether they count as actions of the transaction.
    are_actions: bool,
    changes: BTreeMap<Counter, Amount>,
}

impl Counters {
    pub(crate) fn new(table: &TableName, are_actions: bool) -> Counters {
        Counters { table: Some(table.clone()), are_actions, changes: BTreeMap::new() }
    }

    /// Adds what an entity adds.
    pub(crate) fn add(&mut self, addends: Vec<Addend>) {
        for Addend { counter, amount } in addends {
            self.changes.entry(counter).or_default().add(&amount);
        }
    }

    /// Takes away what an entity has added.
    pub(crate) fn take(&mut self, addends: Vec<Addend>) {
        for Addend { counter, amount } in addends {
            self.changes.entry(counter).or_default().add(&amount.negated());
        }
    }

    fn changes(&self) -> impl Iterator<Item = (&Counter, &Amount)> {
        self.changes.iter().filter(|(_, by)| !by.is_zero())
    }

    /// The maximum number of actions that this takes.
    pub(crate) fn rows_max(&self) -> usize {
        if !self.are_actions {
            return 0;
        }
        self.changes().map(|(counter, _)| counter.rows_max()).sum()
    }

    /// Returns the additions for a store that adds.
    pub(crate) fn numbers(&self) -> Result<Vec<AddNumber>, Error> {
        let Some(table) = &self.table else { return Ok(vec![]) };
        let number = |(counter, change): (&Counter, &Amount)| {
            Ok(AddNumber {
                table: table.clone(),
                key: counter.key().to_item(),
                attribute: COUNT.into(),
                change: change.count,
                sums: change.sums()?,
                rank: counter.ranking().map(|ranked| Rank {
                    partition: (ranked.slot.partition(), ranked.entries.into_vec()),
                    sort: (ranked.slot.sort(), ranked.suffix.into_vec()),
                    prefix_counts: ranked.prefix_counts.into_vec(),
                }),
            })
        };
        self.changes().map(number).collect()
    }

    /// The rows by which the operation that settles scores finds the changes of scores among them.
    pub(crate) fn changed_boards(&self) -> Vec<RowKey> {
        let boards = self.changes().filter_map(|(counter, _)| counter.settled_by());
        boards.collect::<BTreeSet<RowKey>>().into_iter().collect()
    }

    /// The partitions of the rows that this writes.
    pub(crate) fn partitions(&self) -> impl Iterator<Item = Vec<u8>> {
        self.changes().flat_map(|(counter, _)| {
            // All scores of a board share its prefix counts.
            let shared = counter.ranking().map(|ranked| ranked.prefix_counts.into_vec());
            [Some(counter.key().partition.as_bytes().to_vec()), shared].into_iter().flatten()
        })
    }

    /// Whether the actions depend on the current values of counters.
    pub(crate) fn has_scores(&self) -> bool {
        self.changes()
            .any(|(counter, _)| !matches!(counter, Counter::Plain(_) | Counter::Change(_)))
    }

    /// Returns the actions that add to the current values of the counters.
    pub(crate) async fn actions(&self, store: &dyn Store) -> Result<Vec<PlannedAction>, Error> {
        let Some(table) = &self.table else { return Ok(vec![]) };
        let (mut planned, mut cells) = (vec![], BTreeMap::new());
        for (counter, change) in self.changes() {
            if let Counter::Plain(key) | Counter::Change(key) = counter {
                cells.entry(key.clone()).or_insert_with(Amount::default).add(change);
                continue;
            }
            let row = store.get(Get::new(table, counter.key().to_item())).await?;
            let before = amount_of(row.as_ref())?;
            let mut after = before.clone();
            after.add(change);
            let ranked = RankedChange { counter, row: row.as_ref(), before, after };
            let (action, on_conflict) = (ranked.rewrite(table)?, OnConflict::CounterMoved);
            planned.push(PlannedAction { action, on_conflict });
            ranked.add_prefix_counts(&mut cells);
        }
        for (key, change) in cells.iter().filter(|(_, change)| !change.is_zero()) {
            let action = add_to(table, key, change)?;
            let summed = change.attributes().find_map(Amount::summed_field);
            planned.push(match summed.map(str::to_owned) {
                None => PlannedAction::or_changed(action),
                Some(field) => {
                    let on_conflict = OnConflict::SumTooLong(SumTooLong { field });
                    PlannedAction { action, on_conflict }
                }
            });
        }
        Ok(planned)
    }
}

/// The amount of a counter that may have no row.
pub(crate) fn amount_of(row: Option<&Item>) -> Result<Amount, Error> {
    match row {
        None => Ok(Amount::default()),
        Some(row) => Amount::of_row(row)
            .ok_or_else(|| Error::damaged("A counter of a count or a board cannot be read.")),
    }
}

/// A change of a counter that is read before it is written.
pub(crate) struct RankedChange<'c> {
    pub(crate) counter: &'c Counter,
    /// Its row as it was read.
    pub(crate) row: Option<&'c Item>,
    pub(crate) before: Amount,
    pub(crate) after: Amount,
}

impl RankedChange<'_> {
    /// Writes the row of the counter, or removes it at 0, if it is unchanged since it was read.
    ///
    /// # Errors
    ///
    /// If no number is one of its sums.
    pub(crate) fn rewrite(&self, table: &TableName) -> Result<TransactAction, Error> {
        let unchanged = self.unchanged();
        Ok(match self.counter.row(&self.after)? {
            Some(row) => TransactAction::Put(Put::new(table, row).when(unchanged)),
            None => {
                let delete = Delete::new(table, self.counter.key().to_item());
                TransactAction::Delete(delete.when(unchanged))
            }
        })
    }

    /// Writes the row of a score that is settled, with the stamp of this move, if it is unchanged since it
    /// was read. A score of 0 keeps its row, for the stamp.
    pub(crate) fn settle(&self, table: &TableName, stamp: &str) -> Result<TransactAction, Error> {
        let mut row = self.counter.row(&self.after)?.unwrap_or_else(|| {
            let mut zero = self.counter.key().to_item();
            zero.insert(COUNT, 0);
            zero
        });
        row.insert(MOVED, stamp);
        Ok(TransactAction::Put(Put::new(table, row).when(self.unchanged())))
    }

    fn unchanged(&self) -> Condition {
        match self.row {
            None => Condition::missing(PARTITION),
            Some(row) => {
                let count = match row.get(COUNT) {
                    None => Condition::exists(PARTITION).and(Condition::missing(COUNT)),
                    Some(number) => Condition::equal(Path::from(COUNT), number.clone()),
                };
                let settled = match row.get(MOVED) {
                    None => count.and(Condition::missing(MOVED)),
                    Some(stamp) => count.and(Condition::equal(Path::from(MOVED), stamp.clone())),
                };
                // Two entities can change a sum without changing the number of them.
                self.before.attributes().chain(self.after.attributes()).fold(
                    settled,
                    |all, name| {
                        let path = Path::from(name.clone());
                        all.and(match row.get(name.as_str()) {
                            None => Condition::missing(path),
                            Some(sum) => Condition::equal(path, sum.clone()),
                        })
                    },
                )
            }
        }
    }

    /// Adds the change to the prefix counts of the board.
    pub(crate) fn add_prefix_counts(&self, counts: &mut BTreeMap<RowKey, Amount>) {
        for (amount, change) in [(&self.before, -1), (&self.after, 1)] {
            for prefix in self.counter.prefix_counts(amount.count) {
                counts.entry(prefix).or_default().count += change;
            }
        }
    }
}

/// Returns updates that add to plain counters.
///
/// # Errors
///
/// If no number is one of the sums to add.
pub(crate) fn add_all(
    table: &TableName,
    cells: BTreeMap<RowKey, Amount>,
) -> Result<Vec<TransactAction>, Error> {
    let changes = cells.iter().filter(|(_, change)| !change.is_zero());
    changes.map(|(key, change)| add_to(table, key, change)).collect()
}

fn add_to(table: &TableName, key: &RowKey, change: &Amount) -> Result<TransactAction, Error> {
    let count = Update::new().add(Path::from(COUNT), Value::from(change.count));
    let add = change
        .sums()?
        .into_iter()
        .fold(count, |add, (attribute, sum)| add.add(Path::from(attribute), Value::N(sum)));
    Ok(TransactAction::Update(UpdateItem::new(table, key.to_item(), add)))
}
