//! Random queries of random models, followed while random changes are made: what clients show is, after every
//! group of events, what the query returned at the position that the events name.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use keyloom::{Change, Db, Item, Value};
use keyloom_model::{Entity, EntityId, IdSource, Tenancy};
use keyloom_server::Role;
use keyloom_store::{Background, Engine, Options as EngineOptions};
use keyloom_testkit::model::{Draft, document, drafts, given_id, patch};
use keyloom_testkit::{ManualClock, Random, SimDisk};
use pollster::block_on;
use proptest::prelude::*;

use super::live_client::Client;
use super::live_queries::{MISLEADING, draw, kinds, kinds_of};
use super::served::{Door, Served, Setup, app, apps};
use super::stages::{Stage, Thing, ids_of};
use crate::cases::for_all;

/// How many queries of each caller are looked for.
const TRIES: usize = 24;
/// How often changes are made between two times that everybody is looked at.
const ROUNDS: usize = 6;
/// Far enough in the future.
const NEVER_MS: i64 = 4_102_444_800_000;

/// A served model, and those who follow what is in it.
struct World {
    text: String,
    disk: SimDisk,
    stage: Stage,
    random: Random,
    clients: Vec<Client>,
}

/// Whose data is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    Victim,
    Stranger,
    /// That of all tenants.
    All,
}

fn setup(disk: &SimDisk) -> Setup {
    let options = EngineOptions {
        background: Background::Manual,
        clock: Arc::new(ManualClock::new()),
        disk: Arc::new(disk.clone()),
        ..EngineOptions::default()
    };
    let engine = Engine::open(Path::new("/data"), options).expect("the engine opens");
    Setup { engine: Some(Arc::new(engine)), ..Setup::new(Door::Closed) }
}

impl World {
    /// None if the model cannot have two tenants.
    fn new(text: &str, seed: u64) -> Option<World> {
        let disk = SimDisk::new(seed);
        let stage = Stage::build_with(text, seed, setup(&disk))?;
        let (random, clients) = (Random::new(seed), vec![]);
        Some(World { text: text.to_owned(), disk, stage, random, clients })
    }

    /// Follows random queries: of both tenants, by readers who are limited to one, and of what all share, by an
    /// administrator who is limited to none.
    fn open_clients(&mut self) {
        let World { stage, random, clients, .. } = self;
        for whose in [Whose::Victim, Whose::Stranger, Whose::All] {
            let (role, tenant, things) = match whose {
                Whose::Victim => (Role::Reader, Some(&stage.victim.tenant), &stage.victim.things),
                Whose::Stranger => {
                    (Role::Reader, Some(&stage.stranger.tenant), &stage.stranger.things)
                }
                Whose::All => (Role::Admin, None, &stage.victim.things),
            };
            let token = stage.served.token(role, tenant.map(String::as_str));
            for _ in 0..TRIES {
                let Some(path) = draw(stage, things, &token, random) else { continue };
                clients.push(Client::open(&stage.served, &path, &token));
            }
        }
        clients.iter_mut().for_each(|client| client.note(&stage.served));
    }

    fn db(&self, whose: Whose) -> Db {
        match whose {
            Whose::Victim => self.stage.served.db.tenant(self.stage.victim.value.clone()),
            Whose::Stranger => self.stage.served.db.tenant(self.stage.stranger.value.clone()),
            Whose::All => self.stage.served.db.clone(),
        }
    }

    /// Makes one or two changes at once. Many are refused.
    fn change(&mut self) {
        let whose = *self.random.pick(&[Whose::Victim, Whose::Victim, Whose::Stranger, Whose::All]);
        let drawn: Vec<(EntityId, Change)> =
            (0..=self.random.below(2)).filter_map(|_| self.draw_change(whose)).collect();
        let (kinds, changes): (Vec<EntityId>, Vec<Change>) = drawn.into_iter().unzip();
        let Ok(made) = block_on(self.db(whose).transact(changes)) else { return };
        for (entity, record) in kinds.into_iter().zip(made) {
            let Some(record) = record else { continue };
            let document = serde_json::from_str(&record.to_json()).expect("JSON");
            let thing = Thing { entity, id: record.id().to_owned(), document };
            self.remember(whose, thing);
        }
    }

    /// Later changes can be about it, and others can refer to it.
    fn remember(&mut self, whose: Whose, thing: Thing) {
        let World { stage: Stage { victim, stranger, .. }, .. } = self;
        let parties = match whose {
            Whose::Victim => vec![victim],
            Whose::Stranger => vec![stranger],
            Whose::All => vec![victim, stranger],
        };
        for party in parties {
            party.things.retain(|other| (other.entity, &other.id) != (thing.entity, &thing.id));
            party.things.push(thing.clone());
        }
    }

