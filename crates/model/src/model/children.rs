//! The kinds of children of an entity, and their names in documents that include them.

use super::Model;
use super::entity::Entity;
use super::field::FieldType;
use super::id::EntityId;

impl Model {
    /// Returns the kinds of children of an entity, in the order of the file, each with its name in
    /// a document of the parent: the last part of its path, with `_` for `-`. If the parent has a
    /// field or another child of that name, or the path has a character that names cannot have, it
    /// is the name of the entity instead, followed by `_` if that is taken too.
    pub fn children(&self, parent: EntityId) -> Vec<(String, EntityId)> {
        let is_child = |entity: &Entity| {
            let of = entity.parent.map(|field| &entity.field(field).of);
            matches!(of, Some(FieldType::Ref(target, _)) if *target == parent)
        };
        let kinds = self.entities().filter(|(_, entity)| is_child(entity));
        let mut named: Vec<(String, EntityId)> =
            kinds.map(|(id, entity)| (last_part(entity), id)).collect();
        // The name of an entity may be the last part of another's path: then the other one is
        // renamed in the next round.
        loop {
            let clashes = self.clashes(parent, &named);
            if clashes.is_empty() {
                break;
            }
            for index in clashes {
                named[index].0 = self.entity(named[index].1).name.clone();
            }
        }
        for index in 0..named.len() {
            while self.is_field(parent, &named[index].0) || is_shared(&named, index) {
                named[index].0.push('_');
            }
        }
        named
    }

    /// The indexes of names that are taken or invalid, and are not the name of their entity yet.
    fn clashes(&self, parent: EntityId, named: &[(String, EntityId)]) -> Vec<usize> {
        let clashes = |index: &usize| {
            let (name, id) = &named[*index];
            let is_taken = self.is_field(parent, name) || is_shared(named, *index);
            *name != self.entity(*id).name && (is_taken || name.contains('.'))
        };
        (0..named.len()).filter(clashes).collect()
    }

    fn is_field(&self, entity: EntityId, name: &str) -> bool {
        self.entity(entity).find_field(name).is_some()
    }
}

fn last_part(entity: &Entity) -> String {
    entity.path.rsplit('/').next().unwrap_or_default().replace('-', "_")
}

fn is_shared(named: &[(String, EntityId)], index: usize) -> bool {
    let mut others = named.iter().enumerate().filter(|(other, _)| *other != index);
    others.any(|(_, (name, _))| *name == named[index].0)
}
