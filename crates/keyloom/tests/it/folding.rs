//! Deltas of posting lists are folded while entities change, by several processes at once, and reads
//! run at any moment: each read sees the lists as of one moment, and nothing is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::Arc;

use keyloom::{Db, Error, Filter, MatchingUse, Options, Repair, Total};
use keyloom_model::attribute::PARTITION;
use keyloom_store::{Answer, BatchGet, BatchGot, Delete, Put, Scan, Store, TableName};
use keyloom_testkit::pausing::{go_on, pausing};
use keyloom_testkit::{Front, InFront, ManualClock, Random};
use keyloom_value::{Item, KeyBytes, Value};
use pollster::block_on;
use serde_json::json;

use crate::rig::{engine_at, findings, fold, memory_store_at};

const MODEL: &str = r#"
[entity.task]
fields.tags = "tags = {}"
list.all = {}
"#;

const TASKS: usize = 6;
const COLORS: [&str; 3] = ["red", "green", "blue"];

/// A store that reads one row of a batch at a time: a batch is not read at one moment.
struct Unbatched(Arc<dyn Store>);

impl Front for Unbatched {
    fn behind(&self) -> &dyn Store {
        &*self.0
    }

    fn batch_get(&self, mut batch: BatchGet) -> Answer<'_, BatchGot> {
        Box::pin(async move {
            let rest = batch.gets.split_off(batch.gets.len().min(1));
            let mut got = self.0.batch_get(batch).await?;
            got.unprocessed.extend(rest);
            Ok(got)
        })
    }
}

fn open(store: &Arc<dyn Store>, clock: &ManualClock) -> Db {
    let (clock, matching) = (Arc::new(clock.clone()), MatchingUse::Rows);
    let options = Options { clock, matching, ..Options::default() };
    block_on(Db::open_with(MODEL, store.clone(), options)).expect("it opens")
}

fn colored(color: &str) -> serde_json::Value {
    json!({ "tags": { "color": color } })
}

fn any_color() -> Filter {
    Filter::any(COLORS.map(|color| Filter::tag("color", color)))
}

fn count(db: &Db, filter: Filter) -> u64 {
    block_on(db.list("task", "all").filter(filter).total()).expect("it is counted").count
}

/// Work of one process, up to its next call of the store.
type Running<'w> = Pin<Box<dyn Future<Output = Done> + 'w>>;

enum Done {
    /// A task has another color.
    Painted(usize, &'static str),
    Folded,
    /// How many tasks have any color: all of them, always.
    Counted(Total),
    /// How many have two colors: none, ever.
    CountedTwice(Total),
    Listed(usize),
}

/// What runs at the same time.
struct Crowd<'c> {
    dbs: &'c [Db],
    ids: &'c [String],
    colors: Vec<&'static str>,
    random: Random,
    running: Vec<(Kind, Running<'c>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Write(usize),
    Fold(usize),
    Read,
}

impl<'c> Crowd<'c> {
    /// Starts something, unless the same is running.
    fn start(&mut self) {
        let place = self.random.index(self.dbs.len());
        let db = &self.dbs[place];
        let (kind, work): (Kind, Running<'c>) = match self.random.below(5) {
            0 | 1 => {
                let (task, color) = (self.random.index(TASKS), *self.random.pick(&COLORS));
                let id = &self.ids[task];
                let paint = async move {
                    db.put("task", id, &colored(color)).await.expect("it is changed");
                    Done::Painted(task, color)
                };
                (Kind::Write(task), Box::pin(paint))
            }
            2 => {
                let fold = async move {
                    db.fold().await.expect("it is folded");
                    Done::Folded
                };
                (Kind::Fold(place), Box::pin(fold))
            }
            3 => {
                let list = async move {
                    let page = db.list("task", "all").filter(any_color()).limit(50).read().await;
                    Done::Listed(page.expect("a page").items.len())
                };
                (Kind::Read, Box::pin(list))
            }
            _ => {
                let is_any = self.random.chance(1, 2);
                let two = Filter::all(["red", "blue"].map(|color| Filter::tag("color", color)));
                let filter = if is_any { any_color() } else { two };
                let counted = async move {
                    let total = db.list("task", "all").filter(filter).total().await;
                    let total = total.expect("it is counted");
                    if is_any { Done::Counted(total) } else { Done::CountedTwice(total) }
                };
                (Kind::Read, Box::pin(counted))
            }
        };
        // Writers of one task have no order that a test could know.
        if !self.running.iter().any(|(other, _)| *other == kind && kind != Kind::Read) {
            self.running.push((kind, work));
        }
    }

