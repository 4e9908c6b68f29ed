//! Pages that are followed: they are brought up to date from the images of changes where that takes no read,
//! and are then what a read returns at the same moment.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use keyloom::live::{Live, Moment};
use keyloom::{Change, Db, Error, Filter, ListQuery, User};
use keyloom_store::{Durability, Engine, Options as EngineOptions, Store};
use keyloom_testkit::{ManualClock, Random, SimDisk};
use pollster::block_on;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use crate::cases::for_all;
use crate::rig::{engine_at, memory_store_at, open};

const MODEL: &str = r#"
[entity.task]
id = "given"
tenant = "team"
fields.team   = "text"
fields.owner  = "text"
fields.folder = "enum(a, b)"
fields.state  = "enum(open, done)"
fields.rank   = "int 0..9"
fields.tags   = "tags = {}"
access.owner  = "owner"
access.read   = ["owner", "boss"]
access.create = ["owner"]
list.all  = { facets = ["owner"] }
list.of   = { by = "folder", order = "rank", facets = ["owner", "state"] }
list.down = { order = ["-rank", "state"], facets = ["owner"] }
list.open = { by = "owner", order = "rank", where = { state = "open" } }
"#;

const TENANTS: [&str; 2] = ["red", "blue"];
const OWNERS: [&str; 3] = ["ann", "bob", "cyn"];

/// A query of a list.
#[derive(Clone, Debug)]
struct Asked {
    list: &'static str,
    by: Option<(&'static str, &'static str)>,
    filter: Option<Filter>,
    at_least: Option<i64>,
    is_backward: bool,
    limit: u32,
    cursor: Option<String>,
}

/// A page that is followed.
struct Followed {
    live: Live,
    db: Db,
    asked: Asked,
    seen: String,
}

/// How the pages were read that changes have affected.
#[derive(Debug, Default)]
struct Tally {
    from_images: usize,
    from_store: usize,
}

impl Asked {
    fn random(random: &mut Random) -> Asked {
        let list = *random.pick(&["all", "of", "of", "down", "open"]);
        let by = match list {
            "of" => Some(("folder", *random.pick(&["a", "b"]))),
            "open" => Some(("owner", *random.pick(&OWNERS))),
            _ => None,
        };
        let filter = match random.below(6) {
            0 => Some(Filter::tag("at", "desk")),
            1 => Some(Filter::tag("at", "desk").not()),
            2 if list == "of" => Some(Filter::facet("state", "open")),
            3 if list == "of" => {
                Some(Filter::any([Filter::facet("state", "done"), Filter::tag("at", "desk")]))
            }
            _ => None,
        };
        Asked {
            list,
            by,
            filter,
            at_least: (list == "of" && random.chance(1, 4)).then(|| random.below(6) as i64),
            is_backward: random.chance(1, 3),
            limit: *random.pick(&[1, 2, 3, 5, 100]),
            cursor: None,
        }
    }

    fn query(&self, db: &Db) -> ListQuery {
        let mut query = db.list("task", self.list).limit(self.limit);
        if let Some((field, value)) = self.by {
            query = query.by(field, value);
        }
        if let Some(filter) = &self.filter {
            query = query.filter(filter.clone());
        }
        if let Some(rank) = self.at_least {
            query = query.at_least("rank", rank);
        }
        if self.is_backward {
            query = query.backward();
        }
        match &self.cursor {
            Some(cursor) => query.after(cursor.clone()),
            None => query,
        }
    }

    /// What a read returns, and how many rows it takes.
    fn read(&self, db: &Db) -> Result<(String, u64), Error> {
        let page = block_on(self.query(db).read())?;
        let versions: Vec<&str> = page.items.iter().map(|item| item.version()).collect();
        let (next, previous) = (&page.next, &page.previous);
        let shown = format!("{:?} {versions:?} {next:?} {previous:?} {:?}", page.items, page.end);
        Ok((shown, page.read.rows))
    }
}

impl Followed {
    /// Follows a page that the database can read.
    fn open(db: Db, mut asked: Asked, random: &mut Random) -> Option<Followed> {
        if random.chance(1, 4) {
            // A page in the middle, or the one before.
            let page = block_on(asked.query(&db).read()).ok()?;
            asked.cursor = page.next;
            let page = block_on(asked.query(&db).read()).ok()?;
            asked.cursor = page.previous.filter(|_| random.chance(1, 2)).or(asked.cursor);
        }
        Followed::new(db, asked)
    }

