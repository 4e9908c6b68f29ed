//! Large deletions on random models, observed between any two calls of the store, dropped anywhere,
//! or interrupted by a power failure. At every moment all queries return the state of the naive
//! database before or after; the deletion then resumes in the background and completes.

use std::cell::Cell;
use std::sync::Arc;

use keyloom::{Db, Error};
use keyloom_model::{FieldType, IdSource, OnDelete};
use keyloom_store::Store;
use keyloom_testkit::model::drafts;
use keyloom_testkit::pausing::{interleave, pausing, stop_after};
use keyloom_testkit::{InFront, ManualClock, Random, SimDisk};
use keyloom_value::Value;
use pollster::block_on;
use proptest::prelude::*;

use crate::cases::for_all;
use crate::histories::take_step;
use crate::power;
use crate::rig::{Plain, end_deletions, memory_store_at};
use crate::world::{Action, Draw, Key, Naive, Readable, Request, Thing, World, open};

/// A deletion of more entities than this is too large for one transaction.
const CAST_MAX: usize = 24;
/// The approximate number of checks during one deletion.
const LOOKS: usize = 6;

/// What is added to a model: entities that refer to one of its kinds, with every kind of query.
const CROWD: &str = r#"
[entity.zcrowd]
id = "given"
fields.goes = "ref TARGET cascade?"
fields.loses = "ref TARGET clear?"
fields.after = "ref zcrowd cascade?"
fields.sort = "enum(a, b)"
fields.rank = "int"
fields.labels = "tags"
unique = [{ fields = ["rank"], within = "loses" }]
list.ranked = { by = "sort", order = "-rank", facets = ["loses"] }
list.of = { by = "loses", order = "rank" }
count.all = { split = ["sort", "loses"], shards = 2 }
board.zlost = { of = "loses" }
board.zbest = { rank = "rank", by = "sort" }
"#;

/// A world with an entity that many others refer to.
struct Scene {
    world: World,
    root: Key,
    after: Naive,
}

impl Scene {
    /// `None` if there is no such entity, or it cannot be deleted.
    fn new((model, target): (&str, &str), store: Arc<dyn Store>, seed: u64) -> Option<Scene> {
        let mut random = Random::new(seed);
        let mut world = World::new(model, store, &ManualClock::new());
        let is_there = |world: &World| world.naive.things.iter().any(|one| one.key.kind == target);
        for step in 0..60 {
            if step >= 12 && is_there(&world) {
                break;
            }
            take_step(&mut world, &mut random);
        }
        let root = crowd(&mut world, target, &mut random)?;
        let after = world.naive.transact(root.tenant.as_ref(), &[deletion(&root)], &[]).ok()?;
        (after.cast > CAST_MAX).then_some(Scene { world, root, after: after.after })
    }

    fn delete<'d>(&'d self, db: &'d Db) -> impl Future<Output = Result<(), Error>> + 'd {
        let db = match &self.root.tenant {
            Some(tenant) => db.tenant(tenant.clone()),
            None => db.clone(),
        };
        async move { db.delete(&self.root.kind, &self.root.id).await }
    }

    /// Whether the deletion has taken effect; all queries agree.
    fn look(&self, random: &mut Random) -> bool {
        let Scene { world, root, after } = self;
        let db = world.db(root.tenant.as_ref());
        let is_gone = block_on(db.get(&root.kind, &root.id)).expect("it is read").is_none();
        let mut seen = World::new_like(world);
        if is_gone {
            seen.naive = with_versions(world, after);
            seen.check_emptied(&world.naive, random);
        }
        seen.compare_rows();
        seen.check_gets();
        seen.check_uniques();
        seen.check_families(random);
        seen.check_lists(random);
        seen.check_filters(random);
        seen.check_counts(random);
        seen.check_trees();
        is_gone
    }
}

/// The state after the deletion, with the versions of the entities whose references it cleared.
fn with_versions(world: &World, after: &Naive) -> Naive {
    let mut after = after.clone();
    let expired: Vec<Key> = after
        .things
        .iter()
        .filter(|thing| after.is_expired(thing))
        .map(|thing| thing.key.clone())
        .collect();
    // Expired entities cannot be read, whether they were deleted or not.
    let seen = |thing: &Thing| thing.version.is_none() && !expired.contains(&thing.key);
    for thing in after.things.iter_mut().filter(|thing| seen(thing)) {
        let db = world.db(thing.key.tenant.as_ref());
        let found = block_on(db.get(&thing.key.kind, &thing.key.id)).expect("it is read");
        let version = found.expect("it exists").version().to_owned();
        let before = world.naive.find(&thing.key).expect("it was there");
        assert_ne!(Some(&version), before.version.as_ref(), "it has changed: {thing:?}");
        thing.version = Some(version);
    }
    after
}

