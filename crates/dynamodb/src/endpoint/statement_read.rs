//! Runs a `SELECT`: one read for each branch of its condition, or a scan.

use keyloom_store::{
    Consistency, Direction, Get, IndexScope, IndexSpec, KeySchema, Page, Query, Scan, TableName,
    TableSpec,
};
use keyloom_value::{Condition, Item, KeyTest, Name, Projection};

use crate::partiql::{Branch, Columns, Reads, Select, StatementError, plan, projects};
use crate::wire::Fault;

use super::Endpoint;
use super::capacity::{Consumed, Detail};
use super::next_token::Position;
use super::page::PageSource;
use super::refusal::{self, RequestKind};
use super::statement::statement_fault;

/// A page ends when this much was read, as that of a query does.
const PAGE_BYTES_MAX: u64 = 1 << 20;

/// A `SELECT` that has been checked against its table.
pub(super) struct Selection {
    spec: TableSpec,
    index: Option<IndexSpec>,
    columns: Columns,
    reads: Reads,
    source: PageSource,
}

/// One page of a `SELECT`.
pub(super) struct SelectedPage {
    pub(super) items: Vec<Item>,
    /// Where the next page begins.
    pub(super) next: Option<Position>,
    pub(super) consumed: Consumed,
}

/// One read of a selection: what the store reads, and what is filtered here because the store does
/// not accept it as a filter.
struct Read {
    request: Request,
    filter: Option<Condition>,
}

enum Request {
    Get(Get),
    Query(Query),
    Scan(Scan),
}

impl Selection {
    /// Checks a `SELECT` against its table.
    pub(super) fn new(
        select: &Select,
        spec: TableSpec,
        consistency: Consistency,
        detail: Detail,
    ) -> Result<Selection, Fault> {
        let index = match &select.index {
            None => None,
            Some(name) => {
                let found = spec.indexes.iter().find(|index| index.name.as_str() == name);
                let missing = || Fault::validation("The table does not have the specified index");
                Some(found.cloned().ok_or_else(missing)?)
            }
        };
        let reads = plan(select, &spec, index.as_ref()).map_err(statement_fault)?;
        if let Columns::Unsupported(error) = &select.columns {
            return Err(statement_fault(error.clone()));
        }
        let is_global = index.as_ref().is_some_and(|index| index.scope == IndexScope::Global);
        if is_global && consistency == Consistency::Strong {
            return Err(Fault::validation(
                "Strongly consistent read is not supported on Global Secondary Indexes",
            ));
        }
        check_columns(&select.columns, &spec, index.as_ref())?;
        let source = PageSource {
            table: spec.name.clone(),
            index: index.as_ref().map(|index| index.name.clone()),
            select: keyloom_store::Select::All,
            consistency,
            detail,
        };
        Ok(Selection { spec, index, columns: select.columns.clone(), reads, source })
    }

    /// Reads one page.
    pub(super) async fn page(
        &self,
        endpoint: &Endpoint,
        limit: Option<u32>,
        from: Position,
    ) -> Result<SelectedPage, Fault> {
        let mut items = Vec::new();
        let mut consumed = Consumed::of_table(self.spec.name.clone(), 0.0);
        let (mut left, mut bytes) = (limit.map(u64::from), 0);
        let mut next = Some(from);
        while let Some(position) = next.take() {
            let limit = left.map(|left| u32::try_from(left).unwrap_or(u32::MAX));
            let Some(read) = self.read(&position, limit) else { break };
            let page = self.send(endpoint, read.request).await?;
            let kept = page
                .items
                .iter()
                .filter(|item| read.filter.as_ref().is_none_or(|filter| filter.holds(Some(item))));
            items.extend(kept.map(|item| selected(&self.columns, item)));
            consumed.add(self.source.consumed(self.index.as_ref(), &page));
            left = left.map(|left| left.saturating_sub(page.scanned));
            bytes += page.scanned_bytes;
            let after = Position { read: position.read + 1, start: None };
            next = match page.last_key {
                Some(key) => {
                    next = Some(Position { start: Some(key), ..position });
                    break;
                }
                None if after.read < self.count() => Some(after),
                None => None,
            };
            if left == Some(0) || bytes >= PAGE_BYTES_MAX {
                break;
            }
        }
        Ok(SelectedPage { items, next, consumed })
    }

