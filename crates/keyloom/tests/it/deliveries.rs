//! Webhooks are delivered from the feed, a batch in one transaction: what that costs, and what a
//! crash, failures and a second process do to it.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use keyloom::events::{Deliver, Delivery, Failure, Handlers, Job, Next, Work};
use keyloom::{Clock, Db, Error};
use keyloom_store::{Answer, BatchWrite, Delete, Put, Store, TransactWrite, UpdateItem};
use keyloom_testkit::pausing::{go_on, pausing, stop_after};
use keyloom_testkit::{Front, InFront, ManualClock, Random, SimDisk};
use keyloom_value::Item;
use pollster::block_on;
use serde_json::{Value as Json, json};

use crate::rig::{assert_clean, engine_at, engine_on, memory_store_at, open_at, settle};

const MODEL: &str = r#"
[entity.page]
id = "given"
fields.n = "int = 0"
[on.page]
insert = { webhook = "https://example.com/new" }
update = { webhook = "https://example.com/pages" }
"#;

type Working<'w> = Pin<Box<dyn Future<Output = Result<Work, Error>> + 'w>>;

/// Records what is posted, and fails, crashes or blocks as a test wants.
#[derive(Debug, Default)]
struct Receiver {
    posts: Mutex<Vec<Delivery>>,
    /// Of a hundred posts, so many fail.
    failing: AtomicU32,
    random: Mutex<Option<Random>>,
    /// After so many posts, the power fails.
    crash: Mutex<Option<(usize, SimDisk)>>,
    is_blocked: AtomicBool,
    underway: AtomicU32,
    underway_max: AtomicU32,
    delivered: Mutex<Vec<Delivery>>,
}

impl Deliver for Receiver {
    fn deliver(
        &self,
        delivery: Delivery,
    ) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + '_>> {
        Box::pin(async move {
            self.posts.lock().unwrap().push(delivery.clone());
            let underway = self.underway.fetch_add(1, Ordering::SeqCst) + 1;
            self.underway_max.fetch_max(underway, Ordering::SeqCst);
            let mut was_pending = false;
            poll_fn(|context| {
                context.waker().wake_by_ref();
                let is_over = was_pending && !self.is_blocked.load(Ordering::SeqCst);
                was_pending = true;
                if is_over { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
            self.underway.fetch_sub(1, Ordering::SeqCst);
            if let Some((after, disk)) = &*self.crash.lock().unwrap()
                && self.posts.lock().unwrap().len() >= *after
            {
                disk.crash_now();
            }
            if self.fails() {
                return Err(Failure::new("503"));
            }
            self.delivered.lock().unwrap().push(delivery);
            Ok(())
        })
    }
}

impl Receiver {
    fn fails(&self) -> bool {
        let failing = u64::from(self.failing.load(Ordering::SeqCst));
        let mut random = self.random.lock().unwrap();
        random.get_or_insert_with(|| Random::new(7)).below(100) < failing
    }

    fn handlers(self: &Arc<Receiver>) -> Handlers {
        Handlers::new().webhooks(self.clone())
    }

    fn posts(&self) -> usize {
        self.posts.lock().unwrap().len()
    }

    /// How often each message was posted.
    fn counts(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for post in self.posts.lock().unwrap().iter() {
            *counts.entry(post.key.clone()).or_default() += 1;
        }
        counts
    }
}

fn body(delivery: &Delivery) -> Json {
    serde_json::from_str(&delivery.body).expect("the body is JSON")
}

fn create(db: &Db, count: usize) {
    for number in 0..count {
        block_on(db.create("page", &json!({ "id": number.to_string() }))).unwrap();
    }
}

/// Works until there is nothing to do at this moment.
fn work(db: &Db, handlers: &Handlers) {
    while block_on(db.work(handlers)).unwrap().next == Next::Now {}
}

/// A store that counts writes: each is one durable transaction.
struct Counting {
    store: Arc<dyn Store>,
    writes: AtomicU32,
}

impl Counting {
    fn count(&self) -> &dyn Store {
        self.writes.fetch_add(1, Ordering::SeqCst);
        &*self.store
    }
}

impl Front for Counting {
    fn behind(&self) -> &dyn Store {
        &*self.store
    }

    fn put(&self, put: Put) -> Answer<'_, Option<Item>> {
        self.count().put(put)
    }

    fn update(&self, update: UpdateItem) -> Answer<'_, Option<Item>> {
        self.count().update(update)
    }

    fn delete(&self, delete: Delete) -> Answer<'_, Option<Item>> {
        self.count().delete(delete)
    }

    fn batch_write(&self, batch: BatchWrite) -> Answer<'_, BatchWrite> {
        self.count().batch_write(batch)
    }

    fn transact_write(&self, transaction: TransactWrite) -> Answer<'_, ()> {
        self.count().transact_write(transaction)
    }
}

