//! Paging through an index where many items share one index key, a common source of bugs in
//! emulators. A last key has both keys, and the table's key breaks the tie.

use keyloom_store::{
    Direction, IndexProjection, IndexSpec, KeySchema, KeyType, Page, Query, Scan, TableName,
    TableSpec, UpdateItem,
};
use keyloom_value::{Item, KeyCondition, KeyTest, Update, Value};

use super::case::{Case, claims};
use crate::client::accepted;
use crate::sample::{global, index_name, item, local, path, sorted, table_of, text_table, values};
use crate::{Client, Subject};

pub(super) const CASES: &[Case] = claims![
    equal_index_keys_page_at_every_size_in_both_directions,
    equal_index_keys_page_at_every_size_inside_a_range,
    equal_index_keys_page_at_every_size_in_a_scan,
    ties_are_broken_by_the_table_key_in_its_own_order,
    a_last_key_carries_the_index_key_and_the_table_key,
    index_paging_continues_from_a_deleted_item,
    index_paging_continues_from_an_item_that_moved,
    an_index_page_counts_what_the_index_projects,
];

const ITEMS: i64 = 12;

/// Twelve items of one owner with two ranks, between those of two other owners: by a global index
/// without sort key, one with, and a local one.
fn filled(client: &Client) -> TableName {
    let indexes = vec![
        global("by-owner", KeySchema::partition("owner", KeyType::S)),
        global("by-rank", KeySchema::partition("owner", KeyType::S).and_sort("rank", KeyType::N)),
        local("by-local-rank", "rank", KeyType::N),
    ];
    let table = client.make(TableSpec { indexes, ..text_table("things") });
    for at in (0..ITEMS).map(|at| at * 5 % ITEMS) {
        let sk = format!("{at:02}");
        client.fill(&table, ["o", "m", "p"].map(|owner| {
            item! { pk: if owner == "o" { "a" } else { owner }, sk: sk.clone(), owner: owner, rank: at / 6 }
        }));
    }
    table
}

/// A query of each index for the same twelve items.
fn queries(table: &TableName) -> Vec<Query> {
    let by = |index: &str, attribute: &str, value: &str| Query {
        index: Some(index_name(index)),
        ..Query::new(table, KeyCondition::equal(attribute, value))
    };
    vec![by("by-owner", "owner", "o"), by("by-rank", "owner", "o"), by("by-local-rank", "pk", "a")]
}

fn check_every_size(client: &Client, query: &Query, expected: &[Value]) {
    for direction in [Direction::Forward, Direction::Backward] {
        let mut expected = expected.to_vec();
        if direction == Direction::Backward {
            expected.reverse();
        }
        for limit in 1..=(ITEMS as u32 + 1) {
            let query = Query { direction, limit: Some(limit), ..query.clone() };
            let pages = client.walk_query(&query);
            let found = values(pages.iter().flat_map(|page| &page.items), "sk");
            assert_eq!(found, expected, "pages of {limit} {direction:?} of {:?}", query.index);
            let full = &pages[..pages.len() - 1];
            assert!(full.iter().all(|page| page.scanned == u64::from(limit)));
        }
    }
}

fn sort_keys(positions: impl IntoIterator<Item = i64>) -> Vec<Value> {
    positions.into_iter().map(|at| Value::from(format!("{at:02}"))).collect()
}

fn equal_index_keys_page_at_every_size_in_both_directions(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = filled(&client);
    for query in queries(&table) {
        check_every_size(&client, &query, &sort_keys(0..ITEMS));
    }
}

fn equal_index_keys_page_at_every_size_inside_a_range(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = filled(&client);
    let tests = [
        (KeyTest::Equal(Value::from(0)), 0..6),
        (KeyTest::Equal(Value::from(1)), 6..12),
        (KeyTest::Less(Value::from(1)), 0..6),
        (KeyTest::Greater(Value::from(0)), 6..12),
        (KeyTest::Between(Value::from(0), Value::from(1)), 0..12),
    ];
    for (test, expected) in tests {
        for mut query in queries(&table).split_off(1) {
            query.key = query.key.and("rank", test.clone());
            check_every_size(&client, &query, &sort_keys(expected.clone()));
        }
    }
}

