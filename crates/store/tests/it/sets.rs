//! Sets in the engine: large ones compared with obviously correct ones, with the store closed and
//! opened in between.

use std::collections::{BTreeMap, BTreeSet};

use keyloom_store::{
    Direction, Engine, ListSets, Membership, Read, ReadSet, SetChange, SetName, Store, TableName,
    TransactWrite,
};
use keyloom_testkit::{Random, SimDisk};
use pollster::FutureExt;

use crate::rig::{open, plain_table};

/// Steps of the random walk, and after how many of them the store is reopened.
const STEPS: u32 = 400;
const REOPEN_EVERY: u32 = 25;

type Expected = BTreeMap<SetName, BTreeSet<u64>>;

#[test]
fn large_sets_stay_correct_through_folding_replay_and_checkpoints() {
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
    // Some chunks lie beyond 32 bits.
    let chunk = *random.pick(&[0, 1, 3, 1 << 17]);
    let first = chunk * 65_536 + random.below(9_000);
    let (count, step) = match random.below(4) {
        0 => (random.below(6_000), 1),
        1 => (random.below(300), 7),
        _ => (1 + random.below(3), 1),
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
