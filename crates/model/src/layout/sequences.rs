//! Sequences: one row for each has the last number that it assigned.
//!
//! ```text
//! PK    "m", "sequence", entity, [tenant], values of `by`
//! ```
//!
//! The key has no name of a field, so it outlives a renaming.

use super::key::{SYSTEM, own_sort, push_tenant, words};
use super::key_part::{check_len, equality, push_key};
use super::{Image, KeyTooLong, Layout, RowKey};

impl Layout {
    /// The row of the sequence that numbers an entity; none if its kind has no sequence.
    ///
    /// # Errors
    ///
    /// If its values do not fit into a key.
    pub fn sequence_key(&self, image: &Image) -> Result<Option<RowKey>, KeyTooLong> {
        let entity = self.model().entity(image.key.entity);
        let Some(sequence) = &entity.sequence else { return Ok(None) };
        let mut partition = words(&[SYSTEM, "sequence", &entity.stored]);
        push_tenant(&mut partition, image.key.tenant.as_ref());
        for field in &sequence.by {
            // Required: only an entity that is older than the field lacks it.
            let Some(value) = image.value(self, *field) else { return Ok(None) };
            push_key(&mut partition, &equality(entity.field(*field), &value));
        }
        check_len(&partition, RowKey::PARTITION_BYTES_MAX, || {
            format!("the sequence of `{}`", entity.name)
        })?;
        Ok(Some(RowKey { partition, sort: own_sort() }))
    }
}