fn equal_index_keys_page_at_every_size_in_a_scan(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = filled(&client);
    for index in ["by-owner", "by-rank", "by-local-rank"] {
        let scan = Scan { index: Some(index_name(index)), ..Scan::new(&table) };
        let whole = sorted(client.scan_items(&scan));
        assert_eq!(whole.len(), 36);
        for limit in 1..=37 {
            let paged = client.scan_items(&Scan { limit: Some(limit), ..scan.clone() });
            assert_eq!(sorted(paged), whole, "{index}, pages of {limit}");
        }
    }
}

fn ties_are_broken_by_the_table_key_in_its_own_order(subject: &dyn Subject) {
    let client = Client::of(subject);
    let by_owner = global("by-owner", KeySchema::partition("owner", KeyType::S));
    let spec = table_of("numbers", KeyType::S, KeyType::N);
    let table = client.make(TableSpec { indexes: vec![by_owner], ..spec });
    for pk in ["b", "a"] {
        let keys = [10, 9, -1, -10];
        client.fill(&table, keys.map(|sk| item! { pk: pk, sk: sk, owner: "o" }));
    }
    let key = KeyCondition::equal("owner", "o");
    let query = Query { index: Some(index_name("by-owner")), ..Query::new(&table, key) };
    let items = client.query_items(&Query { limit: Some(3), ..query });
    assert_eq!(values(&items, "pk"), ["a", "a", "a", "a", "b", "b", "b", "b"].map(Value::from));
    assert_eq!(values(&items, "sk"), [-10, -1, 9, 10, -10, -1, 9, 10].map(Value::from));
}

fn a_last_key_carries_the_index_key_and_the_table_key(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = filled(&client);
    let expected = [
        item! { pk: "a", sk: "01", owner: "o" },
        item! { pk: "a", sk: "01", owner: "o", rank: 0 },
        item! { pk: "a", sk: "01", rank: 0 },
    ];
    for (query, expected) in queries(&table).into_iter().zip(expected) {
        let page = accepted(client.query(Query { limit: Some(2), ..query }));
        assert_eq!(page.last_key, Some(expected));
    }
}

fn index_paging_continues_from_a_deleted_item(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = filled(&client);
    for query in queries(&table) {
        let query = Query { limit: Some(5), ..query };
        let first = accepted(client.query(query.clone()));
        let last: &Item = first.items.last().unwrap();
        client.remove(&table, item! { pk: "a", sk: "04" });
        let next = accepted(client.query(Query { start: first.last_key.clone(), ..query }));
        assert_eq!(values(&next.items, "sk"), sort_keys(5..10));
        client.fill(&table, [last.clone()]);
    }
}

fn index_paging_continues_from_an_item_that_moved(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = filled(&client);
    let query = Query { limit: Some(5), ..queries(&table).remove(1) };
    let first = accepted(client.query(query.clone()));
    // The last item of the page moves to the end of the list: it is returned again there.
    let update = Update::new().set(path("rank"), Value::from(9));
    accepted(client.update(UpdateItem::new(&table, item! { pk: "a", sk: "04" }, update)));
    let query = Query { start: first.last_key, limit: None, ..query };
    let mut expected = sort_keys(5..12);
    expected.extend(sort_keys([4]));
    assert_eq!(values(&client.query_items(&query), "sk"), expected);
}

fn an_index_page_counts_what_the_index_projects(subject: &dyn Subject) {
    let client = Client::of(subject);
    let owner = || KeySchema::partition("owner", KeyType::S);
    let keys = IndexSpec { projection: IndexProjection::Keys, ..global("keys", owner()) };
    let table = client
        .make(TableSpec { indexes: vec![keys, global("all", owner())], ..text_table("things") });
    let body = "x".repeat(300 * 1024);
    client.fill(
        &table,
        ["1", "2", "3", "4"].map(|sk| {
            item! { pk: "a", sk: sk, owner: "o", body: body.clone() }
        }),
    );
    let scanned = |index: &str| -> Vec<u64> {
        let query = Query::new(&table, KeyCondition::equal("owner", "o"));
        let pages: Vec<Page> =
            client.walk_query(&Query { index: Some(index_name(index)), ..query });
        pages.iter().map(|page| page.scanned).collect()
    };
    assert_eq!(scanned("keys"), [4]);
    assert_eq!(scanned("all"), [3, 1]);
}
