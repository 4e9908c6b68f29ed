//! What a read depends on, and whether a change affects it.

use std::sync::Arc;

use keyloom_model::{BoardId, CountId, EntityId, EntityKey, Layout};
use keyloom_value::{KeyBytes, Value};

use crate::entity_change::{EntityChange, Placed};
use crate::kept_page::KeptPage;
use crate::listed::Listed;
use crate::span::Span;
use crate::topic::{Filtered, Topic};
use crate::{BoardRequest, Children, CountRequest, FamilyRequest, ListRequest, UniqueRequest};

/// What one read depends on.
#[derive(Clone, Debug)]
pub(crate) enum Dependency {
    /// An entity, or that there is none.
    Entity(EntityKey),
    /// The owner of a unique value.
    Unique(UniqueRequest),
    /// The children of an entity.
    Children(FamilyRequest),
    /// A page of a list.
    Page(PageRead),
    /// How many entities a list has, with a filter.
    Total(ListRequest),
    /// Which values the entities of a list have, with a filter.
    Values(ListRequest),
    /// The numbers of a count.
    Count(CountRequest),
    /// The entries of a leaderboard.
    Board(BoardRequest),
}

/// A page of a list, and how far the list was read for it.
#[derive(Clone, Debug)]
pub(crate) struct PageRead {
    pub(crate) request: ListRequest,
    /// The positions that could be on the page.
    pub(crate) span: Span,
    /// Those that were not looked at.
    pub(crate) left: Span,
    /// What was read, if it can be brought up to date.
    pub(crate) kept: Option<Arc<KeptPage>>,
}

impl Dependency {
    /// Topics of which every change that affects the read has one.
    pub(crate) fn topics(&self, layout: &Layout) -> Vec<Topic> {
        match self {
            Dependency::Entity(key) => vec![Topic::entity(layout, key)],
            Dependency::Unique(request) => guard(layout, request).into_iter().collect(),
            Dependency::Children(request) => {
                let references = layout.references();
                let earlier = references.earlier_partitions(&request.parent);
                references
                    .partitions(&request.parent)
                    .iter()
                    .chain(&earlier)
                    .map(Topic::links)
                    .collect()
            }
            Dependency::Page(PageRead { request, .. })
            | Dependency::Total(request)
            | Dependency::Values(request) => of_list(layout, request),
            Dependency::Count(request) => of_count(layout, request),
            Dependency::Board(request) => of_board(layout, request),
        }
    }

    fn has_topic_of(&self, layout: &Layout, change: &EntityChange) -> bool {
        self.topics(layout).iter().any(|topic| change.topics().binary_search(topic).is_ok())
    }

    /// Whether a change can change what was read.
    pub(crate) fn is_affected(&self, layout: &Layout, change: &EntityChange) -> bool {
        match self {
            Dependency::Entity(key) => change.sides().any(|side| side.image.key == *key),
            Dependency::Unique(_) => self.has_topic_of(layout, change),
            Dependency::Children(request) => {
                let is_child = |side: &Placed| match request.children {
                    Children::All => true,
                    Children::Of(kind) => side.image.key.entity == kind,
                };
                change.sides().any(is_child) && self.has_topic_of(layout, change)
            }
            Dependency::Page(page) => change.sides().any(|side| page.has(layout, side)),
            Dependency::Total(request) => {
                let has = |side: &Option<Placed>| {
                    side.as_ref().is_some_and(|side| position(layout, request, side).is_some())
                };
                has(&change.old) != has(&change.new)
            }
            Dependency::Values(request) => {
                change.sides().any(|side| position(layout, request, side).is_some())
            }
            Dependency::Count(request) => differs(change, &of_count(layout, request)),
            Dependency::Board(request) => {
                differs(change, &of_board(layout, request))
                    || has_moved(layout, request, change)
                    || change.is_settled && self.has_topic_of(layout, change)
            }
        }
    }
}

impl PageRead {
    /// Whether an entity is on the page, or next to it.
    fn has(&self, layout: &Layout, side: &Placed) -> bool {
        let position = position(layout, &self.request, side);
        position.is_some_and(|position| self.span.has(&position) && !self.left.has(&position))
    }
}

/// The position of an entity in a list, if the request selects it.
fn position(layout: &Layout, request: &ListRequest, side: &Placed) -> Option<Vec<u8>> {
    let listed = Listed { layout, request };
    if side.image.key.entity != request.entity {
        return None;
    }
    // A request that was answered is valid.
    listed.position(&side.image, side.own()?).ok()?
}

/// Whether what an entity adds to counters of these topics has changed.
fn differs(change: &EntityChange, topics: &[Topic]) -> bool {
    let added = |side: &Option<Placed>| -> Vec<_> {
        side.iter().flat_map(|side| side.added_to(topics)).cloned().collect()
    };
    added(&change.old) != added(&change.new)
}

/// Whether the entry of an entity on a leaderboard of entities has changed.
fn has_moved(layout: &Layout, request: &BoardRequest, change: &EntityChange) -> bool {
    let slot = layout.leaderboards().slot(request.entity, request.board);
    let entry = |side: &Option<Placed>| -> Option<(Value, Value)> {
        let side = side.as_ref().filter(|side| side.image.key.entity == request.entity)?;
        let own = side.own()?;
        let part = |name: &str| own.get(name).cloned();
        Some((part(slot.partition().as_str())?, part(slot.sort().as_str())?))
    };
    entry(&change.old) != entry(&change.new)
}

fn guard(layout: &Layout, request: &UniqueRequest) -> Option<Topic> {
    let UniqueRequest { entity, tenant, unique, values } = request;
    // The key of a guard has only the kind and the tenant of its owner.
    let anyone = EntityKey { entity: *entity, tenant: tenant.clone(), id: String::new() };
    let key = layout.uniques().guard_key(&anyone, *unique, values).ok();
    key.as_ref().map(Topic::guard)
}

fn of_list(layout: &Layout, request: &ListRequest) -> Vec<Topic> {
    let ListRequest { entity, list, tenant, by, .. } = request;
    let filtered = Filtered { layout, entity: *entity, list: *list, tenant: tenant.as_ref(), by };
    if let Some(topics) = request.filter.as_ref().and_then(|filter| filtered.topics(filter)) {
        return topics;
    }
    let of = (*entity, *list);
    let partition = layout.lists().partition(of, tenant.as_ref(), by);
    let shards = partition.and_then(|partition| layout.lists().shards(of, &partition));
    shards.unwrap_or_default().iter().map(|shard| Topic::index(shard.as_bytes())).collect()
}

fn of_count(layout: &Layout, request: &CountRequest) -> Vec<Topic> {
    let of: (EntityId, CountId) = (request.entity, request.count);
    let partition = layout.counts().partition(of, request.tenant.as_ref(), &request.by);
    let shards = partition.and_then(|partition| layout.counts().shards(of, &partition));
    shards.unwrap_or_default().iter().map(Topic::counters).collect()
}

fn of_board(layout: &Layout, request: &BoardRequest) -> Vec<Topic> {
    let of: (EntityId, BoardId) = (request.entity, request.board);
    let boards = layout.leaderboards();
    let Ok(partition) = boards.partition(of, request.tenant.as_ref(), &request.by) else {
        return vec![];
    };
    // Entries are counters, or in the rows of entities.
    let of_entries =
        |entries: &KeyBytes| [Topic::counters(entries), Topic::index(entries.as_bytes())];
    boards.entries(of, &partition).iter().flat_map(of_entries).collect()
}
