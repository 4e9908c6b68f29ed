//! Mutated requests, one after the other to one service: each gets a response that is valid and not a
//! server error, soon, and the memory that they take is bounded.
//!
//! `PROPTEST_CASES=256000` sends a million of them. `docs/testing.md` has the result.

mod mutation;
mod stage;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use keyloom_testkit::cases;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::service::Service;

use self::mutation::{Material, Mutation, mutation};
use self::stage::{Seed, seeds, staged};

/// Histories in a regular run, of 25 requests on average.
const HISTORIES: u32 = 40;
const REQUESTS_MAX: usize = 50;
/// A page has at most 1 MB of items, which are longer as JSON.
const RESPONSE_BYTES_MAX: usize = 16 << 20;
/// No history needs a tenth of this, on a busy machine either.
const HISTORY_TIME_MAX: Duration = Duration::from_secs(120);
/// What all histories together may add to the memory of the process.
const MEMORY_MAX: u64 = 512 << 20;

#[derive(Clone, Debug)]
struct Request {
    seed: usize,
    /// Sometimes the request goes to the operation of another seed.
    receiver: Option<usize>,
    mutations: Vec<Mutation>,
}

fn request() -> impl Strategy<Value = Request> {
    let number = || 0_usize..1 << 20;
    let receiver = prop_oneof![9 => Just(None), 1 => number().prop_map(Some)];
    (number(), receiver, vec(mutation(), 0..4)).prop_map(|(seed, receiver, mutations)| Request {
        seed,
        receiver,
        mutations,
    })
}

/// What came back, by operation.
#[derive(Default)]
struct Report {
    accepted: BTreeMap<&'static str, u64>,
    refused: BTreeMap<&'static str, u64>,
    slowest: Duration,
    longest: usize,
}

impl Report {
    fn add(&mut self, other: Report) {
        other
            .accepted
            .into_iter()
            .for_each(|(name, n)| *self.accepted.entry(name).or_default() += n);
        other.refused.into_iter().for_each(|(name, n)| *self.refused.entry(name).or_default() += n);
        self.slowest = self.slowest.max(other.slowest);
        self.longest = self.longest.max(other.longest);
    }

    fn count(&self) -> u64 {
        self.accepted.values().chain(self.refused.values()).sum()
    }
}

struct Players {
    seeds: Vec<Seed>,
    material: Material,
}

impl Players {
    fn new() -> Players {
        let seeds = seeds();
        Players { material: Material::of(&seeds), seeds }
    }

    /// Sends all requests of a history to a new service.
    fn play(&self, history: &[Request]) -> Report {
        let service = staged();
        let mut report = Report::default();
        for request in history {
            self.send(&service, request, &mut report);
            service.clock.advance_ms(40);
        }
        report
    }

    fn send(&self, service: &Service, request: &Request, report: &mut Report) {
        let seed = &self.seeds[request.seed % self.seeds.len()];
        let receiver = request.receiver.map_or(seed, |at| &self.seeds[at % self.seeds.len()]);
        let body = self.material.mutated(&seed.body, &request.mutations);
        let start = Instant::now();
        let reply = service.call_bytes(receiver.operation, &body);
        report.slowest = report.slowest.max(start.elapsed());
        report.longest = report.longest.max(reply.body.len());
        let context = || format!("{} {}", receiver.operation, String::from_utf8_lossy(&body));
        assert!(
            reply.body.len() <= RESPONSE_BYTES_MAX,
            "{} bytes: {}",
            reply.body.len(),
            context()
        );
        let counts = match reply.status {
            200 => &mut report.accepted,
            _ => &mut report.refused,
        };
        *counts.entry(receiver.operation).or_default() += 1;
        if let Some(wrong) = wrong_response(reply.status, &reply.body) {
            panic!("{wrong}: {} {}\n{}", reply.status, reply.body, context());
        }
    }
}

