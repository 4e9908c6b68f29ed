//! A parent with its children, whose rows follow its own.

use keyloom_model::attribute::SORT;
use keyloom_model::{EntityId, Layout, OwnRow, RowKey};
use keyloom_store::{Direction, yield_point};
use keyloom_value::{Item, KeyBytes, Value};

use crate::error::unreadable;
use crate::fetch::{Rows, read_own};
use crate::fingerprint::Fingerprint;
use crate::partition::{MergedPage, MergedRequest, Partition};
use crate::request_error::{check_limit, check_tenant};
use crate::span::Span;
use crate::visible::{ATTEMPTS_MAX, ReadState, Verdict};
use crate::{
    Children, ChildrenPage, CursorKey, Error, Family, FamilyRequest, ReadCost, Reader, RequestError,
};

/// A checked request for children of a parent.
pub(crate) struct ChildrenQuery<'q> {
    reader: &'q Reader<'q>,
    request: &'q FamilyRequest,
    /// The own row of the parent.
    parent: RowKey,
    /// The partitions that its children are in: its own, or several if they have shards.
    partitions: Vec<KeyBytes>,
    /// Those from which children are moving there.
    earlier: Vec<KeyBytes>,
    /// The sort keys of the children.
    span: Span,
    /// Whether children of all kinds are requested, and follow the parent's own row: then one read
    /// returns both.
    has_all_kinds: bool,
    fingerprint: Fingerprint,
}

/// Children whose rows were read.
struct ChildRows {
    children: Vec<OwnRow>,
    /// Where more follow, if they do.
    last: Option<Vec<u8>>,
}

/// A parent and children of it, as they are stored.
struct FamilyRows {
    parent: OwnRow,
    /// None if they were not read together with the parent.
    children: Option<ChildRows>,
}

/// Whether a parent is read together with its children.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reads {
    Together,
    Apart,
}

