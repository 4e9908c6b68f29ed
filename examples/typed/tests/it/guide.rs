//! The examples of `docs/clients.md` in Rust as parts of programs that run. `cli/tests/it/guides.rs` compares them.

use std::sync::Arc;

use futures_util::TryStreamExt;
use keyloom::{Number, SystemClock};
use keyloom_store::MemoryStore;
use keyloom_typed::Error;
use pollster::block_on;

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
