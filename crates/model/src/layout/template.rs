//! How keys are built, as data, to show to people. The other files of `layout` build the keys; a test
//! checks that both agree.

use super::counts::{Breakdown, COUNTED, names_in_key};
use super::expiry::EXPIRY;
use super::facets::FACETS;
use super::key::{CHILD, ENTITY, GUARD, OWN, REFERENCE};
use super::leaderboards::ENTRY;
use super::lists::LIST;
use super::ordinals::ORDINALS;
use super::{Layout, Link, Reason};
use crate::model::{
    BoardId, CaseMode, CountId, Direction, Entity, EntityId, FieldId, ListId, Ranking, UniqueId,
    WindowUnit,
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
    /// The value of a field of the entity, in the form that is compared: in an order, an enum by the
    /// position of its word.
    Field {
        /// Which one.
        field: FieldId,
        /// Up or down.
        direction: Direction,
        /// Whether case matters.
        case: CaseMode,
    },
    /// The value of a facet or its absence; of a long text, a prefix.
    Facet(FieldId),
    /// The number of entities with the value after it, the greatest first.
    Score,
    /// The beginning of a window of time.
    Window(WindowUnit),
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

/// How the keys of a layout are built.
#[derive(Clone, Copy, Debug)]
pub struct KeyTemplates<'l> {
    layout: &'l Layout,
}

impl<'l> KeyTemplates<'l> {
    pub(super) fn new(layout: &'l Layout) -> KeyTemplates<'l> {
        KeyTemplates { layout }
    }

    /// The keys of the rows of an entity, in the order of [`Layout::rows`].
    pub fn rows(&self, entity: EntityId) -> Vec<(Reason, KeyTemplate)> {
        let declared = self.layout.model().entity(entity);
        let own = (Reason::Own, self.own(declared));
        let guards = declared.uniques().map(|(id, _)| (Reason::Guard(id), self.guard(entity, id)));
        let links = self.layout.references().of(entity).iter();
        let links = links.map(|link| (Reason::Link(link.field), self.link(link)));
        std::iter::once(own).chain(guards).chain(links).collect()
    }

    /// The keys of a list.
    pub fn list(&self, entity: EntityId, list: ListId) -> KeyTemplate {
        let declared = self.layout.model().entity(entity);
        let is_by_ordinal = self.layout.layout_of(entity).slots.is_by_ordinal(list);
        let list = declared.list(list);
        let partition = match is_by_ordinal {
            true => partition(declared, &[ORDINALS, &declared.stored], &[]),
            false => partition(declared, &[LIST, &declared.stored, &list.name], &list.by),
        };
        let ordered = list.order.iter().map(|order| KeyPart::Field {
            field: order.field,
            direction: order.direction,
            case: CaseMode::Exact,
        });
        KeyTemplate { partition, sort: ordered.chain([KeyPart::field(FieldId(0))]).collect() }
    }

    /// The keys of the facet index of a list, if it has facets.
    pub fn facet(&self, entity: EntityId, list: ListId) -> Option<KeyTemplate> {
        self.layout.facets().slot(entity, list)?;
        let declared = self.layout.model().entity(entity);
        let entries = self.list(entity, list);
        let list = declared.list(list);
        let partition = partition(declared, &[FACETS, &declared.stored, &list.name], &list.by);
        let facets = list.facets.iter().copied().map(KeyPart::Facet);
        Some(KeyTemplate { partition, sort: facets.chain(entries.sort).collect() })
    }

    /// The keys of the index by time of expiry, if entities of this kind expire.
    pub fn expiry(&self, entity: EntityId) -> Option<KeyTemplate> {
        let declared = self.layout.model().entity(entity);
        let time = declared.expires?;
        let partition = vec![KeyPart::word(EXPIRY), KeyPart::word(&declared.stored)];
        let sort = [KeyPart::field(time)].into_iter().chain(tenant(declared));
        Some(KeyTemplate { partition, sort: sort.chain([KeyPart::field(FieldId(0))]).collect() })
    }

    /// The keys of the counters of a count that are split by all of its fields.
    pub fn count(&self, entity: EntityId, count: CountId) -> KeyTemplate {
        let declared = self.layout.model().entity(entity);
        let count = declared.count(count);
        let (fields, in_windows) = (count.split.clone(), count.window.is_some());
        let kept_by = Breakdown { fields, in_windows, in_order: None };
        let window = count.window.iter().map(|window| KeyPart::Window(window.unit));
        let values = count.split.iter().copied().map(KeyPart::field).chain(window);
        let sort =
            [KeyPart::word(&names_in_key(declared, &kept_by))].into_iter().chain(values).collect();
        let partition = partition(declared, &[COUNTED, &declared.stored, &count.name], &count.by);
        KeyTemplate { partition, sort }
    }

    /// The keys of the entries of a leaderboard.
    pub fn board(&self, entity: EntityId, board: BoardId) -> KeyTemplate {
        let declared = self.layout.model().entity(entity);
        let board = declared.board(board);
        let sort = match board.ranking {
            Ranking::Count(field) => vec![KeyPart::Score, KeyPart::field(field)],
            Ranking::Field(field) => {
                let (direction, case) = (Direction::Descending, CaseMode::Exact);
                let score = KeyPart::Field { field, direction, case };
                vec![score, KeyPart::field(FieldId(0))]
            }
        };
        let partition = partition(declared, &[ENTRY, &declared.stored, &board.name], &board.by);
        KeyTemplate { partition, sort }
    }

    fn own(&self, entity: &Entity) -> KeyTemplate {
        let partition = partition(entity, &[ENTITY, &entity.stored], &[FieldId(0)]);
        KeyTemplate { partition, sort: vec![KeyPart::Number(OWN)] }
    }

    fn guard(&self, id: EntityId, unique: UniqueId) -> KeyTemplate {
        let entity = self.layout.model().entity(id);
        let name = self.layout.uniques().name(id, unique);
        let unique = entity.unique(unique);
        let mut partition =
            partition(entity, &[GUARD, &entity.stored, name], unique.within.as_slice());
        partition.extend(unique.fields.iter().map(|field| KeyPart::Field {
            field: *field,
            direction: Direction::Ascending,
            case: unique.case,
        }));
        KeyTemplate { partition, sort: vec![KeyPart::Number(OWN)] }
    }

    fn link(&self, link: &Link) -> KeyTemplate {
        let Link { owner, field, target, .. } = *link;
        let (owner, target) =
            (self.layout.model().entity(owner), self.layout.model().entity(target));
        let partition = partition(target, &[ENTITY, &target.stored], &[field]);
        let kind = if owner.parent == Some(field) { CHILD } else { REFERENCE };
        let mut sort = vec![
            KeyPart::Number(kind),
            KeyPart::word(&owner.stored),
            KeyPart::word(&owner.field(field).stored),
        ];
        sort.extend(tenant(owner));
        sort.push(KeyPart::field(FieldId(0)));
        KeyTemplate { partition, sort }
    }
}

/// A partition key: words, the tenant if entities have one, and values of fields.
fn partition(entity: &Entity, words: &[&str], fields: &[FieldId]) -> Vec<KeyPart> {
    let words = words.iter().map(|word| KeyPart::word(word));
    let fields = fields.iter().copied().map(KeyPart::field);
    words.chain(tenant(entity)).chain(fields).collect()
}

fn tenant(entity: &Entity) -> Option<KeyPart> {
    entity.has_tenant().then_some(KeyPart::Tenant)
}
