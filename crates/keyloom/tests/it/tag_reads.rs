//! The cost of finding tasks by several tags, compared with a published algorithm for DynamoDB:
//! lists of 50, 80 and 20 tasks, of which three are in all. The algorithm reads 60 + 3 rows if the
//! three are on the first page of each list, 150 + 3 if they are at the end, and 3 + 3 with a
//! composite tag. On every store, wherever the three are.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use keyloom::explain::StoreRead;
use keyloom::{Db, MatchingUse, Options};
use keyloom_store::{Answer, BatchGet, BatchGot, Page, Query, Store};
use keyloom_testkit::{Front, InFront, ManualClock, Random, SimDisk};
use pollster::block_on;
use serde_json::json;

use crate::rig::{engine, fold, memory_store_at};

const SINGLE: &str = r#"
[entity.task]
fields.tags = "tags = {}"
list.all = {}
"#;
const COMBINED: &str = r#"
[entity.task]
fields.tags = "tags = {}"
tags.tags.combine = [["project", "priority", "severity"]]
list.all = {}
"#;

/// Which of the three tags a task has.
type Tags = [bool; 3];

/// 47, 77 and 17 tasks with one tag, 3 with all.
fn tasks() -> Vec<Tags> {
    let one = |place: usize, count: usize| {
        let tags: Tags = std::array::from_fn(|other| other == place);
        std::iter::repeat_n(tags, count)
    };
    one(0, 47).chain(one(1, 77)).chain(one(2, 17)).chain([[true; 3]; 3]).collect()
}

/// Where the three are: at the end, at the start, and anywhere.
fn arrangements() -> Vec<Vec<Tags>> {
    let last = tasks();
    let first = last.iter().rev().copied().collect();
    let mut all = vec![last, first];
    for seed in 0..8 {
        let mut random = Random::new(seed);
        let mut shuffled = tasks();
        for place in (1..shuffled.len()).rev() {
            shuffled.swap(place, random.index(place + 1));
        }
        all.push(shuffled);
    }
    all
}

/// What the published algorithm reads: each list page by page, up to the page with the last of the
/// three.
fn article(tasks: &[Tags]) -> u64 {
    let pages = |tag: usize| {
        let list: Vec<&Tags> = tasks.iter().filter(|tags| tags[tag]).collect();
        let last = list.iter().rposition(|tags| **tags == [true; 3]).expect("three are in all");
        (last + 1).next_multiple_of(20).min(list.len()) as u64
    };
    (0..3).map(pages).sum()
}

/// Counts the rows that are read.
struct Counting {
    store: Arc<dyn Store>,
    rows: AtomicU64,
}

impl Front for Counting {
    fn behind(&self) -> &dyn Store {
        &*self.store
    }

    fn query(&self, query: Query) -> Answer<'_, Page> {
        Box::pin(async move {
            let page = self.store.query(query).await?;
            self.rows.fetch_add(page.scanned, Ordering::Relaxed);
            Ok(page)
        })
    }

    fn batch_get(&self, batch: BatchGet) -> Answer<'_, BatchGot> {
        self.rows.fetch_add(batch.gets.len() as u64, Ordering::Relaxed);
        self.store.batch_get(batch)
    }
}

/// The reads of finding the tasks with all three tags.
struct Cost {
    reads: Vec<StoreRead>,
    /// The rows that explaining it read.
    explaining: u64,
}

impl Cost {
    fn rows(&self, calls: &[&str]) -> u64 {
        let reads = self.reads.iter().filter(|read| calls.contains(&read.call));
        reads.map(|read| read.rows).sum()
    }
}

fn cost(store: Arc<dyn Store>, matching: MatchingUse, (model, tasks): (&str, &[Tags])) -> Cost {
    let counting = Arc::new(InFront(Counting { store, rows: AtomicU64::new(0) }));
    let clock = ManualClock::new();
    let options = Options { matching, clock: Arc::new(clock.clone()), ..Options::default() };
    let db = block_on(Db::open_with(model, counting.clone(), options)).unwrap();
    for tags in tasks {
        let mut task = json!({ "tags": {} });
        for (key, has) in ["project", "priority", "severity"].iter().zip(tags) {
            if *has {
                task["tags"][*key] = json!("x");
            }
        }
        block_on(db.create("task", &task)).unwrap();
    }
    fold(&db, &clock);
    let (watched, explained) = db.explained();
    counting.0.rows.store(0, Ordering::Relaxed);
    let query = watched.list("task", "all").tag("project", "x").tag("priority", "x");
    let page = block_on(query.tag("severity", "x").limit(20).read()).unwrap();
    assert_eq!((page.items.len(), page.next), (3, None));
    let figures = explained.explanations()[0].one_by_one.unwrap();
    assert_eq!((figures.tags.best, figures.tags.worst, figures.entities), (60, 150, 3));
    let planned = if model == COMBINED { (3, 3) } else { (60, 150) };
    assert_eq!((figures.planned.best, figures.planned.worst), planned);
    let reads = explained.reads();
    let read: u64 = reads
        .iter()
        .filter(|read| ["query", "batch get"].contains(&read.call))
        .map(|read| read.rows)
        .sum();
    let explaining = counting.0.rows.load(Ordering::Relaxed) - read;
    Cost { reads, explaining }
}

