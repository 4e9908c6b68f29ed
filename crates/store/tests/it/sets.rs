//! Sets in the engine: large ones against sets that are obviously right, with the store closed and
//! opened in between; and data directories from before there were sets.

use std::collections::{BTreeMap, BTreeSet};

use keyloom_store::{
    Direction, Disk, DiskFile, Engine, ListSets, Membership, OpenMode, Read, ReadSet, SetChange,
    SetName, Store, TableName, TransactWrite,
};
use keyloom_testkit::{Random, SimDisk};
use pollster::FutureExt;

use crate::rig::{has, in_data, open, plain_table, put};

/// Steps of the random walk, and every how many of them the store is opened anew.
const STEPS: u32 = 400;
const REOPEN_EVERY: u32 = 25;

type Expected = BTreeMap<SetName, BTreeSet<u32>>;

#[test]
fn large_sets_stay_right_through_folding_replay_and_checkpoints() {
    let (disk, mut random) = (SimDisk::new(3), Random::new(11));
    let mut engine = open(&disk).unwrap();
    let table = plain_table(&engine);
    let mut expected = Expected::new();
    for step in 0..STEPS {
        let sets = changes(&table, &mut random);
        for change in &sets {
            let members = expected.entry(change.set.clone()).or_default();
            for ordinal in change.ordinals.iter().copied() {
                match change.becomes {
                    Membership::In => members.insert(ordinal),
                    Membership::Out => members.remove(&ordinal),
                };
            }
        }
        let transaction = TransactWrite { sets, ..TransactWrite::default() };
        engine.transact_write(transaction).block_on().unwrap();
        if step % 40 == 7 {
            engine.checkpoint().unwrap();
        }
        if step % REOPEN_EVERY == REOPEN_EVERY - 1 {
            drop(engine);
            engine = open(&disk).unwrap();
            check(&engine, &table, &expected);
        }
    }
    let bits = expected.values().filter(|set| set.len() > 4_096).count();
    assert!(bits > 0, "some set is dense");
}

/// Dense runs, sparse ordinals and single ones, of three sets.
fn changes(table: &TableName, random: &mut Random) -> Vec<SetChange> {
    let set = SetName::new([random.below(3) as u8]).unwrap();
    let becomes = if random.below(5) < 3 { Membership::In } else { Membership::Out };
    let first = random.below(4) as u32 * 65_536 + random.below(9_000) as u32;
    let (count, step) = match random.below(4) {
        0 => (random.below(6_000) as u32, 1),
        1 => (random.below(300) as u32, 7),
        _ => (1 + random.below(3) as u32, 1),
    };
    let change = |ordinals| SetChange { table: table.clone(), set: set.clone(), ordinals, becomes };
    vec![change((0..count).map(|n| first + n * step).collect()), change(vec![first])]
}

fn check(engine: &Engine, table: &TableName, expected: &Expected) {
    let sets = engine.sets().unwrap();
    let list = ListSets { table: table.clone(), prefix: vec![], after: None, limit: 100 };
    let sizes = sets.list_sets(list).block_on().unwrap();
    let sizes: Vec<_> = sizes.into_iter().map(|size| (size.set, size.members)).collect();
    let some = expected.iter().filter(|(_, members)| !members.is_empty());
    let right: Vec<_> = some.map(|(set, members)| (set.clone(), members.len() as u64)).collect();
    assert_eq!(sizes, right);
    for (set, members) in expected {
        let (table, set) = (table.clone(), set.clone());
        let read = ReadSet { table, set, from: 0, direction: Direction::Forward, chunks: 100 };
        let part = sets.read_set(read).block_on().unwrap();
        assert!(part.members.iter().eq(members.iter().copied()));
    }
}

/// Version 2 came with sets. What version 1 wrote is a directory of today but for its name.
#[test]
fn a_directory_of_version_1_is_opened_and_gets_sets() {
    let disk = SimDisk::new(1);
    let engine = open(&disk).unwrap();
    let table = plain_table(&engine);
    put(&engine, &table, 1).unwrap();
    drop(engine);
    make_version_1(&disk);
    let engine = open(&disk).unwrap();
    assert!(has(&engine, &table, 1));
    assert!(text(&disk).contains("format 4"), "an older Keyloom must not open it any more");
    let change = SetChange {
        table: table.clone(),
        set: SetName::new(*b"red").unwrap(),
        ordinals: vec![7],
        becomes: Membership::In,
    };
    let transaction = TransactWrite { sets: vec![change], ..TransactWrite::default() };
    engine.transact_write(transaction).block_on().unwrap();
    drop(engine);
    let engine = open(&disk).unwrap();
    check(&engine, &table, &Expected::from([(SetName::new(*b"red").unwrap(), [7].into())]));
}

fn text(disk: &SimDisk) -> String {
    let file = disk.open(&in_data("format"), OpenMode::Read).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_at(0, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

/// Says in the format file that it is of version 1.
fn make_version_1(disk: &SimDisk) {
    let older = text(disk).replace("format 4", "format 1");
    write(disk, &in_data("format"), 0, older.as_bytes());
}

fn write(disk: &SimDisk, path: &std::path::Path, at: u64, bytes: &[u8]) {
    let file: std::sync::Arc<dyn DiskFile> = disk.open(path, OpenMode::ReadWrite).unwrap();
    file.write_at(at, bytes).unwrap();
    file.sync().unwrap();
}
