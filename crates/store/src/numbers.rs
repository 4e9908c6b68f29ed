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

/// Additions to prefix counts. Each is an item of its own, in the table of the ranked number.
type PrefixCounts = BTreeMap<PrefixCountKey, PrefixCountChange>;

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct PrefixCountKey {
    table: TableName,
    row: PrefixCountRow,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct PrefixCountRow {
    partition: Vec<u8>,
    sort: Vec<u8>,
}

struct PrefixCountChange {
    attribute: Name,
    change: i64,
}

/// A number that is ranked.
struct Ranked<'r> {
    table: &'r TableName,
    attribute: &'r Name,
    rank: &'r Rank,
}

/// Returns every item that changes: those of the numbers, then the prefix counts of their scores.
pub(crate) fn added(
    numbers: Vec<AddNumber>,
    spec_of: &dyn Fn(&TableName) -> Result<Arc<TableSpec>, Error>,
    item_at: ItemAt<'_>,
) -> Result<Vec<Added>, Error> {
    let mut all = Vec::with_capacity(numbers.len());
    let mut prefix_counts = PrefixCounts::new();
    let mut add = |table: TableName, key: Item, holder: &Holder<'_>| {
        let old = item_at(&table, &key)?;
        let before = holder.number(&key, old.as_deref())?;
        let after = before.checked_add(holder.change).ok_or_else(|| holder.not_addable())?;
        let new = holder.item(&key, after, old.as_deref())?;
        if let Some(new) = &new {
            validate::item(&*spec_of(&table)?, new)?;
        }
        all.push(Added { table, key, old, new });
        Ok::<_, Error>((before, after))
    };
    for AddNumber { table, key, attribute, change, sums, rank } in numbers {
        let holder = Holder { attribute: &attribute, change, sums: &sums, rank: rank.as_ref() };
        let (before, after) = add(table.clone(), key, &holder)?;
        if let Some(rank) = &rank {
            let ranked = Ranked { table: &table, attribute: &attribute, rank };
            ranked.add_score(before, -1, &mut prefix_counts);
            ranked.add_score(after, 1, &mut prefix_counts);
        }
    }
    for (PrefixCountKey { table, row }, PrefixCountChange { attribute, change }) in prefix_counts {
        if change != 0 {
            let key = row.into_key(&*spec_of(&table)?);
            add(table, key, &Holder { attribute: &attribute, change, sums: &[], rank: None })?;
        }
    }
    Ok(all)
}

/// An item that holds a number, and what to add to it.
struct Holder<'h> {
    attribute: &'h Name,
    change: i64,
    sums: &'h [(Name, Number)],
    rank: Option<&'h Rank>,
}

impl Holder<'_> {
    /// Returns the number that an item holds; a missing item holds 0.
    fn number(&self, key: &Item, item: Option<&Item>) -> Result<i64, Invalid> {
        let Some(item) = item else { return Ok(0) };
        let is_ranked = |name: &Name| {
            self.rank.is_some_and(|rank| [&rank.partition.0, &rank.sort.0].contains(&name))
        };
        // It has no other attributes, so deleting it at 0 loses nothing.
        let is_expected = item.iter().all(|(name, value)| {
            key.get(name.as_str()).is_some() || is_ranked(name) || value.as_n().is_some()
        });
        let number = item.get(self.attribute.as_str()).and_then(Value::as_n);
        let number = number.filter(|_| is_expected).and_then(Number::to_i64);
        number.ok_or_else(|| self.not_addable())
    }

    /// Returns the item that holds a number; 0 is represented by no item, and a sum of 0 by no attribute.
    fn item(&self, key: &Item, number: i64, old: Option<&Item>) -> Result<Option<Item>, Invalid> {
        if number == 0 {
            return Ok(None);
        }
        let mut item = old.unwrap_or(key).clone();
        item.insert(self.attribute, number);
        for (attribute, change) in self.sums {
            let before = item.get(attribute.as_str()).and_then(Value::as_n);
            let sum = before.unwrap_or(&Number::ZERO).checked_add(change);
            match sum.map_err(|_| Invalid::NotAddable { attribute: attribute.clone() })? {
                Number::ZERO => drop(item.remove(attribute.as_str())),
                sum => drop(item.insert(attribute, Value::N(sum))),
            }
        }
        if let Some(Rank { partition, sort, .. }) = self.rank {
            let mut sort_key = Score::new(&Number::from(number)).into_key().into_vec();
            sort_key.extend_from_slice(&sort.1);
            item.insert(&partition.0, Value::B(partition.1.clone()));
            item.insert(&sort.0, Value::B(sort_key));
        }
        Ok(Some(item))
    }

    fn not_addable(&self) -> Invalid {
        Invalid::NotAddable { attribute: self.attribute.clone() }
    }
}

impl Ranked<'_> {
    /// Adds `change` to the prefix counts of a score.
    fn add_score(&self, score: i64, change: i64, prefix_counts: &mut PrefixCounts) {
        // A missing item is not ranked.
        if score == 0 {
            return;
        }
        for sort in Score::new(&Number::from(score)).prefix_count_keys() {
            let partition = self.rank.prefix_counts.clone();
            let row = PrefixCountRow { partition, sort: sort.into_vec() };
            let key = PrefixCountKey { table: self.table.clone(), row };
            let added = prefix_counts.entry(key).or_insert_with(|| PrefixCountChange {
                attribute: self.attribute.clone(),
                change: 0,
            });
            added.change += change;
        }
    }
}

impl PrefixCountRow {
    fn into_key(self, spec: &TableSpec) -> Item {
        let names = spec.key.attributes().map(|attribute| attribute.name.clone());
        names.zip([Value::B(self.partition), Value::B(self.sort)]).collect()
    }
}
