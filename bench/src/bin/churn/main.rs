//! Disk use under steady creates and deletes, and write latencies during backups and compaction.
//!
//! ```sh
//! cargo run --release -p keyloom-bench --bin churn        # 27 minutes; `-- --quick` for three
//! ```
//!
//! Every five minutes the number of comments rises to 100,000, stays there while the oldest are
//! replaced, and falls to zero. Then the same writers write to a larger store, alone, and during a
//! backup and a compaction; `-- --latencies` measures only this.

#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a command-line tool prints to the terminal, and exits if a measurement fails"
)]

mod latencies;

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use keyloom::Db;
use keyloom_store::{Engine, Options};
use latencies::Latencies;
use pollster::block_on;
use serde::Serialize;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const MODEL: &str = r#"
[entity.comment]
fields.product = "text"
fields.rating  = "int 1..5"
fields.created = "time = now"
fields.body    = "text"
list.by_product = { by = "product", order = "-created", facets = ["rating"] }
"#;
const BODY_BYTES: usize = 900;
const WRITERS: u64 = 16;
/// Writes per second, of all writers together.
const RATE: u64 = 2_000;
/// Corresponds to `--retention-size`.
const LOG_BYTES: u64 = 256 << 20;
const MIB: f64 = 1_048_576.0;

/// How much to do.
struct Settings {
    length: Duration,
    /// From no comments to no comments.
    period: Duration,
    comments: u64,
    /// Between two lines of the table.
    line_every: Duration,
    /// Comments in the store that is compacted under load.
    loaded: u64,
}

impl Settings {
    fn full() -> Settings {
        Settings {
            length: Duration::from_secs(25 * 60),
            period: Duration::from_secs(5 * 60),
            comments: 100_000,
            line_every: Duration::from_secs(60),
            loaded: 300_000,
        }
    }

    fn quick() -> Settings {
        Settings {
            length: Duration::from_secs(2 * 60),
            period: Duration::from_secs(60),
            comments: 20_000,
            line_every: Duration::from_secs(10),
            loaded: 30_000,
        }
    }
}

#[derive(Serialize)]
struct Comment {
    product: String,
    rating: u64,
    body: String,
}

/// A database in a folder, which is removed on drop.
struct Kept {
    db: Db,
    engine: Arc<Engine>,
    directory: PathBuf,
    next: AtomicU64,
}

fn main() {
    let is_quick = std::env::args().any(|argument| argument == "--quick");
    let settings = if is_quick { Settings::quick() } else { Settings::full() };
    if !std::env::args().any(|argument| argument == "--latencies") {
        churn(&settings);
    }
    latencies_beside_others(settings.loaded);
}

impl Kept {
    fn open(name: &str, compact_from_bytes: u64) -> Kept {
        let directory = format!("target/bench-data/churn-{name}-{}", std::process::id());
        let directory = PathBuf::from(directory);
        let options =
            Options { keep_log_bytes: LOG_BYTES, compact_from_bytes, ..Options::default() };
        let engine = Arc::new(Engine::open(&directory, options).expect("an engine opens"));
        let db = block_on(Db::open(MODEL, engine.clone())).expect("the database opens");
        Kept { db, engine, directory, next: AtomicU64::new(0) }
    }

    fn create(&self) -> String {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let product = format!("p{}", number.wrapping_mul(0x9e37_79b9) % 1000);
        let body = "x".repeat(BODY_BYTES);
        let comment = Comment { product, rating: 1 + number % 5, body };
        let created = block_on(self.db.create("comment", &comment)).expect("it is created");
        created.id().to_owned()
    }

    fn delete(&self, id: &str) {
        block_on(self.db.delete("comment", id)).expect("it is deleted");
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Returns the bytes allocated on disk for the files of a folder.
fn disk_bytes(directory: &Path) -> u64 {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let bytes = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => disk_bytes(&entry.path()),
        Ok(metadata) => metadata.blocks() * 512,
        // Removed since it was listed.
        Err(_) => 0,
    });
    bytes.sum()
}