/// What is wrong with a response, if anything.
fn wrong_response(status: u16, body: &str) -> Option<&'static str> {
    // `DeleteTable` and others answer nothing in some cases.
    if status == 200 && body.is_empty() {
        return None;
    }
    let Ok(serde_json::Value::Object(members)) = serde_json::from_str(body) else {
        return Some("the response is not a JSON object");
    };
    // Each statement of a batch and each action of a transaction has an error of its own.
    if body.contains("InternalServerError") || body.contains("InternalError") {
        return Some("a server error");
    }
    match (status, members.get("__type").and_then(|kind| kind.as_str())) {
        (200, None) => None,
        (400, Some(kind)) if kind.starts_with("com.amazon") => None,
        _ => Some("neither accepted nor refused"),
    }
}

/// Plays a history on a thread of its own, which a hanging request cannot keep.
fn play_in_time(players: &Arc<Players>, history: Vec<Request>) -> Result<Report, TestCaseError> {
    let (sender, receiver) = channel();
    let players = players.clone();
    let thread = thread::spawn(move || {
        let _ = sender.send(players.play(&history));
    });
    match receiver.recv_timeout(HISTORY_TIME_MAX) {
        Ok(report) => Ok(report),
        Err(RecvTimeoutError::Timeout) => Err(TestCaseError::fail("a request hangs")),
        Err(RecvTimeoutError::Disconnected) => {
            let panic = thread.join().expect_err("it ended without a report");
            let text = panic.downcast_ref::<String>().cloned();
            Err(TestCaseError::fail(text.unwrap_or_else(|| "the endpoint panics".to_owned())))
        }
    }
}

/// The most memory that this process has had, where that is known.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse().ok()?;
    Some(kibibytes << 10)
}

#[test]
fn mutated_requests_get_a_response_in_bounded_time_and_memory() {
    let players = Arc::new(Players::new());
    let total = Mutex::new(Report::default());
    let before = peak_memory();
    let config = ProptestConfig {
        cases: cases(HISTORIES),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let result = TestRunner::new(config).run(&vec(request(), 1..=REQUESTS_MAX), |history| {
        let report = play_in_time(&players, history)?;
        total.lock().unwrap().add(report);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    let grown = peak_memory().zip(before).map(|(after, before)| after - before);
    let total = total.into_inner().unwrap();
    println!(
        "{} requests, {} accepted; the slowest took {:?}, the longest response {} bytes; \
         peak memory grew by {} KiB",
        total.count(),
        total.accepted.values().sum::<u64>(),
        total.slowest,
        total.longest,
        grown.unwrap_or(0) >> 10,
    );
    assert!(grown.is_none_or(|grown| grown <= MEMORY_MAX), "{grown:?} bytes");
    // Requests that nothing accepts would reach little: without changes or with small ones, all
    // operations succeed now and then.
    let names: BTreeSet<&str> = players.seeds.iter().map(|seed| seed.operation).collect();
    let never = names.iter().filter(|name| !total.accepted.contains_key(*name));
    let never: Vec<_> = never.collect();
    assert!(never.len() <= 5, "not accepted once: {never:?}");
}

#[test]
fn every_seed_is_accepted_and_every_operation_has_one() {
    let seeds = seeds();
    for Seed { operation, body } in &seeds {
        let reply = staged().call(operation, body);
        assert_eq!(reply.status, 200, "{operation} {body}: {}", reply.body);
        assert!(!reply.body.contains("\"Error\":"), "{operation} {body}: {}", reply.body);
    }
    let names: BTreeSet<&str> = seeds.iter().map(|seed| seed.operation).collect();
    assert_eq!(names, documented_operations());
}

/// The operations that `COMPAT.md` lists as supported.
fn documented_operations() -> BTreeSet<&'static str> {
    let page = include_str!("../../../../COMPAT.md");
    let (_, rest) = page.split_once("supports these operations").expect("the table of operations");
    let (table, _) = rest.split_once("### ").expect("a section after it");
    let rows = table.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | "));
    rows.flat_map(|(_, names)| names.trim_end_matches(" |").split(", ")).collect()
}
