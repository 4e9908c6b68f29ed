//! Power failures at every sync while a model is changed and rows are rebuilt.

use keyloom::{Db, Error};
use pollster::block_on;
use serde_json::json;

use crate::power::{Script, Step};

/// Books on shelves, with everything that a book can declare.
macro_rules! library {
    ($more:literal) => {
        concat!(
            r#"
[entity.shelf]
id = "given"
fields.place = "int"
list.by_place = { order = "place" }

[entity.book]
id = "given"
parent = "shelf"
fields.title = "text"
fields.pages = "int = 0"
unique = ["title"]
list.by_title = { order = "title" }
"#,
            $more
        )
    };
}

const FIRST: &str = library!("");

/// A new list in a slot of its own, a new unique, a new field with a default; the old list is
/// removed.
const SECOND: &str = r#"
[entity.shelf]
id = "given"
fields.place = "int"
list.by_place = { order = "place" }

[entity.book]
id = "given"
parent = "shelf"
fields.title = "text"
fields.pages = "int = 0"
fields.code = "text?"
fields.lent = "bool = false"
unique = ["title", { fields = ["title"], within = "shelf", fold_case = true }]
list.by_pages = { by = "lent", order = ["-pages", "title"] }
list.on_shelf = { by = "shelf", order = "title" }
"#;

/// Changes shelves, which the change before did not touch, and removes a unique.
const THIRD: &str = r#"
[entity.shelf]
id = "given"
fields.place = "int"
fields.room = "text = 'hall'"
unique = ["place"]
list.by_room = { by = "room", order = "place" }

[entity.book]
id = "given"
parent = "shelf"
fields.title = "text"
fields.pages = "int = 0"
fields.code = "text?"
fields.lent = "bool = false"
fields.since = "time = now"
unique = [{ fields = ["title"], within = "shelf", fold_case = true }]
list.by_pages = { by = "lent", order = ["-pages", "title"] }
list.on_shelf = { by = "shelf", order = "title" }
"#;

/// Books are counted and ranked.
const COUNTED: &str = library!(
    r#"
count.all = { by = "shelf", split = "pages", shards = 3 }
board.full = { of = "shelf" }
board.thick = { rank = "pages" }
"#
);

/// Counts and ranks differently, and removes a board.
const RECOUNTED: &str = library!(
    r#"
count.all = { by = "shelf", split = ["pages", "title"] }
board.thick = { rank = "pages", by = "shelf" }
"#
);

fn library(db: &Db) {
    fill(db, 30);
}

fn small_library(db: &Db) {
    fill(db, 12);
}

/// More rows than one step of a backfill rebuilds.
fn large_library(db: &Db) {
    fill(db, 180);
}

fn fill(db: &Db, books: usize) {
    for number in 0..4 {
        let shelf = json!({"id": format!("s{number}"), "place": number});
        block_on(db.create("shelf", &shelf)).unwrap();
    }
    for number in 0..books {
        let book = json!({"id": format!("b{number}"), "shelf": format!("s{}", number % 4),
            "title": format!("title {}", number * 7 % books), "pages": number % 10});
        block_on(db.create("book", &book)).unwrap();
    }
}

fn write(db: &Db) -> Result<(), Error> {
    block_on(async {
        db.update("book", "b3", &json!({"pages": 99, "shelf": "s1"})).await?;
        Ok(())
    })
}

#[test]
fn a_backfill_survives_a_crash_at_every_sync() {
    let steps = vec![Step { model: SECOND, run: write }];
    let script = Script { model: FIRST, setup: library, steps };
    let crashes = script.crash_everywhere();
    assert!(crashes > 5, "{crashes}");
}

#[test]
fn a_backfill_in_several_steps_survives_a_crash_at_every_sync() {
    let steps = vec![Step { model: SECOND, run: |_| Ok(()) }];
    let script = Script { model: FIRST, setup: large_library, steps };
    let crashes = script.crash_everywhere();
    assert!(crashes > 10, "{crashes}");
}

#[test]
fn successive_model_changes_survive_a_crash_at_every_sync() {
    let delete = |db: &Db| block_on(db.delete("book", "b3"));
    let steps = vec![Step { model: SECOND, run: write }, Step { model: THIRD, run: delete }];
    let script = Script { model: FIRST, setup: library, steps };
    let crashes = script.crash_everywhere();
    assert!(crashes > 10, "{crashes}");
}

#[test]
fn building_counts_and_boards_survives_a_crash_at_every_sync() {
    let delete = |db: &Db| block_on(db.delete("book", "b3"));
    let steps = vec![Step { model: COUNTED, run: write }, Step { model: RECOUNTED, run: delete }];
    let script = Script { model: FIRST, setup: small_library, steps };
    let crashes = script.crash_everywhere();
    assert!(crashes > 10, "{crashes}");
}
