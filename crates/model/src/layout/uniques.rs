//! Guards: one row for each value of a unique that is taken.

use keyloom_value::{KeyBytes, Value};

use super::key::{GUARD, own_sort, push_tenant, words};
use super::key_part::{check_len, equality, folded, push_key};
use super::{EntityKey, KeyTooLong, Layout, RowKey};
use crate::model::{CaseMode, EntityId, UniqueId};

/// Keys of the guards of a layout.
#[derive(Clone, Copy, Debug)]
pub struct UniqueKeys<'l> {
    layout: &'l Layout,
}

impl<'l> UniqueKeys<'l> {
    pub(super) fn new(layout: &'l Layout) -> UniqueKeys<'l> {
        UniqueKeys { layout }
    }

    /// The name of a unique: its fields, its scope and whether case is folded.
    pub fn name(&self, entity: EntityId, unique: UniqueId) -> &'l str {
        &self.layout.layout_of(entity).guard_tags[unique.index()]
    }

    /// The partition key of a guard, before the values.
    fn guard_partition(&self, owner: &EntityKey, unique: UniqueId) -> KeyBytes {
        let tag = self.layout.layout_of(owner.entity).guard_tags[unique.index()].as_str();
        let mut key = words(&[GUARD, self.layout.stored(owner.entity), tag]);
        push_tenant(&mut key, owner.tenant.as_ref());
        key
    }

    /// The key of the guard of these values: the scope first if there is one, then the fields.
    ///
    /// # Errors
    ///
    /// If the values do not fit into a key: no entity has them.
    pub fn guard_key(
        &self,
        owner: &EntityKey,
        unique: UniqueId,
        values: &[Value],
    ) -> Result<RowKey, KeyTooLong> {
        let entity = self.layout.model().entity(owner.entity);
        let declared = entity.unique(unique);
        let mut partition = self.guard_partition(owner, unique);
        let fields = declared.within.iter().map(|field| (field, CaseMode::Exact));
        let fields = fields.chain(declared.fields.iter().map(|field| (field, declared.case)));
        for ((field, case), value) in fields.zip(values) {
            let value = equality(entity.field(*field), value);
            push_key(&mut partition, &folded(value, case));
        }
        check_len(&partition, RowKey::PARTITION_BYTES_MAX, || {
            let fields = entity.select(&declared.fields);
            let names: Vec<&str> = fields.map(|field| field.name.as_str()).collect();
            format!("the unique `{}` of `{}`", names.join(", "), entity.name)
        })?;
        Ok(RowKey { partition, sort: own_sort() })
    }
}
