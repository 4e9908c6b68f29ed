//! Applying set changes to the tree: those of a whole commit batch together, so that each chunk is
//! written once.

use std::collections::BTreeMap;
use std::path::Path;

use crate::{Error, Membership};

use super::format::{
    Chunk, ChunkNo, Delta, Malformed, NextId, SMALL_MAX, SetEffect, SetId, SetRecord, SetRows,
    SpaceId,
};
use super::malformed_row;
use super::rows_mut::RowsMut;
use super::tree::failed;

/// Pending changes of each set of each space.
#[derive(Debug, Default)]
pub(crate) struct SetChanges(BTreeMap<(SpaceId, Vec<u8>), Vec<Change>>);

/// An ordinal and whether it becomes a member.
type Change = (u64, Membership);

impl SetChanges {
    /// Adds changes. Later changes of an ordinal come after earlier ones.
    pub(crate) fn add(&mut self, space: SpaceId, effect: &SetEffect) {
        let changes = self.0.entry((space, effect.set.clone())).or_default();
        changes.extend(effect.ordinals.iter().map(|ordinal| (*ordinal, effect.becomes)));
    }

    /// Applies all of them to the tree; returns how many rows were written.
    pub(crate) fn flush(self, rows: &mut RowsMut<'_>, path: &Path) -> Result<u64, Error> {
        let mut writer = SetWriter { rows, path, written: 0 };
        for ((space, name), mut changes) in self.0 {
            // The sort is stable: changes of one ordinal keep their order.
            changes.sort_by_key(|(ordinal, _)| *ordinal);
            writer.change(SetRows(space), &name, changes)?;
        }
        Ok(writer.written)
    }
}

struct SetWriter<'a, 'txn> {
    rows: &'a mut RowsMut<'txn>,
    path: &'a Path,
    written: u64,
}

impl SetWriter<'_, '_> {
    /// Applies changes that are sorted by ordinal.
    fn change(&mut self, set: SetRows, name: &[u8], changes: Vec<Change>) -> Result<(), Error> {
        let row = set.name(name);
        let before = self.read(&row, SetRecord::decode)?;
        let after = match before.clone() {
            Some(SetRecord::Large { id, members }) => {
                let members = members.saturating_add_signed(self.change_chunks(set, id, &changes)?);
                SetRecord::Large { id, members }
            }
            small => {
                let mut members = match small {
                    Some(SetRecord::Small(members)) => members,
                    Some(SetRecord::Large { .. }) | None => Default::default(),
                };
                for (ordinal, becomes) in changes {
                    match becomes {
                        Membership::In => members.insert(ordinal),
                        Membership::Out => members.remove(&ordinal),
                    };
                }
                if members.len() > SMALL_MAX {
                    let id = self.next_id(set)?;
                    let joins = members.into_iter().map(|ordinal| (ordinal, Membership::In));
                    let members = self.change_chunks(set, id, &joins.collect::<Vec<_>>())?;
                    SetRecord::Large { id, members: members.unsigned_abs() }
                } else {
                    SetRecord::Small(members)
                }
            }
        };
        let kept = (after.len() > 0).then_some(&after);
        if kept != before.as_ref() {
            self.write(&row, kept.map(SetRecord::encode).as_deref())?;
        }
        Ok(())
    }

    /// Changes members of a large set; returns by how many it grows.
    fn change_chunks(&mut self, set: SetRows, id: SetId, changes: &[Change]) -> Result<i64, Error> {
        let chunk = |change: &Change| ChunkNo::of(change.0);
        let mut more = 0;
        for changes in changes.chunk_by(|a, b| chunk(a) == chunk(b)) {
            more += self.change_chunk((set, id, chunk(&changes[0])), changes)?;
        }
        Ok(more)
    }

    fn change_chunk(
        &mut self,
        (set, id, number): (SetRows, SetId, ChunkNo),
        changes: &[Change],
    ) -> Result<i64, Error> {
        let (row, delta_row) = (set.chunk(id, number), set.delta(id, number));
        let chunk = self.read(&row, Chunk::decode)?.unwrap_or_default();
        let before = self.read(&delta_row, Delta::decode)?;
        let had_delta = before.is_some();
        let mut delta = before.unwrap_or_default();
        if chunk.takes_delta(delta.len() + changes.len()) {
            let more = changes.iter().map(|(ordinal, becomes)| {
                delta.change(&chunk, (ordinal & 0xffff) as u16, *becomes)
            });
            let more = more.sum();
            if had_delta || !delta.is_empty() {
                let kept = (!delta.is_empty()).then(|| delta.encode());
                self.write(&delta_row, kept.as_deref())?;
            }
            return Ok(more);
        }
        let mut bits = chunk.to_bits();
        bits.fold(&delta);
        let more = changes.iter().map(|(ordinal, becomes)| {
            let is_in = *becomes == Membership::In;
            i64::from(is_in) - i64::from(bits.replace((ordinal & 0xffff) as u16, is_in))
        });
        let more = more.sum();
        self.write(&row, bits.into_chunk().as_ref().map(Chunk::as_bytes))?;
        if had_delta {
            self.write(&delta_row, None)?;
        }
        Ok(more)
    }

    fn next_id(&mut self, set: SetRows) -> Result<SetId, Error> {
        let id = self.read(&set.next(), NextId::decode)?.map_or(0, |next| next.0);
        self.write(&set.next(), Some(&NextId(id.saturating_add(1)).encode()))?;
        Ok(SetId(id))
    }

    fn read<T>(
        &self,
        row: &[u8],
        decode: impl FnOnce(&[u8]) -> Result<T, Malformed>,
    ) -> Result<Option<T>, Error> {
        let found = self.rows.get(row).map_err(|error| failed(self.path, error))?;
        let found = found.map(|found| decode(found.value())).transpose();
        found.map_err(|why| malformed_row(self.path, why))
    }

    fn write(&mut self, row: &[u8], value: Option<&[u8]>) -> Result<(), Error> {
        let written = match value {
            Some(value) => self.rows.insert(row, value),
            None => self.rows.remove(row),
        };
        self.written += 1;
        written.map(drop).map_err(|error| failed(self.path, error))
    }
}

impl Delta {
    /// Records the new membership of an ordinal; returns by how many members the set grows.
    fn change(&mut self, chunk: &Chunk, low: u16, becomes: Membership) -> i64 {
        let in_chunk = chunk.contains(low);
        let was_in = if in_chunk { !self.left.contains(&low) } else { self.joined.contains(&low) };
        let is_in = becomes == Membership::In;
        self.joined.remove(&low);
        self.left.remove(&low);
        match (in_chunk, is_in) {
            (false, true) => drop(self.joined.insert(low)),
            (true, false) => drop(self.left.insert(low)),
            (true, true) | (false, false) => {}
        }
        i64::from(is_in) - i64::from(was_in)
    }
}
