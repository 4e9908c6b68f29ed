//! Rows by their keys, one or many, as the store has them.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use futures_util::future::try_join_all;
use keyloom_model::attribute::{PARTITION, SORT};
use keyloom_model::{Layout, OwnRow, RowKey};
use keyloom_store::{BatchGet, Get, Read, TableName};
use keyloom_value::{Item, Name, Value};

use crate::error::unreadable;
use crate::{Error, ReadCost};

/// How many rows one request to a store can read.
pub(crate) const BATCH_MAX: usize = 100;
/// How many such requests are sent at once.
const BATCHES_MAX: usize = 8;
/// How often in a row a store may return nothing. Stores that throttle wait by themselves.
const IDLE_ROUNDS_MAX: usize = 8;

/// The rows of a table, as they are stored. Knows no layout and no time: what a row means, and
/// whether it is visible, is decided elsewhere.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'r> {
    pub(crate) store: &'r dyn Read,
    pub(crate) table: &'r TableName,
}

/// The key of a row, as bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RawKey {
    pub(crate) partition: Vec<u8>,
    pub(crate) sort: Vec<u8>,
}

/// The outcome of reading one row.
#[derive(Debug)]
pub(crate) enum Fetched {
    Row(Item),
    Gone,
    /// The row was not read: the rows before it used up the budget.
    Unread,
}

impl RawKey {
    pub(crate) fn of(row: &Item) -> Option<RawKey> {
        let bytes = |name| row.get(name).and_then(Value::as_b).map(<[u8]>::to_vec);
        Some(RawKey { partition: bytes(PARTITION)?, sort: bytes(SORT)? })
    }

    /// Takes the key out of a row that is not needed afterwards.
    pub(crate) fn take(row: &mut Item) -> Option<RawKey> {
        Some(RawKey { partition: take_bytes(row, PARTITION)?, sort: take_bytes(row, SORT)? })
    }

    fn is_of(&self, row: &Item) -> bool {
        let bytes = |name| row.get(name).and_then(Value::as_b);
        bytes(PARTITION) == Some(&self.partition) && bytes(SORT) == Some(&self.sort)
    }

    fn to_item(&self) -> Item {
        // A name is cloned for every row that is read.
        static NAMES: LazyLock<[Name; 2]> = LazyLock::new(|| [PARTITION.into(), SORT.into()]);
        let values = [&self.partition, &self.sort].map(|bytes| Value::B(bytes.clone()));
        NAMES.iter().cloned().zip(values).collect()
    }
}

/// Takes the bytes of an attribute out of a row.
pub(crate) fn take_bytes(row: &mut Item, name: &str) -> Option<Vec<u8>> {
    match row.get_mut(name)? {
        Value::B(bytes) => Some(std::mem::take(bytes)),
        _ => None,
    }
}

impl From<&RowKey> for RawKey {
    fn from(key: &RowKey) -> RawKey {
        let (partition, sort) = (key.partition.as_bytes().to_vec(), key.sort.as_bytes().to_vec());
        RawKey { partition, sort }
    }
}

/// Rows in the order of their keys.
struct Found<'k> {
    keys: &'k [RawKey],
    rows: Vec<Option<Item>>,
    /// Most stores return rows in the order of the request.
    next: usize,
}

impl<'k> Found<'k> {
    fn new(keys: &'k [RawKey]) -> Found<'k> {
        Found { keys, rows: vec![None; keys.len()], next: 0 }
    }

    fn put(&mut self, row: Item) {
        let is_it = |place: &usize| self.keys[*place].is_of(&row);
        let Some(place) = (self.next..self.keys.len()).chain(0..self.next).find(is_it) else {
            return;
        };
        self.rows[place] = Some(row);
        self.next = place + 1;
    }

    /// Takes the row of a key; a key that was given again shares the row of the first.
    fn take(&mut self, place: usize, is_each_once: bool) -> Option<Item> {
        if is_each_once {
            return self.rows[place].take();
        }
        let same = self.keys.iter().zip(&self.rows).filter(|(key, _)| **key == self.keys[place]);
        same.filter_map(|(_, row)| row.as_ref()).next().cloned()
    }
}

impl Rows<'_> {
    /// Reads one row. A key that is too long for a table has none.
    pub(crate) async fn get(&self, key: &RowKey) -> Result<Option<Item>, Error> {
        if !key.fits() {
            return Ok(None);
        }
        Ok(self.store.get(Get::new(self.table, key.to_item())).await?)
    }

