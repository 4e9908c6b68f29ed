//! Deletions of all sizes in random graphs with cycles: they delete what the naive database
//! deletes, and readers see a deletion completely or not at all.

use std::collections::BTreeSet;
use std::sync::Arc;

use keyloom::{Error, Repair};
use keyloom_store::Store;
use keyloom_testkit::pausing::{go_on, pausing};
use keyloom_testkit::{InFront, ManualClock, Random};
use keyloom_value::{Item, Value};
use pollster::block_on;
use proptest::prelude::*;

use crate::cases::for_all;
use crate::rig::{Plain, end_deletions, memory_store_at};
use crate::world::{Action, Depth, Marks, Request, World, open};

const MODEL: &str = r#"
[entity.node]
reference_shards = 3
id = "given"
fields.a = "ref node cascade?"
fields.b = "ref node clear?"
fields.c = "ref node refuse?"
fields.name = "text?"
unique = ["name", ["a", "name"], ["b", "name"]]
list.by_a = { by = "a", order = "-name" }
list.by_b = { by = "b" }

[entity.leaf]
parent = "node"
on_parent_delete = "cascade"
fields.mark = "text"
fields.b = "ref node clear?"
fields.c = "ref leaf cascade?"
unique = ["mark", { fields = ["mark"], within = "node" }, ["b", "mark"], ["c", "mark"]]
list.by_mark = { order = "mark" }
"#;

#[test]
fn deletions_of_all_sizes_match_the_naive_database() {
    run(12, |seed, nodes| {
        let mut random = Random::new(seed);
        let mut world = graph(nodes, &mut random, |store| store);
        for _ in 0..6 {
            let id = random.below(nodes).to_string();
            match random.below(4) {
                // A given id is created again; the new entity is independent of the old one.
                0 => world.change(None, &[request("node", Some(&id), Action::Put(Item::new()))]),
                _ => world.change(None, &[request("node", Some(&id), Action::Delete)]),
            }
            world.check(Depth::All, &mut random);
        }
    });
}

#[test]
fn readers_see_a_deletion_completely_or_not_at_all() {
    run(12, |seed, nodes| {
        let mut random = Random::new(seed);
        let mut raw = None;
        let world = graph(nodes, &mut random, |store| {
            raw = Some(store.clone());
            pausing(store)
        });
        let clock = ManualClock::new();
        let reader = block_on(open(MODEL, raw.expect("a store"), &clock)).expect("it opens");
        let root = random.below(nodes).to_string();
        let delete = request("node", Some(&root), Action::Delete);
        let Ok(answer) = world.naive.transact(None, &[delete], &[]) else { return };
        let goes =
            world.naive.things.iter().filter(|thing| answer.after.find(&thing.key).is_none());
        let goes: Vec<(&str, &str)> =
            goes.map(|thing| (thing.key.kind.as_str(), thing.key.id.as_str())).collect();
        let mut deletion: std::pin::Pin<Box<dyn Future<Output = Result<(), Error>>>> =
            Box::pin(world.db.delete("node", &root));
        loop {
            let done = go_on(deletion.as_mut());
            let is_there = |(kind, id): &(&str, &str)| {
                block_on(reader.get(kind, id)).expect("it can be read").is_some()
            };
            let seen: BTreeSet<bool> = goes.iter().map(is_there).collect();
            assert_eq!(seen.len(), 1, "some are seen, others are not");
            if let Some(done) = done {
                done.expect("it is deleted");
                assert!(seen.contains(&false), "it is deleted, and is seen");
                break;
            }
        }
    });
}

#[test]
fn a_deletion_dropped_at_any_point_is_completed_or_canceled() {
    run(12, |seed, nodes| {
        let mut random = Random::new(seed);
        let mut world = graph(nodes, &mut random, |store| pausing(store));
        world.marks = Marks::Some;
        let root = random.below(nodes).to_string();
        let delete = request("node", Some(&root), Action::Delete);
        let Ok(answer) = world.naive.transact(None, &[delete], &[]) else { return };
        let pauses = random.below(400);
        let done = keyloom_testkit::pausing::stop_after(pauses, world.db.delete("node", &root));
        world.evolve(MODEL).expect("it opens");
        end_deletions(&world.db, &world.clock);
        let is_gone = block_on(world.db.get("node", &root)).expect("it can be read").is_none();
        assert!(is_gone || done.is_none(), "it was deleted");
        if is_gone {
            world.naive = answer.after;
        }
        world.compare_things();
        world.check(Depth::All, &mut random);
        block_on(world.db.verify(Repair::Yes, |_| {})).expect("the rest is repaired");
        world.marks = Marks::None;
        world.check(Depth::All, &mut random);
    });
}

fn run(count: u32, play: impl Fn(u64, u64)) {
    let graphs = (any::<u64>().no_shrink(), 1..40_u64);
    for_all(count, graphs, |(seed, nodes)| {
        play(seed, nodes);
    });
}

/// Nodes and leaves with every kind of reference between them.
fn graph(
    nodes: u64,
    random: &mut Random,
    wrap: impl FnOnce(Arc<dyn Store>) -> Arc<dyn Store>,
) -> World {
    let clock = ManualClock::new();
    let store: Arc<dyn Store> = Arc::new(memory_store_at(&clock));
    let store = match random.chance(1, 2) {
        true => store,
        false => Arc::new(InFront(Plain(store))),
    };
    let mut world = World::new(MODEL, wrap(store), &clock);
    for id in 0..nodes {
        let document = Item::from([("id", id.to_string())]);
        world.change(None, &[request("node", None, Action::Create(document))]);
    }
    for id in 0..nodes {
        let mut patch = Item::from([("name", id.to_string())]);
        for (field, chance) in [("a", 6), ("b", 3), ("c", 1)] {
            if random.chance(chance, 10) {
                patch.insert(field, random.below(nodes).to_string());
            }
        }
        world.change(None, &[request("node", Some(&id.to_string()), Action::Update(patch))]);
    }
    let mut leaves: Vec<String> = vec![];
    for tag in 0..random.below(60) {
        let of = |random: &mut Random| Value::from(random.below(nodes).to_string());
        let mut document =
            Item::from([("node", of(random)), ("mark", Value::from(tag.to_string()))]);
        if random.chance(1, 2) {
            document.insert("b", of(random));
        }
        if !leaves.is_empty() && random.chance(1, 2) {
            document.insert("c", random.pick(&leaves).as_str());
        }
        world.change(None, &[request("leaf", None, Action::Create(document))]);
        let last = world.naive.things.last().expect("it was made");
        leaves.push(last.key.id.clone());
    }
    world
}

fn request(kind: &str, id: Option<&str>, action: Action) -> Request {
    Request { kind: kind.to_owned(), id: id.map(str::to_owned), action, expected: None }
}
