//! Snapshots: the store at one point in time, whatever happens next.

use std::sync::Arc;

use keyloom_store::{
    Alteration, BatchGet, Error, Get, KeySchema, KeyType, Query, Read, Scan, TableName, TableSpec,
    TransactGet,
};
use keyloom_value::{Item, KeyCondition};
use pollster::block_on;

use super::case::{Case, claims};
use crate::client::{accepted, refused};
use crate::sample::{global, id_table, index_name, item, name};
use crate::{Client, Subject};

pub(super) const CASES: &[Case] = claims![
    a_snapshot_does_not_see_later_writes,
    a_snapshot_pages_through_one_point_in_time,
    a_snapshot_does_not_see_later_tables,
    a_snapshot_keeps_a_dropped_table,
    a_snapshot_keeps_indexes_as_they_were,
    snapshots_at_different_times_differ,
];

fn owned(client: &Client) -> TableName {
    let by_owner = global("by-owner", KeySchema::partition("owner", KeyType::S));
    let table = client.make(TableSpec { indexes: vec![by_owner], ..id_table("things") });
    client.fill(&table, ["a", "b", "c"].map(|id| item! { id: id, owner: "o" }));
    table
}

fn by_owner(table: &TableName) -> Query {
    let query = Query::new(table, KeyCondition::equal("owner", "o"));
    Query { index: Some(index_name("by-owner")), ..query }
}

fn get(snapshot: &Arc<dyn Read>, table: &TableName, id: &str) -> Option<Item> {
    accepted(block_on(snapshot.get(Get::new(table, item! { id: id }))))
}

fn a_snapshot_does_not_see_later_writes(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = owned(&client);
    let snapshot = accepted(client.snapshot());
    client.fill(&table, [item! { id: "a", owner: "p" }, item! { id: "d", owner: "o" }]);
    client.remove(&table, item! { id: "b" });
    let before = |id: &str| item! { id: id, owner: "o" };
    assert_eq!(get(&snapshot, &table, "a"), Some(before("a")));
    assert_eq!(get(&snapshot, &table, "d"), None);
    let page = accepted(block_on(snapshot.query(by_owner(&table))));
    assert_eq!(page.items, ["a", "b", "c"].map(before));
    assert_eq!(accepted(block_on(snapshot.scan(Scan::new(&table)))).count, 3);
    let gets: Vec<Get> = ["a", "b", "d"].map(|id| Get::new(&table, item! { id: id })).into();
    let got = accepted(block_on(snapshot.batch_get(BatchGet { gets: gets.clone() })));
    assert_eq!(got.items.len(), 2);
    let read = accepted(block_on(snapshot.transact_get(TransactGet { gets })));
    assert_eq!(read, [Some(before("a")), Some(before("b")), None]);
    let description = accepted(block_on(snapshot.describe_table(table.clone())));
    assert_eq!((description.items, description.indexes[0].items), (3, 3));
    // The store itself has moved on.
    assert_eq!(client.query_items(&by_owner(&table)), [before("c"), before("d")]);
}

fn a_snapshot_pages_through_one_point_in_time(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = owned(&client);
    let snapshot = accepted(client.snapshot());
    let mut query = Query { limit: Some(1), ..by_owner(&table) };
    let mut found = Vec::new();
    for id in ["a", "b", "c", "d"] {
        let page = accepted(block_on(snapshot.query(query.clone())));
        found.extend(page.items);
        query.start = page.last_key;
        client.remove(&table, item! { id: id });
        client.fill(&table, [item! { id: format!("{id}{id}"), owner: "o" }]);
    }
    assert_eq!(query.start, None);
    assert_eq!(found, ["a", "b", "c"].map(|id| item! { id: id, owner: "o" }));
}

fn a_snapshot_does_not_see_later_tables(subject: &dyn Subject) {
    let client = Client::of(subject);
    client.make(id_table("first"));
    let snapshot = accepted(client.snapshot());
    let later = client.make(id_table("later"));
    assert_eq!(accepted(block_on(snapshot.list_tables())), [name("first")]);
    let missing = || Error::TableNotFound { table: later.clone() };
    refused(block_on(snapshot.describe_table(later.clone())), missing());
    refused(block_on(snapshot.scan(Scan::new(&later))), missing());
}

fn a_snapshot_keeps_a_dropped_table(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = owned(&client);
    let snapshot = accepted(client.snapshot());
    accepted(client.drop_table(&table));
    client.make(id_table("things"));
    assert_eq!(get(&snapshot, &table, "a"), Some(item! { id: "a", owner: "o" }));
    assert_eq!(accepted(block_on(snapshot.query(by_owner(&table)))).count, 3);
    assert_eq!(client.read(&table, item! { id: "a" }), None);
}

fn a_snapshot_keeps_indexes_as_they_were(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = owned(&client);
    let by_rank = global("by-rank", KeySchema::partition("rank", KeyType::N));
    let snapshot = accepted(client.snapshot());
    accepted(client.alter_table(&table, Alteration::AddIndex(by_rank)));
    subject.settle();
    accepted(client.alter_table(&table, Alteration::DropIndex(index_name("by-owner"))));
    assert_eq!(accepted(block_on(snapshot.query(by_owner(&table)))).count, 3);
    let index = index_name("by-rank");
    let scan = Scan { index: Some(index.clone()), ..Scan::new(&table) };
    refused(block_on(snapshot.scan(scan)), Error::IndexNotFound { table, index });
}

fn snapshots_at_different_times_differ(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    let mut snapshots = Vec::new();
    for n in 0..5_i64 {
        client.fill(&table, [item! { id: "a", n: n }]);
        snapshots.push(accepted(client.snapshot()));
    }
    for (n, snapshot) in (0..5_i64).zip(&snapshots) {
        assert_eq!(get(snapshot, &table, "a"), Some(item! { id: "a", n: n }));
    }
}
