//! One light client, and heavy ones beside it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use keyloom_bench::HttpClient;

use crate::served::Served;

const HEAVY: &str = "/tasks?limit=1000";

/// A light request.
#[derive(Clone, Copy)]
pub(crate) enum Request {
    Get,
    Page,
}

impl Request {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Request::Get => "`GET /tasks/{id}`",
            Request::Page => "`GET /tasks?limit=20`",
        }
    }

    pub(crate) fn path(self, ids: &[String], number: usize) -> String {
        match self {
            Request::Get => format!("/tasks/{}", ids[number * 7919 % ids.len()]),
            Request::Page => "/tasks?limit=20".to_owned(),
        }
    }
}

/// The result of a round.
pub(crate) struct Outcome {
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
    pub(crate) max: Duration,
    pub(crate) heavy_per_second: f64,
}

/// Runs the light client for one round, with the heavy ones beside it.
pub(crate) fn round(server: &Served, light: Request, heavy: usize, round: Duration) -> Outcome {
    let (is_over, pages) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..heavy {
            scope.spawn(|| {
                let mut client = server.client();
                while !is_over.load(Ordering::Relaxed) {
                    get(&mut client, HEAVY);
                    pages.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        // Warm up until every client has sent a request.
        let mut client = server.client();
        while pages.load(Ordering::Relaxed) < 2 * heavy as u64 {
            get(&mut client, &light.path(&server.ids, 0));
        }
        let (started, before) = (Instant::now(), pages.load(Ordering::Relaxed));
        let mut latencies = vec![];
        while started.elapsed() < round {
            let path = light.path(&server.ids, latencies.len());
            let start = Instant::now();
            get(&mut client, &path);
            latencies.push(start.elapsed());
        }
        let done = pages.load(Ordering::Relaxed) - before;
        let heavy_per_second = done as f64 / started.elapsed().as_secs_f64();
        is_over.store(true, Ordering::Relaxed);
        latencies.sort_unstable();
        let at = |part: usize| latencies[(latencies.len() - 1) * part / 100];
        Outcome { p50: at(50), p99: at(99), max: at(100), heavy_per_second }
    })
}

pub(crate) fn get(client: &mut HttpClient, path: &str) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!(client.send(request.as_bytes()).expect("a response"), 200, "{path}");
}