    fn draw_change(&mut self, whose: Whose) -> Option<(EntityId, Change)> {
        let World { stage, random, .. } = self;
        let things = match whose {
            Whose::Victim | Whose::All => &stage.victim.things,
            Whose::Stranger => &stage.stranger.things,
        };
        let kinds = kinds_of(stage, whose == Whose::All);
        if kinds.is_empty() {
            return None;
        }
        let kind = *random.pick(&kinds);
        let (entity, known) = (stage.model.entity(kind), |kind| ids_of(things, kind));
        let name = &entity.name;
        let ids = known(kind);
        if ids.is_empty() || random.chance(1, 3) {
            let mut item = entity.to_external(&document((&stage.model, kind), &known, random)?);
            fit(entity, &mut item, random);
            return Some((kind, Change::create_item(name, item)));
        }
        let id = random.pick(&ids).clone();
        if random.chance(1, 6) {
            return Some((kind, Change::delete(name, &id)));
        }
        let drawn = patch((&stage.model, kind), &known, random).into_iter();
        let external = drawn.map(|(name, value)| {
            let of = entity.find_field(name.as_str()).map(|field| &entity.field(field).of);
            let value = value.map(|value| of.map_or(value.clone(), |of| of.to_external(&value)));
            (name, value.unwrap_or(Value::Null))
        });
        let mut item: Item = external.collect();
        if let Some(field) = entity.expires {
            item.remove(&entity.field(field).name);
        }
        Some((kind, Change::update_item(name, &id, item)))
    }

    fn note(&mut self) {
        self.clients.iter_mut().for_each(|client| client.note(&self.stage.served));
    }

    fn follow(&mut self) {
        let World { stage, random, clients, .. } = self;
        for client in clients.iter_mut() {
            client.follow(&stage.served);
            if random.chance(1, 8) {
                client.reconnect(&stage.served);
            }
        }
        clients.retain(|client| !client.is_over);
    }

    /// Goes on with what is on the disk after the power has failed.
    fn restart(&mut self) {
        self.disk.crash_now();
        self.disk = self.disk.after_crash(self.random.below(1 << 32));
        self.stage.served = Served::start(&self.text, setup(&self.disk));
        // What was written last may be there or not.
        self.note();
        self.clients.iter_mut().for_each(|client| client.reconnect(&self.stage.served));
        self.clients.retain(|client| !client.is_over);
        self.follow();
    }

    fn check_commits(&self) {
        self.clients.iter().for_each(|client| client.check_commit(&self.stage.served));
    }
}

/// Makes a new document one of its tenant that never expires.
fn fit(entity: &Entity, item: &mut Item, random: &mut Random) {
    if let Tenancy::Own(field) = entity.tenancy {
        item.remove(&entity.field(field).name);
    }
    if let Some(field) = entity.expires {
        let field = entity.field(field);
        item.insert(field.name.as_str(), field.of.to_external(&Value::from(NEVER_MS)));
    }
    if entity.id_source == IdSource::Given {
        item.insert("id", given_id(random));
    }
}

/// A history without faults.
fn play(world: &mut World) {
    for _ in 0..ROUNDS {
        for _ in 0..=world.random.below(4) {
            world.change();
            world.note();
        }
        world.follow();
    }
    world.check_commits();
}

/// A history in which the power fails at any sync, when some clients have not read all events.
fn play_with_crashes(world: &mut World) {
    for _ in 0..3 {
        world.disk.crash_at_sync(1 + world.random.below(12));
        for _ in 0..=world.random.below(6) {
            world.change();
            if world.disk.crashed() {
                break;
            }
            world.note();
            if !world.clients.is_empty() {
                let reader = world.random.index(world.clients.len());
                world.clients[reader].follow(&world.stage.served);
            }
        }
        world.restart();
    }
    world.check_commits();
}

/// A model, of which one field may be called as something else in responses is.
fn text(draft: &Draft, seed: u64) -> String {
    let (mut random, mut renamed) = (Random::new(seed), draft.clone());
    for entity in &mut renamed.entities {
        let names: Vec<String> = entity.fields.iter().map(|field| field.name.clone()).collect();
        let new = *random.pick(&MISLEADING);
        if !names.is_empty() && entity.field(new).is_none() && random.chance(1, 2) {
            let old = random.pick(&names).as_str();
            entity.rename_field(old, new);
        }
    }
    match renamed.try_model() {
        Some(_) => renamed.text(),
        None => draft.text(),
    }
}

fn run(ordinary: u32, play: impl Fn(&mut World)) {
    for_all(ordinary, (drafts(), any::<u64>().no_shrink()), |(draft, seed)| {
        if let Some(mut world) = World::new(&text(&draft, seed), seed) {
            world.open_clients();
            play(&mut world);
        }
    });
}

#[test]
fn clients_show_what_random_queries_return() {
    run(24, play);
}

#[test]
fn clients_show_what_random_queries_return_across_crashes() {
    run(10, play_with_crashes);
}

#[test]
fn clients_show_what_the_queries_of_the_apps_return() {
    let mut met = BTreeSet::new();
    for (name, seed) in apps().into_iter().zip(0..) {
        let mut world = World::new(&app(&name), seed).expect("apps have tenants or need none");
        world.open_clients();
        met.extend(world.clients.iter().flat_map(|client| kinds(&client.path)));
        play(&mut world);
    }
    let expected = ["/boards/", "/facets", "/tags", "count", "cursor=", "with=", "tag=", "$total"];
    assert!(expected.iter().all(|kind| met.contains(kind)), "{met:?}");
}
