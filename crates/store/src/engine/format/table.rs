//! A table's record: its definition, and the spaces of its rows and derived rows.

use std::sync::Arc;

use keyloom_value::Name;

use crate::{
    ColumnSpec, Direction, Feed, IndexName, IndexProjection, IndexScope, IndexSpec, KeyAttribute,
    KeySchema, KeyType, TableName, TableSpec, Time,
};

use super::{CommitNo, Malformed, Reader, SpaceId, Writer};

/// The id of a table. A table that is dropped and created again gets another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TableId(pub(crate) u32);

/// The catalog entry of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableRecord {
    pub(crate) id: TableId,
    pub(crate) spec: Arc<TableSpec>,
    pub(crate) created: Time,
    /// The commit that enabled its feed: the feed has what came after.
    pub(crate) feed_since: CommitNo,
    /// The space of its items.
    pub(crate) space: SpaceId,
    /// Its derived rows: one entry for each index, in the order of the definition, then one for the
    /// time to live if there is one, one for each column; and one for its sets, once it has any.
    pub(crate) derived: Vec<Derived>,
}

/// One kind of rows that derive from the items of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Derived {
    pub(crate) kind: DerivedKind,
    pub(crate) space: SpaceId,
    pub(crate) build: BuildState,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DerivedKind {
    Index(IndexName),
    Expiry,
    /// Sets do not derive from items, but belong to the table too.
    Sets,
    Column(ColumnSpec),
}

/// The progress of building derived rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BuildState {
    Complete,
    /// Items up to and including this key have been processed.
    Building {
        after: Option<Vec<u8>>,
        done: u64,
    },
}

