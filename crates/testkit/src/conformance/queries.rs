//! Queries: which rows, in which order, and what they return.

use keyloom_store::{Direction, KeyType, Page, Query, Select, TableName};
use keyloom_value::{Condition, Item, KeyCondition, KeyTest, Projection, Value};

use super::case::{Case, claims};
use crate::client::accepted;
use crate::sample::{bytes, id_table, item, number, path, table_of, text_table, values};
use crate::{Client, Subject};

pub(super) const CASES: &[Case] = claims![
    texts_sort_by_their_bytes,
    numbers_sort_as_numbers,
    bytes_sort_as_bytes,
    a_query_reads_one_partition,
    a_query_of_a_table_without_sort_key_reads_one_item,
    no_matches_are_an_empty_page,
    a_filter_drops_what_was_read,
    a_filter_does_not_move_page_boundaries,
    a_selection_returns_parts_or_counts,
];

/// Sorted values, each the sort key of one item, and tests on them.
struct Ordering {
    key_type: KeyType,
    ascending: Vec<Value>,
    /// Tests, each with the positions in `ascending` that pass.
    tests: Vec<(KeyTest, Vec<usize>)>,
}

impl Ordering {
    fn check(self, subject: &dyn Subject) {
        let client = Client::of(subject);
        let table = client.make(table_of("things", KeyType::S, self.key_type));
        let count = self.ascending.len();
        // Written in an order that is neither ascending nor descending.
        for position in (0..count).map(|at| (at * 7 + 3) % count) {
            let sk = self.ascending[position].clone();
            client.fill(&table, ["a", "b"].map(|pk| item! { pk: pk, sk: sk.clone() }));
        }
        let all = KeyCondition::equal("pk", "a");
        assert_eq!(found(&client, &table, all.clone()), self.ascending);
        for (test, passing) in self.tests {
            let expected: Vec<Value> =
                passing.iter().map(|position| self.ascending[*position].clone()).collect();
            let condition = all.clone().and("sk", test);
            let words = condition.to_string();
            assert_eq!(found(&client, &table, condition), expected, "{words}");
        }
    }
}

/// Returns the sort keys that a query finds, and asserts that backward is the reverse of forward.
fn found(client: &Client, table: &TableName, condition: KeyCondition) -> Vec<Value> {
    let query = Query::new(table, condition);
    let forward = values(&accepted(client.query(query.clone())).items, "sk");
    let backward = accepted(client.query(Query { direction: Direction::Backward, ..query }));
    let mut reversed = values(&backward.items, "sk");
    reversed.reverse();
    assert_eq!(forward, reversed);
    forward
}

fn texts_sort_by_their_bytes(subject: &dyn Subject) {
    let ascending =
        ["\0", "\0\0", "A", "Z", "a", "a\0", "a\0b", "aa", "ab", "b", "é", "\u{FFFD}", "😀"];
    let text = |text: &str| Value::from(text);
    Ordering {
        key_type: KeyType::S,
        ascending: ascending.map(Value::from).into(),
        tests: vec![
            (KeyTest::Equal(text("a")), vec![4]),
            (KeyTest::Equal(text("c")), vec![]),
            (KeyTest::Less(text("a")), vec![0, 1, 2, 3]),
            (KeyTest::LessOrEqual(text("a")), vec![0, 1, 2, 3, 4]),
            (KeyTest::Greater(text("ab")), vec![9, 10, 11, 12]),
            (KeyTest::GreaterOrEqual(text("ab")), vec![8, 9, 10, 11, 12]),
            (KeyTest::Greater(text("aba")), vec![9, 10, 11, 12]),
            (KeyTest::Between(text("A"), text("a\0")), vec![2, 3, 4, 5]),
            (KeyTest::Between(text("a"), text("a")), vec![4]),
            (KeyTest::Between(text("c"), text("d")), vec![]),
            (KeyTest::BeginsWith(text("a")), vec![4, 5, 6, 7, 8]),
            (KeyTest::BeginsWith(text("a\0")), vec![5, 6]),
            (KeyTest::BeginsWith(text("\0")), vec![0, 1]),
            (KeyTest::BeginsWith(text("😀")), vec![12]),
            (KeyTest::BeginsWith(text("aab")), vec![]),
        ],
    }
    .check(subject);
}

