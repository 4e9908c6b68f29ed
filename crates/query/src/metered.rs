//! A store that counts everything that is read of it, so that no read can be forgotten, and what that
//! would cost on DynamoDB.
//!
//! The cost rules: 4 KB are one read unit, half a unit if the read is eventually consistent and two in
//! a transaction. A query adds the sizes of its rows and rounds once; a batch rounds each row. A missing
//! row costs as much as 4 KB. A part of a set counts as a row of its size: DynamoDB has no sets.

use std::sync::{Arc, Mutex, PoisonError};

use keyloom_store::{
    Answer, BatchGet, BatchGot, ColumnPart, Consistency, Get, IndexedItems, ItemsPage, ListSets,
    Page, Query, Read, ReadColumn, ReadItems, ReadSet, Scan, SeqNo, SetName, SetPart, SetSize,
    Sets, TableDescription, TableName, TransactGet,
};
use keyloom_value::Item;

/// Bytes of one read unit.
const UNIT_BYTES: u64 = 4096;
/// Dollars for a million read units on demand, us-east-1, since November 2024.
const DOLLARS_PER_MILLION: f64 = 0.125;

/// One request to the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreRead {
    /// The operation: `query`, `get`, ...
    pub call: &'static str,
    /// The index; none for the table itself.
    pub index: Option<String>,
    /// Rows that were read; of sets, chunks.
    pub rows: u64,
    /// Their bytes, as DynamoDB counts them.
    pub bytes: u64,
    /// What it costs, in halves of read units.
    pub half_units: u64,
}

/// A store that counts what is read of it.
pub struct Metered<S: ?Sized> {
    reads: Mutex<Vec<StoreRead>>,
    store: Arc<S>,
}

/// A request for rows in key order.
struct PageRead {
    call: &'static str,
    index: Option<String>,
    consistency: Consistency,
}

impl<S: Read + ?Sized> Metered<S> {
    /// Wraps a store of which nothing was read yet.
    pub fn new(store: Arc<S>) -> Metered<S> {
        Metered { reads: Mutex::default(), store }
    }

    /// Every request so far, in order.
    pub fn reads(&self) -> Vec<StoreRead> {
        self.reads.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, read: StoreRead) {
        self.reads.lock().unwrap_or_else(PoisonError::into_inner).push(read);
    }

    fn note_page(&self, request: PageRead, page: &Page) {
        let PageRead { call, index, consistency } = request;
        let (rows, bytes) = (page.scanned, page.scanned_bytes);
        let half_units = units(bytes) * halves(consistency);
        self.note(StoreRead { call, index, rows, bytes, half_units });
    }

    /// Rows that are rounded one by one; a size for each, 0 for what is not there.
    fn note_rows(&self, call: &'static str, halves: u64, sizes: &[u64]) {
        let half_units = sizes.iter().map(|size| units(*size) * halves).sum();
        let (rows, bytes) = (sizes.len() as u64, sizes.iter().sum());
        self.note(StoreRead { call, index: None, rows, bytes, half_units });
    }
}

impl StoreRead {
    /// What several requests cost together, in dollars.
    pub fn dollars(reads: &[StoreRead]) -> f64 {
        let halves: u64 = reads.iter().map(|read| read.half_units).sum();
        halves as f64 / 2.0 * DOLLARS_PER_MILLION / 1e6
    }
}

/// A read of nothing costs a unit too.
fn units(bytes: u64) -> u64 {
    bytes.div_ceil(UNIT_BYTES).max(1)
}

/// Halves of a unit for 4 KB.
fn halves(consistency: Consistency) -> u64 {
    match consistency {
        Consistency::Strong => 2,
        Consistency::Eventual => 1,
    }
}

fn size(item: &Item) -> u64 {
    item.size() as u64
}

