//! Patches that add to numbers and lists: no addition is lost, whoever else adds, and everything that
//! is derived from the values follows.

use std::collections::BTreeMap;
use std::sync::{Arc, Barrier};

use keyloom::{Change, Db, Error, Idempotent, Number, Options, Value};
use keyloom_store::{Store, SystemClock};
use keyloom_testkit::{ManualClock, Random};
use pollster::block_on;
use serde_json::{Value as Json, json};

use crate::cases::for_all;
use crate::rig::{assert_clean, each_store, engine_at, open, plain_store};

const MODEL: &str = r#"
[entity.player]
id = "given"
fields.team   = "enum(red, blue)"
fields.points = "int 0..1000 = 0"
fields.money  = "number = 0"
fields.log    = "list of int ..500 = []"
list.by_points = { by = "team", order = "-points" }
count.by_team  = { by = "team", split = ["points"], sum = ["points", "money"], max = "points" }
board.best     = { rank = "points" }
"#;

const TEAMS: [&str; 2] = ["red", "blue"];

fn player(db: &Db, id: &str, team: &str) {
    block_on(db.create("player", &json!({ "id": id, "team": team }))).expect("it is created");
}

fn add(points: i64) -> Json {
    json!({ "points": { "$add": points } })
}

fn points(db: &Db, id: &str) -> Option<i64> {
    let player = block_on(db.get("player", id)).unwrap()?;
    player.get("points")?.as_n()?.to_i64()
}

/// Both kinds of stores: with additions and without.
fn stores() -> [Arc<dyn Store>; 2] {
    let clock = ManualClock::new();
    [Arc::new(engine_at(&clock)), plain_store(&clock)]
}

#[test]
fn four_hundred_concurrent_additions_are_all_applied() {
    for store in stores() {
        let options = Options { clock: Arc::new(SystemClock), ..Options::default() };
        let db = block_on(Db::open_with(MODEL, store, options)).expect("it opens");
        player(&db, "ann", "red");
        let barrier = Barrier::new(400);
        std::thread::scope(|scope| {
            for number in 0..400 {
                let (db, barrier) = (&db, &barrier);
                let patch = json!({
                    "points": { "$add": 2 }, "money": { "$add": 0.01 }, "log": { "$append": [number] },
                });
                scope.spawn(move || {
                    barrier.wait();
                    // On a busy machine, the last ones wait for longer than a call does.
                    while let Err(error) = block_on(db.update("player", "ann", &patch)) {
                        assert!(matches!(error, Error::Contended), "{error}");
                    }
                });
            }
        });
        let ann = block_on(db.get("player", "ann")).unwrap().unwrap();
        assert_eq!(ann.get("points"), Some(&Value::from(800)));
        assert_eq!(ann.get("money"), Some(&Value::N("4".parse::<Number>().unwrap())));
        let Some(Value::L(log)) = ann.get("log") else { panic!("there is a log") };
        let mut log: Vec<i64> = log.iter().map(|n| n.as_n().unwrap().to_i64().unwrap()).collect();
        log.sort_unstable();
        assert_eq!(log, (0..400).collect::<Vec<i64>>());
        let counts = block_on(db.count("player", "by_team").by("team", "red").read()).unwrap();
        assert_eq!(counts.items[0].sums.get("points"), Some(&Value::from(800)));
        assert_clean(&db);
    }
}

#[test]
fn an_addition_can_depend_on_a_version() {
    each_store(|store| {
        let db = block_on(open(MODEL, store));
        player(&db, "ann", "red");
        let first = block_on(db.update("player", "ann", &add(5))).unwrap();
        let mut patch = add(5);
        patch["version"] = json!(first.version());
        block_on(db.update("player", "ann", &patch)).unwrap();
        let refused = block_on(db.update("player", "ann", &patch));
        assert!(matches!(refused, Err(Error::VersionMismatch { .. })), "{refused:?}");
        assert_eq!(points(&db, "ann"), Some(10));
        // Adding nothing changes nothing, not even the version.
        let before = block_on(db.get("player", "ann")).unwrap();
        let nothing = json!({ "points": { "$add": 0 }, "log": { "$append": [] } });
        assert_eq!(Some(block_on(db.update("player", "ann", &nothing)).unwrap()), before);
        let missing = block_on(db.update("player", "bob", &add(5)));
        assert!(matches!(missing, Err(Error::NotFound { .. })), "{missing:?}");
    });
}

#[test]
fn a_replayed_addition_is_not_applied_again() {
    each_store(|store| {
        let db = block_on(open(MODEL, store));
        player(&db, "ann", "red");
        let change = || vec![Change::update("player", "ann", &add(5)).unwrap()];
        let first = block_on(db.transact_idempotent("k", change())).unwrap();
        let Idempotent::Applied(first) = first else { panic!("it was not applied") };
        block_on(db.update("player", "ann", &add(1))).unwrap();
        let replayed = block_on(db.transact_idempotent("k", change())).unwrap();
        assert_eq!(replayed, Idempotent::Replayed(first));
        assert_eq!(points(&db, "ann"), Some(6));
    });
}

