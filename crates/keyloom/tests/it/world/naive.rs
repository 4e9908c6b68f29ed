//! The naive database, which is obviously correct: a list of entities, and every rule checked by a
//! full scan. It generates no versions; it only knows when a version must change.

mod answer;

mod rules;

use std::collections::{BTreeMap, BTreeSet};

use keyloom_model::{
    CaseMode, Entity, EntityId, Field, FieldId, FieldOrigin, FieldType, Model, OnDelete, Tenancy,
    Unique,
};
use keyloom_value::{Item, Value};

use super::Kind;
use super::building::Building;

/// All entities.
#[derive(Clone, Debug)]
pub(crate) struct Naive {
    pub(crate) model: Model,
    pub(crate) things: Vec<Thing>,
    pub(crate) now_ms: i64,
    /// Uniques that are not built yet, by the names of their entity and their fields.
    pub(crate) pending: BTreeSet<(String, Vec<String>)>,
    /// Other queries that are not built yet.
    pub(crate) building: Building,
    /// The last number of each sequence, by what distinguishes it.
    pub(crate) sequences: BTreeMap<String, i64>,
}

/// One entity.
#[derive(Clone, Debug)]
pub(crate) struct Thing {
    pub(crate) key: Key,
    pub(crate) fields: Item,
    /// `None` if it has changed since its version was last read.
    pub(crate) version: Option<String>,
}

/// Identifies an entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) kind: String,
    pub(crate) tenant: Option<Value>,
    pub(crate) id: String,
}

/// A reference field.
pub(crate) struct Reference {
    pub(crate) field: String,
    pub(crate) target: Key,
    pub(crate) on_delete: OnDelete,
}

/// The ids in a field, which may be a list.
pub(crate) fn ids(fields: &Item, field: &str) -> Vec<String> {
    let values = match fields.get(field) {
        Some(Value::L(values)) => values.as_slice(),
        one => one.map_or(&[][..], std::slice::from_ref),
    };
    values.iter().filter_map(|value| Some(value.as_s()?.to_owned())).collect()
}

impl Naive {
    pub(crate) fn new(model: Model, now_ms: i64) -> Naive {
        let (pending, sequences) = (BTreeSet::new(), BTreeMap::new());
        Naive { model, things: vec![], now_ms, pending, building: Building::default(), sequences }
    }

    pub(crate) fn entity(&self, kind: &str) -> &Entity {
        self.model.entity(self.entity_id(kind))
    }

    pub(crate) fn entity_id(&self, kind: &str) -> EntityId {
        self.model.find(kind).expect("the model has the entity")
    }

    pub(crate) fn is_owned(&self, kind: &str) -> bool {
        match self.entity(kind).tenancy {
            Tenancy::Shared => false,
            Tenancy::Own(_) | Tenancy::Inherited(_) => true,
        }
    }

    /// The field with the tenant of a kind: its own, or that of an ancestor.
    pub(crate) fn tenants_field(&self, kind: &str) -> Option<&Field> {
        let entity = self.entity(kind);
        match entity.tenancy {
            Tenancy::Shared => None,
            Tenancy::Own(field) => Some(entity.field(field)),
            Tenancy::Inherited(ancestor) => self.tenants_field(&self.model.entity(ancestor).name),
        }
    }

    pub(crate) fn find(&self, key: &Key) -> Option<&Thing> {
        self.things.iter().find(|thing| thing.key == *key)
    }

    pub(crate) fn find_mut(&mut self, key: &Key) -> Option<&mut Thing> {
        self.things.iter_mut().find(|thing| thing.key == *key)
    }

    /// Whether it has expired: it is not visible any more.
    pub(crate) fn is_expired(&self, thing: &Thing) -> bool {
        let entity = self.entity(&thing.key.kind);
        let time = entity.expires.and_then(|field| thing.fields.get(&entity.field(field).name));
        let time = time.and_then(Value::as_n).and_then(|time| time.to_i64());
        time.is_some_and(|time| time <= self.now_ms)
    }

