//! Links: a row with the target for each entity that refers to it. A child's link is a copy of the
//! child, so that one read returns a parent with its children.

use keyloom_value::{KeyBytes, Value};

use super::key::{CHILD, REFERENCE, bytes, own_sort, push_owner};
use super::{EntityKey, Layout, Link, RowKey};
use crate::model::EntityId;

/// The references between the entities of a layout, and the keys of their rows.
#[derive(Clone, Copy, Debug)]
pub struct References<'l> {
    layout: &'l Layout,
}

impl<'l> References<'l> {
    pub(super) fn new(layout: &'l Layout) -> References<'l> {
        References { layout }
    }

    /// The references of a kind to others, that to the parent first.
    pub fn of(&self, entity: EntityId) -> &'l [Link] {
        &self.layout.layout_of(entity).links
    }

    /// The references of others to a kind.
    pub fn to(&self, entity: EntityId) -> &'l [Link] {
        &self.layout.layout_of(entity).referrers
    }

    /// The range of sort keys of the children of one kind; without a kind, of all children and the
    /// parent's own row.
    pub fn children_range(&self, child: Option<EntityId>) -> (KeyBytes, Vec<u8>) {
        let (from, all) = match child {
            None => (own_sort(), bytes(&[Value::from(CHILD)])),
            Some(child) => {
                let all = bytes(&[CHILD.into(), self.layout.name(child).into()]);
                (all.clone(), all)
            }
        };
        (from, KeyBytes::after_prefix(all.as_bytes()).unwrap_or_default())
    }

    /// The range of sort keys of everything that refers to an entity.
    pub fn range(&self) -> (KeyBytes, Vec<u8>) {
        let to = bytes(&[Value::from(REFERENCE)]);
        (bytes(&[Value::from(CHILD)]), KeyBytes::after_prefix(to.as_bytes()).unwrap_or_default())
    }

    /// The key of the row, in the target's partition, of an entity that refers to the target.
    pub fn key(&self, link: &Link, target_id: &str, owner: &EntityKey) -> RowKey {
        let tenant = if self.layout.has_tenant(link.target) { owner.tenant.clone() } else { None };
        let target = EntityKey { entity: link.target, tenant, id: target_id.to_owned() };
        let entity = self.layout.model().entity(owner.entity);
        let kind = if entity.parent == Some(link.field) { CHILD } else { REFERENCE };
        let mut sort = bytes(&[kind.into()]);
        sort.push_text(&entity.name);
        sort.push_text(&entity.field(link.field).name);
        push_owner(&mut sort, owner);
        RowKey { partition: self.layout.entity_partition(&target), sort }
    }
}
