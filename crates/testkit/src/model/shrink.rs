//! Drafts that are a little simpler than a given one, the largest cuts first.

use keyloom_model::IdSource;

use super::draft::{Draft, DraftEntity};

impl Draft {
    /// Returns valid drafts with one thing removed.
    pub(super) fn simpler(&self) -> impl Iterator<Item = Draft> + use<> {
        let mut found: Vec<Draft> =
            self.entities.iter().map(|entity| self.without_entity(&entity.name)).collect();
        if !self.handlers.is_empty() {
            found.push(Draft { handlers: vec![], ..self.clone() });
        }
        for (index, entity) in self.entities.iter().enumerate() {
            let changed = simpler_entities(entity).into_iter().map(|entity| {
                let mut draft = self.clone();
                draft.entities[index] = entity;
                draft
            });
            found.extend(changed);
        }
        found.into_iter().filter(|draft| draft.try_model().is_some())
    }
}

fn simpler_entities(entity: &DraftEntity) -> Vec<DraftEntity> {
    let mut found: Vec<DraftEntity> = vec![];
    let mut with = |change: &dyn Fn(&mut DraftEntity)| {
        let mut changed = entity.clone();
        change(&mut changed);
        if changed != *entity {
            found.push(changed);
        }
    };
    with(&|entity| {
        if let Some(parent) = entity.parent.take() {
            entity.drop_field(&parent.entity);
        }
    });
    for index in 0..entity.lists.len() {
        with(&|entity| drop(entity.lists.remove(index)));
    }
    for index in 0..entity.uniques.len() {
        with(&|entity| drop(entity.uniques.remove(index)));
    }
    with(&|entity| entity.counts.clear());
    with(&|entity| entity.boards.clear());
    with(&|entity| entity.combinations.clear());
    with(&|entity| entity.path = None);
    with(&|entity| entity.expires = None);
    with(&|entity| entity.shards = 1);
    with(&|entity| entity.read_only.clear());
    with(&|entity| entity.filters.clear());
    with(&|entity| entity.searched.clear());
    with(&|entity| entity.formats.clear());
    with(&|entity| entity.tenant = None);
    with(&|entity| entity.id_source = IdSource::Generated);
    for field in &entity.fields {
        with(&|entity| entity.drop_field(&field.name));
    }
    for index in 0..entity.fields.len() {
        with(&|entity| entity.fields[index].default = None);
    }
    for (index, list) in entity.lists.iter().enumerate() {
        with(&|entity| entity.lists[index].path = None);
        with(&|entity| entity.lists[index].filter.clear());
        with(&|entity| entity.lists[index].facets.clear());
        with(&|entity| entity.lists[index].shards = 1);
        for position in 0..list.order.len() {
            with(&|entity| drop(entity.lists[index].order.remove(position)));
        }
        for position in 0..list.by.len() {
            with(&|entity| drop(entity.lists[index].by.remove(position)));
        }
        for position in 0..list.filter.len() {
            with(&|entity| drop(entity.lists[index].filter.remove(position)));
        }
    }
    found
}
