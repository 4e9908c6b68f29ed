//! Scans: everything once, in pages and in segments.

use std::collections::BTreeSet;

use keyloom_store::{
    Error, Invalid, KeySchema, KeyType, Page, Scan, Segment, Select, TableName, TableSpec,
};
use keyloom_value::{Condition, Item, Projection, Value};

use super::case::{Case, claims};
use crate::client::{accepted, refused};
use crate::sample::{
    bytes, global, id_table, index_name, item, path, sorted, table_of, text_of, text_table, values,
};
use crate::{Client, Subject};

pub(super) const CASES: &[Case] = claims![
    a_scan_finds_everything_once_at_every_page_size,
    a_scan_of_nothing_is_an_empty_page,
    segments_partition_the_items,
    segments_partition_an_index,
    a_partition_is_in_one_segment,
    a_scan_page_reads_at_most_one_megabyte,
    a_scan_filters_and_selects,
    a_scan_continues_from_a_deleted_item,
    an_invalid_scan_is_refused,
    a_start_key_that_the_scan_could_not_return_is_refused,
];

/// Forty items in eight partitions, keyed by bytes and numbers.
fn filled(client: &Client) -> (TableName, Vec<Item>) {
    let by_owner = global("by-owner", KeySchema::partition("owner", KeyType::S));
    let spec = table_of("things", KeyType::B, KeyType::N);
    let table = client.make(TableSpec { indexes: vec![by_owner], ..spec });
    let partitions: [&[u8]; 8] = [b"\0", b"\0\0", b"\xFF", b"\xFF\xFF", b"a", b"ab", b"b", b"\x01"];
    let item = |at: usize| {
        let mut item = item! { pk: bytes(partitions[at % 8]), sk: at as i64 - 20, at: at as u64 };
        if !at.is_multiple_of(4) {
            item.insert("owner", ["x", "y", "z"][at % 3]);
        }
        item
    };
    let items: Vec<Item> = (0..40).map(item).collect();
    client.fill(&table, items.clone());
    (table, sorted(items))
}

fn a_scan_finds_everything_once_at_every_page_size(subject: &dyn Subject) {
    let client = Client::of(subject);
    let (table, items) = filled(&client);
    for limit in (1..=41).map(Some).chain([None]) {
        let pages = client.walk_scan(&Scan { limit, ..Scan::new(&table) });
        let found = pages.iter().flat_map(|page| page.items.clone()).collect();
        assert_eq!(sorted(found), items, "pages of {limit:?}");
        if let Some(limit) = limit {
            let full = &pages[..pages.len() - 1];
            assert!(full.iter().all(|page| page.scanned == u64::from(limit)));
        }
    }
}

fn a_scan_of_nothing_is_an_empty_page(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    assert_eq!(accepted(client.scan(Scan::new(&table))), Page::default());
    assert_eq!(
        accepted(client.scan(Scan { limit: Some(1), ..Scan::new(&table) })),
        Page::default()
    );
}

fn check_segments(client: &Client, scan: &Scan, expected: &[Item]) {
    for of in [1, 2, 3, 7, 50, 1_000_000] {
        // Of a million segments, only some of those that a partition can be in are read.
        let numbers = if of > 50 { (0..of).step_by(99_991) } else { (0..of).step_by(1) };
        let mut found = Vec::new();
        for number in numbers {
            let segment = Some(Segment { number, of });
            found.extend(client.scan_items(&Scan { segment, limit: Some(3), ..scan.clone() }));
        }
        let distinct: BTreeSet<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(distinct.len(), found.len(), "no item is in two of {of} segments");
        if of <= 50 {
            assert_eq!(sorted(found), expected, "{of} segments");
        }
    }
}

fn segments_partition_the_items(subject: &dyn Subject) {
    let client = Client::of(subject);
    let (table, items) = filled(&client);
    check_segments(&client, &Scan::new(&table), &items);
}

fn segments_partition_an_index(subject: &dyn Subject) {
    let client = Client::of(subject);
    let (table, items) = filled(&client);
    let owned: Vec<Item> = items.into_iter().filter(|item| item.contains("owner")).collect();
    let index = Some(index_name("by-owner"));
    check_segments(&client, &Scan { index, ..Scan::new(&table) }, &owned);
}

