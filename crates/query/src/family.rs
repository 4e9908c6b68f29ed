//! A parent with its children, whose rows follow its own.

use keyloom_model::attribute::SORT;
use keyloom_model::{EntityId, EntityKey, OwnRow, RowKey};
use keyloom_store::{Direction, Page, yield_point};
use keyloom_value::{Item, KeyBytes, Value};

use crate::fetch::unreadable;
use crate::fingerprint::Fingerprint;
use crate::partition::Partition;
use crate::request_error::{check_limit, check_tenant};
use crate::span::Span;
use crate::visible::{ATTEMPTS_MAX, ReadState, Verdict};
use crate::{CursorKey, Error, ReadCost, Reader, RequestError};

/// A request for children of a parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FamilyRequest {
    /// The parent.
    pub parent: EntityKey,
    /// The kinds of children.
    pub children: Children,
    /// The maximum number of children: 1 to 1,000.
    pub limit: u32,
}

/// Which children of a parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Children {
    /// Children of all kinds.
    All,
    /// Children of one kind.
    Of(EntityId),
}

/// A parent with its first children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Family {
    /// The parent.
    pub parent: OwnRow,
    /// Its children: by kind, then by id.
    pub children: Vec<OwnRow>,
    /// The cursor of more children, for [`Reader::children`]; absent if there are none for sure.
    pub next: Option<String>,
}

/// A page of a parent's children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildrenPage {
    /// By kind, then by id. There can be few, or none, on a page that is not the last.
    pub children: Vec<OwnRow>,
    /// The cursor of the next page; absent if nothing follows for sure.
    pub next: Option<String>,
    /// How much was read of the children, also of invisible ones.
    pub read: ReadCost,
}

/// A checked request.
struct Household {
    partition: KeyBytes,
    own_sort: KeyBytes,
    /// The sort keys of the children.
    span: Span,
    /// Whether one read returns the parent and all that is requested.
    is_together: bool,
    fingerprint: Fingerprint,
}

impl Reader<'_> {
    /// Returns a parent with its first children, if it exists and is visible. One read if children of
    /// all kinds are requested, or of the only kind that there is; otherwise two. A page has at most
    /// 1 MiB of rows: it can have fewer children than requested.
    ///
    /// # Errors
    ///
    /// If the request is invalid, the store fails, or a row is damaged.
    pub async fn family(
        &self,
        request: &FamilyRequest,
        cursors: &CursorKey,
    ) -> Result<Option<Family>, Error> {
        let household = self.household(request)?;
        if !household.fits() {
            return Ok(None);
        }
        let kin = self.kin(&household, request, cursors).await?;
        Ok(kin.map(|(parent, page)| Family { parent, children: page.children, next: page.next }))
    }

    /// Returns more children of a parent, after a cursor that came with the ones before, or the first
    /// ones; none if the parent does not exist or is invisible. Two reads.
    ///
    /// # Errors
    ///
    /// If the request is invalid, the cursor is of another query, the store fails, or a row is
    /// damaged.
    pub async fn children(
        &self,
        request: &FamilyRequest,
        cursors: &CursorKey,
        cursor: Option<&str>,
    ) -> Result<Option<ChildrenPage>, Error> {
        let mut household = self.household(request)?;
        household.is_together = false;
        if let Some(text) = cursor {
            let position = cursors.open(text, &household.fingerprint)?;
            household.span = household.span.after(&position, Direction::Forward);
        }
        let kin = self.kin(&household, request, cursors).await?;
        Ok(kin.map(|(_, children)| children))
    }

    /// Returns the first children of a parent that was just read and is visible. One read.
    ///
    /// # Errors
    ///
    /// As [`Reader::children`].
    pub async fn first_children(
        &self,
        request: &FamilyRequest,
        cursors: &CursorKey,
    ) -> Result<ChildrenPage, Error> {
        let household = self.household(request)?;
        let (mut state, limit) = (ReadState::default(), request.limit as usize);
        for _ in 0..ATTEMPTS_MAX {
            state.cost = ReadCost::default();
            let rows = household.child_rows(self, limit, &mut state.cost).await?;
            if let Some(seen) = self.settle_children(rows.children, &mut state).await? {
                let next = household.next(cursors, rows.last);
                return Ok(ChildrenPage { children: seen, next, read: state.cost });
            }
        }
        Err(Error::Unanswered { rows: limit })
    }

    /// Reads a parent and some of its children at one moment, as far as deletions are concerned. None
    /// if the parent is invisible.
    async fn kin(
        &self,
        household: &Household,
        request: &FamilyRequest,
        cursors: &CursorKey,
    ) -> Result<Option<(OwnRow, ChildrenPage)>, Error> {
        let (mut state, limit) = (ReadState::default(), request.limit as usize);
        for _ in 0..ATTEMPTS_MAX {
            state.cost = ReadCost::default();
            let (parent, rows) = match household.is_together {
                true => household.together(self, limit, &mut state.cost).await?,
                false => (self.get_any(&request.parent).await?, None),
            };
            let Some(parent) = parent else { return Ok(None) };
            let Some(mut parent) = state.settle(self, vec![parent]).await? else { continue };
            let Some(parent) = parent.pop().flatten() else { return Ok(None) };
            let rows = match rows {
                Some(rows) => rows,
                None => household.child_rows(self, limit, &mut state.cost).await?,
            };
            let Some(children) = self.settle_children(rows.children, &mut state).await? else {
                continue;
            };
            let read = state.cost;
            if state.confirm(self).await? == Verdict::Valid {
                let next = household.next(cursors, rows.last);
                return Ok(Some((parent, ChildrenPage { children, next, read })));
            }
        }
        Err(Error::Unanswered { rows: limit })
    }

    /// Returns what is visible of children; none if their rows must be read again.
    async fn settle_children(
        &self,
        children: Vec<OwnRow>,
        state: &mut ReadState,
    ) -> Result<Option<Vec<OwnRow>>, Error> {
        let seen = state.settle(self, children).await?;
        Ok(seen.map(|seen| seen.into_iter().flatten().collect()))
    }

    fn household(&self, request: &FamilyRequest) -> Result<Household, RequestError> {
        let FamilyRequest { parent, children, limit } = request;
        check_limit(*limit)?;
        check_tenant(self.layout, parent.entity, parent.tenant.as_ref())?;
        let kinds = self.child_kinds(parent.entity);
        let RowKey { partition, sort: own_sort } = self.layout.own_key(parent);
        let (span, asked) = match children {
            Children::All => {
                let (from, to) = self.layout.references().children_range(None);
                let all = Span::new(Some(from.into_vec()), Some(to));
                (all.after(own_sort.as_bytes(), Direction::Forward), kinds.clone())
            }
            Children::Of(child) if kinds.contains(child) => {
                let (from, to) = self.layout.references().children_range(Some(*child));
                (Span::new(Some(from.into_vec()), Some(to)), vec![*child])
            }
            Children::Of(child) => {
                let name = |id: EntityId| self.layout.model().entity(id).name.clone();
                let (parent, child) = (name(parent.entity), name(*child));
                return Err(RequestError::NotAChild { parent, child });
            }
        };
        let is_together = asked == kinds;
        let fingerprint = Fingerprint::of_children(self.layout, partition.as_bytes(), &asked);
        Ok(Household { partition, own_sort, span, is_together, fingerprint })
    }

    fn child_kinds(&self, parent: EntityId) -> Vec<EntityId> {
        let links = self.layout.references().to(parent).iter();
        let kinds =
            links.filter(|link| self.layout.model().entity(link.owner).parent == Some(link.field));
        kinds.map(|link| link.owner).collect()
    }
}

