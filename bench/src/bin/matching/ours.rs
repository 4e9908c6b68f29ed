//! Tasks in Keyloom: taken in as `keyloom import` does it, asked for through the library.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use keyloom::{Db, Entry, Existing, Item, ListQuery, Value};
use keyloom_store::{Engine, Options};
use pollster::block_on;

use crate::measured::{Measured, median};
use crate::tasks::{Answer, PAGE, QUESTIONS, Question, name, tags};

pub(crate) const MODEL: &str = "
[entity.task]
fields.name = \"text\"
fields.tags = \"tags = {}\"
list.all = {}
";

/// As many as go into one transaction.
const BATCH: u32 = 100;
/// Threads that send transactions.
const SENDERS: u32 = 16;

/// A database in a folder, gone when this is dropped.
pub(crate) struct Ours {
    db: Db,
    engine: Arc<Engine>,
    directory: PathBuf,
}

impl Ours {
    pub(crate) fn open() -> Ours {
        let directory = directory("matching");
        let options = Options { memory_bytes: 1 << 30, ..Options::default() };
        let engine = Arc::new(Engine::open(&directory, options).expect("an engine opens"));
        let db = block_on(Db::open(MODEL, engine.clone())).expect("the database opens");
        Ours { db, engine, directory }
    }

    /// Takes tasks in, and asks everything.
    pub(crate) fn measure(&self, tasks: u32) -> Measured {
        let began = Instant::now();
        self.load(tasks);
        self.engine.checkpoint().expect("it is brought to the disk");
        let load = began.elapsed();
        let tree = std::fs::metadata(self.directory.join("tree.redb")).expect("there is a tree");
        let questions = QUESTIONS.iter().map(|question| {
            let found = self.ask(question);
            (found, median(|| self.ask(question)))
        });
        let questions = questions.collect();
        Measured { load, bytes: tree.len(), questions }
    }

    fn load(&self, tasks: u32) {
        let next = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..SENDERS {
                scope.spawn(|| {
                    loop {
                        let first = next.fetch_add(BATCH, Ordering::Relaxed);
                        let entries: Vec<Entry> =
                            (first..tasks.min(first + BATCH)).map(|n| entry(n, tasks)).collect();
                        if entries.is_empty() {
                            break;
                        }
                        block_on(self.db.import(entries, Existing::Keep)).expect("it is taken in");
                    }
                });
            }
        });
    }

    fn ask(&self, question: &Question) -> u64 {
        let mut query = self.db.list("task", "all").limit(PAGE as u32);
        for (key, value) in question.tags {
            query = query.tag(key, value);
        }
        match question.answer {
            Answer::Total => block_on(query.total()).expect("it is counted").count,
            Answer::Oldest => page(query),
            Answer::Newest => page(query.backward()),
        }
    }
}

fn page(query: ListQuery) -> u64 {
    block_on(query.read()).expect("a page is read").items.len() as u64
}

fn entry(number: u32, tasks: u32) -> Entry {
    let tags = Item::from(tags(number, tasks).map(|(key, value)| (key, Value::from(value))));
    let fields = Item::from([("name", Value::from(name(number))), ("tags", Value::M(tags))]);
    Entry { entity: "task".to_owned(), tenant: None, id: format!("{number:010}"), fields }
}

impl Drop for Ours {
    fn drop(&mut self) {
        // What is left over is in a folder for that.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// An empty folder below the system's own for such.
pub(crate) fn directory(name: &str) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("keyloom-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&directory);
    directory
}