fn churn(settings: &Settings) {
    let kept = Kept::open("disk", Options::default().compact_from_bytes);
    let (stop, live) = (AtomicBool::new(false), AtomicU64::new(0));
    let began = Instant::now();
    println!(
        "| minute | comments | tree: file | tree: rows | log | on disk | compactions | writes | p50 | p99 | max |"
    );
    println!("|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    let latencies = Latencies::default();
    let mut most = 0;
    thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(|| write_in_waves(&kept, settings, (&stop, &live), &latencies));
        }
        let mut line = Instant::now();
        while began.elapsed() < settings.length {
            thread::sleep(Duration::from_millis(200));
            most = most.max(disk_bytes(&kept.directory));
            if line.elapsed() >= settings.line_every {
                line = Instant::now();
                print_line(&kept, began, live.load(Ordering::Relaxed), &latencies);
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    println!("\nMost on disk at any time: {:.0} MiB.\n", most as f64 / MIB);
}

fn print_line(kept: &Kept, began: Instant, live: u64, latencies: &Latencies) {
    let status = kept.engine.status().expect("a status");
    let [tree, rows, log, disk] =
        [status.tree_bytes, status.tree_live_bytes, status.log_bytes, disk_bytes(&kept.directory)]
            .map(|bytes| bytes as f64 / MIB);
    println!(
        "| {:.1} | {live} | {tree:.0} MiB | {rows:.0} MiB | {log:.0} MiB | {disk:.0} MiB | {} | {} |",
        began.elapsed().as_secs_f64() / 60.0,
        status.compactions,
        latencies.take(),
    );
}

/// Runs one writer: follows the target number of comments, replacing the oldest at the top.
fn write_in_waves(
    kept: &Kept,
    settings: &Settings,
    (stop, live): (&AtomicBool, &AtomicU64),
    latencies: &Latencies,
) {
    let began = Instant::now();
    let mut own = VecDeque::new();
    while !stop.load(Ordering::Relaxed) {
        let passed = began.elapsed().as_secs_f64() % settings.period.as_secs_f64();
        let is_high = passed < settings.period.as_secs_f64() / 2.0;
        let wanted = if is_high { settings.comments / WRITERS } else { 1 };
        let call = Instant::now();
        if (own.len() as u64) < wanted {
            own.push_back(kept.create());
            live.fetch_add(1, Ordering::Relaxed);
        } else if let Some(oldest) = own.pop_front() {
            kept.delete(&oldest);
            live.fetch_sub(1, Ordering::Relaxed);
        }
        latencies.add(call.elapsed());
        thread::sleep(
            (Duration::from_secs(1) / (RATE / WRITERS) as u32).saturating_sub(call.elapsed()),
        );
    }
}

/// What runs concurrently with the writers.
const PHASES: [&str; 3] = ["nothing else", "a backup", "a compaction"];

/// Writes at full speed to a store of which half was deleted, before and during a backup and a
/// compaction.
fn latencies_beside_others(loaded: u64) {
    let kept = Kept::open("latency", u64::MAX);
    load_and_delete_half(&kept, loaded);
    kept.engine.checkpoint().expect("the checkpoint succeeds");
    let backup = kept.directory.with_extension("backup");
    println!("| 16 writers, beside | calls | p50 | p99 | max |\n|---|---:|---:|---:|---:|");
    let (stop, phase) = (AtomicBool::new(false), AtomicUsize::new(0));
    let latencies: [Latencies; 3] = Default::default();
    let done = thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let (call, phase) = (Instant::now(), phase.load(Ordering::Relaxed));
                    kept.create();
                    latencies[phase].add(call.elapsed());
                }
            });
        }
        let timed = |number: usize, work: &mut dyn FnMut()| {
            phase.store(number, Ordering::Relaxed);
            let began = Instant::now();
            work();
            let (name, took) = (PHASES[number], began.elapsed().as_secs_f64());
            println!("| {name}, {took:.1} s | {} |", latencies[number].take());
        };
        let mut done = None;
        timed(0, &mut || thread::sleep(Duration::from_secs(20)));
        timed(1, &mut || {
            let made = kept.engine.backup(&backup, &mut |_| ControlFlow::Continue(()));
            made.expect("it is backed up");
        });
        timed(2, &mut || {
            let made = kept.engine.compact(&mut |_| ControlFlow::Continue(()));
            done = Some(made.expect("it is compacted"));
        });
        stop.store(true, Ordering::Relaxed);
        done
    });
    let _ = std::fs::remove_dir_all(&backup);
    if let Some(done) = done {
        let [before, after] = [done.before_bytes, done.after_bytes].map(|bytes| bytes as f64 / MIB);
        println!("\nThe tree: {before:.0} MiB before, {after:.0} MiB after.");
    }
}

fn load_and_delete_half(kept: &Kept, loaded: u64) {
    thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(|| {
                let ids: Vec<String> = (0..loaded / WRITERS).map(|_| kept.create()).collect();
                ids.iter().step_by(2).for_each(|id| kept.delete(id));
            });
        }
    });
}
