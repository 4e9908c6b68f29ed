//! Random histories on random models: after every step the database equals the naive one, its rows
//! are those that its entities imply, and every query returns what a full scan returns.

use std::sync::Arc;

use keyloom_store::Store;
use keyloom_testkit::model::drafts;
use keyloom_testkit::{InFront, ManualClock, Random};
use proptest::prelude::*;

use crate::cases::for_all;
use crate::rig::{Plain, engine_at, memory_store_at};
use crate::world::{Depth, Draw, Readable, World};

/// Maximum number of steps of a history.
const STEPS: usize = 40;

#[test]
fn random_histories_on_the_memory_store_match_the_naive_database() {
    run(200, |clock| Arc::new(memory_store_at(clock)));
}

#[test]
fn random_histories_on_the_engine_match_the_naive_database() {
    run(60, |clock| Arc::new(engine_at(clock)));
}

/// As on DynamoDB: posting lists are rows, and everything that has shards is spread over them.
#[test]
fn random_histories_on_a_store_without_sets_match_the_naive_database() {
    run(100, |clock| Arc::new(InFront(Plain(Arc::new(memory_store_at(clock))))));
}

/// Runs random histories, by default so many.
fn run(count: u32, store: impl Fn(&ManualClock) -> Arc<dyn Store>) {
    let histories = (drafts().prop_map(Readable), any::<u64>().no_shrink(), 1..STEPS);
    for_all(count, histories, |(Readable(draft), seed, steps)| {
        play(&draft.text(), seed, steps, &store);
    });
}

fn play(model: &str, seed: u64, steps: usize, store: &impl Fn(&ManualClock) -> Arc<dyn Store>) {
    let mut random = Random::new(seed);
    let clock = ManualClock::new();
    let mut world = World::new(model, store(&clock), &clock);
    for step in 0..steps {
        take_step(&mut world, &mut random);
        let depth = if step % 5 == 4 || step + 1 == steps { Depth::All } else { Depth::Rows };
        world.check(depth, &mut random);
    }
}

/// Runs a random step.
pub(crate) fn take_step(world: &mut World, random: &mut Random) {
    match random.below(20) {
        0 => world.advance(*random.pick(&[1, 1, 20, 500])),
        1 => drop(world.expire(1 + u32::try_from(random.below(3)).expect("small"))),
        2 if random.chance(1, 3) => world.expire_all(),
        _ => {
            let drawn = Draw { naive: &world.naive, random }.transaction();
            if let Some((tenant, requests)) = drawn {
                world.change(tenant.as_ref(), &requests);
            }
        }
    }
}