fn numbers_sort_as_numbers(subject: &dyn Subject) {
    let ascending = [
        "-1E+100", "-200", "-100.5", "-100", "-20", "-1", "-0.5", "-1E-100", "0", "1E-100", "0.5",
        "1", "2", "10", "10.01", "11", "99", "100", "1E+100",
    ];
    Ordering {
        key_type: KeyType::N,
        ascending: ascending.map(number).into(),
        tests: vec![
            (KeyTest::Equal(number("1.00")), vec![11]),
            (KeyTest::Equal(number("3")), vec![]),
            (KeyTest::Less(number("-100")), vec![0, 1, 2]),
            (KeyTest::LessOrEqual(number("-100.0")), vec![0, 1, 2, 3]),
            (KeyTest::Greater(number("99.9")), vec![17, 18]),
            (KeyTest::GreaterOrEqual(number("1E2")), vec![17, 18]),
            (KeyTest::Between(number("-1"), number("1")), vec![5, 6, 7, 8, 9, 10, 11]),
            (KeyTest::Between(number("2"), number("10.005")), vec![12, 13]),
        ],
    }
    .check(subject);
}

fn bytes_sort_as_bytes(subject: &dyn Subject) {
    let ascending: [&[u8]; 11] = [
        b"\0",
        b"\0\0",
        b"\0\x01",
        b"\0\xFF",
        b"\x01",
        b"\x7F",
        b"\x80",
        b"\xFF",
        b"\xFF\0",
        b"\xFF\xFE",
        b"\xFF\xFF",
    ];
    Ordering {
        key_type: KeyType::B,
        ascending: ascending.map(bytes).into(),
        tests: vec![
            (KeyTest::Equal(bytes(b"\0\0")), vec![1]),
            (KeyTest::Less(bytes(b"\0\x01")), vec![0, 1]),
            (KeyTest::LessOrEqual(bytes(b"\0\x01")), vec![0, 1, 2]),
            (KeyTest::Greater(bytes(b"\x80")), vec![7, 8, 9, 10]),
            (KeyTest::GreaterOrEqual(bytes(b"\x80\0")), vec![7, 8, 9, 10]),
            (KeyTest::Between(bytes(b"\0\xFF"), bytes(b"\x7F")), vec![3, 4, 5]),
            (KeyTest::BeginsWith(bytes(b"\0")), vec![0, 1, 2, 3]),
            (KeyTest::BeginsWith(bytes(b"\xFF")), vec![7, 8, 9, 10]),
            (KeyTest::BeginsWith(bytes(b"\xFF\xFF")), vec![10]),
        ],
    }
    .check(subject);
}

fn a_query_reads_one_partition(subject: &dyn Subject) {
    let client = Client::of(subject);
    let texts = client.make(text_table("texts"));
    let partitions = ["a", "a\0", "a\0\0", "aa", "b", "\0", "a#", "a#1"];
    client.fill(&texts, partitions.map(|pk| item! { pk: pk, sk: "1" }));
    for partition in partitions {
        let query = Query::new(&texts, KeyCondition::equal("pk", partition));
        assert_eq!(client.query_items(&query), [item! { pk: partition, sk: "1" }]);
    }
    let numbers = client.make(table_of("numbers", KeyType::N, KeyType::N));
    client.fill(&numbers, ["1", "1.1", "10", "-1"].map(|pk| item! { pk: number(pk), sk: 1 }));
    let query = Query::new(&numbers, KeyCondition::equal("pk", number("1.0")));
    assert_eq!(client.query_items(&query), [item! { pk: 1, sk: 1 }]);
}

