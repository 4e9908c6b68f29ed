//! Reading sets of a snapshot.

use std::future::ready;

use crate::slice::Interrupt;
use crate::{
    Answer, ColumnPart, Direction, Error, ListSets, Members, ReadColumn, ReadSet, SetName, SetPart,
    SetSize, Sets, TableName, validate,
};

use super::format::{Chunk, ChunkNo, Delta, SetId, SetRecord, SetRows};
use super::view::View;

impl Sets for View {
    fn set_sizes(&self, table: TableName, sets: Vec<SetName>) -> Answer<'_, Vec<u64>> {
        Box::pin(ready(self.sizes_of_sets(&table, &sets)))
    }

    fn read_set(&self, read: ReadSet) -> Answer<'_, SetPart> {
        Box::pin(ready(self.part_of_set(&read)))
    }

    fn list_sets(&self, list: ListSets) -> Answer<'_, Vec<SetSize>> {
        Box::pin(ready(self.find_sets(&list)))
    }

    fn read_column(&self, read: ReadColumn) -> Answer<'_, ColumnPart> {
        Box::pin(ready(self.part_of_column(&read, &Interrupt::never())))
    }
}

impl View {
    pub(crate) fn sizes_of_sets(
        &self,
        table: &TableName,
        sets: &[SetName],
    ) -> Result<Vec<u64>, Error> {
        let rows = self.catalog.table(table)?.set_rows();
        let size = |set: &SetName| Ok(self.set_record(rows, set)?.map_or(0, |(set, _)| set.len()));
        sets.iter().map(size).collect()
    }

    pub(crate) fn part_of_set(&self, read: &ReadSet) -> Result<SetPart, Error> {
        let rows = self.catalog.table(&read.table)?.set_rows();
        validate::read_set(read)?;
        let Some((record, bytes)) = self.set_record(rows, &read.set)? else {
            return Ok(SetPart::default());
        };
        let mut part = Part { read, part: SetPart { bytes, ..SetPart::default() } };
        match (record, rows) {
            (SetRecord::Small(members), _) => part.add_small(members),
            (SetRecord::Large { id, .. }, Some(rows)) => self.read_chunks(rows, id, &mut part)?,
            (SetRecord::Large { .. }, None) => {}
        }
        Ok(part.part)
    }

    pub(crate) fn find_sets(&self, list: &ListSets) -> Result<Vec<SetSize>, Error> {
        let rows = self.catalog.table(&list.table)?.set_rows();
        validate::list_sets(list)?;
        let Some(rows) = rows else { return Ok(vec![]) };
        let first = rows.name(&list.prefix);
        let from = match &list.after {
            Some(after) => first.max([&rows.name(after.as_bytes())[..], &[0]].concat()),
            None => first,
        };
        let range = (from, rows.names_end(&list.prefix));
        let mut found = Vec::new();
        for entry in self.tree.range(&range)?.take(list.limit as usize) {
            let (row, value) = entry?;
            let name = SetRows::name_of(row.value()).map_err(|why| self.malformed(why))?;
            let record = SetRecord::decode(value.value()).map_err(|why| self.malformed(why))?;
            found.push(SetSize { set: SetName::new(name)?, members: record.len() });
        }
        Ok(found)
    }

    fn set_record(
        &self,
        rows: Option<SetRows>,
        set: &SetName,
    ) -> Result<Option<(SetRecord, u64)>, Error> {
        let Some(rows) = rows else { return Ok(None) };
        let Some(row) = self.tree.get(&rows.name(set.as_bytes()))? else { return Ok(None) };
        let record = SetRecord::decode(row.value()).map_err(|why| self.malformed(why))?;
        Ok(Some((record, row.value().len() as u64)))
    }

    fn read_chunks(&self, rows: SetRows, id: SetId, part: &mut Part<'_>) -> Result<(), Error> {
        let at = ChunkNo::of(part.read.from);
        let range = match part.read.direction {
            Direction::Forward => (rows.chunk(id, at), rows.chunk_end(id, ChunkNo::LAST)),
            Direction::Backward => (rows.chunk(id, ChunkNo::FIRST), rows.chunk_end(id, at)),
        };
        let mut range = self.tree.range(&range)?;
        let mut next = || match part.read.direction {
            Direction::Forward => range.next(),
            Direction::Backward => range.next_back(),
        };
        let mut pending: Option<Pending> = None;
        while let Some(entry) = next() {
            let (row, value) = entry?;
            let (number, is_delta) =
                SetRows::chunk_of(row.value()).map_err(|why| self.malformed(why))?;
            if let Some(done) = pending.take_if(|pending| pending.number != number) {
                part.add(done);
                if part.is_full() {
                    return Ok(());
                }
            }
            let pending = pending.get_or_insert_with(|| Pending { number, ..Pending::default() });
            let added = pending.add(value.value(), is_delta);
            added.map_err(|why| self.malformed(why))?;
        }
        if let Some(last) = pending {
            part.add(last);
        }
        // The end of the set was reached.
        part.part.through = None;
        Ok(())
    }
}

/// A part of a set that is being read.
struct Part<'r> {
    read: &'r ReadSet,
    part: SetPart,
}

/// A chunk whose rows are being read.
#[derive(Default)]
struct Pending {
    number: ChunkNo,
    members: Members,
    delta: Delta,
    bytes: u64,
}

impl Pending {
    fn add(&mut self, value: &[u8], is_delta: bool) -> Result<(), super::format::Malformed> {
        self.bytes += value.len() as u64;
        match is_delta {
            true => self.delta = Delta::decode(value)?,
            false => self.members = Chunk::decode(value)?.members(self.number),
        }
        Ok(())
    }
}

impl Part<'_> {
    fn add_small(&mut self, members: impl IntoIterator<Item = u64, IntoIter: DoubleEndedIterator>) {
        let mut members: Vec<u64> = members.into_iter().collect();
        if self.read.direction == Direction::Backward {
            members.reverse();
        }
        for ordinals in members.chunk_by(|left, right| ChunkNo::of(*left) == ChunkNo::of(*right)) {
            if self.is_full() {
                return;
            }
            let number = ChunkNo::of(ordinals[0]);
            let members = ordinals.iter().copied().collect();
            self.add(Pending { number, members, ..Pending::default() });
        }
        self.part.through = None;
    }

    fn is_full(&self) -> bool {
        self.part.chunks == self.read.chunks
    }

    /// Adds the requested members of a chunk.
    fn add(&mut self, pending: Pending) {
        let Pending { number, mut members, delta, bytes } = pending;
        self.part.bytes += bytes;
        delta.apply(number, &mut members);
        members.keep(match self.read.direction {
            Direction::Forward => self.read.from..=u64::MAX,
            Direction::Backward => 0..=self.read.from,
        });
        self.part.through = Some(match self.read.direction {
            Direction::Forward => number.last(),
            Direction::Backward => number.first(),
        });
        if !members.is_empty() {
            self.part.members.or(&members);
            self.part.chunks += 1;
        }
    }
}
