//! Random histories over a server that fails at random, beside a store that does not: what was
//! acknowledged is there, what was refused is not, and what had no answer is there wholly or not
//! at all (of a batch, each part).

use std::time::Duration;

use keyloom_dynamodb::Remote;
use keyloom_store::{
    BatchAction, BatchWrite, CancelReason, Check, Delete, Error, Get, MemoryStore, OnFailure, Put,
    Read, Returns, Scan, Store, TransactAction, TransactGet, TransactWrite, UpdateItem,
};
use keyloom_testkit::{ManualClock, Random};
use keyloom_value::{Condition, Item, Path};
use pollster::block_on;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::faulty::{Fault, Faulty};
use super::items::{addition, item, key, spec, table};

const HISTORIES: u32 = 12;
const STEPS: usize = 100;
const KEYS: u64 = 6;
const ATTEMPTS_MAX: u32 = 4;
const PATIENT: Duration = Duration::from_secs(30);

/// A step of a history.
#[derive(Clone, Debug)]
enum Step {
    Put(Put),
    Update(UpdateItem),
    Delete(Delete),
    Batch(BatchWrite),
    Transaction(TransactWrite),
    Get(Get),
    GetAll,
    Scan,
}

/// What a step came to, where it was done.
#[derive(Debug, PartialEq)]
enum Answer {
    Image(Option<Item>),
    Items(Vec<Item>),
    Left(BatchWrite),
    Done,
}

/// The store over the faulty server, and the one that never fails.
struct World {
    server: Faulty,
    remote: Remote,
    mirror: MemoryStore,
}

