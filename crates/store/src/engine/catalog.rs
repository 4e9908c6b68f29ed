//! The catalog of tables at one point in time.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::{Error, IndexName, TableName, TableSpec};

use super::format::{BuildState, Derived, DerivedKind, SetRows, TableId, TableRecord};

/// All tables, by name and by id.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalog {
    names: BTreeMap<TableName, TableId>,
    tables: BTreeMap<TableId, Arc<TableRecord>>,
    /// The next id for a table or a space.
    next_id: u32,
}

impl Catalog {
    pub(crate) fn new(next_id: u32, records: impl IntoIterator<Item = TableRecord>) -> Catalog {
        let mut catalog = Catalog { next_id: next_id.max(1), ..Catalog::default() };
        for record in records {
            catalog.set(record);
        }
        catalog
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &TableName> {
        self.names.keys()
    }

    pub(crate) fn tables(&self) -> impl Iterator<Item = &Arc<TableRecord>> {
        self.tables.values()
    }

    pub(crate) fn table(&self, name: &TableName) -> Result<&Arc<TableRecord>, Error> {
        let id = self.names.get(name);
        id.and_then(|id| self.tables.get(id))
            .ok_or_else(|| Error::TableNotFound { table: name.clone() })
    }

    pub(crate) fn spec(&self, name: &TableName) -> Result<Arc<TableSpec>, Error> {
        self.table(name).map(|table| Arc::clone(&table.spec))
    }

    pub(crate) fn by_id(&self, id: TableId) -> Option<&Arc<TableRecord>> {
        self.tables.get(&id)
    }

    pub(crate) fn next_id(&self) -> u32 {
        self.next_id
    }

    /// Adds a table or replaces its record.
    pub(crate) fn set(&mut self, record: TableRecord) {
        let spaces = record.derived.iter().map(|derived| derived.space.0);
        let highest = spaces.chain([record.id.0, record.space.0]).max().unwrap_or(0);
        self.next_id = self.next_id.max(highest.saturating_add(1));
        self.names.insert(record.spec.name.clone(), record.id);
        self.tables.insert(record.id, Arc::new(record));
    }

    pub(crate) fn remove(&mut self, id: TableId) -> Option<Arc<TableRecord>> {
        let record = self.tables.remove(&id)?;
        // A table created later may have the name by now.
        if self.names.get(&record.spec.name) == Some(&id) {
            self.names.remove(&record.spec.name);
        }
        Some(record)
    }
}

impl TableRecord {
    /// The derived rows of an index.
    pub(crate) fn index_rows(&self, name: &IndexName) -> Option<&Derived> {
        self.derived
            .iter()
            .find(|derived| matches!(&derived.kind, DerivedKind::Index(index) if index == name))
    }

    /// The derived rows of a column.
    pub(crate) fn column_rows(&self, name: &IndexName) -> Option<&Derived> {
        self.derived.iter().find(
            |derived| matches!(&derived.kind, DerivedKind::Column(spec) if spec.name == *name),
        )
    }

    /// The derived rows that drive the time to live.
    pub(crate) fn expiry_rows(&self) -> Option<&Derived> {
        self.derived.iter().find(|derived| derived.kind == DerivedKind::Expiry)
    }

    /// The rows of the table's sets, once it has any.
    pub(crate) fn set_rows(&self) -> Option<SetRows> {
        let sets = self.derived.iter().find(|derived| derived.kind == DerivedKind::Sets);
        sets.map(|derived| SetRows(derived.space))
    }

    /// Whether rows derive from its items.
    pub(crate) fn has_derived_rows(&self) -> bool {
        self.derived.iter().any(|derived| derived.kind != DerivedKind::Sets)
    }

    /// The first derived rows that are not complete.
    pub(crate) fn incomplete(&self) -> Option<&Derived> {
        self.derived.iter().find(|derived| derived.build != BuildState::Complete)
    }
}
