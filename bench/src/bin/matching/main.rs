//! Tags and facets: queries by tags and the cost of tags for writes, compared with other databases
//! with the same tasks; and comments by facets, compared with merging sorted lists.
//!
//! ```sh
//! cargo run --release -p keyloom-bench --bin matching        # `-- --quick` for a tenth of it
//! cargo run --release -p keyloom-bench --bin matching -- tags --alone    # without the others
//! cargo run --release -p keyloom-bench --bin matching -- written
//! cargo run --release -p keyloom-bench --bin matching -- facets 100000   # at most this many
//! cargo run --release -p keyloom-bench --bin matching -- positions       # rare, common, old, new
//! cargo run --release -p keyloom-bench --bin matching -- ranges          # `--alone`: not the others
//! cargo run --release -p keyloom-bench --bin matching -- words           # likewise
//! cargo run --release -p keyloom-bench --bin matching -- aggregates      # likewise
//! ```
//!
//! Builds what it measures, and installs PostgreSQL and Redis from Debian's packages if they are
//! missing. Contenders that cannot be started are reported and skipped.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::expect_used,
    reason = "a command-line tool prints to the terminal, and exits if a measurement fails"
)]

mod aggregates;
mod facets;
mod kept;
mod measured;
mod notes;
mod ours;
mod peers;
mod positions;
mod products;
mod ranges;
mod sales;
mod study;
mod tasks;
mod words;
mod written;

use measured::{Measured, format_time, memory_peak};
use tasks::QUERIES;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |word: &str| arguments.iter().any(|argument| argument == word);
    let is_all = !["tags", "written", "facets", "positions", "ranges", "words", "aggregates"]
        .into_iter()
        .any(has);
    let given = arguments.iter().find_map(|argument| argument.parse().ok());
    let many = |whole: u32| given.unwrap_or(if has("--quick") { whole / 10 } else { whole });
    if is_all || has("tags") {
        tags(many(10_000_000), has("--alone"));
    }
    if is_all || has("written") {
        written::report(many(32_000));
    }
    if is_all || has("facets") {
        facets::report(many(1_000_000));
    }
    if is_all || has("positions") {
        positions::report(many(1_000_000));
    }
    if is_all || has("ranges") {
        ranges::report(many(1_000_000), has("--alone"));
    }
    if is_all || has("words") {
        words::report(many(1_000_000), has("--alone"));
    }
    if is_all || has("aggregates") {
        aggregates::report(many(1_000_000), has("--alone"));
    }
}

/// Measures Keyloom with more and more tasks, and the others with the most.
fn tags(tasks: u32, is_alone: bool) {
    let mut measured = vec![("Keyloom", grow(tasks))];
    if let Some(memory) = memory_peak() {
        println!("Keyloom used {memory} MiB of memory at most.\n");
    }
    for (name, measure) in peers::PEERS.into_iter().filter(|_| !is_alone) {
        eprintln!("{name}: {tasks} tasks are loaded");
        match measure(tasks) {
            Ok(outcome) => measured.push((name, outcome)),
            Err(why) => eprintln!("{name} could not be measured: {why}"),
        }
    }
    println!("{tasks} tasks:\n");
    compare(tasks, &measured, &QUERIES.map(|query| query.text));
}

/// Runs the queries with ten thousand tasks, ten times as many, and so on; returns the last results.
fn grow(tasks_max: u32) -> Measured {
    println!("| tasks | {} |", QUERIES.map(|query| query.text).join(" | "));
    println!("|---:|{}", "---:|".repeat(QUERIES.len()));
    let mut tasks = 10_000;
    loop {
        let measured = ours::measure(tasks);
        let times: Vec<String> =
            measured.queries.iter().map(|(_, time)| format_time(*time)).collect();
        println!("| {tasks} | {} |", times.join(" | "));
        if tasks >= tasks_max {
            println!();
            return measured;
        }
        tasks *= 10;
    }
}

fn compare(entities: u32, measured: &[(&str, Measured)], queries: &[&str]) {
    let names: Vec<&str> = measured.iter().map(|(name, _)| *name).collect();
    println!("| | {} |\n|---|{}", names.join(" | "), "---:|".repeat(names.len()));
    let row = |heading: &str, cell: &dyn Fn(&Measured) -> String| {
        let cells: Vec<String> = measured.iter().map(|(_, measured)| cell(measured)).collect();
        println!("| {heading} | {} |", cells.join(" | "));
    };
    row("loaded per second", &|of| format!("{:.0}", f64::from(entities) / of.load.as_secs_f64()));
    row("bytes each", &|of| format!("{:.0}", of.bytes as f64 / f64::from(entities)));
    for (index, text) in queries.iter().enumerate() {
        let found = measured.first().map(|(_, measured)| measured.queries[index].0);
        let heading = format!("{text} ({} found)", found.unwrap_or_default());
        row(&heading, &|of| {
            let (count, time) = of.queries[index];
            // A different number of matches means different work.
            let wrong = if Some(count) == found { "" } else { " (finds others)" };
            format!("{}{wrong}", format_time(time))
        });
    }
    println!();
}
