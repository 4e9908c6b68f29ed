//! What all entities of a table add up to: counters and posting lists.
//!
//! Where the store neither adds to counters nor has sets, a copy writes them once for all entities: if
//! every transaction of it added to them, all would wait for the same few rows.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use futures_util::future::try_join_all;
use keyloom_model::{
    Addend, Amount, Chunk, ChunkKeys, Counter, Directory, Matching, OwnRow, RowName,
};
use keyloom_store::{Scan, Segment, yield_point};
use keyloom_value::Item;

use super::lanes::put_all;
use super::portable::name_of;
use super::{CopyProgress, CopyStep, OnProgress};
use crate::error::Error;
use crate::schema::{Layouts, Schema};
use crate::shared::Shared;

/// The members of a posting list, by chunk.
pub(super) type Members = BTreeMap<u64, Vec<u16>>;

/// What entities add up to. Takes memory for every counter, and two bytes for every posting.
#[derive(Default)]
pub(super) struct Sums {
    counters: BTreeMap<Counter, Amount>,
    lists: BTreeMap<Vec<u8>, Members>,
}

impl Sums {
    /// Adds what an entity adds to.
    pub(super) fn add(&mut self, layouts: &Layouts, own: &OwnRow) -> Result<(), Error> {
        let OwnRow { image, pending, .. } = own;
        for Addend { counter, amount } in layouts.counters_after(image, pending)? {
            // Scores are settled from the start.
            let counter = counter.changed().unwrap_or(counter);
            self.counters.entry(counter).or_default().add(&amount);
        }
        let Some(ordinal) = image.ordinal else { return Ok(()) };
        let lists: Vec<Vec<u8>> = match layouts.current.matching() {
            Matching::Chunks => layouts.chunked_after(image, pending)?.into_iter().collect(),
            Matching::Sets | Matching::Rows => {
                let sets = layouts.sets_after(image, pending)?.into_iter();
                sets.map(|(set, _)| set.as_bytes().to_vec()).collect()
            }
        };
        for list in lists {
            insert(self.lists.entry(list).or_default(), ordinal);
        }
        Ok(())
    }

    /// The rows of all counters, with the prefix counts of those that are ranked.
    ///
    /// # Errors
    ///
    /// If no number is one of the sums.
    pub(super) fn counter_rows(&self) -> Result<Vec<Item>, Error> {
        let mut all = self.counters.clone();
        for (counter, amount) in &self.counters {
            for prefix in counter.prefix_counts(amount.count) {
                all.entry(Counter::Plain(prefix)).or_default().count += 1;
            }
        }
        let rows = all.into_iter().map(|(counter, amount)| Ok(counter.row(&amount)?));
        rows.filter_map(Result::transpose).collect()
    }

    /// The chunks and directories of all posting lists.
    pub(super) fn list_rows(self, stamp: &str) -> impl Iterator<Item = Item> {
        self.lists.into_iter().flat_map(move |(list, members)| list_rows(&list, members, stamp))
    }
}

/// Adds an ordinal to a list.
pub(super) fn insert(members: &mut Members, ordinal: u64) {
    let member = u16::try_from(ordinal % Chunk::ORDINALS).unwrap_or(u16::MAX);
    members.entry(ordinal / Chunk::ORDINALS).or_default().push(member);
}

/// The chunks and the directory of a posting list.
pub(super) fn list_rows(list: &[u8], members: Members, stamp: &str) -> Vec<Item> {
    let (mut rows, mut counts) = (vec![], BTreeMap::new());
    for (chunk, mut members) in members {
        members.sort_unstable();
        members.dedup();
        counts.insert(chunk, u32::try_from(members.len()).unwrap_or(u32::MAX));
        rows.push(Chunk { members }.row(&ChunkKeys::chunk_key(list, chunk)));
    }
    let directory = Directory { version: stamp.to_owned(), counts };
    rows.push(directory.row(&ChunkKeys::directory_key(list)));
    rows
}

/// Writes counters and posting lists where the store does not keep them itself.
pub(super) async fn write_aggregates(
    shared: &Shared,
    schema: &Schema,
    lanes: u32,
    on_progress: OnProgress<'_>,
) -> Result<(), Error> {
    let has_chunks = schema.layouts.current.matching() == Matching::Chunks;
    let adds = shared.store.adds_numbers();
    if adds && !has_chunks {
        return Ok(());
    }
    let sums = Mutex::new(Sums::default());
    let visit = |row: &Item| match name_of(&schema.layouts.current, row) {
        Some(RowName::Own(_)) => {
            let own = schema.layouts.current.read_own(row).map_err(Error::damaged)?;
            lock(&sums).add(&schema.layouts, &own)
        }
        _ => Ok(()),
    };
    visit_all(shared, lanes, CopyStep::Deriving, on_progress, &visit).await?;
    let sums = sums.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut rows = if adds { vec![] } else { sums.counter_rows()? };
    let stamp = shared.stamps.next()?;
    if has_chunks {
        rows.extend(sums.list_rows(&stamp));
    }
    put_all(shared, lanes, rows).await
}

/// Visits all rows of a table, in so many segments at once.
pub(super) async fn visit_all(
    shared: &Shared,
    of: u32,
    step: CopyStep,
    on_progress: OnProgress<'_>,
    visit: &(dyn Fn(&Item) -> Result<(), Error> + Send + Sync),
) -> Result<(), Error> {
    let total = shared.store.describe_table(shared.table.clone()).await?.items;
    let read = Mutex::new(0);
    let segment = |number: u32| {
        let mut scan = Scan::new(&shared.table);
        scan.segment = Some(Segment { number, of });
        let read = &read;
        async move {
            loop {
                yield_point().await;
                let page = shared.store.scan(scan.clone()).await?;
                page.items.iter().try_for_each(visit)?;
                let rows = {
                    let mut read = read.lock().unwrap_or_else(PoisonError::into_inner);
                    *read += page.scanned;
                    *read
                };
                on_progress(CopyProgress::new(step, rows, Some(total.max(rows))));
                match page.last_key {
                    None => return Ok::<(), Error>(()),
                    start => scan.start = start,
                }
            }
        }
    };
    try_join_all((0..of.max(1)).map(segment)).await?;
    Ok(())
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
