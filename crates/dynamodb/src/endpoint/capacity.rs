//! The units that a request consumed, and how responses report them.

use keyloom_store::{IndexScope, TableName, TableSpec};
use keyloom_value::Item;

use crate::json::Writer;
use crate::units::{index_writes, write_units};

use super::params::Params;
use crate::wire::Fault;

/// The value of `ReturnConsumedCapacity`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detail {
    None,
    Total,
    Indexes,
}

/// Whether units are for reading or writing, and whether a transaction used them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Plain,
    TransactRead,
    TransactWrite,
}

/// The units that a request consumed on one table.
#[derive(Clone, Debug)]
pub(super) struct Consumed {
    pub(super) table: TableName,
    pub(super) table_units: f64,
    /// The units of each affected index.
    pub(super) indexes: Vec<(TableName, IndexScope, f64)>,
}

impl Detail {
    pub(super) fn read(params: &Params<'_>) -> Result<Detail, Fault> {
        Ok(match params.text("ReturnConsumedCapacity")? {
            Some("TOTAL") => Detail::Total,
            Some("INDEXES") => Detail::Indexes,
            _ => Detail::None,
        })
    }

    pub(super) fn is_requested(self) -> bool {
        self != Detail::None
    }
}

impl Consumed {
    pub(super) fn of_table(table: TableName, table_units: f64) -> Consumed {
        Consumed { table, table_units, indexes: vec![] }
    }

    /// Returns the units of replacing one image with another.
    pub(super) fn of_write(spec: &TableSpec, old: Option<&Item>, new: Option<&Item>) -> Consumed {
        let size = |image: Option<&Item>| image.map_or(0, Item::size);
        let units = write_units(size(old).max(size(new)));
        let mut consumed = Consumed::of_table(spec.name.clone(), units);
        for index in &spec.indexes {
            let writes = index_writes(spec, index, old, new);
            let units: f64 = writes.iter().map(|write| write.units).sum();
            if units > 0.0 {
                consumed.indexes.push((index.name.clone(), index.scope, units));
            }
        }
        consumed
    }

    /// Returns the units of the same write in a transaction.
    pub(super) fn doubled(mut self) -> Consumed {
        self.table_units *= 2.0;
        self.indexes.iter_mut().for_each(|(_, _, units)| *units *= 2.0);
        self
    }

    /// Adds the units of another request on the same table.
    pub(super) fn add(&mut self, other: Consumed) {
        self.table_units += other.table_units;
        for (name, scope, units) in other.indexes {
            match self.indexes.iter_mut().find(|(known, _, _)| *known == name) {
                Some((_, _, sum)) => *sum += units,
                None => self.indexes.push((name, scope, units)),
            }
        }
    }

    fn total(&self) -> f64 {
        self.table_units + self.indexes.iter().map(|(_, _, units)| units).sum::<f64>()
    }
}

/// Adds units to the entry of their table, or a new entry.
pub(super) fn merge(all: &mut Vec<Consumed>, consumed: Consumed) {
    match all.iter_mut().find(|known| known.table == consumed.table) {
        Some(known) => known.add(consumed),
        None => all.push(consumed),
    }
}

/// Writes `ConsumedCapacity` of a response about one table.
pub(super) fn write_one(w: &mut Writer, detail: Detail, consumed: &Consumed) {
    if detail.is_requested() {
        write_consumed(w.name("ConsumedCapacity"), detail, consumed, Use::Plain);
    }
}

/// Writes `ConsumedCapacity` of a response about several tables.
pub(super) fn write_all(w: &mut Writer, detail: Detail, consumed: &[Consumed], used: Use) {
    if detail.is_requested() {
        w.name("ConsumedCapacity").list(|w| {
            consumed.iter().for_each(|consumed| write_consumed(w, detail, consumed, used));
        });
    }
}

fn write_consumed(w: &mut Writer, detail: Detail, consumed: &Consumed, used: Use) {
    w.object(|w| {
        w.name("TableName").text(consumed.table.as_str());
        write_units_of(w, consumed.total(), used);
        if detail == Detail::Indexes {
            w.name("Table").object(|w| write_units_of(w, consumed.table_units, used));
            for (member, scope) in [
                ("LocalSecondaryIndexes", IndexScope::Local),
                ("GlobalSecondaryIndexes", IndexScope::Global),
            ] {
                write_indexes(w, member, scope, consumed, used);
            }
        }
    });
}

fn write_indexes(w: &mut Writer, member: &str, scope: IndexScope, consumed: &Consumed, used: Use) {
    let of_scope = || consumed.indexes.iter().filter(|(_, known, _)| *known == scope);
    if of_scope().next().is_none() {
        return;
    }
    w.name(member).object(|w| {
        for (name, _, units) in of_scope() {
            w.name(name.as_str()).object(|w| write_units_of(w, *units, used));
        }
    });
}

fn write_units_of(w: &mut Writer, units: f64, used: Use) {
    w.name("CapacityUnits").number(format_args!("{units:?}"));
    match used {
        Use::Plain => {}
        Use::TransactRead => w.name("ReadCapacityUnits").number(format_args!("{units:?}")),
        Use::TransactWrite => w.name("WriteCapacityUnits").number(format_args!("{units:?}")),
    }
}
