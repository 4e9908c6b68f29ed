//! Many concurrent threads: one order of their calls must explain what they see.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;

use keyloom_store::{
    Background, Delete, Engine, Error, Get, KeySchema, KeyType, Options, Put, Read, Returns, Store,
    TableName, TableSpec, TransactAction, TransactGet, TransactWrite, UpdateItem,
};
use keyloom_testkit::linearizable::{self, Model, Recorder};
use keyloom_testkit::{Random, SimDisk};
use keyloom_value::{Comparison, Condition, Item, Path, Update, Value};
use pollster::FutureExt;

use crate::rig::{DIRECTORY, table};

const CLIENTS: usize = 8;
const CALLS: usize = 60;
const KEYS: u64 = 3;

/// A few numbers by key.
struct Numbers;

type Key = u64;

#[derive(Clone, Debug)]
enum Call {
    Get(Key),
    /// Both, in one transaction.
    GetTogether(Key, Key),
    /// Both, one after the other, in one snapshot.
    GetInSnapshot(Key, Key),
    Add(Key, i64),
    /// Compare-and-swap: writes the number if the current one is this.
    Swap(Key, Option<i64>, i64),
    /// Moves an amount from one to the other if there is enough.
    Move(Key, Key, i64),
    Delete(Key),
}

#[derive(Clone, Debug, PartialEq)]
enum Reply {
    Number(Option<i64>),
    Pair(Option<i64>, Option<i64>),
    Happened(bool),
}

impl Model for Numbers {
    type State = BTreeMap<Key, i64>;
    type Call = Call;
    type Reply = Reply;

    fn initial() -> Self::State {
        BTreeMap::new()
    }

    fn step(state: &Self::State, call: &Call, reply: Option<&Reply>) -> Option<Self::State> {
        let mut after = state.clone();
        let legal = perform(&mut after, call);
        reply.is_none_or(|reply| *reply == legal).then_some(after)
    }
}

fn perform(numbers: &mut BTreeMap<Key, i64>, call: &Call) -> Reply {
    let get = |numbers: &BTreeMap<Key, i64>, key: &Key| numbers.get(key).copied();
    match call {
        Call::Get(key) => Reply::Number(get(numbers, key)),
        Call::GetTogether(left, right) | Call::GetInSnapshot(left, right) => {
            Reply::Pair(get(numbers, left), get(numbers, right))
        }
        Call::Add(key, by) => {
            let number = numbers.entry(*key).or_default();
            *number += by;
            Reply::Number(Some(*number))
        }
        Call::Swap(key, expected, new) => {
            let happens = get(numbers, key) == *expected;
            if happens {
                numbers.insert(*key, *new);
            }
            Reply::Happened(happens)
        }
        Call::Move(from, to, by) => {
            let happens = get(numbers, from).is_some_and(|number| number >= *by);
            if happens {
                *numbers.entry(*from).or_default() -= by;
                *numbers.entry(*to).or_default() += by;
            }
            Reply::Happened(happens)
        }
        Call::Delete(key) => Reply::Number(numbers.remove(key)),
    }
}

fn random_call(random: &mut Random) -> Call {
    let key = random.below(KEYS);
    let other = (key + 1 + random.below(KEYS - 1)) % KEYS;
    let number = random.below(4) as i64;
    match random.below(10) {
        0 | 1 => Call::Get(key),
        2 => Call::GetTogether(key, other),
        3 => Call::GetInSnapshot(key, other),
        4 | 5 => Call::Add(key, number),
        6 => Call::Swap(key, random.chance(3, 4).then_some(number), number + 1),
        7 | 8 => Call::Move(key, other, number),
        _ => Call::Delete(key),
    }
}

fn key(key: Key) -> Item {
    Item::from([("id", Value::from(key))])
}

fn number(item: Option<Item>) -> Option<i64> {
    item.and_then(|item| item.get("n")?.as_n()?.to_i64())
}

fn add(by: i64) -> Update {
    Update::new().add(Path::from("n"), Value::from(by))
}

fn happened<T>(outcome: Result<T, Error>) -> Reply {
    match outcome {
        Ok(_) => Reply::Happened(true),
        Err(Error::ConditionFailed { .. } | Error::Canceled { .. }) => Reply::Happened(false),
        Err(error) => panic!("{error}"),
    }
}

