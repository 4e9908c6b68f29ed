//! Rules for tables and their alterations.

use keyloom_value::Name;

use crate::limits::{INDEX_KEY_ATTRIBUTES_MAX, KEY_NAME_BYTES_MAX, LOCAL_INDEXES_MAX};
use crate::{
    Alteration, ColumnSpec, Error, IndexProjection, IndexScope, IndexSpec, Invalid, KeySchema,
    TableSpec,
};

/// Checks whether such a table can exist in a store with so many global indexes.
pub(crate) fn table_spec(spec: &TableSpec, indexes_max: usize) -> Result<(), Invalid> {
    table_key(spec)?;
    for (position, index) in spec.indexes.iter().enumerate() {
        if spec.indexes[..position].iter().any(|other| other.name == index.name) {
            return Err(Invalid::IndexTwice { index: index.name.clone() });
        }
        match index.scope {
            IndexScope::Global => global_key(index)?,
            IndexScope::Local => local_key(spec, index)?,
        }
        if let IndexProjection::Include(names) = &index.projection {
            names.iter().try_for_each(short_name)?;
        }
    }
    index_count(spec, IndexScope::Global, indexes_max)?;
    index_count(spec, IndexScope::Local, LOCAL_INDEXES_MAX)?;
    key_types(spec)?;
    columns(&spec.columns)?;
    spec.ttl.iter().try_for_each(short_name)
}

/// Checks whether the table can be altered like this in a store with so many global indexes.
pub(crate) fn alteration(
    spec: &TableSpec,
    change: &Alteration,
    indexes_max: usize,
) -> Result<(), Error> {
    match change {
        Alteration::AddIndex(index) => {
            refuse_local(index)?;
            let mut altered = spec.clone();
            altered.indexes.push(index.clone());
            Ok(table_spec(&altered, indexes_max)?)
        }
        Alteration::DropIndex(name) => {
            let index = spec.indexes.iter().find(|index| index.name == *name);
            let index = index.ok_or_else(|| Error::IndexNotFound {
                table: spec.name.clone(),
                index: name.clone(),
            })?;
            Ok(refuse_local(index)?)
        }
        Alteration::AddColumn(column) => {
            let mut altered = spec.columns.clone();
            altered.push(column.clone());
            Ok(columns(&altered)?)
        }
        Alteration::DropColumn(name) => {
            let missing = || Error::IndexNotFound { table: spec.name.clone(), index: name.clone() };
            let column = spec.columns.iter().find(|column| column.name == *name);
            column.map(drop).ok_or_else(missing)
        }
        Alteration::SetTtl(name) => Ok(name.iter().try_for_each(short_name)?),
        Alteration::SetFeed(_) => Ok(()),
    }
}

fn columns(columns: &[ColumnSpec]) -> Result<(), Invalid> {
    for (position, column) in columns.iter().enumerate() {
        if columns[..position].iter().any(|other| other.name == column.name) {
            return Err(Invalid::IndexTwice { index: column.name.clone() });
        }
        [&column.partition, &column.ordinal, &column.value].into_iter().try_for_each(short_name)?;
    }
    Ok(())
}

fn refuse_local(index: &IndexSpec) -> Result<(), Invalid> {
    match index.scope {
        IndexScope::Global => Ok(()),
        IndexScope::Local => Err(Invalid::LocalIndexFixed { index: index.name.clone() }),
    }
}

fn table_key(spec: &TableSpec) -> Result<(), Invalid> {
    let refuse = |why| Err(Invalid::KeySchema { of: spec.name.to_string(), why });
    if spec.key.partition.len() != 1 {
        return refuse("a table must have one partition attribute");
    }
    if spec.key.sort.len() > 1 {
        return refuse("a table can have at most one sort attribute");
    }
    attributes(spec.name.as_str(), &spec.key)
}

fn global_key(index: &IndexSpec) -> Result<(), Invalid> {
    let refuse = |why| Err(Invalid::KeySchema { of: index.name.to_string(), why });
    if index.key.partition.is_empty() {
        return refuse("an index must have at least one partition attribute");
    }
    if index.key.partition.len() > INDEX_KEY_ATTRIBUTES_MAX {
        return refuse("a global index can have at most four partition attributes");
    }
    if index.key.sort.len() > INDEX_KEY_ATTRIBUTES_MAX {
        return refuse("a global index can have at most four sort attributes");
    }
    attributes(index.name.as_str(), &index.key)
}

fn local_key(spec: &TableSpec, index: &IndexSpec) -> Result<(), Invalid> {
    let refuse = |why| Err(Invalid::KeySchema { of: index.name.to_string(), why });
    if spec.key.sort.is_empty() {
        return refuse("local indexes require a table with a sort attribute");
    }
    if index.key.partition != spec.key.partition {
        return refuse("a local index must have the table's partition attribute");
    }
    if index.key.sort.len() != 1 {
        return refuse("a local index must have one sort attribute");
    }
    attributes(index.name.as_str(), &index.key)
}

/// Checks that attribute names are unique.
fn attributes(of: &str, key: &KeySchema) -> Result<(), Invalid> {
    for (position, attribute) in key.attributes().enumerate() {
        short_name(&attribute.name)?;
        if key.attributes().take(position).any(|other| other.name == attribute.name) {
            let why = "it names one attribute twice";
            return Err(Invalid::KeySchema { of: of.to_owned(), why });
        }
    }
    Ok(())
}

fn short_name(name: &Name) -> Result<(), Invalid> {
    if (1..=KEY_NAME_BYTES_MAX).contains(&name.as_str().len()) {
        Ok(())
    } else {
        Err(Invalid::AttributeName { name: name.as_str().to_owned() })
    }
}

fn index_count(spec: &TableSpec, scope: IndexScope, limit: usize) -> Result<(), Invalid> {
    let scope_name = match scope {
        IndexScope::Global => "global",
        IndexScope::Local => "local",
    };
    if spec.indexes.iter().filter(|index| index.scope == scope).count() > limit {
        return Err(Invalid::TooManyIndexes { scope: scope_name, limit });
    }
    Ok(())
}

/// Checks that an attribute has the same type in all keys.
fn key_types(spec: &TableSpec) -> Result<(), Invalid> {
    let schemas = || std::iter::once(&spec.key).chain(spec.indexes.iter().map(|index| &index.key));
    for attribute in schemas().flat_map(KeySchema::attributes) {
        let mut all = schemas().flat_map(KeySchema::attributes);
        if all.any(|other| other.name == attribute.name && other.key_type != attribute.key_type) {
            return Err(Invalid::KeyTypeConflict { attribute: attribute.name.clone() });
        }
    }
    Ok(())
}
