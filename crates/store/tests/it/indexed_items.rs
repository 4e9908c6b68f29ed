//! Items through indexes: what a query of the index and a get of each item return, in one call and at
//! one point in time, on both stores and on snapshots.

use std::sync::Arc;

use keyloom_store::{
    Direction, Error, Get, IndexProjection, IndexScope, IndexSpec, Invalid, ItemsPage, KeySchema,
    KeyType, MemoryStore, Put, Query, Read, ReadItems, Select, Store, TableSpec,
};
use keyloom_testkit::{ManualClock, Random, SimDisk};
use keyloom_value::{Item, KeyCondition, KeyTest, Value};
use pollster::FutureExt;

use crate::rig::{open, table};

const ITEMS: u64 = 120;
const READS: u32 = 400;

fn spec() -> TableSpec {
    let mut spec = TableSpec::new(table("things"), KeySchema::partition("id", KeyType::N));
    let index = |name: &str, projection| IndexSpec {
        name: table(name),
        scope: IndexScope::Global,
        key: KeySchema::partition("of", KeyType::S).and_sort("at", KeyType::B),
        projection,
    };
    spec.indexes = vec![
        index("keys", IndexProjection::Keys),
        index("some", IndexProjection::Include(vec!["size".into()])),
        index("all", IndexProjection::All),
        IndexSpec {
            key: KeySchema::partition("of", KeyType::S),
            ..index("unsorted", IndexProjection::Keys)
        },
    ];
    spec
}

/// Short sort keys, so that many begin with others and some are equal.
fn bytes(random: &mut Random) -> Vec<u8> {
    (0..random.below(4)).map(|_| [0, 1, b'a', 0xFF][random.below(4) as usize]).collect()
}

fn thing(id: u64, random: &mut Random) -> Item {
    let mut item = Item::from([
        ("id", Value::from(id)),
        ("of", Value::from(["a", "b"][random.below(2) as usize])),
        ("size", Value::from("x".repeat(random.below(300) as usize))),
    ]);
    // An empty key is none, so such items are in the index without a sort key only.
    let at = bytes(random);
    if !at.is_empty() {
        item.insert("at", Value::B(at));
    }
    item
}

fn request(random: &mut Random) -> ReadItems {
    let key = KeyCondition::equal("of", ["a", "b", "c"][random.below(3) as usize]);
    let direction = [Direction::Forward, Direction::Backward][random.below(2) as usize];
    let mut prefixes: Vec<Vec<u8>> = (0..random.below(6)).map(|_| bytes(random)).collect();
    prefixes.retain(|prefix| !prefix.is_empty());
    prefixes.sort();
    prefixes.dedup_by(|one, before| one.starts_with(before));
    if direction == Direction::Backward {
        prefixes.reverse();
    }
    let is_bounded = prefixes.is_empty() && random.chance(1, 2);
    let bound = KeyTest::GreaterOrEqual(Value::B(vec![b'a']));
    ReadItems {
        table: table("things"),
        index: table(["keys", "some", "all"][random.below(3) as usize]),
        key: if is_bounded { key.and("at", bound) } else { key },
        prefixes,
        direction,
        limit: [1, 7, 1_000][random.below(3) as usize],
        bytes_max: [0, 1, 2_000, u64::MAX][random.below(4) as usize],
    }
}

/// The rows of the index, and the item of each, in as many calls as that takes.
fn one_by_one(store: &dyn Read, read: &ReadItems) -> ItemsPage {
    let mut query = Query::new(&read.table, read.key.clone());
    (query.index, query.direction) = (Some(read.index.clone()), read.direction);
    query.select = Select::All;
    let mut rows = store.query(query).block_on().unwrap().items;
    let at = |row: &Item| row.get("at").and_then(Value::as_b).unwrap_or_default().to_vec();
    let begins = |row: &Item| read.prefixes.iter().any(|prefix| at(row).starts_with(prefix));
    rows.retain(|row| read.prefixes.is_empty() || begins(row));
    let mut page = ItemsPage::default();
    for row in rows {
        page.row_bytes += row.size() as u64;
        let is_full = page.items.len() == read.limit as usize || page.item_bytes >= read.bytes_max;
        if is_full && !page.items.is_empty() {
            let is_key = |name: &str| ["id", "of", "at"].contains(&name);
            page.next = Some(row.into_iter().filter(|(name, _)| is_key(name.as_str())).collect());
            break;
        }
        let key = Item::from([("id", row.get("id").unwrap().clone())]);
        let item = store.get(Get::new(&read.table, key)).block_on().unwrap().unwrap();
        page.item_bytes += item.size() as u64;
        page.items.push(item);
    }
    page
}

fn at_once(store: &dyn Read, read: &ReadItems) -> Result<ItemsPage, Error> {
    store.indexed_items().unwrap().read_items(read.clone()).block_on()
}

#[test]
fn reading_through_an_index_returns_what_a_query_and_gets_return() {
    let mut random = Random::new(31);
    let memory = MemoryStore::new(Arc::new(ManualClock::default()));
    let engine = open(&SimDisk::new(31)).unwrap();
    let stores: [&dyn Store; 2] = [&memory, &engine];
    for store in stores {
        store.create_table(spec()).block_on().unwrap();
    }
    for number in 0..READS {
        let item = thing(random.below(ITEMS), &mut random);
        for store in stores {
            store.put(Put::new(&table("things"), item.clone())).block_on().unwrap();
        }
        let read = request(&mut random);
        let wanted = one_by_one(&memory, &read);
        for store in stores {
            let snapshot = store.snapshot().block_on().unwrap();
            for store in [store as &dyn Read, &*snapshot] {
                let found = at_once(store, &read).unwrap();
                assert_eq!(found, wanted, "read {number}: {read:?}");
            }
        }
    }
}

#[test]
fn a_read_through_an_index_is_checked_before_anything_is_read() {
    let memory = MemoryStore::new(Arc::new(ManualClock::default()));
    let engine = open(&SimDisk::new(32)).unwrap();
    for store in [&memory as &dyn Store, &engine] {
        store.create_table(spec()).block_on().unwrap();
        let read = ReadItems {
            table: table("things"),
            index: table("keys"),
            key: KeyCondition::equal("of", "a"),
            prefixes: vec![vec![1]],
            direction: Direction::Forward,
            limit: 1,
            bytes_max: 1,
        };
        assert_eq!(at_once(store, &read).unwrap(), ItemsPage::default());
        let unknown = ReadItems { index: table("none"), ..read.clone() };
        assert!(matches!(at_once(store, &unknown), Err(Error::IndexNotFound { .. })));
        let nothing = ReadItems { limit: 0, ..read.clone() };
        let refused = at_once(store, &nothing);
        assert!(matches!(refused, Err(Error::Invalid(Invalid::LimitZero))), "{refused:?}");
        let tested = read.key.clone().and("at", KeyTest::Equal(Value::B(vec![1])));
        let twice = ReadItems { key: tested, ..read.clone() };
        let unsorted = ReadItems { index: table("unsorted"), ..read };
        for wrong in [twice, unsorted] {
            let refused = at_once(store, &wrong);
            assert!(
                matches!(refused, Err(Error::Invalid(Invalid::KeyCondition { .. }))),
                "{refused:?}"
            );
        }
    }
}
