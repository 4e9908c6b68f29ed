//! The declared queries that one path answers.

use keyloom_model::{Entity, EntityId, FieldId, Grantees, ListId, UniqueId};

use super::segment::Segment;

/// The queries that one path answers, all of one entity.
#[derive(Clone, Debug)]
pub(crate) struct PathQueries {
    pub(crate) entity: EntityId,
    /// The fields whose values the path contains, in its order.
    pub(crate) in_path: Vec<FieldId>,
    pub(crate) lists: Vec<ListId>,
    pub(crate) uniques: Vec<UniqueId>,
    pub(crate) wanted: Wanted,
}

/// What a request wants of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// A page, which bounds on the order fields can narrow.
    Page,
    /// Counts.
    Counts,
}

impl PathQueries {
    /// The queries of an entity by path: lists at their own, uniques at the entity's, lists without a path
    /// under `lists`.
    pub(crate) fn by_path(id: EntityId, entity: &Entity) -> Vec<(Vec<Segment>, PathQueries)> {
        let own = Segment::path_of(entity);
        let mut paths: Vec<(Vec<Segment>, PathQueries)> = vec![];
        let mut at = |path: Vec<Segment>, in_path: Vec<FieldId>| -> usize {
            let index = paths.iter().position(|(other, _)| *other == path);
            index.unwrap_or_else(|| {
                let (lists, uniques, wanted) = (vec![], vec![], Wanted::Page);
                paths.push((path, PathQueries { entity: id, in_path, lists, uniques, wanted }));
                paths.len() - 1
            })
        };
        let mut found = vec![];
        for (list_id, list) in entity.lists() {
            let (path, in_path) = match &list.path {
                Some(parts) => Segment::declared_path(entity, parts),
                None => {
                    let below = [Segment::text("lists"), Segment::text(&list.name)];
                    ([&own[..], &below].concat(), vec![])
                }
            };
            found.push((at(path, in_path), Some(list_id), None));
        }
        for (unique_id, _) in entity.uniques() {
            found.push((at(own.clone(), vec![]), None, Some(unique_id)));
        }
        for (index, list, unique) in found {
            let queries = &mut paths[index].1;
            queries.lists.extend(list);
            queries.uniques.extend(unique);
        }
        paths
    }

    /// The rules about reading what it returns.
    pub(crate) fn readers<'m>(&self, entity: &'m Entity) -> Vec<&'m Grantees> {
        let lists = self.lists.iter().map(|list| &entity.list(*list).readers);
        let uniques = self.uniques.iter().map(|_| &entity.access.read);
        lists.chain(uniques).collect()
    }

    /// The lists for which `is_counted` holds, to count in them.
    pub(crate) fn counted(&self, is_counted: impl Fn(&ListId) -> bool) -> PathQueries {
        PathQueries {
            lists: self.lists.iter().copied().filter(is_counted).collect(),
            uniques: vec![],
            wanted: Wanted::Counts,
            ..self.clone()
        }
    }
}
