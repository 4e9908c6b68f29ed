//! Metrics of the engine.

use std::fmt;
use std::sync::{Arc, Weak};

use keyloom_store::{Engine, Status};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// Collects the status of an engine on each scrape.
pub(crate) struct EngineMetrics {
    /// Weak, so that the engine can be closed.
    engine: Weak<Engine>,
}

impl EngineMetrics {
    pub(crate) fn new(engine: &Arc<Engine>) -> EngineMetrics {
        EngineMetrics { engine: Arc::downgrade(engine) }
    }
}

impl Collector for EngineMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let status = self.engine.upgrade().map(|engine| engine.status());
        let Some(Ok(status)) = status else { return Ok(()) };
        let mut write = |name: &str, help: &str, metric: &dyn EncodeMetric| {
            metric.encode(encoder.encode_descriptor(name, help, None, metric.metric_type())?)
        };
        for (name, help, value) in gauges(&status) {
            write(name, help, &ConstGauge::new(value))?;
        }
        for (name, help, value) in space(&status) {
            if let Some(value) = value {
                write(name, help, &ConstGauge::new(value as f64))?;
            }
        }
        for (name, help, value) in counters(&status) {
            write(name, help, &ConstCounter::new(value))?;
        }
        let help = "Total time of syncs of the log";
        let sync_time = ConstCounter::new(status.sync_time.as_secs_f64());
        write("engine_sync_seconds", help, &sync_time)
    }
}

type Figures<T, const N: usize> = [(&'static str, &'static str, T); N];

fn gauges(status: &Status) -> Figures<f64, 11> {
    [
        ("engine_log_bytes", "Size of the log", status.log_bytes as f64),
        ("engine_log_segments", "Files of the log", status.log_segments as f64),
        ("engine_tree_bytes", "Size of the tree", status.tree_bytes as f64),
        (
            "engine_tree_live_bytes",
            "Estimated size of the tree without gaps; compaction reclaims the difference",
            status.tree_live_bytes as f64,
        ),
        (
            "engine_tree_retired_bytes",
            "Size of trees that compaction has replaced and readers still hold open",
            status.retired_bytes as f64,
        ),
        (
            "engine_unwritten_bytes",
            "Bytes of the tree not yet written to its file",
            status.unwritten_bytes as f64,
        ),
        (
            "engine_cache_bytes",
            "Memory that cached pages of the tree take, at most: three quarters of `--memory`",
            status.cache_bytes as f64,
        ),
        (
            "engine_replay_commits",
            "Commits that opening after a crash would replay",
            status.commit.saturating_sub(status.checkpointed) as f64,
        ),
        (
            "engine_damages",
            "Damaged blocks or frames that the background scrub or a request found; alert on anything above 0",
            status.damages as f64,
        ),
        (
            "engine_scrub_completed_seconds",
            "When scrubbing last completed, in seconds since 1970; 0 if it has not yet",
            status.scrubbed_at.map_or(0.0, |at| at.0 as f64 / 1000.0),
        ),
        (
            "engine_is_writable",
            "0 while a failure prevents writes",
            f64::from(u8::from(status.failure.is_none())),
        ),
    ]
}

fn space(status: &Status) -> Figures<Option<u64>, 2> {
    [
        (
            "engine_disk_free_bytes",
            "Free space on the file system of the data; not on Windows",
            status.disk_free_bytes,
        ),
        (
            "engine_disk_bytes",
            "Size of the file system of the data; not on Windows",
            status.disk_bytes,
        ),
    ]
}

fn counters(status: &Status) -> Figures<u64, 7> {
    [
        ("engine_commits", "Commits", status.commits),
        (
            "engine_commit_groups",
            "Commit batches, each logged with one sync",
            status.commit_batches,
        ),
        (
            "engine_cache_misses",
            "Reads of the tree that its cache did not answer; restarts at 0 when the tree is compacted",
            status.cache_misses,
        ),
        ("engine_syncs", "Syncs of the log", status.syncs),
        (
            "engine_scrubbed_blocks",
            "Blocks of the tree that scrubbing verified",
            status.scrubbed_blocks,
        ),
        ("engine_compactions", "Compactions", status.compactions),
        (
            "engine_compactions_failed",
            "Failed compactions, which change nothing",
            status.compactions_failed,
        ),
    ]
}

impl fmt::Debug for EngineMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EngineMetrics").finish_non_exhaustive()
    }
}
