//! Along the column of the list: the first ordinals in its order are found in the column, and only
//! their entities are fetched. It costs the same wherever in the list they are.

use keyloom_store::{Cell, ColumnValue, Direction, Error as StoreError, ReadColumn, TableName};

use super::along_list::AlongList;
use super::chosen::Chosen;
use crate::fetch::BATCH_MAX;
use crate::list_scan::{Entry, ListScan};
use crate::nodes::NodeRef;
use crate::ordinal::ordinal_key;
use crate::span::Span;
use crate::{End, Error};

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
                scan.record(Chosen::AlongList(along_list.clone()));
                along_list.run(scan).await
            }
        }
    }

    /// None if it is not possible: the column is still being built, too much would have to be read, or
    /// too many entities have the same value.
    pub(super) async fn run(&self, scan: &mut ListScan<'_>) -> Result<Option<End>, Error> {
        if scan.span.is_empty {
            return Ok(Some(End::Exhausted));
        }
        let mut first = First {
            least: scan.least_cell(),
            greatest: scan.greatest_cell(),
            direction: scan.direction,
            count: 0,
            cells: vec![],
        };
        loop {
            // One more, to know whether more follow, and the one that the page begins behind.
            first.count = scan.wanted() + 2;
            if !self.find_first(scan, &mut first).await? {
                return Ok(None);
            }
            let Some(entries) = scan.entries_of(&first).await? else { return Ok(None) };
            if let Some(end) = scan.fetch_in_order(&entries).await? {
                return Ok(Some(end));
            }
            if !first.pass() {
                return Ok(Some(End::Exhausted));
            }
            if scan.is_spent() {
                return Ok(Some(if scan.wanted() == 0 { End::Limit } else { End::Budget }));
            }
        }
    }

    /// Finds the first cells; false if that is not possible.
    async fn find_first(&self, scan: &mut ListScan<'_>, first: &mut First) -> Result<bool, Error> {
        let request = scan.request;
        let Some(column) = scan.reader.layout.lists().column(request.entity, request.list) else {
            return Ok(false);
        };
        let Some(sets) = scan.reader.store.sets() else { return Ok(false) };
        let column = TableName::new(&column.name).map_err(StoreError::from)?;
        let tenant = request.tenant.as_ref();
        let partition = scan.reader.layout.ordinals().partition(request.entity, tenant).into_vec();
        let (rows_max, bytes_max) = scan.half_of_what_is_left();
        let mut from = Some(scan.search().start());
        while let Some(start) = from {
            let batch = scan.search().next(&*self.node, start).await?;
            from = scan.search().next_after(&batch);
            if !batch.ordinals.is_empty() {
                let read = ReadColumn {
                    table: scan.reader.table.clone(),
                    column: column.clone(),
                    partition: partition.clone(),
                    among: batch.ordinals,
                    least: first.least_that_counts(),
                    greatest: first.greatest_that_counts(),
                    direction: first.direction,
                    count: u32::try_from(first.count).unwrap_or(u32::MAX),
                };
                let part = match sets.read_column(read).await {
                    Err(StoreError::IndexBuilding { .. } | StoreError::IndexNotFound { .. }) => {
                        return Ok(false);
                    }
                    part => part?,
                };
                scan.state.cost.rows += 1;
                scan.state.cost.bytes += part.bytes;
                first.add(part.cells);
                if part.is_tied || first.cells.len() > first.count + ReadColumn::TIES_MAX {
                    return Ok(false);
                }
            }
            if from.is_some()
                && (scan.state.cost.rows > rows_max || scan.state.cost.bytes > bytes_max)
            {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl ListScan<'_> {
    /// A lower bound of the cells that are left to read. Behind an entity, that is its cell.
    fn least_cell(&self) -> Cell {
        let Some(from) = self.span.from.as_deref() else { return Cell::MIN };
        let cell = self.cell_of(from).map(|cell| cell.bound(Direction::Backward));
        cell.unwrap_or(Cell { value: ColumnValue::of(from), ordinal: 0 })
    }

    /// An upper bound of the cells that are left to read.
    fn greatest_cell(&self) -> Cell {
        let Some(to) = self.span.to.as_deref() else { return Cell::MAX };
        let cell = self.cell_of(to).map(|cell| cell.bound(Direction::Forward));
        cell.unwrap_or(Cell { value: ColumnValue::of(to), ordinal: u64::MAX })
    }

    /// The cell of the entity at a position of the list; none if that is not a position.
    fn cell_of(&self, position: &[u8]) -> Option<Cell> {
        let (layout, of) = (self.reader.layout, (self.request.entity, self.request.list));
        let order = layout.lists().order_at(of, position)?;
        let ordinal = layout.lists().ordinal_at(of, position)?;
        Some(Cell { value: ColumnValue::of(order), ordinal })
    }

    /// The cost up to which the column is searched: the rest of the budget is for the list.
    fn half_of_what_is_left(&self) -> (u64, u64) {
        let (budget, cost) = (self.request.budget, self.state.cost);
        let half = |budget: u64, spent: u64| spent + budget.saturating_sub(spent) / 2;
        (half(budget.rows, cost.rows), half(budget.bytes, cost.bytes))
    }

    /// Reads the entries of the list that cells lead to, in its order; none if that is too much to
    /// read. An entity that has moved is left out if others could come before its new position.
    async fn entries_of(&mut self, first: &First) -> Result<Option<Vec<Entry>>, Error> {
        let (full, whole): (Vec<&Cell>, Vec<&Cell>) =
            first.cells.iter().partition(|cell| cell.value.is_full());
        let mut entries = vec![];
        for cell in whole {
            entries.extend(self.entry_at(cell).await?);
        }
        let mut ordinals: Vec<u64> = full.iter().map(|cell| cell.ordinal).collect();
        ordinals.sort_unstable();
        let (_, bytes_max) = self.half_of_what_is_left();
        for some in ordinals.chunks(BATCH_MAX) {
            entries.extend(self.entries_with(some).await?);
            if self.state.cost.bytes > bytes_max {
                return Ok(None);
            }
        }
        let (least, greatest) = (first.least_that_counts(), first.greatest_that_counts());
        entries.retain(|entry| {
            let is_first = |cell| (least..=greatest).contains(&cell);
            self.span.has(&entry.position) && self.cell_of(&entry.position).is_some_and(is_first)
        });
        self.sort_entries(&mut entries);
        Ok(Some(entries))
    }

    /// Reads the entry that a cell leads to, if its value is all of the order. None if the entity has
    /// moved.
    async fn entry_at(&mut self, cell: &Cell) -> Result<Option<Entry>, Error> {
        let of = (self.request.entity, self.request.list);
        let Some(order) = self.reader.layout.lists().order_at(of, cell.value.as_bytes()) else {
            return Ok(None);
        };
        let mut position = order.to_vec();
        position.extend(ordinal_key(cell.ordinal));
        let span = Span::within(&position);
        let request = self.partition.first(&span, 1);
        let page = self.reader.page(request, &mut self.state.cost).await?;
        page.items.into_iter().next().map(|row| self.entry(row)).transpose()
    }
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
