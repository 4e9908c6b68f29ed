//! Concurrent callers: every write is atomic, and none is lost.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use keyloom_store::{
    Get, KeySchema, KeyType, Put, Read, Scan, TableName, TableSpec, TransactAction, TransactGet,
    TransactWrite, UpdateItem,
};
use keyloom_value::{Condition, Item, Update, Value};
use pollster::block_on;

use super::case::{Case, claims};
use crate::client::accepted;
use crate::sample::{global, id_table, index_name, item, path};
use crate::{Client, Subject};

pub(super) const CASES: &[Case] = claims![
    concurrent_adds_all_count,
    one_of_many_conditional_puts_wins,
    a_transaction_is_seen_whole,
    an_index_is_never_behind_its_table,
    a_token_used_by_many_at_once_counts_once,
    the_feed_of_concurrent_writes_is_in_their_order,
];

const CALLERS: usize = 4;
const ROUNDS: i64 = 50;

/// Runs the work of each caller on a thread of its own, all starting together.
fn together(work: impl Fn(usize) + Sync) {
    let start = Barrier::new(CALLERS);
    thread::scope(|scope| {
        for caller in 0..CALLERS {
            let (start, work) = (&start, &work);
            scope.spawn(move || {
                start.wait();
                work(caller);
            });
        }
    });
}

/// Runs the writes on a thread, and repeats the check until they are done.
fn while_writing(writes: impl FnOnce() + Send, mut check: impl FnMut()) {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            writes();
            done.store(true, Ordering::Release);
        });
        while !done.load(Ordering::Acquire) {
            check();
        }
        check();
    });
}

fn add(table: &TableName, id: &str) -> UpdateItem {
    let update = Update::new().add(path("n"), Value::from(1));
    UpdateItem::new(table, item! { id: id }, update)
}

fn concurrent_adds_all_count(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    together(|_| (0..ROUNDS).for_each(|_| drop(accepted(client.update(add(&table, "a"))))));
    let total = CALLERS as i64 * ROUNDS;
    assert_eq!(client.read(&table, item! { id: "a" }), Some(item! { id: "a", n: total }));
}

fn one_of_many_conditional_puts_wins(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    together(|caller| {
        for round in 0..ROUNDS {
            let id = format!("{round}");
            let put = Put::new(&table, item! { id: id.clone(), winner: caller as u64 });
            let won = client.put(put.when(Condition::missing(path("id")))).is_ok();
            let there = client.read(&table, item! { id: id }).unwrap();
            let is_mine = there.get("winner") == Some(&Value::from(caller as u64));
            assert_eq!(is_mine, won);
        }
    });
    assert_eq!(client.feed(&table, 1000).len() as i64, ROUNDS);
}

fn a_transaction_is_seen_whole(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    let put_both = |n: i64| {
        let put = |id: &str| TransactAction::Put(Put::new(&table, item! { id: id, n: n }));
        let actions = vec![put("a"), put("b")];
        accepted(client.transact_write(TransactWrite::new(actions)));
    };
    put_both(0);
    let n = |item: &Option<Item>| item.as_ref().unwrap().get("n").unwrap().clone();
    while_writing(
        || (1..=ROUNDS).for_each(put_both),
        || {
            let gets = ["a", "b"].map(|id| Get::new(&table, item! { id: id })).into();
            let both = accepted(client.transact_get(TransactGet { gets }));
            assert_eq!(n(&both[0]), n(&both[1]));
            let page = accepted(client.scan(Scan::new(&table)));
            assert_eq!(page.items[0].get("n"), page.items[1].get("n"));
            let snapshot = accepted(client.snapshot());
            let read =
                |id: &str| accepted(block_on(snapshot.get(Get::new(&table, item! { id: id }))));
            assert_eq!(n(&read("a")), n(&read("b")));
        },
    );
}

fn an_index_is_never_behind_its_table(subject: &dyn Subject) {
    let client = Client::of(subject);
    let by_owner = global("by-owner", KeySchema::partition("owner", KeyType::S));
    let table = client.make(TableSpec { indexes: vec![by_owner], ..id_table("things") });
    let put = |n: i64| {
        let owner = ["o", "p", "q"][usize::try_from(n % 3).unwrap()];
        client.fill(&table, [item! { id: "a", owner: owner, n: n }]);
    };
    put(0);
    let index = Some(index_name("by-owner"));
    let rows = |read: &dyn Read, index| {
        accepted(block_on(read.scan(Scan { index, ..Scan::new(&table) }))).items
    };
    while_writing(
        || (1..=ROUNDS).for_each(put),
        || {
            let snapshot = accepted(client.snapshot());
            let indexed = rows(snapshot.as_ref(), index.clone());
            assert_eq!(indexed, rows(snapshot.as_ref(), None));
            // One row, whoever owns it by now.
            assert_eq!(
                accepted(client.scan(Scan { index: index.clone(), ..Scan::new(&table) })).count,
                1
            );
        },
    );
}

fn a_token_used_by_many_at_once_counts_once(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    together(|_| {
        for round in 0..ROUNDS {
            let actions = vec![TransactAction::Update(add(&table, "a"))];
            let token = Some(format!("round {round}"));
            accepted(client.transact_write(TransactWrite { token, ..TransactWrite::new(actions) }));
        }
    });
    assert_eq!(client.read(&table, item! { id: "a" }), Some(item! { id: "a", n: ROUNDS }));
}

fn the_feed_of_concurrent_writes_is_in_their_order(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    together(|caller| {
        for round in 0..ROUNDS {
            let id = ["a", "b"][(caller + usize::try_from(round).unwrap()) % 2];
            accepted(client.update(add(&table, id)));
        }
    });
    let changes = client.feed(&table, 7);
    assert_eq!(changes.len() as i64, CALLERS as i64 * ROUNDS);
    assert!(changes.is_sorted_by(|earlier, later| earlier.seq < later.seq));
    for id in ["a", "b"] {
        let of_item = changes.iter().filter(|change| change.key == item! { id: id });
        let last = of_item.fold(None, |before, change| {
            assert_eq!(change.old, before, "each change starts where the last one ended");
            change.new.clone()
        });
        assert_eq!(client.read(&table, item! { id: id }), last);
    }
}
