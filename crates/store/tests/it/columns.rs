//! Columns: the engine returns what scanning every item returns, whatever was written, closed,
//! opened and built in between.

use std::sync::Arc;

use keyloom_store::{
    Alteration, Cell, ColumnPart, ColumnSpec, ColumnValue, Delete, Direction, Engine, Error,
    KeySchema, KeyType, Members, MemoryStore, Put, ReadColumn, Store, TableName, TableSpec,
    TransactAction, TransactWrite,
};
use keyloom_testkit::{ManualClock, Random, SimDisk};
use keyloom_value::{Item, KeyBytes, Value};
use pollster::FutureExt;

use crate::rig::{open, table};

const STEPS: u32 = 300;
const REOPEN_EVERY: u32 = 50;
const IDS: u64 = 3_000;

fn things() -> TableName {
    table("things")
}

fn column(name: &str) -> ColumnSpec {
    ColumnSpec {
        name: table(name),
        partition: "of".into(),
        prefix: b"kind ".to_vec(),
        ordinal: "number".into(),
        value: "value".into(),
        parts: vec![Direction::Forward, Direction::Backward],
    }
}

fn spec() -> TableSpec {
    let mut spec = TableSpec::new(things(), KeySchema::partition("id", KeyType::N));
    spec.columns = vec![column("first")];
    spec
}

/// Every id has an ordinal of its own: most are dense, some far away.
fn ordinal(id: u64) -> u64 {
    match id % 7 {
        0 => 1_000_000 + id * 50,
        1 => (1 << 40) + id,
        _ => id,
    }
}

/// Values that often tie in their stored bytes, partitions inside and outside of the column, and
/// items without a cell.
fn item(id: u64, random: &mut Random) -> Item {
    let of: &[u8] = match random.below(10) {
        0 => b"kind b",
        1 => b"other",
        _ => b"kind a",
    };
    let mut item = Item::from([
        ("id", Value::from(id)),
        ("of", Value::B(of.to_vec())),
        ("number", Value::from(ordinal(id))),
    ]);
    let text = match random.below(9) {
        0 => "b".repeat(random.below(3) as usize),
        1 => format!("a{:x}", random.below(1 << 30)),
        2 => format!("{}{:x}", "c".repeat(19), random.below(1 << 20)),
        _ => "d".repeat(30),
    };
    let mut value = KeyBytes::new();
    value.push_text(&text);
    value.push_descending(&Value::from(random.below(5))).unwrap();
    // What comes after the stored parts does not matter.
    value.push(&Value::from(random.below(1 << 40))).unwrap();
    if random.chance(9, 10) {
        item.insert("value", Value::B(value.into_vec()));
    }
    item
}

/// Writes to one of many items, or to many at once.
fn step(random: &mut Random) -> TransactWrite {
    let (first, count) = match random.below(3) {
        0 => (random.below(IDS - 90), 90),
        _ => (random.below(IDS), 1),
    };
    let action = |id: u64| match random.below(5) {
        0 => TransactAction::Delete(Delete::new(&things(), Item::from([("id", id)]))),
        _ => TransactAction::Put(Put::new(&things(), item(id, random))),
    };
    TransactWrite::new((first..first + count).map(action).collect())
}

fn question(name: &str, random: &mut Random) -> ReadColumn {
    let among: Members = match random.below(3) {
        0 => (0..IDS).map(ordinal).collect(),
        1 => (0..IDS).filter(|id| id % 5 == 0).map(ordinal).collect(),
        _ => (0..20).map(|_| ordinal(random.below(IDS))).collect(),
    };
    let bound = |random: &mut Random| {
        let text = *random.pick(&["a", "a1", "b", "c", "d", "dd"]);
        let value = ColumnValue::of(&[&[2], text.as_bytes()].concat());
        Cell { value, ordinal: random.below(2_000) }
    };
    ReadColumn {
        table: things(),
        column: table(name),
        partition: if random.chance(4, 5) { b"kind a".to_vec() } else { b"kind b".to_vec() },
        among,
        least: if random.chance(1, 2) { bound(random) } else { Cell::MIN },
        greatest: if random.chance(1, 2) { bound(random) } else { Cell::MAX },
        direction: if random.chance(1, 2) { Direction::Forward } else { Direction::Backward },
        count: [1, 3, 20, 5_000][random.below(4) as usize],
    }
}

fn read(store: &dyn Store, read: &ReadColumn) -> Result<ColumnPart, Error> {
    let part = store.sets().unwrap().read_column(read.clone()).block_on()?;
    // The memory store reads no column rows.
    Ok(ColumnPart { bytes: 0, ..part })
}

#[test]
fn columns_match_the_items_through_replay_and_building() {
    let (disk, mut random) = (SimDisk::new(5), Random::new(12));
    let reference = MemoryStore::new(Arc::new(ManualClock::default()));
    let mut engine = open(&disk).unwrap();
    let stores = |engine: &Engine, run: &dyn Fn(&dyn Store)| {
        run(engine);
        run(&reference);
    };
    stores(&engine, &|store| drop(store.create_table(spec()).block_on().unwrap()));
    let mut ties = 0;
    for number in 0..STEPS {
        let transaction = step(&mut random);
        stores(&engine, &|store| store.transact_write(transaction.clone()).block_on().unwrap());
        if number == STEPS / 2 {
            let add = || Alteration::AddColumn(column("second"));
            stores(&engine, &|store| drop(store.alter_table(things(), add()).block_on().unwrap()));
        }
        if number % REOPEN_EVERY == REOPEN_EVERY - 1 {
            drop(engine);
            engine = open(&disk).unwrap();
            engine.settle().unwrap();
        }
        let name = if number > STEPS * 3 / 4 { "second" } else { "first" };
        let question = question(name, &mut random);
        let found = read(&engine, &question).unwrap();
        assert_eq!(found, read(&reference, &question).unwrap(), "{number}: {question:?}");
        ties += u32::from(found.is_tied);
    }
    assert!(ties > 0, "some reads have more ties than are returned");
}

#[test]
fn a_column_is_not_read_before_it_is_complete() {
    let engine = open(&SimDisk::new(6)).unwrap();
    engine.create_table(spec()).block_on().unwrap();
    for _ in 0..50 {
        engine.transact_write(step(&mut Random::new(1))).block_on().unwrap();
    }
    let add = Alteration::AddColumn(column("second"));
    engine.alter_table(things(), add).block_on().unwrap();
    let question = question("second", &mut Random::new(2));
    assert!(matches!(read(&engine, &question), Err(Error::IndexBuilding { .. })));
    engine.settle().unwrap();
    assert!(read(&engine, &question).is_ok());
    let twice = engine.alter_table(things(), Alteration::AddColumn(column("first"))).block_on();
    assert!(matches!(twice, Err(Error::Invalid(_))));
    let drop = || engine.alter_table(things(), Alteration::DropColumn(table("second"))).block_on();
    drop().unwrap();
    assert!(matches!(read(&engine, &question), Err(Error::IndexNotFound { .. })));
    assert!(matches!(drop(), Err(Error::IndexNotFound { .. })));
}
