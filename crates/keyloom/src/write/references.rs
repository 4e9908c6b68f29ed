//! The rules of references: who refers to whom, and what the deletion of a target means. Pure: it
//! uses the layout and reads nothing.

use keyloom_model::{EntityKey, FieldId, Image, Layout, Link, OnDelete, OwnRow, RowKey};
use keyloom_value::Value;

use crate::error::Error;

/// The number of links in one read.
pub(crate) const LINKS_PAGE: u32 = 100;

/// The rules of the references of a layout.
#[derive(Clone, Copy)]
pub(crate) struct ReferenceRules<'a> {
    pub(crate) layout: &'a Layout,
}

impl ReferenceRules<'_> {
    /// Whether the model has references to entities of this kind.
    pub(crate) fn is_referable(&self, key: &EntityKey) -> bool {
        !self.layout.references().to(key.entity).is_empty()
    }

    /// Returns the link of a field of an owner.
    pub(crate) fn link(&self, owner: &EntityKey, field: FieldId) -> Option<Link> {
        let links = self.layout.references().of(owner.entity);
        links.iter().find(|link| link.field == field).copied()
    }

    /// Returns the name of the referring field.
    pub(crate) fn field_name(&self, link: &Link) -> &str {
        &self.layout.model().entity(link.owner).field(link.field).name
    }

    /// Returns its name in rows.
    pub(crate) fn stored_name(&self, link: &Link) -> &str {
        &self.layout.model().entity(link.owner).field(link.field).stored
    }

    /// Whether the field of a link refers to a target.
    pub(crate) fn refers(&self, image: &Image, link: &Link, target: &EntityKey) -> bool {
        let value = image.fields.get(self.field_name(link));
        value.and_then(Value::as_s) == Some(target.id.as_str())
    }

    /// Whether the owner of a reference is deleted with its target: if the reference cascades; and if
    /// it forbids the deletion but the owner has expired, because expired entities are invisible.
    pub(crate) fn goes_with(&self, link: &Link, is_expired: bool) -> bool {
        match link.on_delete {
            OnDelete::Cascade => true,
            OnDelete::Refuse => is_expired,
            OnDelete::Clear | OnDelete::Keep => false,
        }
    }

    /// Returns the key of the copy of an entity in the partition of its parent.
    pub(crate) fn copy_key(&self, row: &OwnRow) -> Option<RowKey> {
        let entity = self.layout.model().entity(row.image.key.entity);
        let field = entity.parent?;
        let link = self.link(&row.image.key, field)?;
        let parent = row.image.fields.get(&entity.field(field).name)?.as_s()?;
        Some(self.layout.references().key(&link, parent, &row.image.key))
    }

    /// The error for a reference that forbids the deletion of its target.
    pub(crate) fn in_use(&self, target: &EntityKey, link: &Link) -> Error {
        let model = self.layout.model();
        let by = model.entity(link.owner);
        Error::InUse {
            entity: model.entity(target.entity).name.clone(),
            id: target.id.clone(),
            by_entity: by.name.clone(),
            by_field: by.field(link.field).name.clone(),
        }
    }
}
