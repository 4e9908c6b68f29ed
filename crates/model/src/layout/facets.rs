//! Places by facet: an entity that is in a list with facets stands once more in an index, by the
//! values of the facets and then as in the list. What has the same values stands together, in the
//! order of the list, so a page of one combination is read like a list of its own.
//!
//! ```text
//! partition   "p", entity, list, [tenant], values of `by`
//! sort        a part for each facet, then the sort key of the list
//! ```

use keyloom_value::{KeyBytes, Value};

use super::rows::{check_len, equality, name_of_list, push_key};
use super::{Image, KeyTooLong, Layout, RowKey};
use crate::model::{Entity, EntityId, FieldId, ListId};

/// What the partition keys begin with.
pub(super) const FACETS: &str = "p";

/// So much of a text is part of a place. Longer ones that begin alike stand together, and own rows
/// tell them apart.
const TEXT_BYTES_MAX: usize = 48;

impl Layout {
    /// The partition in which the entities of a part of a list stand by their facets.
    ///
    /// # Errors
    ///
    /// If the values do not fit into a key: no entity has them.
    pub fn facet_partition(
        &self,
        of: (EntityId, ListId),
        tenant: Option<&Value>,
        by: &[Value],
    ) -> Result<KeyBytes, KeyTooLong> {
        self.list_key(FACETS, of, (tenant, by))
    }

    /// The part of a place that a value of a facet is, or its absence.
    pub fn facet_part(&self, entity: EntityId, field: FieldId, value: Option<&Value>) -> KeyBytes {
        let mut part = KeyBytes::new();
        push_facet(&mut part, self.model().entity(entity), field, value);
        part
    }

    /// Whether everything that stands at a value of a facet has this value: long texts that begin
    /// alike stand together.
    pub fn is_facet_exact(value: &Value) -> bool {
        // A text can be cut before the character that does not fit.
        value.as_s().is_none_or(|text| text.len() < TEXT_BYTES_MAX - 3)
    }

    /// Where an entity stands by its facets, if it is in the list.
    pub(super) fn facet_place(
        &self,
        entity: &Entity,
        id: ListId,
        image: &Image,
    ) -> Result<Option<(KeyBytes, KeyBytes)>, KeyTooLong> {
        let list = entity.list(id);
        let Some((_, in_list)) = self.place(entity, id, image)? else { return Ok(None) };
        let by = self.by_in_list(list, image).unwrap_or_default();
        let partition =
            self.facet_partition((image.key.entity, id), image.key.tenant.as_ref(), &by)?;
        let mut sort = KeyBytes::new();
        for facet in &list.facets {
            push_facet(&mut sort, entity, *facet, image.value(self, *facet).as_ref());
        }
        sort.append(&in_list);
        check_len(&sort, RowKey::SORT_BYTES_MAX, || name_of_list(entity, list))?;
        Ok(Some((partition, sort)))
    }
}

fn push_facet(key: &mut KeyBytes, entity: &Entity, field: FieldId, value: Option<&Value>) {
    match value {
        // No value of a facet is bytes.
        None => push_key(key, &Value::B(vec![])),
        Some(Value::S(text)) => key.push_text(beginning(text)),
        Some(value) => push_key(key, &equality(entity, field, value)),
    }
}

fn beginning(text: &str) -> &str {
    let fits = (0..=TEXT_BYTES_MAX.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..fits.unwrap_or(0)]
}
