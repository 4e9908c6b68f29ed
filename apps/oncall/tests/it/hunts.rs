//! Hunts in random simulated worlds with manual clocks. `KEYLOOM_SEED` sets the first seed, `ONCALL_SEEDS`
//! the number of worlds of each kind.

use std::collections::{BTreeMap, BTreeSet};

use keyloom::events::{Next, TriggeringChange};
use keyloom::{Clock, Db, Error};
use keyloom_oncall::hunt::MethodKey;
use keyloom_store::Time;
use keyloom_testkit::ManualClock;
use pollster::block_on;

use crate::laws::{assert_lawful, history, number, text};
use crate::receivers::Manner;
use crate::world::{Weather, World};

/// Prints the seed if a test fails.
struct PrintSeed(u64);

impl Drop for PrintSeed {
    #[expect(clippy::print_stderr, reason = "a failing test tells its seed")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the seed was {}: KEYLOOM_SEED={} ONCALL_SEEDS=1", self.0, self.0);
        }
    }
}

/// Simulates a world for each seed, and prints the simulated time.
#[expect(clippy::print_stderr, reason = "how much was played is worth knowing")]
fn each_seed(count: u64, play: impl Fn(u64) -> World) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first = number("KEYLOOM_SEED").unwrap_or(0);
    let count = number("ONCALL_SEEDS").unwrap_or(count);
    let mut lasted_ms = 0;
    for seed in first..first + count {
        let _print = PrintSeed(seed);
        lasted_ms += play(seed).clock.now().0 - ManualClock::START.0;
    }
    eprintln!("{count} worlds lasted {} days.", lasted_ms / 86_400_000);
}

#[test]
fn the_laws_hold_while_programs_are_killed_and_people_interfere() {
    each_seed(150, |seed| {
        let mut world = World::new(seed, Weather::Stormy);
        for _ in 0..3 {
            world.play_and_crash(500);
        }
        let settled = world.settle();
        assert_lawful(&world, &settled);
        world
    });
}

#[test]
fn the_laws_hold_when_the_power_fails_at_any_sync() {
    each_seed(40, |seed| {
        let mut world = World::new(seed, Weather::Powerless);
        for _ in 0..3 {
            world.play_and_crash(400);
        }
        let settled = world.settle();
        assert_lawful(&world, &settled);
        world
    });
}

/// Repeats the same hunt with a power failure at each of its syncs.
#[test]
fn the_laws_hold_for_a_power_failure_at_each_sync_of_a_hunt() {
    for sync in 1..1_000 {
        let _print = PrintSeed(sync);
        let mut world = World::new(9, Weather::Powerless);
        let (db, domain) = world.database().unwrap();
        let mut contacts = vec![];
        for waits in [&[0, 0, 30][..], &[0]] {
            let contact = serde_json::json!({ "name": "Ada" });
            let contact = block_on(domain.create("contact", &contact)).unwrap().id().to_owned();
            for (position, wait_seconds) in waits.iter().enumerate() {
                let method = serde_json::json!({ "contact": contact, "kind": "text",
                    "destination": "+15550100", "position": position, "wait_seconds": wait_seconds });
                block_on(domain.create("method", &method)).unwrap();
            }
            contacts.push(contact);
        }
        let search = serde_json::json!({ "contact": contacts[0], "then": [contacts[1]],
            "patience_seconds": 0, "subject": { "what": "fire" }, "message": "{what}!" });
        let search = block_on(domain.create("search", &search)).unwrap();
        world.searches.push(search.id().to_owned());
        world.crash_at_sync(sync);
        let ended = work_to_the_end(&world, &db);
        if ended.is_ok() {
            assert!(sync > 20, "a hunt has many syncs, not {sync}");
            assert_lawful(&world, &(db, domain));
            return;
        }
        drop((db, domain));
        world.reopen(&ended);
        let settled = world.settle();
        assert_lawful(&world, &settled);
        let attempts = attempts_of(&settled.1, search.id());
        assert_eq!((attempts.len(), world.receivers.met().len()), (4, 4), "each was tried");
    }
    panic!("a hunt has less than a thousand syncs");
}

fn work_to_the_end(world: &World, db: &Db) -> Result<(), Error> {
    let handlers = world.handlers();
    loop {
        match block_on(db.work(&handlers))?.next {
            Next::Now => {}
            Next::At(ms) => {
                let later = u64::try_from(ms).unwrap().max(world.clock.now().0 + 1);
                world.clock.set(Time(later));
            }
            Next::Idle => return Ok(()),
        }
    }
}