    /// Lets something run for some calls of the store, while everything else waits; or drops a fold.
    fn step(&mut self, seed: u64) {
        let place = self.random.index(self.running.len());
        if matches!(self.running[place].0, Kind::Fold(_)) && self.random.chance(1, 30) {
            drop(self.running.remove(place));
            return;
        }
        let calls = *self.random.pick(&[1, 1, 1, 3, 10, 100]);
        let work = &mut self.running[place].1;
        let Some(done) = (0..calls).find_map(|_| go_on(work.as_mut())) else { return };
        drop(self.running.remove(place));
        match done {
            Done::Painted(task, color) => self.colors[task] = color,
            Done::Folded => {}
            Done::Counted(total) => assert_eq!(total.count, TASKS as u64, "seed {seed}"),
            Done::CountedTwice(total) => assert_eq!(total.count, 0, "seed {seed}"),
            Done::Listed(count) => assert_eq!(count, TASKS, "seed {seed}"),
        }
    }

    fn is_reading(&self) -> bool {
        self.running.iter().any(|(kind, _)| *kind == Kind::Read)
    }
}

/// Every task has exactly one color at any moment, so any read that mixes two moments would find too
/// many or too few. Time passes only while nothing is read: a read is over before what was written
/// after it began is folded.
#[test]
fn reads_beside_writers_and_two_folding_processes_see_one_moment() {
    for seed in 0..150 {
        let clock = ManualClock::new();
        let plain: Arc<dyn Store> = Arc::new(memory_store_at(&clock));
        let store = pausing(Arc::new(InFront(Unbatched(plain.clone()))));
        let dbs = [open(&store, &clock), open(&store, &clock)];
        let ids: Vec<String> = (0..TASKS)
            .map(|_| block_on(dbs[0].create("task", &colored("red"))).expect("created"))
            .map(|task| task.id().to_owned())
            .collect();
        let (colors, random) = (vec!["red"; TASKS], Random::new(seed));
        let mut crowd = Crowd { dbs: &dbs, ids: &ids, colors, random, running: vec![] };
        for _ in 0..800 {
            if crowd.running.len() < 5 {
                crowd.start();
            }
            if !crowd.running.is_empty() {
                crowd.step(seed);
            }
            if !crowd.is_reading() && crowd.random.chance(1, 6) {
                // After the longer one, a process takes over from another that may only be paused.
                clock.advance_ms(*crowd.random.pick(&[7_000, 40_000]));
            }
        }
        while !crowd.running.is_empty() {
            crowd.step(seed);
        }
        let colors = crowd.colors.clone();
        let db = open(&plain, &clock);
        check_colors(&db, &colors, seed);
        fold(&db, &clock);
        check_colors(&db, &colors, seed);
        assert_eq!(block_on(findings(&db)), [""; 0], "seed {seed}");
        assert_eq!(rows(&plain, "deltas"), BTreeMap::new(), "all is folded, seed {seed}");
    }
}

fn check_colors(db: &Db, colors: &[&str], seed: u64) {
    for color in COLORS {
        let expected = colors.iter().filter(|other| **other == color).count() as u64;
        assert_eq!(count(db, Filter::tag("color", color)), expected, "{color}, seed {seed}");
    }
}

/// The system rows of a kind, by key.
fn rows(store: &Arc<dyn Store>, kind: &str) -> BTreeMap<Vec<u8>, Item> {
    let table = TableName::new("keyloom").expect("a name");
    let page = block_on(store.scan(Scan::new(&table))).expect("it is read");
    assert_eq!(page.last_key, None);
    let is_of_kind = |row: &Item| {
        let partition = row.get(PARTITION).and_then(Value::as_b).unwrap_or_default();
        let parts = KeyBytes::decode(partition).unwrap_or_default();
        matches!(&parts[..], [system, word, ..]
            if system.as_s() == Some("m") && word.as_s() == Some(kind))
    };
    let key = |row: &Item| {
        let part = |name| row.get(name).and_then(Value::as_b).unwrap_or_default().to_vec();
        [part("PK"), part("SK")].concat()
    };
    let rows = page.items.into_iter().filter(|row| is_of_kind(row));
    rows.map(|row| (key(&row), row)).collect()
}

/// The limit of a transaction is 100 rows; the documented limit is 200 tags.
#[test]
fn an_entity_with_200_tags_is_written_in_one_transaction() {
    let clock = ManualClock::new();
    let store: Arc<dyn Store> = Arc::new(memory_store_at(&clock));
    let db = open(&store, &clock);
    let tags = |value: &str| -> serde_json::Value {
        let tags = (0..200).map(|number| (format!("key-{number}"), json!(value)));
        json!({ "tags": serde_json::Map::from_iter(tags) })
    };
    let task = block_on(db.create("task", &tags("old"))).expect("it is created");
    for value in ["new", "newer"] {
        block_on(db.put("task", task.id(), &tags(value))).expect("it is changed");
        for number in [0, 99, 199] {
            let key = format!("key-{number}");
            assert_eq!(count(&db, Filter::tag(&key, value)), 1);
            assert_eq!(count(&db, Filter::tag(&key, "old")), 0);
        }
        fold(&db, &clock);
        assert_eq!(count(&db, Filter::tag("key-7", value)), 1);
        assert_eq!(block_on(findings(&db)), [""; 0]);
    }
    block_on(db.delete("task", task.id())).expect("it is deleted");
    fold(&db, &clock);
    assert_eq!(rows(&store, "chunks"), BTreeMap::new(), "empty chunks are removed");
    let is_empty = |row: &Item| row.get("counts") == Some(&Value::B(vec![]));
    assert!(rows(&store, "lists").values().all(is_empty), "their directories stay, and are empty");
}

/// A row of a group is written again by whoever writes in it, and removed when nobody does.
#[test]
fn groups_without_writes_are_forgotten_and_found_again() {
    let clock = ManualClock::new();
    let store: Arc<dyn Store> = Arc::new(memory_store_at(&clock));
    let db = open(&store, &clock);
    for color in COLORS {
        block_on(db.create("task", &colored(color))).expect("it is created");
        assert_eq!(rows(&store, "groups").len(), 1);
        fold(&db, &clock);
        assert_eq!(rows(&store, "deltas").len(), 0);
        clock.advance_ms(700_000);
        block_on(db.fold()).expect("nothing to fold");
        assert_eq!(rows(&store, "groups").len(), 0);
        assert_eq!(count(&db, Filter::tag("color", color)), 1);
    }
}

/// Damage of every kind of row of posting lists is found, and repaired.
#[test]
fn damaged_chunks_and_directories_are_found_and_repaired() {
    let clock = ManualClock::new();
    let store: Arc<dyn Store> = Arc::new(memory_store_at(&clock));
    let db = open(&store, &clock);
    for number in 0..30 {
        let task = colored(COLORS[number % 3]);
        block_on(db.create("task", &task)).expect("it is created");
    }
    fold(&db, &clock);
    assert_eq!(block_on(findings(&db)), [""; 0]);
    let table = TableName::new("keyloom").expect("a name");
    let kinds = [rows(&store, "chunks"), rows(&store, "lists")];
    assert_eq!(kinds.each_ref().map(BTreeMap::len), [5, 5], "all, the key, three values");
    for damaged in kinds.into_iter().flat_map(BTreeMap::into_values) {
        let key: Item = ["PK", "SK"]
            .map(|name| (name, damaged.get(name).expect("a key").clone()))
            .into_iter()
            .map(|(name, value)| (name.into(), value))
            .collect();
        block_on(store.delete(Delete::new(&table, key))).expect("it is gone");
        assert_ne!(block_on(findings(&db)), [""; 0], "{damaged:?}");
        repair(&db, &clock);
        for color in COLORS {
            assert_eq!(count(&db, Filter::tag("color", color)), 10);
        }
    }
    // Other members than there should be.
    let chunks: Vec<Item> = rows(&store, "chunks").into_values().collect();
    for chunk in &chunks {
        let other = chunks.iter().find(|other| other.get("members") != chunk.get("members"));
        let mut damaged = chunk.clone();
        let members = other.and_then(|other| other.get("members")).expect("another").clone();
        damaged.insert("members", members);
        block_on(store.put(Put::new(&table, damaged))).expect("it is damaged");
        assert_ne!(block_on(findings(&db)), [""; 0], "{chunk:?}");
        repair(&db, &clock);
        for color in COLORS {
            assert_eq!(count(&db, Filter::tag("color", color)), 10);
        }
    }
}

/// A row that cannot be read is a finding, with the reads that need it said not to be checked, and no
/// end of the verification. All of them can be made again from own rows.
#[test]
fn unreadable_rows_of_posting_lists_are_found_and_made_again() {
    let clock = ManualClock::new();
    let store: Arc<dyn Store> = Arc::new(memory_store_at(&clock));
    let db = open(&store, &clock);
    let table = TableName::new("keyloom").expect("a name");
    for number in 0..30 {
        block_on(db.create("task", &colored(COLORS[number % 3]))).expect("it is created");
        if number == 20 {
            fold(&db, &clock);
        }
    }
    assert_eq!(block_on(findings(&db)), [""; 0]);
    let kinds = [("deltas", "changes"), ("lists", "counts"), ("chunks", "members")];
    for (kind, attribute) in kinds {
        for mut damaged in rows(&store, kind).into_values() {
            damaged.insert(attribute, "damaged");
            block_on(store.put(Put::new(&table, damaged))).expect("it is damaged");
            let found = block_on(findings(&db));
            assert!(found.iter().any(|said| said.contains(kind)), "{kind}: {found:#?}");
            repair(&db, &clock);
            for color in COLORS {
                assert_eq!(count(&db, Filter::tag("color", color)), 10, "{kind}");
            }
            // Repairs are folded: what follows is damaged again.
            if kind == "deltas" {
                break;
            }
        }
    }
}

#[test]
fn a_directory_that_counts_a_chunk_that_is_not_there_is_found_and_repaired() {
    let clock = ManualClock::new();
    let store: Arc<dyn Store> = Arc::new(memory_store_at(&clock));
    let db = open(&store, &clock);
    block_on(db.create("task", &colored("red"))).expect("it is created");
    fold(&db, &clock);
    let table = TableName::new("keyloom").expect("a name");
    for (key, mut directory) in rows(&store, "lists") {
        let counts = directory.get("counts").and_then(Value::as_b).expect("counts").to_vec();
        // Chunk 7 has three members.
        let more = [&counts[..], &[0, 0, 0, 0, 0, 7, 0, 0, 0, 3]].concat();
        directory.insert("counts", Value::B(more));
        block_on(store.put(Put::new(&table, directory))).expect("it is damaged");
        let found = block_on(findings(&db));
        assert!(
            matches!(&found[..], [said] if said.ends_with("is 3, and should be 0.")),
            "{found:?}"
        );
        repair(&db, &clock);
        let now = rows(&store, "lists").remove(&key).expect("it is there");
        assert_eq!(now.get("counts"), Some(&Value::B(counts)));
    }
}

fn repair(db: &Db, clock: &ManualClock) {
    // The first repair changes what the next one compares with.
    for _ in 0..3 {
        block_on(db.verify(Repair::Yes, |_| {})).expect("it is repaired");
        fold(db, clock);
    }
    let left = BTreeSet::from_iter(block_on(findings(db)));
    assert_eq!(left, BTreeSet::new());
}

/// A row has at most 400 KB, and a long text that changes again and again fills its delta.
#[test]
fn a_writer_whose_delta_is_full_is_asked_to_try_again_and_folding_makes_room() {
    let clock = ManualClock::new();
    let store: Arc<dyn Store> = Arc::new(engine_at(&clock));
    let model = "[entity.note]\nid = \"given\"\nfields.text = \"text\"\nlist.all = {}\n\
                 search.words = { fields = \"text\", prefixes = false }\n";
    let options = Options {
        clock: Arc::new(clock.clone()),
        matching: MatchingUse::Rows,
        ..Options::default()
    };
    let db = block_on(Db::open_with(model, store, options)).expect("it opens");
    let text = |round: usize| {
        let words: Vec<String> = (0..2_000).map(|word| format!("round{round}word{word}")).collect();
        json!({ "text": words.join(" ") })
    };
    let mut first = text(0);
    first["id"] = json!("a");
    block_on(db.create("note", &first)).expect("it is created");
    let mut refused = 0;
    for round in 1..5 {
        let patch = text(round);
        while let Err(error) = block_on(db.update("note", "a", &patch)) {
            assert!(matches!(error, Error::Contended), "{error}");
            refused += 1;
            fold(&db, &clock);
        }
        let found = |words: String| {
            let list = db.list("note", "all").filter(Filter::search("words", words));
            block_on(list.total()).expect("it is counted").count
        };
        assert_eq!(found(format!("round{round}word7 ")), 1);
        assert_eq!(found(format!("round{}word7 ", round - 1)), 0);
    }
    assert!((1..5).contains(&refused), "{refused}");
    fold(&db, &clock);
    assert_eq!(block_on(findings(&db)), [""; 0]);
}
