//! Tasks with tags, products, notes or sales in another database: loads them, runs the queries, and prints
//! the measurements, one per line. Usage: `tasks-elsewhere PEER COUNT LOCATION`.

#[path = "../../../src/bin/matching/notes.rs"]
mod notes;
mod notes_in_sql;
mod notes_in_tantivy;
mod on_postgres;
mod on_redis;
mod on_sqlite;
mod on_tantivy;
#[path = "../../../src/bin/matching/products.rs"]
mod products;
mod products_in_sql;
mod products_in_tantivy;
#[path = "../../../src/bin/matching/sales.rs"]
mod sales;
mod sales_in_sql;
#[path = "../../../src/bin/matching/tasks.rs"]
mod tasks;

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use notes::WordQuery;
use products::ProductQuery;
use sales::SaleQuery;
use tasks::TagQuery;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;

/// A database that answers queries of one kind.
pub(crate) trait Peer<Q> {
    /// Loads so many entities, durably where possible, with all indexes.
    fn load(&mut self, count: u32) -> Outcome<()>;

    /// Runs a query; returns the number of entities on the page, or of all matches.
    fn run(&mut self, query: &Q) -> Outcome<u64>;

    /// Returns the bytes on disk, or in memory if they are only there.
    fn bytes(&mut self) -> Outcome<u64>;
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, count, location] = arguments.as_slice() else {
        return Err("Usage: tasks-elsewhere PEER COUNT LOCATION".into());
    };
    let count: u32 = count.parse()?;
    let folder = Path::new(location);
    if let Some(name) = name.strip_prefix("products-") {
        let mut peer: Box<dyn Peer<ProductQuery>> = match name {
            "postgres" => Box::new(products_in_sql::Postgres::open(location)?),
            "sqlite" => Box::new(products_in_sql::Sqlite::open(folder)?),
            "tantivy" => Box::new(products_in_tantivy::Tantivy::open(folder)?),
            other => return Err(format!("Unknown peer {other}.").into()),
        };
        return measure(&mut *peer, count, &products::QUERIES, |query| query.text);
    }
    if let Some(name) = name.strip_prefix("notes-") {
        let mut peer: Box<dyn Peer<WordQuery>> = match name {
            "postgres" => Box::new(notes_in_sql::Postgres::open(location)?),
            "sqlite" => Box::new(notes_in_sql::Sqlite::open(folder)?),
            "tantivy" => Box::new(notes_in_tantivy::Tantivy::open(folder)?),
            other => return Err(format!("Unknown peer {other}.").into()),
        };
        return measure(&mut *peer, count, &notes::QUERIES, |query| query.text);
    }
    if let Some(name) = name.strip_prefix("sales-") {
        let mut peer: Box<dyn Peer<SaleQuery>> = match name {
            "postgres" => Box::new(sales_in_sql::Postgres::open(location)?),
            "sqlite" => Box::new(sales_in_sql::Sqlite::open(folder)?),
            other => return Err(format!("Unknown peer {other}.").into()),
        };
        return measure(&mut *peer, count, &sales::QUERIES, |query| query.text);
    }
    let mut peer: Box<dyn Peer<TagQuery>> = match name.as_str() {
        "postgres-jsonb" => Box::new(on_postgres::Documents::open(location)?),
        "postgres-join" => Box::new(on_postgres::Joined::open(location)?),
        "redis" => Box::new(on_redis::Redis::open(location)?),
        "sqlite" => Box::new(on_sqlite::Sqlite::open(folder)?),
        "tantivy" => Box::new(on_tantivy::Tantivy::open(folder)?),
        other => return Err(format!("Unknown peer {other}.").into()),
    };
    measure(&mut *peer, count, &tasks::QUERIES, |query| query.text)
}

fn measure<Q>(
    peer: &mut dyn Peer<Q>,
    count: u32,
    queries: &[Q],
    text: fn(&Q) -> &'static str,
) -> Outcome<()> {
    let began = Instant::now();
    peer.load(count)?;
    println!("load {}", began.elapsed().as_micros());
    println!("bytes {}", peer.bytes()?);
    for query in queries {
        eprintln!("{}", text(query));
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
