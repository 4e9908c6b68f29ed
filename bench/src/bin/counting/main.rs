//! The cost of counts, leaderboards and sequences for writes: many writers on one value compared with
//! many values, and imports of comments with and without them.
//!
//! ```sh
//! cargo run --release -p keyloom-bench --bin counting        # `-- --quick` for a tenth of it
//! ```

#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a command-line tool prints to the terminal, and exits if a measurement fails"
)]

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use keyloom::{Db, Entry, Existing, to_item};
use keyloom_store::{Engine, Options};
use pollster::block_on;
use serde::Serialize;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const COMMENT: &str = r#"
[entity.comment]
fields.product = "text"
fields.language = "text"
fields.rating = "int 1..5"
fields.created = "int"
fields.body = "text"
list.newest = { by = "product", order = "-created", facets = ["language", "rating"] }
"#;
const COUNT: &str = r#"
count.of_product = { by = "product", split = ["language", "rating"] }
"#;
const BOARD: &str = r#"
board.leaders = { of = "product", where = { rating = 5 } }
"#;
const SEQUENCE: &str = r#"
fields.number = "int"
sequence.number = ["product"]
"#;
const LANGUAGES: [&str; 4] = ["en", "fr", "it", "de"];
/// Makes a comment about 1 KB.
const BODY_BYTES: usize = 800;

#[derive(Serialize)]
struct Comment {
    product: String,
    language: &'static str,
    rating: u32,
    created: u32,
    body: String,
}

fn main() {
    let is_quick = std::env::args().any(|argument| argument == "--quick");
    let tenth = if is_quick { 10 } else { 1 };
    println!("Creates on a board, writers at once:\n");
    println!("| writers | on many values | on one value | of many |");
    println!("|---:|---:|---:|---:|");
    for writers in [16, 40, 100, 400] {
        let creates = 40_000 / tenth;
        let model = [COMMENT, COUNT, BOARD].concat();
        let many = created_a_second(&model, (writers, creates), many_products);
        let one = created_a_second(&model, (writers, creates), |_| "p".to_owned());
        println!("| {writers} | {many:.0}/s | {one:.0}/s | {:.2} |", one / many);
    }
    println!("\nCreates with a sequence for each product, writers at once:\n");
    println!("| writers | no sequence | many sequences | one sequence | of none |");
    println!("|---:|---:|---:|---:|---:|");
    for writers in [1, 16, 100, 400] {
        let (creates, model) = (if writers == 1 { 4_000 } else { 40_000 } / tenth, COMMENT);
        let none = created_a_second(model, (writers, creates), many_products);
        let model = [COMMENT, SEQUENCE].concat();
        let many = created_a_second(&model, (writers, creates), many_products);
        let one = created_a_second(&model, (writers, creates), |_| "p".to_owned());
        let of_none = one / none;
        println!("| {writers} | {none:.0}/s | {many:.0}/s | {one:.0}/s | {of_none:.2} |");
    }
    println!("\nComments of 1 KB taken in:\n\n| with | comments/s | slower | bytes in the tree |");
    println!("|---|---:|---:|---:|");
    let mut first = None;
    for (name, parts) in [
        ("facets", vec![COMMENT]),
        ("facets and counts", vec![COMMENT, COUNT]),
        ("facets, counts and a board", vec![COMMENT, COUNT, BOARD]),
    ] {
        let (rate, bytes) = imported_a_second(&parts.concat(), 200_000 / tenth);
        let slower = *first.get_or_insert(rate) / rate;
        println!("| {name} | {rate:.0} | {slower:.2} × | {bytes:.0} |");
    }
}

/// A database in a folder, which is removed on drop.
struct Kept {
    db: Db,
    engine: Arc<Engine>,
    directory: PathBuf,
}

impl Kept {
    fn open(model: &str) -> Kept {
        let directory = format!("keyloom-counting-{}", std::process::id());
        let directory = std::env::temp_dir().join(directory);
        let _ = std::fs::remove_dir_all(&directory);
        let engine = Engine::open(&directory, Options::default()).expect("an engine opens");
        let engine = Arc::new(engine);
        let db = block_on(Db::open(model, engine.clone())).expect("the database opens");
        Kept { db, engine, directory }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn many_products(number: u32) -> String {
    format!("p{}", number % 1000)
}

/// Creates entities with the highest rating, one at a time per thread; returns the rate.
fn created_a_second(
    model: &str,
    (writers, creates): (u32, u32),
    product: impl Fn(u32) -> String + Sync,
) -> f64 {
    let kept = Kept::open(model);
    let next = AtomicU32::new(0);
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..writers {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= creates {
                        break;
                    }
                    let comment = Comment { rating: 5, ..comment(number, product(number)) };
                    block_on(kept.db.create("comment", &comment)).expect("it is created");
                }
            });
        }
    });
    f64::from(creates) / began.elapsed().as_secs_f64()
}

/// Imports comments; returns the rate, and the bytes of the tree per comment.
fn imported_a_second(model: &str, comments: u32) -> (f64, f64) {
    let kept = Kept::open(model);
    let next = AtomicU32::new(0);
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let first = next.fetch_add(100, Ordering::Relaxed);
                    let entries: Vec<Entry> =
                        (first..comments.min(first + 100)).map(entry).collect();
                    if entries.is_empty() {
                        break;
                    }
                    import(&kept.db, entries);
                }
            });
        }
    });
    let rate = f64::from(comments) / began.elapsed().as_secs_f64();
    kept.engine.checkpoint().expect("the checkpoint succeeds");
    let tree = std::fs::metadata(kept.directory.join("tree.redb")).expect("there is a tree");
    // The file is extended ahead of time; blocks never written take no space.
    (rate, (tree.blocks() * 512) as f64 / f64::from(comments))
}

/// Imports entries in as few transactions as possible.
fn import(db: &Db, entries: Vec<Entry>) {
    match block_on(db.import(entries.clone(), Existing::Keep)) {
        Ok(_) => {}
        Err(keyloom::Error::TooLarge { .. }) if entries.len() > 1 => {
            let (left, right) = entries.split_at(entries.len() / 2);
            import(db, left.to_vec());
            import(db, right.to_vec());
        }
        Err(error) => panic!("{error}"),
    }
}

fn comment(number: u32, product: String) -> Comment {
    let language = LANGUAGES[number as usize % LANGUAGES.len()];
    let body = "x".repeat(BODY_BYTES);
    Comment { product, language, rating: 1 + number * 7 % 5, created: number, body }
}

fn entry(number: u32) -> Entry {
    let fields = to_item(&comment(number, format!("p{}", number % 1000))).expect("a document");
    Entry { entity: "comment".to_owned(), tenant: None, id: format!("{number:026}"), fields }
}
