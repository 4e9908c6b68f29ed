//! The store of a sample: an engine in a directory that is removed afterwards, behind the rules by which
//! the service counts units.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use keyloom_dynamodb::{Strict, StrictOptions};
use keyloom_store::{Background, Durability, Engine, Options};

use super::clock::SampleClock;

/// More capacity than any sample uses: it measures, and refuses nothing.
const UNLIMITED: f64 = 1e12;

static COUNT: AtomicU64 = AtomicU64::new(0);

/// A directory that is removed when it is dropped.
struct Directory(PathBuf);

impl Drop for Directory {
    fn drop(&mut self) {
        // What is left in the directory for temporary files harms nobody.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The store of one sample. Fields are dropped in their order: the directory last.
pub(super) struct Scratch {
    pub(super) strict: Arc<Strict>,
    _directory: Directory,
}

impl Scratch {
    pub(super) fn new(clock: &SampleClock, seed: u64) -> Result<Scratch, String> {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("keyloom-plan-{}-{number}", std::process::id());
        let directory = Directory(std::env::temp_dir().join(name));
        let clock = Arc::new(clock.clone());
        let options = Options {
            durability: Durability::Relaxed,
            background: Background::Manual,
            clock: clock.clone(),
            ..Options::default()
        };
        let engine = Engine::open(&directory.0, options).map_err(|error| {
            format!("cannot write to the directory for temporary files: {error}")
        })?;
        let strict = Strict::new(Arc::new(engine), clock, rules(seed)).metered();
        Ok(Scratch { strict: Arc::new(strict), _directory: directory })
    }
}

fn rules(seed: u64) -> StrictOptions {
    let mut rules = StrictOptions::default();
    rules.seed = seed;
    rules.latency = Duration::ZERO;
    rules.partitions = 1;
    rules.write_units = UNLIMITED;
    rules.read_units = UNLIMITED;
    rules.index_lag = Duration::ZERO;
    rules.replica_lag = Duration::ZERO;
    rules.create_time = Duration::ZERO;
    rules
}
