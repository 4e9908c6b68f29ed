//! An entity with more lists than a table of DynamoDB has indexes.

use std::sync::Arc;

use keyloom::{Db, Error, Options};
use keyloom_store::Store;
use keyloom_testkit::{ManualClock, Random};
use pollster::block_on;
use serde_json::{Map, Value as Json, json};

use crate::rig::{assert_clean, engine_at, open_any, plain_store};

/// An entity with this many fields, and a list ordered by each of the first ones.
fn model(fields: usize, lists: usize) -> String {
    let field = |number: usize| format!("fields.f{number} = \"int = 0\"\n");
    let list = |number: usize| format!("list.by_f{number} = {{ order = \"f{number}\" }}\n");
    let fields: String = (0..fields).map(field).collect();
    let lists: String = (0..lists).map(list).collect();
    format!("[entity.thing]\nid = \"given\"\n{fields}{lists}")
}

const FIELDS: usize = 150;
const THINGS: usize = 12;

/// A value for each field of each thing.
fn values(random: &mut Random) -> Vec<Vec<u64>> {
    (0..THINGS).map(|_| (0..FIELDS).map(|_| random.below(50)).collect()).collect()
}

fn write(db: &Db, values: &[Vec<u64>]) {
    for (number, values) in values.iter().enumerate() {
        let fields = values.iter().enumerate().map(|(at, value)| (format!("f{at}"), json!(value)));
        let mut thing: Map<String, Json> = fields.collect();
        thing.insert("id".to_owned(), json!(format!("t{number:02}")));
        block_on(db.put("thing", &format!("t{number:02}"), &Json::Object(thing)))
            .expect("it is put");
    }
}

fn check_lists(db: &Db, values: &[Vec<u64>], lists: usize) {
    for at in 0..lists {
        let mut expected: Vec<(u64, String)> = values
            .iter()
            .enumerate()
            .map(|(number, values)| (values[at], format!("t{number:02}")))
            .collect();
        expected.sort();
        let page = block_on(db.list("thing", &format!("by_f{at}")).limit(100).read());
        let page = page.expect("the list is read");
        let found: Vec<&str> = page.items.iter().map(|record| record.id()).collect();
        let expected: Vec<&str> = expected.iter().map(|(_, id)| id.as_str()).collect();
        assert_eq!(found, expected, "list {at}");
    }
}

#[test]
fn an_entity_has_up_to_200_lists_on_the_embedded_engine() {
    let clock = ManualClock::new();
    let engine = Arc::new(engine_at(&clock));
    let store: Arc<dyn Store> = engine.clone();
    let mut random = Random::new(1);
    for lists in [20, 60, FIELDS] {
        let db = open_any(&model(FIELDS, lists), &store, &clock);
        engine.settle().expect("the new indexes are built");
        block_on(db.backfill(|_| {})).expect("the new lists are built");
        if lists == 60 {
            write(&db, &values(&mut Random::new(9)));
        }
        let values = values(&mut random);
        write(&db, &values);
        check_lists(&db, &values, lists);
        assert_clean(&db);
    }
}

/// What needs too many indexes is refused before anything is created or changed.
#[test]
fn a_store_with_fewer_indexes_refuses_more_lists() {
    let clock = ManualClock::new();
    let store = plain_store(&clock);
    let open = |lists: usize| {
        let options = Options { clock: Arc::new(clock.clone()), ..Options::default() };
        block_on(Db::open_with(&model(30, lists), store.clone(), options))
    };
    let refused = |lists: usize| {
        let error = open(lists).expect_err("there are too many lists");
        assert!(matches!(error, Error::TooManyIndexes { limit: 20, .. }), "{error}");
        let expected = format!(
            "The lists of an entity need {lists} indexes, and a table of this store has at most 20: \
             declare fewer lists, or use a store without this limit, such as the embedded engine."
        );
        assert_eq!(error.to_string(), expected);
    };
    refused(21);
    assert!(block_on(store.list_tables()).expect("tables").is_empty());
    open(20).expect("it has 20");
    refused(30);
    open(20).expect("it still has 20");
    assert!(Db::table_spec(&model(30, 21), "things").is_err(), "DynamoDB has no such table");
}