fn a_query_of_a_table_without_sort_key_reads_one_item(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    client.fill(&table, [item! { id: "a", n: 1 }, item! { id: "b", n: 2 }]);
    let query = Query::new(&table, KeyCondition::equal("id", "b"));
    let page = accepted(client.query(query));
    assert_eq!(page.items, [item! { id: "b", n: 2 }]);
    assert_eq!(page.last_key, None);
}

fn no_matches_are_an_empty_page(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(text_table("things"));
    client.fill(&table, [item! { pk: "a", sk: "1" }]);
    let empty = Query::new(&table, KeyCondition::equal("pk", "b"));
    assert_eq!(accepted(client.query(empty.clone())), Page::default());
    let limited = Query { limit: Some(1), ..empty };
    assert_eq!(accepted(client.query(limited)), Page::default());
}

/// A table whose partition `a` has items 0 to 9, `odd` or not.
fn numbered(client: &Client) -> TableName {
    let table = client.make(table_of("numbered", KeyType::S, KeyType::N));
    client.fill(&table, (0..10_i64).map(|n| item! { pk: "a", sk: n, odd: n % 2 == 1, body: "b" }));
    table
}

fn odd() -> Condition {
    Condition::equal(path("odd"), Value::from(true))
}

fn a_filter_drops_what_was_read(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = numbered(&client);
    let query = Query::new(&table, KeyCondition::equal("pk", "a"));
    let all = accepted(client.query(query.clone()));
    let page = accepted(client.query(Query { filter: Some(odd()), ..query.clone() }));
    assert_eq!(values(&page.items, "sk"), [1, 3, 5, 7, 9].map(Value::from));
    assert_eq!((page.count, page.scanned), (5, 10));
    assert_eq!(page.scanned_bytes, all.scanned_bytes);
    assert_eq!(all.scanned_bytes, all.items.iter().map(|item| item.size() as u64).sum::<u64>());
    // An item without the attribute does not match, and is no error.
    let filter = Some(Condition::equal(path("missing"), Value::from(1)));
    let page = accepted(client.query(Query { filter, ..query }));
    assert_eq!((page.count, page.scanned, page.last_key), (0, 10, None));
}

fn a_filter_does_not_move_page_boundaries(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = numbered(&client);
    let key = KeyCondition::equal("pk", "a");
    let query = Query { filter: Some(odd()), limit: Some(3), ..Query::new(&table, key) };
    let pages = client.walk_query(&query);
    let counts: Vec<_> = pages.iter().map(|page| (page.count, page.scanned)).collect();
    assert_eq!(counts, [(1, 3), (2, 3), (1, 3), (1, 1)]);
    assert_eq!(pages[0].last_key, Some(item! { pk: "a", sk: 2 }));
}

fn a_selection_returns_parts_or_counts(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = numbered(&client);
    let key = KeyCondition::equal("pk", "a").and("sk", KeyTest::Less(Value::from(2)));
    let select = |select: Select| {
        accepted(client.query(Query { select, ..Query::new(&table, key.clone()) }))
    };
    let whole = |n: i64| item! { pk: "a", sk: n, odd: n == 1, body: "b" };
    assert_eq!(select(Select::All).items, [whole(0), whole(1)]);
    assert_eq!(select(Select::AllOfTable).items, [whole(0), whole(1)]);
    let parts = select(Select::Parts(Projection::names(["sk", "nothing"])));
    assert_eq!(parts.items, [item! { sk: 0 }, item! { sk: 1 }]);
    let count = select(Select::Count);
    assert_eq!((count.items, count.count, count.scanned), (Vec::<Item>::new(), 2, 2));
    assert_eq!(count.scanned_bytes, parts.scanned_bytes);
    let limited = Query { limit: Some(1), select: Select::Count, ..Query::new(&table, key) };
    assert_eq!(accepted(client.query(limited)).last_key, Some(item! { pk: "a", sk: 0 }));
}
