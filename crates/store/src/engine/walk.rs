//! Queries and scans: one page of the rows of a table or index.

use keyloom_value::{Condition, Item};

use crate::index::reads_table;
use crate::limits::PAGE_BYTES_MAX;
use crate::slice::Interrupt;
use crate::{Direction, Error, Page, Query, Scan, Segment, Select, validate};

use super::format::{Malformed, NameCache, item_size};
use super::key_range::row_range;
use super::rows_mut::RowGuard;
use super::source::Source;
use super::tree::RowRange;
use super::view::View;

/// Most rows of other segments that one page skips: it bounds a page of a scan, however many
/// segments there are.
const SKIPPED_ROWS_MAX: u64 = 100_000;

pub(crate) fn query(view: &View, query: &Query, interrupt: &Interrupt) -> Result<Page, Error> {
    let table = view.catalog.table(&query.table)?;
    let (key_range, index) = validate::query(&table.spec, query)?;
    let source = Source::of(view, table, index)?;
    let malformed = |_| view.malformed(Malformed("a key has a part that no key can have"));
    let range = row_range(source.space, &key_range).map_err(malformed)?;
    let walk = Walk {
        source,
        start: query.start.as_ref(),
        direction: query.direction,
        segment: None,
        limit: query.limit,
        filter: query.filter.as_ref(),
        select: &query.select,
    };
    walk.page(range, interrupt)
}

pub(crate) fn scan(view: &View, scan: &Scan, interrupt: &Interrupt) -> Result<Page, Error> {
    let table = view.catalog.table(&scan.table)?;
    let index = validate::scan(&table.spec, scan)?;
    let source = Source::of(view, table, index)?;
    let range = (source.space.start(), source.space.end());
    let walk = Walk {
        source,
        start: scan.start.as_ref(),
        direction: Direction::Forward,
        segment: scan.segment,
        limit: scan.limit,
        filter: scan.filter.as_ref(),
        select: &scan.select,
    };
    walk.page(range, interrupt)
}

struct Walk<'a> {
    source: Source<'a>,
    start: Option<&'a Item>,
    direction: Direction,
    segment: Option<Segment>,
    limit: Option<u32>,
    filter: Option<&'a Condition>,
    select: &'a Select,
}

/// The outcome of a row.
enum Step {
    /// It is part of the page; continue.
    Taken,
    /// It belongs to another segment; continue.
    Skipped,
    /// It is part of the page, which is full now.
    Last,
    /// It no longer fits into the page.
    Full,
}

impl Walk<'_> {
    fn page(&self, range: RowRange, interrupt: &Interrupt) -> Result<Page, Error> {
        let range = self.resume(range)?;
        let mut rows = self.source.view.tree.range(&range)?;
        let mut building = Building::new(self);
        let mut passed: Option<RowGuard<'_>> = None;
        loop {
            let next = match self.direction {
                Direction::Forward => rows.next(),
                Direction::Backward => rows.next_back(),
            };
            let Some(entry) = next.filter(|_| !interrupt.fires()) else {
                return Ok(building.page);
            };
            let (row, value) = entry?;
            let stop = match building.step(row.value(), value.value())? {
                Step::Taken | Step::Skipped => {
                    passed = Some(row);
                    continue;
                }
                Step::Last => Some(row),
                Step::Full => passed,
            };
            building.page.last_key = stop.map(|row| self.source.key(row.value())).transpose()?;
            return Ok(building.page);
        }
    }

    /// Returns the part of the range after the start key.
    fn resume(&self, (from, to): RowRange) -> Result<RowRange, Error> {
        let Some(start) = self.start else { return Ok((from, to)) };
        let mut row = self.source.row(start)?;
        Ok(match self.direction {
            Direction::Forward => {
                row.push(0);
                (row.max(from), to)
            }
            Direction::Backward => (from, row.min(to)),
        })
    }
}

/// A page being built.
struct Building<'a> {
    walk: &'a Walk<'a>,
    page: Page,
    names: NameCache,
    skipped: u64,
    reads_table: bool,
}

impl<'a> Building<'a> {
    fn new(walk: &'a Walk<'a>) -> Building<'a> {
        let spec = &walk.source.table.spec;
        let reads_table =
            walk.source.index.is_some_and(|index| reads_table(spec, index, walk.select));
        // Allocate a full page once.
        let expected = match walk.select {
            Select::Count => 0,
            Select::All | Select::AllOfTable | Select::Parts(_) => walk.limit.unwrap_or(0).min(128),
        };
        let page = Page { items: Vec::with_capacity(expected as usize), ..Page::default() };
        let names = NameCache::default();
        Building { walk, page, names, skipped: 0, reads_table }
    }

    fn step(&mut self, row: &[u8], value: &[u8]) -> Result<Step, Error> {
        let view = self.walk.source.view;
        if let Some(Segment { number, of }) = self.walk.segment
            && self.walk.source.segment(row, of)? != number
        {
            self.skipped += 1;
            return Ok(if self.skipped < SKIPPED_ROWS_MAX { Step::Skipped } else { Step::Last });
        }
        let table_item = match self.reads_table {
            true => Some(self.walk.source.table_item(row, &mut self.names)?),
            false => None,
        };
        let bytes = match &table_item {
            Some((_, bytes)) => *bytes,
            None => item_size(value).map_err(|why| view.malformed(why))?,
        };
        if self.page.scanned > 0 && self.page.scanned_bytes + bytes > PAGE_BYTES_MAX as u64 {
            return Ok(Step::Full);
        }
        self.page.scanned += 1;
        self.page.scanned_bytes += bytes;
        self.take(row, value, table_item.map(|(item, _)| item))?;
        let limit = self.walk.limit.map(u64::from);
        Ok(if limit == Some(self.page.scanned) { Step::Last } else { Step::Taken })
    }

    /// Adds a row to the page if it passes the filter.
    fn take(&mut self, row: &[u8], value: &[u8], table_item: Option<Item>) -> Result<(), Error> {
        let source = &self.walk.source;
        // Counting without a filter needs no item.
        if *self.walk.select == Select::Count && self.walk.filter.is_none() {
            self.page.count += 1;
            return Ok(());
        }
        // A filter sees what an index projects, even if more is returned.
        let kept = source.projected(row, value, &mut self.names)?;
        if self.walk.filter.is_some_and(|filter| !filter.holds(Some(&kept))) {
            return Ok(());
        }
        let item = table_item.unwrap_or(kept);
        self.page.count += 1;
        match self.walk.select {
            Select::Count => {}
            Select::All | Select::AllOfTable => self.page.items.push(item),
            Select::Parts(projection) => self.page.items.push(projection.apply(&item)),
        }
        Ok(())
    }
}
