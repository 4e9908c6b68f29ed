//! The load: threads that send requests without pause, in rounds.

use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Rounds; the median counts.
const ROUNDS: usize = 5;

/// A kind of request.
#[derive(Clone, Copy)]
pub(crate) enum Work {
    Create,
    Get,
    List,
}

impl Work {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Work::Create => "create 1 KB",
            Work::Get => "get 1 KB",
            Work::List => "newest 20 of a product",
        }
    }
}

/// A store of comments.
pub(crate) trait Contender: Sync {
    fn name(&self) -> &'static str;
    /// Creates a client for one thread.
    fn client(&self) -> Box<dyn Client>;
}

/// Sends one request at a time.
pub(crate) trait Client: Send {
    /// Creates a comment and returns its id.
    fn create(&mut self, random: u64) -> String;
    fn get(&mut self, id: &str);
    fn list(&mut self, product: u64);
}

/// The result of a round.
pub(crate) struct Outcome {
    pub(crate) per_second: f64,
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
}

/// The ids of existing comments, by contender.
static IDS: Mutex<Vec<(&'static str, Vec<String>)>> = Mutex::new(vec![]);

/// Creates comments and records their ids.
pub(crate) fn fill(contender: &dyn Contender, count: usize) {
    const CLIENTS: usize = 16;
    let ids = std::thread::scope(|scope| {
        let client = |number: usize| {
            scope.spawn(move || {
                let (mut client, mut random) = (contender.client(), seed(number));
                (0..count / CLIENTS).map(|_| client.create(next(&mut random))).collect::<Vec<_>>()
            })
        };
        let clients: Vec<_> = (0..CLIENTS).map(client).collect();
        let ids = clients.into_iter().map(|thread| thread.join().expect("a client does not panic"));
        ids.flatten().collect()
    });
    IDS.lock().expect("no thread panicked").push((contender.name(), ids));
}

/// Returns the median of some rounds of each contender. They take turns, so that whatever else the
/// machine does concerns all of them.
pub(crate) fn medians(
    contenders: &[Box<dyn Contender>],
    work: Work,
    clients: usize,
    round: Duration,
) -> Vec<Outcome> {
    let all = IDS.lock().expect("no thread panicked");
    let mut outcomes: Vec<Vec<Outcome>> = contenders.iter().map(|_| vec![]).collect();
    for _ in 0..ROUNDS {
        for (contender, outcomes) in contenders.iter().zip(&mut outcomes) {
            let ids = all.iter().find(|(name, _)| *name == contender.name());
            let ids = ids.map(|(_, ids)| ids.as_slice()).unwrap_or_default();
            outcomes.push(one_round(&**contender, work, clients, round, ids));
        }
    }
    let median = |mut outcomes: Vec<Outcome>| {
        outcomes.sort_by(|left, right| left.per_second.total_cmp(&right.per_second));
        outcomes.swap_remove(ROUNDS / 2)
    };
    outcomes.into_iter().map(median).collect()
}

fn one_round(
    contender: &dyn Contender,
    work: Work,
    clients: usize,
    round: Duration,
    ids: &[String],
) -> Outcome {
    let started = Instant::now();
    let mut latencies: Vec<Duration> = std::thread::scope(|scope| {
        let client = |number: usize| {
            scope.spawn(move || {
                let (mut client, mut random) = (contender.client(), seed(number));
                let mut latencies = vec![];
                while started.elapsed() < round {
                    let start = Instant::now();
                    let random = next(&mut random);
                    match work {
                        Work::Create => drop(client.create(random)),
                        Work::Get => client.get(&ids[random as usize % ids.len()]),
                        Work::List => client.list(random % crate::comments::PRODUCTS),
                    }
                    latencies.push(start.elapsed());
                }
                latencies
            })
        };
        let threads: Vec<_> = (0..clients).map(client).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    let elapsed = started.elapsed();
    latencies.sort_unstable();
    let at = |part: usize| latencies[(latencies.len() - 1) * part / 100];
    Outcome { per_second: latencies.len() as f64 / elapsed.as_secs_f64(), p50: at(50), p99: at(99) }
}

fn seed(number: usize) -> u64 {
    (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Returns the next random number (xorshift).
fn next(random: &mut u64) -> u64 {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    *random
}
