//! Paths, query strings, filters, cursors and changes of the REST API, on a small database.

use std::cell::OnceCell;
use std::sync::Arc;

use keyloom::events::Position;
use keyloom::{Db, SystemEntropy};
use keyloom_server::{Rest, RestOptions, Tokens};
use keyloom_store::{MemoryStore, SystemClock};
use pollster::block_on;
use tokio::runtime::{Builder, Runtime};

use crate::choice::chosen;

const MODEL: &str = r#"
[entity.project]
id = "given"
fields.name = "text 1..80"
unique = ["name"]

[entity.task]
parent = "project"
on_parent_delete = "cascade"
fields.title = "text 1..200"
fields.rank = "int"
fields.state = "enum(open, done) = open"
fields.due = "time?"
fields.price = "number?"
fields.data = "bytes?"
fields.tags = "tags"
fields.more = "any?"
list.all = { facets = ["state"] }
list.open = { by = "project", order = "-rank", where = { state = "open" } }
list.soon = { by = "project", order = "due" }
count.by_state = { by = "state" }
board.rank = { rank = "rank" }
"#;

struct Served {
    runtime: Runtime,
    db: Db,
    rest: Rest,
}

thread_local! {
    static SERVED: OnceCell<Served> = const { OnceCell::new() };
}

fn with_served(run: impl FnOnce(&Served)) {
    SERVED.with(|served| run(served.get_or_init(Served::start)));
}

impl Served {
    fn start() -> Served {
        let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime");
        let clock = Arc::new(SystemClock);
        let store = Arc::new(MemoryStore::new(clock.clone()));
        let db = block_on(Db::open(MODEL, store.clone())).expect("the model is valid");
        let tokens = block_on(Tokens::open(store, "keyloom", clock, Arc::new(SystemEntropy)));
        let tokens = tokens.expect("a table of tokens");
        let rest = Rest::new(db.clone(), tokens, vec![], RestOptions::default());
        let served = Served { runtime, db, rest: rest.expect("the model is served") };
        let project = serde_json::json!({ "id": "p", "name": "one" });
        block_on(served.db.create("project", &project)).expect("a project");
        for rank in 0..40 {
            let state = if rank % 3 == 0 { "done" } else { "open" };
            let task = serde_json::json!({
                "project": "p", "title": format!("t{rank}"), "rank": rank, "state": state,
                "due": rank * 1000, "tags": { "a": "b", "n": rank.to_string() },
            });
            block_on(served.db.create("task", &task)).expect("a task");
        }
        served
    }
}

/// Valid paths, so that not every input is an unknown one.
const PATHS: &[&str] = &[
    "tasks/lists/all",
    "tasks/lists/open",
    "tasks/lists/soon",
    "tasks/lists/all/facets",
    "tasks/lists/all/tags/a",
    "tasks/counts/by_state",
    "boards/rank",
    "projects",
    "projects/p",
    "projects/p/with/tasks",
];

/// The message of an internal server error.
const FAULT: &str = "Internal server error";

/// Every path with every query gets a response other than an internal error.
pub fn requests(input: &[u8]) {
    let Some((choice, rest)) = chosen(input) else { return };
    let Ok(rest) = std::str::from_utf8(rest) else { return };
    let request = match PATHS.get(usize::from(choice)) {
        Some(path) => format!("{path}?{rest}"),
        None => rest.to_owned(),
    };
    with_served(|served| {
        let result = served.runtime.block_on(served.rest.explain(&request, None));
        assert!(result.err().is_none_or(|why| !why.contains(FAULT)), "{request}");
    });
}

/// Every change is explained or rejected, never with an internal error.
pub fn changes(input: &[u8]) {
    let Ok(change) = std::str::from_utf8(input) else { return };
    with_served(|served| {
        let result = served.runtime.block_on(served.rest.explain_change(change, None));
        assert!(result.err().is_none_or(|why| !why.contains(FAULT)), "{change}");
    });
}

/// A cursor continues its query or is rejected; a position round-trips through text.
pub fn cursors(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    if let Ok(position) = text.parse::<Position>() {
        let again = position.to_string().parse::<Position>().expect("it was a position");
        assert_eq!(again, position);
    }
    with_served(|served| {
        let list = served.db.list("task", "open").by("project", "p").limit(4);
        let first = block_on(list.read()).expect("a page");
        let next = first.next.expect("there is more");
        // Changes bytes of a valid cursor; only the server can create cursors.
        let mut changed: Vec<u8> = next.clone().into_bytes();
        for (place, byte) in input.iter().enumerate().take(changed.len()) {
            changed[place] ^= byte;
        }
        for cursor in [text.to_owned(), String::from_utf8_lossy(&changed).into_owned()] {
            let page = block_on(list.clone().after(cursor.clone()).read());
            assert!(page.is_err() || cursor == next || cursor.is_empty(), "{cursor} is accepted");
        }
    });
}