#[test]
fn sixteen_delivered_events_cost_one_transaction_and_one_alone_costs_one() {
    let clock = ManualClock::new();
    // The second store is shared, where a run of a consumer also takes a lease.
    let stores: [(Arc<dyn Store>, u32); 2] =
        [(Arc::new(engine_at(&clock)), 0), (Arc::new(memory_store_at(&clock)), 1)];
    for (store, lease) in stores {
        let counting = Arc::new(InFront(Counting { store, writes: AtomicU32::new(0) }));
        // One consumer: another one would write its checkpoint after every full page.
        let (model, _) = MODEL.split_once("update").unwrap();
        let db = block_on(open_at(model, counting.clone(), &clock));
        let receiver = Arc::new(Receiver::default());
        let handlers = receiver.handlers();
        let writes = || {
            counting.0.writes.store(0, Ordering::SeqCst);
            work(&db, &handlers);
            counting.0.writes.load(Ordering::SeqCst)
        };
        block_on(db.create("page", &json!({ "id": "alone" }))).unwrap();
        assert_eq!(writes(), 1 + lease);
        create(&db, 320);
        let writes = writes();
        assert_eq!(receiver.posts(), 1 + 320);
        assert!(writes <= 320 / 16 + 4 + 4 * lease, "{writes} transactions for 320 events");
        assert_eq!(receiver.underway_max.load(Ordering::SeqCst), 16, "entities are concurrent");
        let backlog = block_on(db.backlog()).unwrap();
        assert_eq!((backlog.due, backlog.waiting, backlog.queued, backlog.failed), (0, 0, 0, 0));
        assert!(backlog.consumers.iter().all(|lag| lag.events == 0));
        assert_clean(&db);
    }
}

#[test]
fn a_crash_between_posting_and_commit_posts_one_batch_again() {
    for after in 1..=40 {
        let (clock, disk) = (ManualClock::new(), SimDisk::new(after));
        let db = block_on(open_at(MODEL, Arc::new(engine_on(&disk, &clock)), &clock));
        create(&db, 40);
        let receiver = Arc::new(Receiver::default());
        *receiver.crash.lock().unwrap() = Some((usize::try_from(after).unwrap(), disk.clone()));
        block_on(db.work(&receiver.handlers())).unwrap_err();
        *receiver.crash.lock().unwrap() = None;
        drop(db);
        let disk = disk.after_crash(after);
        let db = block_on(open_at(MODEL, Arc::new(engine_on(&disk, &clock)), &clock));
        settle(&db, &receiver.handlers(), &clock);
        let counts = receiver.counts();
        assert_eq!(counts.len(), 40, "everything is delivered");
        let repeated = counts.values().filter(|count| **count > 1).count();
        assert!((1..=16).contains(&repeated), "{repeated} messages again, after {after}");
        assert!(counts.values().all(|count| *count <= 2));
        assert_clean(&db);
    }
}

#[test]
fn failures_in_between_keep_the_order_of_each_entity() {
    let clock = ManualClock::new();
    let stores: [Arc<dyn Store>; 2] =
        [Arc::new(engine_at(&clock)), Arc::new(memory_store_at(&clock))];
    for store in stores {
        let db = block_on(open_at(MODEL, store, &clock));
        let receiver = Arc::new(Receiver::default());
        let handlers = receiver.handlers();
        create(&db, 5);
        settle(&db, &handlers, &clock);
        receiver.failing.store(30, Ordering::SeqCst);
        let (mut random, mut expected) = (Random::new(1), vec![vec![]; 5]);
        for n in 1..=300 {
            let page = random.index(5);
            expected[page].push(n);
            block_on(db.update("page", &page.to_string(), &json!({ "n": n }))).unwrap();
            if random.chance(1, 10) {
                block_on(db.work(&handlers)).unwrap();
                clock.advance_ms(random.below(2_000));
            }
        }
        settle(&db, &handlers, &clock);
        let delivered = receiver.delivered.lock().unwrap();
        for (page, expected) in expected.iter().enumerate() {
            let of_page = delivered.iter().map(body).filter(|body| {
                body["id"] == json!(page.to_string()) && body["change"] == json!("update")
            });
            let order: Vec<i64> = of_page.map(|body| body["new"]["n"].as_i64().unwrap()).collect();
            assert_eq!(order, *expected, "of {page}");
        }
        // One id for all attempts of an event, and they are numbered.
        let mut attempts: BTreeMap<String, i64> = BTreeMap::new();
        for post in receiver.posts.lock().unwrap().iter() {
            let last = attempts.entry(post.key.clone()).or_default();
            assert_eq!(post.attempt, *last + 1);
            *last = post.attempt;
        }
        assert_eq!(attempts.len(), 305);
        assert!(attempts.values().any(|attempts| *attempts > 2));
        assert_clean(&db);
    }
}

