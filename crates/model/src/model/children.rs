//! What kinds of children an entity has, and what they are called beside its fields.

use super::{Entity, EntityId, FieldType, Model};

impl Model {
    /// The kinds of children that entities of a kind have, in the order of the file, each with the
    /// name by which it is asked for together with its parent: the last part of its path, with `_`
    /// for `-`. If a field of the parent or another kind of child is called so, or a name cannot
    /// have such a letter, it is the name of the entity, with `_` after it if that is a field's.
    pub fn children(&self, parent: EntityId) -> Vec<(String, EntityId)> {
        let is_child = |entity: &Entity| {
            let of = entity.parent.map(|field| &entity.field(field).of);
            matches!(of, Some(FieldType::Ref(target, _)) if *target == parent)
        };
        let kinds = self.entities().filter(|(_, entity)| is_child(entity));
        let mut named: Vec<(String, EntityId)> =
            kinds.map(|(id, entity)| (last_part(entity), id)).collect();
        // The name of an entity may be the last part of another's path: then that one gives way.
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

    /// Those whose name is not theirs alone, and not the name of their entity yet.
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
