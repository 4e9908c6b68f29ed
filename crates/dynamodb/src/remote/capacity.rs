//! Consumed capacity.

use aws_sdk_dynamodb::types::ConsumedCapacity;

use super::service::Service;
use crate::consumption::Consumption;

/// Units that requests have consumed, as reported by the service.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Consumed {
    /// Read request units.
    pub read_units: f64,
    /// Write request units.
    pub write_units: f64,
}

impl From<&Consumption> for Consumed {
    fn from(consumption: &Consumption) -> Consumed {
        let (read_units, write_units) = (consumption.read_units(), consumption.write_units());
        Consumed { read_units, write_units }
    }
}

impl Service {
    /// Adds what a read has consumed: to the total, and to the work that it belongs to.
    pub(super) fn note_read<'a>(&self, reported: impl IntoIterator<Item = &'a ConsumedCapacity>) {
        let halves = halves(reported);
        self.consumption.add_read(halves);
        if let Some(work) = Consumption::current() {
            work.add_read(halves);
        }
    }

    /// The same of a write.
    pub(super) fn note_written<'a>(
        &self,
        reported: impl IntoIterator<Item = &'a ConsumedCapacity>,
    ) {
        let halves = halves(reported);
        self.consumption.add_written(halves);
        if let Some(work) = Consumption::current() {
            work.add_written(halves);
        }
    }
}

fn halves<'a>(reported: impl IntoIterator<Item = &'a ConsumedCapacity>) -> u64 {
    let units: f64 = reported.into_iter().filter_map(ConsumedCapacity::capacity_units).sum();
    (units * 2.0).round() as u64
}