/// The messages and the end of an undisturbed hunt, computed naively.
fn expected(domain: &Db, search: &str, opened_ms: i64) -> (Vec<(u32, String, i64)>, i64) {
    let search = block_on(domain.get("search", search)).unwrap().unwrap();
    let mut contacts = vec![text(&search, "contact").to_owned()];
    if let Some(keyloom::Value::L(then)) = search.get("then") {
        contacts.extend(then.iter().map(|id| id.as_s().unwrap().to_owned()));
    }
    let (mut sent, mut now) = (vec![], opened_ms);
    for (stage, contact) in contacts.iter().enumerate() {
        let Some(found) =
            block_on(domain.with_children("contact", contact, Some("method"), 100)).unwrap()
        else {
            continue;
        };
        let mut methods: BTreeMap<MethodKey, i64> = BTreeMap::new();
        for method in &found.children {
            if method.get("enabled") == Some(&true.into()) {
                let position = number(method, "position");
                let key = MethodKey { position, method: method.id().to_owned() };
                methods.insert(key, number(method, "wait_seconds") * 1000);
            }
        }
        let is_any = !methods.is_empty();
        for (key, wait_ms) in methods {
            now += wait_ms;
            sent.push((u32::try_from(stage).unwrap(), key.method, now));
        }
        if is_any {
            now += (number(&search, "patience_seconds") * 1000).max(500);
        }
    }
    (sent, now)
}

#[test]
fn an_undisturbed_hunt_is_on_time_to_the_millisecond() {
    each_seed(100, |seed| {
        let mut world = World::new(seed, Weather::Calm);
        let (db, domain) = world.database().unwrap();
        world.populate(&domain).unwrap();
        let opened = world.now_ms();
        for _ in 0..3 {
            world.search(&domain).unwrap();
        }
        let (db, domain) = (drop(db), world.settle()).1;
        let events = history(&db);
        for search in world.searches.clone() {
            let (sent, failed) = expected(&domain, &search, opened);
            let attempts = events.iter().filter(|event| {
                event.entity == "attempt" && event.change == TriggeringChange::Insert
            });
            let attempts = attempts.filter_map(|event| event.new.as_ref());
            let found: BTreeSet<(u32, String, i64)> = attempts
                .filter(|attempt| text(attempt, "search") == search)
                .map(|attempt| {
                    let stage = u32::try_from(number(attempt, "stage")).unwrap();
                    (stage, text(attempt, "method").to_owned(), number(attempt, "created"))
                })
                .collect();
            assert_eq!(found, sent.into_iter().collect(), "{search}");
            let record = block_on(domain.get("search", &search)).unwrap().unwrap();
            assert_eq!((text(&record, "status"), number(&record, "ended")), ("failed", failed));
        }
        assert_lawful(&world, &(db, domain));
        world
    });
}

#[test]
fn the_same_seed_gives_the_same_history() {
    let once = |seed| {
        let mut world = World::new(seed, Weather::Stormy);
        world.play_and_crash(400);
        let (db, _) = world.settle();
        history(&db).iter().map(keyloom::events::Event::to_json).collect::<Vec<_>>()
    };
    assert_eq!(once(7), once(7));
    assert_ne!(once(7), once(8));
}

#[test]
fn a_receiver_that_was_down_for_an_hour_gets_its_message() {
    let mut world = World::new(3, Weather::Calm);
    let (db, domain) = world.database().unwrap();
    let contact =
        block_on(domain.create("contact", &serde_json::json!({ "name": "Ada" }))).unwrap();
    let method = serde_json::json!({ "contact": contact.id(), "kind": "webhook",
        "destination": "https://down.example", "position": 1 });
    block_on(domain.create("method", &method)).unwrap();
    let search = serde_json::json!({ "contact": contact.id(), "patience_seconds": 7_200,
        "subject": { "what": "fire" }, "message": "{what}!" });
    let search = block_on(domain.create("search", &search)).unwrap();
    world.searches.push(search.id().to_owned());
    world.receivers.behave(Manner { fail: 100, ..Manner::default() });
    let handlers = world.handlers();
    let back_ms = world.now_ms() + 3_600_000;
    while world.now_ms() < back_ms {
        match block_on(db.work(&handlers)).unwrap().next {
            Next::Now => {}
            Next::At(ms) => world.clock.set(Time(u64::try_from(ms.min(back_ms)).unwrap())),
            Next::Idle => panic!("there is a delivery to be tried"),
        }
    }
    assert!(world.receivers.came().is_empty());
    let job = format!("deliver.{}", attempts_of(&domain, search.id())[0]);
    let job = block_on(db.get("job", &job)).unwrap().unwrap();
    assert_eq!((text(&job, "status"), text(&job, "error")), ("waiting", "The receiver is down."));
    assert!(number(&job, "attempts") > 50, "it is tried every minute");
    let settled = world.settle();
    let came = world.receivers.came();
    assert_eq!(came.len(), 1);
    assert!(came[0].time_ms - back_ms <= 60_000, "within a minute");
    assert_lawful(&world, &settled);
}