    /// The visible entities: of one tenant, if the kind has tenants.
    pub(crate) fn seen<'n>(
        &'n self,
        kind: &'n str,
        tenant: Option<&'n Value>,
    ) -> impl Iterator<Item = &'n Thing> {
        let of =
            move |thing: &&Thing| thing.key.kind == kind && thing.key.tenant.as_ref() == tenant;
        self.things.iter().filter(of).filter(|thing| !self.is_expired(thing))
    }

    /// The value of a field, which may be `id`.
    pub(crate) fn value(&self, thing: &Thing, field: FieldId) -> Option<Value> {
        let field = self.entity(&thing.key.kind).field(field);
        match field.origin {
            FieldOrigin::Id => Some(Value::from(thing.key.id.as_str())),
            FieldOrigin::Parent | FieldOrigin::Declared => thing.fields.get(&field.name).cloned(),
        }
    }

    pub(crate) fn references(&self, thing: &Thing) -> Vec<Reference> {
        let entity = self.entity(&thing.key.kind);
        let references = |field: &Field| {
            let of = if let FieldType::List(of, _) = &field.of { of } else { &field.of };
            let FieldType::Ref(target, on_delete) = *of else { return vec![] };
            let kind = &self.model.entity(target).name;
            let tenant = thing.key.tenant.as_ref().filter(|_| self.is_owned(kind));
            let reference = |id: String| {
                let target = Key { kind: kind.clone(), tenant: tenant.cloned(), id };
                Reference { field: field.name.clone(), target, on_delete }
            };
            ids(&thing.fields, &field.name).into_iter().map(reference).collect()
        };
        entity.fields.iter().flat_map(references).collect()
    }

    /// The value of a unique in the form that is compared; `None` if a field is absent.
    pub(crate) fn unique_value(&self, thing: &Thing, unique: &Unique) -> Option<Vec<Value>> {
        let scope = unique.within.iter().map(|field| self.value(thing, *field));
        let fields = unique.fields.iter().map(|field| {
            let value = self.value(thing, *field)?;
            Some(match (value, unique.case) {
                (Value::S(text), CaseMode::Folded) => Value::S(text.to_lowercase()),
                (value, CaseMode::Folded | CaseMode::Exact) => value,
            })
        });
        scope.chain(fields).collect()
    }

    /// The names of a unique's fields, including its scope.
    pub(crate) fn unique_fields(&self, kind: &str, unique: &Unique) -> Vec<String> {
        let entity = self.entity(kind);
        let fields = unique.within.iter().chain(&unique.fields);
        fields.map(|field| entity.field(*field).name.clone()).collect()
    }

    /// What identifies a unique, however its fields are called since.
    pub(crate) fn unique_tag(&self, kind: &str, unique: &Unique) -> (String, Vec<String>) {
        let entity = self.entity(kind);
        let fields = unique.within.iter().chain(&unique.fields);
        (entity.stored.clone(), fields.map(|field| entity.field(*field).stored.clone()).collect())
    }

    pub(crate) fn is_pending(&self, kind: &str, unique: &Unique) -> bool {
        self.pending.contains(&self.unique_tag(kind, unique))
    }

    /// All other entities with the same value of a unique.
    pub(crate) fn rivals(&self, thing: &Thing, unique: &Unique) -> Vec<&Thing> {
        let value = self.unique_value(thing, unique);
        let others = self.things.iter().filter(|other| {
            value.is_some()
                && other.key != thing.key
                && other.key.kind == thing.key.kind
                && other.key.tenant == thing.key.tenant
                && self.unique_value(other, unique) == value
        });
        others.collect()
    }

    /// Deletes an expired entity with its cascade.
    pub(crate) fn expire(&mut self, key: &Key) -> Result<(), Kind> {
        let before = self.clone();
        self.delete(vec![key.clone()], &before).map(|_| ())
    }
}
