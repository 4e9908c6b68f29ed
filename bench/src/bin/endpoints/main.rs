//! Compares DynamoDB endpoints: the same requests, the same load generator, one table.
//!
//! ```sh
//! cargo run --release -p keyloom-bench --bin endpoints            # `-- --quick` for a short run
//! ```
//!
//! `-- --beside PATH` compares only another build of Keyloom with this one, in turns.
//!
//! Keyloom is built first. The others are installed into the target folder
//! from npm and PyPI; those that cannot be installed are reported and skipped.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::expect_used,
    reason = "a command-line tool prints to the terminal, and exits if a measurement fails"
)]

mod contestant;
mod load;
mod work;

use std::path::PathBuf;
use std::time::Duration;

use contestant::Contestant;
use keyloom_bench::{Running, other_build};
use load::{Load, Outcome};
use work::Work;

/// Rounds of builds that are compared; the median counts.
const ROUNDS: usize = 5;

fn main() -> Result<(), String> {
    let is_quick = std::env::args().any(|argument| argument == "--quick");
    let round = Duration::from_secs(if is_quick { 1 } else { 5 });
    println!("| server | durable | clients | work | per second | p50 | p99 |");
    println!("|---|---|---:|---|---:|---:|---:|");
    if let Some(other) = other_build() {
        return compare_builds(other, round);
    }
    for contestant in contestant::all()? {
        let running = match contestant.start() {
            Ok(running) => running,
            Err(why) => {
                eprintln!("{} could not be started: {why}", contestant.name);
                continue;
            }
        };
        let load = Load::prepare(running.port);
        for clients in [1, 16] {
            for work in Work::ALL {
                report(&contestant, clients, work, &load.run(work, clients, round));
            }
        }
    }
    Ok(())
}

/// Measures two builds of Keyloom, which take turns.
fn compare_builds(other: PathBuf, round: Duration) -> Result<(), String> {
    let builds = contestant::builds(other)?;
    let running: Vec<Running> = builds.iter().map(Contestant::start).collect::<Result<_, _>>()?;
    let loads: Vec<Load> = running.iter().map(|running| Load::prepare(running.port)).collect();
    for clients in [1, 16] {
        for work in Work::ALL {
            let mut rounds: Vec<Vec<Outcome>> = loads.iter().map(|_| vec![]).collect();
            for _ in 0..ROUNDS {
                for (load, outcomes) in loads.iter().zip(&mut rounds) {
                    outcomes.push(load.run(work, clients, round));
                }
            }
            for (build, mut outcomes) in builds.iter().zip(rounds) {
                outcomes.sort_by(|a, b| a.per_second().total_cmp(&b.per_second()));
                report(build, clients, work, &outcomes[ROUNDS / 2]);
            }
        }
    }
    Ok(())
}

fn report(contestant: &Contestant, clients: usize, work: Work, outcome: &Outcome) {
    let Contestant { name, durable, .. } = contestant;
    let work = work.name();
    if outcome.failed > 0 {
        println!("| {name} | {durable} | {clients} | {work} | refused | | |");
        return;
    }
    let micros = |part: f64| outcome.latency(part).as_micros();
    println!(
        "| {name} | {durable} | {clients} | {work} | {:.0} | {} µs | {} µs |",
        outcome.per_second(),
        micros(0.5),
        micros(0.99)
    );
}