fn deletion(root: &Key) -> Request {
    let (kind, id) = (root.kind.clone(), Some(root.id.clone()));
    Request { kind, id, action: Action::Delete, expected: None }
}

/// The model with entities that refer to one of its kinds, and that kind.
fn with_crowd(model: &str, random: &mut Random) -> Option<(String, String)> {
    let drawn = keyloom_model::check(model).expect("a model");
    let mut kinds: Vec<String> = drawn.entities().map(|(_, entity)| entity.name.clone()).collect();
    random.shuffle(&mut kinds);
    kinds.into_iter().find_map(|kind| {
        let model = format!("{model}\n{}", CROWD.replace("TARGET", &kind));
        keyloom_model::check(&model).is_ok().then_some((model, kind))
    })
}

/// Creates many entities that refer to one, by references that cascade or are cleared.
fn crowd(world: &mut World, target: &str, random: &mut Random) -> Option<Key> {
    let mut ways = vec![("zcrowd".to_owned(), "goes".to_owned())];
    for (_, entity) in world.naive.model.entities() {
        for field in &entity.fields {
            if let FieldType::Ref(of, OnDelete::Cascade | OnDelete::Clear) = field.of
                && world.naive.model.entity(of).name == target
            {
                ways.push((entity.name.clone(), field.name.clone()));
            }
        }
    }
    let things = world.naive.things.iter().map(|thing| &thing.key);
    let roots: Vec<Key> = things.filter(|key| key.kind == target).cloned().collect();
    let root = if roots.is_empty() { return None } else { random.pick(&roots).clone() };
    for number in 0..70_i64 {
        let (kind, field) = random.pick(&ways).clone();
        let tenant = root.tenant.clone().filter(|_| world.naive.is_owned(&kind));
        let mut draw = Draw { naive: &world.naive, random };
        let Some(mut document) = draw.document(&kind, tenant.as_ref(), true) else { continue };
        if kind == "zcrowd" {
            document.insert("rank", Value::from(number % 40));
        }
        document.insert(field.as_str(), Value::from(root.id.as_str()));
        if world.naive.entity(&kind).id_source == IdSource::Given {
            document.insert("id", Value::from(format!("crowd{number}")));
        }
        let create = Request { kind, id: None, action: Action::Create(document), expected: None };
        world.change(tenant.as_ref(), &[create]);
        let cast = world.naive.transact(root.tenant.as_ref(), &[deletion(&root)], &[]);
        if cast.is_ok_and(|answer| answer.cast > CAST_MAX + 4) {
            break;
        }
    }
    world.naive.find(&root).is_some().then_some(root)
}

/// Runs random models on a store, by default so many, and asserts that some had a large deletion.
fn run(count: u32, play: impl Fn((&str, &str), u64) -> Option<()>) {
    let seen = Cell::new(0);
    for_all(count, (drafts().prop_map(Readable), any::<u64>().no_shrink()), |(draft, seed)| {
        let Some((model, target)) = with_crowd(&draft.0.text(), &mut Random::new(seed)) else {
            return;
        };
        seen.set(seen.get() + usize::from(play((&model, &target), seed).is_some()));
    });
    assert!(seen.get() > 0, "there was no large deletion");
}

/// Every third one is without sets and additions.
fn store_of(seed: u64) -> Arc<dyn Store> {
    let store: Arc<dyn Store> = Arc::new(memory_store_at(&ManualClock::new()));
    if seed.is_multiple_of(3) { Arc::new(InFront(Plain(store))) } else { store }
}

fn slow(model: &str, scene: &Scene) -> Db {
    let slow = open(model, pausing(scene.world.store.clone()), &scene.world.clock);
    interleave(slow, |_| {}).expect("it opens")
}

