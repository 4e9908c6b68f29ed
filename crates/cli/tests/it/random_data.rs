//! Random data of random models, in a directory.

use std::sync::Arc;

use keyloom::{Db, Entry, Existing, Imported, Value};
use keyloom_model::{EntityId, IdSource, Model, Tenancy};
use keyloom_store::{Engine, Options};
use keyloom_testkit::Random;
use keyloom_testkit::model::{Draft, document, given_id};
use pollster::block_on;

/// The number of entities to create or update.
const STEPS: usize = 60;

/// A created entity.
#[derive(PartialEq)]
pub(crate) struct Thing {
    pub(crate) kind: EntityId,
    pub(crate) tenant: Option<Value>,
    pub(crate) id: String,
}

/// Creates entities, and updates some so that they refer to each other.
pub(crate) fn fill(draft: &Draft, directory: &str, seed: u64) -> Vec<Thing> {
    let (model, db) = (draft.model(), open(draft, directory));
    let mut random = Random::new(seed);
    let kinds: Vec<EntityId> = model.entities().map(|(id, _)| id).collect();
    let mut things: Vec<Thing> = vec![];
    for _ in 0..STEPS {
        let kind = *random.pick(&kinds);
        if !things.is_empty() && random.chance(1, 3) {
            change(&model, &db, &things, &mut random);
        } else if let Some(thing) = create(&model, &db, (kind, &things), &mut random) {
            // Expired entities can be created again.
            things.retain(|other| *other != thing);
            things.push(thing);
        }
    }
    things
}

fn create(
    model: &Model,
    db: &Db,
    (kind, things): (EntityId, &[Thing]),
    random: &mut Random,
) -> Option<Thing> {
    let entity = model.entity(kind);
    let tenants: Vec<&Value> = things.iter().filter_map(|thing| thing.tenant.as_ref()).collect();
    let tenant = match entity.tenancy {
        Tenancy::Shared => None,
        Tenancy::Own(field) => {
            let some = document((model, kind), &|kind| ids(things, kind, None), random)?;
            Some(some.get(&entity.field(field).name)?.clone())
        }
        Tenancy::Inherited(_) if tenants.is_empty() => return None,
        Tenancy::Inherited(_) => Some((*random.pick(&tenants)).clone()),
    };
    let ids = |kind| ids(things, kind, tenant.as_ref());
    let mut fields = document((model, kind), &ids, random)?;
    if let Tenancy::Own(field) = entity.tenancy {
        fields.insert(entity.field(field).name.as_str(), tenant.clone()?);
    }
    let id = match entity.id_source {
        IdSource::Given => given_id(random),
        IdSource::Generated => format!("{:06}", things.len()),
    };
    let entry = Entry { entity: entity.name.clone(), tenant: tenant.clone(), id, fields };
    let imported = block_on(db.import(vec![entry.clone()], Existing::Keep)).ok()?;
    let is_new = imported == [Imported::Created];
    is_new.then_some(Thing { kind, tenant, id: entry.id })
}

fn change(model: &Model, db: &Db, things: &[Thing], random: &mut Random) {
    let thing = random.pick(things);
    let entity = model.entity(thing.kind);
    // An expired entity may still be referenced, and an import would miss it.
    if entity.expires.is_some() {
        return;
    }
    let ids = |kind| ids(things, kind, thing.tenant.as_ref());
    let Some(mut fields) = document((model, thing.kind), &ids, random) else { return };
    if let (Tenancy::Own(field), Some(tenant)) = (entity.tenancy, &thing.tenant) {
        fields.insert(entity.field(field).name.as_str(), tenant.clone());
    }
    let Thing { tenant, id, .. } = thing;
    let (entity, tenant, id) = (entity.name.clone(), tenant.clone(), id.clone());
    // A refused update is fine.
    let _ = block_on(db.import(vec![Entry { entity, tenant, id, fields }], Existing::Replace));
}

/// The ids of a kind that an entity of the tenant can refer to.
fn ids(things: &[Thing], kind: EntityId, tenant: Option<&Value>) -> Vec<String> {
    let is_known = |thing: &&Thing| {
        thing.kind == kind && (thing.tenant.is_none() || thing.tenant.as_ref() == tenant)
    };
    things.iter().filter(is_known).map(|thing| thing.id.clone()).collect()
}

pub(crate) fn open(draft: &Draft, directory: &str) -> Db {
    let engine = Arc::new(Engine::open(directory, Options::default()).unwrap());
    block_on(Db::open(&draft.text(), engine)).unwrap()
}

pub(crate) fn scoped(db: &Db, tenant: Option<&Value>) -> Db {
    tenant.map_or_else(|| db.clone(), |tenant| db.tenant(tenant.clone()))
}
