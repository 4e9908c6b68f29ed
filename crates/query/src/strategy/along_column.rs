//! Along the column of the list: the first ordinals in its order are found in the column, and only
//! their entities are fetched. It costs the same wherever in the list they are.

use keyloom_store::{Cell, ColumnValue, Direction, Error as StoreError, ReadColumn, TableName};

use super::along_list::AlongList;
use super::chosen::Chosen;
use crate::fetch::BATCH_MAX;
use crate::list_part::Entry;
use crate::list_scan::ListScan;
use crate::nodes::NodeRef;
use crate::ordinal::ordinal_key;
use crate::span::Span;
use crate::{End, Error, ReadCost};

/// The matches, to be found in the order of the list.
#[derive(Clone, Debug)]
pub(crate) struct AlongColumn {
    pub(crate) node: NodeRef,
}

/// A part of a column, and the first cells of matches in it.
struct First {
    least: Cell,
    greatest: Cell,
    direction: Direction,
    /// How many cells are looked for.
    count: usize,
    /// At least `count` cells, unless there are no more, and all that are equal to the last.
    cells: Vec<Cell>,
}

impl AlongColumn {
    /// Runs along the column or, if that is not possible, along the list.
    pub(super) async fn run_or_list(&self, scan: &mut ListScan<'_>) -> Result<End, Error> {
        match self.run(scan).await? {
            Some(end) => Ok(end),
            None => {
                let along_list = AlongList { node: self.node.clone(), rows_max: None };
                scan.ran.record(Chosen::AlongList(along_list.clone()));
                along_list.run(scan).await
            }
        }
    }

    /// None if it is not possible: the column is still being built, too much would have to be read, or
    /// too many entities have the same value.
    pub(super) async fn run(&self, scan: &mut ListScan<'_>) -> Result<Option<End>, Error> {
        if scan.part.span.is_empty {
            return Ok(Some(End::Exhausted));
        }
        ColumnScan::new(scan, &self.node).run().await
    }
}

/// A column that is being read for a page.
struct ColumnScan<'c, 's> {
    scan: &'c mut ListScan<'s>,
    node: &'c NodeRef,
    first: First,
}

impl<'c, 's> ColumnScan<'c, 's> {
    fn new(scan: &'c mut ListScan<'s>, node: &'c NodeRef) -> ColumnScan<'c, 's> {
        let first = First {
            least: least_cell(scan),
            greatest: greatest_cell(scan),
            direction: scan.part.direction,
            count: 0,
            cells: vec![],
        };
        ColumnScan { scan, node, first }
    }

    /// None if it is not possible.
    async fn run(&mut self) -> Result<Option<End>, Error> {
        loop {
            // One more, to know whether more follow, and the one that the page begins behind.
            self.first.count = self.scan.wanted() + 2;
            if !self.find_first().await? {
                return Ok(None);
            }
            let Some(entries) = self.entries().await? else { return Ok(None) };
            if let Some(end) = self.scan.fetch_in_order(&entries).await? {
                return Ok(Some(end));
            }
            if !self.first.pass() {
                return Ok(Some(End::Exhausted));
            }
            if self.scan.is_spent() {
                return Ok(Some(if self.scan.wanted() == 0 { End::Limit } else { End::Budget }));
            }
        }
    }

