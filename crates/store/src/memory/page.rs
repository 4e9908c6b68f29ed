//! Queries and scans: filter all items, sort them, return a page.

use std::cmp::Ordering;

use keyloom_value::{Condition, Item};

use super::table::Table;
use crate::index::{in_index, projected, reads_table};
use crate::limits::PAGE_BYTES_MAX;
use crate::{
    Direction, Error, IndexSpec, KeySchema, Page, Query, Scan, Select, TableSpec, validate,
};

pub(super) fn query(table: &Table, query: &Query) -> Result<Page, Error> {
    let (_, position) = validate::query(&table.spec, query)?;
    let walk = Walk {
        spec: &table.spec,
        index: position.map(|position| &table.spec.indexes[position]),
        direction: query.direction,
        start: query.start.as_ref(),
        limit: query.limit,
        filter: query.filter.as_ref(),
        select: &query.select,
    };
    Ok(walk.page(table.items.iter().filter(|item| query.key.matches(item)).collect()))
}

pub(super) fn scan(table: &Table, scan: &Scan) -> Result<Page, Error> {
    let position = validate::scan(&table.spec, scan)?;
    let walk = Walk {
        spec: &table.spec,
        index: position.map(|position| &table.spec.indexes[position]),
        direction: Direction::Forward,
        start: scan.start.as_ref(),
        limit: scan.limit,
        filter: scan.filter.as_ref(),
        select: &scan.select,
    };
    let in_segment = |item: &&Item| match scan.segment {
        Some(segment) => segment.holds(walk.schema(), item),
        None => true,
    };
    // Only items in the index have partition values to hash.
    let rows = table.items.iter().filter(|item| walk.reaches(item));
    Ok(walk.page(rows.filter(in_segment).collect()))
}

/// A scan of a table or index in key order.
struct Walk<'a> {
    spec: &'a TableSpec,
    index: Option<&'a IndexSpec>,
    direction: Direction,
    start: Option<&'a Item>,
    limit: Option<u32>,
    filter: Option<&'a Condition>,
    select: &'a Select,
}

impl Walk<'_> {
    fn schema(&self) -> &KeySchema {
        self.index.map_or(&self.spec.key, |index| &index.key)
    }

    /// Whether the table or index holds the item.
    fn reaches(&self, item: &Item) -> bool {
        self.index.is_none_or(|index| in_index(index, item))
    }

    /// Returns the next page of these items.
    fn page(&self, mut items: Vec<&Item>) -> Page {
        items.retain(|item| self.reaches(item) && self.is_after_start(item));
        items.sort_by(|left, right| self.order(left, right));
        let mut page = Page::default();
        let mut last = None;
        for item in items {
            let kept = self.projected(item);
            let bytes = if self.reads_table() { item.size() } else { kept.size() } as u64;
            if page.scanned > 0 && page.scanned_bytes + bytes > PAGE_BYTES_MAX as u64 {
                page.last_key = last;
                return page;
            }
            page.scanned += 1;
            page.scanned_bytes += bytes;
            last = Some(self.key_of(item));
            if self.filter.is_none_or(|filter| filter.holds(Some(&kept))) {
                page.count += 1;
                page.items.extend(self.selected(item));
            }
            if self.limit.is_some_and(|limit| page.scanned == u64::from(limit)) {
                page.last_key = last;
                return page;
            }
        }
        page
    }

    /// Compares by the key of the index, then by the key of the table.
    fn order(&self, left: &Item, right: &Item) -> Ordering {
        let by_table_key = || self.spec.key.order(left, right);
        let ascending = self.schema().order(left, right).then_with(by_table_key);
        match self.direction {
            Direction::Forward => ascending,
            Direction::Backward => ascending.reverse(),
        }
    }

    fn is_after_start(&self, item: &Item) -> bool {
        self.start.is_none_or(|start| self.order(start, item) == Ordering::Less)
    }

    /// Returns the part of an item that the table or index projects, which is what a filter sees.
    fn projected(&self, item: &Item) -> Item {
        self.index.map_or_else(|| item.clone(), |index| projected(self.spec, index, item))
    }

    fn reads_table(&self) -> bool {
        self.index.is_some_and(|index| reads_table(self.spec, index, self.select))
    }

    fn selected(&self, item: &Item) -> Option<Item> {
        match (self.select, self.index) {
            (Select::Count, _) => None,
            (Select::All, _) => Some(self.projected(item)),
            (Select::AllOfTable, _) => Some(item.clone()),
            (Select::Parts(projection), _) => Some(projection.apply(item)),
        }
    }

    /// Returns the attributes of both keys.
    fn key_of(&self, item: &Item) -> Item {
        let mut key = self.spec.key.of(item);
        for (name, value) in self.schema().of(item).iter() {
            key.insert(name.clone(), value.clone());
        }
        key
    }
}
