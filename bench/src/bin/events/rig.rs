//! A database in a temporary directory, and the measured work.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use keyloom::Db;
use keyloom::events::{Handlers, Next};
use keyloom_store::{Engine, Options};
use keyloom_value::{Item, Value};
use pollster::block_on;

const MODEL: &str = r#"
[entity.note]
fields.text = "text"
[entity.copy]
id = "given"
fields.text = "text"
[on.note]
insert = "copy"
"#;

/// Numbers for ids, and for directories.
static NUMBER: AtomicUsize = AtomicUsize::new(0);

/// A database; its directory is removed on drop.
pub(crate) struct Rig {
    pub(crate) db: Db,
    directory: PathBuf,
}

impl Rig {
    pub(crate) fn open() -> Rig {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("keyloom-events-{}-{number}", std::process::id());
        let directory = std::env::current_dir().expect("there is one").join(name);
        std::fs::create_dir(&directory).expect("a directory can be made");
        let engine = Engine::open(&directory, Options::default()).expect("the engine opens");
        let db = block_on(Db::open(MODEL, Arc::new(engine))).expect("the database opens");
        Rig { db, directory }
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        // Leftover files do not affect the results.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Creates `count` entities with some writers.
pub(crate) fn create_all(db: &Db, entity: &str, (count, writers): (usize, usize)) {
    thread::scope(|scope| {
        for _ in 0..writers {
            scope.spawn(|| {
                for _ in 0..count / writers {
                    let mut item = Item::from([("text", Value::from("something to be copied"))]);
                    if entity == "copy" {
                        item.insert("id", NUMBER.fetch_add(1, Ordering::Relaxed).to_string());
                    }
                    let change = keyloom::Change::create_item(entity, item);
                    block_on(db.transact(vec![change])).expect("it is written");
                }
            });
        }
    });
}

/// Works until nothing is due.
pub(crate) fn work_off(db: &Db, handlers: &Handlers) {
    while block_on(db.work(handlers)).expect("it works").next == Next::Now {}
}

/// Runs `work`, which processes `count` units, and returns the rate per second.
pub(crate) fn per_second(count: usize, work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    count as f64 / start.elapsed().as_secs_f64()
}
