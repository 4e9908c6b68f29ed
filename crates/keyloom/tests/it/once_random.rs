//! Random changes with idempotency keys, each called several times concurrently, among other
//! changes, dropped halfway and repeated: each of them is applied once, or failed.

use std::pin::Pin;
use std::sync::Arc;

use keyloom::{Change, Db, Error, Idempotent};
use keyloom_store::Store;
use keyloom_testkit::model::drafts;
use keyloom_testkit::pausing::{go_on, pausing};
use keyloom_testkit::{ManualClock, Random};
use pollster::block_on;
use proptest::prelude::*;

use crate::cases::for_all;
use crate::histories::take_step;
use crate::interleavings::{Call, explain};
use crate::rig::memory_store_at;
use crate::world::{Depth, Draw, Marks, Readable, Request, World};

#[test]
fn changes_with_a_key_are_applied_once() {
    let histories = (drafts().prop_map(Readable), any::<u64>().no_shrink(), 1..30_usize);
    for_all(200, histories, |(Readable(draft), seed, steps)| {
        play(&draft.text(), seed, steps);
    });
}

fn play(model: &str, seed: u64, steps: usize) {
    let mut random = Random::new(seed);
    let clock = ManualClock::new();
    let store: Arc<dyn Store> = pausing(Arc::new(memory_store_at(&clock)));
    let mut world = World::new(model, store, &clock);
    world.marks = Marks::Some;
    for _ in 0..steps {
        take_step(&mut world, &mut random);
    }
    for round in 0..4 {
        let mut calls = vec![];
        for _ in 0..2 {
            let drawn = Draw { naive: &world.naive, random: &mut random }.transaction();
            calls.extend(drawn.map(|(tenant, requests)| Call { tenant, requests, answer: None }));
        }
        let told = interleave(&world, &calls, round, &mut random);
        // Opening the database completes or cancels what is left of them.
        world.evolve(model).expect("it opens");
        for (index, call) in calls.iter_mut().enumerate() {
            let again = block_on(ask(&world.db(call.tenant.as_ref()), (round, index), call));
            check_alike(&told[index], &again);
            call.answer = Some(again.map(Idempotent::records));
        }
        explain(&mut world, &calls);
        world.check(Depth::All, &mut random);
    }
}

type Answer = Result<Idempotent, Error>;
type Work<'w> = Pin<Box<dyn Future<Output = Answer> + 'w>>;

async fn ask(db: &Db, (round, index): (usize, usize), call: &Call) -> Answer {
    let changes: Vec<Change> = call.requests.iter().map(Request::change).collect();
    db.transact_idempotent(&format!("{round}.{index}"), changes).await
}

/// Makes each of the calls up to three times, and advances all in a random order until they are
/// done or dropped. Returns the results of each call.
fn interleave(
    world: &World,
    calls: &[Call],
    round: usize,
    random: &mut Random,
) -> Vec<Vec<Answer>> {
    let dbs: Vec<Db> = calls.iter().map(|call| world.db(call.tenant.as_ref())).collect();
    let mut works: Vec<(usize, Option<Work<'_>>)> = vec![];
    for (index, call) in calls.iter().enumerate() {
        for _ in 0..1 + random.index(3) {
            works.push((index, Some(Box::pin(ask(&dbs[index], (round, index), call)))));
        }
    }
    let mut told: Vec<Vec<Answer>> = calls.iter().map(|_| vec![]).collect();
    while works.iter().any(|(_, work)| work.is_some()) {
        let chosen = random.index(works.len());
        let (index, Some(work)) = &mut works[chosen] else { continue };
        if random.chance(1, 25) {
            works[chosen].1 = None;
        } else if let Some(answer) = go_on(work.as_mut()) {
            told[*index].push(answer);
            works[chosen].1 = None;
        }
    }
    told
}

/// All successful calls return the same, and one of them that it applied the changes. Calls may
/// fail before it, but not after.
fn check_alike(told: &[Answer], again: &Answer) {
    let happened = told.iter().chain([again]).filter_map(|answer| answer.as_ref().ok());
    let happened: Vec<&Idempotent> = happened.collect();
    let is_now = |once: &&&Idempotent| matches!(once, Idempotent::Applied(_));
    assert!(happened.iter().filter(is_now).count() <= 1, "{happened:?}");
    let records: Vec<_> = happened.iter().map(|once| (*once).clone().records()).collect();
    assert!(records.windows(2).all(|pair| pair[0] == pair[1]), "{happened:?}");
    assert!(happened.is_empty() || again.is_ok(), "{happened:?}, then {again:?}");
}
