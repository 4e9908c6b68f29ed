//! Many threads on one database: whatever they do to the same entities, the data stays consistent,
//! and every result was correct when it was returned.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Barrier, Mutex};

use keyloom::{Db, Error};
use keyloom_store::Store;
use keyloom_testkit::{ManualClock, Random};
use pollster::block_on;
use serde_json::json;

use crate::cases::cases;
use crate::rig::engine_at;
use crate::world::{Marks, World};

const MODEL: &str = r#"
[entity.team]
fields.name = "text"
unique = [{ fields = ["name"], fold_case = true }]

[entity.person]
parent = "team"
on_parent_delete = "cascade"
fields.name = "text"
fields.mail = "text?"
fields.boss = "ref person clear?"
unique = ["mail", { fields = ["name"], within = "team", fold_case = true }]
list.by_name = { by = "team", order = "name" }
list.by_boss = { by = "boss", order = "-name" }

[entity.note]
parent = "person"
on_parent_delete = "cascade"
fields.text = "text"

[entity.badge]
fields.owner = "ref person refuse?"
fields.room = "ref team clear?"
"#;

/// The results that threads have received.
#[derive(Default)]
struct Told {
    /// Every entity that was created, and all parents that it ever had.
    made: BTreeMap<(&'static str, String), BTreeSet<String>>,
    deleted: BTreeSet<(&'static str, String)>,
    contended: usize,
}

#[test]
fn concurrent_writes_leave_consistent_data_and_return_correct_results() {
    for round in 0..u64::from(cases(40).min(2000)) {
        let (world, _) = world();
        let told = Mutex::new(Told::default());
        let teams: Vec<String> = (0..3).map(|n| make_team(&world.db, &told, n)).collect();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (db, told, teams) = (world.db.clone(), &told, &teams);
                let mut random = Random::new(round * 100 + thread);
                scope.spawn(move || {
                    for _ in 0..25 {
                        act(&db, told, teams, &mut random);
                    }
                });
            }
        });
        let told = told.into_inner().expect("nobody panicked");
        is_right(&world);
        is_true(&world, &told);
    }
}

#[test]
fn a_large_cascade_deletes_everything_added_meanwhile() {
    for round in 0..u64::from(cases(6).min(200)) {
        let (world, _) = world();
        let told = Mutex::new(Told::default());
        let team = make_team(&world.db, &told, 0);
        let other = make_team(&world.db, &told, 1);
        let mut random = Random::new(round);
        for _ in 0..60 {
            add_person(&world.db, &told, &team, &mut random);
        }
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (db, told, team, other) = (world.db.clone(), &told, &team, &other);
                let mut random = Random::new(round * 100 + 1 + thread);
                scope.spawn(move || {
                    for turn in 0..12 {
                        if thread == 0 && turn == 4 {
                            delete(&db, told, ("team", team));
                        }
                        match random.below(3) {
                            0 => add_person(&db, told, team, &mut random),
                            1 => move_person(&db, told, other, &mut random),
                            _ => add_note(&db, told, &mut random),
                        }
                    }
                });
            }
        });
        let told = told.into_inner().expect("nobody panicked");
        assert!(told.deleted.contains(&("team", team.clone())) || told.contended > 0);
        is_right(&world);
        is_true(&world, &told);
    }
}

#[test]
fn one_of_a_hundred_threads_gets_a_unique_name() {
    let (world, _) = world();
    let told = Mutex::new(Told::default());
    let team = make_team(&world.db, &told, 0);
    let names = |base: &'static str| {
        move |n: usize| -> String {
            let upper = |(place, letter): (usize, char)| match n >> place & 1 {
                0 => letter.to_ascii_lowercase(),
                _ => letter.to_ascii_uppercase(),
            };
            base.chars().enumerate().map(upper).collect()
        }
    };
    let (any_case, scoped) = (names("kitchen"), names("anna"));
    let mail = |n: usize| json!({"team": team, "name": format!("n{n}"), "mail": "a@b"});
    assert_eq!(winners(&world.db, |n| ("team", json!({"name": any_case(n)}))), 1);
    assert_eq!(winners(&world.db, |n| ("person", json!({"team": team, "name": scoped(n)}))), 1);
    assert_eq!(winners(&world.db, |n| ("person", mail(n))), 1);
    is_right(&world);
}

