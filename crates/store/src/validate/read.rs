//! Queries and scans.

use keyloom_value::{Condition, KeyTest, Name, Value};

use super::condition::{condition, condition_names};
use super::key_range::{KeyRange, key_range};
use super::start_key;
use crate::index::projects;
use crate::limits::SEGMENTS_MAX;
use crate::{
    Error, IndexName, IndexProjection, IndexScope, IndexSpec, Invalid, KeySchema, Query, ReadItems,
    Scan, Segment, Select, TableSpec,
};

/// Checks a query; returns the range it reads, and the position of its index in `spec.indexes`.
pub(crate) fn query(spec: &TableSpec, query: &Query) -> Result<(KeyRange, Option<usize>), Error> {
    limit(query.limit)?;
    condition(query.filter.as_ref())?;
    let position = index_position(spec, query.index.as_ref())?;
    let index = position.map(|position| &spec.indexes[position]);
    let schema = index.map_or(&spec.key, |index| &index.key);
    let range = key_range(schema, &query.key)?;
    filter_not_on_key(schema, query.filter.as_ref())?;
    filter_on_projected(spec, index, query.filter.as_ref())?;
    select(spec, index, &query.select)?;
    if let Some(start) = &query.start {
        start_key::shape(spec, index, start)?;
        start_key::in_range(schema, &query.key, start)?;
    }
    Ok((range, position))
}

/// Checks a read through an index; returns the range it reads, and the position of the index in
/// `spec.indexes`.
pub(crate) fn read_items(spec: &TableSpec, read: &ReadItems) -> Result<(KeyRange, usize), Error> {
    limit(Some(read.limit))?;
    let missing = || Error::IndexNotFound { table: spec.name.clone(), index: read.index.clone() };
    let position = index_position(spec, Some(&read.index))?.ok_or_else(missing)?;
    let schema = &spec.indexes[position].key;
    let range = key_range(schema, &read.key)?;
    let Some(prefix) = read.prefixes.first() else { return Ok((range, position)) };
    if let Some(sort) = schema.sort.first() {
        // Fails if the key condition tests the sort key too.
        key_range(schema, &read.key.clone().and(&sort.name, beginning_with(prefix)))?;
    } else if let Some(partition) = schema.partition.first() {
        let why = "the index has no sort key that could begin with bytes";
        return Err(Invalid::KeyCondition { attribute: partition.name.clone(), why }.into());
    }
    Ok((range, position))
}

/// The test of a sort key, which is bytes, for a prefix.
pub(crate) fn beginning_with(prefix: &[u8]) -> KeyTest {
    KeyTest::BeginsWith(Value::B(prefix.to_vec()))
}

/// Checks a scan; returns the position of its index in `spec.indexes`.
pub(crate) fn scan(spec: &TableSpec, scan: &Scan) -> Result<Option<usize>, Error> {
    limit(scan.limit)?;
    scan.segment.map_or(Ok(()), segment)?;
    condition(scan.filter.as_ref())?;
    let position = index_position(spec, scan.index.as_ref())?;
    let index = position.map(|position| &spec.indexes[position]);
    select(spec, index, &scan.select)?;
    if let Some(start) = &scan.start {
        start_key::shape(spec, index, start)?;
        // It can be in any segment: a page may end after rows of others, which it has skipped.
    }
    Ok(position)
}

fn limit(limit: Option<u32>) -> Result<(), Invalid> {
    if limit == Some(0) { Err(Invalid::LimitZero) } else { Ok(()) }
}

fn segment(segment: Segment) -> Result<(), Invalid> {
    let Segment { number, of } = segment;
    if number < of && of <= SEGMENTS_MAX { Ok(()) } else { Err(Invalid::Segment { number, of }) }
}

fn index_position(spec: &TableSpec, name: Option<&IndexName>) -> Result<Option<usize>, Error> {
    let Some(name) = name else { return Ok(None) };
    match spec.indexes.iter().position(|index| index.name == *name) {
        Some(position) => Ok(Some(position)),
        None => Err(Error::IndexNotFound { table: spec.name.clone(), index: name.clone() }),
    }
}

/// A filter on a key attribute belongs in the key condition, where it saves reads.
fn filter_not_on_key(schema: &KeySchema, filter: Option<&Condition>) -> Result<(), Invalid> {
    let names = filter.map(condition_names).unwrap_or_default();
    match names.into_iter().find(|name| schema.has(name)) {
        Some(name) => Err(Invalid::FilterOnKey { attribute: name.clone() }),
        None => Ok(()),
    }
}

/// An index of either scope is filtered by what it projects. A scan may name more; its filter sees
/// the rest as missing.
fn filter_on_projected(
    spec: &TableSpec,
    index: Option<&IndexSpec>,
    filter: Option<&Condition>,
) -> Result<(), Invalid> {
    let (Some(index), Some(filter)) = (index, filter) else { return Ok(()) };
    let mut attributes: Vec<Name> = condition_names(filter).into_iter().cloned().collect();
    attributes.retain(|name| !projects(spec, index, name));
    attributes.sort();
    attributes.dedup();
    if attributes.is_empty() {
        return Ok(());
    }
    Err(Invalid::FilterNotProjected { index: index.name.clone(), attributes })
}

/// A global index returns only what it projects; a local one reads the table for the rest.
fn select(spec: &TableSpec, index: Option<&IndexSpec>, select: &Select) -> Result<(), Invalid> {
    let Some(index) = index.filter(|index| index.scope == IndexScope::Global) else {
        return Ok(());
    };
    let kept = match select {
        Select::All | Select::Count => true,
        Select::AllOfTable => index.projection == IndexProjection::All,
        Select::Parts(projection) => {
            projection.paths().iter().all(|path| projects(spec, index, path.root()))
        }
    };
    if kept { Ok(()) } else { Err(Invalid::NotProjected { index: index.name.clone() }) }
}
