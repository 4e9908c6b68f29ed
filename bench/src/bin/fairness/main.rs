//! Latency of a light request, alone and beside clients that request long pages without pause.
//!
//! ```sh
//! cargo run --release -p keyloom-bench --bin fairness
//! cargo run --release -p keyloom-bench --bin fairness -- --beside PATH # and another build of keyloom
//! cargo run --release -p keyloom-bench --bin fairness -- attacks       # during attacks
//! ```
//!
//! Builds `keyloom` and serves tasks with it on this machine. Servers take turns, round by round. Attacks
//! are also tried on `keyloom dynamodb`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::expect_used,
    reason = "a command-line tool prints to the terminal, and exits if a measurement fails"
)]

mod api;
mod attack;
mod load;
mod served;

use std::path::PathBuf;
use std::time::Duration;

use api::Api;
use attack::Attack;
use keyloom_bench::{build_keyloom, other_build};
use load::{Outcome, Request};
use served::Served;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Rounds; the median counts.
const ROUNDS: usize = 5;
/// Clients that request long pages.
const HEAVY_CLIENTS: usize = 32;

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_quick = arguments.iter().any(|argument| argument == "--quick");
    let round = Duration::from_secs(if is_quick { 1 } else { 5 });
    let mut programs: Vec<(&str, PathBuf)> = vec![("this build", build_keyloom()?)];
    if let Some(path) = other_build() {
        programs.insert(0, ("the other build", path));
    }
    let start = |(name, program): &(&'static str, PathBuf), api| {
        eprintln!("{name}: tasks are written");
        Served::start(name, program, api)
    };
    if arguments.iter().any(|argument| argument == "attacks") {
        println!("| server | API | beside | p50 | p99 | p99, of alone |");
        println!("|---|---|---|---:|---:|---:|");
        for program in &programs {
            for api in Api::ALL {
                report_attacks(&start(program, api)?, round);
            }
        }
        return Ok(());
    }
    let servers = programs.iter().map(|program| start(program, Api::Rest));
    let servers = servers.collect::<Result<Vec<Served>, String>>()?;
    println!("| server | light request | beside | p50 | p99 | max | heavy pages per second |");
    println!("|---|---|---|---:|---:|---:|---:|");
    for light in [Request::Get, Request::Page] {
        for heavy in [0, HEAVY_CLIENTS] {
            for (server, outcome) in servers.iter().zip(median(&servers, light, heavy, round)) {
                report(server, light, heavy, &outcome);
            }
        }
    }
    Ok(())
}

/// Prints p50 and p99 of a light request during each attack: the median round by p99.
fn report_attacks(server: &Served, round: Duration) {
    let mut alone = None;
    for attack in Attack::ALL.into_iter().filter(|attack| attack.is_possible(server.api)) {
        let rounds = (0..ROUNDS).map(|_| attack::round(server, attack, round));
        let mut rounds: Vec<(Duration, Duration)> = rounds.collect();
        rounds.sort_by_key(|(_, p99)| *p99);
        let (p50, p99) = rounds[ROUNDS / 2];
        let ratio = p99.as_secs_f64() / alone.get_or_insert(p99).as_secs_f64();
        let (server, api, attack) = (server.name, server.api.name(), attack.name());
        let (p50, p99) = (p50.as_micros(), p99.as_micros());
        println!("| {server} | {api} | {attack} | {p50} µs | {p99} µs | {ratio:.1} × |");
    }
}

/// Returns the median round of each server by p99; servers take turns in each round.
fn median(servers: &[Served], light: Request, heavy: usize, round: Duration) -> Vec<Outcome> {
    let mut outcomes: Vec<Vec<Outcome>> = servers.iter().map(|_| vec![]).collect();
    for _ in 0..ROUNDS {
        for (server, outcomes) in servers.iter().zip(&mut outcomes) {
            outcomes.push(load::round(server, light, heavy, round));
        }
    }
    let median = |mut outcomes: Vec<Outcome>| {
        outcomes.sort_by_key(|outcome| outcome.p99);
        outcomes.swap_remove(ROUNDS / 2)
    };
    outcomes.into_iter().map(median).collect()
}

fn report(server: &Served, light: Request, heavy: usize, outcome: &Outcome) {
    let Outcome { p50, p99, max, heavy_per_second } = outcome;
    let [p50, p99, max] = [p50, p99, max].map(|time| time.as_micros());
    let (beside, pages) = match heavy {
        0 => ("nobody".to_owned(), "–".to_owned()),
        _ => (format!("{heavy} clients"), format!("{heavy_per_second:.0}")),
    };
    let (name, light) = (server.name, light.name());
    println!("| {name} | {light} | {beside} | {p50} µs | {p99} µs | {max} µs | {pages} |");
}