impl<S: Read + ?Sized> Read for Metered<S> {
    fn list_tables(&self) -> Answer<'_, Vec<TableName>> {
        self.store.list_tables()
    }

    fn describe_table(&self, table: TableName) -> Answer<'_, TableDescription> {
        self.store.describe_table(table)
    }

    fn get(&self, get: Get) -> Answer<'_, Option<Item>> {
        Box::pin(async move {
            let halves = halves(get.consistency);
            let found = self.store.get(get).await?;
            self.note_rows("get", halves, &[found.as_ref().map_or(0, size)]);
            Ok(found)
        })
    }

    fn query(&self, query: Query) -> Answer<'_, Page> {
        Box::pin(async move {
            let index = query.index.as_ref().map(ToString::to_string);
            let read = PageRead { call: "query", index, consistency: query.consistency };
            let page = self.store.query(query).await?;
            self.note_page(read, &page);
            Ok(page)
        })
    }

    fn scan(&self, scan: Scan) -> Answer<'_, Page> {
        Box::pin(async move {
            let index = scan.index.as_ref().map(ToString::to_string);
            let read = PageRead { call: "scan", index, consistency: scan.consistency };
            let page = self.store.scan(scan).await?;
            self.note_page(read, &page);
            Ok(page)
        })
    }

    fn batch_get(&self, batch: BatchGet) -> Answer<'_, BatchGot> {
        Box::pin(async move {
            let asked = batch.gets.len();
            let halves = batch.gets.first().map_or(2, |get| halves(get.consistency));
            let got = self.store.batch_get(batch).await?;
            let mut sizes: Vec<u64> = got.items.iter().map(|(_, item)| size(item)).collect();
            sizes.resize(asked.saturating_sub(got.unprocessed.len()), 0);
            self.note_rows("batch get", halves, &sizes);
            Ok(got)
        })
    }

    fn transact_get(&self, transaction: TransactGet) -> Answer<'_, Vec<Option<Item>>> {
        Box::pin(async move {
            let found = self.store.transact_get(transaction).await?;
            let sizes: Vec<u64> = found.iter().map(|item| item.as_ref().map_or(0, size)).collect();
            self.note_rows("transact get", 4, &sizes);
            Ok(found)
        })
    }

    fn as_of(&self) -> Option<SeqNo> {
        self.store.as_of()
    }

    fn sets(&self) -> Option<&dyn Sets> {
        self.store.sets().map(|_| self as &dyn Sets)
    }

    fn indexed_items(&self) -> Option<&dyn IndexedItems> {
        self.store.indexed_items().map(|_| self as &dyn IndexedItems)
    }
}

/// On DynamoDB it is a query and a batch of gets, and both are noted.
impl<S: Read + ?Sized> IndexedItems for Metered<S> {
    fn read_items(&self, read: ReadItems) -> Answer<'_, ItemsPage> {
        Box::pin(async move {
            let Some(store) = self.store.indexed_items() else { return Ok(ItemsPage::default()) };
            let index = Some(read.index.to_string());
            let page = store.read_items(read).await?;
            let (rows, bytes) = (page.rows(), page.row_bytes);
            let half_units = units(bytes) * halves(Consistency::Eventual);
            self.note(StoreRead { call: "query", index, rows, bytes, half_units });
            let sizes: Vec<u64> = page.items.iter().map(size).collect();
            if !sizes.is_empty() {
                self.note_rows("batch get", halves(Consistency::Strong), &sizes);
            }
            Ok(page)
        })
    }
}

impl<S: Read + ?Sized> Sets for Metered<S> {
    fn set_sizes(&self, table: TableName, sets: Vec<SetName>) -> Answer<'_, Vec<u64>> {
        Box::pin(async move {
            let Some(store) = self.store.sets() else { return Ok(vec![0; sets.len()]) };
            let sizes = store.set_sizes(table, sets).await?;
            self.note_rows("set sizes", 2, &vec![0; sizes.len()]);
            Ok(sizes)
        })
    }

    fn read_set(&self, read: ReadSet) -> Answer<'_, SetPart> {
        Box::pin(async move {
            let Some(store) = self.store.sets() else { return Ok(SetPart::default()) };
            let part = store.read_set(read).await?;
            let (rows, bytes) = (u64::from(part.chunks), part.bytes);
            let half_units = units(bytes) * 2;
            self.note(StoreRead { call: "read set", index: None, rows, bytes, half_units });
            Ok(part)
        })
    }

    fn list_sets(&self, list: ListSets) -> Answer<'_, Vec<SetSize>> {
        Box::pin(async move {
            let Some(store) = self.store.sets() else { return Ok(vec![]) };
            let found = store.list_sets(list).await?;
            let bytes = found.iter().map(|set| set.set.as_bytes().len() as u64).sum();
            let (rows, half_units) = (found.len() as u64, units(bytes) * 2);
            self.note(StoreRead { call: "list sets", index: None, rows, bytes, half_units });
            Ok(found)
        })
    }

    fn read_column(&self, read: ReadColumn) -> Answer<'_, ColumnPart> {
        Box::pin(async move {
            let Some(store) = self.store.sets() else { return Ok(ColumnPart::default()) };
            let part = store.read_column(read).await?;
            let (bytes, half_units) = (part.bytes, units(part.bytes) * 2);
            self.note(StoreRead { call: "read column", index: None, rows: 1, bytes, half_units });
            Ok(part)
        })
    }
}
