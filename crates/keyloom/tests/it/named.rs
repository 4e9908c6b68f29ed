//! Changes that refer to entities of the same transaction by name, whose ids are still to be generated.

use std::sync::Arc;

use keyloom::events::{Effects, Handlers};
use keyloom::{Change, Db, Error, Idempotent, Item, Record, Value};
use keyloom_testkit::ManualClock;
use pollster::block_on;
use serde_json::{Value as Json, json};

use crate::rig::{assert_clean, each_store, memory_store_at, open, open_at, plain_store, settle};

const MODEL: &str = r#"
[entity.person]
fields.name = "text"

[entity.profile]
id = "given"
fields.of = "ref person cascade"

[entity.order]
fields.buyer = "ref person refuse?"
fields.watchers = "list of ref person keep ..5 = []"
fields.note = "text?"
fields.notes = "list of text = []"
fields.extra = "any?"
fields.names = "map of text = {}"
fields.labels = "tags = {}"
count.by_buyer = { by = "buyer" }

[entity.line]
parent = "order"
on_parent_delete = "cascade"
fields.item = "text"
fields.after = "ref line clear?"

[on.order]
insert = "ordered"
"#;

fn create(entity: &str, document: &Json) -> Change {
    Change::create(entity, document).expect("it is an object")
}

/// A person, an order of that person, and two lines of the order, the second after the first.
fn order() -> Vec<Change> {
    let named = |name: &str| json!({ "$ref": name });
    let order = json!({
        "buyer": named("ann"), "watchers": [named("ann"), named("bob")], "note": named("ann"),
        "notes": ["for", named("bob")],
        // These are not names, but values like any other.
        "extra": named("ann"), "names": { "$ref": "ann" }, "labels": { "$ref": "ann" },
    });
    vec![
        create("person", &json!({ "name": "Ann" })).named("ann"),
        create("person", &json!({ "name": "Bob" })).named("bob"),
        create("order", &order).named("order"),
        create("line", &json!({ "order": named("order"), "item": "tea" })).named("tea"),
        create("line", &json!({ "order": named("order"), "item": "pot", "after": named("tea") })),
        create("profile", &json!({ "id": named("ann"), "of": named("ann") })),
        Change::put("profile", "", &json!({ "of": named("bob") })).unwrap().with_id_of("bob"),
    ]
}

fn ids(records: &[Option<Record>]) -> Vec<&str> {
    records.iter().map(|record| record.as_ref().expect("it was created").id()).collect()
}

fn assert_ordered(records: &[Option<Record>]) {
    let ids = ids(records);
    let [ann, bob, order, tea, ..] = ids[..] else { panic!("too few: {ids:?}") };
    let field = |index: usize, name: &str| records[index].as_ref()?.get(name).cloned();
    let text = |text: &str| Some(Value::from(text));
    let list = |texts: [&str; 2]| Some(Value::L(texts.map(Value::from).to_vec()));
    let unchanged = Some(Value::M(Item::from([("$ref", "ann")])));
    assert_eq!(field(2, "buyer"), text(ann));
    assert_eq!(field(2, "watchers"), list([ann, bob]));
    assert_eq!((field(2, "note"), field(2, "notes")), (text(ann), list(["for", bob])));
    assert_eq!((field(2, "extra"), field(2, "names")), (unchanged.clone(), unchanged.clone()));
    assert_eq!(field(2, "labels"), unchanged);
    assert_eq!((field(3, "order"), field(4, "order")), (text(order), text(order)));
    assert_eq!(field(4, "after"), text(tea));
    assert_eq!((ids[5], field(5, "of")), (ann, text(ann)));
    assert_eq!((ids[6], field(6, "of")), (bob, text(bob)));
}

fn is_empty(db: &Db) -> bool {
    let mut export = block_on(db.export(&["person", "order", "line", "profile"])).unwrap();
    block_on(export.next()).unwrap().is_none_or(|page| page.is_empty())
}

#[test]
fn names_stand_for_ids_in_references_texts_and_ids() {
    let check = |store| {
        let db = block_on(open(MODEL, store));
        let records = block_on(db.transact(order())).unwrap();
        assert_ordered(&records);
        for record in records.iter().flatten() {
            assert_eq!(
                block_on(db.get(record.entity(), record.id())).unwrap().as_ref(),
                Some(record)
            );
        }
        let order = records[2].as_ref().unwrap();
        let found = block_on(db.with_children("order", order.id(), Some("line"), 10)).unwrap();
        assert_eq!(found.unwrap().children.len(), 2);
        assert_clean(&db);
    };
    each_store(check);
    check(plain_store(&ManualClock::new()));
}

#[test]
fn a_patch_can_name_a_new_entity() {
    each_store(|store| {
        let db = block_on(open(MODEL, store));
        let order = block_on(db.create("order", &json!({}))).unwrap();
        let patch = json!({ "buyer": { "$ref": "new" } });
        let changes = vec![
            create("person", &json!({ "name": "Ann" })).named("new"),
            Change::update("order", order.id(), &patch).unwrap(),
        ];
        let records = block_on(db.transact(changes)).unwrap();
        let buyer = records[1].as_ref().unwrap().get("buyer").cloned();
        assert_eq!(buyer, Some(Value::from(ids(&records)[0])));
        assert_clean(&db);
    });
}