    /// Returns the number of reads.
    fn count(&self) -> usize {
        match &self.reads {
            Reads::Branches { branches, .. } => branches.len(),
            Reads::Scan(_) => 1,
        }
    }

    fn read(&self, position: &Position, limit: Option<u32>) -> Option<Read> {
        match &self.reads {
            Reads::Branches { branches, direction } => {
                let branch = branches.get(position.read)?;
                Some(self.branch_read(branch, *direction, position, limit))
            }
            Reads::Scan(filter) if position.read == 0 => {
                let scan = Scan {
                    index: self.source.index.clone(),
                    filter: filter.clone(),
                    select: self.select(vec![]),
                    limit,
                    start: position.start.clone(),
                    consistency: self.source.consistency,
                    ..Scan::new(&self.spec.name)
                };
                Some(Read { request: Request::Scan(scan), filter: None })
            }
            Reads::Scan(_) => None,
        }
    }

    fn branch_read(
        &self,
        branch: &Branch,
        direction: Direction,
        position: &Position,
        limit: Option<u32>,
    ) -> Read {
        let schema = self.index.as_ref().map_or(&self.spec.key, |index| &index.key);
        let key = full_key(branch, schema).filter(|_| self.index.is_none());
        if let Some(key) = key.filter(|_| branch.filters.is_empty() && position.start.is_none()) {
            let get = Get {
                consistency: self.source.consistency,
                projection: None,
                ..Get::new(&self.spec.name, key)
            };
            return Read { request: Request::Get(get), filter: None };
        }
        let (mut here, there) = branch.divided(schema);
        let names = branch.filter_names();
        // The store refuses a filter on what the index does not project; some branches have one.
        let there = match names.iter().all(|name| self.is_projected(name)) {
            true => there,
            false => {
                here.extend(there);
                vec![]
            }
        };
        let query = Query {
            index: self.source.index.clone(),
            filter: Condition::all(there),
            select: self.select(if here.is_empty() { vec![] } else { names }),
            direction,
            limit,
            start: position.start.clone(),
            consistency: self.source.consistency,
            ..Query::new(&self.spec.name, branch.key.clone())
        };
        Read { request: Request::Query(query), filter: Condition::all(here) }
    }

    /// Returns what the store should return: the attributes of the columns, and those that are
    /// filtered here. What an index does not have is missing to a filter.
    fn select(&self, filtered: Vec<Name>) -> keyloom_store::Select {
        let Columns::Listed(columns) = &self.columns else { return keyloom_store::Select::All };
        let roots = columns.iter().map(|column| column.path.root().clone());
        let filtered = filtered.into_iter().filter(|name| self.is_projected(name));
        keyloom_store::Select::Parts(Projection::names(roots.chain(filtered)))
    }

    fn is_projected(&self, name: &Name) -> bool {
        self.index.as_ref().is_none_or(|index| projects(&self.spec, index, name))
    }

    async fn send(&self, endpoint: &Endpoint, request: Request) -> Result<Page, Fault> {
        let table = &self.spec.name;
        match request {
            Request::Get(get) => get_page(endpoint, table, get).await,
            Request::Query(query) => {
                let requested = query.clone();
                match endpoint.store.query(query).await {
                    Ok(page) => Ok(page),
                    Err(error) => {
                        let kind = RequestKind::Query(&requested);
                        Err(refusal::item_fault(endpoint, table, kind, error).await)
                    }
                }
            }
            Request::Scan(scan) => {
                let requested = scan.clone();
                match endpoint.store.scan(scan).await {
                    Ok(page) => Ok(page),
                    Err(error) => {
                        let kind = RequestKind::Scan(&requested);
                        Err(refusal::item_fault(endpoint, table, kind, error).await)
                    }
                }
            }
        }
    }
}

