//! Random damage to random rows: after a repair, and after removing what only a person can decide,
//! the data is consistent, and entities that the damage did not affect are unchanged.

use std::collections::BTreeSet;
use std::sync::Arc;

use keyloom::{Db, Error, Finding, Remedy, Repair};
use keyloom_model::attribute::{DELETION, OWNER, PARTITION, REVISION, SORT, VERSION};
use keyloom_model::{EntityKey, Layout, OwnRow, RowName};
use keyloom_store::{Delete, MemoryStore, Put, Store};
use keyloom_testkit::{ManualClock, Random};
use keyloom_value::{Item, Value};
use pollster::block_on;
use proptest::prelude::*;
use serde_json::json;

use crate::contents::{first_layout, raw_rows, table};
use crate::damage::MODEL;
use crate::rig::{assert_clean, open};

/// How often verifying and removing may uncover more damage.
const ROUNDS_MAX: usize = 8;

/// Books also have counts and boards.
const NUMBERS: &str = r#"
[entity.book.count.all]
by = "shelf"
split = "pages"
shards = 2

[entity.book.board.full]
of = "shelf"

[entity.book.board.thick]
rank = "pages"
"#;

/// People, shelves and books that refer to them at random.
async fn library(store: Arc<dyn Store>, random: &mut Random) -> Db {
    let db = open(&format!("{MODEL}{NUMBERS}"), store).await;
    let (people, shelves, books) = (1 + random.below(4), 1 + random.below(3), random.below(9));
    for id in 0..people {
        db.create("person", &json!({"id": format!("p{id}"), "name": format!("n{id}")}))
            .await
            .unwrap();
    }
    for id in 0..shelves {
        db.create("shelf", &json!({"id": format!("s{id}"), "name": "s"})).await.unwrap();
    }
    for id in 0..books {
        let mut person = || random.chance(1, 2).then(|| format!("p{}", random.below(people)));
        let (author, lent, owner) = (person(), person(), person());
        let book = json!({"id": format!("b{id}"), "shelf": format!("s{}", random.below(shelves)),
            "title": format!("t{}", random.below(5)), "pages": random.below(3),
            "author": author, "lent": lent, "owner": owner});
        match db.create("book", &book).await {
            Ok(_) | Err(Error::UniqueViolation { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    db
}

fn key_of(row: &Item) -> Item {
    [PARTITION, SORT].map(|name| (name, row.get(name).unwrap().clone())).into()
}

/// Damages one row; returns the entities that it belonged to.
fn damage(store: &dyn Store, layout: &Layout, random: &mut Random) -> Vec<EntityKey> {
    let name = |row: &Item| {
        let key = |name| row.get(name).and_then(Value::as_b).unwrap_or_default();
        layout.row_name(key(PARTITION), key(SORT))
    };
    let rows: Vec<Item> =
        raw_rows(store).into_iter().filter(|row| name(row) != Some(RowName::System)).collect();
    if rows.is_empty() {
        return vec![];
    }
    let row = random.pick(&rows);
    let mut touched = vec![];
    match name(row) {
        Some(RowName::Own(key)) => touched.push(key),
        Some(RowName::Link { target: _, owner, .. }) => touched.push(owner),
        Some(
            RowName::Guard { .. }
            | RowName::Presence { .. }
            | RowName::Posting { .. }
            | RowName::Counter(_)
            | RowName::System,
        )
        | None => {}
    }
    let owner = row.get(OWNER).and_then(Value::as_b).and_then(|owner| layout.entity_key(owner));
    touched.extend(owner);
    let mut changed = row.clone();
    let names: Vec<String> = row.iter().map(|(name, _)| name.as_str().to_owned()).collect();
    let names: Vec<String> =
        names.into_iter().filter(|name| name != PARTITION && name != SORT).collect();
    let values = [
        Value::from("n0"),
        Value::from("s1"),
        Value::from(3),
        Value::Bool(true),
        Value::Null,
        Value::from(vec![1u8, 2]),
        Value::M(Item::new()),
        rows[0].get(PARTITION).unwrap().clone(),
        random.pick(&rows).get(PARTITION).unwrap().clone(),
    ];
    let some =
        [VERSION, REVISION, DELETION, OWNER, "X", "title", "name", "L0P", "L0S", "pages", "C"];
    match random.below(6) {
        0 => {
            block_on(store.delete(Delete::new(&table(), key_of(row)))).unwrap();
            return touched;
        }
        1 if !names.is_empty() => drop(changed.remove(random.pick(&names).as_str())),
        2 | 3 if !names.is_empty() => {
            let value = random.pick(&values).clone();
            changed.insert(random.pick(&names).as_str(), value);
        }
        4 => {
            // A copy of the row where it does not belong.
            // An entity in the partition of a counter would be data unknown to the model.
            let is_number = |row: &&Item| matches!(name(row), Some(RowName::Counter(_)));
            let others: Vec<&Item> = rows.iter().filter(|row| !is_number(row)).collect();
            let other = *random.pick(&others);
            changed.insert(SORT, other.get(SORT).unwrap().clone());
            if let Some(RowName::Own(key)) = name(&changed) {
                touched.push(key);
            }
        }
        _ => {
            changed.insert(*random.pick(&some), random.pick(&values).clone());
        }
    }
    // An attribute that is an index key can only be bytes.
    let _ = block_on(store.put(Put::new(&table(), changed)));
    touched
}

/// The entities whose rows can be read.
fn entities(store: &dyn Store, layout: &Layout) -> Vec<OwnRow> {
    raw_rows(store).iter().filter_map(|row| layout.read_own(row).ok()).collect()
}

/// The entities that refer to one of these, directly or indirectly.
fn with_referrers(layout: &Layout, all: &[OwnRow], touched: Vec<EntityKey>) -> Vec<EntityKey> {
    let mut affected = touched;
    loop {
        let before = affected.len();
        for row in all {
            let entity = layout.model().entity(row.image.key.entity);
            let refers = layout.references().of(row.image.key.entity).iter().any(|link| {
                let target = row.image.fields.get(&entity.field(link.field).name);
                let is_target = |key: &EntityKey| {
                    key.entity == link.target && target.and_then(Value::as_s) == Some(&key.id)
                };
                affected.iter().any(is_target)
            });
            if refers && !affected.contains(&row.image.key) {
                affected.push(row.image.key.clone());
            }
        }
        if affected.len() == before {
            return affected;
        }
    }
}

/// Repairs, and removes by hand what only a person can decide, until nothing is found.
fn make_right(db: &Db, store: &dyn Store, layout: &Layout) {
    let mut said = vec![];
    for _ in 0..ROUNDS_MAX {
        let found = block_on(db.verify(Repair::Yes, |_| {})).expect("it verifies");
        if found.is_empty() {
            return;
        }
        said.push(found.iter().map(ToString::to_string).collect::<Vec<_>>());
        let is_unrepairable = |found: &&Finding| found.remedy == Remedy::Unrepairable;
        let ids: BTreeSet<(&str, &str)> = found
            .iter()
            .filter(is_unrepairable)
            .map(|found| (found.entity.as_str(), found.id.as_str()))
            .collect();
        for (entity, id) in ids {
            let entity = layout.model().find(entity).expect("an entity");
            let key = layout.own_key(&EntityKey { entity, tenant: None, id: id.to_owned() });
            block_on(store.delete(Delete::new(&table(), key.to_item()))).unwrap();
        }
    }
    panic!("it never ends: {said:#?}");
}

fn check(seed: u64) {
    let mut random = Random::new(seed);
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::new(ManualClock::new())));
    let db = block_on(library(store.clone(), &mut random));
    let layout = first_layout(&format!("{MODEL}{NUMBERS}"));
    let before = entities(&*store, &layout);
    let touched: Vec<EntityKey> =
        (0..1 + random.below(4)).flat_map(|_| damage(&*store, &layout, &mut random)).collect();
    let mut affected = with_referrers(&layout, &before, touched.clone());
    affected.extend(with_referrers(&layout, &entities(&*store, &layout), touched));
    let damaged = raw_rows(&*store);
    block_on(db.verify(Repair::No, |_| {})).expect("it verifies");
    assert_eq!(raw_rows(&*store), damaged, "without repair nothing is changed");
    make_right(&db, &*store, &layout);
    assert_clean(&db);
    let after = entities(&*store, &layout);
    for row in before.iter().filter(|row| !affected.contains(&row.image.key)) {
        assert!(after.contains(row), "{row:?} is not what it was");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damage_is_repaired_or_reported_and_the_rest_is_untouched(seed: u64) {
        check(seed);
    }
}