#[test]
fn what_is_told_is_what_was_done() {
    let config = Config { cases: HISTORIES, failure_persistence: None, ..Config::default() };
    let result = TestRunner::new(config).run(&any::<u64>().no_shrink(), |seed| {
        World::new(seed).play(&mut Random::new(seed));
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

impl World {
    fn new(seed: u64) -> World {
        let server = Faulty::start();
        let remote = server.remote(ATTEMPTS_MAX, PATIENT);
        let mirror = MemoryStore::new(std::sync::Arc::new(ManualClock::new()));
        block_on(mirror.create_table(spec())).unwrap();
        server.plan(weather(Random::new(!seed)));
        World { server, remote, mirror }
    }

    fn play(&self, random: &mut Random) {
        for _ in 0..STEPS {
            let step = step(random);
            let before = contents(&self.mirror);
            let told = apply(&self.remote, &step);
            self.judge(&step, &told);
            let (kept, expected) = (contents(self.server.store.as_ref()), contents(&self.mirror));
            assert_eq!(kept, expected, "{step:#?}\ncame to {told:?}\non {before:?}");
        }
    }

    /// Brings the mirror to where the service must be after what it told.
    fn judge(&self, step: &Step, told: &Result<Answer, Error>) {
        match (step, told) {
            (Step::Batch(batch), Ok(Answer::Left(left))) => {
                let is_done = |action: &&BatchAction| !left.actions.contains(action);
                let actions = batch.actions.iter().filter(is_done).cloned().collect();
                self.write(actions);
            }
            (Step::Batch(batch), Err(Error::Unanswered(_))) => {
                let is_done = |action: &&BatchAction| self.is_done(action);
                self.write(batch.actions.iter().filter(is_done).cloned().collect());
            }
            (_, Err(Error::Refused(_))) => {}
            (_, Err(Error::Canceled { reasons })) if reasons.iter().any(is_conflict) => {}
            (_, Err(Error::Unanswered(_))) => {
                if contents(self.server.store.as_ref()) != contents(&self.mirror) {
                    apply(&self.mirror, step).unwrap();
                }
            }
            (_, told) => {
                let expected = apply(&self.mirror, step);
                assert_eq!(format!("{told:?}"), format!("{expected:?}"), "{step:#?}");
            }
        }
    }

    /// Whether the service has what a part of a batch would leave.
    fn is_done(&self, action: &BatchAction) -> bool {
        let (key, wanted) = match action {
            BatchAction::Put(_, put) => {
                (Item::from([("id", put.get("id").unwrap().clone())]), Some(put.clone()))
            }
            BatchAction::Delete(_, key) => (key.clone(), None),
        };
        block_on(self.server.store.get(Get::new(&table(), key))).unwrap() == wanted
    }

    fn write(&self, actions: Vec<BatchAction>) {
        if !actions.is_empty() {
            block_on(self.mirror.batch_write(BatchWrite { actions })).unwrap();
        }
    }
}

fn is_conflict(reason: &Option<CancelReason>) -> bool {
    matches!(reason, Some(CancelReason::Refused(_)))
}

fn contents(store: &dyn Read) -> Vec<Item> {
    block_on(store.scan(Scan::new(&table()))).unwrap().items
}

/// Faults for one request in four; now and then a storm, in which no attempt at writing gets through.
fn weather(mut random: Random) -> impl FnMut(&str) -> Option<Fault> + Send + 'static {
    let mut storm = 0;
    move |operation| {
        if random.chance(1, 40) {
            storm = ATTEMPTS_MAX;
        }
        let is_stormy = storm > 0;
        storm = storm.saturating_sub(1);
        (is_stormy || random.chance(1, 4)).then(|| fault(operation, &mut random))
    }
}

fn fault(operation: &str, random: &mut Random) -> Fault {
    let mut faults = vec![
        Fault::Refused(400, "ProvisionedThroughputExceededException"),
        Fault::Refused(400, "ThrottlingException"),
        Fault::Refused(500, "InternalServerError"),
        Fault::Refused(503, "ServiceUnavailable"),
        Fault::CutBefore,
        Fault::CutAfter,
        Fault::CutWithin,
        Fault::Garbage,
    ];
    match operation {
        "TransactWriteItems" | "TransactGetItems" => faults.extend([Fault::Conflict; 4]),
        "BatchWriteItem" | "BatchGetItem" => faults.extend([0, 1, 2, 3].map(Fault::Leftover)),
        _ => {}
    }
    *random.pick(&faults)
}

fn step(random: &mut Random) -> Step {
    match random.below(10) {
        0 | 1 => Step::Put(put(random)),
        2 | 3 => Step::Update(addition(id(random)).returning(Returns::AllNew)),
        4 => Step::Delete(Delete::new(&table(), key(id(random)))),
        5 => Step::Batch(BatchWrite { actions: each(random, part) }),
        6 | 7 => Step::Transaction(TransactWrite::new(each(random, action))),
        8 => match random.chance(1, 2) {
            true => Step::Get(Get::new(&table(), key(id(random)))),
            false => Step::GetAll,
        },
        _ => Step::Scan,
    }
}

fn id(random: &mut Random) -> u64 {
    random.below(KEYS)
}

/// Something about each of some keys.
fn each<T>(random: &mut Random, one: impl Fn(&mut Random, u64) -> T) -> Vec<T> {
    let first = id(random);
    let keys = first..=first + random.below(KEYS);
    keys.map(|id| one(random, id % KEYS)).collect()
}

fn part(random: &mut Random, id: u64) -> BatchAction {
    match random.chance(2, 3) {
        true => BatchAction::Put(table(), item(id, number(random))),
        false => BatchAction::Delete(table(), key(id)),
    }
}

fn action(random: &mut Random, id: u64) -> TransactAction {
    match random.below(8) {
        0 | 1 => TransactAction::Put(Put::new(&table(), item(id, number(random)))),
        2..=5 => TransactAction::Update(addition(id)),
        6 => TransactAction::Delete(Delete::new(&table(), key(id))),
        _ => TransactAction::Check(Check {
            table: table(),
            key: key(id),
            condition: Condition::exists(Path::from("n")),
            on_failure: OnFailure::ReturnItem,
        }),
    }
}

fn put(random: &mut Random) -> Put {
    let put =
        Put { returns: Returns::AllOld, ..Put::new(&table(), item(id(random), number(random))) };
    match random.chance(1, 2) {
        true => put.when(Condition::missing(Path::from("n"))),
        false => put,
    }
}

fn number(random: &mut Random) -> i64 {
    i64::try_from(random.below(1000)).unwrap()
}

fn apply(store: &dyn Store, step: &Step) -> Result<Answer, Error> {
    match step.clone() {
        Step::Put(put) => block_on(store.put(put)).map(Answer::Image),
        Step::Update(update) => block_on(store.update(update)).map(Answer::Image),
        Step::Delete(delete) => block_on(store.delete(delete)).map(Answer::Image),
        Step::Batch(batch) => block_on(store.batch_write(batch)).map(Answer::Left),
        Step::Transaction(transaction) => {
            block_on(store.transact_write(transaction)).map(|()| Answer::Done)
        }
        Step::Get(get) => block_on(store.get(get)).map(Answer::Image),
        Step::GetAll => {
            let gets = (0..KEYS).map(|id| Get::new(&table(), key(id))).collect();
            let items = block_on(store.transact_get(TransactGet { gets }))?;
            Ok(Answer::Items(items.into_iter().flatten().collect()))
        }
        Step::Scan => {
            let page = block_on(store.scan(Scan::new(&table())))?;
            Ok(Answer::Items(page.items))
        }
    }
}
