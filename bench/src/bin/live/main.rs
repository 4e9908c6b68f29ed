//! Live queries: how long a change takes from the writer to everybody who follows it.
//!
//! ```sh
//! cargo run --release -p keyloom-bench --bin live              # `-- --quick` for a short run
//! cargo run --release -p keyloom-bench --bin live -- --clients 500 --queries 50 --writes 200 --pocketbase
//! ```
//!
//! Builds `keyloom` and serves tasks with it on this machine, and with `--pocketbase` afterwards with PocketBase. Clients follow the lists of owners, each
//! list the same number of clients; writers change tasks at a fixed rate, each write durable when it is
//! acknowledged. The time of a change begins before its request is sent.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::expect_used,
    reason = "a command-line tool prints to the terminal, and exits if a measurement fails"
)]

mod follow;
mod served;
mod service;
mod write;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use follow::Followers;
use keyloom_bench::build_keyloom;
use served::Served;
use service::Service;
use write::Writers;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    /// How many different queries are followed: each is the list of one owner.
    pub(crate) queries: usize,
    pub(crate) clients: usize,
    /// Writes per second.
    pub(crate) writes: usize,
    pub(crate) time: Duration,
}

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_quick = arguments.iter().any(|argument| argument == "--quick");
    let number = |name: &str, full: usize, quick: usize| {
        let mut rest = arguments.iter().skip_while(|argument| *argument != name);
        let given = rest.nth(1).and_then(|value| value.parse().ok());
        given.unwrap_or(if is_quick { quick } else { full })
    };
    let setting = Setting {
        queries: number("--queries", 1_000, 50),
        clients: number("--clients", 10_000, 500),
        writes: number("--writes", 5_000, 1_000),
        time: Duration::from_secs(number("--seconds", 20, 3) as u64),
    };
    build_keyloom()?;
    let mut services = vec![Service::Keyloom];
    if arguments.iter().any(|argument| argument == "--pocketbase") {
        services.push(Service::PocketBase);
    }
    for service in services {
        measure(service, setting)?;
    }
    Ok(())
}

fn measure(service: Service, setting: Setting) -> Result<(), String> {
    let served = Served::start(service, setting)?;
    eprintln!("{}: {} tasks are written", service.name(), served.tasks());
    let before = served.memory_bytes();
    let start = Instant::now();
    let followers = Followers::open(&served, setting, start)?;
    let each = served.memory_bytes().saturating_sub(before) / setting.clients as u64;
    eprintln!("{} clients follow {} queries", setting.clients, setting.queries);
    let written = Writers::start(&served, setting, start).join();
    let received = followers.join();
    println!("\n| {} | |", service.name());
    report(setting, each, &written, &received);
    Ok(())
}

fn report(setting: Setting, bytes_each: u64, written: &[Done], received: &[Done]) {
    println!("|---|---:|");
    println!("| clients | {} |", setting.clients);
    println!("| different queries | {} |", setting.queries);
    println!("| memory of the server per client | {:.1} kB |", bytes_each as f64 / 1000.0);
    let rate = |count: usize| count as f64 / setting.time.as_secs_f64();
    println!("| durable writes per second | {:.0} |", rate(written.len()));
    println!("| changes received per second | {:.0} |", rate(received.len()));
    let acknowledged: HashMap<u64, u64> = written.iter().map(|done| (done.sent, done.at)).collect();
    let since_sent = |done: &Done| done.at - done.sent;
    // A client can have a change before the writer has the response.
    let since_acknowledged =
        |done: &Done| Some(done.at.saturating_sub(*acknowledged.get(&done.sent)?));
    let times: [(&str, Vec<u64>); 3] = [
        ("until a write is acknowledged", written.iter().map(since_sent).collect()),
        ("until a client has the change", received.iter().map(since_sent).collect()),
        ("from acknowledgment to client", received.iter().filter_map(since_acknowledged).collect()),
    ];
    for (what, times) in times {
        let [p50, p99, max] = percentiles(times);
        println!("| {what}: p50, p99, max | {p50:.1}, {p99:.1}, {max:.1} ms |");
    }
}

/// Milliseconds, from times in microseconds.
fn percentiles(mut times: Vec<u64>) -> [f64; 3] {
    times.sort_unstable();
    let at = |part: usize| {
        let index = times.len().saturating_sub(1) * part / 100;
        times.get(index).map_or(f64::NAN, |time| *time as f64 / 1000.0)
    };
    [at(50), at(99), at(100)]
}

/// Microseconds since the start, for documents.
pub(crate) fn micros(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX)
}

/// A change that was acknowledged or received, in microseconds since the start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    /// When it was sent: identifies it.
    pub(crate) sent: u64,
    pub(crate) at: u64,
}
