//! Reads that the tree's cache does not answer are counted.

use keyloom_store::{Engine, Options};
use keyloom_testkit::SimDisk;

use crate::rig::{DIRECTORY, count, plain_table, put, repeatable};

const ITEMS: i64 = 2000;

/// How many reads two scans of a cold tree miss, one after the other, with this much memory.
fn misses(memory_bytes: usize) -> [u64; 2] {
    let disk = SimDisk::new(0);
    let open = || Engine::open(DIRECTORY, Options { memory_bytes, ..repeatable(&disk) }).unwrap();
    let engine = open();
    let plain = plain_table(&engine);
    (0..ITEMS).for_each(|id| put(&engine, &plain, id).unwrap());
    engine.close().unwrap();
    let engine = open();
    [(); 2].map(|()| {
        let before = engine.status().unwrap().cache_misses;
        assert_eq!(count(&engine, &plain), ITEMS as u64);
        engine.status().unwrap().cache_misses - before
    })
}

#[test]
fn only_what_is_not_cached_is_a_miss() {
    let [cold, warm] = misses(64 << 20);
    assert!(cold > 0 && warm == 0, "{cold} and {warm}");
    let [cold, again] = misses(16 << 10);
    assert!(cold > 0 && again > 0, "{cold} and {again}");
}
