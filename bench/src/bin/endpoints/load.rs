//! The load: threads that send requests without pause.

use std::time::{Duration, Instant};

use keyloom_bench::HttpClient;

use crate::work::{Key, PARTITIONS, ROWS, Work, create, put, start_of_stream};

/// The result of a round.
pub(crate) struct Outcome {
    latencies: Vec<Duration>,
    elapsed: Duration,
    pub(crate) failed: usize,
}

impl Outcome {
    pub(crate) fn per_second(&self) -> f64 {
        self.latencies.len() as f64 / self.elapsed.as_secs_f64()
    }

    /// Returns the latency that this fraction of the requests did not exceed.
    pub(crate) fn latency(&self, part: f64) -> Duration {
        let rank = (self.latencies.len() as f64 * part) as usize;
        self.latencies.get(rank).copied().unwrap_or_default()
    }
}

/// A server with the table and its items.
pub(crate) struct Load {
    port: u16,
    /// The start of a stream; empty if the server has none.
    iterator: String,
}

impl Load {
    pub(crate) fn prepare(port: u16) -> Load {
        let mut client = HttpClient::connect(port).expect("the server listens");
        assert_eq!(client.send(&create("load")).ok(), Some(200), "a table");
        for partition in 0..PARTITIONS {
            for row in 0..ROWS {
                // A table may not accept items immediately.
                let started = Instant::now();
                while client.send(&put(&Key { partition, row }, 0)).expect("a response") != 200 {
                    assert!(started.elapsed() < Duration::from_secs(30), "the table takes items");
                }
            }
        }
        let iterator = start_of_stream(&mut client).unwrap_or_default();
        Load { port, iterator }
    }

    pub(crate) fn run(&self, work: Work, clients: usize, round: Duration) -> Outcome {
        let started = Instant::now();
        let threads: Vec<_> = (0..clients)
            .map(|number| {
                let client = Client { port: self.port, iterator: self.iterator.clone(), work };
                std::thread::spawn(move || client.run(number as u64 + 1, round))
            })
            .collect();
        let mut outcome = Outcome { latencies: vec![], elapsed: round, failed: 0 };
        for thread in threads {
            let (latencies, failed) = thread.join().expect("a client does not panic");
            outcome.latencies.extend(latencies);
            outcome.failed += failed;
        }
        outcome.elapsed = started.elapsed();
        outcome.latencies.sort_unstable();
        outcome
    }
}

/// A thread that sends requests of one kind.
struct Client {
    port: u16,
    iterator: String,
    work: Work,
}

impl Client {
    /// Runs it; returns its latencies and the number of rejected requests.
    fn run(&self, seed: u64, round: Duration) -> (Vec<Duration>, usize) {
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut client = HttpClient::connect(self.port).expect("the server listens");
        let (mut latencies, mut failed) = (vec![], 0);
        let started = Instant::now();
        while started.elapsed() < round && failed == 0 {
            let request = self.work.request(&mut random, &self.iterator);
            let start = Instant::now();
            failed += usize::from(client.send(&request).ok() != Some(200));
            latencies.push(start.elapsed());
        }
        (latencies, failed)
    }
}
