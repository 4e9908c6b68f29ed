//! The audit of a copied table: recomputes everything that its entities imply, and compares it with what
//! is stored. Nobody else writes, so one pass over the table suffices: both sides are summed up. `verify`
//! reads every derived row by itself and works while others write, which takes many times as long.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use keyloom_model::attribute::{PARTITION, SORT};
use keyloom_model::{ChunkKeys, Directory, OwnRow, Reason, RowKey, RowName};
use keyloom_store::{Direction, ListSets, ReadSet, SetName, Sets};
use keyloom_value::{Item, Value};

use super::aggregate::{Members, Sums, insert, list_rows, lock, visit_all};
use super::portable::name_of;
use super::{CopyStep, OnProgress, Summary};
use crate::error::Error;
use crate::schema::Schema;
use crate::shared::Shared;

const OWN: &str = "rows of entities";
const DERIVED: &str = "derived rows";
const COUNTERS: &str = "counters";
const LISTS: &str = "posting lists";

/// How many sets are listed, and how many chunks read, at a time.
const SETS_PAGE: u32 = 1000;
const CHUNKS_PAGE: u32 = 64;

/// What is expected, and what is stored.
#[derive(Default)]
struct Both {
    sums: Sums,
    expected: Summary,
    found: Summary,
}

/// Returns what differs, a phrase for each kind of row.
pub(super) async fn audit(
    shared: &Shared,
    schema: &Schema,
    readers: u32,
    on_progress: OnProgress<'_>,
) -> Result<Vec<String>, Error> {
    let both = Mutex::new(Both::default());
    let visit = |row: &Item| visit(schema, row, &mut lock(&both));
    visit_all(shared, readers, CopyStep::Verifying, on_progress, &visit).await?;
    let Both { sums, mut expected, mut found } =
        both.into_inner().unwrap_or_else(PoisonError::into_inner);
    sums.counter_rows()?.iter().for_each(|row| expected.add_as(COUNTERS, row));
    sums.list_rows("").for_each(|row| expected.add_as(LISTS, &row));
    if let Some(sets) = shared.store.sets() {
        add_sets(shared, sets, &mut found).await?;
    }
    Ok(expected.differences(&found))
}

fn visit(schema: &Schema, row: &Item, both: &mut Both) -> Result<(), Error> {
    let layout = &schema.layouts.current;
    match name_of(layout, row) {
        Some(RowName::Own(_)) => {
            let own = layout.read_own(row).map_err(Error::damaged)?;
            both.found.add_as(OWN, row);
            both.sums.add(&schema.layouts, &own)?;
            expect(schema, &own, &mut both.expected)
        }
        Some(
            RowName::Guard { .. }
            | RowName::Link { .. }
            | RowName::Presence { .. }
            | RowName::Posting { .. },
        ) => {
            both.found.add_as(DERIVED, row);
            Ok(())
        }
        Some(RowName::Counter(_)) => {
            both.found.add_as(COUNTERS, row);
            Ok(())
        }
        Some(RowName::System) => add_list_row(row, &mut both.found),
        None => {
            both.found.add_as("unknown rows", row);
            Ok(())
        }
    }
}

/// Adds every row that an entity implies.
fn expect(schema: &Schema, own: &OwnRow, expected: &mut Summary) -> Result<(), Error> {
    let OwnRow { image, deletion, pending, .. } = own;
    for row in schema.layouts.rows_after(image, deletion.as_deref(), pending)? {
        expected.add_as(if row.reason == Reason::Own { OWN } else { DERIVED }, &row.item);
    }
    Ok(())
}

/// Adds a row of a posting list, if it is one. Versions of directories differ.
fn add_list_row(row: &Item, found: &mut Summary) -> Result<(), Error> {
    let key = |name| row.get(name).and_then(Value::as_b).unwrap_or_default();
    if ChunkKeys::read_chunk_key(key(PARTITION), key(SORT)).is_some() {
        found.add_as(LISTS, row);
    } else if key(PARTITION).starts_with(ChunkKeys::directory_partition(&[]).as_bytes()) {
        let directory = Directory::read(row).map_err(Error::damaged)?;
        let mut plain = Directory { version: String::new(), ..directory }.row(&no_key());
        for name in [PARTITION, SORT] {
            plain.insert(name, row.get(name).cloned().unwrap_or(Value::Null));
        }
        found.add_as(LISTS, &plain);
    }
    Ok(())
}

fn no_key() -> RowKey {
    ChunkKeys::directory_key(&[])
}

/// Adds the posting lists that are sets, in terms of chunks.
async fn add_sets(shared: &Shared, sets: &dyn Sets, found: &mut Summary) -> Result<(), Error> {
    let mut after = None;
    loop {
        let table = shared.table.clone();
        let list = ListSets { table, prefix: vec![], after, limit: SETS_PAGE };
        let page = sets.list_sets(list).await?;
        for size in page.iter().filter(|size| size.members > 0) {
            let members = read_set(shared, sets, &size.set).await?;
            let rows = list_rows(size.set.as_bytes(), members, "");
            rows.iter().for_each(|row| found.add_as(LISTS, row));
        }
        let is_last = page.len() < SETS_PAGE as usize;
        match page.last().filter(|_| !is_last) {
            None => return Ok(()),
            Some(last) => after = Some(last.set.clone()),
        }
    }
}

async fn read_set(shared: &Shared, sets: &dyn Sets, set: &SetName) -> Result<Members, Error> {
    let (mut members, mut from) = (BTreeMap::new(), 0);
    loop {
        let (table, set) = (shared.table.clone(), set.clone());
        let direction = Direction::Forward;
        let read = ReadSet { table, set, from, direction, chunks: CHUNKS_PAGE };
        let part = sets.read_set(read).await?;
        part.members.iter().for_each(|ordinal| insert(&mut members, ordinal));
        match part.through.and_then(|through| through.checked_add(1)) {
            None => return Ok(members),
            Some(next) => from = next,
        }
    }
}