    fn new(db: Db, asked: Asked) -> Option<Followed> {
        let mut live = db.live();
        let moment = block_on(live.next()).expect("it is read");
        let (seen, _) = asked.read(&moment.db).ok()?;
        Some(Followed { live, db, asked, seen })
    }

    fn check(&mut self, first: Option<Moment>, tally: &mut Tally) {
        let mut first = first;
        let mut next = || first.take().or_else(|| moment(self.live.next().now_or_never()));
        while let Some(moment) = next() {
            let (seen, rows) = self.asked.read(&moment.db).expect("a page");
            match rows {
                0 => tally.from_images += 1,
                _ => tally.from_store += 1,
            }
            self.seen = seen;
        }
        let (now, _) = self.asked.read(&self.db).expect("a page");
        assert_eq!(self.seen, now, "{:?}", self.asked);
    }
}

fn moment(ready: Option<Result<Moment, Error>>) -> Option<Moment> {
    ready.map(|moment| moment.expect("it is read"))
}

/// Writes while all wait: the first of them reads the feed for all. Returns what each gets.
fn while_waiting(followed: &mut [Followed], write: impl FnOnce()) -> Vec<Option<Moment>> {
    let mut waiting: Vec<_> =
        followed.iter_mut().map(|followed| Box::pin(followed.live.next())).collect();
    let early: Vec<Option<Moment>> =
        waiting.iter_mut().map(|next| moment(next.as_mut().now_or_never())).collect();
    write();
    let late = early.into_iter().zip(&mut waiting).map(|(early, next)| match early {
        Some(early) => Some(early),
        None => moment(next.as_mut().now_or_never()),
    });
    late.collect()
}

/// A random change of one of a few tasks.
fn change(random: &mut Random) -> Change {
    let id = format!("t{}", random.below(9));
    let update = |patch: &Json| Change::update("task", &id, patch).expect("a change");
    match random.below(9) {
        0 | 1 => Change::delete("task", &id),
        2 | 3 => update(&json!({ "rank": random.below(10) })),
        4 => update(&json!({ "state": random.pick(&["open", "done"]) })),
        5 => update(&json!({ "owner": random.pick(&OWNERS) })),
        6 => update(&json!({ "folder": random.pick(&["a", "b"]) })),
        _ => {
            let task = json!({
                "id": id, "owner": random.pick(&OWNERS), "folder": random.pick(&["a", "b"]),
                "state": random.pick(&["open", "done"]), "rank": random.below(10),
                "tags": if random.chance(1, 2) { json!({ "at": "desk" }) } else { json!({}) },
            });
            Change::create("task", &task).expect("a change")
        }
    }
}

/// Changes that are made while nobody reads: each transaction of one or two changes, which may be refused.
fn write(db: &Db, random: &mut Random) {
    for _ in 0..=random.below(3) {
        let db = db.tenant(*random.pick(&TENANTS));
        let changes = (0..=random.below(2)).map(|_| change(random)).collect();
        block_on(db.transact(changes)).ok();
    }
}

fn run(count: u32, store: fn(&ManualClock) -> Arc<dyn Store>) -> Tally {
    let tally = RefCell::new(Tally::default());
    for_all(count, (any::<u64>().no_shrink(), 1..60_usize), |(seed, steps)| {
        let (mut random, clock) = (Random::new(seed), ManualClock::new());
        let db = block_on(open(MODEL, store(&clock)));
        let mut followed: Vec<Followed> = vec![];
        for _ in 0..steps {
            let moments = match random.chance(2, 3) {
                true => while_waiting(&mut followed, || write(&db, &mut random)),
                false => {
                    write(&db, &mut random);
                    followed.iter().map(|_| None).collect()
                }
            };
            for (followed, moment) in followed.iter_mut().zip(moments) {
                followed.check(moment, &mut tally.borrow_mut());
            }
            let mut of = db.tenant(*random.pick(&TENANTS));
            if random.chance(1, 2) {
                let roles: &[&str] = if random.chance(1, 3) { &["boss"] } else { &[] };
                of = of.user(User::new(*random.pick(&OWNERS), roles.iter().copied()));
            }
            let asked = Asked::random(&mut random);
            followed.extend(Followed::open(of, asked, &mut random));
            if followed.len() > 8 {
                followed.swap_remove(random.index(8));
            }
        }
    });
    tally.into_inner()
}

