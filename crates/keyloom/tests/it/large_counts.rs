//! Counts and boards during a large deletion that takes from more counters than one read returns,
//! and from counters whose keys have the maximum length: at every moment they are as before or as
//! after the deletion.

use std::sync::Arc;

use keyloom::{Db, Error};
use keyloom_store::Store;
use keyloom_testkit::SimDisk;
use keyloom_testkit::pausing::{go_on, interleave, pausing};
use pollster::block_on;
use serde_json::json;

use crate::rig::{assert_clean, engine, open};

const MODEL: &str = r#"
[entity.folder]
id = "given"

[entity.file]
id = "given"
parent = "folder"
on_parent_delete = "cascade"
fields.author = "text"
fields.reader = "ref folder clear?"
count.files = { split = ["author"], shards = 2 }
board.authors = { of = "author" }
"#;

/// The number of authors with files: more than a page of rows, even after a part was removed, and
/// more scores than are held in memory.
const AUTHORS: usize = 1_400;
/// The same if `PROPTEST_CASES` asks for more than the default.
const AUTHORS_AT_FULL_SIZE: usize = 140_000;
/// The number of steps of the deletion between two reads of the counts.
const STEPS: usize = 149;
/// The same at full size: some 40 reads, each of which takes seconds.
const STEPS_AT_FULL_SIZE: usize = 1_000_000;

fn is_full_size() -> bool {
    std::env::var_os("PROPTEST_CASES").is_some()
}

fn authors() -> usize {
    if is_full_size() { AUTHORS_AT_FULL_SIZE } else { AUTHORS }
}

/// Two views of one database: one pauses before every step, the other does not.
struct Pair {
    slow: Db,
    quick: Db,
}

fn database() -> Pair {
    let store: Arc<dyn Store> = Arc::new(engine(&SimDisk::new(0)));
    let quick = block_on(open(MODEL, store.clone()));
    for folder in ["gone", "kept"] {
        block_on(quick.create("folder", &json!({"id": folder}))).unwrap();
    }
    let slow = interleave(open(MODEL, pausing(store)), |_| {});
    Pair { slow, quick }
}

/// Every author has a file that is deleted; every third one has more that stay.
fn crowd() -> Pair {
    let pair = database();
    for number in 0..authors() {
        let author = format!("a{number:04}");
        for copy in 0..=(number % 3) {
            let folder = if copy == 0 { "gone" } else { "kept" };
            let id = format!("{number}.{copy}");
            let file = json!({"id": id, "folder": folder, "author": author});
            block_on(pair.quick.create("file", &file)).unwrap();
        }
    }
    pair
}

/// A full page of the count, which takes several reads.
async fn counts(db: &Db) -> String {
    let query = db.count("file", "files").split("author").limit(1_000);
    format!("{:?}", query.read().await.expect("it is counted").items)
}

/// A part of the board, and the ranks of some authors.
async fn board(db: &Db) -> String {
    let first = db.board("authors").limit(40).read().await.expect("it is read");
    let mut all = format!("{:?}", first.items);
    for author in ["a0000", "a0001", "a0500", "a1099"] {
        all += &format!("{:?}", db.board("authors").rank(author).await.expect("it is read"));
        let around = db.board("authors").limit(3).around(author).await.expect("it is read");
        all += &format!("{around:?}");
    }
    all
}

#[test]
fn counts_of_several_reads_show_a_large_deletion_completely_or_not_at_all() {
    let pair = crowd();
    let before = (block_on(board(&pair.quick)), block_on(counts(&pair.quick)));
    let steps = if is_full_size() { STEPS_AT_FULL_SIZE } else { STEPS };
    let mut looks = vec![];
    {
        let mut deletion = std::pin::pin!(pair.slow.delete("folder", "gone"));
        let mut step = 0_usize;
        'deletion: loop {
            for _ in 0..steps {
                if go_on(deletion.as_mut()).is_some() {
                    break 'deletion;
                }
            }
            // The deletion continues between any two rows that are read for the counts.
            let mut reading = std::pin::pin!(counts(&pair.slow));
            let counts = loop {
                if let Some(counts) = go_on(reading.as_mut()) {
                    break counts;
                }
                step += 1;
                if go_on(deletion.as_mut()).is_some() {
                    break 'deletion;
                }
            };
            looks.push(step.is_multiple_of(2).then(|| block_on(board(&pair.quick))));
            looks.push(Some(counts));
        }
    }
    let after = (block_on(board(&pair.quick)), block_on(counts(&pair.quick)));
    assert!(before.0 != after.0 && before.1 != after.1);
    let known = [&before.0, &before.1, &after.0, &after.1];
    let wrong = looks.iter().flatten().filter(|found| !known.contains(found)).count();
    assert_eq!(wrong, 0, "of {} looks", looks.len());
    assert!(looks.contains(&Some(after.0)), "the board was read while it was swept");
    assert!(looks.contains(&Some(after.1)), "the counts were read while they were swept");
    assert_clean(&pair.quick);
}

/// What deletions take from a counter is stored under a key that contains the counter's key. It was
/// not stored at all if that key was too long.
#[test]
fn counters_with_the_longest_keys_show_a_large_deletion_completely_or_not_at_all() {
    let pair = database();
    let author = |bytes: usize| "x".repeat(bytes);
    let mut longest = 0;
    for bytes in 800..1_100 {
        let file = json!({"id": bytes.to_string(), "folder": "kept", "author": author(bytes)});
        match block_on(pair.quick.create("file", &file)) {
            Ok(_) => longest = bytes,
            Err(Error::KeyTooLong(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert!((900..1_000).contains(&longest), "{longest}");
    // Counters of entities with other ids may have longer keys.
    longest -= 4;
    for number in 0..40 {
        let id = format!("gone {number}");
        let file = json!({"id": id, "folder": "gone", "author": author(longest)});
        block_on(pair.quick.create("file", &file)).unwrap();
    }
    let authors = || {
        let authors = pair.quick.board("authors").limit(3);
        format!("{:?}", block_on(authors.read()).expect("it is read").items)
    };
    let count = || {
        let count = pair.quick.count("file", "files").only("author", author(longest));
        block_on(count.total()).expect("it is counted").to_string()
    };
    let (mut boards, mut counts) = (vec![authors()], vec![count()]);
    // Writes continue during the reads, so consecutive reads can differ.
    interleave(pair.slow.delete("folder", "gone"), |_| {
        boards.push(authors());
        counts.push(count());
    })
    .unwrap();
    assert_eq!((counts[0].as_str(), count().as_str()), ("41", "1"));
    for (looks, after) in [(boards, authors()), (counts, count())] {
        let first = looks.iter().position(|found| *found == after).expect("it was watched");
        assert!(first < looks.len() - 1, "the sweep was watched");
        assert!(looks[..first].iter().all(|found| *found == looks[0]), "before it happens");
        assert!(looks[first..].iter().all(|found| *found == after), "after it has happened");
    }
    assert_clean(&pair.quick);
}
