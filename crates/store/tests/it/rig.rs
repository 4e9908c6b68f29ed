//! An engine on a simulated disk, and the steps that its tests share.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use keyloom_store::{
    Background, Engine, Error, Feed, Get, KeySchema, KeyType, Options, Put, Read, Scan, Store,
    TableName, TableSpec,
};
use keyloom_testkit::{ManualClock, SimDisk};
use keyloom_value::{Item, Value};
use pollster::FutureExt;

pub(crate) const DIRECTORY: &str = "/data";

/// Options for an engine without background threads, so that the same calls always use the disk in
/// the same order.
pub(crate) fn repeatable(disk: &SimDisk) -> Options {
    Options {
        background: Background::Manual,
        memory_bytes: 8 << 20,
        clock: Arc::new(ManualClock::new()),
        disk: Arc::new(disk.clone()),
        ..Options::default()
    }
}

pub(crate) fn open(disk: &SimDisk) -> Result<Engine, Error> {
    Engine::open(DIRECTORY, repeatable(disk))
}

pub(crate) fn table(name: &str) -> TableName {
    TableName::new(name).unwrap()
}

/// A table of numbered items, without indexes.
pub(crate) fn plain_table(engine: &Engine) -> TableName {
    let table = table("plain");
    let spec = TableSpec::new(table.clone(), KeySchema::partition("id", KeyType::N));
    engine.create_table(spec).block_on().unwrap();
    table
}

/// Like [`plain_table`], with a feed.
pub(crate) fn fed_table(engine: &Engine) -> TableName {
    let table = table("fed");
    let key = KeySchema::partition("id", KeyType::N);
    let spec = TableSpec { feed: Feed::Images, ..TableSpec::new(table.clone(), key) };
    engine.create_table(spec).block_on().unwrap();
    table
}

pub(crate) fn numbered(id: i64) -> Item {
    Item::from([("id", Value::from(id)), ("body", Value::from(format!("item {id}").repeat(9)))])
}

pub(crate) fn put(engine: &Engine, table: &TableName, id: i64) -> Result<(), Error> {
    engine.put(Put::new(table, numbered(id))).block_on().map(drop)
}

pub(crate) fn has(engine: &Engine, table: &TableName, id: i64) -> bool {
    let key = Item::from([("id", Value::from(id))]);
    engine.get(Get::new(table, key)).block_on().unwrap().is_some()
}

/// Returns how many items a scan finds.
pub(crate) fn count(engine: &Engine, table: &TableName) -> u64 {
    engine.scan(Scan::new(table)).block_on().unwrap().count
}

/// Returns the segments of the log, oldest first.
pub(crate) fn segments(disk: &SimDisk) -> Vec<PathBuf> {
    let files = disk.files().into_iter();
    files.filter(|path| path.extension().is_some_and(|extension| extension == "log")).collect()
}

pub(crate) fn in_data(name: &str) -> PathBuf {
    Path::new(DIRECTORY).join(name)
}