#[test]
fn a_page_that_is_followed_is_what_a_read_returns() {
    for tally in [
        run(80, |clock| Arc::new(memory_store_at(clock))),
        run(40, |clock| Arc::new(engine_at(clock))),
    ] {
        // Both ways are tried.
        assert!(tally.from_images > 100 && tally.from_store > 100, "{tally:?}");
    }
}

/// A relaxed store shows commits up to a tenth of a second before they are synced, and in the feed.
#[test]
fn a_page_that_is_followed_on_a_relaxed_store_gets_to_what_a_read_returns() {
    let options = EngineOptions {
        durability: Durability::Relaxed,
        disk: Arc::new(SimDisk::new(0)),
        ..EngineOptions::default()
    };
    let engine = Engine::open(Path::new("/data"), options).expect("the engine opens");
    let db = block_on(open(MODEL, Arc::new(engine))).tenant("red");
    let asked = Asked {
        list: "of",
        by: Some(("folder", "a")),
        filter: None,
        at_least: None,
        is_backward: false,
        limit: 5,
        cursor: None,
    };
    let mut followed = Followed::new(db.clone(), asked).expect("a page");
    let mut follow_for = |time: Duration| {
        let end = Instant::now() + time;
        while Instant::now() < end {
            match moment(followed.live.next().now_or_never()) {
                Some(moment) => (followed.seen, _) = followed.asked.read(&moment.db).unwrap(),
                None => thread::yield_now(),
            }
        }
        followed.asked.read(&db).unwrap().0 == followed.seen
    };
    for rank in 0..200 {
        let (id, rank) = (format!("t{}", rank % 9), rank % 10);
        let task = json!({ "owner": "ann", "folder": "a", "state": "open", "rank": rank });
        block_on(db.put("task", &id, &task)).expect("a task");
        follow_for(Duration::from_millis(3));
    }
    let is_there = (0..100).any(|_| follow_for(Duration::from_millis(100)));
    assert!(is_there, "a change is missing");
}

#[test]
fn changes_within_a_page_take_no_read() {
    let db = block_on(open(MODEL, Arc::new(engine_at(&ManualClock::new())))).tenant("red");
    let task = |id: &str, rank: i64| {
        let task =
            json!({ "id": id, "owner": "ann", "folder": "a", "state": "open", "rank": rank });
        block_on(db.create("task", &task)).expect("a task");
    };
    let update = |id: &str, patch: &Json| {
        block_on(db.update("task", id, patch)).expect("an update");
    };
    for rank in 1..=6 {
        task(&format!("t{rank}"), rank);
    }
    let mut live = db.live();
    let mut read = || {
        let moment = live.next().now_or_never()?.expect("it is read");
        let query = moment.db.list("task", "of").by("folder", "a").limit(4);
        let page = block_on(query.read()).expect("a page");
        let ids: Vec<&str> = page.items.iter().map(|item| item.id()).collect();
        Some((ids.join(" "), page.next.is_some(), page.read.rows == 0))
    };
    let expected = |ids: &str, took_none: bool| Some((ids.to_owned(), true, took_none));
    assert_eq!(read(), expected("t1 t2 t3 t4", false));
    update("t2", &json!({ "state": "done" }));
    assert_eq!(read(), expected("t1 t2 t3 t4", true));
    update("t4", &json!({ "rank": 0 }));
    assert_eq!(read(), expected("t4 t1 t2 t3", true));
    // Who enters pushes out the last one, which is the first that follows from then on.
    task("t7", 1);
    assert_eq!(read(), expected("t4 t1 t7 t2", true));
    update("t6", &json!({ "state": "done" }));
    assert_eq!(read(), None);
    // Who follows is not known.
    update("t1", &json!({ "folder": "b" }));
    assert_eq!(read(), expected("t4 t7 t2 t3", false));
    update("t4", &json!({ "rank": 9 }));
    assert_eq!(read(), expected("t7 t2 t3 t5", false));
    update("t7", &json!({ "rank": 2 }));
    assert_eq!(read(), expected("t2 t7 t3 t5", true));
}
