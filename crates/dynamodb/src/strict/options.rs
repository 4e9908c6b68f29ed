//! What strict mode enforces, and how much of it.

use std::time::Duration;

/// The rules of strict mode. The defaults are those of the service, except that what takes the
/// service hours or minutes takes seconds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StrictOptions {
    /// The seed of everything random. The same seed, clock and order of requests give the same
    /// results.
    pub seed: u64,
    /// How long a request of one item takes, on average. A transaction takes three times as long,
    /// and its items conflict with other transactions meanwhile.
    pub latency: Duration,
    /// The partitions of a new table or index, each with an equal part of the key space.
    pub partitions: u32,
    /// The write units per second of a partition.
    pub write_units: f64,
    /// The read units per second of a partition.
    pub read_units: f64,
    /// How much unused capacity a partition keeps for bursts, in seconds of it.
    pub burst: Duration,
    /// How long a partition must be throttled before it is split.
    pub split_after: Duration,
    /// The most that a global index lags behind its table.
    pub index_lag: Duration,
    /// The most that an eventually consistent read of a table lags.
    pub replica_lag: Duration,
    /// How long creating or deleting a table or an index takes.
    pub create_time: Duration,
    /// After how long a shard of a stream closes and has a child.
    pub shard_time: Duration,
    /// The share of stream reads that return an empty page although there are records, 0 to 1.
    pub empty_pages: f64,
}

impl Default for StrictOptions {
    fn default() -> StrictOptions {
        StrictOptions {
            seed: 0,
            latency: Duration::from_millis(4),
            partitions: 4,
            write_units: 1000.0,
            read_units: 3000.0,
            burst: Duration::from_secs(300),
            split_after: Duration::from_secs(60),
            index_lag: Duration::from_millis(200),
            replica_lag: Duration::from_millis(20),
            create_time: Duration::from_secs(5),
            shard_time: Duration::from_secs(4 * 60 * 60),
            empty_pages: 0.5,
        }
    }
}
