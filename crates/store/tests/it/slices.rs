//! Reads in time slices: they park before they read, they are interrupted where they must not block
//! the thread, and whatever happens between, each answer is of one point in time.

use std::cell::Cell;
use std::pin::Pin;
use std::task::{Context, Waker};

use keyloom_store::{
    BatchGet, Engine, FeedStart, Get, Read, ReadChanges, Scan, Slice, SlicePoll, Store, TransactGet,
};
use keyloom_testkit::SimDisk;
use keyloom_value::{Item, Value};
use pollster::FutureExt;

use crate::rig::{fed_table, open, put};

const ITEMS: i64 = 100;

thread_local! {
    /// How many more checks return false before the slice is over.
    static LEFT: Cell<u32> = const { Cell::new(0) };
}

fn is_over() -> bool {
    LEFT.replace(LEFT.get().saturating_sub(1)) == 0
}

/// Polls a read in a slice that is over after this many checks.
fn poll<F: Future + ?Sized>(slice: Slice, asked: u32, read: Pin<&mut F>) -> SlicePoll<F::Output> {
    LEFT.set(asked);
    slice.poll(read, &mut Context::from_waker(Waker::noop()))
}

fn get(engine: &Engine, id: i64) -> Get {
    let table = engine.list_tables().block_on().unwrap().remove(0);
    Get::new(&table, Item::from([("id", Value::from(id))]))
}

/// A read, as how many items it finds.
type Found<'e> = Pin<Box<dyn Future<Output = usize> + 'e>>;

/// Long reads.
fn reads(engine: &Engine) -> [(&'static str, Found<'_>); 4] {
    let table = engine.list_tables().block_on().unwrap().remove(0);
    let gets: Vec<Get> = (0..ITEMS).map(|id| get(engine, id)).collect();
    let scan = engine.scan(Scan::new(&table));
    let batch = engine.batch_get(BatchGet { gets: gets.clone() });
    let shard = engine.shards(table.clone()).block_on().unwrap().remove(0).id;
    let limit = ITEMS as usize;
    let read = ReadChanges { table: table.clone(), shard, start: FeedStart::Oldest, limit };
    let changes = engine.changes(read);
    let together = engine.transact_get(TransactGet { gets });
    [
        ("scan", Box::pin(async { scan.await.unwrap().items.len() })),
        ("batch", Box::pin(async { batch.await.unwrap().items.len() })),
        ("changes", Box::pin(async { changes.await.unwrap().changes.len() })),
        ("transaction", Box::pin(async { together.await.unwrap().iter().flatten().count() })),
    ]
}

fn filled(items: i64) -> (SimDisk, Engine) {
    let disk = SimDisk::new(0);
    let engine = open(&disk).unwrap();
    let table = fed_table(&engine);
    (0..items).for_each(|id| put(&engine, &table, id).unwrap());
    (disk, engine)
}

#[test]
fn a_read_interrupted_anywhere_is_restarted_and_returns_everything() {
    let (_disk, engine) = filled(ITEMS);
    for asked in 0..16 {
        for (name, mut read) in reads(&engine) {
            let mut polled = poll(Slice::interrupting(is_over), asked, read.as_mut());
            // Checked once before the read, and at every eighth of 100 rows or commits.
            if asked < 13 {
                assert_eq!(polled, SlicePoll::Yielded, "{name} after {asked}");
                polled = poll(Slice::new(is_over), u32::MAX, read.as_mut());
            }
            assert_eq!(polled, SlicePoll::Ready(ITEMS as usize), "{name} after {asked}");
        }
    }
}

#[test]
fn a_started_read_finishes_in_a_regular_slice() {
    let (_disk, engine) = filled(ITEMS);
    for (name, mut read) in reads(&engine) {
        // Over from the second check on: that is, while it reads.
        let polled = poll(Slice::new(is_over), 1, read.as_mut());
        assert_eq!(polled, SlicePoll::Ready(ITEMS as usize), "{name}");
    }
}

/// If it held the view at which it began, it would not see what was written since, and the tree
/// would keep its pages.
#[test]
fn a_parked_read_holds_no_view() {
    for asked in [0, 3] {
        let (_disk, engine) = filled(ITEMS - 1);
        let table = engine.list_tables().block_on().unwrap().remove(0);
        let mut parked = reads(&engine);
        for (name, read) in &mut parked {
            let polled = poll(Slice::interrupting(is_over), asked, read.as_mut());
            assert_eq!(polled, SlicePoll::Yielded, "{name}");
        }
        put(&engine, &table, ITEMS - 1).unwrap();
        for (name, read) in &mut parked {
            let polled = poll(Slice::new(is_over), u32::MAX, read.as_mut());
            assert_eq!(polled, SlicePoll::Ready(ITEMS as usize), "{name}");
        }
    }
}

#[test]
fn a_snapshot_is_not_taken_in_an_interrupting_slice() {
    let (_disk, engine) = filled(1);
    let mut snapshot = engine.snapshot();
    let polled = poll(Slice::interrupting(is_over), u32::MAX, snapshot.as_mut());
    assert!(matches!(polled, SlicePoll::Yielded));
    let table = engine.list_tables().block_on().unwrap().remove(0);
    put(&engine, &table, 1).unwrap();
    let SlicePoll::Ready(Ok(snapshot)) = poll(Slice::new(is_over), 0, snapshot.as_mut()) else {
        panic!("a snapshot is taken in any other slice");
    };
    let mut scan = snapshot.scan(Scan::new(&table));
    let SlicePoll::Ready(Ok(page)) = poll(Slice::interrupting(is_over), 0, scan.as_mut()) else {
        panic!("reads of a snapshot do not park");
    };
    assert_eq!(page.count, 2);
}
