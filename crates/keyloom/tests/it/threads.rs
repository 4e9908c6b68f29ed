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
struct Results {
    /// Every entity that was created, and all parents that it ever had.
    made: BTreeMap<(&'static str, String), BTreeSet<String>>,
    deleted: BTreeSet<(&'static str, String)>,
    contended: usize,
}

#[test]
fn concurrent_writes_leave_consistent_data_and_return_correct_results() {
    for round in 0..u64::from(cases(40).min(2000)) {
        let (world, _) = world();
        let results = Mutex::new(Results::default());
        let teams: Vec<String> = (0..3).map(|n| make_team(&world.db, &results, n)).collect();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (db, results, teams) = (world.db.clone(), &results, &teams);
                let mut random = Random::new(round * 100 + thread);
                scope.spawn(move || {
                    for _ in 0..25 {
                        act(&db, results, teams, &mut random);
                    }
                });
            }
        });
        let results = results.into_inner().expect("nobody panicked");
        is_right(&world);
        is_true(&world, &results);
    }
}

#[test]
fn a_large_cascade_deletes_everything_added_meanwhile() {
    for round in 0..u64::from(cases(6).min(200)) {
        let (world, _) = world();
        let results = Mutex::new(Results::default());
        let team = make_team(&world.db, &results, 0);
        let other = make_team(&world.db, &results, 1);
        let mut random = Random::new(round);
        for _ in 0..60 {
            add_person(&world.db, &results, &team, &mut random);
        }
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (db, results, team, other) = (world.db.clone(), &results, &team, &other);
                let mut random = Random::new(round * 100 + 1 + thread);
                scope.spawn(move || {
                    for turn in 0..12 {
                        if thread == 0 && turn == 4 {
                            delete(&db, results, ("team", team));
                        }
                        match random.below(3) {
                            0 => add_person(&db, results, team, &mut random),
                            1 => move_person(&db, results, other, &mut random),
                            _ => add_note(&db, results, &mut random),
                        }
                    }
                });
            }
        });
        let results = results.into_inner().expect("nobody panicked");
        assert!(results.deleted.contains(&("team", team.clone())) || results.contended > 0);
        is_right(&world);
        is_true(&world, &results);
    }
}

