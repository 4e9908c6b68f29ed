//! A parent with its children, which stand right after it.

use keyloom_model::attribute::{PARTITION, SORT};
use keyloom_model::{EntityId, EntityKey, OwnRow, RowKey};
use keyloom_store::{Direction, Page, yield_point};
use keyloom_value::{Item, KeyBytes, Value};

use crate::fetch::unreadable;
use crate::fingerprint::Fingerprint;
use crate::request_error::{check_limit, check_tenant};
use crate::span::{Place, Span};
use crate::visible::{ATTEMPTS_MAX, Deletions, Verdict};
use crate::{CursorKey, Error, ReadCost, Reader, RequestError};

/// Which children of which parent to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FamilyRequest {
    /// The parent.
    pub parent: EntityKey,
    /// Which children.
    pub children: Children,
    /// How many children, at most: 1 to 1,000.
    pub limit: u32,
}

/// Which children of a parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Children {
    /// Those of all kinds.
    All,
    /// Those of one kind.
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
    /// What was read of the children, those that are not seen too.
    pub read: ReadCost,
}

/// A checked request.
struct Household {
    partition: KeyBytes,
    own_sort: KeyBytes,
    /// The sort keys of the children.
    span: Span,
    /// Whether the parent stands right before all that is asked for.
    is_together: bool,
    fingerprint: Fingerprint,
}

impl Reader<'_> {
    /// A parent with its first children, if it is there and seen. One read if children of all
    /// kinds are asked for, or of the only kind that there is; otherwise two. A page has at most
    /// 1 MiB of rows: it can have fewer children than asked for.
    ///
    /// # Errors
    ///
    /// If the question makes no sense, the store fails, or a row is damaged.
    pub async fn family(
        &self,
        request: &FamilyRequest,
        cursors: &CursorKey,
    ) -> Result<Option<Family>, Error> {
        let household = self.household(request)?;
        if !household.fits() {
            return Ok(None);
        }
        let kin =
            self.kin((&household, request), (&household.span, household.is_together), cursors);
        let kin = kin.await?;
        Ok(kin.map(|(parent, page)| Family { parent, children: page.children, next: page.next }))
    }

    /// More children of a parent, after a cursor that came with the ones before, or the first
    /// ones; none if the parent is not there or not seen any more. Two reads.
    ///
    /// # Errors
    ///
    /// If the question makes no sense, the cursor is not one of it, the store fails, or a row is
    /// damaged.
    pub async fn children(
        &self,
        request: &FamilyRequest,
        cursors: &CursorKey,
        cursor: Option<&str>,
    ) -> Result<Option<ChildrenPage>, Error> {
        let household = self.household(request)?;
        let mut span = household.span.clone();
        if let Some(text) = cursor {
            let position = cursors.open(text, &household.fingerprint)?;
            span = span.after(&position, Direction::Forward);
        }
        let kin = self.kin((&household, request), (&span, false), cursors).await?;
        Ok(kin.map(|(_, children)| children))
    }

    /// The first children of a parent that was read just now and is seen. One read.
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
        let (mut deletions, limit) = (Deletions::default(), request.limit);
        for _ in 0..ATTEMPTS_MAX {
            let page = self.child_rows(&household, &household.span, limit).await?;
            let seen = self.read_children(&household, (page, limit), cursors, &mut deletions);
            if let Some(seen) = seen.await? {
                return Ok(seen);
            }
        }
        Err(Error::Unanswered { rows: limit as usize })
    }

    /// A parent and some of its children, as if no deletion had come between; none if it is not
    /// seen.
    async fn kin(
        &self,
        (household, request): (&Household, &FamilyRequest),
        (span, is_together): (&Span, bool),
        cursors: &CursorKey,
    ) -> Result<Option<(OwnRow, ChildrenPage)>, Error> {
        let (mut deletions, limit) = (Deletions::default(), request.limit);
        for _ in 0..ATTEMPTS_MAX {
            let (parent, page) = match is_together {
                true => self.together(household, limit as usize).await?,
                false => (self.get_any(&request.parent).await?, None),
            };
            let Some(parent) = parent else { return Ok(None) };
            let mut cost = ReadCost::default();
            let parent = self.settle(vec![parent], &mut deletions, &mut cost).await?;
            let Some(mut parent) = parent else { continue };
            let Some(parent) = parent.pop().flatten() else { return Ok(None) };
            let page = match page {
                Some(page) => page,
                None => self.child_rows(household, span, limit).await?,
            };
            let children = self.read_children(household, (page, limit), cursors, &mut deletions);
            let Some(children) = children.await? else { continue };
            if self.confirm(&mut deletions, &mut cost).await? == Verdict::Valid {
                return Ok(Some((parent, children)));
            }
        }
        Err(Error::Unanswered { rows: limit as usize })
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

    /// The parent and the rows of its children, all in one read.
    async fn together(
        &self,
        household: &Household,
        limit: usize,
    ) -> Result<(Option<OwnRow>, Option<Page>), Error> {
        let span =
            Span { from: Some(household.own_sort.as_bytes().to_vec()), ..household.span.clone() };
        // The parent, and one child more than asked for.
        let mut page = self.page(&household.place(), &span, Direction::Forward, limit + 2).await?;
        let is_parent =
            |row: &Item| row.get(SORT).and_then(Value::as_b) == Some(household.own_sort.as_bytes());
        if !page.items.first().is_some_and(is_parent) {
            return Ok((None, None));
        }
        let parent = self.read_own(page.items.remove(0))?;
        Ok((Some(parent), Some(page)))
    }

    async fn child_rows(
        &self,
        household: &Household,
        span: &Span,
        limit: u32,
    ) -> Result<Page, Error> {
        let one_more = limit as usize + 1;
        self.page(&household.place(), span, Direction::Forward, one_more).await
    }

    /// What is seen of children whose rows were read; none if they must be read again.
    async fn read_children(
        &self,
        household: &Household,
        (mut page, limit): (Page, u32),
        cursors: &CursorKey,
        deletions: &mut Deletions,
    ) -> Result<Option<ChildrenPage>, Error> {
        let limit = limit as usize;
        let mut read = ReadCost { rows: page.scanned, bytes: page.scanned_bytes };
        let follows = page.items.len() > limit || page.last_key.is_some();
        page.items.truncate(limit);
        let mut children = Vec::with_capacity(page.items.len());
        for row in &page.items {
            yield_point().await;
            let child = self.layout.read_child(row);
            children.push(child.map_err(|reason| unreadable(row, reason))?);
        }
        let last = page.items.last().and_then(|row| row.get(SORT)?.as_b());
        let last = last.unwrap_or(household.own_sort.as_bytes());
        let next = follows.then(|| cursors.seal(&household.fingerprint, last));
        let seen = self.settle(children, deletions, &mut read).await?;
        let page = |seen: Vec<Option<OwnRow>>| ChildrenPage {
            children: seen.into_iter().flatten().collect(),
            next,
            read,
        };
        Ok(seen.map(page))
    }
}

impl Household {
    fn place(&self) -> Place<'_> {
        let partition = (PARTITION.into(), self.partition.as_bytes());
        Place { index: None, partition, sort: SORT.into() }
    }

    /// Whether there can be such a parent.
    fn fits(&self) -> bool {
        self.partition.as_bytes().len() <= RowKey::PARTITION_BYTES_MAX
    }
}
