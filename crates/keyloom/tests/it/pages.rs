//! Pages of any size with changes between them: an entity that stays in the list, at one position,
//! is on exactly one page.

use std::sync::Arc;

use keyloom_model::{List, ListId};
use keyloom_store::Store;
use keyloom_testkit::model::drafts;
use keyloom_testkit::{ManualClock, Random};
use keyloom_value::Value;
use proptest::prelude::*;

use pollster::block_on;

use crate::cases::for_all;
use crate::histories::take_step;
use crate::rig::{engine_at, memory_store_at};
use crate::world::{Readable, Thing, World};

/// The position of an entity in a list: its id, and the values of `order`.
type Place = (String, Vec<Value>);

#[test]
fn pages_on_the_memory_store_skip_and_repeat_nothing() {
    run(200, |clock| Arc::new(memory_store_at(clock)));
}

#[test]
fn pages_on_the_engine_skip_and_repeat_nothing() {
    run(50, |clock| Arc::new(engine_at(clock)));
}

fn run(count: u32, store: impl Fn(&ManualClock) -> Arc<dyn Store>) {
    let histories = (drafts().prop_map(Readable), any::<u64>().no_shrink());
    for_all(count, histories, |(Readable(draft), seed)| {
        let clock = ManualClock::new();
        let mut world = World::new(&draft.text(), store(&clock), &clock);
        play(&mut world, &mut Random::new(seed));
    });
}

fn play(world: &mut World, random: &mut Random) {
    for _ in 0..30 {
        take_step(world, random);
    }
    let mut questions = vec![];
    for (_, entity) in world.naive.model.entities() {
        for (id, list) in entity.lists() {
            for tenant in world.tenants_of(&entity.name) {
                let listed = world.naive.listed(&entity.name, list, tenant.as_ref());
                let by = listed.first().map(|thing| world.naive.values(thing, &list.by));
                questions.extend(by.map(|by| (entity.name.clone(), id, tenant.clone(), by)));
            }
        }
    }
    for question in random.some_of(&questions, 4) {
        read_while_changing(world, &question, random);
    }
}

type Question = (String, ListId, Option<Value>, Vec<Value>);

fn read_while_changing(world: &mut World, question: &Question, random: &mut Random) {
    let (kind, id, tenant, by) = question;
    let entity = world.naive.entity(kind).clone();
    let list = entity.list(*id);
    let mut query = world.db(tenant.as_ref()).list(kind, &list.name);
    for (field, value) in list.by.iter().zip(by) {
        query = query.by(&entity.field(*field).name, value.clone());
    }
    if random.chance(1, 2) {
        query = query.backward();
    }
    let mut throughout = places(world, question, list);
    let mut read: Vec<Place> = vec![];
    loop {
        query = query.limit(1 + u32::try_from(random.below(3)).expect("small"));
        let page = block_on(query.read()).expect("a list can be read");
        for record in &page.items {
            let value = |field| match entity.field(field).name.as_str() {
                "id" => Value::from(record.id()),
                name => record.get(name).expect("it is in the list").clone(),
            };
            let order = list.order.iter().map(|order| value(order.field)).collect();
            read.push((record.id().to_owned(), order));
        }
        let Some(next) = page.next else { break };
        query = query.after(next);
        for _ in 0..random.index(3) {
            take_step(world, random);
            let now = places(world, question, list);
            throughout.retain(|place| now.contains(place));
        }
    }
    for place in &throughout {
        let times = read.iter().filter(|other| *other == place).count();
        assert_eq!(times, 1, "{place:?} of `{}` is on one page: {read:?}", list.name);
    }
    for (index, place) in read.iter().enumerate() {
        assert!(!read[..index].contains(place), "{place:?} of `{}` comes twice", list.name);
    }
}

/// All entities of the list, with their positions.
fn places(world: &World, (kind, _, tenant, by): &Question, list: &List) -> Vec<Place> {
    let naive = &world.naive;
    let listed = naive.listed(kind, list, tenant.as_ref()).into_iter();
    let listed = listed.filter(|thing| naive.values(thing, &list.by) == *by);
    let order: Vec<_> = list.order.iter().map(|order| order.field).collect();
    let place = |thing: &Thing| (thing.key.id.clone(), naive.values(thing, &order));
    listed.map(place).collect()
}
