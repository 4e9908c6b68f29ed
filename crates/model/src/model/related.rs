//! What can be read together with an entity, and what that is called.

use super::{CountId, Entity, EntityId, FieldId, FieldType, ListId, Model, PathPart};

/// Something that can be read together with an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Related {
    /// The target of one of its references.
    Reference(EntityId),
    /// Its children of one kind.
    Children(EntityId),
    /// A list of entities of a kind that refer to it.
    List(EntityId, ListId),
    /// A count of entities of a kind that refer to it.
    Count(EntityId, CountId),
}

impl Related {
    /// The kind of the related entities.
    pub fn entity(self) -> EntityId {
        match self {
            Related::Reference(entity)
            | Related::Children(entity)
            | Related::List(entity, _)
            | Related::Count(entity, _) => entity,
        }
    }
}

/// A list or a count whose only field of `by` is a reference to an entity.
struct Referring<'m> {
    related: Related,
    /// The entity that it is declared of.
    of: &'m Entity,
    name: &'m str,
    path: Option<&'m [PathPart]>,
}

impl Model {
    /// What can be read together with an entity: the targets of its references, by field; its children, as
    /// in [`Model::children`]; and the lists and counts of those that refer to it, by one field alone.
    ///
    /// The path of a list or a count that begins with the path of one such entity is its name, after that
    /// and with dots: that of `/posts/{post}/likes/count` is `likes.count`. If it has no such path, or the
    /// name is taken, it is called after its entity and itself: `like.of_post`, perhaps with `_`.
    pub fn related(&self, entity: EntityId) -> Vec<(String, Related)> {
        let mut named = self.direct(entity);
        let direct = named.clone();
        let is_taken = |named: &[(String, Related)], name: &str| {
            named.iter().any(|(other, _)| other == name) || self.is_path(&direct, name)
        };
        let mut others = vec![];
        for referring in self.referring(entity) {
            let name = referring.path.and_then(|path| name_in(self.entity(entity), path));
            match name.filter(|name| !is_taken(&named, name)) {
                Some(name) => named.push((name, referring.related)),
                None => others.push(referring),
            }
        }
        for Referring { related, of, name, .. } in others {
            let mut name = format!("{}.{name}", of.name);
            while is_taken(&named, &name) {
                name.push('_');
            }
            named.push((name, related));
        }
        named
    }

    /// References and children.
    fn direct(&self, entity: EntityId) -> Vec<(String, Related)> {
        let references = self.entity(entity).fields.iter().filter_map(|field| match field.of {
            FieldType::Ref(target, _) => Some((field.name.clone(), Related::Reference(target))),
            _ => None,
        });
        let children = self.children(entity).into_iter();
        let children = children.map(|(name, kind)| (name, Related::Children(kind)));
        references.chain(children).collect()
    }

    /// Whether a name with a dot is also a path of a reference or children, and one of theirs.
    fn is_path(&self, direct: &[(String, Related)], name: &str) -> bool {
        let Some((first, rest)) = name.split_once('.') else { return false };
        let second = rest.split('.').next().unwrap_or_default();
        direct.iter().filter(|(other, _)| other == first).any(|(_, related)| {
            self.direct(related.entity()).iter().any(|(other, _)| other == second)
        })
    }

    /// The lists and counts of entities that refer to one by one field. Not those of tenants, if the entity
    /// itself belongs to none: a caller without a tenant could not read them.
    fn referring(&self, target: EntityId) -> Vec<Referring<'_>> {
        let mut found = vec![];
        let has_tenant = self.tenant_field(target).is_some();
        for (id, of) in self.entities() {
            if self.tenant_field(id).is_some() && !has_tenant {
                continue;
            }
            let refers = |by: &[FieldId]| match by {
                [field] => {
                    matches!(of.field(*field).of, FieldType::Ref(other, _) if other == target)
                }
                _ => false,
            };
            let lists = of.lists().filter(|(_, list)| refers(&list.by));
            found.extend(lists.map(|(list, declared)| Referring {
                related: Related::List(id, list),
                of,
                name: &declared.name,
                path: declared.path.as_deref(),
            }));
            let counts = of.counts().filter(|(_, count)| refers(&count.by));
            found.extend(counts.map(|(count, declared)| Referring {
                related: Related::Count(id, count),
                of,
                name: &declared.name,
                path: declared.path.as_deref(),
            }));
        }
        found
    }
}

/// The name of what is served below the path of one entity.
fn name_in(entity: &Entity, path: &[PathPart]) -> Option<String> {
    let own = entity.path.split('/').skip(1);
    let (own, length) = (own.clone(), own.count());
    let (above, below) = path.split_at_checked(length)?;
    let is_same =
        |(part, own): (&PathPart, &str)| matches!(part, PathPart::Text(text) if text == own);
    let [PathPart::Field(_), below @ ..] = below else { return None };
    if !above.iter().zip(own).all(is_same) {
        return None;
    }
    let texts: Option<Vec<String>> = below
        .iter()
        .map(|part| match part {
            PathPart::Text(text) => Some(text.replace('-', "_")),
            PathPart::Field(_) => None,
        })
        .collect();
    texts.filter(|texts| !texts.is_empty()).map(|texts| texts.join("."))
}