/// How many of a hundred concurrent creates succeed; the others must fail for a reason.
fn winners(db: &Db, of: impl Fn(usize) -> (&'static str, serde_json::Value) + Sync) -> usize {
    let barrier = Barrier::new(100);
    let count = Mutex::new(0);
    std::thread::scope(|scope| {
        for n in 0..100 {
            let (barrier, count, of) = (&barrier, &count, &of);
            scope.spawn(move || {
                let (entity, document) = of(n);
                barrier.wait();
                match block_on(db.create(entity, &document)) {
                    Ok(_) => *count.lock().unwrap() += 1,
                    Err(Error::UniqueViolation { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            });
        }
    });
    count.into_inner().unwrap()
}

fn world() -> (World, ManualClock) {
    let clock = ManualClock::new();
    let store: Arc<dyn Store> = Arc::new(engine_at(&clock));
    let mut world = World::new(MODEL, store, &clock);
    // A canceled deletion does not find entities that have moved meanwhile.
    world.marks = Marks::Some;
    (world, clock)
}

fn act(db: &Db, told: &Mutex<Told>, teams: &[String], random: &mut Random) {
    let team = random.pick(teams).clone();
    match random.below(20) {
        0..=5 => add_person(db, told, &team, random),
        6..=7 => add_note(db, told, random),
        8..=9 => move_person(db, told, &team, random),
        10..=12 => set_boss(db, told, random),
        13 => swap_names(db, told, random),
        14..=15 => {
            let person = some(told, "person", random);
            let document = json!({"owner": person, "room": team});
            made(told, ("badge", None), block_on(db.create("badge", &document)));
        }
        16 => delete_some(db, told, "badge", random),
        17..=18 => delete_some(db, told, "person", random),
        _ => delete_some(db, told, "team", random),
    }
}

fn make_team(db: &Db, told: &Mutex<Told>, n: usize) -> String {
    let team = block_on(db.create("team", &json!({"name": format!("team {n}")}))).unwrap();
    let id = team.id().to_owned();
    made(told, ("team", None), Ok(team));
    id
}

fn add_person(db: &Db, told: &Mutex<Told>, team: &str, random: &mut Random) {
    let name = *random.pick(&["ann", "Ann", "bob", "cid", "dan", "eve", "fay"]);
    let name =
        if random.chance(1, 2) { format!("{name}{}", random.below(1000)) } else { name.to_owned() };
    let mail = random.chance(1, 3).then(|| format!("{}@b", random.below(4)));
    let document =
        json!({"team": team, "name": name, "mail": mail, "boss": some(told, "person", random)});
    made(told, ("person", Some(team)), block_on(db.create("person", &document)));
}

fn add_note(db: &Db, told: &Mutex<Told>, random: &mut Random) {
    let Some(person) = some(told, "person", random) else { return };
    let note = block_on(db.create("note", &json!({"person": person, "text": "hello"})));
    made(told, ("note", Some(&person)), note);
}

fn move_person(db: &Db, told: &Mutex<Told>, team: &str, random: &mut Random) {
    let Some(person) = some(told, "person", random) else { return };
    // The entity may be deleted before the call returns, so the parent is recorded first.
    parent(told, &person, team);
    check(told, block_on(db.update("person", &person, &json!({"team": team}))).map(|_| ()));
}

fn set_boss(db: &Db, told: &Mutex<Told>, random: &mut Random) {
    let Some(person) = some(told, "person", random) else { return };
    let boss = some(told, "person", random);
    check(told, block_on(db.update("person", &person, &json!({"boss": boss}))).map(|_| ()));
}

fn swap_names(db: &Db, told: &Mutex<Told>, random: &mut Random) {
    let (Some(one), Some(two)) = (some(told, "person", random), some(told, "person", random))
    else {
        return;
    };
    let read = |id: &str| block_on(db.get("person", id)).expect("it can be read");
    let (Some(left), Some(right)) = (read(&one), read(&two)) else { return };
    let change = |id: &str, from: &keyloom::Record| {
        let name = from.get("name").and_then(|name| name.as_s()).map(str::to_owned);
        keyloom::Change::update("person", id, &json!({"name": name})).unwrap()
    };
    let changes = vec![change(&one, &right), change(&two, &left)];
    check(told, block_on(db.transact(changes)).map(|_| ()));
}

fn delete_some(db: &Db, told: &Mutex<Told>, kind: &'static str, random: &mut Random) {
    if let Some(id) = some(told, kind, random) {
        delete(db, told, (kind, &id));
    }
}

fn delete(db: &Db, told: &Mutex<Told>, (kind, id): (&'static str, &str)) {
    let deleted = block_on(db.delete(kind, id));
    if deleted.is_ok() {
        told.lock().unwrap().deleted.insert((kind, id.to_owned()));
    }
    check(told, deleted);
}

/// An entity that was created at some time.
fn some(told: &Mutex<Told>, kind: &str, random: &mut Random) -> Option<String> {
    let told = told.lock().unwrap();
    let ids: Vec<&String> =
        told.made.keys().filter(|key| key.0 == kind).map(|key| &key.1).collect();
    (!ids.is_empty()).then(|| (*random.pick(&ids)).clone())
}

fn parent(told: &Mutex<Told>, person: &str, team: &str) {
    let key = ("person", person.to_owned());
    told.lock().unwrap().made.entry(key).or_default().insert(team.to_owned());
}

fn made(
    told: &Mutex<Told>,
    (kind, parent): (&'static str, Option<&str>),
    record: Result<keyloom::Record, Error>,
) {
    if let Ok(record) = &record {
        let parents = parent.iter().map(|parent| (*parent).to_owned());
        let mut told = told.lock().unwrap();
        told.made.entry((kind, record.id().to_owned())).or_default().extend(parents);
    }
    check(told, record.map(|_| ()));
}

/// The only acceptable errors are conflicts with other threads.
fn check(told: &Mutex<Told>, answer: Result<(), Error>) {
    match answer {
        Ok(())
        | Err(
            Error::UniqueViolation { .. }
            | Error::TargetGone { .. }
            | Error::NotFound { .. }
            | Error::InUse { .. }
            | Error::SameTwice { .. },
        ) => {}
        Err(Error::Contended) => told.lock().unwrap().contended += 1,
        Err(error) => panic!("{error}"),
    }
}

/// The rows are those that the entities imply, and verify finds nothing.
fn is_right(world: &World) {
    world.check_verify();
    world.compare_rows();
}

/// Created entities exist unless they or their parents were deleted; deleted ones do not.
fn is_true(world: &World, told: &Told) {
    let parent_kind = |kind: &str| match kind {
        "person" => "team",
        _ => "person",
    };
    let mut gone: BTreeSet<(&str, String)> = BTreeSet::new();
    for kind in ["team", "person", "note", "badge"] {
        for ((_, id), parents) in told.made.iter().filter(|((of, _), _)| *of == kind) {
            let is_there = block_on(world.db.get(kind, id)).expect("it can be read").is_some();
            let is_deleted = told.deleted.contains(&(kind, id.clone()));
            assert!(!(is_there && is_deleted), "the {kind} {id} was deleted and is there");
            let is_orphan =
                parents.iter().any(|parent| gone.contains(&(parent_kind(kind), parent.clone())));
            assert!(is_there || is_deleted || is_orphan, "the {kind} {id} is lost");
            if !is_there {
                gone.insert((kind, id.clone()));
            }
        }
    }
}
