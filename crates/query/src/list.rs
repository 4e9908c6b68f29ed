//! Pages of ordered lists.
//!
//! A page is found in an index, which has the keys of the list's entities in order, and read from
//! their own rows. Own rows decide: an entity that has moved since the index was read is left out and
//! found at its new position.

use std::sync::Arc;

use keyloom_model::OwnRow;
use keyloom_store::Direction;
use keyloom_value::KeyBytes;

use crate::bound::{PageBound, Toward};
use crate::dependency::{Dependency, PageRead};
use crate::fingerprint::{Fingerprint, ListIdentity};
use crate::kept_page::{KeptPage, ReadPage};
use crate::list_part::ListPart;
use crate::list_scan::ListScan;
use crate::listed::Listed;
use crate::span::Span;
use crate::{CursorKey, End, Error, ListPage, ListRequest, Ran, ReadCost, Reader};

/// A list to read a page of.
pub(crate) struct ListQuery<'q> {
    pub(crate) reader: &'q Reader<'q>,
    pub(crate) request: &'q ListRequest,
}

/// What is on a page.
struct Found {
    /// In the order of reading.
    rows: Vec<OwnRow>,
    end: End,
    /// Where the page ends; none if the list does.
    last: Option<PageBound>,
    read: ReadCost,
    ran: Ran,
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
        let (lists, of) = (reader.layout.lists(), (request.entity, request.list));
        // The same holds for partitions of shards.
        let shards = partition.as_ref().and_then(|partition| lists.shards(of, partition).ok());
        let shards = shards.unwrap_or_default();
        let slot = lists.slot(request.entity, request.list);
        let followed = self.followed(&span, direction);
        let Found { mut rows, end, last, read, ran } = match followed {
            Some(found) => found,
            None => {
                let part = ListPart::new(slot, &shards, span, direction)?;
                self.scan(part, begin.as_ref()).await?
            }
        };
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

    /// Reads a part of the list.
    async fn scan(&self, part: ListPart<'_>, begin: Option<&PageBound>) -> Result<Found, Error> {
        let ListQuery { reader, request } = *self;
        let (span, direction, is_nowhere) = (part.span.clone(), part.direction, part.shards() == 0);
        let mut scan = ListScan::new(reader, request, part);
        let end = if is_nowhere { End::Exhausted } else { scan.read(begin).await? };
        let left = match end {
            End::Exhausted => Span::EMPTY,
            End::Limit | End::Budget => scan.left(),
        };
        reader.note(|| {
            let (rows, span, left) = (&scan.found[..], &span, &left);
            let page = ReadPage { rows, end, span, left, direction };
            let kept = KeptPage::of(reader.layout, request, &page).map(Arc::new);
            self.noted((span.clone(), left.clone()), kept)
        });
        let last = scan.end.filter(|_| end != End::Exhausted);
        Ok(Found { rows: scan.found, end, last, read: scan.state.cost, ran: scan.ran })
    }

    /// What was read earlier, brought up to date, if that is possible.
    fn followed(&self, span: &Span, direction: Direction) -> Option<Found> {
        let ListQuery { reader, request } = *self;
        let page = reader.noted?.followed(reader.layout, request, (span, direction))?;
        let last = match page.end {
            End::Exhausted => None,
            End::Limit | End::Budget => {
                let listed = Listed { layout: reader.layout, request };
                Some(PageBound::behind(page.last(&listed)?, direction))
            }
        };
        let rows = page.rows.iter().map(|kept| kept.row.clone()).collect();
        let (end, left) = (page.end, page.left.clone());
        reader.note(|| self.noted((span.clone(), left), Some(Arc::new(page))));
        Some(Found { rows, end, last, read: ReadCost::default(), ran: Ran::default() })
    }

    fn noted(&self, (span, left): (Span, Span), kept: Option<Arc<KeptPage>>) -> Dependency {
        Dependency::Page(PageRead { request: self.request.clone(), span, left, kept })
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