fn ask(engine: &Engine, table: &TableName, call: &Call) -> Reply {
    let get = |id: &Key| Get::new(table, key(*id));
    match call {
        Call::Get(id) => Reply::Number(number(engine.get(get(id)).block_on().unwrap())),
        Call::GetTogether(left, right) => {
            let gets = vec![get(left), get(right)];
            let mut got = engine.transact_get(TransactGet { gets }).block_on().unwrap();
            let right = number(got.pop().unwrap());
            Reply::Pair(number(got.pop().unwrap()), right)
        }
        Call::GetInSnapshot(left, right) => {
            let snapshot = engine.snapshot().block_on().unwrap();
            let left = number(snapshot.get(get(left)).block_on().unwrap());
            thread::yield_now();
            Reply::Pair(left, number(snapshot.get(get(right)).block_on().unwrap()))
        }
        Call::Add(id, by) => {
            let update = UpdateItem::new(table, key(*id), add(*by)).returning(Returns::AllNew);
            Reply::Number(number(engine.update(update).block_on().unwrap()))
        }
        Call::Swap(id, expected, new) => {
            let mut item = key(*id);
            item.insert("n", Value::from(*new));
            let condition = match expected {
                Some(number) => Condition::equal(Path::from("n"), Value::from(*number)),
                None => Condition::missing("n"),
            };
            happened(engine.put(Put::new(table, item).when(condition)).block_on())
        }
        Call::Move(from, to, by) => {
            let comparison = Comparison::GreaterOrEqual;
            let enough = Condition::compare(Path::from("n"), comparison, Value::from(*by));
            let take = UpdateItem::new(table, key(*from), add(-by)).when(enough);
            let give = UpdateItem::new(table, key(*to), add(*by));
            let actions = vec![TransactAction::Update(take), TransactAction::Update(give)];
            happened(engine.transact_write(TransactWrite::new(actions)).block_on())
        }
        Call::Delete(id) => {
            let mut delete = Delete::new(table, key(*id));
            delete.returns = Returns::AllOld;
            Reply::Number(number(engine.delete(delete).block_on().unwrap()))
        }
    }
}

/// An engine with threads, and so little memory that checkpoints run all the time.
fn engine(disk: &SimDisk) -> Engine {
    let options = Options {
        background: Background::Threads,
        memory_bytes: 4 << 20,
        log_segment_bytes: 64 << 10,
        disk: Arc::new(disk.clone()),
        ..Options::default()
    };
    Engine::open(DIRECTORY, options).unwrap()
}

fn history(engine: &Engine, table: &TableName, seed: u64) -> Recorder<Numbers> {
    let recorder = Recorder::new();
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (recorder, engine) = (&recorder, &engine);
            scope.spawn(move || {
                let mut random = Random::new(seed * 1000 + client as u64);
                for _ in 0..CALLS {
                    let call = random_call(&mut random);
                    let ticket = recorder.invoke(client, call.clone());
                    recorder.reply(ticket, ask(engine, table, &call));
                }
            });
        }
    });
    recorder
}

#[test]
fn conditional_writes_and_transactions_from_many_threads_are_linearizable() {
    for seed in 0..30 {
        let engine = engine(&SimDisk::new(seed));
        let numbers = table("numbers");
        let spec = TableSpec::new(numbers.clone(), KeySchema::partition("id", KeyType::N));
        engine.create_table(spec).block_on().unwrap();
        let history = history(&engine, &numbers, seed).history();
        assert_eq!(history.len(), CLIENTS * CALLS);
        if let Err(violation) = linearizable::check::<Numbers>(&history) {
            panic!("seed {seed}: {violation}");
        }
    }
}

/// A checker that never reports anything would pass the test above: here it must report.
#[test]
fn a_store_that_loses_a_write_is_caught() {
    let engine = engine(&SimDisk::new(1));
    let numbers = table("numbers");
    let spec = TableSpec::new(numbers.clone(), KeySchema::partition("id", KeyType::N));
    engine.create_table(spec).block_on().unwrap();
    let recorder = history(&engine, &numbers, 1);
    let call = Call::Add(0, 5);
    let ticket = recorder.invoke(0, call.clone());
    recorder.reply(ticket, ask(&engine, &numbers, &call));
    // The store is not read, so this read is stale.
    let before = match ask(&engine, &numbers, &Call::Get(0)) {
        Reply::Number(Some(number)) => number - 5,
        other => panic!("{other:?}"),
    };
    let ticket = recorder.invoke(1, Call::Get(0));
    recorder.reply(ticket, Reply::Number(Some(before)));
    assert!(linearizable::check::<Numbers>(&recorder.history()).is_err());
}