/// Reads one item, as a page.
async fn get_page(endpoint: &Endpoint, table: &TableName, get: Get) -> Result<Page, Fault> {
    match endpoint.store.get(get).await {
        Ok(found) => {
            let bytes = found.as_ref().map_or(0, Item::size);
            let items: Vec<Item> = found.into_iter().collect();
            let count = items.len() as u64;
            Ok(Page { items, count, scanned: 1, scanned_bytes: bytes as u64, last_key: None })
        }
        Err(error) => Err(refusal::item_fault(endpoint, table, RequestKind::Key, error).await),
    }
}

/// Returns the columns of an item, each under its own name.
pub(super) fn selected(columns: &Columns, item: &Item) -> Item {
    let Columns::Listed(columns) = columns else { return item.clone() };
    let mut selected = Item::new();
    for column in columns {
        if let Some(value) = column.path.get(item) {
            selected.insert(column.name.clone(), value.clone());
        }
    }
    selected
}

/// Returns the key that a `SELECT` of exactly one item names, and nothing else. Otherwise its plan
/// is wrong, or this error is due.
pub(super) fn single_key(
    select: &Select,
    spec: &TableSpec,
    operation: &str,
) -> Result<Item, StatementError> {
    let key = select.filter.as_ref().and_then(|filter| key_of(filter, &spec.key));
    if let Some(key) = key.filter(|_| select.index.is_none()) {
        return Ok(key);
    }
    let index = select.index.as_ref();
    let index = index.and_then(|name| spec.indexes.iter().find(|it| it.name.as_str() == name));
    plan(select, spec, index)?;
    Err(StatementError::new(format!(
        "Select statements within {operation} must specify the primary key in the where clause."
    )))
}

/// Returns the key, if the condition is nothing but equalities on all its attributes.
fn key_of(condition: &Condition, schema: &KeySchema) -> Option<Item> {
    let single = single_choices(condition);
    let pinned = crate::partiql::pinned(Some(&single), schema);
    (pinned.rest.is_empty() && pinned.is_complete(schema)).then_some(pinned.key)
}

/// Writes every `IN` of one value as an equality.
fn single_choices(condition: &Condition) -> Condition {
    match condition {
        Condition::And(parts) => Condition::And(parts.iter().map(single_choices).collect()),
        Condition::In { operand, choices } => match choices.as_slice() {
            [choice] => Condition::equal(operand.clone(), choice.clone()),
            _ => condition.clone(),
        },
        other => other.clone(),
    }
}

fn full_key(branch: &Branch, schema: &KeySchema) -> Option<Item> {
    let mut key = Item::new();
    for (name, test) in &branch.key.tests {
        let KeyTest::Equal(value) = test else { return None };
        key.insert(name.clone(), value.clone());
    }
    (key.len() == schema.attributes().count()).then_some(key)
}

/// Refuses columns that a global index does not have. A local one reads them from the table.
fn check_columns(
    columns: &Columns,
    spec: &TableSpec,
    index: Option<&IndexSpec>,
) -> Result<(), Fault> {
    let (Columns::Listed(columns), Some(index)) = (columns, index) else { return Ok(()) };
    if index.scope == IndexScope::Local {
        return Ok(());
    }
    let mut missing: Vec<&str> = Vec::new();
    for column in columns {
        let root = column.path.root();
        if !projects(spec, index, root) && !missing.contains(&root.as_str()) {
            missing.push(root.as_str());
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(Fault::parameter(format!(
        "Global secondary index {} does not project [{}]",
        index.name,
        missing.join(", ")
    )))
}
