//! Pages of ordered lists.
//!
//! A page is found in an index, which has the keys of the list's entities in order, and read from
//! their own rows. Own rows decide: an entity that has moved since the index was read is left out and
//! found at its new position.

use keyloom_value::KeyBytes;

use crate::bound::{PageBound, Toward};
use crate::fingerprint::{Fingerprint, ListIdentity};
use crate::list_scan::{ListPart, ListScan};
use crate::partition::Partition;
use crate::request_error::{check_limit, check_tenant, check_values};
use crate::span::Span;
use crate::{CursorKey, End, Error, Filter, ListPage, ListRequest, Ran, Reader};

impl Reader<'_> {
    /// Returns a page of a list: the first one, or the one that a cursor of the same query leads to. An
    /// entity that is in the list throughout is on exactly one page of a walk, whatever is written in
    /// between.
    ///
    /// # Errors
    ///
    /// If the request is invalid, the cursor is of another query, the store fails, or a row is
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
        let span = request.range.span(self.layout, request.entity, request.list)?;
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
        let slot = self.layout.lists().slot(request.entity, request.list);
        let part =
            ListPart { partition: Partition::of_slot(slot, partition_bytes)?, direction, span };
        let mut scan = ListScan::new(self, request, part);
        let end = match partition.is_none() {
            true => End::Exhausted,
            false => scan.read(begin.as_ref()).await?,
        };
        let last = match end {
            End::Exhausted => None,
            End::Limit | End::Budget => scan.end,
        };
        let (mut rows, read, ran) = (scan.found, scan.state.cost, scan.ran);
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
        let (list, filter) = (entity.list(request.list), filter.as_deref());
        let of = ListIdentity { entity, list, partition, filter };
        Fingerprint::of_list(&of, span, request.direction)
    }

    fn list_partition(&self, request: &ListRequest) -> Result<Option<KeyBytes>, Error> {
        let ListRequest { entity: id, list, tenant, by, .. } = request;
        check_limit(request.limit)?;
        check_tenant(self.layout, *id, tenant.as_ref())?;
        let entity = self.layout.model().entity(*id);
        request.filter.iter().try_for_each(Filter::check_size)?;
        let declared = entity.list(*list);
        check_values(entity, || format!("The list `{}`", declared.name), &declared.by, by)?;
        Ok(self.layout.lists().partition((*id, *list), tenant.as_ref(), by).ok())
    }
}
