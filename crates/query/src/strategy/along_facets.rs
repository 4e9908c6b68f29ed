//! Along the index keys by facet: those of each combination of values that can pass are read in the
//! order of the list, side by side and of all shards, and merged.

use std::collections::VecDeque;

use futures_util::future::try_join_all;
use keyloom_model::{Unreadable, attribute};
use keyloom_store::Direction;
use keyloom_value::{Item, KeyBytes, Value};

use crate::error::unreadable;
use crate::facets::{Facets, Prefix};
use crate::fetch::RawKey;
use crate::list_part::Entry;
use crate::list_scan::ListScan;
use crate::nodes::NodeRef;
use crate::partition::{PageRequest, share};
use crate::span::Span;
use crate::{End, Error, ReadCost};

/// How many rows of each combination are read first, at least.
const ROWS_MIN: usize = 4;
/// How many rows of each combination are read at once, at most.
const ROWS_MAX: usize = 1000;

/// The combinations of values that can pass.
#[derive(Debug)]
pub(crate) struct AlongFacets {
    pub(crate) facets: Facets,
    pub(crate) prefixes: Vec<Prefix>,
    /// The matches among them, if the filter tests more than facets.
    pub(crate) node: Option<NodeRef>,
}

/// The index rows of one combination in one shard.
struct Stream {
    shard: usize,
    /// What is left to read.
    span: Span,
    /// What was read and is not merged yet.
    entries: VecDeque<Entry>,
    /// How many rows to read next.
    rows: usize,
    is_read: bool,
}

impl AlongFacets {
    pub(super) async fn run(&self, scan: &mut ListScan<'_>) -> Result<End, Error> {
        if scan.part.span.is_empty {
            return Ok(End::Exhausted);
        }
        let (wanted, shards) = (scan.wanted(), self.facets.shards());
        let count = (self.prefixes.len() * shards).max(1);
        let rows = match scan.search().is_local() {
            true => (2 * wanted / count).clamp(ROWS_MIN, wanted.max(ROWS_MIN)),
            // One request for each combination fills the page, wherever its entities are.
            false => share(wanted, shards).min(scan.rows_left() / count).max(1),
        };
        let stream = |(prefix, shard): (&Prefix, usize)| {
            let (entries, is_read) = (VecDeque::new(), false);
            Stream { shard, span: scan.part.span.under(prefix), entries, rows, is_read }
        };
        let all = self.prefixes.iter().flat_map(|prefix| (0..shards).map(move |at| (prefix, at)));
        let mut streams: Vec<Stream> = all.map(stream).collect();
        self.merge(scan, &mut streams).await
    }

    /// Merges until a page is full, and it is known whether more follows.
    async fn merge(&self, scan: &mut ListScan<'_>, streams: &mut [Stream]) -> Result<End, Error> {
        let mut before: Option<Vec<u8>> = None;
        loop {
            let is_full = scan.wanted() == 0;
            // Everything that is merged passes the filter, unless it tests more than facets.
            let head = first_of(streams, scan.part.direction).filter(|_| self.node.is_none());
            if let (true, Some((_, position))) = (is_full, head) {
                scan.follower = Some(scan.behind(position.clone()));
                return Ok(End::Limit);
            }
            self.fill(scan, streams).await?;
            let mut some = merged(streams, scan.wanted().max(1), scan.part.direction);
            // An entity whose facets change while they are read may be in two combinations, and in two
            // shards while the index catches up with another number of them.
            some.dedup_by(|one, other| one.position == other.position);
            some.retain(|entry| Some(&entry.position) != before.as_ref());
            let Some(last) = some.last().map(|entry| entry.position.clone()) else {
                if streams.iter().all(|stream| stream.is_read && stream.entries.is_empty()) {
                    return Ok(End::Exhausted);
                }
                if scan.is_spent() {
                    return Ok(if is_full { End::Limit } else { End::Budget });
                }
                continue;
            };
            before = Some(last.clone());
            let some = self.matching(scan, some).await?;
            if let (true, Some(first)) = (is_full, some.first()) {
                scan.follower = Some(scan.behind(first.position.clone()));
                return Ok(End::Limit);
            }
            if let Some(end) = scan.fetch_in_order(&some).await? {
                return Ok(end);
            }
            // A full page ends behind its last entity.
            match scan.wanted() {
                0 => scan.part.skip(last),
                _ => scan.pass(last),
            }
            if scan.is_spent() {
                return Ok(if scan.wanted() == 0 { End::Limit } else { End::Budget });
            }
        }
    }