#[test]
fn readers_between_any_two_calls_see_the_state_before_or_after() {
    run(16, |(model, target), seed| {
        let mut random = Random::new(seed);
        let steps = {
            let (scene, mut steps) = (Scene::new((model, target), store_of(seed), seed)?, 0);
            let slow = slow(model, &scene);
            interleave(scene.delete(&slow), |step| steps = step).expect("it is deleted");
            steps
        };
        let scene = Scene::new((model, target), store_of(seed), seed)?;
        let slow = slow(model, &scene);
        let (stride, mut has_happened) = (steps / LOOKS + 1, false);
        let first = random.index(stride);
        let deleted = interleave(scene.delete(&slow), |step| {
            if step % stride == first {
                let is_gone = scene.look(&mut random);
                assert!(is_gone || !has_happened, "it is back");
                has_happened = is_gone;
            }
        });
        deleted.expect("it is deleted");
        assert!(scene.look(&mut random), "it is deleted");
        scene.world.check_verify();
        Some(())
    });
}

#[test]
fn a_deletion_dropped_at_any_call_is_atomic_and_resumes() {
    run(10, |(model, target), seed| {
        let mut random = Random::new(seed);
        let mut cut = None;
        for _ in 0..3 {
            let scene = Scene::new((model, target), store_of(seed), seed)?;
            let slow = slow(model, &scene);
            let steps = match cut {
                Some(steps) => 1 + random.below(steps),
                None => u64::MAX,
            };
            let mut done = 0;
            let mut work = Box::pin(scene.delete(&slow));
            let polled = std::future::poll_fn(|context| {
                done += 1;
                work.as_mut().poll(context)
            });
            let answer = stop_after(steps - 1, polled);
            drop(work);
            cut = cut.or(Some(done));
            assert!(answer.is_none_or(|answer| answer.is_ok()), "it is deleted");
            let is_gone = scene.look(&mut random);
            // The background runner completes or cancels it.
            interleave(slow.resume_deletions(), |step| {
                if step % 97 == 0 {
                    assert_eq!(scene.look(&mut random), is_gone, "it is decided");
                }
            })
            .expect("it continues");
            if is_gone {
                assert_eq!(block_on(scene.world.db.operations()).expect("they are read"), []);
            }
            let later = ManualClock::new();
            let again = block_on(open(model, scene.world.store.clone(), &later));
            end_deletions(&again.expect("it opens"), &later);
            assert_eq!(scene.look(&mut random), is_gone, "it is decided");
            assert_eq!(block_on(scene.world.db.operations()).expect("they are read"), []);
            scene.world.check_verify();
        }
        Some(())
    });
}

#[test]
fn a_deletion_interrupted_by_a_power_failure_is_atomic_and_resumes() {
    run(8, |(model, target), seed| {
        let mut random = Random::new(seed);
        let disk = SimDisk::new(seed);
        let engine = Arc::new(power::engine(&disk).expect("a whole disk"));
        let scene = Scene::new((model, target), engine.clone(), seed)?;
        let Scene { world, root, after } = scene;
        let naive = world.naive.clone();
        drop(world);
        Arc::into_inner(engine).expect("nobody else has it").close().expect("it closes");
        let mut syncs = 40;
        for _ in 0..3 {
            let disk = disk.after_crash(random.next_u64());
            let at = 1 + random.below(syncs);
            disk.crash_at_sync(at);
            let play = |random: &mut Random, disk: &SimDisk| {
                let store: Arc<dyn Store> = Arc::new(power::engine(disk).ok()?);
                let world = World::reopened(model, store, &naive).ok()?;
                let scene = Scene { world, root: root.clone(), after: after.clone() };
                Some((block_on(scene.delete(&scene.world.db)).is_ok(), random.next_u64()))
            };
            let done = play(&mut random, &disk);
            if !disk.crashed() {
                syncs = (syncs / 2).max(2);
                continue;
            }
            let engine = power::engine(&disk.after_crash(random.next_u64()));
            let store: Arc<dyn Store> = Arc::new(engine.expect("it opens after a crash"));
            let world = World::reopened(model, store, &naive).expect("it opens");
            let scene = Scene { world, root: root.clone(), after: after.clone() };
            let is_gone = scene.look(&mut random);
            assert!(is_gone || !done.is_some_and(|(is_done, _)| is_done), "it was acknowledged");
            block_on(scene.world.db.resume_deletions()).expect("it continues");
            assert_eq!(scene.look(&mut random), is_gone, "it is decided");
            assert_eq!(block_on(scene.world.db.operations()).expect("they are read"), []);
            scene.world.check_verify();
        }
        Some(())
    });
}
