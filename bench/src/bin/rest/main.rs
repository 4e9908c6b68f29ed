//! Compares a model over HTTP with the library alone, and with a hand-written service on PostgreSQL.
//!
//! ```sh
//! cargo run --release -p keyloom-bench --bin rest            # `-- --quick` for a short run
//! ```
//!
//! `-- --beside PATH` compares only `keyloom serve` of another build with that of this one.
//!
//! Builds what it measures and starts PostgreSQL, installed from Debian's packages if it is missing.
//! Contenders that cannot be started are reported and skipped.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::expect_used,
    reason = "a command-line tool prints to the terminal, and exits if a measurement fails"
)]

mod comments;
mod http;
mod library;
mod postgres;
mod rounds;

use std::time::Duration;

use keyloom_bench::other_build;
use rounds::{Contender, Outcome, Work};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Starts a contender.
type Open = Box<dyn Fn() -> Result<Box<dyn Contender>, String>>;

/// Returns the contenders by name; the others are compared with the first.
fn contenders() -> Vec<(&'static str, Open)> {
    let keyloom: (&str, Open) = ("keyloom serve", Box::new(http::keyloom));
    match other_build() {
        Some(path) => {
            let name = "the other build";
            vec![(name, Box::new(move || http::start(name, &path))), keyloom]
        }
        None => vec![
            ("the library", Box::new(library::open)),
            keyloom,
            ("PostgreSQL", Box::new(postgres::open)),
        ],
    }
}

fn main() {
    let is_quick = std::env::args().any(|argument| argument == "--quick");
    let round = Duration::from_secs(if is_quick { 1 } else { 5 });
    let count = if is_quick { 2_000 } else { 40_000 };
    let mut contenders: Vec<Box<dyn Contender>> = vec![];
    for (name, open) in self::contenders() {
        match open() {
            Ok(contender) => {
                eprintln!("{name}: {count} comments are written");
                rounds::fill(&*contender, count);
                contenders.push(contender);
            }
            Err(why) => eprintln!("{name} could not be started: {why}"),
        }
    }
    println!("| work | clients | contender | per second | p50 | p99 | of the first |");
    println!("|---|---:|---|---:|---:|---:|---:|");
    for work in [Work::Create, Work::Get, Work::List] {
        for clients in [1, 16] {
            let outcomes = rounds::medians(&contenders, work, clients, round);
            report(work, clients, &contenders, &outcomes);
        }
    }
}

fn report(work: Work, clients: usize, contenders: &[Box<dyn Contender>], outcomes: &[Outcome]) {
    for (contender, outcome) in contenders.iter().zip(outcomes) {
        let (name, work) = (contender.name(), work.name());
        let ratio = outcome.per_second / outcomes[0].per_second;
        let Outcome { per_second, p50, p99 } = outcome;
        let (p50, p99) = (p50.as_micros(), p99.as_micros());
        println!(
            "| {work} | {clients} | {name} | {per_second:.0} | {p50} µs | {p99} µs | {ratio:.2} |"
        );
    }
}
