//! Random changes by several processes while another one changes the model, with all their calls to
//! the store interleaved in random orders: the result is that of some sequential order of the changes
//! and the change of the model.

use std::pin::Pin;
use std::sync::Arc;

use keyloom::{Db, Error};
use keyloom_store::Store;
use keyloom_testkit::model::{Draft, EditKind, Verdict, drafts};
use keyloom_testkit::pausing::{go_on, pausing};
use keyloom_testkit::{InFront, ManualClock, Random};
use pollster::block_on;
use proptest::prelude::*;

use crate::cases::for_all;
use crate::histories::take_step;
use crate::interleavings::{Call, Work, after, orders};
use crate::rig::{Plain, engine_at, memory_store_at};
use crate::world::{Depth, Draw, Naive, Readable, Request, World, open};

#[test]
fn changes_of_processes_and_of_the_model_are_serializable() {
    let histories = (drafts().prop_map(Readable), any::<u64>().no_shrink(), 1..20_usize);
    for_all(200, histories, |(Readable(draft), seed, steps)| {
        play(&draft, seed, steps, Processes::Several);
    });
}

#[test]
fn changes_of_one_process_and_of_its_model_are_serializable() {
    let histories = (drafts().prop_map(Readable), any::<u64>().no_shrink(), 1..20_usize);
    for_all(100, histories, |(Readable(draft), seed, steps)| {
        play(&draft, seed, steps, Processes::One);
    });
}

/// Who changes the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Processes {
    /// One of several that share a store.
    Several,
    /// The one that writes.
    One,
}

type Change<'w> = Pin<Box<dyn Future<Output = Result<Db, Error>> + 'w>>;

fn play(draft: &Draft, seed: u64, steps: usize, processes: Processes) {
    let mut random = Random::new(seed);
    let clock = ManualClock::new();
    let store: Arc<dyn Store> = Arc::new(memory_store_at(&clock));
    let engine = (processes == Processes::One).then(|| Arc::new(engine_at(&clock)));
    let store = match (&engine, seed.is_multiple_of(2)) {
        (Some(engine), _) => pausing(engine.clone()),
        (None, true) => pausing(store),
        (None, false) => pausing(Arc::new(InFront(Plain(store)))),
    };
    let mut world = World::new(&draft.text(), store, &clock);
    for _ in 0..steps {
        take_step(&mut world, &mut random);
    }
    let mut draft = draft.clone();
    for _ in 0..3 {
        let Some(edit) = random.pick(EditKind::ALL).apply(&draft, &mut random) else { continue };
        if edit.kind.verdict() == Verdict::Refused {
            continue;
        }
        let mut calls = vec![];
        for _ in 0..1 + random.index(3) {
            let drawn = Draw { naive: &world.naive, random: &mut random }.transaction();
            calls.extend(drawn.map(|(tenant, requests)| Call { tenant, requests, answer: None }));
        }
        let text = edit.draft.text();
        let models = Models { old: &draft.text(), new: &text, processes };
        let changed = interleave(&world, models, &mut calls, &mut random);
        let is_complete = match changed {
            Ok(db) => {
                world.db = db;
                explain(&mut world, &calls, Some(&text));
                draft = edit.draft;
                true
            }
            // Two entities share a value of a new unique, or one does not fit.
            Err(Error::UniqueViolation { .. } | Error::Evolution(_) | Error::KeyTooLong(_)) => {
                false
            }
            Err(error) => panic!("the model changes: {error}"),
        };
        if !is_complete {
            return;
        }
        if let Some(engine) = &engine {
            engine.checkpoint().expect("a checkpoint");
            engine.settle().expect("indexes are filled");
        }
        world.check(Depth::All, &mut random);
    }
}

/// A change of the model.
struct Models<'m> {
    old: &'m str,
    new: &'m str,
    processes: Processes,
}

/// Runs the calls under the old model, each by a process of its own if there are several, and the change
/// of the model.
fn interleave(
    world: &World,
    Models { old, new, processes }: Models<'_>,
    calls: &mut [Call],
    random: &mut Random,
) -> Result<Db, Error> {
    let process = || match processes {
        Processes::Several => {
            block_on(open(old, world.store.clone(), &world.clock)).expect("it opens")
        }
        Processes::One => world.db.clone(),
    };
    let dbs: Vec<Db> = calls
        .iter()
        .map(|call| match &call.tenant {
            Some(tenant) => process().tenant(tenant.clone()),
            None => process(),
        })
        .collect();
    let mut works: Vec<Option<Work<'_>>> = vec![];
    for (call, db) in calls.iter().zip(&dbs) {
        let changes = call.requests.iter().map(Request::change).collect();
        works.push(Some(Box::pin(db.transact(changes))));
    }
    let mut change: Change<'_> = Box::pin(async {
        let db = match processes {
            Processes::Several => open(new, world.store.clone(), &world.clock).await?,
            Processes::One => {
                world.db.change_model(new).await?;
                world.db.clone()
            }
        };
        db.backfill(|_| {}).await?;
        Ok(db)
    });
    let mut changed = None;
    while changed.is_none() || works.iter().any(Option::is_some) {
        let index = random.index(works.len() + 1);
        match works.get_mut(index) {
            // A change of the model makes many calls.
            None if changed.is_none() => {
                for _ in 0..random.index(40) {
                    changed = changed.or_else(|| go_on(change.as_mut()));
                    if changed.is_some() {
                        break;
                    }
                }
            }
            Some(slot) => {
                if let Some(answer) = slot.as_mut().and_then(|work| go_on(work.as_mut())) {
                    (calls[index].answer, *slot) = (Some(answer), None);
                }
            }
            None => {}
        }
    }
    changed.expect("it is done")
}

/// Finds a sequential order of the calls and the change of the model that explains the results.
fn explain(world: &mut World, calls: &[Call], new: Option<&str>) {
    let model = new.map(|text| keyloom_model::check(text).expect("a model"));
    let now_ms = world.naive.now_ms;
    let layout = world.layout.clone();
    if let Some(model) = &model {
        let model = model.clone().following(layout.model());
        let next = keyloom_model::Layout::new(model, layout.revision(), &layout.slots());
        world.layout = next.keeping(layout.matching());
    }
    let steps = calls.len() + usize::from(model.is_some());
    let found = orders(steps).into_iter().find_map(|order| {
        let mut naive: Naive = world.naive.clone();
        for index in order {
            naive = match (calls.get(index), &model) {
                (Some(call), _) => after(world, naive, call, calls)?,
                (None, Some(model)) => {
                    naive.evolve(model.clone(), now_ms);
                    naive.backfilled();
                    naive
                }
                (None, None) => naive,
            };
        }
        world.explained(naive)
    });
    let Some(naive) = found else {
        let told: Vec<String> = calls
            .iter()
            .map(|call| format!("{:?} {:?}\n  -> {:?}", call.tenant, call.requests, call.answer))
            .collect();
        panic!(
            "no order explains\n{}\nin {:#?}\nunder {new:?}\nwhich is now\n{:#?}",
            told.join("\n"),
            world.naive.things,
            world.rows()
        );
    };
    world.naive = naive;
    world.compare_things();
}
