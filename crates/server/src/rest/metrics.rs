//! Metrics of events, jobs and background operations.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use keyloom::events::Backlog;
use keyloom::{Db, Error, Operation, OperationKind};
use keyloom_store::{Engine, Time};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::unit_metrics::UnitMetrics;
use crate::http::edge::Edge;
use crate::http::metrics::Metrics;

/// All metrics of a service.
#[derive(Debug)]
pub(crate) struct Measurements {
    /// Sees all tenants; used for counts only.
    db: Db,
    pub(super) http: Metrics,
    /// Live queries that run.
    pub(super) live_queries: Gauge,
    backlog: BacklogMetrics,
    under_way: OperationMetrics,
}

impl Measurements {
    pub(crate) fn new(
        db: Db,
        engine: Option<&Arc<Engine>>,
        units: Option<UnitMetrics>,
    ) -> Measurements {
        let (backlog, under_way) = (BacklogMetrics::default(), OperationMetrics::default());
        let live_queries = Gauge::default();
        let http = Metrics::new(engine, |registry| {
            let help = "Live queries, including those that run for up to 30 s without a client";
            registry.register("live_queries", help, live_queries.clone());
            backlog.register(registry);
            under_way.register(registry);
            if let Some(units) = units {
                registry.register_collector(Box::new(units));
            }
        });
        Measurements { db, http, live_queries, backlog, under_way }
    }

    /// The current metrics, in the OpenMetrics text format.
    pub(crate) async fn text(&self, edge: &Edge, now: Time) -> Result<String, Error> {
        self.backlog.set(&self.db.backlog().await?);
        let now_ms = i64::try_from(now.0).unwrap_or(i64::MAX);
        self.under_way.set(&self.db.operations().await?, now_ms);
        Ok(self.http.text(edge))
    }
}

/// Gauges of consumers and jobs, set on each scrape.
#[derive(Clone, Debug, Default)]
struct BacklogMetrics {
    events_behind: Family<[(&'static str, String); 1], Gauge<f64, AtomicU64>>,
    age: Family<[(&'static str, String); 1], Gauge<f64, AtomicU64>>,
    lost: Family<[(&'static str, String); 1], Gauge<f64, AtomicU64>>,
    jobs: Family<[(&'static str, String); 1], Gauge<f64, AtomicU64>>,
    jobs_late: Gauge<f64, AtomicU64>,
}

impl BacklogMetrics {
    fn register(&self, registry: &mut Registry) {
        let help =
            "Events that the consumer has not handled, among the next 1,000 changes of each shard";
        registry.register("consumer_events_behind", help, self.events_behind.clone());
        let help = "Age of the oldest event that the consumer has not handled";
        registry.register("consumer_age_seconds", help, self.age.clone());
        let help = "1 if the consumer has stopped because changes it needs are gone";
        registry.register("consumer_lost", help, self.lost.clone());
        let help = "Jobs, up to 1,000 of each state; failed ones are dead letters";
        registry.register("jobs", help, self.jobs.clone());
        let help = "How long the oldest due job has been due";
        registry.register("jobs_late_seconds", help, self.jobs_late.clone());
    }

    fn set(&self, backlog: &Backlog) {
        for family in [&self.events_behind, &self.age, &self.lost] {
            family.clear();
        }
        for lag in &backlog.consumers {
            let labels = [("consumer", lag.consumer.clone())];
            self.events_behind.get_or_create(&labels).set(lag.events.into());
            self.age.get_or_create(&labels).set(lag.age_ms as f64 / 1000.0);
            self.lost.get_or_create(&labels).set(f64::from(lag.is_lost));
        }
        let states = [
            ("due", backlog.due),
            ("waiting", backlog.waiting),
            ("running", backlog.running),
            ("queued", backlog.queued),
            ("failed", backlog.failed),
        ];
        for (state, count) in states {
            self.jobs.get_or_create(&[("state", state.to_owned())]).set(f64::from(count));
        }
        self.jobs_late.set(backlog.late_ms as f64 / 1000.0);
    }
}

/// Gauges of background operations, set on each scrape.
#[derive(Clone, Debug, Default)]
struct OperationMetrics {
    count: Family<[(&'static str, String); 1], Gauge<f64, AtomicU64>>,
    done: Family<[(&'static str, String); 1], Gauge<f64, AtomicU64>>,
    left: Family<[(&'static str, String); 1], Gauge<f64, AtomicU64>>,
    age: Family<[(&'static str, String); 1], Gauge<f64, AtomicU64>>,
}

impl OperationMetrics {
    fn register(&self, registry: &mut Registry) {
        let help = "Background operations in progress: `deletion` prepares the deletion of very many entities and changes nothing yet, `clearing` removes its rows";
        registry.register("operations", help, self.count.clone());
        let help = "Entities, or rows of a backfill, that running operations have processed";
        registry.register("operations_done", help, self.done.clone());
        let help = "Entities, or rows of a backfill, that running operations have left";
        registry.register("operations_left", help, self.left.clone());
        let help = "Age of the oldest running operation";
        registry.register("operations_age_seconds", help, self.age.clone());
    }

    /// One value for each kind: ids are not labels.
    fn set(&self, operations: &[Operation], now_ms: i64) {
        for kind in OperationKind::ALL {
            let labels = [("kind", kind.to_string())];
            let all = || operations.iter().filter(|operation| operation.kind == kind);
            let left = |operation: &Operation| {
                operation.total.unwrap_or(operation.done).saturating_sub(operation.done)
            };
            let since_ms = all().map(|operation| operation.since_ms).min().unwrap_or(now_ms);
            let age_ms = now_ms.saturating_sub(since_ms).max(0);
            self.count.get_or_create(&labels).set(all().count() as f64);
            self.done.get_or_create(&labels).set(all().map(|one| one.done).sum::<u64>() as f64);
            self.left.get_or_create(&labels).set(all().map(left).sum::<u64>() as f64);
            self.age.get_or_create(&labels).set(age_ms as f64 / 1000.0);
        }
    }
}
