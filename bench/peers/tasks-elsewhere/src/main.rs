//! Tasks with tags in a database that is not Keyloom: loads them, asks the questions, and prints
//! what it took, one figure a line. `tasks-elsewhere PEER TASKS PLACE`.

mod on_postgres;
mod on_redis;
mod on_sqlite;
mod on_tantivy;
#[path = "../../../src/bin/matching/tasks.rs"]
mod tasks;

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use tasks::{QUESTIONS, Question};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;

/// A database that holds tasks.
pub(crate) trait Peer {
    /// Takes tasks in, and brings them to where they stay, with whatever makes questions fast.
    fn load(&mut self, tasks: u32) -> Outcome<()>;

    /// How many tasks it found: those of a page, with all that they have, or all.
    fn ask(&mut self, question: &Question) -> Outcome<u64>;

    /// On the disk; in memory, if it has them nowhere else.
    fn bytes(&mut self) -> Outcome<u64>;
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, tasks, place] = arguments.as_slice() else {
        return Err("Usage: tasks-elsewhere PEER TASKS PLACE".into());
    };
    let tasks: u32 = tasks.parse()?;
    let mut peer: Box<dyn Peer> = match name.as_str() {
        "postgres-jsonb" => Box::new(on_postgres::Documents::open(place)?),
        "postgres-join" => Box::new(on_postgres::Joined::open(place)?),
        "redis" => Box::new(on_redis::Redis::open(place)?),
        "sqlite" => Box::new(on_sqlite::Sqlite::open(Path::new(place))?),
        "tantivy" => Box::new(on_tantivy::Tantivy::open(Path::new(place))?),
        other => return Err(format!("There is no peer {other}.").into()),
    };
    let began = Instant::now();
    peer.load(tasks)?;
    println!("load {}", began.elapsed().as_micros());
    println!("bytes {}", peer.bytes()?);
    for question in &QUESTIONS {
        eprintln!("{}", question.text);
        let found = peer.ask(question)?;
        let mut times = vec![];
        let began = Instant::now();
        // As many runs as fit into some seconds, but enough for a median.
        while times.len() < 5 || (times.len() < 101 && began.elapsed() < Duration::from_secs(3)) {
            let asked = Instant::now();
            std::hint::black_box(peer.ask(question)?);
            times.push(asked.elapsed());
        }
        times.sort();
        println!("question {found} {}", times[times.len() / 2].as_nanos());
    }
    Ok(())
}
