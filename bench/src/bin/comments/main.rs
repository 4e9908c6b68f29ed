//! Compares the comments service over HTTP with PocketBase with suitable indexes: the same comments
//! and requests, in alternating rounds.
//!
//! ```sh
//! cargo run --release -p keyloom-bench --bin comments        # `-- --quick` for a short run
//! ```
//!
//! Builds Keyloom, and installs PocketBase from PyPI into a separate folder.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::expect_used,
    reason = "a command-line tool prints to the terminal, and exits if a measurement fails"
)]

mod contender;
mod keyloom;
mod pocketbase;
mod rounds;

use std::time::Duration;

use contender::{Contender, Work};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Rounds; the median counts.
const ROUNDS: usize = 3;
/// Concurrent connections.
const CONNECTIONS: usize = 16;

fn main() -> Result<(), String> {
    let is_quick = std::env::args().any(|argument| argument == "--quick");
    let round = Duration::from_secs(if is_quick { 1 } else { 5 });
    let count = if is_quick { 5_000 } else { 200_000 };
    let mut contenders = [keyloom::start()?, pocketbase::start()?];
    for contender in &mut contenders {
        eprintln!("{}: creating {count} comments", contender.name);
        rounds::fill(contender, count);
    }
    println!(
        "{count} comments of 0.95 KB, {CONNECTIONS} connections, medians of {ROUNDS} rounds:\n"
    );
    println!("| work | Keyloom | PocketBase | ratio |\n|---|---:|---:|---:|");
    for work in Work::ALL {
        let mut rates = [vec![], vec![]];
        for _ in 0..ROUNDS {
            for (contender, rates) in contenders.iter().zip(&mut rates) {
                rates.push(rounds::per_second(contender, work, round));
            }
        }
        let [ours, theirs] = rates.map(median);
        println!("| {} | {ours:.0}/s | {theirs:.0}/s | {:.1} |", work.name(), ours / theirs);
    }
    // The rounds created more comments.
    let [ours, theirs] = contenders.each_ref().map(Contender::bytes_per_comment);
    println!("| bytes on disk for a comment | {ours} | {theirs} | |");
    Ok(())
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}
