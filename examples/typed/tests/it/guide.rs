//! The examples of `docs/clients.md` in Rust are part of programs that run: those below, and the build script
//! in the documentation of `keyloom-build`.

use std::sync::Arc;

use futures_util::TryStreamExt;
use keyloom::{Number, SystemClock};
use keyloom_store::MemoryStore;
use keyloom_typed::Error;
use pollster::block_on;

const GUIDE: &str = include_str!("../../../../docs/clients.md");
const PROGRAMS: [&str; 2] =
    [include_str!("guide.rs"), include_str!("../../../../crates/build/src/lib.rs")];

fn store() -> Arc<MemoryStore> {
    Arc::new(MemoryStore::new(Arc::new(SystemClock)))
}

async fn tasks() -> Result<(), Error> {
    use keyloom_typed_example::tasks::{Database, NewTask, TaskAllList, TaskPatch};
    let store = store();
    // The first example.
    let db = Database::open(store).await?;
    let task = db.task().create(NewTask::new("cook")).await?;
    let patch = TaskPatch::new().set_done(true).merge_tags([("room", Some("kitchen".to_owned()))]);
    let task = db.task().patch(&task.id, patch).if_version(&task.version).await?;

    let kitchen = db.task().list_all().filter(TaskAllList::tag("room", "kitchen")).limit(50);
    let page = kitchen.read().await?;
    if let Some(next) = page.next {
        println!("{} more", kitchen.clone().after(next).read().await?.items.len());
    }
    let names: Vec<String> = kitchen.items().map_ok(|task| task.name).try_collect().await?;
    // Its end.
    assert_eq!((names.as_slice(), page.items.as_slice()), (&["cook".to_owned()][..], &[task][..]));
    Ok(())
}

async fn order() -> Result<(), Error> {
    use keyloom_typed_example::shop::{
        Database, Line, NewLine, NewOrder, NewProduct, Order, ProductId,
    };
    let (db, total) = (Database::open(store()).await?, Number::from(5));
    for id in ["tea", "pot"] {
        let product = NewProduct::new(ProductId::new(id), id, "acme", 2, 9);
        db.product().create(product).await?;
    }
    // The second example.
    let (order, reference) = Order::create(NewOrder::new("ann", total)).named("order");
    let lines =
        ["tea", "pot"].map(|id| Line::create(NewLine::new(&reference, ProductId::new(id), 1)));
    let (order, lines) = db.transact((order, lines.to_vec())).idempotent("order 7").await?;
    // Its end.
    assert!(lines.len() == 2 && lines.iter().all(|line| line.order == order.id));
    Ok(())
}

#[test]
fn the_examples_run() {
    block_on(tasks()).unwrap();
    block_on(order()).unwrap();
}

#[test]
fn the_examples_are_those_of_the_guide() {
    let lines = |text: &str| -> Vec<String> {
        let line = |line: &str| line.trim().trim_start_matches("//!").trim().to_owned();
        // The formatter may join and split lines, not change their text.
        text.lines().map(line).filter(|line| !line.is_empty()).collect()
    };
    let programs = PROGRAMS.map(|program| lines(program).join(" "));
    let (_, section) = GUIDE.split_once("\n## Rust\n").expect("the guide has the section");
    let (section, _) = section.split_once("\n## ").expect("another section follows");
    let examples: Vec<&str> = section.split("```rust\n").skip(1).collect();
    assert_eq!(examples.len(), 3);
    for example in examples {
        let (example, _) = example.split_once("```").expect("an example ends");
        let example = lines(example).join(" ");
        assert!(programs.iter().any(|program| program.contains(&example)), "{example}");
    }
}