    /// Finds the first cells; false if that is not possible.
    async fn find_first(&mut self) -> Result<bool, Error> {
        let (reader, request) = (self.scan.reader, self.scan.request);
        let Some(column) = reader.layout.lists().column(request.entity, request.list) else {
            return Ok(false);
        };
        let Some(sets) = reader.store.sets() else { return Ok(false) };
        let column = TableName::new(&column.name).map_err(StoreError::from)?;
        let ordinals = reader.layout.ordinals();
        let partition = ordinals.partition(request.entity, request.tenant.as_ref()).into_vec();
        let half = self.half_of_what_is_left();
        let mut from = Some(self.scan.search().start());
        while let Some(start) = from {
            let batch = self.scan.search().next(&**self.node, start).await?;
            from = self.scan.search().next_after(&batch);
            if !batch.ordinals.is_empty() {
                let read = ReadColumn {
                    table: reader.table.clone(),
                    column: column.clone(),
                    partition: partition.clone(),
                    among: batch.ordinals,
                    least: self.first.least_that_counts(),
                    greatest: self.first.greatest_that_counts(),
                    direction: self.first.direction,
                    count: u32::try_from(self.first.count).unwrap_or(u32::MAX),
                };
                let part = match sets.read_column(read).await {
                    Err(StoreError::IndexBuilding { .. } | StoreError::IndexNotFound { .. }) => {
                        return Ok(false);
                    }
                    part => part?,
                };
                self.scan.state.cost.rows += 1;
                self.scan.state.cost.bytes += part.bytes;
                self.first.add(part.cells);
                if part.is_tied || self.first.has_too_many() {
                    return Ok(false);
                }
            }
            let cost = self.scan.state.cost;
            if from.is_some() && (cost.rows > half.rows || cost.bytes > half.bytes) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The cost up to which the column is searched: the rest of the budget is for the list.
    fn half_of_what_is_left(&self) -> ReadCost {
        let (budget, cost) = (self.scan.request.budget, self.scan.state.cost);
        let half = |budget: u64, spent: u64| spent + budget.saturating_sub(spent) / 2;
        ReadCost { rows: half(budget.rows, cost.rows), bytes: half(budget.bytes, cost.bytes) }
    }

    /// Reads the entries of the list that the first cells lead to, in its order; none if that is too
    /// much to read. An entity that has moved is left out if others could come before its new position.
    async fn entries(&mut self) -> Result<Option<Vec<Entry>>, Error> {
        let (full, whole): (Vec<Cell>, Vec<Cell>) =
            self.first.cells.iter().partition(|cell| cell.value.is_full());
        let mut entries = vec![];
        for cell in &whole {
            entries.extend(self.entry_at(cell).await?);
        }
        let mut ordinals: Vec<u64> = full.iter().map(|cell| cell.ordinal).collect();
        ordinals.sort_unstable();
        let bytes_max = self.half_of_what_is_left().bytes;
        for some in ordinals.chunks(BATCH_MAX) {
            entries.extend(self.scan.entries_with(some).await?);
            if self.scan.state.cost.bytes > bytes_max {
                return Ok(None);
            }
        }
        let (least, greatest) = (self.first.least_that_counts(), self.first.greatest_that_counts());
        let scan = &*self.scan;
        entries.retain(|entry| {
            let is_first = |cell| (least..=greatest).contains(&cell);
            scan.part.span.has(&entry.position)
                && cell_of(scan, &entry.position).is_some_and(is_first)
        });
        scan.part.sort(&mut entries);
        Ok(Some(entries))
    }

    /// Reads the entry that a cell leads to, if its value is all of the order. None if the entity has
    /// moved.
    async fn entry_at(&mut self, cell: &Cell) -> Result<Option<Entry>, Error> {
        let ListScan { reader, request, part, state, .. } = &mut *self.scan;
        let of = (request.entity, request.list);
        let Some(order) = reader.layout.lists().order_at(of, cell.value.as_bytes()) else {
            return Ok(None);
        };
        let mut position = order.to_vec();
        position.extend(ordinal_key(cell.ordinal));
        let span = Span::within(&position);
        let page = part.read_span(&span, 1, reader.rows(), &mut state.cost).await?;
        page.items.into_iter().next().map(|row| part.entry(row)).transpose()
    }
}

/// A lower bound of the cells that are left to read. Behind an entity, that is its cell.
fn least_cell(scan: &ListScan<'_>) -> Cell {
    let Some(from) = scan.part.span.from.as_deref() else { return Cell::MIN };
    let cell = cell_of(scan, from).map(|cell| cell.bound(Direction::Backward));
    cell.unwrap_or(Cell { value: ColumnValue::of(from), ordinal: 0 })
}

/// An upper bound of the cells that are left to read.
fn greatest_cell(scan: &ListScan<'_>) -> Cell {
    let Some(to) = scan.part.span.to.as_deref() else { return Cell::MAX };
    let cell = cell_of(scan, to).map(|cell| cell.bound(Direction::Forward));
    cell.unwrap_or(Cell { value: ColumnValue::of(to), ordinal: u64::MAX })
}

/// The cell of the entity at a position of the list; none if that is not a position.
fn cell_of(scan: &ListScan<'_>, position: &[u8]) -> Option<Cell> {
    let (lists, of) = (scan.reader.layout.lists(), (scan.request.entity, scan.request.list));
    let order = lists.order_at(of, position)?;
    let ordinal = lists.ordinal_at(of, position)?;
    Some(Cell { value: ColumnValue::of(order), ordinal })
}

impl First {
    /// Adds cells, and drops those that are no longer among the first.
    fn add(&mut self, cells: Vec<Cell>) {
        self.cells.extend(cells);
        match self.direction {
            Direction::Forward => self.cells.sort_unstable(),
            Direction::Backward => self.cells.sort_unstable_by(|left, right| right.cmp(left)),
        }
        let (least, greatest) = (self.least_that_counts(), self.greatest_that_counts());
        self.cells.retain(|cell| (least..=greatest).contains(cell));
    }

    /// Whether more cells are equal than can be sorted.
    fn has_too_many(&self) -> bool {
        self.cells.len() > self.count + ReadColumn::TIES_MAX
    }

    /// The last cell that is needed, with all that are equal to it; none if there are too few.
    fn last(&self) -> Option<Cell> {
        let last = self.cells.get(self.count.checked_sub(1)?)?;
        Some(last.bound(self.direction))
    }

    fn least_that_counts(&self) -> Cell {
        match self.direction {
            Direction::Forward => self.least,
            Direction::Backward => self.last().unwrap_or(self.least),
        }
    }

    fn greatest_that_counts(&self) -> Cell {
        match self.direction {
            Direction::Forward => self.last().unwrap_or(self.greatest),
            Direction::Backward => self.greatest,
        }
    }

    /// Continues behind the cells that were found; false if there can be no others.
    fn pass(&mut self) -> bool {
        let Some(beyond) = self.last().and_then(|last| last.beyond(self.direction)) else {
            return false;
        };
        self.cells.clear();
        match self.direction {
            Direction::Forward => self.least = beyond,
            Direction::Backward => self.greatest = beyond,
        }
        self.least <= self.greatest
    }
}
