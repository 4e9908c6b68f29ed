//! How many requests there were, and how long they took: as Prometheus reads it.

use std::fmt::Write;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use keyloom::events::{Backlog, Lag};

/// The upper bounds of the histogram's buckets, in microseconds.
const BUCKETS_US: [u64; 14] = [
    50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000,
    10_000_000,
];
/// Statuses are counted by their first digit.
const CLASSES: usize = 5;

/// What was measured since the server started.
#[derive(Debug)]
pub(crate) struct Metrics {
    /// One for each operation, and one for requests that are none.
    operations: Vec<Measured>,
    in_flight: AtomicI64,
}

#[derive(Debug, Default)]
struct Measured {
    name: String,
    classes: [AtomicU64; CLASSES],
    buckets: [AtomicU64; BUCKETS_US.len()],
    total_us: AtomicU64,
}

/// A request that is being answered.
#[derive(Debug)]
pub(crate) struct InFlight<'m>(&'m AtomicI64);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Metrics {
    pub(crate) fn new(names: impl Iterator<Item = String>) -> Metrics {
        let names = names.chain([String::from("none")]);
        let operations = names.map(|name| Measured { name, ..Measured::default() }).collect();
        Metrics { operations, in_flight: AtomicI64::new(0) }
    }

    /// Counts a request as under way until the guard is dropped, also if its client goes away.
    pub(crate) fn begin(&self) -> InFlight<'_> {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight(&self.in_flight)
    }

    /// Counts a request to an operation, or to none.
    pub(crate) fn count(&self, operation: Option<usize>, status: u16, took: Duration) {
        let index = operation.unwrap_or(self.operations.len() - 1);
        let Some(measured) = self.operations.get(index) else { return };
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let class = usize::from(status / 100).clamp(1, CLASSES) - 1;
        measured.classes[class].fetch_add(1, Ordering::Relaxed);
        measured.total_us.fetch_add(took_us, Ordering::Relaxed);
        if let Some(bucket) = BUCKETS_US.iter().position(|bound| took_us <= *bound) {
            measured.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Everything, in Prometheus' text format.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        let in_flight = self.in_flight.load(Ordering::Relaxed);
        // Writing to a string does not fail.
        let _ = writeln!(text, "# HELP keyloom_requests_in_flight Requests being answered.");
        let _ = writeln!(text, "# TYPE keyloom_requests_in_flight gauge");
        let _ = writeln!(text, "keyloom_requests_in_flight {in_flight}");
        let _ =
            writeln!(text, "# HELP keyloom_requests_total Requests answered, by class of status.");
        let _ = writeln!(text, "# TYPE keyloom_requests_total counter");
        self.operations.iter().for_each(|measured| measured.write_counts(&mut text));
        let name = "keyloom_request_duration_seconds";
        let _ = writeln!(text, "# HELP {name} How long answers took.");
        let _ = writeln!(text, "# TYPE {name} histogram");
        self.operations.iter().for_each(|measured| measured.write_histogram(&mut text, name));
        text
    }
}

/// What is left to do after changes, in the same format.
pub(crate) fn backlog_text(backlog: &Backlog) -> String {
    let mut text = String::new();
    let mut gauge = |name: &str, help: &str, values: &[(String, f64)]| {
        if values.is_empty() {
            return;
        }
        let _ = writeln!(text, "# HELP keyloom_{name} {help}");
        let _ = writeln!(text, "# TYPE keyloom_{name} gauge");
        for (labels, value) in values {
            let _ = writeln!(text, "keyloom_{name}{{{labels}}} {value}");
        }
    };
    let of_consumers = |value: &dyn Fn(&Lag) -> f64| -> Vec<(String, f64)> {
        let consumers = backlog.consumers.iter();
        consumers.map(|lag| (format!("consumer=\"{}\"", lag.consumer), value(lag))).collect()
    };
    let behind = of_consumers(&|lag| lag.events.into());
    gauge("consumer_events_behind", "Events not handled, of the next 1,000 changes.", &behind);
    let age = of_consumers(&|lag| lag.age_ms as f64 / 1000.0);
    gauge("consumer_age_seconds", "How old the oldest event is that is not handled.", &age);
    let lost = of_consumers(&|lag| f64::from(lag.is_lost));
    gauge("consumer_lost", "1 if changes are lost to it: it has stopped.", &lost);
    let states = [
        ("due", backlog.due),
        ("waiting", backlog.waiting),
        ("running", backlog.running),
        ("queued", backlog.queued),
        ("failed", backlog.failed),
    ];
    let states = states.map(|(state, count)| (format!("state=\"{state}\""), f64::from(count)));
    gauge("jobs", "Jobs, up to 1,000 of each state; failed ones are dead letters.", &states);
    let late = [(String::new(), backlog.late_ms as f64 / 1000.0)];
    gauge("jobs_late_seconds", "For how long the oldest job has been due.", &late);
    text
}

impl Measured {
    fn write_counts(&self, text: &mut String) {
        for (class, count) in self.classes.iter().enumerate() {
            let count = count.load(Ordering::Relaxed);
            if count > 0 {
                let (operation, class) = (&self.name, class + 1);
                let _ = writeln!(
                    text,
                    "keyloom_requests_total{{operation=\"{operation}\",status=\"{class}xx\"}} {count}"
                );
            }
        }
    }

    fn write_histogram(&self, text: &mut String, name: &str) {
        let count: u64 = self.classes.iter().map(|count| count.load(Ordering::Relaxed)).sum();
        if count == 0 {
            return;
        }
        let (operation, mut below) = (&self.name, 0);
        for (bound_us, bucket) in BUCKETS_US.iter().zip(&self.buckets) {
            below += bucket.load(Ordering::Relaxed);
            let bound = seconds(*bound_us);
            let _ =
                writeln!(text, "{name}_bucket{{operation=\"{operation}\",le=\"{bound}\"}} {below}");
        }
        let total = seconds(self.total_us.load(Ordering::Relaxed));
        let _ = writeln!(text, "{name}_bucket{{operation=\"{operation}\",le=\"+Inf\"}} {count}");
        let _ = writeln!(text, "{name}_sum{{operation=\"{operation}\"}} {total}");
        let _ = writeln!(text, "{name}_count{{operation=\"{operation}\"}} {count}");
    }
}

fn seconds(us: u64) -> f64 {
    Duration::from_micros(us).as_secs_f64()
}
