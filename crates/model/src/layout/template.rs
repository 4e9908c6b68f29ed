//! How the keys of an entity are made, as plain data: for people who want to see it. The keys
//! themselves are made in `key.rs` and `rows.rs`; a test keeps both the same.

use super::counter::{COUNTED, PLACE};
use super::facets::FACETS;
use super::key::{CHILD, ENTITY, GUARD, OWN, REFERENCE};
use super::rows::{EXPIRY, LIST, NUMBERS};
use super::{Layout, Reason};
use crate::model::{
    BoardId, CaseMode, CountId, Direction, Entity, EntityId, FieldId, ListId, Ranking,
};

/// One part of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyPart {
    /// Always this word.
    Word(String),
    /// Always this number.
    Number(i32),
    /// The tenant that the entity belongs to.
    Tenant,
    /// The value of a field of the entity, as it is compared: in an order, an enum by the place of
    /// its word.
    Field {
        /// Which one.
        field: FieldId,
        /// Up or down.
        direction: Direction,
        /// Whether case matters.
        case: CaseMode,
    },
    /// The value of a facet, or that it is absent; of a long text the beginning.
    Facet(FieldId),
    /// How many entities have the value that comes after it, the greatest first.
    Score,
}

/// The two keys of a row, in its table or in an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyTemplate {
    /// The partition key.
    pub partition: Vec<KeyPart>,
    /// The sort key.
    pub sort: Vec<KeyPart>,
}

impl KeyPart {
    fn word(word: &str) -> KeyPart {
        KeyPart::Word(word.to_owned())
    }

    fn field(field: FieldId) -> KeyPart {
        KeyPart::Field { field, direction: Direction::Ascending, case: CaseMode::Exact }
    }
}

impl Layout {
    /// How the rows of an entity are keyed, in the order of [`Layout::rows`].
    pub fn row_templates(&self, entity: EntityId) -> Vec<(Reason, KeyTemplate)> {
        let declared = self.model().entity(entity);
        let own = (Reason::Own, self.own_template(declared));
        let guards = declared
            .uniques()
            .map(|(id, _)| (Reason::Guard(id), self.guard_template((entity, declared), id)));
        let links = self.links(entity).iter().map(|link| {
            (Reason::Link(link.field), self.link_template(declared, (link.field, link.target)))
        });
        std::iter::once(own).chain(guards).chain(links).collect()
    }

    /// How the places in a list are keyed.
    pub fn list_template(&self, entity: EntityId, list: ListId) -> KeyTemplate {
        let declared = self.model().entity(entity);
        let is_by_number = self.layout_of(entity).slots.is_by_number(list);
        let list = declared.list(list);
        let mut partition = match is_by_number {
            true => vec![KeyPart::word(NUMBERS), KeyPart::word(&declared.name)],
            false => {
                vec![KeyPart::word(LIST), KeyPart::word(&declared.name), KeyPart::word(&list.name)]
            }
        };
        partition.extend(tenant(declared));
        partition.extend(list.by.iter().copied().map(KeyPart::field));
        let ordered = list.order.iter().map(|order| KeyPart::Field {
            field: order.field,
            direction: order.direction,
            case: CaseMode::Exact,
        });
        KeyTemplate { partition, sort: ordered.chain([KeyPart::field(FieldId(0))]).collect() }
    }

    /// How the places of a list by facet are keyed, if it has facets.
    pub fn facet_template(&self, entity: EntityId, list: ListId) -> Option<KeyTemplate> {
        self.facet_slot(entity, list)?;
        let declared = self.model().entity(entity);
        let places = self.list_template(entity, list);
        let list = declared.list(list);
        let mut partition =
            vec![KeyPart::word(FACETS), KeyPart::word(&declared.name), KeyPart::word(&list.name)];
        partition.extend(tenant(declared));
        partition.extend(list.by.iter().copied().map(KeyPart::field));
        let facets = list.facets.iter().copied().map(KeyPart::Facet);
        Some(KeyTemplate { partition, sort: facets.chain(places.sort).collect() })
    }