/// A message that the service itself could not send once counted as attempted: the hunt continued, and
/// the contact never got it. Found by worlds 5 (killed) and 15 (power failure).
#[test]
fn a_hunt_waits_for_a_message_that_the_service_itself_could_not_send() {
    let mut world = World::new(6, Weather::Calm);
    let (db, domain) = world.database().unwrap();
    let contact =
        block_on(domain.create("contact", &serde_json::json!({ "name": "Ada" }))).unwrap();
    let method = serde_json::json!({ "contact": contact.id(), "kind": "text",
        "destination": "+15550100", "position": 1 });
    block_on(domain.create("method", &method)).unwrap();
    let search = serde_json::json!({ "contact": contact.id(), "patience_seconds": 0,
        "subject": { "what": "fire" }, "message": "{what}!" });
    let search = block_on(domain.create("search", &search)).unwrap();
    world.searches.push(search.id().to_owned());
    world.fail_links(100);
    let handlers = world.handlers();
    let well_ms = world.now_ms() + 600_000;
    while world.now_ms() < well_ms {
        match block_on(db.work(&handlers)).unwrap().next {
            Next::Now => {}
            Next::At(ms) => world.clock.set(Time(u64::try_from(ms.min(well_ms)).unwrap())),
            Next::Idle => panic!("there is a delivery to be tried"),
        }
    }
    let found = block_on(domain.get("search", search.id())).unwrap().unwrap();
    assert_eq!((text(&found, "status"), world.receivers.came().len()), ("active", 0));
    let job = format!("deliver.{}", attempts_of(&domain, search.id())[0]);
    let job = block_on(db.get("job", &job)).unwrap().unwrap();
    assert_eq!(text(&job, "error"), "Not sent: there is no randomness");
    let settled = world.settle();
    assert_eq!(world.receivers.came().len(), 1);
    let found = block_on(domain.get("search", search.id())).unwrap().unwrap();
    assert_eq!(text(&found, "status"), "failed", "nobody answered");
    assert_lawful(&world, &settled);
}

fn attempts_of(domain: &Db, search: &str) -> Vec<String> {
    let list = domain.list("attempt", "by_search").by("search", search);
    block_on(list.read()).unwrap().items.iter().map(|attempt| attempt.id().to_owned()).collect()
}

#[test]
fn a_refused_message_is_a_dead_letter_and_the_hunt_continues() {
    let mut world = World::new(4, Weather::Calm);
    let (_, domain) = world.database().unwrap();
    world.populate(&domain).unwrap();
    let contact =
        block_on(domain.create("contact", &serde_json::json!({ "name": "Ada" }))).unwrap();
    for position in 1..=2 {
        let method = serde_json::json!({ "contact": contact.id(), "kind": "email",
            "destination": "ada@example.com", "position": position, "wait_seconds": 60 });
        block_on(domain.create("method", &method)).unwrap();
    }
    let search = serde_json::json!({ "contact": contact.id() });
    let search = block_on(domain.create("search", &search)).unwrap();
    world.receivers.behave(Manner { refuse: 100, ..Manner::default() });
    let (db, domain) = settle_unchanged(&world);
    let attempts = attempts_of(&domain, search.id());
    assert_eq!(attempts.len(), 2);
    let dead = block_on(db.list("job", "by_status").by("status", "failed").read()).unwrap().items;
    let mut dead: Vec<(&str, &str)> =
        dead.iter().map(|job| (job.id(), text(job, "error"))).collect();
    dead.sort_unstable();
    let refused = "The receiver refused it: status 400.";
    let first = (format!("deliver.{}", attempts[0]), format!("deliver.{}", attempts[1]));
    let mut expected = [(first.0.as_str(), refused), (first.1.as_str(), refused)];
    expected.sort_unstable();
    assert_eq!(dead, expected);
    // The receiver is repaired, but the search has ended: nothing is sent.
    world.receivers.behave(Manner::default());
    block_on(db.replay(&first.0)).unwrap();
    world.settle();
    assert!(world.receivers.came().is_empty());
    let job = block_on(db.get("job", &first.0)).unwrap().unwrap();
    assert_eq!((text(&job, "status"), text(&job, "result")), ("done", "The search had ended."));
}

/// Like [`World::settle`], but leaves the behavior of receivers unchanged.
fn settle_unchanged(world: &World) -> (Db, Db) {
    let (db, domain) = world.database().unwrap();
    work_to_the_end(world, &db).unwrap();
    (db, domain)
}

#[test]
fn deleting_a_search_ends_its_hunt() {
    let world = World::new(5, Weather::Calm);
    let (db, domain) = world.database().unwrap();
    let contact =
        block_on(domain.create("contact", &serde_json::json!({ "name": "Ada" }))).unwrap();
    for wait_seconds in [0, 60] {
        let method = serde_json::json!({ "contact": contact.id(), "kind": "text",
            "destination": "+15550100", "position": wait_seconds, "wait_seconds": wait_seconds });
        block_on(domain.create("method", &method)).unwrap();
    }
    let search = serde_json::json!({ "contact": contact.id() });
    let search = block_on(domain.create("search", &search)).unwrap();
    let handlers = world.handlers();
    while block_on(db.work(&handlers)).unwrap().next == Next::Now {}
    assert_eq!(world.receivers.came().len(), 1);
    block_on(domain.delete("contact", contact.id())).unwrap();
    settle_unchanged(&world);
    assert_eq!(world.receivers.came().len(), 1, "nobody is written to any more");
    assert!(block_on(domain.get("search", search.id())).unwrap().is_none());
    let backlog = block_on(db.backlog()).unwrap();
    assert_eq!((backlog.waiting, backlog.running, backlog.failed), (0, 0, 0));
}
