//! The capacity of all tables and indexes.

use std::collections::BTreeMap;

use keyloom_store::{IndexName, IndexScope, TableName, TableSpec, Time};

use super::charge::{Charge, Space};
use super::heavy_keys::HeavyKeys;
use super::ledger::Ledger;
use super::options::StrictOptions;
use super::partitions::Partitions;
use super::refusal::Throttled;
use super::usage::{Access, Used};

/// All key spaces that were used.
#[derive(Debug, Default)]
pub(super) struct Spaces {
    by_name: BTreeMap<Space, Capacity>,
    pub(super) ledger: Ledger,
}

/// The capacity of one key space, and its heaviest keys.
#[derive(Debug)]
pub(super) struct Capacity {
    pub(super) partitions: Partitions,
    pub(super) keys: HeavyKeys,
}

/// How spaces come into being.
#[derive(Clone, Copy)]
pub(super) struct Founding<'s> {
    pub(super) options: &'s StrictOptions,
    pub(super) spec: &'s TableSpec,
    /// Since when capacity has been there, and perhaps unused.
    pub(super) since: Time,
    pub(super) now: Time,
}

impl Spaces {
    /// Returns the capacity of a space, which starts with its first request.
    pub(super) fn of(&mut self, space: &Space, founding: Founding<'_>) -> &mut Capacity {
        let Founding { options, spec, since, .. } = founding;
        self.by_name.entry(space.clone()).or_insert_with(|| {
            let has_local = spec.indexes.iter().any(|index| index.scope == IndexScope::Local);
            let keeps_collections = has_local && space.index.is_none();
            let partitions = Partitions::new(options, keeps_collections, since);
            Capacity { partitions, keys: HeavyKeys::default() }
        })
    }

    /// Consumes all charges, or none if one of their partitions has no capacity. A write waits for
    /// its indexes: one that cannot keep up throttles the table.
    pub(super) fn charge(
        &mut self,
        charges: &[Charge],
        founding: Founding<'_>,
    ) -> Result<(), Throttled> {
        self.admit(charges, founding)?;
        charges.iter().for_each(|charge| self.take(charge, founding));
        Ok(())
    }

    /// Refuses charges if one of their partitions has no capacity.
    pub(super) fn admit(
        &mut self,
        charges: &[Charge],
        founding: Founding<'_>,
    ) -> Result<(), Throttled> {
        for charge in charges {
            let partitions = &mut self.of(&charge.space, founding).partitions;
            if !partitions.admits(&charge.position, charge.used.access, founding.now) {
                let (space, access) = (charge.space.clone(), charge.used.access);
                return Err(Throttled { space, access });
            }
        }
        Ok(())
    }

    /// Consumes the units of a request that was admitted before they were known.
    pub(super) fn take(&mut self, charge: &Charge, founding: Founding<'_>) {
        let capacity = self.of(&charge.space, founding);
        capacity.partitions.take(&charge.position, charge.used, founding.now);
        capacity.keys.add(&charge.key, charge.used.units);
        self.ledger.add_units(charge);
    }

    /// Consumes the units of a scan.
    pub(super) fn take_evenly(&mut self, space: &Space, units: f64, founding: Founding<'_>) {
        let used = Used { access: Access::Read, units };
        self.ledger.add_scan(space, units);
        self.of(space, founding).partitions.take_evenly(used, founding.now);
    }

    /// Forgets a table that was dropped, with its indexes.
    pub(super) fn forget(&mut self, table: &TableName) {
        self.by_name.retain(|space, _| space.table != *table);
    }

    /// Forgets an index that was created or dropped.
    pub(super) fn forget_index(&mut self, table: &TableName, index: &IndexName) {
        let is_other = |space: &Space| space.table != *table || space.index.as_ref() != Some(index);
        self.by_name.retain(|space, _| is_other(space));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Space, &Capacity)> {
        self.by_name.iter()
    }
}
