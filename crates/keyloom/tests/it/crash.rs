//! Power failures at every sync of writes, deletions of any size, model changes and opening itself.

use keyloom::{Change, Db, Error};
use pollster::block_on;
use serde_json::json;

use crate::power::{Script, Step};

/// Boxes in rooms: references that cascade, refuse or are cleared, and a cycle.
pub(crate) const ROOMS: &str = r#"
[entity.room]
id = "given"
fields.name = "text"
fields.next = "ref room cascade?"
unique = ["name"]
list.by_name = { order = "name" }

[entity.box]
id = "given"
parent = "room"
on_parent_delete = "cascade"
fields.label = "text"
fields.weight = "int = 0"
unique = [{ fields = ["label"], within = "room" }]
list.by_weight = { by = "room", order = ["-weight", "label"] }
list.all = { order = "label" }

[entity.thing]
id = "given"
parent = "box"
on_parent_delete = "cascade"
fields.name = "text?"
unique = ["name"]
list.by_box = { by = "box" }

[entity.note]
id = "given"
fields.about = "ref room clear?"
fields.on = "ref thing clear?"
list.by_room = { by = "about" }

[entity.key]
id = "given"
fields.opens = "ref box refuse"
list.by_box = { by = "opens" }
"#;

fn create(db: &Db, entity: &str, document: &serde_json::Value) -> Result<(), Error> {
    block_on(db.create(entity, document)).map(drop)
}

fn step(run: fn(&Db) -> Result<(), Error>) -> Step {
    Step { model: ROOMS, run }
}

fn two_rooms(db: &Db) {
    for room in ["hall", "attic"] {
        create(db, "room", &json!({"id": room, "name": room})).unwrap();
    }
}

#[test]
fn single_changes_and_transactions_survive_a_crash_at_every_sync() {
    let steps = vec![
        step(|db| create(db, "room", &json!({"id": "cellar", "name": "cellar"}))),
        step(|db| create(db, "box", &json!({"id": "b1", "room": "hall", "label": "one"}))),
        step(|db| create(db, "box", &json!({"id": "b2", "room": "hall", "label": "two"}))),
        step(|db| create(db, "note", &json!({"id": "n", "about": "cellar"}))),
        step(|db| create(db, "key", &json!({"id": "k", "opens": "b1"}))),
        step(|db| {
            block_on(db.update("box", "b1", &json!({"weight": 7, "label": "uno"}))).map(drop)
        }),
        // A move to another parent, scope and list.
        step(|db| block_on(db.update("box", "b1", &json!({"room": "attic"}))).map(drop)),
        step(|db| {
            let swap = |id, label| Change::update("room", id, &json!({"name": label}));
            block_on(db.transact(vec![swap("hall", "attic")?, swap("attic", "hall")?])).map(drop)
        }),
        step(|db| block_on(db.put("thing", "t", &json!({"box": "b1", "name": "cup"}))).map(drop)),
        step(|db| {
            let changes = vec![
                Change::delete("key", "k"),
                Change::update("thing", "t", &json!({"name": "mug"}))?,
                Change::create("thing", &json!({"id": "u", "box": "b2", "name": "cup"}))?,
                Change::delete("room", "cellar"),
            ];
            block_on(db.transact(changes)).map(drop)
        }),
        step(|db| block_on(db.delete("box", "b2"))),
    ];
    let script = Script { model: ROOMS, setup: two_rooms, steps };
    let crashes = script.crash_everywhere();
    assert!(crashes > 12, "{crashes}");
}

pub(crate) fn small_family(db: &Db) {
    two_rooms(db);
    for number in 0..4 {
        let id = format!("b{number}");
        create(db, "box", &json!({"id": id, "room": "hall", "label": id})).unwrap();
        create(db, "thing", &json!({"id": id, "box": id, "name": id})).unwrap();
    }
    create(db, "note", &json!({"id": "n", "about": "hall", "on": "b1"})).unwrap();
}

#[test]
fn a_small_cascade_survives_a_crash_at_every_sync() {
    let steps = vec![
        step(|db| block_on(db.delete("room", "hall"))),
        step(|db| create(db, "room", &json!({"id": "hall", "name": "hall"}))),
    ];
    let script = Script { model: ROOMS, setup: small_family, steps };
    let crashes = script.crash_everywhere();
    assert!(crashes > 3, "{crashes}");
}

/// More than fits into one transaction, of both kinds: entities that others can refer to, and
/// leaves.
pub(crate) fn large_family(db: &Db) {
    two_rooms(db);
    block_on(db.update("room", "hall", &json!({"next": "attic"}))).unwrap();
    block_on(db.update("room", "attic", &json!({"next": "hall"}))).unwrap();
    create(db, "room", &json!({"id": "shed", "name": "shed"})).unwrap();
    for number in 0..9 {
        let id = format!("b{number}");
        let room = ["hall", "attic"][number % 2];
        create(db, "box", &json!({"id": id, "room": room, "label": id, "weight": number})).unwrap();
        for part in 0..4 {
            let thing =
                json!({"id": format!("{id}.{part}"), "box": id, "name": format!("{id}.{part}")});
            create(db, "thing", &thing).unwrap();
        }
    }
    create(db, "box", &json!({"id": "kept", "room": "shed", "label": "b1"})).unwrap();
    create(db, "key", &json!({"id": "k", "opens": "kept"})).unwrap();
    for number in 0..5 {
        let about = ["hall", "shed", "attic"][number % 3];
        let note =
            json!({"id": format!("n{number}"), "about": about, "on": format!("b{number}.1")});
        create(db, "note", &note).unwrap();
    }
}

#[test]
fn a_large_cascade_with_a_cycle_survives_a_crash_at_every_sync() {
    let steps = vec![
        step(|db| block_on(db.delete("room", "hall"))),
        step(|db| {
            create(db, "room", &json!({"id": "hall", "name": "attic"}))?;
            Ok(())
        }),
    ];
    let script = Script { model: ROOMS, setup: large_family, steps };
    let crashes = script.crash_everywhere();
    assert!(crashes > 15, "{crashes}");
}

pub(crate) fn held_family(db: &Db) {
    large_family(db);
    create(db, "key", &json!({"id": "held", "opens": "b8"})).unwrap();
}

#[test]
fn a_refused_large_cascade_leaves_nothing_behind_after_a_crash_at_any_sync() {
    let steps = vec![step(|db| match block_on(db.delete("room", "hall")) {
        Err(Error::InUse { .. }) => Ok(()),
        Err(other) => Err(other),
        Ok(()) => panic!("a key opens one of its boxes"),
    })];
    let script = Script { model: ROOMS, setup: held_family, steps };
    let crashes = script.crash_everywhere();
    assert!(crashes > 2, "{crashes}");
}

#[test]
fn creating_the_table_survives_a_crash_at_every_sync() {
    let steps = vec![step(|db| create(db, "room", &json!({"id": "r", "name": "r"})))];
    let script = Script { model: ROOMS, setup: |_| {}, steps };
    assert!(script.crash_everywhere() > 0);
    let (disk, mut crashes) = (keyloom_testkit::SimDisk::new(9), 0);
    for k in 1.. {
        let disk = disk.after_crash(k);
        disk.crash_at_sync(k);
        let opened = crate::power::try_create(&disk, ROOMS);
        if !disk.crashed() {
            opened.expect("a whole disk");
            break;
        }
        crashes += 1;
        for fate in 0..4 {
            crate::power::try_create(&disk.after_crash(fate), ROOMS).expect("it is made again");
        }
    }
    assert!(crashes > 5, "{crashes}");
}
