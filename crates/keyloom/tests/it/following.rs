//! Whoever follows the change feed gets every event once, in order, or is told that some are missing.

use std::sync::Arc;

use futures_util::FutureExt;
use keyloom::Db;
use keyloom::events::{Event, Job, Position};
use keyloom::live::Changes;
use keyloom_store::Store;
use keyloom_testkit::{ManualClock, Random};
use pollster::block_on;
use serde_json::json;

use crate::rig::{engine_at, memory_store_at, open};

const MODEL: &str = "
[entity.shop]
id = 'given'
fields.n = 'int'
[entity.order]
tenant = 'shop_of'
id = 'given'
fields.shop_of = 'text'
fields.n = 'int'
";

const TENANTS: [&str; 3] = ["red", "green", "blue"];

/// A reader of the feed, and what it has read.
struct Follower {
    db: Db,
    changes: Changes,
    begun: Position,
    events: Vec<Event>,
}

impl Follower {
    fn new(db: Db) -> Follower {
        let changes = block_on(db.changes()).unwrap();
        Follower { begun: changes.position().clone(), db, changes, events: vec![] }
    }

    /// Takes what there is. Returns how often it was told that something is missing.
    fn catch_up(&mut self) -> usize {
        let mut missed = 0;
        loop {
            let after = self.changes.position().clone();
            match self.changes.next().now_or_never() {
                Some(Ok(Some(page))) => {
                    assert_eq!(&page.next, self.changes.position());
                    self.events.extend(page.events);
                }
                Some(Ok(None)) => {
                    self.events.extend(read(&self.db, after, Some(self.changes.position())));
                    missed += 1;
                }
                Some(Err(error)) => panic!("{error}"),
                None => return missed,
            }
        }
    }
}

/// Reads all events after a position, up to another one.
fn read(db: &Db, mut after: Position, until: Option<&Position>) -> Vec<Event> {
    let (mut events, until) = (vec![], until.map(seq));
    loop {
        let page = block_on(db.events(&after, 100)).unwrap();
        events.extend(page.events);
        if !page.is_full {
            events.retain(|event| until.is_none_or(|until| seq(&event.position) <= until));
            return events;
        }
        after = page.next;
    }
}

/// The place in a feed that has one shard.
fn seq(position: &Position) -> u64 {
    position.to_string().rsplit_once(':').unwrap().1.parse().unwrap()
}

fn write(db: &Db, random: &mut Random) {
    let (id, document) = (random.index(4).to_string(), json!({ "n": random.below(9) }));
    let (db, entity) = match random.index(TENANTS.len() + 1) {
        0 => (db.clone(), "shop"),
        tenant => (db.tenant(TENANTS[tenant - 1]), "order"),
    };
    match random.chance(1, 4) {
        true => drop(block_on(db.delete(entity, &id))),
        false => drop(block_on(db.put(entity, &id, &document)).unwrap()),
    }
}

fn follow(store: Arc<dyn Store>, seed: u64) {
    let (db, mut random) = (block_on(open(MODEL, store)), Random::new(seed));
    let mut followers: Vec<Follower> = vec![];
    for _ in 0..200 {
        match random.below(20) {
            0 if followers.len() < 5 => {
                let tenant = random.index(TENANTS.len() + 1);
                let of = TENANTS.get(tenant).map_or(db.clone(), |tenant| db.tenant(*tenant));
                followers.push(Follower::new(of));
            }
            1..4 if !followers.is_empty() => {
                let at = random.index(followers.len());
                let missed = followers[at].catch_up();
                assert_eq!(missed, 0, "seed {seed}: what is read is kept for a while");
            }
            4 if followers.len() > 3 => drop(followers.swap_remove(random.index(3))),
            _ => write(&db, &mut random),
        }
    }
    for follower in &mut followers {
        follower.catch_up();
        let expected = read(&follower.db, follower.begun.clone(), None);
        assert_eq!(follower.events, expected, "seed {seed}");
    }
}

#[test]
fn followers_get_every_event_of_their_tenant_once_and_in_order() {
    for seed in 0..20 {
        follow(Arc::new(memory_store_at(&ManualClock::new())), seed);
        follow(Arc::new(engine_at(&ManualClock::new())), seed);
    }
}

/// What changes without an event moves the position, too: the row of a job.
#[test]
fn a_follower_who_asks_too_late_is_told_also_of_changes_without_events() {
    let db = block_on(open(
        &format!("jobs = true\n{MODEL}"),
        Arc::new(memory_store_at(&ManualClock::new())),
    ));
    let (mut late, mut prompt) = (Follower::new(db.clone()), Follower::new(db.clone()));
    for _ in 0..1_100 {
        block_on(db.schedule(Job::new("tidy"))).unwrap();
        assert_eq!(prompt.catch_up(), 0);
    }
    assert_eq!((late.catch_up(), late.events.len(), prompt.events.len()), (1, 0, 0));
}

/// A position that has everything which had happened when it was asked for, and that pages lead to.
#[test]
fn the_newest_position_is_that_after_all_that_has_happened() {
    let stores: [Arc<dyn Store>; 2] =
        [Arc::new(memory_store_at(&ManualClock::new())), Arc::new(engine_at(&ManualClock::new()))];
    for store in stores {
        let db = block_on(open(MODEL, store));
        let mut follower = Follower::new(db.clone());
        for n in 0..2_500 {
            if n % 250 == 0 {
                let newest = block_on(follower.changes.newest_position()).unwrap();
                assert_eq!(newest, block_on(db.newest_position()).unwrap());
            }
            block_on(db.put("shop", "1", &json!({ "n": n }))).unwrap();
            if n < 10 {
                follower.catch_up();
            }
        }
    }
}

/// Nothing is kept without bound for one who does not ask.
#[test]
fn a_follower_who_asks_too_late_is_told_and_goes_on() {
    let db = block_on(open(MODEL, Arc::new(memory_store_at(&ManualClock::new()))));
    let (mut late, mut prompt) = (Follower::new(db.clone()), Follower::new(db.clone()));
    let put = |n| drop(block_on(db.put("shop", "1", &json!({ "n": n }))).unwrap());
    for n in 0..1_100 {
        put(n);
        assert_eq!(prompt.catch_up(), 0);
    }
    assert_eq!((late.catch_up(), prompt.events.len()), (1, 1_100));
    put(-1);
    assert_eq!((late.catch_up(), prompt.catch_up()), (0, 0));
    assert_eq!(late.events, prompt.events);
}