#[test]
fn a_replay_returns_the_ids_of_the_first_time() {
    each_store(|store| {
        let db = block_on(open(MODEL, store));
        let Idempotent::Applied(first) = block_on(db.transact_idempotent("k", order())).unwrap()
        else {
            panic!("it was not applied");
        };
        assert_ordered(&first);
        let replayed = block_on(db.transact_idempotent("k", order())).unwrap();
        assert_eq!(replayed, Idempotent::Replayed(first));
        // Other names are other changes.
        let mut other = order();
        other[4] = other[4].clone().named("pot");
        let mut moved = order();
        moved[6] = moved[6].clone().with_id_of("order");
        for other in [other, moved] {
            let reused = block_on(db.transact_idempotent("k", other));
            assert!(matches!(reused, Err(Error::KeyReused { .. })), "{reused:?}");
        }
    });
}

#[test]
fn a_rehearsal_plans_what_the_transaction_writes() {
    let db = block_on(open(MODEL, Arc::new(memory_store_at(&ManualClock::new()))));
    let writes = block_on(db.rehearse(order())).unwrap();
    let own = writes.rows.iter().filter(|row| row.what == "entity").count();
    assert_eq!(own, 7);
    assert!(is_empty(&db));
}

#[test]
fn wrong_names_are_refused_and_nothing_is_written() {
    let person = || create("person", &json!({ "name": "Ann" })).named("ann");
    let line = |order: Json| create("line", &json!({ "order": order, "item": "tea" }));
    let cases = [
        (
            vec![person(), line(json!({ "$ref": "order" }))],
            "Invalid `line`:\n- `order` refers to `order`, and no change before this one has that \
             name; name the change of that entity, and put it first.",
        ),
        (
            vec![line(json!({ "$ref": "order" })), create("order", &json!({})).named("order")],
            "Invalid `line`:\n- `order` refers to `order`, and no change before this one has that \
             name; name the change of that entity, and put it first.",
        ),
        (
            vec![person(), line(json!({ "$ref": "ann" }))],
            "Invalid `line`:\n- `order` must refer to a `order`, and `ann` is the name of a \
             `person`.",
        ),
        (
            vec![person(), create("order", &json!({ "watchers": [{ "$ref": "bob" }] }))],
            "Invalid `order`:\n- `watchers[0]` refers to `bob`, and no change before this one has \
             that name; name the change of that entity, and put it first.",
        ),
        (
            vec![person(), person()],
            "Two changes of one transaction have the name `ann`: choose another name.",
        ),
        (
            vec![person(), Change::delete("order", "").with_id_of("bob")],
            "Invalid `order`:\n- `id` refers to `bob`, and no change before this one has that name; \
             name the change of that entity, and put it first.",
        ),
        (
            vec![person(), create("person", &json!({ "id": { "$ref": "ann" }, "name": "x" }))],
            "Unexpected id: the ids of `person` are generated. Omit `id`.",
        ),
        (
            vec![person(), create("person", &json!({ "name": "x" })).with_id_of("ann")],
            "Unexpected id: the ids of `person` are generated. Omit `id`.",
        ),
        (
            vec![person(), line(json!({ "$ref": "ann", "more": 1 }))],
            "Invalid `line`:\n- `order` must be an id, and this is a map.",
        ),
    ];
    each_store(|store| {
        let db = block_on(open(MODEL, store));
        for (changes, expected) in &cases {
            let refused = block_on(db.transact(changes.clone())).expect_err(expected);
            assert_eq!(refused.to_string(), *expected);
            let refused = block_on(db.rehearse(changes.clone())).expect_err(expected);
            assert_eq!(refused.to_string(), *expected);
        }
        // A second change of the same entity is not a way around the rule.
        let twice = vec![person(), Change::delete("person", "").with_id_of("ann")];
        let refused = block_on(db.transact(twice)).unwrap_err();
        assert!(matches!(refused, Error::SameTwice { .. }), "{refused}");
        assert!(is_empty(&db));
        assert_clean(&db);
    });
}

#[test]
fn handlers_can_name_what_they_create() {
    let clock = ManualClock::new();
    let db = block_on(open_at(MODEL, Arc::new(memory_store_at(&clock)), &clock));
    let handlers = Handlers::new().event_with("ordered", |event, _| async move {
        let line = json!({ "order": event.id, "item": "gift", "after": { "$ref": "first" } });
        let first = create("line", &json!({ "order": event.id, "item": "tea" })).named("first");
        Ok(Effects::new().change(first).change(create("line", &line)))
    });
    let order = block_on(db.create("order", &json!({}))).unwrap();
    settle(&db, &handlers, &clock);
    let found = block_on(db.with_children("order", order.id(), Some("line"), 10)).unwrap().unwrap();
    let lines: Vec<&Record> = found.children.iter().collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    let gift =
        lines.iter().find(|line| line.get("after").is_some()).expect("one is after the other");
    assert!(lines.iter().any(|line| gift.get("after") == Some(&Value::from(line.id()))));
    assert_clean(&db);
}
