//! Tasks with tags in another database: loads them, runs the queries, and prints the measurements,
//! one per line. Usage: `tasks-elsewhere PEER TASKS LOCATION`.

mod on_postgres;
mod on_redis;
mod on_sqlite;
mod on_tantivy;
#[path = "../../../src/bin/matching/tasks.rs"]
mod tasks;

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use tasks::{QUERIES, TagQuery};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;

/// A database that holds tasks.
pub(crate) trait Peer {
    /// Loads tasks, durably where possible, with all indexes.
    fn load(&mut self, tasks: u32) -> Outcome<()>;

    /// Runs a query; returns the number of tasks on the page, or of all matches.
    fn run(&mut self, query: &TagQuery) -> Outcome<u64>;

    /// Returns the bytes on disk, or in memory if they are only there.
    fn bytes(&mut self) -> Outcome<u64>;
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, tasks, location] = arguments.as_slice() else {
        return Err("Usage: tasks-elsewhere PEER TASKS LOCATION".into());
    };
    let tasks: u32 = tasks.parse()?;
    let mut peer: Box<dyn Peer> = match name.as_str() {
        "postgres-jsonb" => Box::new(on_postgres::Documents::open(location)?),
        "postgres-join" => Box::new(on_postgres::Joined::open(location)?),
        "redis" => Box::new(on_redis::Redis::open(location)?),
        "sqlite" => Box::new(on_sqlite::Sqlite::open(Path::new(location))?),
        "tantivy" => Box::new(on_tantivy::Tantivy::open(Path::new(location))?),
        other => return Err(format!("Unknown peer {other}.").into()),
    };
    let began = Instant::now();
    peer.load(tasks)?;
    println!("load {}", began.elapsed().as_micros());
    println!("bytes {}", peer.bytes()?);
    for query in &QUERIES {
        eprintln!("{}", query.text);
        let found = peer.run(query)?;
        let mut times = vec![];
        let began = Instant::now();
        // As many runs as fit into some seconds, but enough for a median.
        while times.len() < 5 || (times.len() < 101 && began.elapsed() < Duration::from_secs(3)) {
            let start = Instant::now();
            std::hint::black_box(peer.run(query)?);
            times.push(start.elapsed());
        }
        times.sort();
        println!("question {found} {}", times[times.len() / 2].as_nanos());
    }
    Ok(())
}
