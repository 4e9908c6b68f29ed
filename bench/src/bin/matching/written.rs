//! What tags cost who writes: the same tasks with and without tags that can be looked for.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use keyloom::{Db, Options};
use keyloom_store::{Engine, Options as EngineOptions};
use pollster::block_on;
use serde::Serialize;

use crate::ours::{MODEL, directory};

const PLAIN: &str = "
[entity.task]
fields.name = \"text\"
fields.tags = \"map of text = {}\"
list.all = {}
";

const WRITERS: u32 = 16;

#[derive(Serialize)]
struct Task {
    name: String,
    tags: Tags,
}

#[derive(Serialize)]
struct Tags {
    project: String,
    priority: &'static str,
    severity: &'static str,
}

/// Creates tasks of both kinds, so many with each of 16 writers, and prints how fast and how large.
pub(crate) fn report(tasks: u32) {
    println!("| tasks with three | created per second | bytes in the tree, each |");
    println!("|---|---:|---:|");
    for (name, model) in [("texts", PLAIN), ("tags", MODEL)] {
        let directory = directory(name);
        let engine = Engine::open(&directory, EngineOptions::default()).expect("an engine opens");
        let engine = Arc::new(engine);
        let db = block_on(Db::open_with(model, engine.clone(), Options::default()));
        let db = db.expect("the database opens");
        let began = Instant::now();
        create(&db, tasks);
        let seconds = began.elapsed().as_secs_f64();
        engine.checkpoint().expect("it is brought to the disk");
        let bytes = std::fs::metadata(directory.join("tree.redb")).expect("there is a tree").len();
        let count = f64::from(tasks * WRITERS);
        println!("| {name} | {:.0} | {:.0} |", count / seconds, bytes as f64 / count);
        drop((db, engine));
        let _ = std::fs::remove_dir_all(&directory);
    }
}

fn create(db: &Db, tasks: u32) {
    let next = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(|| {
                for _ in 0..tasks {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    block_on(db.create("task", &task(number))).expect("it is created");
                }
            });
        }
    });
}

fn task(number: u32) -> Task {
    let project = format!("project {}", number % 100);
    let priority = ["low", "normal", "high"][(number % 3) as usize];
    let severity = ["low", "high"][(number / 7 % 2) as usize];
    Task { name: format!("task {number}"), tags: Tags { project, priority, severity } }
}
