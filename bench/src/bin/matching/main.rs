//! Tags at ten million: how fast tasks are found by their tags, and what tags cost who writes,
//! beside other databases that hold the same tasks.
//!
//! ```sh
//! cargo run --release -p keyloom-bench --bin matching        # `-- --quick` for a tenth of it
//! cargo run --release -p keyloom-bench --bin matching -- --alone     # without the others
//! ```
//!
//! It builds what it measures, and installs PostgreSQL and Redis from Debian's packages if they are
//! not there. What cannot be started is named, and the rest is measured.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::expect_used,
    reason = "a command-line tool talks to its user on the terminal, and a measurement that cannot be made ends it"
)]

mod measured;
mod ours;
mod peers;
mod tasks;
mod written;

use measured::{Measured, memory_peak, shown};
use ours::Ours;
use tasks::QUESTIONS;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let has = |flag: &str| std::env::args().any(|argument| argument == flag);
    let tasks: u32 = if has("--quick") { 1_000_000 } else { 10_000_000 };
    grow(tasks);
    let mut measured = vec![("Keyloom", Ours::open().measure(tasks))];
    if let Some(memory) = memory_peak() {
        println!("Keyloom used {memory} MiB of memory at most.\n");
    }
    if !has("--alone") {
        for (name, measure) in peers::PEERS {
            eprintln!("{name}: {tasks} tasks are loaded");
            match measure(tasks) {
                Ok(outcome) => measured.push((name, outcome)),
                Err(why) => eprintln!("{name} could not be measured: {why}"),
            }
        }
    }
    compare(tasks, &measured);
    written::report(if has("--quick") { 200 } else { 2_000 });
}

/// The same questions as there are more and more tasks.
fn grow(tasks_max: u32) {
    println!("| tasks | {} |", QUESTIONS.map(|question| question.text).join(" | "));
    println!("|---:|{}", "---:|".repeat(QUESTIONS.len()));
    for tasks in [10_000, 100_000, 1_000_000].into_iter().filter(|tasks| *tasks < tasks_max) {
        let measured = Ours::open().measure(tasks);
        let times: Vec<String> = measured.questions.iter().map(|(_, time)| shown(*time)).collect();
        println!("| {tasks} | {} |", times.join(" | "));
    }
    println!();
}

fn compare(tasks: u32, measured: &[(&str, Measured)]) {
    println!("{tasks} tasks:\n");
    let names: Vec<&str> = measured.iter().map(|(name, _)| *name).collect();
    println!("| | {} |\n|---|{}", names.join(" | "), "---:|".repeat(names.len()));
    let row = |heading: &str, cell: &dyn Fn(&Measured) -> String| {
        let cells: Vec<String> = measured.iter().map(|(_, measured)| cell(measured)).collect();
        println!("| {heading} | {} |", cells.join(" | "));
    };
    row("loaded, tasks/s", &|of| format!("{:.0}", f64::from(tasks) / of.load.as_secs_f64()));
    row("bytes a task", &|of| format!("{:.0}", of.bytes as f64 / f64::from(tasks)));
    for (index, question) in QUESTIONS.iter().enumerate() {
        let found = measured.first().map(|(_, measured)| measured.questions[index].0);
        let heading = format!("{} ({} found)", question.text, found.unwrap_or_default());
        row(&heading, &|of| {
            let (count, time) = of.questions[index];
            // Who finds something else is not doing the same work.
            let wrong = if Some(count) == found { "" } else { " (finds others)" };
            format!("{}{wrong}", shown(time))
        });
    }
    println!();
}
