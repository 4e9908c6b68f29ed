//! Pages that are followed: they are brought up to date from the images of changes where that takes no read.

use std::sync::Arc;

use futures_util::FutureExt;
use keyloom_testkit::ManualClock;
use pollster::block_on;
use serde_json::{Value as Json, json};

use crate::rig::{engine_at, open};

const MODEL: &str = r#"
[entity.task]
id = "given"
tenant = "team"
fields.team   = "text"
fields.owner  = "text"
fields.folder = "enum(a, b)"
fields.state  = "enum(open, done)"
fields.rank   = "int 0..9"
fields.tags   = "tags = {}"
access.owner  = "owner"
access.read   = ["owner", "boss"]
access.create = ["owner"]
list.all  = { facets = ["owner"] }
list.of   = { by = "folder", order = "rank", facets = ["owner", "state"] }
list.down = { order = ["-rank", "state"], facets = ["owner"] }
list.open = { by = "owner", order = "rank", where = { state = "open" } }
"#;

#[test]
fn changes_within_a_page_take_no_read() {
    let db = block_on(open(MODEL, Arc::new(engine_at(&ManualClock::new())))).tenant("red");
    let task = |id: &str, rank: i64| {
        let task =
            json!({ "id": id, "owner": "ann", "folder": "a", "state": "open", "rank": rank });
        block_on(db.create("task", &task)).expect("a task");
    };
    let update = |id: &str, patch: &Json| {
        block_on(db.update("task", id, patch)).expect("an update");
    };
    for rank in 1..=6 {
        task(&format!("t{rank}"), rank);
    }
    let mut live = db.live();
    let mut read = || {
        let moment = live.next().now_or_never()?.expect("it is read");
        let query = moment.db.list("task", "of").by("folder", "a").limit(4);
        let page = block_on(query.read()).expect("a page");
        let ids: Vec<&str> = page.items.iter().map(|item| item.id()).collect();
        Some((ids.join(" "), page.next.is_some(), page.read.rows == 0))
    };
    let expected = |ids: &str, took_none: bool| Some((ids.to_owned(), true, took_none));
    assert_eq!(read(), expected("t1 t2 t3 t4", false));
    update("t2", &json!({ "state": "done" }));
    assert_eq!(read(), expected("t1 t2 t3 t4", true));
    update("t4", &json!({ "rank": 0 }));
    assert_eq!(read(), expected("t4 t1 t2 t3", true));
    // Who enters pushes out the last one, which is the first that follows from then on.
    task("t7", 1);
    assert_eq!(read(), expected("t4 t1 t7 t2", true));
    update("t6", &json!({ "state": "done" }));
    assert_eq!(read(), None);
    // Who follows is not known.
    update("t1", &json!({ "folder": "b" }));
    assert_eq!(read(), expected("t4 t7 t2 t3", false));
    update("t4", &json!({ "rank": 9 }));
    assert_eq!(read(), expected("t7 t2 t3 t5", false));
    update("t7", &json!({ "rank": 2 }));
    assert_eq!(read(), expected("t2 t7 t3 t5", true));
}
