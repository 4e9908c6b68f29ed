//! The stored rows of the table.

use std::collections::BTreeMap;

use keyloom_model::attribute::{DELETION, PARTITION, SORT};
use keyloom_model::{Addend, Amount, Counter, Layout, OwnRow, Reason, RowName, is_counter};
use keyloom_store::{Scan, Store, TableName};
use keyloom_value::{Item, Number, Value};
use pollster::block_on;

/// The default name of the table.
pub(crate) const TABLE: &str = "keyloom";

/// All rows of the table.
pub(crate) fn scan(store: &dyn Store) -> Vec<Item> {
    let table = TableName::new(TABLE).expect("a name");
    let (mut rows, mut scan) = (vec![], Scan::new(&table));
    loop {
        let page = block_on(store.scan(scan.clone())).expect("the table is read");
        rows.extend(page.items);
        match page.last_key {
            None => return rows,
            start => scan.start = start,
        }
    }
}

/// Rows by their keys, without tombstones, counters and system rows.
pub(crate) fn of_entities(layout: &Layout, rows: &[Item]) -> BTreeMap<Vec<u8>, Item> {
    let is_system = |row: &Item| name(layout, row) == Some(RowName::System);
    let rows = rows.iter().filter(|row| !is_system(row) && !is_number(row));
    let rows = rows.map(|row| {
        let mut row = row.clone();
        row.remove(DELETION);
        (key(&row), row)
    });
    rows.collect()
}

/// Every entity, read from its own row.
pub(crate) fn own(layout: &Layout, rows: &[Item]) -> Vec<OwnRow> {
    let is_own = |row: &&Item| matches!(name(layout, row), Some(RowName::Own(_)));
    let rows = rows.iter().filter(is_own);
    rows.map(|row| layout.read_own(row).expect("own rows are readable")).collect()
}

/// Every row that entities imply, each under the revision of its own row.
pub(crate) fn implied(layout: &Layout, own: &[OwnRow]) -> BTreeMap<Vec<u8>, Item> {
    let (mut rows, mut layouts) = (BTreeMap::new(), BTreeMap::new());
    for row in own {
        let under = layouts.entry(row.revision).or_insert_with(|| {
            let under = Layout::new(layout.model().clone(), row.revision, &layout.slots());
            under.keeping(layout.matching())
        });
        let is_marked = row.deletion.is_some();
        let implied = under.rows_with(&row.image, &row.pending).expect("keys are short");
        // What is being deleted cannot be referred to.
        let implied =
            implied.into_iter().filter(|row| row.reason != Reason::Presence || !is_marked);
        for row in implied {
            let before = rows.insert(key(&row.item), row.item);
            assert_eq!(before, None, "no two entities imply one row");
        }
    }
    rows
}

/// The stored counters by their keys, without zeros.
pub(crate) fn numbers(rows: &[Item]) -> BTreeMap<Vec<u8>, Item> {
    let rows = rows.iter().filter(|row| is_number(row) && Counter::value_of(row) != Some(0));
    let is_zero = |value: &Value| value.as_n() == Some(&Number::ZERO);
    let without_zeros = |row: &Item| {
        let left = row.iter().filter(|(_, value)| !is_zero(value));
        left.map(|(name, value)| (name.clone(), value.clone())).collect::<Item>()
    };
    rows.map(|row| (key(row), without_zeros(row))).collect()
}

/// The counters that entities imply.
pub(crate) fn implied_numbers(layout: &Layout, own: &[OwnRow]) -> BTreeMap<Vec<u8>, Item> {
    let (mut sums, mut steps) = (BTreeMap::<Counter, Amount>::new(), vec![]);
    for row in own {
        let taken = layout.counters().of_pending(&row.image, &row.pending).expect("keys are short");
        let own = layout.counters().of(&row.image).expect("keys are short");
        for Addend { counter, amount } in own.into_iter().chain(taken) {
            sums.entry(counter).or_default().add(&amount);
        }
    }
    for (counter, sum) in &sums {
        steps.extend(counter.prefix_counts(sum.count).into_iter().map(Counter::Plain));
    }
    for step in steps {
        sums.entry(step).or_default().count += 1;
    }
    let rows = sums.iter().filter_map(|(counter, sum)| counter.row(sum).expect("sums are short"));
    rows.map(|row| (key(&row), row)).collect()
}

fn is_number(row: &Item) -> bool {
    is_counter(row.get(PARTITION).and_then(Value::as_b).expect("a key"))
}

pub(crate) fn key(row: &Item) -> Vec<u8> {
    let part = |name| row.get(name).and_then(Value::as_b).expect("a key").to_vec();
    [part(PARTITION), vec![0xFF; 4], part(SORT)].concat()
}

fn name(layout: &Layout, row: &Item) -> Option<RowName> {
    layout.row_name(row.get(PARTITION)?.as_b()?, row.get(SORT)?.as_b()?)
}
