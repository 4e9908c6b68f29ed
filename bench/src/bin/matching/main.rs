//! Tags at ten million: how fast tasks are found by three tags, and what tags cost who writes.
//!
//! ```sh
//! cargo run --release -p keyloom-bench --bin matching            # `-- --quick` for a tenth of it
//! ```
//!
//! The lists are those of the worst case of document 000: of ten million tasks one million, nine
//! million and two million have a tag, and three have all, the last ones. Of most tasks only the
//! places in lists are made: pages read no others.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a command-line tool talks to its user on the terminal, and a measurement that cannot be made ends it"
)]

mod filled;
mod written;

use std::time::{Duration, Instant};

use filled::Filled;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let is_quick = std::env::args().any(|argument| argument == "--quick");
    let tasks: u32 = if is_quick { 1_000_000 } else { 10_000_000 };
    let began = Instant::now();
    let filled = Filled::new(tasks);
    println!("{tasks} tasks were put into lists in {:.1} s.\n", began.elapsed().as_secs_f64());
    println!("| question | found | median |\n|---|---:|---:|");
    for (name, question) in filled::QUESTIONS {
        let found = question(&filled);
        println!("| {name} | {found} | {} |", shown(median(|| question(&filled))));
    }
    let bytes = filled.tree_bytes();
    println!("\nThe lists take {bytes} bytes, {:.2} a task.\n", bytes as f64 / f64::from(tasks));
    written::report(if is_quick { 200 } else { 2_000 });
}

/// The median of some runs.
fn median<T>(mut run: impl FnMut() -> T) -> Duration {
    let mut times: Vec<Duration> = (0..21)
        .map(|_| {
            let began = Instant::now();
            std::hint::black_box(run());
            began.elapsed()
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}

fn shown(time: Duration) -> String {
    match time.as_micros() {
        micros @ 0..10_000 => format!("{micros} µs"),
        micros => format!("{:.1} ms", micros as f64 / 1000.0),
    }
}