fn a_partition_is_in_one_segment(subject: &dyn Subject) {
    let client = Client::of(subject);
    let (table, _) = filled(&client);
    let mut seen = Vec::new();
    for number in 0..4 {
        let segment = Some(Segment { number, of: 4 });
        let items = client.scan_items(&Scan { segment, ..Scan::new(&table) });
        let partitions: BTreeSet<String> =
            values(&items, "pk").iter().map(ToString::to_string).collect();
        seen.extend(partitions);
    }
    assert_eq!(seen.len(), 8, "{seen:?}");
}

fn a_scan_page_reads_at_most_one_megabyte(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    client.fill(
        &table,
        ["a", "b", "c", "d", "e"].map(|id| {
            // `id` + its letter + `body`.
            item! { id: id, body: text_of(300 * 1024 - 7) }
        }),
    );
    let pages = client.walk_scan(&Scan::new(&table));
    let scanned: Vec<_> = pages.iter().map(|page| (page.scanned, page.scanned_bytes)).collect();
    assert_eq!(scanned, [(3, 900 * 1024), (2, 600 * 1024)]);
}

fn a_scan_filters_and_selects(subject: &dyn Subject) {
    let client = Client::of(subject);
    let (table, _) = filled(&client);
    // Unlike a query's, a scan's filter may be on the key.
    let filter =
        Condition::compare(path("sk"), keyloom_value::Comparison::GreaterOrEqual, Value::from(15));
    let scan = Scan { filter: Some(filter), ..Scan::new(&table) };
    let page = accepted(client.scan(scan.clone()));
    assert_eq!((page.count, page.scanned), (5, 40));
    let select = Select::Parts(Projection::names(["sk"]));
    let parts = sorted(client.scan_items(&Scan { select, ..scan.clone() }));
    assert_eq!(parts, sorted((15..20).map(|sk: i64| item! { sk: sk }).collect()));
    let count = accepted(client.scan(Scan { select: Select::Count, ..scan }));
    assert_eq!((count.items.len(), count.count, count.scanned), (0, 5, 40));
}

fn a_scan_continues_from_a_deleted_item(subject: &dyn Subject) {
    let client = Client::of(subject);
    let (table, items) = filled(&client);
    let first = accepted(client.scan(Scan { limit: Some(20), ..Scan::new(&table) }));
    client.remove(&table, first.last_key.clone().unwrap());
    let rest = client.scan_items(&Scan { start: first.last_key, ..Scan::new(&table) });
    assert_eq!(sorted([first.items, rest].concat()), items);
}

fn an_invalid_scan_is_refused(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(text_table("things"));
    let check = |scan: Scan, expected: Error| refused(client.scan(scan), expected);
    check(Scan { limit: Some(0), ..Scan::new(&table) }, Invalid::LimitZero.into());
    for (number, of) in [(1, 1), (0, 0), (5, 3), (0, 1_000_001)] {
        let segment = Some(Segment { number, of });
        let expected = Invalid::Segment { number, of };
        check(Scan { segment, ..Scan::new(&table) }, expected.into());
    }
    let index = index_name("missing");
    check(
        Scan { index: Some(index.clone()), ..Scan::new(&table) },
        Error::IndexNotFound { table: table.clone(), index },
    );
}

fn a_start_key_that_the_scan_could_not_return_is_refused(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(text_table("things"));
    let shape = |start: Item, why| {
        let scan = Scan { start: Some(start), ..Scan::new(&table) };
        refused(client.scan(scan), Invalid::StartKey { why });
    };
    shape(item! { pk: "a" }, "it lacks an attribute of the key");
    shape(item! { pk: "a", sk: "b", x: 1 }, "it has an attribute that is not part of the key");
    shape(item! { pk: "a", sk: 1 }, "an attribute of the key has an invalid value");
    // Its item need not exist, but some stores reject a key of another segment.
    let (start, key) = (item! { pk: "a", sk: "b" }, text_table("things").key);
    let mut segments = (0..5).map(|number| Segment { number, of: 5 });
    let segment = segments.find(|segment| segment.holds(&key, &start));
    let scan = Scan { start: Some(start), segment, ..Scan::new(&table) };
    assert!(segment.is_some() && client.scan(scan).is_ok());
}
