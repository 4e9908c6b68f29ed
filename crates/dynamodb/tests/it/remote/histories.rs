//! Random histories on a server that fails at random, compared with a store that does not:
//! acknowledged writes are applied, refused ones are not, and unanswered ones are applied completely
//! or not at all (in a batch, each part).

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

/// The result of a step.
#[derive(Debug, PartialEq)]
enum Outcome {
    Image(Option<Item>),
    Items(Vec<Item>),
    Unprocessed(BatchWrite),
    Applied,
}

/// The store over the faulty server, and the one that never fails.
struct World {
    server: Faulty,
    remote: Remote,
    mirror: MemoryStore,
}

#[test]
fn reported_results_match_what_was_applied() {
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
        server.plan(random_faults(Random::new(!seed)));
        World { server, remote, mirror }
    }

    fn play(&self, random: &mut Random) {
        for _ in 0..STEPS {
            let step = step(random);
            let before = contents(&self.mirror);
            let reported = apply(&self.remote, &step);
            self.reconcile(&step, &reported);
            let (kept, expected) = (contents(self.server.store.as_ref()), contents(&self.mirror));
            assert_eq!(kept, expected, "{step:#?}\nreturned {reported:?}\non {before:?}");
        }
    }

    /// Applies the step to the mirror as the reported result requires.
    fn reconcile(&self, step: &Step, reported: &Result<Outcome, Error>) {
        match (step, reported) {
            (Step::Batch(batch), Ok(Outcome::Unprocessed(left))) => {
                let is_done = |action: &&BatchAction| !left.actions.contains(action);
                let actions = batch.actions.iter().filter(is_done).cloned().collect();
                self.write(actions);
            }
            (Step::Batch(batch), Err(Error::Unanswered(_))) => {
                let is_applied = |action: &&BatchAction| self.is_applied(action);
                self.write(batch.actions.iter().filter(is_applied).cloned().collect());
            }
            (_, Err(Error::Refused(_))) => {}
            (_, Err(Error::Canceled { reasons })) if reasons.iter().any(is_conflict) => {}
            (_, Err(Error::Unanswered(_))) => {
                if contents(self.server.store.as_ref()) != contents(&self.mirror) {
                    apply(&self.mirror, step).unwrap();
                }
            }
            (_, reported) => {
                let expected = apply(&self.mirror, step);
                assert_eq!(format!("{reported:?}"), format!("{expected:?}"), "{step:#?}");
            }
        }
    }

    /// Returns whether the service has applied a part of a batch.
    fn is_applied(&self, action: &BatchAction) -> bool {
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

/// Injects a fault into one request in four; sometimes a burst that fails every attempt at a write.
fn random_faults(mut random: Random) -> impl FnMut(&str) -> Option<Fault> + Send + 'static {
    let mut burst = 0;
    move |operation| {
        if random.chance(1, 40) {
            burst = ATTEMPTS_MAX;
        }
        let is_burst = burst > 0;
        burst = burst.saturating_sub(1);
        (is_burst || random.chance(1, 4)).then(|| fault(operation, &mut random))
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

/// Builds something for each of some keys.
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

fn apply(store: &dyn Store, step: &Step) -> Result<Outcome, Error> {
    match step.clone() {
        Step::Put(put) => block_on(store.put(put)).map(Outcome::Image),
        Step::Update(update) => block_on(store.update(update)).map(Outcome::Image),
        Step::Delete(delete) => block_on(store.delete(delete)).map(Outcome::Image),
        Step::Batch(batch) => block_on(store.batch_write(batch)).map(Outcome::Unprocessed),
        Step::Transaction(transaction) => {
            block_on(store.transact_write(transaction)).map(|()| Outcome::Applied)
        }
        Step::Get(get) => block_on(store.get(get)).map(Outcome::Image),
        Step::GetAll => {
            let gets = (0..KEYS).map(|id| Get::new(&table(), key(id))).collect();
            let items = block_on(store.transact_get(TransactGet { gets }))?;
            Ok(Outcome::Items(items.into_iter().flatten().collect()))
        }
        Step::Scan => {
            let page = block_on(store.scan(Scan::new(&table())))?;
            Ok(Outcome::Items(page.items))
        }
    }
}
