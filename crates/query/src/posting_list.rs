//! A posting list: the ordinals of all entities that have one thing in common. It carries what that is
//! beside its name, so that no name has to be decoded.

use keyloom_model::{Entity, EntityId, FieldId, Layout, ListId, PostingKey, Term};
use keyloom_value::{KeyBytes, Value};

use crate::{ListRequest, Reader};

/// A posting list of a kind of entity, of one tenant if the kind has tenants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PostingList {
    /// The kind of its entities.
    pub(crate) entity: EntityId,
    /// What its entities have in common.
    pub(crate) of: PostingOf,
    /// The name of its set, or where its rows are.
    pub(crate) name: KeyBytes,
}

/// What the entities of a posting list have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PostingOf {
    /// Their kind.
    Entity,
    /// A part of an ordered list.
    List(ListId),
    /// A value of a facet, within a part of an ordered list.
    Facet { list: ListId, field: FieldId, value: Value },
    /// Any value of a field.
    Present(FieldId),
    /// A bit of the value of a field.
    Slice(FieldId, u16),
    /// A term of a search.
    Term(Term),
    /// A tag.
    Tag { key: String, value: String },
    /// The key of a tag.
    TagKey { key: String },
    /// The tags of a declared combination, as keys and values.
    Combination(Vec<(String, String)>),
    /// A deletion that takes something from them.
    Deletion,
}

impl PostingOf {
    fn new(group: &PostingKey<'_>) -> PostingOf {
        match group {
            PostingKey::All => PostingOf::Entity,
            PostingKey::List(list, _) => PostingOf::List(*list),
            PostingKey::Facet(list, _, field, value) => {
                PostingOf::Facet { list: *list, field: *field, value: (*value).clone() }
            }
            PostingKey::Present(field) => PostingOf::Present(*field),
            PostingKey::Slice(field, slice) => PostingOf::Slice(*field, *slice),
            PostingKey::Term(_, term) => PostingOf::Term((*term).clone()),
            PostingKey::Tag(_, key, value) => {
                PostingOf::Tag { key: (*key).to_owned(), value: (*value).to_owned() }
            }
            PostingKey::TagKey(_, key) => PostingOf::TagKey { key: (*key).to_owned() },
            PostingKey::Combination(combination, values) => {
                let values = values.iter().map(|value| (*value).to_owned());
                PostingOf::Combination(combination.keys.iter().cloned().zip(values).collect())
            }
        }
    }
}

/// The kind of entity and the tenant that posting lists belong to.
#[derive(Clone, Copy)]
pub(crate) struct PostingOwner<'o> {
    pub(crate) layout: &'o Layout,
    pub(crate) entity: EntityId,
    pub(crate) tenant: Option<&'o Value>,
}

impl<'o> PostingOwner<'o> {
    /// Whose posting lists a request reads.
    pub(crate) fn of(reader: &Reader<'o>, request: &'o ListRequest) -> PostingOwner<'o> {
        let (entity, tenant) = (request.entity, request.tenant.as_ref());
        PostingOwner { layout: reader.layout, entity, tenant }
    }

    /// Returns a posting list. None if its name does not fit into a key: then no entity is in it,
    /// except for a declared combination, which is not stored then.
    pub(crate) fn list(&self, group: &PostingKey<'_>) -> Option<PostingList> {
        let name = |group| self.layout.postings().name(self.entity, self.tenant, group).ok();
        let found = name(group)?;
        let of = match group {
            // A list that every entity is in has no posting list of its own.
            PostingKey::List(..) if name(&PostingKey::All).as_ref() == Some(&found) => {
                PostingOf::Entity
            }
            group => PostingOf::new(group),
        };
        Some(PostingList { entity: self.entity, of, name: found })
    }
}

impl PostingList {
    /// Whether an entity that loses the reference in a field, named as in rows, leaves the list.
    pub(crate) fn depends_on(&self, entity: &Entity, field: &str) -> bool {
        let (list, facet) = match &self.of {
            PostingOf::List(list) => (entity.list(*list), None),
            PostingOf::Facet { list, field, .. } => (entity.list(*list), Some(field)),
            PostingOf::Present(id) | PostingOf::Slice(id, _) => {
                return entity.field(*id).stored == field;
            }
            PostingOf::Entity
            | PostingOf::Term(_)
            | PostingOf::Tag { .. }
            | PostingOf::TagKey { .. }
            | PostingOf::Combination(_)
            | PostingOf::Deletion => return false,
        };
        let tested = list.filter.iter().map(|test| &test.field);
        let ordered = list.order.iter().map(|order| &order.field);
        let mut fields = list.by.iter().chain(tested).chain(ordered).chain(facet);
        fields.any(|id| entity.field(*id).stored == field)
    }

    /// What the list is of, in the words of `explain`.
    pub(crate) fn describe(&self, entity: &Entity) -> String {
        match &self.of {
            PostingOf::Entity => format!("every `{}`", entity.name),
            PostingOf::List(list) => {
                format!("everything in the list `{}`", entity.list(*list).name)
            }
            PostingOf::Facet { field, value, .. } => {
                format!("`{}` is `{}`", entity.field(*field).name, text_of(value))
            }
            PostingOf::Present(field) => format!("any `{}`", entity.field(*field).name),
            PostingOf::Slice(field, slice) => {
                format!("bit {slice} of `{}`", entity.field(*field).name)
            }
            PostingOf::Term(term) => term.describe(),
            PostingOf::Tag { key, value } => format!("the tag `{key}:{value}`"),
            PostingOf::TagKey { key } => format!("any tag `{key}`"),
            PostingOf::Combination(pairs) => {
                let pairs = pairs.iter().map(|(key, value)| format!("{key}:{value}"));
                format!("the declared combination `{}`", pairs.collect::<Vec<_>>().join("` + `"))
            }
            PostingOf::Deletion => "what a deletion takes".to_owned(),
        }
    }
}

/// A value as text, without quotes.
pub(crate) fn text_of(value: &Value) -> String {
    value.as_s().map_or_else(|| value.to_string(), str::to_owned)
}
