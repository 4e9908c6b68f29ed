//! Columns: for each ordered list that can be filtered, the sort keys of its entities by ordinal.
//! With them, matches of a filter are sorted into list order without reading entities.

use keyloom_value::{KeyBytes, Name};

use super::key::words;
use super::ordinals::ORDINALS;
use super::{ListKeys, Matching, attribute};
use crate::model::{Direction, Entity, EntityId, List, ListId};

/// A column that a layout needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name: the entity, the slots and the directions. It is the same column as long as these
    /// are the same.
    pub name: String,
    /// The attribute with the kind and the tenant, within which ordinals are unique.
    pub partition: Name,
    /// The prefix of the partitions of this kind.
    pub prefix: KeyBytes,
    /// The attribute that holds the ordinal.
    pub ordinal: Name,
    /// The attribute that holds the sort key in the list.
    pub value: Name,
    /// The directions of the fields of its order, which the sort key begins with.
    pub order: Vec<Direction>,
}

impl ListKeys<'_> {
    /// Every column that the table needs; none where posting lists are rows.
    pub fn columns(&self) -> Vec<Column> {
        let lists = self.layout.model().entities();
        let lists = lists.flat_map(|(id, entity)| entity.lists().map(move |(list, _)| (id, list)));
        lists.filter_map(|(id, list)| self.column(id, list)).collect()
    }

    /// The column of a list, if it has one.
    pub fn column(&self, id: EntityId, list: ListId) -> Option<Column> {
        let entity = self.layout.model().entity(id);
        let by_ordinal = self.layout.ordinals().slot(id)?;
        if self.layout.matching() != Matching::Sets
            || !is_filtered_and_ordered(entity, entity.list(list))
        {
            return None;
        }
        let slot = self.slot(id, list);
        let order: Vec<Direction> =
            entity.list(list).order.iter().map(|order| order.direction).collect();
        let directions: String = order.iter().map(letter).collect();
        Some(Column {
            name: format!("{}.{}.{}.{directions}", entity.stored, by_ordinal.index(), slot.index()),
            partition: by_ordinal.partition(),
            prefix: words(&[ORDINALS, &entity.stored]),
            ordinal: Name::from(attribute::ORDINAL),
            value: slot.sort(),
            order,
        })
    }
}

fn letter(direction: &Direction) -> char {
    match direction {
        Direction::Ascending => 'a',
        Direction::Descending => 'd',
    }
}

fn is_filtered_and_ordered(entity: &Entity, list: &List) -> bool {
    entity.is_filtered(list) && !list.order.is_empty()
}