    /// Reads more of the combinations of which nothing is left to merge.
    async fn fill(&self, scan: &mut ListScan<'_>, streams: &mut [Stream]) -> Result<(), Error> {
        let (partitions, sort) = (self.facets.partitions()?, self.facets.sort());
        let (direction, wanted, rows) = (scan.part.direction, scan.wanted(), scan.reader.rows());
        let empty = streams.iter_mut().filter(|s| s.entries.is_empty() && !s.is_read);
        // No more of one combination than fit on the page, unless what is read is tested.
        let rows_max = if self.node.is_some() { ROWS_MAX } else { wanted.max(1) };
        let read = empty.map(|stream| async {
            let (limit, mut cost) = (stream.rows.min(rows_max), ReadCost::default());
            let (partition, span) = (&partitions[stream.shard], &stream.span);
            let request = PageRequest { partition, span, direction, limit };
            let page = request.read(rows, &mut cost).await?;
            Ok::<_, Error>((stream, page, cost))
        });
        for (stream, page, cost) in try_join_all(read).await? {
            scan.state.cost.add(cost);
            stream.is_read = page.last_key.is_none();
            stream.rows = stream.rows.saturating_mul(2);
            if let Some(last) = page.items.last().or(page.last_key.as_ref()) {
                let last = partitions[stream.shard].sort_of(last)?;
                stream.span = stream.span.clone().after(last, direction);
            }
            for row in page.items {
                stream.entries.push_back(entry(row, sort.as_str(), self.facets.len())?);
            }
        }
        Ok(())
    }

    /// Returns the entries whose ordinals match. Entries without an ordinal are kept.
    async fn matching(
        &self,
        scan: &mut ListScan<'_>,
        entries: Vec<Entry>,
    ) -> Result<Vec<Entry>, Error> {
        let Some(node) = &self.node else { return Ok(entries) };
        let (layout, of) = (scan.reader.layout, (scan.request.entity, scan.request.list));
        let ordinal = |entry: &Entry| layout.lists().ordinal_at(of, &entry.position);
        let ordinals: Vec<Option<u64>> = entries.iter().map(ordinal).collect();
        let matches = scan.which_match(&**node, &ordinals).await?;
        let kept = entries.into_iter().zip(matches).filter(|(_, matches)| *matches);
        Ok(kept.map(|(entry, _)| entry).collect())
    }
}

/// The stream whose first entry comes first, and its position.
fn first_of(streams: &[Stream], direction: Direction) -> Option<(usize, &Vec<u8>)> {
    let heads = streams.iter().enumerate();
    let heads = heads.filter_map(|(at, stream)| Some((at, &stream.entries.front()?.position)));
    match direction {
        Direction::Forward => heads.min_by(|left, right| left.1.cmp(right.1)),
        Direction::Backward => heads.max_by(|left, right| left.1.cmp(right.1)),
    }
}

/// Takes the first entries of all streams, as long as each has one or is at its end.
fn merged(streams: &mut [Stream], count: usize, direction: Direction) -> Vec<Entry> {
    let mut some = vec![];
    while some.len() < count {
        if streams.iter().any(|stream| stream.entries.is_empty() && !stream.is_read) {
            break;
        }
        let first = first_of(streams, direction);
        let Some((at, _)) = first else { break };
        some.extend(streams[at].entries.pop_front());
    }
    some
}

/// The entry of the list that an index key by facet stands for.
fn entry(mut row: Item, sort: &str, facets: usize) -> Result<Entry, Error> {
    let wrong = |row: &Item| unreadable(row, Unreadable { attribute: attribute::SORT });
    let key = row.get(sort).and_then(Value::as_b).ok_or_else(|| wrong(&row))?;
    let position = (0..facets).try_fold(key, |rest, _| KeyBytes::skip_part(rest));
    let position = position.map_err(|_| wrong(&row))?.to_vec();
    Ok(Entry { position, key: RawKey::take(&mut row).ok_or_else(|| wrong(&row))? })
}
