//! What a request consumes, and where.

use keyloom_store::{Consistency, IndexName, IndexScope, KeySchema, TableName, TableSpec};
use keyloom_value::Item;

use super::position::Position;
use super::usage::{Access, Used};
use crate::json::Writer;
use crate::units::{index_writes, read_units, write_units};
use crate::wire::write_item;

/// A key space with capacity of its own: a table with its local indexes, or a global index.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Space {
    pub(super) table: TableName,
    pub(super) index: Option<IndexName>,
}

/// Units at one position of a space.
#[derive(Clone, Debug)]
pub(super) struct Charge {
    pub(super) space: Space,
    pub(super) position: Position,
    /// The partition key, as a report shows it.
    pub(super) key: Vec<u8>,
    /// The key attributes.
    pub(super) attributes: Item,
    pub(super) used: Used,
}

/// A write of one item: its images before and after.
#[derive(Clone, Debug)]
pub(super) struct ImageChange {
    pub(super) key: Item,
    pub(super) old: Option<Item>,
    pub(super) new: Option<Item>,
}

impl Space {
    pub(super) fn of_table(table: &TableName) -> Space {
        Space { table: table.clone(), index: None }
    }

    /// Returns the space that holds an index, or the table if it is local or missing.
    pub(super) fn of_index(spec: &TableSpec, index: Option<&IndexName>) -> Space {
        let is_global = |name: &&IndexName| {
            spec.indexes
                .iter()
                .any(|known| known.name == **name && known.scope == IndexScope::Global)
        };
        Space { table: spec.name.clone(), index: index.filter(is_global).cloned() }
    }

    /// Returns the key schema of a space.
    pub(super) fn schema<'s>(&self, spec: &'s TableSpec) -> &'s KeySchema {
        let index = self.index.as_ref();
        let found = index.and_then(|name| spec.indexes.iter().find(|known| known.name == *name));
        found.map_or(&spec.key, |index| &index.key)
    }
}

impl Charge {
    /// Returns the units of reading an item.
    pub(super) fn read(spec: &TableSpec, key: &Item, bytes: usize, how: Consistency) -> Charge {
        let units = read_units(bytes, how);
        Charge::at(Space::of_table(&spec.name), &spec.key, key).consuming(Access::Read, units)
    }

    /// Returns the units of a write: of the table, and of each global index that it changes. Units of
    /// local indexes are the table's.
    pub(super) fn write(spec: &TableSpec, change: &ImageChange) -> Vec<Charge> {
        let size = |image: &Option<Item>| image.as_ref().map_or(0, Item::size);
        let units = write_units(size(&change.old).max(size(&change.new)));
        let of_table = |units| {
            let charge = Charge::at(Space::of_table(&spec.name), &spec.key, &change.key);
            charge.consuming(Access::Write, units)
        };
        let mut charges = vec![of_table(units)];
        for index in &spec.indexes {
            let writes = index_writes(spec, index, change.old.as_ref(), change.new.as_ref());
            charges.extend(writes.into_iter().map(|write| match index.scope {
                IndexScope::Local => of_table(write.units),
                IndexScope::Global => {
                    let space = Space::of_index(spec, Some(&index.name));
                    let charge = Charge::at(space, &index.key, &write.row);
                    charge.consuming(Access::Write, write.units)
                }
            }));
        }
        charges
    }

    /// Returns the units of a page of a partition, at the position where it starts.
    pub(super) fn page(space: Space, spec: &TableSpec, start: &Item) -> Charge {
        let schema = space.schema(spec).clone();
        Charge::at(space, &schema, start)
    }

    fn at(space: Space, schema: &KeySchema, item: &Item) -> Charge {
        let (position, key) = (Position::of(schema, item), partition_key(schema, item));
        let used = Used { access: Access::Read, units: 0.0 };
        Charge { space, position, key, attributes: schema.of(item), used }
    }

    pub(super) fn times(mut self, factor: f64) -> Charge {
        self.used.units *= factor;
        self
    }

    pub(super) fn consuming(mut self, access: Access, units: f64) -> Charge {
        self.used = Used { access, units };
        self
    }
}

/// Returns the values of an item's partition key, as a report shows them.
fn partition_key(schema: &KeySchema, item: &Item) -> Vec<u8> {
    let partition = KeySchema { partition: schema.partition.clone(), sort: vec![] };
    let mut writer = Writer::new();
    write_item(&mut writer, &partition.of(item));
    writer.finish().into_bytes()
}
