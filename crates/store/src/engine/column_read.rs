//! Reading columns of a snapshot.

use std::cmp::Ordering;

use crate::slice::Interrupt;
use crate::{Cell, ColumnPart, ColumnValue, Direction, Error, ReadColumn, validate};

use super::format::{Block, BuildState, ColumnRows, block_of};
use super::view::View;

/// If at least one block in this many is requested, all blocks are scanned; otherwise they are read
/// one by one.
const DENSE: usize = 8;

impl View {
    pub(crate) fn part_of_column(
        &self,
        read: &ReadColumn,
        interrupt: &Interrupt,
    ) -> Result<ColumnPart, Error> {
        let table = self.catalog.table(&read.table)?;
        validate::read_column(read)?;
        let missing =
            || Error::IndexNotFound { table: read.table.clone(), index: read.column.clone() };
        let derived = table.column_rows(&read.column).ok_or_else(missing)?;
        if derived.build != BuildState::Complete {
            let (table, index) = (read.table.clone(), read.column.clone());
            return Err(Error::IndexBuilding { table, index });
        }
        let partition = ColumnRows(derived.space).partition(&read.partition);
        let ordinals: Vec<u64> = read.among.iter().collect();
        let blocks: Vec<&[u64]> =
            ordinals.chunk_by(|left, right| block_of(*left).0 == block_of(*right).0).collect();
        let mut first = FirstCells::new(read);
        let block = |ordinal: Option<u64>| ordinal.map(|ordinal| block_of(ordinal).0);
        let ends = (block(read.among.first()), block(read.among.last()));
        let (Some(low), Some(high)) = ends else { return Ok(first.into_part()) };
        if blocks.len().saturating_mul(DENSE) > usize::try_from(high - low).unwrap_or(usize::MAX) {
            self.scan_blocks(&partition, (low, high), (&blocks, &mut first, interrupt))?;
        } else {
            for ordinals in blocks.into_iter().take_while(|_| !interrupt.fires()) {
                let row = ColumnRows::block(&partition, block_of(ordinals[0]).0);
                if let Some(row) = self.tree.get(&row)? {
                    self.take_block(row.value(), ordinals, &mut first)?;
                }
            }
        }
        Ok(first.into_part())
    }

    /// Scans a range of blocks and uses the requested ones.
    fn scan_blocks(
        &self,
        partition: &[u8],
        (low, high): (u64, u64),
        (blocks, first, interrupt): (&[&[u64]], &mut FirstCells, &Interrupt),
    ) -> Result<(), Error> {
        let mut end = ColumnRows::block(partition, high);
        end.push(0);
        let mut wanted = blocks.iter().peekable();
        let range = self.tree.range(&(ColumnRows::block(partition, low), end))?;
        for entry in range.take_while(|_| !interrupt.fires()) {
            let (row, value) = entry?;
            let number = ColumnRows::block_in(row.value()).map_err(|why| self.malformed(why))?;
            while wanted.next_if(|ordinals| block_of(ordinals[0]).0 < number).is_some() {}
            if let Some(ordinals) = wanted.next_if(|ordinals| block_of(ordinals[0]).0 == number) {
                self.take_block(value.value(), ordinals, first)?;
            }
        }
        Ok(())
    }

    fn take_block(
        &self,
        bytes: &[u8],
        ordinals: &[u64],
        first: &mut FirstCells,
    ) -> Result<(), Error> {
        let block = Block::decode(bytes).map_err(|why| self.malformed(why))?;
        if block.greatest() < first.least.value || block.least() > first.greatest.value {
            first.bytes += (2 * ColumnValue::BYTES) as u64;
            return Ok(());
        }
        first.bytes += bytes.len() as u64;
        let mut heads = block.heads(&first.least.value, &first.greatest.value);
        for ordinal in ordinals {
            if let Some(value) = block.get_within(block_of(*ordinal).1, heads)
                && first.offer(Cell { value, ordinal: *ordinal })
            {
                heads = block.heads(&first.least.value, &first.greatest.value);
            }
        }
        Ok(())
    }
}

/// The first cells so far. Cells outside of `least` and `greatest` can no longer be among them.
struct FirstCells {
    direction: Direction,
    count: usize,
    least: Cell,
    greatest: Cell,
    cells: Vec<Cell>,
    /// With this many cells, those that are not needed are dropped.
    cells_max: usize,
    /// The last value, if there were too many cells with it.
    tied_at: Option<ColumnValue>,
    bytes: u64,
}

impl FirstCells {
    fn new(read: &ReadColumn) -> FirstCells {
        let count = read.count as usize;
        FirstCells {
            direction: read.direction,
            count,
            least: read.least,
            greatest: read.greatest,
            cells: vec![],
            cells_max: count * 2,
            tied_at: None,
            bytes: 0,
        }
    }

    /// Offers a cell; returns whether the bounds have narrowed.
    fn offer(&mut self, cell: Cell) -> bool {
        if cell < self.least || cell > self.greatest {
            return false;
        }
        self.cells.push(cell);
        let is_full = self.cells.len() > self.cells_max;
        if is_full {
            self.prune();
        }
        is_full
    }

    /// Keeps the first cells, and those whose value ties with the last of them.
    fn prune(&mut self) {
        if self.cells.len() <= self.count {
            return;
        }
        let order = order(self.direction);
        let (_, last, _) = self.cells.select_nth_unstable_by(self.count - 1, order);
        let last = last.bound(self.direction);
        match self.direction {
            Direction::Forward => self.greatest = last,
            Direction::Backward => self.least = last,
        }
        let (least, greatest) = (self.least, self.greatest);
        self.cells.retain(|cell| (least..=greatest).contains(cell));
        let room = self.count + ReadColumn::TIES_MAX;
        if self.cells.len() > room {
            self.tied_at = Some(last.value);
            self.cells.select_nth_unstable_by(room - 1, order);
            self.cells.truncate(room);
        }
        self.cells_max = self.cells.len() + self.count;
    }

    fn into_part(mut self) -> ColumnPart {
        self.prune();
        self.cells.sort_unstable_by(order(self.direction));
        let last = self.cells.get(self.count - 1).map(|cell| cell.value);
        let is_tied = last.is_some() && last == self.tied_at;
        ColumnPart { cells: self.cells, is_tied, bytes: self.bytes }
    }
}

fn order(direction: Direction) -> fn(&Cell, &Cell) -> Ordering {
    match direction {
        Direction::Forward => |left, right| left.cmp(right),
        Direction::Backward => |left, right| right.cmp(left),
    }
}
