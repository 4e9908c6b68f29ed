//! Memory stays bounded while far more data is loaded. Measured in a separate process, because
//! other tests of this one use memory too. Linux only: elsewhere nothing is measured.
#![cfg(target_os = "linux")]

use std::path::PathBuf;
use std::process::Command;

use keyloom_store::{
    BatchAction, BatchWrite, Engine, IndexProjection, IndexScope, IndexSpec, KeySchema, KeyType,
    Options, Store, TableName, TableSpec,
};
use keyloom_value::{Item, Value};
use pollster::FutureExt;

use crate::rig::table;

/// Set for the process that is measured: the directory to load into.
const LOADED: &str = "KEYLOOM_MEMORY_DIRECTORY";
const MEMORY_BYTES: usize = 8 << 20;
const LOAD_BYTES: usize = 60 << 20;
const ITEM_BYTES: usize = 4 << 10;
/// How much the process may grow: the engine's memory, requests in flight, the allocator's
/// overhead, and room for noise; far less than what is loaded.
const GROWTH_BYTES_MAX: usize = 4 * MEMORY_BYTES;

fn resident_bytes() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = text.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

fn make_table(engine: &Engine) -> TableName {
    let name = table("large");
    let mut spec = TableSpec::new(name.clone(), KeySchema::partition("id", KeyType::N));
    spec.indexes.push(IndexSpec {
        name: table("by-kind"),
        scope: IndexScope::Global,
        key: KeySchema::partition("kind", KeyType::N),
        projection: IndexProjection::Keys,
    });
    engine.create_table(spec).block_on().unwrap();
    name
}

fn batch(table: &TableName, first: u64) -> BatchWrite {
    let put = |number: u64| {
        // Spread over the tree, so that every page is written more than once.
        let id = (first + number).wrapping_mul(0x9e37_79b9) % (1 << 40);
        let body = "x".repeat(ITEM_BYTES);
        let item = Item::from([("id", Value::from(id)), ("kind", (id % 7).into())]);
        let body = [(keyloom_value::Name::from("body"), Value::from(body))];
        BatchAction::Put(table.clone(), item.into_iter().chain(body).collect())
    };
    BatchWrite { actions: (0..25).map(put).collect() }
}

/// Loads and measures. Does nothing in a regular run.
#[test]
fn loader() {
    let Some(directory) = std::env::var_os(LOADED) else { return };
    let options = Options {
        memory_bytes: MEMORY_BYTES,
        log_segment_bytes: 1 << 20,
        keep_log_bytes: 4 << 20,
        ..Options::default()
    };
    let engine = Engine::open(&directory, options).unwrap();
    let table = make_table(&engine);
    let before = resident_bytes();
    let mut most = before;
    for first in (0..(LOAD_BYTES / ITEM_BYTES) as u64).step_by(25) {
        engine.batch_write(batch(&table, first)).block_on().unwrap();
        most = most.max(resident_bytes());
    }
    let grown = most - before;
    println!("loading {LOAD_BYTES} bytes took {grown} bytes of memory");
    assert!(grown < GROWTH_BYTES_MAX, "loading took {grown} bytes of memory");
}

struct Removed(PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn loading_far_more_than_fits_into_memory_stays_within_the_limit() {
    let name = format!("keyloom-memory-{}", std::process::id());
    let directory = Removed(std::env::temp_dir().join(name));
    let loader = Command::new(std::env::current_exe().unwrap())
        .args(["memory::loader", "--exact", "--nocapture", "--test-threads=1"])
        .env(LOADED, &directory.0)
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&loader.stdout).into_owned();
    print!("{output}");
    assert!(loader.status.success(), "{output}{}", String::from_utf8_lossy(&loader.stderr));
}
