//! A tour of the embedded engine: a table with an index, conditional writes, a transaction, pages,
//! a snapshot, the change feed, a backup and a point-in-time restore.
//!
//! Run it with `cargo run --release --example tour -p keyloom-store [DIRECTORY]`. Without a
//! directory it uses a temporary one and removes it at the end; a given directory must be empty.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a tour shows what happens")]

use std::error::Error;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use keyloom_store::{
    Direction, Engine, Feed, FeedStart, Get, IndexProjection, IndexScope, IndexSpec, KeySchema,
    KeyType, Moment, Options, Put, Query, Read, ReadChanges, Restore, Store, TableName, TableSpec,
    TransactAction, TransactWrite, UpdateItem,
};
use keyloom_value::{Condition, Item, KeyCondition, Path as Place, Update, Value};
use pollster::FutureExt;

fn main() -> ExitCode {
    let given = std::env::args_os().nth(1).map(PathBuf::from);
    let fresh = std::env::temp_dir().join(format!("keyloom-tour-{}", std::process::id()));
    let outcome = tour(given.as_ref().unwrap_or(&fresh));
    if given.is_none() {
        // The system's directory for temporary files: failures are harmless.
        let _ = std::fs::remove_dir_all(&fresh);
    }
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn tour(directory: &Path) -> Result<(), Box<dyn Error>> {
    let engine = Engine::open(directory.join("data"), Options::default())?;
    let tasks = TableName::new("tasks")?;
    make_table(&engine, &tasks)?;
    write_tasks(&engine, &tasks)?;
    read_tasks(&engine, &tasks)?;
    println!(
        "
    A backup, one more change, and a restore to the point before it:"
    );
    let backup = directory.join("backup");
    let copied = engine.backup(&backup, &mut |_| ControlFlow::Continue(()))?;
    println!("  {} rows copied, up to commit {}", copied.rows, copied.commit);
    let late = Item::from([("id", Value::from("late")), ("owner", Value::from("ada"))]);
    engine.put(Put::new(&tasks, late)).block_on()?;
    let before = engine.status()?.commit - 1;
    let target = directory.join("restored");
    let log = Some(directory.join("data"));
    let restore = Restore {
        backup,
        logs: log.into_iter().collect(),
        to: Moment::Commit(before),
        target: target.clone(),
    };
    Engine::restore(&restore, &Options::default(), &mut |_| ControlFlow::Continue(()))?;
    let restored = Engine::open(&target, Options::default())?;
    let (now, then) = (items(&engine, &tasks)?, items(&restored, &tasks)?);
    println!("  {now} tasks now, {then} at commit {before}");
    restored.close()?;
    engine.close()?;
    Ok(())
}

fn make_table(engine: &Engine, tasks: &TableName) -> Result<(), Box<dyn Error>> {
    let mut spec = TableSpec::new(tasks.clone(), KeySchema::partition("id", KeyType::S));
    spec.feed = Feed::Images;
    spec.indexes.push(IndexSpec {
        name: TableName::new("by-owner")?,
        scope: IndexScope::Global,
        key: KeySchema::partition("owner", KeyType::S).and_sort("due", KeyType::N),
        projection: IndexProjection::All,
    });
    engine.create_table(spec).block_on()?;
    println!("Created table {tasks} with an index by owner and due date.");
    Ok(())
}

fn write_tasks(engine: &Engine, tasks: &TableName) -> Result<(), Box<dyn Error>> {
    let new = Condition::missing("id");
    for (id, owner, due) in [("t1", "ada", 30), ("t2", "bob", 10), ("t3", "ada", 7)] {
        let (id, owner, due) = (Value::from(id), Value::from(owner), Value::from(due));
        let task = Item::from([("id", id), ("owner", owner), ("due", due)]);
        engine.put(Put::new(tasks, task).when(new.clone())).block_on()?;
    }
    let again = Item::from([("id", Value::from("t1"))]);
    let refused = engine.put(Put::new(tasks, again).when(new)).block_on();
    println!(
        "
    A second t1 is refused:
      {}",
        refused.err().ok_or("it was accepted")?
    );

    let key = |id: &str| Item::from([("id", Value::from(id))]);
    let give = Update::new().set(Place::from("owner"), Value::from("bob"));
    let actions = ["t1", "t3"]
        .map(|id| TransactAction::Update(UpdateItem::new(tasks, key(id), give.clone())));
    engine.transact_write(TransactWrite::new(actions.into())).block_on()?;
    println!("One transaction reassigned t1 and t3 to bob.");
    Ok(())
}

fn read_tasks(engine: &Engine, tasks: &TableName) -> Result<(), Box<dyn Error>> {
    println!("\nBob's tasks, latest first, in pages of 2:");
    let mut query = Query::new(tasks, KeyCondition::equal("owner", "bob"));
    query.index = Some(TableName::new("by-owner")?);
    query.direction = Direction::Backward;
    query.limit = Some(2);
    loop {
        let page = engine.query(query.clone()).block_on()?;
        page.items.iter().for_each(|item| println!("  {item}"));
        let Some(last) = page.last_key else { break };
        println!("  -- next page --");
        query.start = Some(last);
    }
    let snapshot = engine.snapshot().block_on()?;
    let done = Update::new().set(Place::from("done"), Value::from(true));
    let key = Item::from([("id", Value::from("t2"))]);
    engine.update(UpdateItem::new(tasks, key.clone(), done)).block_on()?;
    let (then, now) = (Get::new(tasks, key.clone()), Get::new(tasks, key));
    println!(
        "
    A snapshot does not change:"
    );
    println!("  then {}", snapshot.get(then).block_on()?.unwrap_or_default());
    println!("  now  {}", engine.get(now).block_on()?.unwrap_or_default());

    println!("\nThe change feed has every change with its old and new image:");
    let shard = engine.shards(tasks.clone()).block_on()?.remove(0).id;
    let read = ReadChanges { table: tasks.clone(), shard, start: FeedStart::Oldest, limit: 100 };
    for change in engine.changes(read).block_on()?.changes {
        let image = |image: Option<Item>| image.map_or("nothing".to_owned(), |i| i.to_string());
        println!("  {} -> {}", image(change.old), image(change.new));
    }
    Ok(())
}

fn items(engine: &Engine, table: &TableName) -> Result<u64, Box<dyn Error>> {
    Ok(engine.describe_table(table.clone()).block_on()?.items)
}
