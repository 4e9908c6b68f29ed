//! Columns, computed from the items.

use super::table::Table;
use crate::column::cell_of;
use crate::{Cell, ColumnPart, ColumnValue, Direction, Error, ReadColumn, validate};

pub(super) fn read(table: &Table, read: &ReadColumn) -> Result<ColumnPart, Error> {
    validate::read_column(read)?;
    let spec = table.spec.columns.iter().find(|column| column.name == read.column);
    let missing = || Error::IndexNotFound { table: read.table.clone(), index: read.column.clone() };
    let spec = spec.ok_or_else(missing)?;
    let cells = table.items.iter().filter_map(|item| cell_of(spec, item));
    let of_partition = cells.filter(|(partition, _)| *partition == read.partition);
    let counts = |cell: &Cell| {
        (read.least..=read.greatest).contains(cell) && read.among.contains(cell.ordinal)
    };
    let mut cells: Vec<Cell> = of_partition.map(|(_, cell)| cell).filter(counts).collect();
    cells.sort();
    if read.direction == Direction::Backward {
        cells.reverse();
    }
    let count = read.count as usize;
    let (first, rest) = cells.split_at(cells.len().min(count));
    let last = first.last().map(|cell| cell.value).filter(ColumnValue::is_full);
    let ties = rest.iter().take_while(|cell| Some(cell.value) == last).count();
    let is_tied = ties > ReadColumn::TIES_MAX;
    cells.truncate(count + ties.min(ReadColumn::TIES_MAX));
    Ok(ColumnPart { cells, is_tied, bytes: 0 })
}
