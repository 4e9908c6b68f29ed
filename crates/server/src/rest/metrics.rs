//! What is left to do after changes, as Prometheus reads it.

use std::sync::atomic::AtomicU64;

use keyloom::events::Backlog;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Gauges of consumers and jobs, as they were when they were last looked at.
#[derive(Clone, Debug, Default)]
pub(crate) struct BacklogMetrics {
    events_behind: Family<[(&'static str, String); 1], Gauge<f64, AtomicU64>>,
    age: Family<[(&'static str, String); 1], Gauge<f64, AtomicU64>>,
    lost: Family<[(&'static str, String); 1], Gauge<f64, AtomicU64>>,
    jobs: Family<[(&'static str, String); 1], Gauge<f64, AtomicU64>>,
    jobs_late: Gauge<f64, AtomicU64>,
}

impl BacklogMetrics {
    pub(crate) fn register(&self, registry: &mut Registry) {
        let help = "Events not handled, of the next 1,000 changes";
        registry.register("consumer_events_behind", help, self.events_behind.clone());
        let help = "How old the oldest event is that is not handled";
        registry.register("consumer_age_seconds", help, self.age.clone());
        let help = "1 if changes are lost to it: it has stopped";
        registry.register("consumer_lost", help, self.lost.clone());
        let help = "Jobs, up to 1,000 of each state; failed ones are dead letters";
        registry.register("jobs", help, self.jobs.clone());
        let help = "For how long the oldest job has been due";
        registry.register("jobs_late_seconds", help, self.jobs_late.clone());
    }

    pub(crate) fn set(&self, backlog: &Backlog) {
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
