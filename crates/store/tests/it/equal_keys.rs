//! Thousands of items with equal index keys, in pages of every possible size: every page has
//! exactly the items that come next.

use std::thread;

use keyloom_store::{
    Direction, Engine, IndexProjection, IndexScope, IndexSpec, KeySchema, KeyType, Put, Query,
    Read, Store, TableName, TableSpec, TransactAction, TransactWrite,
};
use keyloom_testkit::SimDisk;
use keyloom_value::{Item, KeyCondition, Value};
use pollster::FutureExt;

use crate::rig::{open, table};

const BOOKS: usize = 2_000;
/// Both cores of a small machine.
const THREADS: usize = 2;

fn books() -> TableName {
    table("books")
}

/// Three of four books have the same weight; the others are lighter or heavier.
fn book(number: usize) -> Item {
    let weight = if number.is_multiple_of(4) { number } else { BOOKS / 2 };
    Item::from([
        ("number", Value::from(number as i64)),
        ("color", Value::from("red")),
        ("weight", Value::from(weight as i64)),
    ])
}

/// Creates indexes that project only keys: one by color, which all books share, and one by color
/// and weight.
fn filled() -> Engine {
    let color = || KeySchema::partition("color", KeyType::S);
    let index = |name: &str, key: KeySchema| {
        let (scope, projection) = (IndexScope::Global, IndexProjection::Keys);
        IndexSpec { name: table(name), scope, key, projection }
    };
    let mut spec = TableSpec::new(books(), KeySchema::partition("number", KeyType::N));
    spec.indexes.push(index("by-color", color()));
    spec.indexes.push(index("by-weight", color().and_sort("weight", KeyType::N)));
    let engine = open(&SimDisk::new(0)).unwrap();
    engine.create_table(spec).block_on().unwrap();
    let numbers: Vec<usize> = (0..BOOKS).collect();
    for numbers in numbers.chunks(100) {
        let put = |number: &usize| TransactAction::Put(Put::new(&books(), book(*number)));
        let transaction = TransactWrite::new(numbers.iter().map(put).collect());
        engine.transact_write(transaction).block_on().unwrap();
    }
    engine
}

/// Reads the query in pages of a size, and compares each with what comes next.
fn check(engine: &Engine, query: &Query, size: usize, numbers: &[Value]) {
    let what = format!("pages of {size} {:?} of {:?}", query.direction, query.index);
    let mut query = Query { limit: Some(size as u32), ..query.clone() };
    let mut rest = numbers;
    loop {
        let page = engine.query(query.clone()).block_on().unwrap();
        let (next, after) = rest.split_at(size.min(rest.len()));
        let found = page.items.iter().map(|book| book.get("number").unwrap());
        assert!(found.eq(next), "{what}");
        rest = after;
        let Some(last_key) = page.last_key else { break };
        assert!(!next.is_empty(), "{what}");
        query.start = Some(last_key);
    }
    assert!(rest.is_empty(), "{what}");
}

fn check_every_size(engine: &Engine, query: &Query, numbers: &[Value]) {
    thread::scope(|scope| {
        for first in 1..=THREADS {
            let sizes = (first..=BOOKS + 1).step_by(THREADS);
            scope.spawn(move || sizes.for_each(|size| check(engine, query, size, numbers)));
        }
    });
}

#[test]
fn equal_index_keys_page_at_every_size() {
    let engine = filled();
    for (index, order) in [("by-color", "number"), ("by-weight", "weight")] {
        let mut sorted: Vec<Item> = (0..BOOKS).map(book).collect();
        sorted.sort_by(|left, right| {
            left.get(order).unwrap().compare(right.get(order).unwrap()).unwrap()
        });
        let mut numbers: Vec<Value> =
            sorted.iter().map(|book| book.get("number").unwrap().clone()).collect();
        for direction in [Direction::Forward, Direction::Backward] {
            let key = KeyCondition::equal("color", "red");
            let query = Query { index: Some(table(index)), direction, ..Query::new(&books(), key) };
            check_every_size(&engine, &query, &numbers);
            numbers.reverse();
        }
    }
}