#[test]
fn one_of_a_hundred_threads_gets_a_unique_name() {
    let (world, _) = world();
    let results = Mutex::new(Results::default());
    let team = make_team(&world.db, &results, 0);
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

fn act(db: &Db, results: &Mutex<Results>, teams: &[String], random: &mut Random) {
    let team = random.pick(teams).clone();
    match random.below(20) {
        0..=5 => add_person(db, results, &team, random),
        6..=7 => add_note(db, results, random),
        8..=9 => move_person(db, results, &team, random),
        10..=12 => set_boss(db, results, random),
        13 => swap_names(db, results, random),
        14..=15 => {
            let person = some(results, "person", random);
            let document = json!({"owner": person, "room": team});
            made(results, ("badge", None), block_on(db.create("badge", &document)));
        }
        16 => delete_some(db, results, "badge", random),
        17..=18 => delete_some(db, results, "person", random),
        _ => delete_some(db, results, "team", random),
    }
}

fn make_team(db: &Db, results: &Mutex<Results>, n: usize) -> String {
    let team = block_on(db.create("team", &json!({"name": format!("team {n}")}))).unwrap();
    let id = team.id().to_owned();
    made(results, ("team", None), Ok(team));
    id
}

fn add_person(db: &Db, results: &Mutex<Results>, team: &str, random: &mut Random) {
    let name = *random.pick(&["ann", "Ann", "bob", "cid", "dan", "eve", "fay"]);
    let name =
        if random.chance(1, 2) { format!("{name}{}", random.below(1000)) } else { name.to_owned() };
    let mail = random.chance(1, 3).then(|| format!("{}@b", random.below(4)));
    let document =
        json!({"team": team, "name": name, "mail": mail, "boss": some(results, "person", random)});
    made(results, ("person", Some(team)), block_on(db.create("person", &document)));
}

fn add_note(db: &Db, results: &Mutex<Results>, random: &mut Random) {
    let Some(person) = some(results, "person", random) else { return };
    let note = block_on(db.create("note", &json!({"person": person, "text": "hello"})));
    made(results, ("note", Some(&person)), note);
}

fn move_person(db: &Db, results: &Mutex<Results>, team: &str, random: &mut Random) {
    let Some(person) = some(results, "person", random) else { return };
    // The entity may be deleted before the call returns, so the parent is recorded first.
    parent(results, &person, team);
    check(results, block_on(db.update("person", &person, &json!({"team": team}))).map(|_| ()));
}

fn set_boss(db: &Db, results: &Mutex<Results>, random: &mut Random) {
    let Some(person) = some(results, "person", random) else { return };
    let boss = some(results, "person", random);
    check(results, block_on(db.update("person", &person, &json!({"boss": boss}))).map(|_| ()));
}

fn swap_names(db: &Db, results: &Mutex<Results>, random: &mut Random) {
    let (Some(one), Some(two)) = (some(results, "person", random), some(results, "person", random))
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
    check(results, block_on(db.transact(changes)).map(|_| ()));
}

fn delete_some(db: &Db, results: &Mutex<Results>, kind: &'static str, random: &mut Random) {
    if let Some(id) = some(results, kind, random) {
        delete(db, results, (kind, &id));
    }
}

fn delete(db: &Db, results: &Mutex<Results>, (kind, id): (&'static str, &str)) {
    let deleted = block_on(db.delete(kind, id));
    if deleted.is_ok() {
        results.lock().unwrap().deleted.insert((kind, id.to_owned()));
    }
    check(results, deleted);
}

/// An entity that was created at some time.
fn some(results: &Mutex<Results>, kind: &str, random: &mut Random) -> Option<String> {
    let results = results.lock().unwrap();
    let ids: Vec<&String> =
        results.made.keys().filter(|key| key.0 == kind).map(|key| &key.1).collect();
    (!ids.is_empty()).then(|| (*random.pick(&ids)).clone())
}

fn parent(results: &Mutex<Results>, person: &str, team: &str) {
    let key = ("person", person.to_owned());
    results.lock().unwrap().made.entry(key).or_default().insert(team.to_owned());
}

fn made(
    results: &Mutex<Results>,
    (kind, parent): (&'static str, Option<&str>),
    record: Result<keyloom::Record, Error>,
) {
    if let Ok(record) = &record {
        let parents = parent.iter().map(|parent| (*parent).to_owned());
        let mut results = results.lock().unwrap();
        results.made.entry((kind, record.id().to_owned())).or_default().extend(parents);
    }
    check(results, record.map(|_| ()));
}

/// The only acceptable errors are conflicts with other threads.
fn check(results: &Mutex<Results>, answer: Result<(), Error>) {
    match answer {
        Ok(())
        | Err(
            Error::UniqueViolation { .. }
            | Error::TargetGone { .. }
            | Error::NotFound { .. }
            | Error::InUse { .. }
            | Error::SameTwice { .. },
        ) => {}
        Err(Error::Contended) => results.lock().unwrap().contended += 1,
        Err(error) => panic!("{error}"),
    }
}

/// The rows are those that the entities imply, and verify finds nothing.
fn is_right(world: &World) {
    world.check_verify();
    world.compare_rows();
}

/// Created entities exist unless they or their parents were deleted; deleted ones do not.
fn is_true(world: &World, results: &Results) {
    let parent_kind = |kind: &str| match kind {
        "person" => "team",
        _ => "person",
    };
    let mut gone: BTreeSet<(&str, String)> = BTreeSet::new();
    for kind in ["team", "person", "note", "badge"] {
        for ((_, id), parents) in results.made.iter().filter(|((of, _), _)| *of == kind) {
            let is_there = block_on(world.db.get(kind, id)).expect("it can be read").is_some();
            let is_deleted = results.deleted.contains(&(kind, id.clone()));
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