#[test]
fn two_processes_that_share_a_store_do_not_both_deliver() {
    let clock = ManualClock::new();
    let store: Arc<dyn Store> = Arc::new(memory_store_at(&clock));
    let one = block_on(open_at(MODEL, store.clone(), &clock));
    let other = block_on(open_at(MODEL, store, &clock));
    let (slow, quick) = (Arc::new(Receiver::default()), Arc::new(Receiver::default()));
    let (of_one, of_other) = (slow.handlers(), quick.handlers());
    create(&one, 20);
    slow.is_blocked.store(true, Ordering::SeqCst);
    block_on(one.heartbeat()).unwrap();
    let mut working: Working<'_> = Box::pin(one.work(&of_one));
    assert!(go_on(working.as_mut()).is_none(), "it posts");
    assert_eq!(slow.posts(), 16);
    for _ in 0..20 {
        clock.advance_ms(1_000);
        block_on(one.heartbeat()).unwrap();
        let idle = block_on(other.work(&of_other)).unwrap();
        assert!(matches!(idle.next, Next::At(_)), "{:?}", idle.next);
    }
    assert_eq!(quick.posts(), 0, "the first one is alive, and at it");
    // It took more than its time for one batch, so the rest is left to whoever comes next.
    slow.is_blocked.store(false, Ordering::SeqCst);
    while go_on(working.as_mut()).is_none() {}
    drop(working);
    assert_eq!(slow.posts(), 16);
    work(&other, &of_other);
    assert_eq!(quick.posts(), 4);
    assert_eq!(slow.counts().len() + quick.counts().len(), 20);
    assert_clean(&one);
}

#[test]
fn events_of_a_process_that_died_while_posting_are_delivered_by_another_one() {
    // With a heartbeat after six seconds of silence, without one when the lease ends.
    for (is_beating, takeover_ms) in [(true, 6_000), (false, 60_000)] {
        let clock = ManualClock::new();
        let store: Arc<dyn Store> = Arc::new(memory_store_at(&clock));
        let dying = block_on(open_at(MODEL, store.clone(), &clock));
        let other = block_on(open_at(MODEL, store, &clock));
        let (lost, received) = (Arc::new(Receiver::default()), Arc::new(Receiver::default()));
        let (of_dying, of_other) = (lost.handlers(), received.handlers());
        create(&other, 3);
        if is_beating {
            block_on(dying.heartbeat()).unwrap();
        }
        lost.is_blocked.store(true, Ordering::SeqCst);
        let mut working: Working<'_> = Box::pin(dying.work(&of_dying));
        assert!(go_on(working.as_mut()).is_none(), "it posts");
        drop(working);
        let began = clock.now().0;
        settle(&other, &of_other, &clock);
        assert_eq!(clock.now().0 - began, takeover_ms);
        assert_eq!(
            lost.counts().keys().collect::<Vec<_>>(),
            received.counts().keys().collect::<Vec<_>>()
        );
        assert_clean(&other);
    }
}

#[test]
fn a_process_that_dies_at_any_call_loses_no_event_and_posts_at_most_one_batch_again() {
    for calls in 0..200 {
        let clock = ManualClock::new();
        let store: Arc<dyn Store> = Arc::new(memory_store_at(&clock));
        let other = block_on(open_at(MODEL, store.clone(), &clock));
        create(&other, 20);
        let dying = block_on(open_at(MODEL, pausing(store), &clock));
        let receiver = Arc::new(Receiver::default());
        let is_done = stop_after(calls, dying.work(&receiver.handlers())).is_some();
        settle(&other, &receiver.handlers(), &clock);
        let counts = receiver.counts();
        assert_eq!(counts.len(), 20);
        assert!(counts.values().filter(|count| **count > 1).count() <= 16);
        assert_clean(&other);
        if is_done {
            return;
        }
    }
    panic!("a worker has less than two hundred calls");
}

#[test]
fn jobs_of_the_kind_webhook_that_are_stored_still_run_and_later_events_queue_behind_them() {
    let clock = ManualClock::new();
    let db = block_on(open_at(MODEL, Arc::new(engine_at(&clock)), &clock));
    let receiver = Arc::new(Receiver::default());
    let handlers = receiver.handlers();
    create(&db, 2);
    settle(&db, &handlers, &clock);
    receiver.posts.lock().unwrap().clear();
    let payload = json!({ "address": "https://example.com/pages", "key": "k", "body": "{}" });
    let job = Job::new("webhook").lane("page.update/page/0").payload(&payload).unwrap();
    block_on(db.schedule(job)).unwrap();
    for page in ["0", "1"] {
        block_on(db.update("page", page, &json!({ "n": 1 }))).unwrap();
    }
    settle(&db, &handlers, &clock);
    let order: Vec<Json> =
        receiver.posts.lock().unwrap().iter().map(|post| body(post)["id"].clone()).collect();
    assert_eq!(order, [json!("1"), Json::Null, json!("0")]);
    assert_clean(&db);
}
