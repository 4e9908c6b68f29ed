//! A database with the lists of many tasks, and the questions that it is asked.

use std::path::PathBuf;
use std::sync::Arc;

use keyloom::{Db, Item, Value};
use keyloom_model::{EntityKey, Image, Layout};
use keyloom_store::{
    Durability, Engine, Membership, Options, Put, SetChange, SetName, Store, TableName,
    TransactAction, TransactWrite,
};
use pollster::block_on;

pub(crate) const MODEL: &str = "
[entity.task]
fields.name = \"text\"
fields.tags = \"tags = {}\"
list.all = {}
";

/// As many of the newest tasks as are really there.
const NEWEST: u32 = 2_000;
/// As many changes of lists as go into one transaction.
const CHANGES: usize = 40_000;

const PROJECT: (&str, &str) = ("project", "self improvement");
const PRIORITY: (&str, &str) = ("priority", "high");
const SEVERITY: (&str, &str) = ("severity", "low");

/// A question, answered with how many it found.
type Question = fn(&Filled) -> u64;

pub(crate) const QUESTIONS: &[(&str, Question)] = &[
    ("all three tags, first page of 20", |filled| filled.page(&[PROJECT, PRIORITY, SEVERITY])),
    ("all three tags, total", |filled| filled.total(&[PROJECT, PRIORITY, SEVERITY])),
    ("two tags that many have, newest 20", |filled| filled.page(&[PRIORITY, SEVERITY])),
    ("two tags that many have, total", |filled| filled.total(&[PRIORITY, SEVERITY])),
    ("one tag, newest 20", |filled| filled.page(&[PRIORITY])),
];

/// A database with the lists of many tasks.
pub(crate) struct Filled {
    db: Db,
    engine: Arc<Engine>,
    directory: PathBuf,
}

impl Filled {
    pub(crate) fn new(tasks: u32) -> Filled {
        let directory = directory("filled");
        let engine = Arc::new(Engine::open(&directory, options()).expect("an engine opens"));
        let db = block_on(Db::open(MODEL, engine.clone())).expect("the database opens");
        let filled = Filled { db, engine, directory };
        let model = keyloom_model::check(MODEL).expect("the model is right");
        filled.fill(&Layout::new(model, 1, &Item::new()), tasks);
        filled.engine.checkpoint().expect("it is brought to the disk");
        filled
    }

    fn fill(&self, layout: &Layout, tasks: u32) {
        let table = TableName::new("keyloom").expect("a name");
        let (mut actions, mut sets) = (vec![], vec![]);
        for number in 0..tasks {
            let image = task(layout, number, tasks);
            for group in layout.groups(&image).expect("names fit") {
                let set = SetName::new(group.into_vec()).expect("names fit");
                let (table, becomes) = (table.clone(), Membership::In);
                sets.push(SetChange { table, set, ordinal: number, becomes });
            }
            if number >= tasks.saturating_sub(NEWEST) {
                let rows = layout.rows(&image).expect("keys fit").into_iter();
                actions.extend(rows.map(|row| TransactAction::Put(Put::new(&table, row.item))));
            }
            if sets.len() >= CHANGES || actions.len() >= 90 || number + 1 == tasks {
                let (actions, sets) = (std::mem::take(&mut actions), std::mem::take(&mut sets));
                let transaction = TransactWrite { actions, sets, token: None };
                block_on(self.engine.transact_write(transaction)).expect("it is written");
            }
        }
    }

    fn page(&self, tags: &[(&str, &str)]) -> u64 {
        let mut query = self.db.list("task", "all").backward();
        for (key, value) in tags {
            query = query.tag(key, value);
        }
        block_on(query.read()).expect("a page is read").items.len() as u64
    }

    fn total(&self, tags: &[(&str, &str)]) -> u64 {
        let mut query = self.db.list("task", "all");
        for (key, value) in tags {
            query = query.tag(key, value);
        }
        block_on(query.total()).expect("it is counted").count
    }

    pub(crate) fn tree_bytes(&self) -> u64 {
        std::fs::metadata(self.directory.join("tree.redb")).expect("there is a tree").len()
    }
}

impl Drop for Filled {
    fn drop(&mut self) {
        // What is left over is in a folder for that.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// One of many tasks: a tenth has a project, nine tenths a priority, a fifth a severity; only the
/// last three have all.
fn task(layout: &Layout, number: u32, tasks: u32) -> Image {
    let mixed = u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    let is_last = number + 3 >= tasks;
    let has_project = mixed % 10 == 0;
    let mut tags = Item::new();
    for ((key, value), is_in) in [
        (PROJECT, has_project),
        (PRIORITY, mixed / 10 % 10 != 0),
        (SEVERITY, !has_project && mixed / 100 % 9 < 2),
    ] {
        if is_in || is_last {
            tags.insert(key, value);
        }
    }
    let entity = layout.model().find("task").expect("there are tasks");
    let key = EntityKey { entity, tenant: None, id: format!("{number:026}") };
    let fields = Item::from([("name", Value::from("a task")), ("tags", Value::M(tags))]);
    Image { key, version: "1".to_owned(), number: Some(number), fields }
}

/// Nothing here waits for the disk but what measures it.
fn options() -> Options {
    Options { durability: Durability::Relaxed, memory_bytes: 1 << 30, ..Options::default() }
}

/// An empty folder below the system's own for such.
pub(crate) fn directory(name: &str) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("keyloom-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&directory);
    directory
}
