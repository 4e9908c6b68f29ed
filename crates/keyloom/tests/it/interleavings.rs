//! Concurrent changes whose calls to the store are interleaved in random orders: the result equals
//! that of some sequential order. A change that is dropped halfway is applied completely or not at
//! all.

use std::pin::Pin;
use std::sync::Arc;

use keyloom::{Db, Error, Record};
use keyloom_store::Store;
use keyloom_testkit::model::drafts;
use keyloom_testkit::pausing::{go_on, pausing};
use keyloom_testkit::{InFront, ManualClock, Random};
use keyloom_value::Value;
use proptest::prelude::*;

use crate::cases::for_all;
use crate::histories::take_step;
use crate::rig::{Plain, memory_store_at};
use crate::world::{Action, Depth, Draw, Kind, Marks, Naive, Readable, Request, World, kind_of};

/// A change that runs concurrently with others.
pub(crate) struct Call {
    pub(crate) tenant: Option<Value>,
    pub(crate) requests: Vec<Request>,
    /// `None` if it was dropped.
    pub(crate) answer: Option<Result<Vec<Option<Record>>, Error>>,
}

#[test]
fn concurrent_changes_are_serializable() {
    run(300, Dropping::Never);
}

#[test]
fn changes_dropped_halfway_are_atomic() {
    run(300, Dropping::Sometimes);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dropping {
    Never,
    Sometimes,
}

fn run(count: u32, dropping: Dropping) {
    let histories = (drafts().prop_map(Readable), any::<u64>().no_shrink(), 1..30_usize);
    for_all(count, histories, |(Readable(draft), seed, steps)| {
        play(&draft.text(), seed, steps, dropping);
    });
}

fn play(model: &str, seed: u64, steps: usize, dropping: Dropping) {
    let mut random = Random::new(seed);
    let clock = ManualClock::new();
    let store: Arc<dyn Store> = Arc::new(memory_store_at(&clock));
    let store = match seed.is_multiple_of(2) {
        true => pausing(store),
        false => pausing(Arc::new(InFront(Plain(store)))),
    };
    let mut world = World::new(model, store, &clock);
    world.marks = match dropping {
        Dropping::Never => Marks::None,
        Dropping::Sometimes => Marks::Some,
    };
    for _ in 0..steps {
        take_step(&mut world, &mut random);
    }
    for _ in 0..6 {
        let count = 2 + random.index(2);
        let mut calls = vec![];
        for _ in 0..count {
            let drawn = Draw { naive: &world.naive, random: &mut random }.transaction();
            calls.extend(drawn.map(|(tenant, requests)| Call { tenant, requests, answer: None }));
        }
        interleave(&world, &mut calls, dropping, &mut random);
        if dropping == Dropping::Sometimes {
            // Opening the database completes or cancels what is left of them.
            world.evolve(model).expect("it opens");
        }
        explain(&mut world, &calls);
        world.check(Depth::All, &mut random);
    }
}

pub(crate) type Work<'w> = Pin<Box<dyn Future<Output = Result<Vec<Option<Record>>, Error>> + 'w>>;

/// Advances all calls in a random order until all are done or dropped.
fn interleave(world: &World, calls: &mut [Call], dropping: Dropping, random: &mut Random) {
    let dbs: Vec<Db> = calls.iter().map(|call| world.db(call.tenant.as_ref())).collect();
    let mut works: Vec<Option<Work<'_>>> = vec![];
    for (call, db) in calls.iter().zip(&dbs) {
        let changes = call.requests.iter().map(Request::change).collect();
        works.push(Some(Box::pin(db.transact(changes))));
    }
    while works.iter().any(Option::is_some) {
        let index = random.index(works.len());
        let Some(work) = &mut works[index] else { continue };
        if dropping == Dropping::Sometimes && random.chance(1, 25) {
            works[index] = None;
        } else if let Some(answer) = go_on(work.as_mut()) {
            (calls[index].answer, works[index]) = (Some(answer), None);
        }
    }
}

/// Finds a sequential order of the calls that explains their results and the final state.
pub(crate) fn explain(world: &mut World, calls: &[Call]) {
    let orders = orders(calls.len());
    let found = orders.iter().find_map(|order| {
        let dropped: Vec<usize> =
            order.iter().copied().filter(|index| calls[*index].answer.is_none()).collect();
        (0..1_u32 << dropped.len()).find_map(|subset| {
            let is_left_out = |index: usize| {
                let place = dropped.iter().position(|other| *other == index);
                place.is_some_and(|place| subset >> place & 1 == 1)
            };
            let mut naive = world.naive.clone();
            for index in order.iter().filter(|index| !is_left_out(**index)) {
                naive = after(world, naive, &calls[*index], calls)?;
            }
            world.explained(naive)
        })
    });
    let Some(naive) = found else {
        let told = calls.iter().map(|call| {
            let answer = call
                .answer
                .as_ref()
                .map(|answer| answer.as_ref().map_err(|error| error.to_string()));
            format!("{:?} {:?}\n  -> {answer:?}", call.tenant, call.requests)
        });
        let told: Vec<String> = told.collect();
        panic!(
            "no order explains\n{}\nin {:#?}\nwhich is now\n{:#?}",
            told.join("\n"),
            world.naive.things,
            world.rows()
        );
    };
    world.naive = naive;
    world.compare_things();
}

/// The state after a call, if the call would return the same result there; `calls` are all of them.
pub(crate) fn after(world: &World, naive: Naive, call: &Call, calls: &[Call]) -> Option<Naive> {
    let records = match &call.answer {
        Some(Ok(records)) => records.as_slice(),
        Some(Err(_)) | None => &[],
    };
    let mut made: Vec<Option<String>> =
        records.iter().map(|record| Some(record.as_ref()?.id().to_owned())).collect();
    if call.answer.is_none() {
        // Ids grow in the order of creation: the next one that no other call returned.
        let is_told = |id: &String| {
            let answers = calls.iter().filter_map(|call| call.answer.as_ref()?.as_ref().ok());
            answers.flatten().flatten().any(|record| record.id() == id)
        };
        let mut taken: Vec<(String, String)> = vec![];
        for request in &call.requests {
            let mut ids = world.unknown_ids(&request.kind, &naive).into_iter();
            let is_free =
                |id: &String| !is_told(id) && !taken.contains(&(request.kind.clone(), id.clone()));
            let id = ids.find(is_free).filter(|_| matches!(request.action, Action::Create(_)));
            taken.extend(id.clone().map(|id| (request.kind.clone(), id)));
            made.push(id);
        }
    }
    let expected = naive.transact(call.tenant.as_ref(), &call.requests, &made);
    match (&call.answer, expected) {
        (Some(Ok(_)) | None, Ok(answer)) => Some(answer.after),
        (None, Err(_)) => None,
        (Some(Ok(_)), Err(_)) => None,
        // It conflicted on every attempt: nothing has happened.
        (Some(Err(Error::Contended)), _) => Some(naive),
        (Some(Err(error)), Ok(answer)) => {
            let is_large = call.requests.len() > 1 && answer.cast > 8;
            (kind_of(error) == Kind::TooLarge && is_large).then_some(naive)
        }
        (Some(Err(error)), Err(kinds)) => kinds.contains(&kind_of(error)).then_some(naive),
    }
}

pub(crate) fn orders(count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![vec![]];
    }
    let mut all = vec![];
    for order in orders(count - 1) {
        for place in 0..count {
            let mut order = order.clone();
            order.insert(place, count - 1);
            all.push(order);
        }
    }
    all
}
