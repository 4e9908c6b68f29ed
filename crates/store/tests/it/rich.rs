//! A store that has everything: items, an index, a column, sets, counters and a feed, with a backup
//! in the middle of its history.

use std::ops::ControlFlow;
use std::sync::Arc;

use keyloom_store::{
    AddNumber, Cell, ColumnSpec, Direction, Engine, Feed, IndexProjection, IndexScope, IndexSpec,
    KeySchema, KeyType, Members, Membership, Options, Put, Read, ReadColumn, Scrub, Scrubbed,
    SetChange, SetName, Store, TableSpec, TransactAction, TransactWrite,
};
use keyloom_testkit::history::{Op, Outcome, Player};
use keyloom_testkit::{ManualClock, SimDisk};
use keyloom_value::{Item, KeyBytes, Number, Value};
use pollster::FutureExt;

use crate::copies::{COPY, Life, copy};
use crate::rig::{DIRECTORY, repeatable, table};

/// Transactions before the backup, and after it.
const HALF: u64 = 150;

/// How far back the log of a store reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Log {
    /// To its first commit.
    Whole,
    /// To a commit before the backup.
    Trimmed,
}

/// Returns a disk with the store and its backup, both closed.
pub(crate) fn rich_store(log: Log) -> SimDisk {
    let disk = SimDisk::new(7);
    let options = |keep_log_bytes| Options {
        log_segment_bytes: 16 << 10,
        keep_log_bytes,
        clock: Arc::new(ManualClock::new()),
        ..repeatable(&disk)
    };
    let keep = if log == Log::Trimmed { 1 } else { 1 << 30 };
    let engine = Engine::open(DIRECTORY, options(keep)).unwrap();
    engine.create_table(spec()).block_on().unwrap();
    (0..HALF).for_each(|id| write(&engine, id));
    engine.checkpoint().unwrap();
    engine.settle().unwrap();
    engine.close().unwrap();
    let engine = Engine::open(DIRECTORY, options(1 << 30)).unwrap();
    copy(&engine, COPY).unwrap();
    (HALF..2 * HALF).for_each(|id| write(&engine, id));
    engine.checkpoint().unwrap();
    // Some that the tree on disk lacks.
    (2 * HALF..2 * HALF + 20).for_each(|id| write(&engine, id));
    disk.crash_now();
    drop(engine);
    disk.after_crash(0)
}

fn spec() -> TableSpec {
    let mut spec = TableSpec::new(table("rich"), KeySchema::partition("id", KeyType::S));
    spec.feed = Feed::Images;
    spec.indexes.push(IndexSpec {
        name: table("by_color"),
        scope: IndexScope::Global,
        key: KeySchema::partition("color", KeyType::S).and_sort("id", KeyType::S),
        projection: IndexProjection::All,
    });
    spec.columns = vec![ColumnSpec {
        name: table("in_order"),
        partition: "of".into(),
        prefix: b"all".to_vec(),
        ordinal: "number".into(),
        value: "value".into(),
        parts: vec![Direction::Forward],
    }];
    spec
}

/// Writes an item, replaces an older one, changes sets and counts, in one transaction.
pub(crate) fn write(engine: &Engine, id: u64) {
    let set = |name: u8, ordinals: Vec<u64>, becomes| SetChange {
        table: table("rich"),
        set: SetName::new([name]).unwrap(),
        ordinals,
        becomes,
    };
    let counted = AddNumber {
        table: table("rich"),
        key: Item::from([("id", format!("count of {}", id % 5))]),
        attribute: "n".into(),
        change: id as i64 + 1,
        sums: vec![("sum".into(), Number::from(id))],
        rank: None,
    };
    let put = |id| TransactAction::Put(Put::new(&table("rich"), item(id)));
    let transaction = TransactWrite {
        sets: vec![
            set(0, (id * 40..id * 40 + 30).collect(), Membership::In),
            set(1 + (id % 3) as u8, vec![id, id << 20], Membership::In),
            set(0, vec![id * 20], Membership::Out),
        ],
        numbers: vec![counted],
        token: Some(format!("token {id}")),
        ..TransactWrite::new(vec![put(id), put(100_000 + id / 2)])
    };
    engine.transact_write(transaction).block_on().unwrap();
}

fn item(id: u64) -> Item {
    let mut value = KeyBytes::new();
    value.push_text(&format!("{}", id * 7919 % 1000));
    Item::from([
        ("id", Value::from(format!("item {id}"))),
        ("color", Value::from(["red", "green", "blue"][id as usize % 3])),
        ("of", Value::B(b"all".to_vec())),
        ("number", Value::from(id)),
        ("value", Value::B(value.into_vec())),
        ("body", Value::from("body ".repeat(1 + id as usize % 40))),
    ])
}

/// Returns everything in the store: tables and their counts, items by every index, sets, the column
/// and the feed.
pub(crate) fn everything(disk: &SimDisk) -> (Vec<(Op, Outcome)>, String) {
    let life = Life::open(disk, DIRECTORY, ManualClock::START);
    let contents = Player::new(&life).contents();
    let read = ReadColumn {
        table: table("rich"),
        column: table("in_order"),
        partition: b"all".to_vec(),
        among: (0..200_000).collect::<Members>(),
        least: Cell::MIN,
        greatest: Cell::MAX,
        direction: Direction::Forward,
        count: 10_000,
    };
    let column = life.engine.sets().unwrap().read_column(read).block_on().unwrap();
    (contents, format!("{column:?}"))
}

pub(crate) fn scrub(disk: &SimDisk, scrub: &Scrub) -> Scrubbed {
    Engine::scrub_directory(DIRECTORY, scrub, &repeatable(disk), &mut |_| ControlFlow::Continue(()))
        .unwrap()
}