#[test]
fn a_transfer_is_applied_to_both_or_to_none() {
    each_store(|store| {
        let db = block_on(open(MODEL, store));
        player(&db, "ann", "red");
        player(&db, "bob", "blue");
        block_on(db.update("player", "ann", &add(7))).unwrap();
        let transfer = |amount: i64| {
            let change = |id, points| Change::update("player", id, &add(points)).unwrap();
            block_on(db.transact(vec![change("ann", -amount), change("bob", amount)]))
        };
        transfer(5).unwrap();
        assert!(matches!(transfer(5), Err(Error::Fields { .. })));
        assert_eq!((points(&db, "ann"), points(&db, "bob")), (Some(2), Some(5)));
        let writes = block_on(db.rehearse(vec![Change::update("player", "ann", &add(1)).unwrap()]));
        assert!(writes.unwrap().rows.iter().any(|row| row.what == "entity"));
        assert_eq!(points(&db, "ann"), Some(2));
        assert_clean(&db);
    });
}

/// What a player should be.
#[derive(Clone, Debug, PartialEq)]
struct Expected {
    team: &'static str,
    points: i64,
    cents: i128,
    log: Vec<i64>,
}

fn step(db: &Db, random: &mut Random, all: &mut BTreeMap<String, Expected>) {
    let id = random.below(4).to_string();
    let team = *random.pick(&TEAMS);
    let Some(known) = all.get_mut(&id) else {
        player(db, &id, team);
        all.insert(id, Expected { team, points: 0, cents: 0, log: vec![] });
        return;
    };
    if random.chance(1, 12) {
        block_on(db.delete("player", &id)).unwrap();
        all.remove(&id);
        return;
    }
    let points = i64::try_from(random.below(900)).unwrap() - 400;
    let cents = i128::from(random.below(100_000)) - 50_000;
    let mut patch = json!({ "points": { "$add": points } });
    let (mut next, log) = (known.clone(), random.below(4));
    next.points += points;
    if random.chance(1, 2) {
        let money = Number::from_parts(cents, -2).unwrap().to_string();
        patch["money"] = json!({ "$add": serde_json::from_str::<Json>(&money).unwrap() });
        next.cents += cents;
    }
    if random.chance(1, 2) {
        patch["log"] = json!({ "$append": (0..log).collect::<Vec<u64>>() });
        next.log.extend(0..i64::try_from(log).unwrap());
    }
    if random.chance(1, 4) {
        patch["team"] = json!(team);
        next.team = team;
    }
    let is_right = (0..=1000).contains(&next.points) && next.log.len() <= 500;
    assert_eq!(block_on(db.update("player", &id, &patch)).is_ok(), is_right, "{patch}");
    if is_right {
        *known = next;
    }
}

/// Compares every player, the lists, the sums and the board with what they should be.
fn compare(db: &Db, all: &BTreeMap<String, Expected>) {
    for (id, expected) in all {
        let found = block_on(db.get("player", id)).unwrap().expect("it exists");
        let log = expected.log.iter().map(|n| Value::from(*n)).collect();
        assert_eq!(found.get("points"), Some(&Value::from(expected.points)));
        let money = Number::from_parts(expected.cents, -2).unwrap();
        assert_eq!(found.get("money"), Some(&Value::N(money)));
        assert_eq!(found.get("log"), Some(&Value::L(log)));
    }
    for team in TEAMS {
        let members = || all.values().filter(|player| player.team == team);
        let page = block_on(db.list("player", "by_points").by("team", team).read()).unwrap();
        let found: Vec<i64> = page
            .items
            .iter()
            .map(|p| p.get("points").unwrap().as_n().unwrap().to_i64().unwrap())
            .collect();
        let mut expected: Vec<i64> = members().map(|player| player.points).collect();
        expected.sort_unstable_by(|left, right| right.cmp(left));
        assert_eq!(found, expected);
        let counts = block_on(db.count("player", "by_team").by("team", team).read()).unwrap();
        let sum = |name| match counts.items.first().and_then(|counted| counted.sums.get(name)) {
            Some(Value::N(sum)) => *sum,
            _ => Number::from(0),
        };
        let points = members().map(|player| player.points).sum::<i64>();
        let cents = members().map(|player| player.cents).sum();
        assert_eq!(sum("points"), Number::from(points));
        assert_eq!(sum("money"), Number::from_parts(cents, -2).unwrap());
    }
}

#[test]
fn random_additions_equal_naive_ones() {
    for_all(12, proptest::prelude::any::<u64>(), |seed| {
        for store in stores() {
            let db = block_on(open(MODEL, store));
            let (mut random, mut all) = (Random::new(seed), BTreeMap::new());
            for _ in 0..60 {
                step(&db, &mut random, &mut all);
            }
            compare(&db, &all);
            assert_clean(&db);
        }
    });
}
