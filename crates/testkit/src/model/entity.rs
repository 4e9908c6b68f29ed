//! Random drafts: first the parents and tenants of all entities, then each entity.

use keyloom_model::{IdSource, OnDelete, TriggeringChange};

use super::declaration;
use super::draft::{Draft, DraftEntity, DraftHandler, DraftParent};
use super::field::{FIELD_NAMES, Target, field, key_field, reference};
use crate::Random;

/// Names of entities; some are names of fields too.
pub(super) const ENTITY_NAMES: &[&str] =
    &["task", "team", "person", "status", "name", "note", "item"];
/// Maximum number of entities of a draft.
const ENTITIES_MAX: usize = 5;
/// Maximum number of declared fields of an entity, besides the tenant.
const FIELDS_MAX: usize = 7;

/// Returns a valid model of 1 to 5 entities.
pub fn draft(random: &mut Random) -> Draft {
    let mut names = ENTITY_NAMES.to_vec();
    random.shuffle(&mut names);
    names.truncate(1 + random.index(ENTITIES_MAX));
    let skeletons = skeletons(&names, random);
    let mut entities: Vec<DraftEntity> =
        (0..names.len()).map(|index| entity(index, &skeletons, random)).collect();
    declaration::add_boards(&mut entities, random);
    // Children may precede their parents.
    random.shuffle(&mut entities);
    let handlers = handlers(&entities, random);
    Draft { entities, handlers, renamed: vec![] }
}

/// An entity before it has fields.
struct Skeleton {
    name: String,
    parent: Option<usize>,
    /// Whether it belongs to a tenant; a child inherits this from its parent.
    is_owned: bool,
}

fn skeletons(names: &[&str], random: &mut Random) -> Vec<Skeleton> {
    let has_tenants = random.chance(1, 2);
    let mut skeletons: Vec<Skeleton> = vec![];
    for (index, name) in names.iter().enumerate() {
        let parent = (index > 0 && random.chance(2, 5)).then(|| random.index(index));
        let is_owned = match parent {
            Some(parent) => skeletons[parent].is_owned,
            None => has_tenants && random.chance(2, 3),
        };
        skeletons.push(Skeleton { name: (*name).to_owned(), parent, is_owned });
    }
    skeletons
}

fn entity(index: usize, skeletons: &[Skeleton], random: &mut Random) -> DraftEntity {
    let own = &skeletons[index];
    let mut entity = DraftEntity::bare(&own.name);
    if random.chance(1, 4) {
        entity.id_source = IdSource::Given;
    }
    entity.parent = own.parent.map(|parent| DraftParent {
        entity: skeletons[parent].name.clone(),
        on_delete: *random.pick(&[OnDelete::Refuse, OnDelete::Cascade]),
    });
    if random.chance(1, 8) {
        entity.path = Some(format!("/at/{}", own.name));
    }
    let targets = targets(index, skeletons);
    let mut names = free_names(&entity, random);
    if own.is_owned && own.parent.is_none() {
        add_tenant(&mut entity, (&mut names, skeletons, index), random);
    }
    for _ in 0..random.index(FIELDS_MAX + 1) {
        let Some(name) = names.pop() else { break };
        entity.fields.push(field(name, &targets, random));
    }
    random.shuffle(&mut entity.fields);
    declaration::add_expiry(&mut entity, random);
    declaration::add_uniques(&mut entity, random);
    declaration::add_lists(&mut entity, random);
    declaration::add_counts(&mut entity, random);
    declaration::add_combinations(&mut entity, random);
    declaration::add_read_only(&mut entity, random);
    declaration::add_filters(&mut entity, random);
    declaration::add_search(&mut entity, random);
    declaration::add_format(&mut entity, random);
    declaration::add_shards(&mut entity, random);
    declaration::add_sequence(&mut entity, random);
    entity
}

/// Returns names that a field of the entity can still have, in random order.
pub(super) fn free_names(entity: &DraftEntity, random: &mut Random) -> Vec<&'static str> {
    let parent = entity.parent.as_ref().map(|parent| parent.entity.as_str());
    let is_free = |name: &&str| Some(*name) != parent && entity.field(name).is_none();
    let mut names: Vec<&'static str> = FIELD_NAMES.iter().copied().filter(is_free).collect();
    random.shuffle(&mut names);
    names
}

/// Returns what an entity can refer to: shared entities cannot refer to those of a tenant.
fn targets(index: usize, skeletons: &[Skeleton]) -> Vec<Target> {
    let is_owned = skeletons[index].is_owned;
    let allowed = skeletons.iter().enumerate().filter(|(_, other)| is_owned || !other.is_owned);
    allowed
        .map(|(position, other)| Target {
            entity: other.name.clone(),
            comes_first: position < index,
        })
        .collect()
}

fn add_tenant(
    entity: &mut DraftEntity,
    (names, skeletons, index): (&mut Vec<&'static str>, &[Skeleton], usize),
    random: &mut Random,
) {
    let Some(name) = names.pop() else { return };
    let shared = skeletons[..index].iter().find(|other| !other.is_owned);
    let field = match shared.filter(|_| random.chance(1, 2)) {
        Some(other) => {
            let target = Target { entity: other.name.clone(), comes_first: true };
            let mut field = reference(name, &target, random);
            field.presence = keyloom_model::Presence::Required;
            field.of = super::DraftType::Ref(target.entity, OnDelete::Refuse);
            field
        }
        None => key_field(name, random),
    };
    entity.tenant = Some(name.to_owned());
    entity.fields.push(field);
}

fn handlers(entities: &[DraftEntity], random: &mut Random) -> Vec<DraftHandler> {
    let changes = [TriggeringChange::Insert, TriggeringChange::Update, TriggeringChange::Delete];
    let mut handlers = vec![];
    for entity in entities {
        if random.chance(1, 5) {
            let change = *random.pick(&changes);
            let entity = entity.name.clone();
            handlers.push(DraftHandler { entity, change, target: "notify".to_owned() });
        }
    }
    handlers
}
