//! The records of tables that are created or altered.

use std::sync::Arc;

use crate::{Alteration, IndexSpec, TableSpec, Time};

use super::catalog::Catalog;
use super::format::{BuildState, CommitNo, Derived, DerivedKind, SpaceId, TableId, TableRecord};

/// Returns the record of a table that is created by `commit`. Its feed begins there: nothing earlier
/// in the log is about this table, so no reader has to walk through it.
pub(crate) fn created(
    catalog: &Catalog,
    spec: TableSpec,
    now: Time,
    commit: CommitNo,
) -> TableRecord {
    let mut ids = catalog.next_id()..;
    let mut next = || ids.next().unwrap_or(u32::MAX);
    let (id, space) = (TableId(next()), SpaceId(next()));
    let indexes = spec.indexes.iter().map(|index| DerivedKind::Index(index.name.clone()));
    let expiry = spec.ttl.iter().map(|_| DerivedKind::Expiry);
    let columns = spec.columns.iter().map(|column| DerivedKind::Column(column.clone()));
    let derived = indexes
        .chain(expiry)
        .chain(columns)
        .map(|kind| Derived { kind, space: SpaceId(next()), build: BuildState::Complete })
        .collect();
    TableRecord { id, spec: Arc::new(spec), created: now, feed_since: commit, space, derived }
}

/// Returns the record of a table after a validated change that is made by `commit`.
pub(crate) fn altered(
    catalog: &Catalog,
    table: &TableRecord,
    change: Alteration,
    commit: CommitNo,
) -> TableRecord {
    let mut record = table.clone();
    let space = SpaceId(catalog.next_id());
    match change {
        Alteration::AddIndex(index) => add_index(&mut record, index, space),
        Alteration::DropIndex(name) => {
            let kind = DerivedKind::Index(name.clone());
            record.derived.retain(|derived| derived.kind != kind);
            Arc::make_mut(&mut record.spec).indexes.retain(|index| index.name != name);
        }
        Alteration::AddColumn(column) => {
            record.derived.push(building(DerivedKind::Column(column.clone()), space));
            Arc::make_mut(&mut record.spec).columns.push(column);
        }
        Alteration::DropColumn(name) => {
            let is_dropped = |kind: &DerivedKind| matches!(kind, DerivedKind::Column(column) if column.name == name);
            record.derived.retain(|derived| !is_dropped(&derived.kind));
            Arc::make_mut(&mut record.spec).columns.retain(|column| column.name != name);
        }
        Alteration::SetTtl(attribute) if attribute == record.spec.ttl => {}
        Alteration::SetTtl(attribute) => {
            record.derived.retain(|derived| derived.kind != DerivedKind::Expiry);
            if attribute.is_some() {
                record.derived.push(building(DerivedKind::Expiry, space));
            }
            Arc::make_mut(&mut record.spec).ttl = attribute;
        }
        Alteration::SetFeed(feed) => {
            if record.spec.feed != feed {
                record.feed_since = commit;
            }
            Arc::make_mut(&mut record.spec).feed = feed;
        }
    }
    record
}

fn add_index(record: &mut TableRecord, index: IndexSpec, space: SpaceId) {
    let derived = building(DerivedKind::Index(index.name.clone()), space);
    record.derived.insert(record.spec.indexes.len(), derived);
    Arc::make_mut(&mut record.spec).indexes.push(index);
}

/// Returns the record of a table with a space for its sets.
pub(crate) fn with_sets(table: &TableRecord, space: SpaceId) -> TableRecord {
    let mut record = table.clone();
    record.derived.push(Derived { kind: DerivedKind::Sets, space, build: BuildState::Complete });
    record
}

fn building(kind: DerivedKind, space: SpaceId) -> Derived {
    Derived { kind, space, build: BuildState::Building { after: None, done: 0 } }
}
