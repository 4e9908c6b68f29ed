//! Compares events and jobs with plain writes.
//!
//! ```sh
//! cargo run --release -p keyloom-bench --bin events          # `-- --quick` for a short run
//! ```
//!
//! Every write is durable when it returns. One writer corresponds to one worker: both wait for one
//! sync after the other.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a command-line tool prints to the terminal, and exits if a measurement fails"
)]

mod rig;

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use keyloom::Change;
use keyloom::events::{Effects, Event, Failure, Handlers, Job};
use keyloom_value::{Item, Value};
use pollster::block_on;

use rig::{Rig, create_all, per_second, work_off};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const WRITERS: usize = 16;

fn main() {
    let is_quick = std::env::args().any(|argument| argument == "--quick");
    let count = if is_quick { 2_000 } else { 20_000 };
    let pending = if is_quick { 10_000 } else { 100_000 };
    let plain = writes(count, 1);
    println!("plain writes, 1 writer         {plain:>9.0}/s");
    println!("plain writes, {WRITERS} writers       {:>9.0}/s", writes(count, WRITERS));
    let report = |what: &str, rate: f64| {
        println!("{what:<30} {rate:>9.0}/s   {:.2} of plain writes, 1 writer", rate / plain);
    };
    report("events, by the event alone", events(count, Handlers::new().event("copy", copied)));
    let reading = Handlers::new().event_with("copy", |event, _| async move { copied(&event) });
    report("events, handler may read", events(count, reading));
    report("jobs, 1 worker", jobs(count, 1));
    report("jobs, 4 workers", jobs(count, 4));
    lag(Duration::from_secs(if is_quick { 2 } else { 10 }));
    many_pending(pending);
}

/// The handler: copies a note.
fn copied(event: &Event) -> Result<Effects, Failure> {
    let copy = Item::from(
        [("id", event.id.as_str()), ("text", "copied")].map(|(n, v)| (n, Value::from(v))),
    );
    Ok(Effects::new().change(Change::create_item("copy", copy)))
}

fn writes(count: usize, writers: usize) -> f64 {
    let rig = Rig::open();
    per_second(count, || create_all(&rig.db, "copy", (count, writers)))
}

fn events(count: usize, handlers: Handlers) -> f64 {
    let rig = Rig::open();
    create_all(&rig.db, "note", (count, WRITERS));
    per_second(count, || work_off(&rig.db, &handlers))
}

fn marking() -> Handlers {
    Handlers::new()
        .event("copy", |_| Ok(Effects::new()))
        .job("mark", |_, _| async { Ok(Effects::new()) })
}

fn jobs(count: usize, workers: usize) -> f64 {
    let rig = Rig::open();
    schedule(&rig, count, Duration::ZERO);
    let handlers = marking();
    per_second(count, || {
        thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| work_off(&rig.db, &handlers));
            }
        });
    })
}

fn schedule(rig: &Rig, count: usize, after: Duration) {
    thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(|| {
                for _ in 0..count / WRITERS {
                    let job = Job::new("mark").after(after);
                    block_on(rig.db.schedule(job)).expect("it is scheduled");
                }
            });
        }
    });
}

/// Measures the delay between a change and its event, under load.
fn lag(time: Duration) {
    let rig = Rig::open();
    let lags: Arc<Mutex<Vec<u64>>> = Arc::default();
    let noted = lags.clone();
    let handlers = Handlers::new().event("copy", move |event| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let happened = u64::try_from(event.time_ms).unwrap_or_default();
        let lag = u64::try_from(since.as_millis()).unwrap_or_default().saturating_sub(happened);
        noted.lock().expect("no thread panicked").push(lag);
        Ok(Effects::new())
    });
    let end = Instant::now() + time;
    let written: usize = thread::scope(|scope| {
        let write = || {
            let mut count = 0;
            while Instant::now() < end {
                create_all(&rig.db, "note", (1, 1));
                count += 1;
            }
            count
        };
        let writers: Vec<_> = (0..WRITERS).map(|_| scope.spawn(write)).collect();
        while Instant::now() < end {
            work_off(&rig.db, &handlers);
        }
        writers.into_iter().map(|writer| writer.join().expect("no thread panicked")).sum()
    });
    work_off(&rig.db, &handlers);
    let mut lags = lags.lock().expect("no thread panicked");
    lags.sort_unstable();
    let at = |part: usize| lags.get(lags.len() * part / 100).copied().unwrap_or_default();
    let rate = written as f64 / time.as_secs_f64();
    println!("lag under {WRITERS} writers ({rate:.0}/s)   p50 {} ms, p99 {} ms", at(50), at(99));
}

/// Measures how pending jobs slow down due ones.
fn many_pending(count: usize) {
    let rig = Rig::open();
    let handlers = marking();
    let one = |rig: &Rig| {
        let start = Instant::now();
        for _ in 0..100 {
            block_on(rig.db.schedule(Job::new("mark"))).expect("it is scheduled");
            work_off(&rig.db, &handlers);
        }
        start.elapsed() / 100
    };
    let alone = one(&rig);
    let rate = per_second(count, || schedule(&rig, count, Duration::from_secs(86_400)));
    println!("jobs scheduled, {WRITERS} callers     {rate:>9.0}/s");
    let among = one(&rig);
    println!("a job from beginning to end    {alone:>9.1?}   among {count} pending {among:.1?}");
}
