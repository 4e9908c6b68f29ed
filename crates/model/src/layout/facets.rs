//! Keys of facet indexes. An entity in a list with facets has a second index entry, by the values of
//! the facets and then in the order of the list. Entities with the same values are adjacent, so a
//! page of one combination is read like a page of a list.
//!
//! ```text
//! partition   "p", entity, list, [tenant], values of `by`, [shard]
//! sort        a part for each facet, then the sort key of the list
//! ```

use keyloom_value::{KeyBytes, Value};

use super::key_part::{check_len, equality, push_key};
use super::lists::{ListPartition, name_of_list};
use super::{Image, IndexKey, KeyTooLong, Layout, RowKey, Slot};
use crate::model::{Entity, EntityId, Field, FieldId, List, ListId};

/// First part of the partition keys.
pub(super) const FACETS: &str = "p";

/// How much of a text is part of a key. Longer texts with a common prefix share a key part; readers
/// tell them apart by the entities' own rows.
const TEXT_BYTES_MAX: usize = 48;

/// Keys of the facet indexes of a layout.
#[derive(Clone, Copy, Debug)]
pub struct FacetKeys<'l> {
    layout: &'l Layout,
}

impl<'l> FacetKeys<'l> {
    pub(super) fn new(layout: &'l Layout) -> FacetKeys<'l> {
        FacetKeys { layout }
    }

    /// The facet index of a list, if the list has facets.
    pub fn slot(&self, entity: EntityId, list: ListId) -> Option<Slot> {
        self.layout.layout_of(entity).slots.facets[list.index()]
    }

    /// Whether every list with facets has a facet index. Data of earlier versions of Keyloom has
    /// none.
    pub fn has_all_slots(&self) -> bool {
        let lacks = |list: &List, slot: &Option<Slot>| !list.facets.is_empty() && slot.is_none();
        self.layout.model.entities().zip(&self.layout.entities).all(|((_, entity), layout)| {
            !entity.lists.iter().zip(&layout.slots.facets).any(|(list, slot)| lacks(list, slot))
        })
    }

    /// The partition of the facet index of a list, for these values of `by`. What it holds is spread
    /// as the list is: see [`super::ListKeys::shards`].
    ///
    /// # Errors
    ///
    /// If the values do not fit into a key: no entity has them.
    pub fn partition(
        &self,
        (id, list): (EntityId, ListId),
        tenant: Option<&Value>,
        by: &[Value],
    ) -> Result<KeyBytes, KeyTooLong> {
        let entity = self.layout.model().entity(id);
        ListPartition { entity, list: entity.list(list), tenant, by }.key(FACETS)
    }

    /// The key part of a facet's value, or of its absence.
    pub fn part(&self, entity: EntityId, field: FieldId, value: Option<&Value>) -> KeyBytes {
        let mut part = KeyBytes::new();
        push_facet(&mut part, self.layout.model().entity(entity).field(field), value);
        part
    }

    /// Whether only entities with this value have its key part. Long texts share theirs with others.
    pub fn is_exact(value: &Value) -> bool {
        // A text can be cut before the character that does not fit.
        value.as_s().is_none_or(|text| text.len() < TEXT_BYTES_MAX - 3)
    }

    /// The key of an entity in the facet index of a list, if the list contains it.
    pub(super) fn index_key(
        &self,
        entity: &Entity,
        id: ListId,
        image: &Image,
    ) -> Result<Option<IndexKey>, KeyTooLong> {
        let list = entity.list(id);
        let Some(in_list) = self.layout.lists().index_key(entity, id, image)? else {
            return Ok(None);
        };
        let by = self.layout.lists().by_values_of(list, image).unwrap_or_default();
        let partition = self.partition((image.key.entity, id), image.key.tenant.as_ref(), &by)?;
        let partition = self.layout.lists().shard_of(entity, list, (&partition, &image.key.id))?;
        let mut sort = KeyBytes::new();
        for facet in &list.facets {
            let value = image.value(self.layout, *facet);
            push_facet(&mut sort, entity.field(*facet), value.as_ref());
        }
        sort.append(&in_list.sort);
        check_len(&sort, RowKey::SORT_BYTES_MAX, || name_of_list(entity, list))?;
        Ok(Some(IndexKey { partition, sort }))
    }
}

fn push_facet(key: &mut KeyBytes, field: &Field, value: Option<&Value>) {
    match value {
        // No value of a facet is bytes.
        None => push_key(key, &Value::B(vec![])),
        Some(Value::S(text)) => key.push_text(prefix(text)),
        Some(value) => push_key(key, &equality(field, value)),
    }
}

fn prefix(text: &str) -> &str {
    let fits = (0..=TEXT_BYTES_MAX.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..fits.unwrap_or(0)]
}
