//! Which row a key is of.

use keyloom_value::{KeyBytes, Value};

use super::chunks::ORDINAL_ROW;
use super::counter::is_counter;
use super::key::{CHILD, ENTITY, GUARD, OWN, PRESENCE, REFERENCE, SYSTEM, own_sort};
use super::{Counter, EntityKey, Layout, Matching};
use crate::model::{EntityId, FieldId, FieldOrigin, UniqueId};

/// What a row is, according to its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowName {
    /// The row of an entity itself.
    Own(EntityKey),
    /// An entity, the owner, is a child of another one, the target, or refers to it.
    Link {
        /// The entity referred to.
        target: EntityKey,
        /// The field that refers.
        field: FieldId,
        /// The entity that refers.
        owner: EntityKey,
    },
    /// A value of a unique is taken.
    Guard {
        /// By an entity of this kind.
        entity: EntityId,
        /// Which unique it is about.
        unique: UniqueId,
    },
    /// An entity of this kind may be referred to.
    Presence {
        /// Its kind.
        entity: EntityId,
    },
    /// A posting list contains an entity, or its ordinal leads to it.
    Posting {
        /// An entity of this kind.
        entity: EntityId,
    },
    /// A counter.
    Counter(Counter),
    /// A system row: models, deletion records, idempotency records.
    System,
}

impl Layout {
    /// What a row is; `None` if no row of this layout has such a key.
    pub fn row_name(&self, partition: &[u8], sort: &[u8]) -> Option<RowName> {
        let mut parts = KeyBytes::decode(partition).ok()?.into_iter();
        match parts.next()?.as_s()? {
            SYSTEM => Some(RowName::System),
            GUARD => {
                let entity = self.model().find_stored(parts.next()?.as_s()?)?;
                let tag = parts.next()?;
                let tags = &self.layout_of(entity).guard_tags;
                let unique = tags.iter().position(|other| Some(other.as_str()) == tag.as_s())?;
                let unique = UniqueId(u16::try_from(unique).ok()?);
                (sort == own_sort().as_bytes()).then_some(RowName::Guard { entity, unique })
            }
            ENTITY => {
                let target = self.owner(&mut parts)?;
                let shard = parts.next();
                let is_key = parts.next().is_none()
                    && shard.as_ref().is_none_or(|shard| matches!(shard, Value::N(_)));
                let name = self.row_of(target, sort).filter(|_| is_key)?;
                // Only links have shards.
                (shard.is_none() || matches!(name, RowName::Link { .. })).then_some(name)
            }
            PRESENCE => {
                let target = self.owner(&mut parts)?;
                let is_presence = self.references().has_presence(target.entity)
                    && matches!(parts.next()?, Value::N(_))
                    && sort == own_sort().as_bytes();
                is_presence.then_some(RowName::Presence { entity: target.entity })
            }
            ORDINAL_ROW => {
                let entity = self.model().find_stored(parts.next()?.as_s()?)?;
                let is_ordinal = self.matching() == Matching::Chunks
                    && self.model().entity(entity).has_ordinals()
                    && matches!(parts.next_back()?, Value::N(_))
                    && sort == own_sort().as_bytes();
                is_ordinal.then_some(RowName::Posting { entity })
            }
            _ if is_counter(partition) => {
                self.counters().find(&Layout::row_key(partition, sort)?).map(RowName::Counter)
            }
            _ => {
                let entity = self.postings().entity(partition)?;
                let is_posting = self.matching() == Matching::Rows
                    && matches!(&KeyBytes::decode(sort).ok()?[..], [.., Value::N(_)]);
                is_posting.then_some(RowName::Posting { entity })
            }
        }
    }

    /// The entity whose own row has a partition key.
    pub fn entity_key(&self, partition: &[u8]) -> Option<EntityKey> {
        match self.row_name(partition, own_sort().as_bytes())? {
            RowName::Own(key) => Some(key),
            RowName::Link { .. }
            | RowName::Guard { .. }
            | RowName::Presence { .. }
            | RowName::Posting { .. }
            | RowName::Counter(_)
            | RowName::System => None,
        }
    }

    fn row_of(&self, target: EntityKey, sort: &[u8]) -> Option<RowName> {
        let mut parts = KeyBytes::decode(sort).ok()?.into_iter();
        let kind = parts.next()?.as_n()?.to_i64()?;
        if kind == i64::from(OWN) {
            return parts.next().is_none().then_some(RowName::Own(target));
        }
        let entity_name = parts.next()?;
        let entity = self.model().find_stored(entity_name.as_s()?)?;
        let field_name = parts.next()?;
        let field = self.model().entity(entity).find_stored(field_name.as_s()?)?;
        let origin = self.model().entity(entity).field(field).origin;
        let expected = if origin == FieldOrigin::Parent { CHILD } else { REFERENCE };
        let mut owner = std::iter::once(entity_name).chain(parts);
        let owner = self.owner(&mut owner).filter(|_| kind == i64::from(expected))?;
        Some(RowName::Link { target, field, owner })
    }

    /// Reads `entity, [tenant], id`.
    fn owner(&self, parts: &mut impl Iterator<Item = Value>) -> Option<EntityKey> {
        let entity = self.model().find_stored(parts.next()?.as_s()?)?;
        let tenant = if self.has_tenant(entity) { Some(parts.next()?) } else { None };
        let id = parts.next()?.as_s()?.to_owned();
        Some(EntityKey { entity, tenant, id })
    }
}