    /// How the places in the list by time of expiry are keyed, if entities of this kind expire.
    pub fn expiry_template(&self, entity: EntityId) -> Option<KeyTemplate> {
        let declared = self.model().entity(entity);
        let time = declared.expires?;
        let partition = vec![KeyPart::word(EXPIRY), KeyPart::word(&declared.name)];
        let sort = [KeyPart::field(time)].into_iter().chain(tenant(declared));
        Some(KeyTemplate { partition, sort: sort.chain([KeyPart::field(FieldId(0))]).collect() })
    }

    /// How the numbers of a count are keyed that are told by all fields that it is split by.
    pub fn count_template(&self, entity: EntityId, count: CountId) -> KeyTemplate {
        let declared = self.model().entity(entity);
        let count = declared.count(count);
        let names: Vec<&str> =
            count.split.iter().map(|field| declared.field(*field).name.as_str()).collect();
        let values = count.split.iter().copied().map(KeyPart::field);
        let sort = [KeyPart::word(&names.join(","))].into_iter().chain(values).collect();
        let partition = numbered(declared, (COUNTED, &count.name), &count.by);
        KeyTemplate { partition, sort }
    }

    /// How the places on a board are keyed.
    pub fn board_template(&self, entity: EntityId, board: BoardId) -> KeyTemplate {
        let declared = self.model().entity(entity);
        let board = declared.board(board);
        let sort = match board.ranking {
            Ranking::Count(field) => vec![KeyPart::Score, KeyPart::field(field)],
            Ranking::Field(field) => {
                let (direction, case) = (Direction::Descending, CaseMode::Exact);
                let score = KeyPart::Field { field, direction, case };
                vec![score, KeyPart::field(FieldId(0))]
            }
        };
        KeyTemplate { partition: numbered(declared, (PLACE, &board.name), &board.by), sort }
    }

    fn own_template(&self, entity: &Entity) -> KeyTemplate {
        let mut partition = vec![KeyPart::word(ENTITY), KeyPart::word(&entity.name)];
        partition.extend(tenant(entity));
        partition.push(KeyPart::field(FieldId(0)));
        KeyTemplate { partition, sort: vec![KeyPart::Number(OWN)] }
    }

    fn guard_template(
        &self,
        (id, entity): (EntityId, &Entity),
        unique: crate::UniqueId,
    ) -> KeyTemplate {
        let mut partition = vec![
            KeyPart::word(GUARD),
            KeyPart::word(&entity.name),
            KeyPart::word(self.unique_name(id, unique)),
        ];
        let unique = entity.unique(unique);
        partition.extend(tenant(entity));
        partition.extend(unique.within.map(KeyPart::field));
        partition.extend(unique.fields.iter().map(|field| KeyPart::Field {
            field: *field,
            direction: Direction::Ascending,
            case: unique.case,
        }));
        KeyTemplate { partition, sort: vec![KeyPart::Number(OWN)] }
    }

    fn link_template(&self, owner: &Entity, (field, target): (FieldId, EntityId)) -> KeyTemplate {
        let target = self.model().entity(target);
        let mut partition = vec![KeyPart::word(ENTITY), KeyPart::word(&target.name)];
        partition.extend(tenant(target));
        partition.push(KeyPart::field(field));
        let kind = if owner.parent == Some(field) { CHILD } else { REFERENCE };
        let mut sort = vec![
            KeyPart::Number(kind),
            KeyPart::word(&owner.name),
            KeyPart::word(&owner.field(field).name),
        ];
        sort.extend(tenant(owner));
        sort.push(KeyPart::field(FieldId(0)));
        KeyTemplate { partition, sort }
    }
}

fn numbered(entity: &Entity, (letter, name): (&str, &str), by: &[FieldId]) -> Vec<KeyPart> {
    let mut parts = vec![KeyPart::word(letter), KeyPart::word(&entity.name), KeyPart::word(name)];
    parts.extend(tenant(entity));
    parts.extend(by.iter().copied().map(KeyPart::field));
    parts
}

fn tenant(entity: &Entity) -> Option<KeyPart> {
    entity.has_tenant().then_some(KeyPart::Tenant)
}
