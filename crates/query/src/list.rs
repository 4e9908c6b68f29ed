//! Pages of ordered lists.
//!
//! A page is found in an index, which has the keys of the list's entities in order, and read from
//! their own rows. Own rows decide: an entity that has moved since the index was read is left out and
//! found at its new position.

use keyloom_value::KeyBytes;

use crate::bound::{PageBound, Toward};
use crate::dependency::{Dependency, PageRead};
use crate::fingerprint::{Fingerprint, ListIdentity};
use crate::list_part::ListPart;
use crate::list_scan::ListScan;
use crate::span::Span;
use crate::{CursorKey, End, Error, ListPage, ListRequest, Ran, Reader};

/// A list to read a page of.
pub(crate) struct ListQuery<'q> {
    pub(crate) reader: &'q Reader<'q>,
    pub(crate) request: &'q ListRequest,
}

impl ListQuery<'_> {
    /// Reads a page, and records what ran for it.
    pub(crate) async fn read(
        &self,
        cursors: &CursorKey,
        cursor: Option<&str>,
    ) -> Result<(ListPage, Ran), Error> {
        let ListQuery { reader, request } = *self;
        let partition = request.partition(reader.layout)?;
        let span = request.range.span(reader.layout, request.entity, request.list)?;
        // A partition that does not fit into a key has no entities, and no cursors.
        let partition_bytes = partition.as_ref().map_or(&[][..], KeyBytes::as_bytes);
        // Shards are no part of it: cursors stay valid when their number changes.
        let fingerprint = self.fingerprint(partition_bytes, &span);
        let opened = cursor.map(|text| cursors.open(text, &fingerprint)).transpose()?;
        let opened = opened.map(|bytes| PageBound::from_bytes(&bytes)).transpose()?;
        let (toward, begin) =
            opened.map_or((Toward::Next, None), |(toward, bound)| (toward, Some(bound)));
        let direction = toward.direction(request.direction);
        let span = match &begin {
            Some(bound) => span.beyond(bound, direction),
            None => span,
        };
        let whole = span.clone();
        let (lists, of) = (reader.layout.lists(), (request.entity, request.list));
        // The same holds for partitions of shards.
        let shards = partition.as_ref().and_then(|partition| lists.shards(of, partition).ok());
        let shards = shards.unwrap_or_default();
        let slot = lists.slot(request.entity, request.list);
        let part = ListPart::new(slot, &shards, (span, direction))?;
        let mut scan = ListScan::new(reader, request, part);
        let end = match shards.is_empty() {
            true => End::Exhausted,
            false => scan.read(begin.as_ref()).await?,
        };
        let left = match end {
            End::Exhausted => Span::EMPTY,
            End::Limit | End::Budget => scan.left(),
        };
        reader.note(|| Dependency::Page(PageRead { request: request.clone(), span: whole, left }));
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

    fn fingerprint(&self, partition: &[u8], span: &Span) -> Fingerprint {
        let ListRequest { entity: id, list, filter, direction, .. } = self.request;
        let entity = self.reader.layout.model().entity(*id);
        let filter = filter.as_ref().map(|filter| filter.canonical(entity));
        let (list, filter) = (entity.list(*list), filter.as_deref());
        let of = ListIdentity { entity, list, partition, filter };
        Fingerprint::of_list(&of, span, *direction)
    }
}
