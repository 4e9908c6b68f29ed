//! Pages of a query: where they end, and that together they have every item.

use keyloom_store::{Direction, KeyType, Page, Query, TableName};
use keyloom_value::{Item, KeyCondition, KeyTest, Value};

use super::case::{Case, claims};
use crate::client::accepted;
use crate::sample::{item, table_of, text_of, values};
use crate::{Client, Subject};

pub(super) const CASES: &[Case] = claims![
    pages_of_every_size_add_up_in_both_directions,
    pages_of_every_part_of_a_partition_add_up,
    a_page_that_reached_its_limit_has_a_last_key,
    a_page_reads_at_most_one_megabyte,
    an_item_over_the_rest_of_a_page_is_on_the_next,
    paging_continues_from_a_deleted_item,
    paging_sees_what_is_written_ahead_of_it_and_not_behind,
];

/// A table whose partition `b` has these sort keys, between two other partitions.
fn filled(client: &Client, sort_keys: impl IntoIterator<Item = i64> + Clone) -> TableName {
    let table = client.make(table_of("things", KeyType::S, KeyType::N));
    for pk in ["a", "b", "c"] {
        client.fill(&table, sort_keys.clone().into_iter().map(|sk| item! { pk: pk, sk: sk }));
    }
    table
}

fn partition_b(table: &TableName) -> Query {
    Query::new(table, KeyCondition::equal("pk", "b"))
}

/// Asserts that all pages but the last are full, and have these items.
fn check_pages(pages: &[Page], limit: u32, expected: &[Item]) {
    let items: Vec<&Item> = pages.iter().flat_map(|page| &page.items).collect();
    assert_eq!(items, expected.iter().collect::<Vec<_>>(), "pages of {limit}");
    let (last, full) = pages.split_last().unwrap();
    assert!(full.iter().all(|page| page.scanned == u64::from(limit)), "pages of {limit}");
    assert!(last.scanned < u64::from(limit), "a page at its limit has a last key");
}

fn pages_of_every_size_add_up_in_both_directions(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = filled(&client, -6..6);
    for direction in [Direction::Forward, Direction::Backward] {
        let query = Query { direction, ..partition_b(&table) };
        let whole = accepted(client.query(query.clone()));
        assert_eq!((whole.items.len(), &whole.last_key), (12, &None));
        for limit in 1..=13 {
            let pages = client.walk_query(&Query { limit: Some(limit), ..query.clone() });
            check_pages(&pages, limit, &whole.items);
        }
    }
}

fn pages_of_every_part_of_a_partition_add_up(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = filled(&client, -6..6);
    let v = |n: i64| Value::from(n);
    let tests = [
        KeyTest::Less(v(2)),
        KeyTest::LessOrEqual(v(2)),
        KeyTest::Greater(v(-3)),
        KeyTest::GreaterOrEqual(v(-3)),
        KeyTest::Between(v(-4), v(3)),
        KeyTest::Equal(v(0)),
    ];
    for test in tests {
        for direction in [Direction::Forward, Direction::Backward] {
            let key = KeyCondition::equal("pk", "b").and("sk", test.clone());
            let query = Query { direction, ..Query::new(&table, key) };
            let whole = accepted(client.query(query.clone()));
            for limit in 1..=9 {
                let pages = client.walk_query(&Query { limit: Some(limit), ..query.clone() });
                check_pages(&pages, limit, &whole.items);
            }
        }
    }
}

fn a_page_that_reached_its_limit_has_a_last_key(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = filled(&client, 0..2);
    let limited = |limit| Query { limit: Some(limit), ..partition_b(&table) };
    // Even if nothing follows: only the next page can tell.
    let full = accepted(client.query(limited(2)));
    assert_eq!(full.last_key, Some(item! { pk: "b", sk: 1 }));
    let next = accepted(client.query(Query { start: full.last_key, ..limited(2) }));
    assert_eq!(next, Page::default());
    assert_eq!(accepted(client.query(limited(3))).last_key, None);
    assert_eq!(accepted(client.query(limited(u32::MAX))).last_key, None);
}

/// Fills the partition `b` with items of these sizes.
fn fill_sizes(client: &Client, sizes: &[usize]) -> TableName {
    let table = client.make(table_of("things", KeyType::S, KeyType::N));
    for (position, size) in sizes.iter().enumerate() {
        let mut item = item! { pk: "b", sk: position as u64, body: "" };
        item.insert("body", text_of(size - item.size()));
        client.fill(&table, [item]);
    }
    table
}

const KB: usize = 1024;

fn a_page_reads_at_most_one_megabyte(subject: &dyn Subject) {
    let client = Client::of(subject);
    // Exactly 1 MB fits.
    let table = fill_sizes(&client, &[256 * KB, 256 * KB, 256 * KB, 256 * KB, 100, 100]);
    for direction in [Direction::Forward, Direction::Backward] {
        let pages = client.walk_query(&Query { direction, ..partition_b(&table) });
        let scanned: Vec<_> = pages.iter().map(|page| page.scanned).collect();
        match direction {
            Direction::Forward => assert_eq!(scanned, [4, 2]),
            Direction::Backward => assert_eq!(scanned, [5, 1]),
        }
        assert!(pages.iter().all(|page| page.scanned_bytes <= 1024 * 1024));
        assert_eq!(pages[0].scanned_bytes + pages[1].scanned_bytes, 1024 * 1024 + 200);
    }
}

fn an_item_over_the_rest_of_a_page_is_on_the_next(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = fill_sizes(&client, &[400 * KB, 400 * KB, 300 * KB, 400 * KB, 400 * KB]);
    let pages = client.walk_query(&partition_b(&table));
    let found: Vec<_> = pages.iter().map(|page| values(&page.items, "sk")).collect();
    let sk = |keys: &[i64]| keys.iter().copied().map(Value::from).collect::<Vec<_>>();
    assert_eq!(found, [sk(&[0, 1]), sk(&[2, 3]), sk(&[4])]);
    assert_eq!(pages[0].last_key, Some(item! { pk: "b", sk: 1 }));
    // The size is counted before the filter.
    let nothing = Some(keyloom_value::Condition::exists("missing"));
    let pages = client.walk_query(&Query { filter: nothing, ..partition_b(&table) });
    let counts: Vec<_> = pages.iter().map(|page| (page.count, page.scanned)).collect();
    assert_eq!(counts, [(0, 2), (0, 2), (0, 1)]);
}

fn paging_continues_from_a_deleted_item(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = filled(&client, 0..6);
    for (direction, expected) in [(Direction::Forward, [3, 4, 5]), (Direction::Backward, [2, 1, 0])]
    {
        let query = Query { direction, limit: Some(3), ..partition_b(&table) };
        let first = accepted(client.query(query.clone()));
        client.remove(&table, first.last_key.clone().unwrap());
        let second = accepted(client.query(Query { start: first.last_key.clone(), ..query }));
        assert_eq!(values(&second.items, "sk"), expected.map(Value::from));
        client.fill(&table, first.last_key);
    }
}

fn paging_sees_what_is_written_ahead_of_it_and_not_behind(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = filled(&client, [0, 10, 20, 30]);
    let query = Query { limit: Some(2), ..partition_b(&table) };
    let first = accepted(client.query(query.clone()));
    client.fill(&table, [5, 15].map(|sk| item! { pk: "b", sk: sk }));
    let rest = client.query_items(&Query { start: first.last_key, ..query });
    assert_eq!(values(&rest, "sk"), [15, 20, 30].map(Value::from));
}
