//! Additions to items that hold numbers: one function for the memory store and the engine.

use std::collections::BTreeMap;
use std::sync::Arc;

use keyloom_value::{Item, Name, Number, Score, Value};

use crate::{AddNumber, Error, Invalid, Rank, TableName, TableSpec, validate};

/// An item that holds a number, before and after.
pub(crate) struct Added {
    pub(crate) table: TableName,
    pub(crate) key: Item,
    pub(crate) old: Option<Arc<Item>>,
    pub(crate) new: Option<Item>,
}

/// Reads an item by its key.
pub(crate) type ItemAt<'a> = &'a dyn Fn(&TableName, &Item) -> Result<Option<Arc<Item>>, Error>;

/// Prefix counts that scores add to: each partition and sort key holds one number.
type Steps = BTreeMap<(TableName, Vec<u8>, Vec<u8>), (Name, i64)>;

/// Returns every item that changes: those of the numbers, then the prefix counts of their scores.
pub(crate) fn added(
    numbers: Vec<AddNumber>,
    spec_of: &dyn Fn(&TableName) -> Result<Arc<TableSpec>, Error>,
    item_at: ItemAt<'_>,
) -> Result<Vec<Added>, Error> {
    let mut all = Vec::with_capacity(numbers.len());
    let mut steps = Steps::new();
    let mut add = |table: TableName, key: Item, holder: &Holder<'_>| {
        let old = item_at(&table, &key)?;
        let before = holder.number(&key, old.as_deref())?;
        let after = before.checked_add(holder.change).ok_or_else(|| holder.not_addable())?;
        let new = holder.item(&key, after);
        if let Some(new) = &new {
            validate::item(&*spec_of(&table)?, new)?;
        }
        all.push(Added { table, key, old, new });
        Ok::<_, Error>((before, after))
    };
    for AddNumber { table, key, attribute, change, rank } in numbers {
        let holder = Holder { attribute: &attribute, change, rank: rank.as_ref() };
        let (before, after) = add(table.clone(), key, &holder)?;
        if let Some(rank) = &rank {
            for (score, by) in [(before, -1), (after, 1)] {
                add_steps(&mut steps, (&table, &attribute, rank), (score, by));
            }
        }
    }
    for ((table, partition, sort), (attribute, change)) in steps {
        if change != 0 {
            let key = step_key(&*spec_of(&table)?, partition, sort);
            add(table, key, &Holder { attribute: &attribute, change, rank: None })?;
        }
    }
    Ok(all)
}

/// An item that holds a number, and what to add to it.
struct Holder<'h> {
    attribute: &'h Name,
    change: i64,
    rank: Option<&'h Rank>,
}

impl Holder<'_> {
    /// Returns the number that an item holds; a missing item holds 0.
    fn number(&self, key: &Item, item: Option<&Item>) -> Result<i64, Invalid> {
        let Some(item) = item else { return Ok(0) };
        let rank_attributes = if self.rank.is_some() { 2 } else { 0 };
        let number = item.get(self.attribute.as_str()).and_then(Value::as_n);
        // It has no other attributes, so replacing it loses nothing.
        let number = number.filter(|_| item.len() == key.len() + 1 + rank_attributes);
        number.and_then(Number::to_i64).ok_or_else(|| self.not_addable())
    }

    /// Returns the item that holds a number; 0 is represented by no item.
    fn item(&self, key: &Item, number: i64) -> Option<Item> {
        if number == 0 {
            return None;
        }
        let mut item = key.clone();
        item.insert(self.attribute, number);
        if let Some(Rank { partition, sort, .. }) = self.rank {
            let mut sort_key = Score::new(&Number::from(number)).into_key().into_vec();
            sort_key.extend_from_slice(&sort.1);
            item.insert(&partition.0, Value::B(partition.1.clone()));
            item.insert(&sort.0, Value::B(sort_key));
        }
        Some(item)
    }

    fn not_addable(&self) -> Invalid {
        Invalid::NotAddable { attribute: self.attribute.clone() }
    }
}

fn add_steps(
    steps: &mut Steps,
    (table, attribute, rank): (&TableName, &Name, &Rank),
    (score, by): (i64, i64),
) {
    // A missing item is not ranked.
    if score == 0 {
        return;
    }
    for step in Score::new(&Number::from(score)).steps() {
        let key = (table.clone(), rank.steps.clone(), step.into_vec());
        steps.entry(key).or_insert_with(|| (attribute.clone(), 0)).1 += by;
    }
}

fn step_key(spec: &TableSpec, partition: Vec<u8>, sort: Vec<u8>) -> Item {
    let names = spec.key.attributes().map(|attribute| attribute.name.clone());
    names.zip([Value::B(partition), Value::B(sort)]).collect()
}