impl<'q> ChildrenQuery<'q> {
    pub(crate) fn new(
        reader: &'q Reader<'q>,
        request: &'q FamilyRequest,
    ) -> Result<ChildrenQuery<'q>, RequestError> {
        let (layout, FamilyRequest { parent, children, limit }) = (reader.layout, request);
        check_limit(*limit)?;
        check_tenant(layout, parent.entity, parent.tenant.as_ref())?;
        let kinds = child_kinds(layout, parent.entity);
        let own_key = layout.own_key(parent);
        let of_kind = |child: Option<EntityId>| {
            let (from, to) = layout.references().children_range(child);
            Span::ALL.starting_at(Some(from.into_vec())).ending_at(Some(to))
        };
        let (span, asked) = match children {
            Children::All => {
                (of_kind(None).after(own_key.sort.as_bytes(), Direction::Forward), kinds.clone())
            }
            Children::Of(child) if kinds.contains(child) => (of_kind(Some(*child)), vec![*child]),
            Children::Of(child) => {
                let name = |id: EntityId| layout.model().entity(id).name.clone();
                let (parent, child) = (name(parent.entity), name(*child));
                return Err(RequestError::NotAChild { parent, child });
            }
        };
        let partitions = layout.references().partitions(parent);
        let earlier = layout.references().earlier_partitions(parent);
        let is_together = partitions == [own_key.partition.clone()] && earlier.is_empty();
        let has_all_kinds = asked == kinds && is_together;
        let fingerprint = Fingerprint::of_children(layout, own_key.partition.as_bytes(), &asked);
        let parent = own_key;
        Ok(ChildrenQuery {
            reader,
            request,
            parent,
            partitions,
            earlier,
            span,
            has_all_kinds,
            fingerprint,
        })
    }

    /// Returns the parent with its first children.
    pub(crate) async fn with_parent(&self, cursors: &CursorKey) -> Result<Option<Family>, Error> {
        if self.parent.partition.as_bytes().len() > RowKey::PARTITION_BYTES_MAX {
            return Ok(None);
        }
        let reads = if self.has_all_kinds { Reads::Together } else { Reads::Apart };
        let found = self.read(reads, cursors).await?;
        Ok(found.map(|(parent, page)| Family { parent, children: page.children, next: page.next }))
    }

    /// Returns the first children, or those after a cursor; none if the parent is invisible.
    pub(crate) async fn page(
        mut self,
        cursors: &CursorKey,
        cursor: Option<&str>,
    ) -> Result<Option<ChildrenPage>, Error> {
        if let Some(text) = cursor {
            let position = cursors.open(text, &self.fingerprint)?;
            self.span = self.span.after(&position, Direction::Forward);
        }
        let found = self.read(Reads::Apart, cursors).await?;
        Ok(found.map(|(_, children)| children))
    }

    /// Returns the first children, without reading the parent.
    pub(crate) async fn first_page(&self, cursors: &CursorKey) -> Result<ChildrenPage, Error> {
        let mut state = ReadState::default();
        for _ in 0..ATTEMPTS_MAX {
            state.cost = ReadCost::default();
            let ChildRows { children, last } = self.child_rows(&mut state.cost).await?;
            if let Some(children) = state.settle(self.reader, children).await? {
                let children = children.into_iter().flatten().collect();
                let next = self.next(cursors, last);
                return Ok(ChildrenPage { children, next, read: state.cost });
            }
        }
        Err(Error::Unanswered { rows: self.limit() })
    }

    /// Reads the parent and some of its children at one moment, as far as deletions are concerned.
    /// None if the parent is invisible.
    async fn read(
        &self,
        reads: Reads,
        cursors: &CursorKey,
    ) -> Result<Option<(OwnRow, ChildrenPage)>, Error> {
        let mut state = ReadState::default();
        for _ in 0..ATTEMPTS_MAX {
            state.cost = ReadCost::default();
            let Some(FamilyRows { parent, children }) =
                self.family_rows(reads, &mut state.cost).await?
            else {
                return Ok(None);
            };
            let Some(mut parent) = state.settle(self.reader, vec![parent]).await? else { continue };
            let Some(parent) = parent.pop().flatten() else { return Ok(None) };
            let ChildRows { children, last } = match children {
                Some(children) => children,
                None => self.child_rows(&mut state.cost).await?,
            };
            let Some(children) = state.settle(self.reader, children).await? else { continue };
            let (children, read) = (children.into_iter().flatten().collect(), state.cost);
            if state.confirm(self.reader.rows()).await? == Verdict::Valid {
                let next = self.next(cursors, last);
                return Ok(Some((parent, ChildrenPage { children, next, read })));
            }
        }
        Err(Error::Unanswered { rows: self.limit() })
    }

    /// Reads the parent, with its first children if they are read together. None if it is not there.
    async fn family_rows(
        &self,
        reads: Reads,
        cost: &mut ReadCost,
    ) -> Result<Option<FamilyRows>, Error> {
        if reads == Reads::Apart {
            let parent = self.reader.get_any(&self.request.parent).await?;
            return Ok(parent.map(|parent| FamilyRows { parent, children: None }));
        }
        let own_sort = self.parent.sort.as_bytes();
        let span = Span { from: Some(own_sort.to_vec()), ..self.span.clone() };
        // The parent, and one child more than requested.
        let mut page = self.page_of(&span, self.limit() + 2, cost).await?;
        let is_parent = |row: &Item| row.get(SORT).and_then(Value::as_b) == Some(own_sort);
        if !page.items.first().is_some_and(is_parent) {
            return Ok(None);
        }
        let parent = read_own(self.reader.layout, page.items.remove(0))?;
        let children = Some(self.read_children(page).await?);
        Ok(Some(FamilyRows { parent, children }))
    }

    async fn child_rows(&self, cost: &mut ReadCost) -> Result<ChildRows, Error> {
        let page = self.page_of(&self.span, self.limit() + 1, cost).await?;
        self.read_children(page).await
    }

    /// Reads rows of the family, in key order.
    async fn page_of(
        &self,
        span: &Span,
        limit: usize,
        cost: &mut ReadCost,
    ) -> Result<MergedPage, Error> {
        let now = Partitions { keys: &self.partitions, span, limit };
        if self.earlier.is_empty() {
            return now.read(self.reader.rows(), cost).await;
        }
        // A child that moves meanwhile is read twice, and never missed.
        let earlier = Partitions { keys: &self.earlier, span, limit };
        let earlier = earlier.read(self.reader.rows(), cost).await?;
        Ok(earlier.or(now.read(self.reader.rows(), cost).await?))
    }

    async fn read_children(&self, mut page: MergedPage) -> Result<ChildRows, Error> {
        let follows = page.items.len() > self.limit() || page.last.is_some();
        page.items.truncate(self.limit());
        let mut children = Vec::with_capacity(page.items.len());
        for row in &page.items {
            yield_point().await;
            let child = self.reader.layout.read_child(row);
            children.push(child.map_err(|reason| unreadable(row, reason))?);
        }
        let last = page.items.last().and_then(|row| row.get(SORT)?.as_b());
        let last = last.unwrap_or(self.parent.sort.as_bytes());
        Ok(ChildRows { children, last: follows.then(|| last.to_vec()) })
    }

    fn limit(&self) -> usize {
        self.request.limit as usize
    }

    fn next(&self, cursors: &CursorKey, last: Option<Vec<u8>>) -> Option<String> {
        last.map(|last| cursors.seal(&self.fingerprint, &last))
    }
}

/// Rows of a family in some partitions.
struct Partitions<'p> {
    keys: &'p [KeyBytes],
    span: &'p Span,
    limit: usize,
}

impl Partitions<'_> {
    async fn read(&self, rows: Rows<'_>, cost: &mut ReadCost) -> Result<MergedPage, Error> {
        let partitions = self.keys.iter().map(|key| Partition::of_table(key.as_bytes()));
        let partitions: Vec<Partition<'_>> = partitions.collect();
        let (span, direction, limit) = (self.span, Direction::Forward, self.limit);
        let request = MergedRequest { partitions: &partitions, span, direction, limit };
        request.read(rows, cost).await
    }
}

/// The kinds of children that a parent can have.
fn child_kinds(layout: &Layout, parent: EntityId) -> Vec<EntityId> {
    let links = layout.references().to(parent).iter();
    let kinds = links.filter(|link| layout.model().entity(link.owner).parent == Some(link.field));
    kinds.map(|link| link.owner).collect()
}
