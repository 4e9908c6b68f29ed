//! Metrics of the units that DynamoDB has charged, by operation.

use std::fmt;
use std::sync::Arc;

use keyloom_dynamodb::Consumption;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;

/// What is not part of an operation: events, jobs, expiry and other background work.
const BACKGROUND: &str = "background";

/// What operations and the whole server have consumed.
#[derive(Debug)]
pub(crate) struct UnitMetrics {
    /// All of the server.
    total: Arc<Consumption>,
    operations: Vec<(Arc<str>, Arc<Consumption>)>,
}

impl UnitMetrics {
    pub(crate) fn new(
        total: Arc<Consumption>,
        operations: Vec<(Arc<str>, Arc<Consumption>)>,
    ) -> UnitMetrics {
        UnitMetrics { total, operations }
    }

    /// The units of every operation that has consumed any, and of the rest.
    fn by_operation(&self, units: impl Fn(&Consumption) -> f64) -> Vec<(Arc<str>, f64)> {
        // First, so that what is consumed meanwhile does not make the rest negative.
        let total = units(&self.total);
        let all = self.operations.iter().map(|(name, consumption)| (name, units(consumption)));
        let mut all: Vec<(Arc<str>, f64)> = all
            .filter(|(_, units)| *units > 0.0)
            .map(|(name, units)| (name.clone(), units))
            .collect();
        let rest = total - all.iter().map(|(_, units)| units).sum::<f64>();
        all.push((BACKGROUND.into(), rest.max(0.0)));
        all
    }
}

impl Collector for UnitMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let read = self.by_operation(Consumption::read_units);
        let written = self.by_operation(Consumption::write_units);
        let figures = [
            (
                "dynamodb_read_units",
                "Read units that DynamoDB has charged, by operation; `background` is everything that belongs to none",
                read,
            ),
            (
                "dynamodb_write_units",
                "Write units that DynamoDB has charged, by operation; `background` is everything that belongs to none",
                written,
            ),
        ];
        for (name, help, by_operation) in figures {
            let mut encoder = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for (operation, units) in by_operation {
                let labels = [("operation", &*operation)];
                ConstCounter::new(units).encode(encoder.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}
