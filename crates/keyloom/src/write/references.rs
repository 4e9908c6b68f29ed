//! What references say about entities and about the deletion of their targets. Pure: it knows the
//! layout and reads nothing.

use keyloom_model::{EntityKey, FieldId, Image, Layout, Link, OnDelete, OwnRow, RowKey};
use keyloom_value::Value;

use crate::error::Error;

/// How many links are read at once.
pub(crate) const LINKS_PAGE: u32 = 100;

/// The references of a layout.
#[derive(Clone, Copy)]
pub(crate) struct ReferenceRules<'a> {
    pub(crate) layout: &'a Layout,
}

impl ReferenceRules<'_> {
    /// Whether others can refer to it at all.
    pub(crate) fn is_referable(&self, key: &EntityKey) -> bool {
        !self.layout.references().to(key.entity).is_empty()
    }

    /// How the field of an owner refers.
    pub(crate) fn link(&self, owner: &EntityKey, field: FieldId) -> Option<Link> {
        let links = self.layout.references().of(owner.entity);
        links.iter().find(|link| link.field == field).copied()
    }

    /// The name of the field that refers.
    pub(crate) fn field_name(&self, link: &Link) -> &str {
        &self.layout.model().entity(link.owner).field(link.field).name
    }

    /// Whether an entity refers to another one with a field.
    pub(crate) fn refers(&self, image: &Image, link: &Link, target: &EntityKey) -> bool {
        let value = image.fields.get(self.field_name(link));
        value.and_then(Value::as_s) == Some(target.id.as_str())
    }

    /// Whether one that refers goes with its target: as the reference says, and in any case if it
    /// has expired. Nobody sees that any more, so it holds nothing.
    pub(crate) fn goes_with(&self, link: &Link, is_expired: bool) -> bool {
        match link.on_delete {
            OnDelete::Cascade => true,
            OnDelete::Refuse => is_expired,
            OnDelete::Clear | OnDelete::Keep => false,
        }
    }

    /// The key of the copy of an entity that stands with its parent.
    pub(crate) fn copy_key(&self, row: &OwnRow) -> Option<RowKey> {
        let entity = self.layout.model().entity(row.image.key.entity);
        let field = entity.parent?;
        let link = self.link(&row.image.key, field)?;
        let parent = row.image.fields.get(&entity.field(field).name)?.as_s()?;
        Some(self.layout.references().key(&link, parent, &row.image.key))
    }

    /// The error that says that a reference holds its target.
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
