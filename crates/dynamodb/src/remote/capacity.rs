//! Consumed capacity.

use std::sync::atomic::{AtomicU64, Ordering};

use aws_sdk_dynamodb::types::ConsumedCapacity;

/// Units that requests have consumed, as reported by the service.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Consumed {
    /// Read request units.
    pub read_units: f64,
    /// Write request units.
    pub write_units: f64,
}

/// Counts units since the store was opened, in halves: an eventually consistent read costs half a
/// unit.
#[derive(Debug, Default)]
pub(super) struct Meter {
    read_halves: AtomicU64,
    write_halves: AtomicU64,
}

impl Meter {
    pub(super) fn read<'a>(&self, reported: impl IntoIterator<Item = &'a ConsumedCapacity>) {
        self.read_halves.fetch_add(halves(reported), Ordering::Relaxed);
    }

    pub(super) fn written<'a>(&self, reported: impl IntoIterator<Item = &'a ConsumedCapacity>) {
        self.write_halves.fetch_add(halves(reported), Ordering::Relaxed);
    }

    pub(super) fn total(&self) -> Consumed {
        let units = |halves: &AtomicU64| halves.load(Ordering::Relaxed) as f64 / 2.0;
        Consumed { read_units: units(&self.read_halves), write_units: units(&self.write_halves) }
    }
}

fn halves<'a>(reported: impl IntoIterator<Item = &'a ConsumedCapacity>) -> u64 {
    let units: f64 = reported.into_iter().filter_map(ConsumedCapacity::capacity_units).sum();
    (units * 2.0).round() as u64
}
