//! The load: connections that send requests without pause.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use keyloom_bench::HttpClient;

use crate::CONNECTIONS;
use crate::contender::{Contender, Target, Work};

/// Creates comments and records their ids.
pub(crate) fn fill(contender: &mut Contender, count: usize) {
    let each = count / CONNECTIONS;
    let ids = on_all_connections(contender, |client, random| {
        (0..each).map(|_| client.send(Work::Create, next(random))).collect::<Vec<_>>()
    });
    contender.ids = ids.concat();
}

/// Sends requests for one round; returns responses per second.
pub(crate) fn per_second(contender: &Contender, work: Work, round: Duration) -> f64 {
    let started = Instant::now();
    let responses = on_all_connections(contender, |client, random| {
        let mut responses = 0;
        while started.elapsed() < round {
            client.send(work, next(random));
            responses += 1;
        }
        responses
    });
    f64::from(responses.into_iter().sum::<u32>()) / started.elapsed().as_secs_f64()
}

fn on_all_connections<T: Send>(
    contender: &Contender,
    run: impl Fn(&mut Client<'_>, &mut u64) -> T + Sync,
) -> Vec<T> {
    let run = &run;
    std::thread::scope(|scope| {
        let thread = |number: usize| {
            scope.spawn(move || {
                let http = HttpClient::connect(contender.running.port).expect("it listens");
                let mut random = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                run(&mut Client { http, contender }, &mut random)
            })
        };
        let threads: Vec<_> = (0..CONNECTIONS).map(thread).collect();
        threads.into_iter().map(|thread| thread.join().expect("no client panics")).collect()
    })
}

struct Client<'c> {
    http: HttpClient,
    contender: &'c Contender,
}

impl Client<'_> {
    /// Sends a request; returns the first id in the response, if there is one.
    fn send(&mut self, work: Work, random: u64) -> String {
        let number = match work {
            Work::Create => self.contender.created.fetch_add(1, Ordering::Relaxed),
            _ => 0,
        };
        let target = Target::new(random, number, &self.contender.ids);
        let (line, body) = (self.contender.request)(work, &target);
        let head = format!("{line} HTTP/1.1\r\nHost: localhost");
        let request = match body {
            Some(body) => format!(
                "{head}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            ),
            None => format!("{head}\r\n\r\n"),
        };
        let status = self.http.send(request.as_bytes()).expect("a response");
        let response = String::from_utf8_lossy(self.http.body());
        assert!(matches!(status, 200 | 201), "{line}: {status}: {response}");
        let id = response.split_once(r#""id":""#).and_then(|(_, rest)| rest.split_once('"'));
        id.map_or_else(String::new, |(id, _)| id.to_owned())
    }
}

/// Returns the next random number (xorshift).
fn next(random: &mut u64) -> u64 {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    *random
}