    /// Reads many rows, in the order of their keys; a key may be given twice.
    pub(crate) async fn get_many(
        &self,
        keys: &[RawKey],
        cost: &mut ReadCost,
    ) -> Result<Vec<Option<Item>>, Error> {
        let fetch = |batch| async move {
            let mut cost = ReadCost::default();
            let fetched = self.fetch(batch, u64::MAX, &mut cost).await?;
            Ok::<_, Error>((fetched, cost))
        };
        let mut rows = Vec::with_capacity(keys.len());
        for batches in keys.chunks(BATCH_MAX * BATCHES_MAX) {
            for (fetched, of_batch) in try_join_all(batches.chunks(BATCH_MAX).map(fetch)).await? {
                cost.add(of_batch);
                rows.extend(fetched.into_iter().map(|fetched| match fetched {
                    Fetched::Row(row) => Some(row),
                    Fetched::Gone | Fetched::Unread => None,
                }));
            }
        }
        Ok(rows)
    }

    /// Reads at most [`BATCH_MAX`] rows, in the order of their keys; a key may be given twice. Once
    /// the cost reaches `bytes_max`, the rest may be left unread, but never the first.
    pub(crate) async fn fetch(
        &self,
        keys: &[RawKey],
        bytes_max: u64,
        cost: &mut ReadCost,
    ) -> Result<Vec<Fetched>, Error> {
        debug_assert!(keys.len() <= BATCH_MAX, "{} rows at once", keys.len());
        let mut asked = BTreeSet::new();
        let once = keys.iter().filter(|key| asked.insert(*key));
        let mut gets: Vec<Get> = once.map(|key| Get::new(self.table, key.to_item())).collect();
        let mut found = Found::new(keys);
        let mut idle_rounds = 0;
        while !gets.is_empty() && idle_rounds < IDLE_ROUNDS_MAX {
            let before = gets.len();
            let got = self.store.batch_get(BatchGet { gets }).await?;
            gets = got.unprocessed;
            cost.rows += before.saturating_sub(gets.len()) as u64;
            for (_, row) in got.items {
                cost.bytes += row.size() as u64;
                found.put(row);
            }
            let first_is_left = keys.first().is_some_and(|first| is_left(&gets, first));
            if cost.bytes >= bytes_max && !first_is_left {
                break;
            }
            idle_rounds = if gets.len() < before { 0 } else { idle_rounds + 1 };
        }
        if idle_rounds == IDLE_ROUNDS_MAX {
            return Err(Error::Unanswered { rows: gets.len() });
        }
        let is_each_once = asked.len() == keys.len();
        let fetched = |place: usize| match found.take(place, is_each_once) {
            Some(row) => Fetched::Row(row),
            None if is_left(&gets, &keys[place]) => Fetched::Unread,
            None => Fetched::Gone,
        };
        Ok((0..keys.len()).map(fetched).collect())
    }
}

/// Decodes an entity's own row.
pub(crate) fn read_own(layout: &Layout, row: Item) -> Result<OwnRow, Error> {
    layout.take_own(row).map_err(|failed| unreadable(&failed.0, failed.1))
}

fn is_left(gets: &[Get], key: &RawKey) -> bool {
    gets.iter().any(|get| RawKey::of(&get.key).as_ref() == Some(key))
}
