//! Metrics of requests and of the limits, in the OpenMetrics format.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use keyloom_store::Engine;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, LabelSetEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::edge::Edge;
use super::engine_metrics::EngineMetrics;

/// The media type of [`Metrics::text`].
pub(crate) const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// The label of requests that match no operation.
const NO_OPERATION: &str = "none";
/// The upper bounds of the histogram's buckets, in seconds.
const BUCKETS: [f64; 14] = [
    0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0,
    10.0,
];

/// The metrics of a server.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Answered, Counter>,
    durations: Family<Operation, Histogram, fn() -> Histogram>,
    in_flight: Gauge,
    connections: Gauge,
    streams: Gauge,
    bodies_bytes: Gauge,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Operation(Arc<str>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Answered {
    operation: Arc<str>,
    status: &'static str,
}

/// Counts a request as in flight until it is dropped.
#[derive(Debug)]
pub(crate) struct InFlight(Gauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl EncodeLabelSet for Operation {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> fmt::Result {
        [("operation", &*self.0)].encode(encoder)
    }
}

impl EncodeLabelSet for Answered {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> fmt::Result {
        [("operation", &*self.operation), ("status", self.status)].encode(encoder)
    }
}

impl Metrics {
    /// Creates the metrics, with those of the engine if there is one. An app can register more.
    pub(crate) fn new(
        engine: Option<&Arc<Engine>>,
        register: impl FnOnce(&mut Registry),
    ) -> Metrics {
        let mut metrics = Metrics {
            registry: Registry::with_prefix("keyloom"),
            requests: Family::default(),
            durations: Family::new_with_constructor(|| Histogram::new(BUCKETS)),
            in_flight: Gauge::default(),
            connections: Gauge::default(),
            streams: Gauge::default(),
            bodies_bytes: Gauge::default(),
        };
        let registry = &mut metrics.registry;
        let mut gauge = |name: &str, help: &str, gauge: &Gauge| {
            registry.register(name, help, gauge.clone());
        };
        gauge("requests_in_flight", "Requests being answered", &metrics.in_flight);
        gauge("connections", "Open connections", &metrics.connections);
        gauge("streams", "Streams of changes being sent", &metrics.streams);
        gauge("bodies_bytes", "Memory taken by bodies of requests", &metrics.bodies_bytes);
        let help = "Requests answered, by class of status";
        metrics.registry.register("requests", help, metrics.requests.clone());
        let help = "How long answers took";
        metrics.registry.register("request_duration_seconds", help, metrics.durations.clone());
        if let Some(engine) = engine {
            metrics.registry.register_collector(Box::new(EngineMetrics::new(engine)));
        }
        register(&mut metrics.registry);
        metrics
    }

    /// Counts a request as in flight until the guard is dropped, also if its client disconnects.
    pub(crate) fn begin(&self) -> InFlight {
        self.in_flight.inc();
        InFlight(self.in_flight.clone())
    }

    /// Counts an answered request.
    pub(crate) fn count(&self, operation: Option<&Arc<str>>, status: u16, took: Duration) {
        let operation = operation.cloned().unwrap_or_else(|| NO_OPERATION.into());
        let status = match status / 100 {
            2 => "2xx",
            3 => "3xx",
            4 => "4xx",
            5 => "5xx",
            _ => "1xx",
        };
        self.durations.get_or_create(&Operation(operation.clone())).observe(took.as_secs_f64());
        self.requests.get_or_create(&Answered { operation, status }).inc();
    }

    /// All metrics, in the OpenMetrics text format.
    pub(crate) fn text(&self, edge: &Edge) -> String {
        let set = |gauge: &Gauge, count: usize| {
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        };
        set(&self.connections, edge.connections.count());
        set(&self.streams, edge.streams.count());
        set(&self.bodies_bytes, edge.body_memory.used_bytes());
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}
