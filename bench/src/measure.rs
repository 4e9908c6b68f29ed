//! Measures one round of one kind of work on one contender.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::rows::RANGE_ROWS;
use crate::{Contender, Latencies, Outcome, Random, Rows};

/// A kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// One loaded row by its key.
    Get,
    /// Twenty loaded rows in order.
    Range20,
    /// New rows under random keys, each durable before the next of its writer.
    Put { writers: usize },
}

/// How long a round lasts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Until {
    Elapsed(Duration),
    /// This many calls, by all threads together.
    Calls(u64),
}

/// A round to be run.
pub(crate) struct Round<'a> {
    pub(crate) contender: &'a dyn Contender,
    pub(crate) work: Work,
    pub(crate) rows: &'a Rows,
    pub(crate) until: Until,
    /// Each seed gives different keys, so that no round writes the rows of another.
    pub(crate) seed: u64,
}

/// The result of a round.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) calls_per_sec: f64,
    pub(crate) latencies: Latencies,
}

impl Work {
    fn threads(self) -> usize {
        match self {
            Work::Get | Work::Range20 => 1,
            Work::Put { writers } => writers,
        }
    }

    /// Makes one call and returns the time the contender took.
    fn call(
        self,
        contender: &dyn Contender,
        rows: &Rows,
        random: &mut Random,
    ) -> Outcome<Duration> {
        match self {
            Work::Get => {
                let row = rows.any(random);
                let (body, elapsed) = timed(|| contender.get(&row.key))?;
                if body.as_deref() != Some(row.body) {
                    return Err("A loaded row was not read back as it was stored.".into());
                }
                Ok(elapsed)
            }
            Work::Range20 => {
                let from = rows.any_range(random);
                let (found, elapsed) = timed(|| contender.range20(&from))?;
                if found.count() as u64 != RANGE_ROWS {
                    return Err("A range read did not return 20 rows.".into());
                }
                Ok(elapsed)
            }
            Work::Put { .. } => {
                let row = rows.fresh(random);
                Ok(timed(|| contender.put(row))?.1)
            }
        }
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Work::Get => write!(f, "get 1 KB"),
            Work::Range20 => write!(f, "range of 20 × 1 KB"),
            Work::Put { writers: 1 } => write!(f, "durable put 1 KB, 1 writer"),
            Work::Put { writers } => write!(f, "durable put 1 KB, {writers} writers"),
        }
    }
}

fn timed<T>(call: impl FnOnce() -> Outcome<T>) -> Outcome<(T, Duration)> {
    let start = Instant::now();
    let value = call()?;
    Ok((value, start.elapsed()))
}

impl Round<'_> {
    /// Runs it on as many threads as the work has.
    pub(crate) fn run(&self) -> Outcome<Sample> {
        let call = |random: &mut Random| self.work.call(self.contender, self.rows, random);
        sample(self.work.threads(), self.until, self.seed, call)
    }
}

/// Calls repeatedly on some threads, each with its own random numbers.
pub(crate) fn sample(
    threads: usize,
    until: Until,
    seed: u64,
    call: impl Fn(&mut Random) -> Outcome<Duration> + Sync,
) -> Outcome<Sample> {
    let calls = AtomicU64::new(0);
    let start = Instant::now();
    let is_running = || match until {
        Until::Elapsed(limit) => start.elapsed() < limit,
        Until::Calls(limit) => calls.fetch_add(1, Ordering::Relaxed) < limit,
    };
    let worker = |number: usize| {
        let mut random = Random::new(seed ^ ((number as u64 + 1) << 40));
        let mut times = vec![];
        while is_running() {
            times.push(call(&mut random)?);
        }
        Ok(times)
    };
    Ok(Sample::of_workers(run_workers(threads, worker)?))
}

impl Sample {
    /// The rate counts the time that the busiest worker spent inside the contender: drawing keys and
    /// checking results would make the contenders look more alike than they are.
    fn of_workers(workers: Vec<Vec<Duration>>) -> Sample {
        let busy = workers.iter().map(|times| times.iter().sum::<Duration>()).max();
        let latencies = Latencies::new(workers.concat());
        let busy_secs = busy.unwrap_or_default().as_secs_f64();
        let calls_per_sec =
            if busy_secs > 0.0 { latencies.count() as f64 / busy_secs } else { 0.0 };
        Sample { calls_per_sec, latencies }
    }
}

/// Runs the workers together; returns what each measured.
fn run_workers(
    count: usize,
    worker: impl Fn(usize) -> Outcome<Vec<Duration>> + Sync,
) -> Outcome<Vec<Vec<Duration>>> {
    let worker = &worker;
    thread::scope(|scope| {
        let spawn = |number| scope.spawn(move || worker(number));
        let handles: Vec<_> = (0..count).map(spawn).collect();
        let results = handles.into_iter().map(|handle| handle.join());
        results.map(|result| result.map_err(|_| "A worker panicked.")?).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_counts_all_calls_in_the_time_of_the_busiest_worker() {
        let ten_ms = Duration::from_millis(10);
        let sample = Sample::of_workers(vec![vec![ten_ms; 3], vec![ten_ms; 5], vec![]]);
        assert!((sample.calls_per_sec - 160.0).abs() < 1e-6);
        assert_eq!(sample.latencies.count(), 8);
    }
}
