//! Pages of what has certain values of facets: the places of each combination are read in the order
//! of the list, side by side, and merged.

use std::collections::VecDeque;

use keyloom_model::{Unreadable, attribute};
use keyloom_store::Direction;
use keyloom_value::{Item, KeyBytes, Value};

use crate::facets::{Facets, Prefix};
use crate::fetch::{RawKey, unreadable};
use crate::list::{Entry, Walk};
use crate::nodes::Node;
use crate::span::Span;
use crate::{End, Error};

/// As many places of each combination as are read at first, where there are several.
const ROWS_MIN: usize = 4;

/// The places of one combination.
struct Stream {
    /// What is left to be read.
    span: Span,
    /// What was read and not merged yet.
    entries: VecDeque<Entry>,
    /// How many are read next.
    rows: usize,
    is_read: bool,
}

impl Walk<'_> {
    /// Along the places of these combinations; and of those only who is in the groups of a node, if
    /// the filter says more than which combinations pass.
    pub(crate) async fn go_merged(
        &mut self,
        facets: &Facets,
        prefixes: &[Prefix],
        node: Option<&dyn Node>,
    ) -> Result<End, Error> {
        if self.span.is_empty {
            return Ok(End::Exhausted);
        }
        let (wanted, count) = (self.wanted() + 1, prefixes.len().max(1));
        let rows = (2 * wanted / count).clamp(ROWS_MIN, wanted.max(ROWS_MIN));
        let stream = |prefix: &Prefix| {
            let (entries, is_read) = (VecDeque::new(), false);
            Stream { span: self.span.under(prefix), entries, rows, is_read }
        };
        let mut streams: Vec<Stream> = prefixes.iter().map(stream).collect();
        let is_certain = facets.is_all || node.is_some();
        let end = self.merge(facets, &mut streams, (node, is_certain)).await?;
        if is_certain || end != End::Limit {
            return Ok(end);
        }
        let page = self.begin_ahead();
        let end = self.merge(facets, &mut streams, (node, is_certain)).await?;
        self.end_ahead(page);
        Ok(if end == End::Budget { End::Limit } else { end })
    }

    /// Merges until a page is full. Where it is not certain that what comes next passes the filter,
    /// it is not looked at.
    async fn merge(
        &mut self,
        facets: &Facets,
        streams: &mut [Stream],
        (node, is_certain): (Option<&dyn Node>, bool),
    ) -> Result<End, Error> {
        loop {
            self.fill(facets, streams).await?;
            let some = merged(streams, self.wanted() + usize::from(is_certain), self.direction);
            let Some(last) = some.last().map(|entry| entry.position.clone()) else {
                return Ok(End::Exhausted);
            };
            let some = match node {
                Some(node) => self.in_groups(node, some).await?,
                None => some,
            };
            if let Some(end) = self.look_at_some(&some).await? {
                return Ok(end);
            }
            // A full page ends behind its last entity.
            match self.wanted() {
                0 if !is_certain => return Ok(End::Limit),
                0 => self.skip(last),
                _ => self.pass(last),
            }
            if self.is_spent() {
                return Ok(if self.wanted() == 0 { End::Limit } else { End::Budget });
            }
        }
    }

    /// Reads on where nothing is left to be merged.
    async fn fill(&mut self, facets: &Facets, streams: &mut [Stream]) -> Result<(), Error> {
        let place = facets.place();
        for stream in streams.iter_mut().filter(|s| s.entries.is_empty() && !s.is_read) {
            // No more of one combination than the page can take.
            let rows = stream.rows.min(self.wanted() + 1);
            let page = self.reader.page(&place, &stream.span, self.direction, rows).await?;
            self.cost.rows += page.scanned;
            self.cost.bytes += page.scanned_bytes;
            stream.is_read = page.last_key.is_none();
            stream.rows = rows.saturating_mul(2);
            let sort = place.sort.as_str();
            if let Some(last) = page.items.last().or(page.last_key.as_ref()) {
                let last = last.get(sort).and_then(Value::as_b).unwrap_or_default();
                stream.span = stream.span.clone().after(last, self.direction);
            }
            for row in page.items {
                stream.entries.push_back(entry(row, sort, facets.len())?);
            }
        }
        Ok(())
    }

    /// Those of some entries whose entities are in groups. One that tells no number is looked at.
    async fn in_groups(
        &mut self,
        node: &dyn Node,
        entries: Vec<Entry>,
    ) -> Result<Vec<Entry>, Error> {
        let (layout, of) = (self.reader.layout, (self.request.entity, self.request.list));
        let number = |entry: &Entry| layout.number_at(of, &entry.position);
        let numbers: Vec<Option<u64>> = entries.iter().map(number).collect();
        let is_in = self.are_in(node, &numbers).await?;
        Ok(entries.into_iter().zip(is_in).filter(|(_, is_in)| *is_in).map(|(it, _)| it).collect())
    }
}

/// The first entries of all streams together, as long as each has one or is read to its end.
fn merged(streams: &mut [Stream], count: usize, direction: Direction) -> Vec<Entry> {
    let mut some = vec![];
    while some.len() < count {
        if streams.iter().any(|stream| stream.entries.is_empty() && !stream.is_read) {
            break;
        }
        let heads = streams.iter().enumerate();
        let heads = heads.filter_map(|(at, stream)| Some((at, &stream.entries.front()?.position)));
        let first = match direction {
            Direction::Forward => heads.min_by(|left, right| left.1.cmp(right.1)),
            Direction::Backward => heads.max_by(|left, right| left.1.cmp(right.1)),
        };
        let Some((at, _)) = first else { break };
        some.extend(streams[at].entries.pop_front());
    }
    some
}

/// Where an entity is in the list, from its place by facet.
fn entry(mut row: Item, sort: &str, facets: usize) -> Result<Entry, Error> {
    let wrong = |row: &Item| unreadable(row, Unreadable { attribute: attribute::SORT });
    let place = row.get(sort).and_then(Value::as_b).ok_or_else(|| wrong(&row))?;
    let position = (0..facets).try_fold(place, |rest, _| KeyBytes::skip_part(rest));
    let position = position.map_err(|_| wrong(&row))?.to_vec();
    Ok(Entry { position, key: RawKey::take(&mut row).ok_or_else(|| wrong(&row))? })
}
