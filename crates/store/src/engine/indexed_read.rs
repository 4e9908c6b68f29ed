//! Reading items through an index of a snapshot.

use crate::slice::Interrupt;
use crate::validate::KeyRange;
use crate::{Direction, Error, ItemsPage, ReadItems, validate};

use super::format::{Malformed, NameCache, item_size};
use super::key_range::row_range;
use super::source::Source;
use super::view::View;

impl View {
    pub(crate) fn items_of_index(
        &self,
        read: &ReadItems,
        interrupt: &Interrupt,
    ) -> Result<ItemsPage, Error> {
        let table = self.catalog.table(&read.table)?;
        let (key_range, index) = validate::read_items(&table.spec, read)?;
        let source = Source::of(self, table, Some(index))?;
        let mut reading = Reading::new(&source, read);
        if read.prefixes.is_empty() {
            reading.range(&key_range, interrupt)?;
        }
        let mut of_prefix = key_range;
        for prefix in &read.prefixes {
            if reading.page.next.is_some() || interrupt.fires() {
                break;
            }
            of_prefix.test = Some(validate::beginning_with(prefix));
            reading.range(&of_prefix, interrupt)?;
        }
        Ok(reading.page)
    }
}

/// A page being read.
struct Reading<'a> {
    source: &'a Source<'a>,
    read: &'a ReadItems,
    page: ItemsPage,
    names: NameCache,
}

impl<'a> Reading<'a> {
    fn new(source: &'a Source<'a>, read: &'a ReadItems) -> Reading<'a> {
        // Allocate a full page once.
        let items = Vec::with_capacity(read.limit.min(128) as usize);
        let page = ItemsPage { items, ..ItemsPage::default() };
        Reading { source, read, page, names: NameCache::default() }
    }

    /// Reads the items of a range of the index until the page is full.
    fn range(&mut self, range: &KeyRange, interrupt: &Interrupt) -> Result<(), Error> {
        let view = self.source.view;
        let malformed = |_| view.malformed(Malformed("a key has a part that no key can have"));
        let range = row_range(self.source.space, range).map_err(malformed)?;
        let mut rows = view.tree.range(&range)?;
        while !interrupt.fires() {
            let next = match self.read.direction {
                Direction::Forward => rows.next(),
                Direction::Backward => rows.next_back(),
            };
            let Some(entry) = next else { break };
            let (row, value) = entry?;
            self.page.row_bytes += item_size(value.value()).map_err(|why| view.malformed(why))?;
            if self.is_full() {
                self.page.next = Some(self.source.key(row.value())?);
                break;
            }
            let (item, bytes) = self.source.table_item(row.value(), &mut self.names)?;
            self.page.item_bytes += bytes;
            self.page.items.push(item);
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        let count = self.page.items.len();
        count == self.read.limit as usize
            || (count > 0 && self.page.item_bytes >= self.read.bytes_max)
    }
}