fn memory() -> Arc<dyn Store> {
    Arc::new(memory_store_at(&ManualClock::new()))
}

fn disk() -> Arc<dyn Store> {
    Arc::new(engine(&SimDisk::new(0)))
}

/// For the deltas in four partitions, which are read at once; then for directories, chunks, rows of
/// ordinals, and tasks.
const REQUESTS: usize = 4 + 4;

/// Where posting lists are chunks in rows, as on DynamoDB, everything that is read is a row: the
/// directory and a chunk of each list, then the rows of the ordinals and of the tasks.
#[test]
fn with_chunks_no_more_rows_are_read_than_by_the_published_algorithm() {
    let all = arrangements();
    assert_eq!((article(&all[0]), article(&all[1])), (150, 60), "at worst, and at best");
    for make in [memory, disk] {
        for tasks in &all {
            for (model, lists) in [(SINGLE, 3), (COMBINED, 1)] {
                let cost = cost(make(), MatchingUse::Rows, (model, tasks));
                // The list of all tasks is one more directory, and nothing is left in deltas.
                let (queried, got) = (cost.rows(&["query"]), cost.rows(&["batch get"]));
                assert_eq!((queried, got), (0, 1 + 2 * lists + 2 * 3), "{:#?}", cost.reads);
                assert_eq!(cost.reads.len(), REQUESTS, "{:#?}", cost.reads);
                assert!(queried + got <= article(tasks) + 3);
                assert!(cost.explaining <= 10, "{} to explain", cost.explaining);
            }
        }
    }
}

/// Where posting lists are sets, a part of each is read, and then the rows that map ordinals to
/// tasks.
#[test]
fn with_sets_no_more_rows_are_read_than_by_the_published_algorithm() {
    for make in [memory, disk] {
        for tasks in arrangements().into_iter().take(4) {
            let single = cost(make(), MatchingUse::Sets, (SINGLE, &tasks));
            let combined = cost(make(), MatchingUse::Sets, (COMBINED, &tasks));
            for (cost, parts, sizes) in [(&single, 3, 4), (&combined, 1, 2)] {
                let (index, entities) = (cost.rows(&["query"]), cost.rows(&["batch get"]));
                assert!(index <= 3 * 9 && entities == 3, "{index} + {entities}");
                assert_eq!((cost.rows(&["read set"]), cost.rows(&["set sizes"])), (parts, sizes));
                assert_eq!(cost.explaining, 0, "sizes of sets are known");
            }
        }
    }
}

/// A database of tasks with tags, on a store without sets, in which nothing is left in deltas.
fn folded(tasks: impl Iterator<Item = Tags>) -> Db {
    let clock = ManualClock::new();
    let (matching, clock_of_db) = (MatchingUse::Rows, Arc::new(clock.clone()));
    let options = Options { matching, clock: clock_of_db, ..Options::default() };
    let db = block_on(Db::open_with(SINGLE, memory(), options)).unwrap();
    for tags in tasks {
        let mut task = json!({ "tags": {} });
        for (key, has) in ["project", "priority", "severity"].iter().zip(tags) {
            if has {
                task["tags"][*key] = json!("x");
            }
        }
        block_on(db.create("task", &task)).unwrap();
    }
    fold(&db, &clock);
    db
}

/// One page of a common tag reads the rows of one page, and three more.
#[test]
fn a_page_of_one_tag_reads_about_a_page() {
    let db = folded((0..100).map(|_| [true, false, false]));
    let (watched, explained) = db.explained();
    let page = block_on(watched.list("task", "all").tag("project", "x").limit(20).read()).unwrap();
    assert_eq!(page.items.len(), 20);
    let rows: u64 = explained.reads().iter().map(|read| read.rows).sum();
    assert_eq!(rows, 3 + 20 + 20, "{:#?}", explained.reads());
}

/// The worst case: common tags whose tasks alternate, and a rare one.
#[test]
fn a_rare_tag_bounds_the_reads_of_common_ones() {
    for rare_at in [0, 200, 399] {
        let tags = |number: usize| -> Tags {
            let is_rare = number == rare_at || number % 100 == 50;
            [number.is_multiple_of(2), !number.is_multiple_of(2) || is_rare, is_rare]
        };
        let db = folded((0..400).map(tags));
        let expected = (0..400).filter(|number| tags(*number) == [true; 3]).count();
        let (watched, explained) = db.explained();
        let query = watched.list("task", "all").tag("project", "x").tag("priority", "x");
        let page = block_on(query.tag("severity", "x").limit(20).read()).unwrap();
        assert_eq!(page.items.len(), expected);
        let reads = explained.reads();
        let rows: u64 = reads.iter().map(|read| read.rows).sum();
        assert_eq!((rows, reads.len()), (4 + 3 + 2 * expected as u64, REQUESTS), "{reads:#?}");
    }
}