impl TableRecord {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        self.write(&mut out);
        out.into_vec()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<TableRecord, Malformed> {
        let mut reader = Reader::new(bytes);
        let record = TableRecord::read(&mut reader)?;
        reader.finish()?;
        Ok(record)
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        out.varint(self.id.0.into());
        out.varint(self.space.0.into());
        out.varint(self.created.0);
        out.varint(self.feed_since.0);
        write_spec(out, &self.spec);
        out.size(self.derived.len());
        for derived in &self.derived {
            write_derived(out, derived);
        }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<TableRecord, Malformed> {
        let id = TableId(reader.varint_u32()?);
        let space = SpaceId(reader.varint_u32()?);
        let created = Time(reader.varint()?);
        let feed_since = CommitNo(reader.varint()?);
        let mut spec = read_spec(reader)?;
        let derived = read_list(reader, read_derived)?;
        let columns = derived.iter().filter_map(|derived| match &derived.kind {
            DerivedKind::Column(column) => Some(column.clone()),
            DerivedKind::Index(_) | DerivedKind::Expiry | DerivedKind::Sets => None,
        });
        spec.columns = columns.collect();
        let spec = Arc::new(spec);
        Ok(TableRecord { id, spec, created, feed_since, space, derived })
    }
}

fn write_spec(out: &mut Writer, spec: &TableSpec) {
    out.text(spec.name.as_str());
    write_schema(out, &spec.key);
    out.size(spec.indexes.len());
    for index in &spec.indexes {
        out.text(index.name.as_str());
        out.u8(match index.scope {
            IndexScope::Global => 0,
            IndexScope::Local => 1,
        });
        write_schema(out, &index.key);
        write_projection(out, &index.projection);
    }
    match &spec.ttl {
        None => out.u8(0),
        Some(name) => {
            out.u8(1);
            out.text(name.as_str());
        }
    }
    out.u8(match spec.feed {
        Feed::Off => 0,
        Feed::Images => 1,
    });
}

fn read_spec(reader: &mut Reader<'_>) -> Result<TableSpec, Malformed> {
    let name = read_name(reader)?;
    let key = read_schema(reader)?;
    let indexes = read_list(reader, read_index)?;
    let ttl = match reader.u8()? {
        0 => None,
        1 => Some(Name::from(reader.text()?)),
        _ => return Err(Malformed("a time to live is neither off nor on")),
    };
    let feed = match reader.u8()? {
        0 => Feed::Off,
        1 => Feed::Images,
        _ => return Err(Malformed("a feed is neither off nor on")),
    };
    // Columns are stored with the derived rows.
    Ok(TableSpec { indexes, ttl, feed, ..TableSpec::new(name, key) })
}

fn read_index(reader: &mut Reader<'_>) -> Result<IndexSpec, Malformed> {
    let name = read_name(reader)?;
    let scope = match reader.u8()? {
        0 => IndexScope::Global,
        1 => IndexScope::Local,
        _ => return Err(Malformed("an index is neither global nor local")),
    };
    let key = read_schema(reader)?;
    let projection = read_projection(reader)?;
    Ok(IndexSpec { name, scope, key, projection })
}

fn write_schema(out: &mut Writer, schema: &KeySchema) {
    for attributes in [&schema.partition, &schema.sort] {
        out.size(attributes.len());
        for attribute in attributes {
            out.text(attribute.name.as_str());
            out.u8(match attribute.key_type {
                KeyType::S => 0,
                KeyType::N => 1,
                KeyType::B => 2,
            });
        }
    }
}

fn read_schema(reader: &mut Reader<'_>) -> Result<KeySchema, Malformed> {
    let partition = read_list(reader, read_attribute)?;
    let sort = read_list(reader, read_attribute)?;
    Ok(KeySchema { partition, sort })
}

fn read_attribute(reader: &mut Reader<'_>) -> Result<KeyAttribute, Malformed> {
    let name = Name::from(reader.text()?);
    let key_type = match reader.u8()? {
        0 => KeyType::S,
        1 => KeyType::N,
        2 => KeyType::B,
        _ => return Err(Malformed("a key attribute has an unknown type")),
    };
    Ok(KeyAttribute { name, key_type })
}

fn write_projection(out: &mut Writer, projection: &IndexProjection) {
    match projection {
        IndexProjection::All => out.u8(0),
        IndexProjection::Keys => out.u8(1),
        IndexProjection::Include(names) => {
            out.u8(2);
            out.size(names.len());
            for name in names {
                out.text(name.as_str());
            }
        }
    }
}

fn read_projection(reader: &mut Reader<'_>) -> Result<IndexProjection, Malformed> {
    Ok(match reader.u8()? {
        0 => IndexProjection::All,
        1 => IndexProjection::Keys,
        2 => IndexProjection::Include(read_list(reader, |reader| Ok(Name::from(reader.text()?)))?),
        _ => return Err(Malformed("an index has an unknown projection")),
    })
}

fn write_derived(out: &mut Writer, derived: &Derived) {
    match &derived.kind {
        DerivedKind::Index(name) => {
            out.u8(0);
            out.text(name.as_str());
        }
        DerivedKind::Expiry => out.u8(1),
        DerivedKind::Sets => out.u8(2),
        DerivedKind::Column(column) => {
            out.u8(3);
            write_column(out, column);
        }
    }
    out.varint(derived.space.0.into());
    match &derived.build {
        BuildState::Complete => out.u8(0),
        BuildState::Building { after: None, done } => {
            out.u8(1);
            out.varint(*done);
        }
        BuildState::Building { after: Some(key), done } => {
            out.u8(2);
            out.varint(*done);
            out.bytes(key);
        }
    }
}

fn read_derived(reader: &mut Reader<'_>) -> Result<Derived, Malformed> {
    let kind = match reader.u8()? {
        0 => DerivedKind::Index(read_name(reader)?),
        1 => DerivedKind::Expiry,
        2 => DerivedKind::Sets,
        3 => DerivedKind::Column(read_column(reader)?),
        _ => return Err(Malformed("derived rows are of an unknown kind")),
    };
    let space = SpaceId(reader.varint_u32()?);
    let build = match reader.u8()? {
        0 => BuildState::Complete,
        1 => BuildState::Building { after: None, done: reader.varint()? },
        2 => {
            let done = reader.varint()?;
            BuildState::Building { after: Some(reader.bytes()?.to_vec()), done }
        }
        _ => return Err(Malformed("derived rows are in an unknown state")),
    };
    Ok(Derived { kind, space, build })
}

fn write_column(out: &mut Writer, column: &ColumnSpec) {
    out.text(column.name.as_str());
    out.bytes(&column.prefix);
    for name in [&column.partition, &column.ordinal, &column.value] {
        out.text(name.as_str());
    }
    out.size(column.parts.len());
    for direction in &column.parts {
        out.u8(match direction {
            Direction::Forward => 0,
            Direction::Backward => 1,
        });
    }
}

fn read_column(reader: &mut Reader<'_>) -> Result<ColumnSpec, Malformed> {
    let (name, prefix) = (read_name(reader)?, reader.bytes()?.to_vec());
    let mut attribute = || reader.text().map(Name::from);
    let (partition, ordinal, value) = (attribute()?, attribute()?, attribute()?);
    let parts = read_list(reader, |reader| match reader.u8()? {
        0 => Ok(Direction::Forward),
        1 => Ok(Direction::Backward),
        _ => Err(Malformed("a part of a column has an unknown direction")),
    })?;
    Ok(ColumnSpec { name, partition, prefix, ordinal, value, parts })
}

fn read_name(reader: &mut Reader<'_>) -> Result<TableName, Malformed> {
    TableName::new(reader.text()?).map_err(|_| Malformed("the name of a table or index is invalid"))
}

fn read_list<'a, T>(
    reader: &mut Reader<'a>,
    mut read: impl FnMut(&mut Reader<'a>) -> Result<T, Malformed>,
) -> Result<Vec<T>, Malformed> {
    let count = reader.count()?;
    (0..count).map(|_| read(reader)).collect()
}
