//! Cached table specs that are outdated, because somebody else has replaced the table.

use std::time::Duration;

use keyloom_dynamodb::Remote;
use keyloom_store::{Get, KeySchema, KeyType, Put, Read, Store, TableSpec};
use keyloom_value::{Item, Value};
use pollster::block_on;

use super::faulty::Faulty;
use super::items::{item, key, table};

/// A server whose table has a key of numbers, and a store that has cached the spec of the table
/// before it, with a key of strings.
fn with_stale_spec() -> (Faulty, Remote) {
    let server = Faulty::start();
    let remote = server.remote(1, Duration::from_secs(30));
    block_on(remote.get(Get::new(&table(), key(1)))).unwrap();
    block_on(server.store.drop_table(table())).unwrap();
    let spec = TableSpec::new(table(), KeySchema::partition("id", KeyType::N));
    block_on(server.store.create_table(spec)).unwrap();
    (server, remote)
}

#[test]
fn a_stale_spec_rejects_nothing_before_it_is_fetched_again() {
    let (server, remote) = with_stale_spec();
    let numbered = Item::from([("id", Value::from(7))]);
    block_on(remote.put(Put::new(&table(), numbered.clone()))).unwrap();
    let found = block_on(server.store.get(Get::new(&table(), numbered.clone()))).unwrap();
    assert_eq!(found, Some(numbered));
}

#[test]
fn a_request_that_only_a_stale_spec_accepts_fails_as_on_every_store() {
    let (server, remote) = with_stale_spec();
    let put = Put::new(&table(), item(1, 7));
    let expected = block_on(server.store.put(put.clone())).unwrap_err();
    let found = block_on(remote.put(put)).unwrap_err();
    assert_eq!(format!("{found:?}"), format!("{expected:?}"));
}
