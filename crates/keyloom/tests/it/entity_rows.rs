//! What the table has because of an entity: all of it, with the reason, on random models.

use std::collections::BTreeSet;
use std::sync::Arc;

use keyloom::explain::EntityRow;
use keyloom_model::Matching;
use keyloom_store::{Delete, Store};
use keyloom_testkit::model::drafts;
use keyloom_testkit::{InFront, ManualClock, Random};
use keyloom_value::Item;
use pollster::block_on;
use proptest::prelude::*;
use serde_json::json;

use crate::cases::for_all;
use crate::contents::{raw_rows, table};
use crate::histories::take_step;
use crate::rig::{Plain, each_store, engine_at, memory_store_at, open};
use crate::world::{Readable, World, rows};

#[test]
fn the_rows_of_entities_on_the_engine_are_all_that_they_imply() {
    run(40, |clock| Arc::new(engine_at(clock)));
}

#[test]
fn the_rows_of_entities_on_a_store_without_sets_are_all_that_they_imply() {
    run(60, |clock| Arc::new(InFront(Plain(Arc::new(memory_store_at(clock))))));
}

fn run(count: u32, store: impl Fn(&ManualClock) -> Arc<dyn Store>) {
    let histories = (drafts().prop_map(Readable), any::<u64>().no_shrink(), 1..30_usize);
    for_all(count, histories, |(Readable(draft), seed, steps)| {
        let (mut random, clock) = (Random::new(seed), ManualClock::new());
        let mut world = World::new(&draft.text(), store(&clock), &clock);
        (0..steps).for_each(|_| take_step(&mut world, &mut random));
        check(&world);
    });
}

fn check(world: &World) {
    let layout = &world.layout;
    for own in rows::own(layout, &rows::scan(&*world.store)) {
        let (key, name) = (&own.image.key, &layout.model().entity(own.image.key.entity).name);
        let db = match &key.tenant {
            Some(tenant) => world.db.tenant(tenant.clone()),
            None => world.db.clone(),
        };
        let found = block_on(db.entity_rows(name, &key.id)).unwrap();
        let is_visible = block_on(db.get(name, &key.id)).unwrap().is_some();
        assert_eq!(found.is_some(), is_visible);
        let Some(found) = found else { continue };
        assert!(found.iter().all(|row| row.is_stored), "{found:#?}");
        let of = |what: &[&str]| found.iter().filter(|row| what.contains(&row.what)).count();
        let items = found.iter().filter(|row| row.what != "counter");
        let keys: BTreeSet<Vec<u8>> =
            items.filter_map(|row| row.item.as_ref()).map(rows::key).collect();
        let implied = rows::implied(layout, std::slice::from_ref(&own));
        assert_eq!(keys, implied.into_keys().collect());
        let lists = layout.postings().of(&own.image).unwrap().len();
        let are_rows = layout.matching() == Matching::Rows;
        assert_eq!(of(&["set"]), if are_rows { 0 } else { lists });
        assert_eq!(of(&["counter"]), layout.counters().of(&own.image).unwrap().len());
        assert!(found.iter().all(|row| !row.why.is_empty()), "{found:#?}");
    }
}

const MODEL: &str = r#"
[entity.shelf]
id = "given"
fields.name = "text 1..80"
unique = ["name"]

[entity.book]
id = "given"
parent = "shelf"
on_parent_delete = "cascade"
fields.title = "text 1..80"
fields.pages = "int"
fields.genre = "text 1..20"
fields.tags = "tags = {}"
list.longest = { by = "shelf", order = "-pages", facets = ["genre"] }
count.by_genre = { by = "genre" }
"#;

fn described(row: &EntityRow) -> String {
    let index = row.index.as_deref().unwrap_or("table");
    let parts = |parts: &[String]| parts.join(" ");
    format!(
        "{} | {} | {index} | {} | {}",
        row.what,
        row.why,
        parts(&row.partition),
        parts(&row.sort)
    )
}

#[test]
fn each_row_says_what_it_is_for() {
    each_store(|store| {
        let db = block_on(open(MODEL, store));
        block_on(db.create("shelf", &json!({"id": "a", "name": "novels"}))).unwrap();
        let book = json!({"id": "b", "shelf": "a", "title": "Emma", "pages": 474, "genre": "novel",
                          "tags": {"owner": "ann"}});
        block_on(db.create("book", &book)).unwrap();
        let rows = block_on(db.entity_rows("book", "b")).unwrap().unwrap();
        let shown: Vec<String> = rows.iter().map(described).collect();
        for expected in [
            "entity | its fields, and its keys in indexes | table | e book b | 0",
            "link | child of shelf: a copy beside its parent | table | e shelf a | 1 book shelf b",
            "set | list longest, facet genre = novel | table | f book longest a genre novel | 0",
            "set | tag owner:ann | table | t book tags owner ann | 0",
        ] {
            assert!(shown.iter().any(|row| row == expected), "{expected} is not in {shown:#?}");
        }
        let longest = shown.iter().find(|row| row.contains("| list longest |")).unwrap();
        assert!(longest.ends_with("book longest a | ↓474 b"), "{longest}");
        assert!(block_on(db.entity_rows("book", "c")).unwrap().is_none());
        assert!(block_on(db.entity_rows("film", "b")).is_err());
    });
}

#[test]
fn a_missing_row_shows() {
    each_store(|store| {
        let db = block_on(open(MODEL, store.clone()));
        block_on(db.create("shelf", &json!({"id": "a", "name": "novels"}))).unwrap();
        let is_guard = |row: &Item| row.contains("O") && row.iter().count() == 3;
        let guard = raw_rows(&*store).into_iter().find(is_guard).unwrap();
        let key = ["PK", "SK"].map(|name| (name, guard.get(name).unwrap().clone()));
        block_on(store.delete(Delete::new(&table(), key.into()))).unwrap();
        let rows = block_on(db.entity_rows("shelf", "a")).unwrap().unwrap();
        let missing: Vec<&EntityRow> = rows.iter().filter(|row| !row.is_stored).collect();
        assert_eq!(missing.len(), 1);
        assert_eq!((missing[0].what, missing[0].why.as_str()), ("guard", "unique: name"));
    });
}
