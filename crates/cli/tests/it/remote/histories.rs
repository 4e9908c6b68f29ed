//! Random histories of the library on the remote store.

use std::sync::Arc;

use keyloom_testkit::model::drafts;
use keyloom_testkit::{ManualClock, Random};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::endpoint::{ATTEMPTS_MAX, OwnEndpoint, remote};
use crate::world::{Depth, Draw, Readable, World};

/// Fewer than on the other stores, because every read is a request.
const HISTORIES: u32 = 8;
const STEPS: usize = 20;

#[test]
fn random_histories_match_the_naive_model_on_the_remote_store() {
    let config = Config { cases: HISTORIES, failure_persistence: None, ..Config::default() };
    let histories = (drafts().prop_map(Readable), any::<u64>().no_shrink(), 1..STEPS);
    let result = TestRunner::new(config).run(&histories, |(Readable(draft), seed, steps)| {
        play(&draft.text(), seed, steps);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

fn play(model: &str, seed: u64, steps: usize) {
    let mut random = Random::new(seed);
    let clock = ManualClock::new();
    let endpoint = OwnEndpoint::start(&clock);
    let mut world = World::new(model, Arc::new(remote(&endpoint.url, ATTEMPTS_MAX)), &clock);
    for step in 0..steps {
        if random.chance(1, 10) {
            world.advance(*random.pick(&[1, 20, 500]));
        }
        let drawn = Draw { naive: &world.naive, random: &mut random }.transaction();
        if let Some((tenant, wishes)) = drawn {
            world.change(tenant.as_ref(), &wishes);
        }
        let depth = if step + 1 == steps { Depth::All } else { Depth::Rows };
        world.check(depth, &mut random);
    }
}