/// Children whose rows were read.
struct ChildRows {
    children: Vec<OwnRow>,
    /// Where more follow, if they do.
    last: Option<Vec<u8>>,
}

impl Household {
    /// Reads the parent and its first children at once. None if the parent is not there.
    async fn together(
        &self,
        reader: &Reader<'_>,
        limit: usize,
        cost: &mut ReadCost,
    ) -> Result<(Option<OwnRow>, Option<ChildRows>), Error> {
        let span = Span { from: Some(self.own_sort.as_bytes().to_vec()), ..self.span.clone() };
        let partition = Partition::of_table(self.partition.as_bytes());
        // The parent, and one child more than requested.
        let mut page = reader.page(partition.first(&span, limit + 2), cost).await?;
        let is_parent =
            |row: &Item| row.get(SORT).and_then(Value::as_b) == Some(self.own_sort.as_bytes());
        if !page.items.first().is_some_and(is_parent) {
            return Ok((None, None));
        }
        let parent = reader.read_own(page.items.remove(0))?;
        Ok((Some(parent), Some(self.read_children(reader, page, limit).await?)))
    }

    async fn child_rows(
        &self,
        reader: &Reader<'_>,
        limit: usize,
        cost: &mut ReadCost,
    ) -> Result<ChildRows, Error> {
        let partition = Partition::of_table(self.partition.as_bytes());
        let page = reader.page(partition.first(&self.span, limit + 1), cost).await?;
        self.read_children(reader, page, limit).await
    }

    async fn read_children(
        &self,
        reader: &Reader<'_>,
        mut page: Page,
        limit: usize,
    ) -> Result<ChildRows, Error> {
        let follows = page.items.len() > limit || page.last_key.is_some();
        page.items.truncate(limit);
        let mut children = Vec::with_capacity(page.items.len());
        for row in &page.items {
            yield_point().await;
            let child = reader.layout.read_child(row);
            children.push(child.map_err(|reason| unreadable(row, reason))?);
        }
        let last = page.items.last().and_then(|row| row.get(SORT)?.as_b());
        let last = last.unwrap_or(self.own_sort.as_bytes());
        Ok(ChildRows { children, last: follows.then(|| last.to_vec()) })
    }

    fn next(&self, cursors: &CursorKey, last: Option<Vec<u8>>) -> Option<String> {
        last.map(|last| cursors.seal(&self.fingerprint, &last))
    }

    /// Whether there can be such a parent.
    fn fits(&self) -> bool {
        self.partition.as_bytes().len() <= RowKey::PARTITION_BYTES_MAX
    }
}
