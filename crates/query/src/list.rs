//! Pages of ordered lists.
//!
//! A page is found in an index, which has the keys of the list's entities in order, and read from
//! their own rows. What an own row says counts: an entity that has moved since the index was read
//! is left out and met at its new position.

use keyloom_model::{EntityId, ListId, OwnRow};
use keyloom_store::{Direction, TableName};
use keyloom_value::{KeyBytes, Value};

use crate::bound::{PageBound, Toward};
use crate::fingerprint::Fingerprint;
use crate::list_scan::{ListPart, ListScan};
use crate::request_error::{check_limit, check_tenant, check_values};
use crate::span::{Place, Span};
use crate::{CursorKey, Error, Filter, Ran, Range, Reader, Strategy};

/// Which part of which list to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListRequest {
    /// Of which entities.
    pub entity: EntityId,
    /// Which of their lists.
    pub list: ListId,
    /// Whose, if the entity belongs to tenants.
    pub tenant: Option<Value>,
    /// One value for each field of the list's `by`.
    pub by: Vec<Value>,
    /// Which part of the order.
    pub range: Range,
    /// From the start, or from the end.
    pub direction: Direction,
    /// How many entities, at most: 1 to 1,000.
    pub limit: u32,
    /// How much may be read for them.
    pub budget: Budget,
    /// Only entities that pass this, a filter of the same list.
    pub filter: Option<Filter>,
    /// How those are found.
    pub strategy: Strategy,
}

/// How much one call may read. It stops when it has read as much, so it can go over by one batch;
/// it always looks at one entity at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Rows of indexes and of the table.
    pub rows: u64,
    /// Bytes of those rows, as DynamoDB counts them.
    pub bytes: u64,
}

/// How much a call has read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCost {
    /// Rows of indexes and of the table.
    pub rows: u64,
    /// Bytes of those rows, as DynamoDB counts them.
    pub bytes: u64,
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListPage {
    /// The entities, in order. There can be few, or none, on a page that is not the last.
    pub rows: Vec<OwnRow>,
    /// The cursor of the next page; absent if nothing follows.
    pub next: Option<String>,
    /// The cursor of the page before; absent on the first page.
    pub previous: Option<String>,
    /// Why the page ends; of one that a cursor `previous` led to, why it begins.
    pub end: End,
    /// What was read for it.
    pub read: ReadCost,
}

/// Why a page ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The list ends.
    Exhausted,
    /// It has as many entities as were asked for.
    Limit,
    /// As much was read as may be.
    Budget,
}

impl Budget {
    /// Enough for the longest page, of entities of 16 KiB each.
    pub const STANDARD: Budget = Budget { rows: 5_000, bytes: 16 << 20 };
}

impl ListRequest {
    /// The first 100 entities of a list without tenant and `by`.
    pub fn new(entity: EntityId, list: ListId) -> ListRequest {
        ListRequest {
            entity,
            list,
            tenant: None,
            by: vec![],
            range: Range::ALL,
            direction: Direction::Forward,
            limit: 100,
            budget: Budget::STANDARD,
            filter: None,
            strategy: Strategy::Cheapest,
        }
    }
}

impl Reader<'_> {
    /// A page of a list: the first one, or that after or before a page that the same question was
    /// answered with, as its cursor says. What is in the list all the time is on exactly one page of
    /// a walk, whatever is written between.
    ///
    /// # Errors
    ///
    /// If the question makes no sense, the cursor is not one of it, the store fails, or a row is
    /// damaged.
    pub async fn list(
        &self,
        request: &ListRequest,
        cursors: &CursorKey,
        cursor: Option<&str>,
    ) -> Result<ListPage, Error> {
        Ok(self.list_recorded(request, cursors, cursor).await?.0)
    }

    /// As [`Reader::list`], with a record of what ran for it, for [`Reader::explain`].
    ///
    /// # Errors
    ///
    /// As [`Reader::list`].
    pub async fn list_recorded(
        &self,
        request: &ListRequest,
        cursors: &CursorKey,
        cursor: Option<&str>,
    ) -> Result<(ListPage, Ran), Error> {
        let partition = self.list_partition(request)?;
        let span = request.range.span(self.layout, (request.entity, request.list))?;
        // A partition that does not fit into a key has no entities, and no cursors.
        let partition_bytes = partition.as_ref().map_or(&[][..], KeyBytes::as_bytes);
        let fingerprint = self.list_fingerprint(request, partition_bytes, &span);
        let opened = cursor.map(|text| cursors.open(text, &fingerprint)).transpose()?;
        let opened = opened.map(|bytes| PageBound::from_bytes(&bytes)).transpose()?;
        let (toward, begin) =
            opened.map_or((Toward::Next, None), |(toward, bound)| (toward, Some(bound)));
        let direction = toward.direction(request.direction);
        let span = match &begin {
            Some(bound) => span.beyond(bound, direction),
            None => span,
        };
        let slot = self.layout.list_slot(request.entity, request.list);
        let place = Place {
            index: Some(TableName::new(&slot.name()).map_err(keyloom_store::Error::from)?),
            partition: (slot.partition(), partition_bytes),
            sort: slot.sort(),
        };
        let mut scan = ListScan::new(self, request, ListPart { place, direction, span });
        let end = match partition.is_none() {
            true => End::Exhausted,
            false => scan.read(begin.as_ref()).await?,
        };
        let last = match end {
            End::Exhausted => None,
            End::Limit | End::Budget => scan.end,
        };
        let (mut rows, read, ran) = (scan.found, scan.cost, scan.ran);
        let (first, last) = match toward {
            Toward::Next => (begin, last),
            Toward::Previous => {
                rows.reverse();
                (last, begin)
            }
        };
        let seal = |toward, bound: PageBound| cursors.seal(&fingerprint, &bound.to_bytes(toward));
        let next = last.map(|bound| seal(Toward::Next, bound));
        let previous = first.map(|bound| seal(Toward::Previous, bound));
        Ok((ListPage { rows, next, previous, end, read }, ran))
    }

    fn list_fingerprint(
        &self,
        request: &ListRequest,
        partition: &[u8],
        span: &Span,
    ) -> Fingerprint {
        let entity = self.layout.model().entity(request.entity);
        let filter = request.filter.as_ref().map(|filter| filter.canonical(entity));
        let list = entity.list(request.list);
        let part = (span, request.direction);
        Fingerprint::of_list((entity, list), partition, part, filter.as_deref())
    }

    fn list_partition(&self, request: &ListRequest) -> Result<Option<KeyBytes>, Error> {
        let ListRequest { entity: id, list, tenant, by, .. } = request;
        check_limit(request.limit)?;
        check_tenant(self.layout, *id, tenant.as_ref())?;
        let entity = self.layout.model().entity(*id);
        request.filter.iter().try_for_each(Filter::check_size)?;
        let declared = entity.list(*list);
        check_values(entity, || format!("The list `{}`", declared.name), &declared.by, by)?;
        Ok(self.layout.list_partition((*id, *list), tenant.as_ref(), by).ok())
    }
}
