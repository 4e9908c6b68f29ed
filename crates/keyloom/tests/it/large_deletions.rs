//! Deletions that are too large for one transaction take effect at one moment: every read is as
//! before or as after, of entities, references, lists, filters, totals, counts and boards. The
//! caller may drop the deletion at any time; it is then resumed in the background.

use std::collections::BTreeMap;
use std::sync::Arc;

use keyloom::{Db, Error, Filter, FindTags, MatchingUse, Operation, OperationKind, Options, Value};
use keyloom_store::Store;
use keyloom_testkit::pausing::{go_on, interleave, pausing, stop_after};
use keyloom_testkit::{InFront, ManualClock, SimDisk};
use pollster::block_on;
use proptest::prelude::*;
use serde_json::json;

use crate::cases::for_all;
use crate::rig::{Plain, assert_clean, engine, memory_store_at};

/// Files are deleted with their folder; pins lose their references. Every kind of query is
/// declared.
const MODEL: &str = r#"
[entity.folder]
id = "given"
reference_shards = 3
fields.name = "text"
fields.next = "ref folder cascade?"
unique = ["name"]

[entity.file]
id = "given"
reference_shards = 2
parent = "folder"
on_parent_delete = "cascade"
fields.author = "text"
fields.kind = "enum(text, image)"
fields.size = "int"
fields.labels = "tags"
unique = [{ fields = ["size"], within = "folder" }]
list.by_size = { order = "-size", facets = ["kind"] }
list.of_author = { by = "author", order = "size" }
count.files = { split = ["author", "kind"], shards = 2 }
count.of_author = { by = "author" }
board.authors = { of = "author" }
board.largest = { rank = "size" }

[entity.pin]
id = "given"
fields.file = "ref file clear?"
fields.folder = "ref folder clear?"
fields.label = "text"
fields.stars = "int"
unique = [{ fields = ["label"], within = "folder" }]
list.all = { order = "-stars", facets = ["folder"] }
list.in_folder = { by = "folder", order = "stars" }
list.on_file = { by = "file" }
count.pins = { split = ["folder", "stars"] }
board.folders = { of = "folder" }
board.best = { rank = "stars", by = "folder" }
"#;

#[derive(Clone, Copy, Debug)]
enum Kind {
    Sets,
    Rows,
    Plain,
}

#[derive(Clone, Debug)]
struct Size {
    kind: Kind,
    files: usize,
    others: usize,
    pins: usize,
    seed: usize,
}

/// Two views of one database: one pauses before every step, the other does not.
struct Pair {
    clock: ManualClock,
    slow: Db,
    quick: Db,
}

impl Pair {
    fn new(size: &Size) -> Pair {
        let clock = ManualClock::new();
        let store: Arc<dyn Store> = Arc::new(memory_store_at(&clock));
        let store: Arc<dyn Store> = match size.kind {
            Kind::Sets | Kind::Rows => store,
            Kind::Plain => Arc::new(InFront(Plain(store))),
        };
        let matching = match size.kind {
            Kind::Sets => MatchingUse::Sets,
            Kind::Rows | Kind::Plain => MatchingUse::Rows,
        };
        let options = || Options { clock: Arc::new(clock.clone()), matching, ..Options::default() };
        let quick = block_on(Db::open_with(MODEL, store.clone(), options())).expect("it opens");
        fill(&quick, size);
        let slow = Db::open_with(MODEL, pausing(store.clone()), options());
        let slow = interleave(slow, |_| {}).expect("it opens");
        Pair { clock, slow, quick }
    }
}

fn fill(db: &Db, size: &Size) {
    let create = |entity: &str, document: serde_json::Value| {
        block_on(db.create(entity, &document)).expect("it is created");
    };
    create("folder", json!({"id": "f0", "name": "f0"}));
    create("folder", json!({"id": "f1", "name": "f1", "next": "f0"}));
    create("folder", json!({"id": "kept", "name": "kept"}));
    let draw = |number: usize, below: usize| (number * 7 + size.seed) % below;
    for number in 0..size.files + size.others {
        let folder = match number < size.files {
            true => format!("f{}", number % 2),
            false => "kept".to_owned(),
        };
        let kind = ["text", "image"][draw(number, 2)];
        create(
            "file",
            json!({
                "id": format!("{number}"),
                "folder": folder,
                "author": format!("a{}", draw(number, 4)),
                "kind": kind,
                "size": number,
                "labels": {"team": format!("t{}", draw(number, 3))},
            }),
        );
    }
    for number in 0..size.pins {
        let mut pin = json!({
            "id": format!("{number}"),
            "label": format!("{number}"),
            "stars": draw(number, 5),
        });
        if draw(number, 3) > 0 {
            pin["folder"] = json!(["f0", "f1", "kept"][draw(number + 1, 3)]);
        }
        if draw(number, 4) > 0 {
            pin["file"] = json!(format!("{}", number % (size.files + size.others)));
        }
        create("pin", pin);
    }
}

type Seen = BTreeMap<String, String>;

/// The results of all queries.
fn look(db: &Db, size: &Size) -> Seen {
    let mut seen = Seen::new();
    let mut see = |what: String, found: String| drop(seen.insert(what, found));
    for id in ["f0", "f1", "kept"] {
        see(format!("get folder {id}"), shown(block_on(db.get("folder", id))));
        let name = [("name", Value::from(id))];
        see(format!("find folder {id}"), shown(block_on(db.find("folder", &name))));
        let found = block_on(db.with_children("folder", id, None, 200)).expect("it is read");
        let children = found.map(|found| ids(&found.children));
        see(format!("family {id}"), format!("{children:?}"));
        let pins = block_on(db.list("pin", "in_folder").by("folder", id).limit(500).read());
        see(format!("pins in {id}"), ids(&pins.expect("it is read").items));
        let in_folder = db.list("pin", "all").facet("folder", [id]).limit(500);
        see(format!("pins with {id}"), ids(&block_on(in_folder.read()).expect("read").items));
        let total = block_on(in_folder.total()).expect("it is counted");
        see(format!("total of pins with {id}"), format!("{total:?}"));
        let not = db.list("pin", "all").filter(Filter::facet("folder", id).not()).limit(500);
        see(format!("pins without {id}"), ids(&block_on(not.read()).expect("read").items));
        let total = block_on(not.total()).expect("it is counted");
        see(format!("total of pins without {id}"), format!("{total:?}"));
        let best = db.board("best").by("folder", id).limit(100);
        see(format!("best pins of {id}"), ranks(&block_on(best.read()).expect("read").items));
        let around = block_on(db.board("folders").limit(2).around(id)).expect("read");
        see(format!("around folder {id}"), format!("{around:?}"));
        let label = [("folder", Value::from(id)), ("label", Value::from("1"))];
        see(format!("find pin in {id}"), shown(block_on(db.find("pin", &label))));
    }
    for number in 0..(size.files + size.others).max(size.pins) {
        let id = number.to_string();
        see(format!("get file {id}"), shown(block_on(db.get("file", &id))));
        see(format!("get pin {id}"), shown(block_on(db.get("pin", &id))));
        let ranked = block_on(db.board("largest").rank(id.as_str())).expect("read");
        see(format!("rank of file {id}"), format!("{ranked:?}"));
    }
    for author in ["a0", "a1", "a2", "a3"] {
        let files = block_on(db.list("file", "of_author").by("author", author).limit(500).read());
        see(format!("files of {author}"), ids(&files.expect("it is read").items));
        let count = block_on(db.count("file", "of_author").by("author", author).total());
        see(format!("count of {author}"), format!("{:?}", count.expect("it is counted")));
        let rank = block_on(db.board("authors").rank(author)).expect("read");
        see(format!("rank of {author}"), format!("{rank:?}"));
        let around = block_on(db.board("authors").limit(1).around(author)).expect("read");
        see(format!("around {author}"), format!("{around:?}"));
    }
    for kind in ["text", "image"] {
        let list = db.list("file", "by_size").facet("kind", [kind]).limit(500);
        see(format!("{kind} files"), ids(&block_on(list.read()).expect("read").items));
        see(format!("total of {kind}"), format!("{:?}", block_on(list.total()).expect("counted")));
        let tagged = list.tag("team", "t1");
        let total = block_on(tagged.total()).expect("it is counted");
        see(format!("total of {kind} of a team"), format!("{total:?}"));
    }
    let all = db.list("file", "by_size").limit(500);
    see("all files".to_owned(), ids(&block_on(all.read()).expect("read").items));
    see("total".to_owned(), format!("{:?}", block_on(all.total()).expect("counted")));
    let pins = db.list("pin", "all").limit(500);
    see("all pins".to_owned(), ids(&block_on(pins.read()).expect("read").items));
    see("total of pins".to_owned(), format!("{:?}", block_on(pins.total()).expect("counted")));
    let kinds = block_on(all.facet_values("kind")).expect("counted").counts;
    see("values of kinds".to_owned(), format!("{kinds:?}"));
    let folders = block_on(pins.facet_values("folder")).expect("counted").counts;
    see("values of folders".to_owned(), format!("{folders:?}"));
    let teams = FindTags { field: None, key: Some("team".to_owned()), prefix: String::new() };
    let teams = block_on(all.tags(&teams)).expect("counted").counts;
    see("teams".to_owned(), format!("{teams:?}"));
    for split in [&["author"][..], &["kind"], &["author", "kind"], &[]] {
        let query = split.iter().fold(db.count("file", "files"), |query, field| query.split(field));
        let counts = block_on(query.limit(100).read()).expect("counted").items;
        see(format!("files by {split:?}"), format!("{counts:?}"));
    }
    for split in [&["folder"][..], &["stars"], &["folder", "stars"], &[]] {
        let query = split.iter().fold(db.count("pin", "pins"), |query, field| query.split(field));
        let counts = block_on(query.limit(100).read()).expect("counted").items;
        see(format!("pins by {split:?}"), format!("{counts:?}"));
    }
    for board in ["authors", "largest", "folders"] {
        let mut query = db.board(board).limit(3);
        let mut all = vec![];
        loop {
            let page = block_on(query.read()).expect("it is read");
            all.push(ranks(&page.items));
            match page.next {
                Some(next) => query = query.after(next),
                None => break,
            }
        }
        see(format!("board {board}"), all.join(" "));
    }
    seen
}

fn shown(found: Result<Option<keyloom::Record>, Error>) -> String {
    format!("{:?}", found.expect("it is read").map(|record| record.to_json()))
}

fn ids(records: &[keyloom::Record]) -> String {
    let texts: Vec<String> = records.iter().map(keyloom::Record::to_json).collect();
    texts.join(" ")
}

fn ranks(ranked: &[keyloom::Ranked]) -> String {
    let show = |one: &keyloom::Ranked| format!("{}:{}:{:?}", one.rank, one.score, one.of);
    ranked.iter().map(show).collect::<Vec<_>>().join(" ")
}

/// The differences, with both sides.
fn difference(found: &Seen, before: &Seen, after: &Seen) -> String {
    let differs = |what: &&String| found[*what] != before[*what] || found[*what] != after[*what];
    let line = |what: &String| {
        let side = match (found[what] == before[what], found[what] == after[what]) {
            (true, _) => "as before",
            (_, true) => "as after",
            _ => "as never",
        };
        format!(
            "{side}: {what}: {}\n   before {}\n   after  {}",
            found[what], before[what], after[what]
        )
    };
    found.keys().filter(differs).map(line).collect::<Vec<_>>().join("\n")
}

fn sizes() -> impl Strategy<Value = Size> {
    let kind = prop_oneof![Just(Kind::Sets), Just(Kind::Rows), Just(Kind::Plain)];
    let numbers = (25..34_usize, 0..6_usize, 0..16_usize, 0..1_000_usize);
    (kind, numbers).prop_map(|(kind, (files, others, pins, seed))| Size {
        kind,
        files,
        others,
        pins,
        seed,
    })
}

#[test]
fn readers_see_a_large_deletion_completely_or_not_at_all() {
    for_all(4, sizes(), |size| {
        let pair = Pair::new(&size);
        let before = look(&pair.quick, &size);
        let mut looks = vec![];
        let deleted = interleave(pair.slow.delete("folder", "f0"), |step| {
            if step % 31 == size.seed % 31 {
                looks.push(look(&pair.quick, &size));
            }
        });
        deleted.expect("it is deleted");
        let after = look(&pair.quick, &size);
        assert_ne!(before, after);
        assert_eq!(after["get folder f0"], "None");
        let mut has_happened = false;
        for found in &looks {
            has_happened |= *found == after;
            let expected = if has_happened { &after } else { &before };
            assert!(found == expected, "{}", difference(found, &before, &after));
        }
        assert!(has_happened, "the sweep was watched");
        assert_clean(&pair.quick);
    });
}

#[test]
fn a_large_deletion_dropped_at_any_point_is_atomic_and_resumes() {
    for_all(6, (sizes(), 0..1_000_u64), |(size, pauses)| {
        let pair = Pair::new(&size);
        let before = look(&pair.quick, &size);
        let steps = {
            let (pair, mut steps) = (Pair::new(&size), 0);
            interleave(pair.slow.delete("folder", "f0"), |step| steps = step as u64)
                .expect("it is deleted");
            steps
        };
        stop_after(pauses % steps, pair.slow.delete("folder", "f0"));
        let found = look(&pair.quick, &size);
        let has_happened = found != before;
        assert_eq!(has_happened, found["get folder f0"] == "None");
        let under_way = block_on(pair.quick.operations()).expect("they are read");
        let is_cleared = |operation: &Operation| operation.kind == OperationKind::Clearing;
        assert_eq!(under_way.iter().any(is_cleared), has_happened, "{under_way:?}");
        // The background runner continues it; readers see no difference.
        let mut looks = vec![];
        for _ in 0..2 {
            interleave(pair.slow.resume_deletions(), |step| {
                if step % 40 == 0 {
                    looks.push(look(&pair.quick, &size));
                }
            })
            .expect("it continues");
            pair.clock.advance_ms(60_000);
        }
        looks.push(look(&pair.quick, &size));
        for again in &looks {
            assert!(*again == found, "{}", difference(again, &before, &found));
        }
        assert_eq!(block_on(pair.quick.operations()).expect("they are read"), []);
        assert_clean(&pair.quick);
    });
}

/// A folder with many files and optional references was deleted, and the client disconnected: half
/// of the references were cleared and stayed so, and the next request that touched the folder
/// deleted everything.
#[test]
fn all_reads_of_a_snapshot_are_consistent() {
    for_all(3, sizes(), |size| {
        let pair = Pair::new(&size);
        let before = look(&pair.quick, &size);
        let moment = block_on(pair.quick.at_one_moment()).expect("it is held");
        block_on(pair.quick.delete("folder", "f0")).expect("it is deleted");
        assert_eq!(look(&moment, &size), before, "it is a moment before the deletion");
        let tree = |db: &Db| block_on(db.tree("folder", "f1", "next,files", None)).expect("read");
        assert_eq!(tree(&moment).map(|tree| tree.refs["next"].is_some()), Some(true));
        assert_eq!(tree(&pair.quick), None);
    });
}

#[test]
fn a_deletion_whose_client_disconnects_is_canceled_or_resumed_without_a_restart() {
    let size = Size { kind: Kind::Sets, files: 300, others: 10, pins: 150, seed: 1 };
    for pauses in [1, 40, 400, 700, 1_000, 1_400] {
        let store: Arc<dyn Store> = Arc::new(engine(&SimDisk::new(0)));
        let slow = interleave(Db::open(MODEL, pausing(store)), |_| {}).expect("it opens");
        fill(&slow, &size);
        let before = look(&slow, &size);
        stop_after(pauses, slow.delete("folder", "f0"));
        let found = look(&slow, &size);
        let handlers = keyloom::events::Handlers::new();
        block_on(slow.work(&handlers)).expect("it works");
        let after = look(&slow, &size);
        assert!(found == after, "{}", difference(&found, &before, &after));
        assert_eq!(block_on(slow.operations()).expect("they are read"), []);
        assert_eq!(found == before, found["get folder f0"] != "None");
        assert_clean(&slow);
        let patched = block_on(slow.update("folder", "f0", &json!({"name": "other"})));
        assert_eq!(patched.is_ok(), found == before, "{patched:?}");
    }
}

/// A write to an entity whose reference is being cleared neither stops the deletion nor is lost.
#[test]
fn a_concurrent_write_to_a_referrer_and_the_deletion_both_take_effect() {
    for_all(4, sizes(), |size| {
        let size = Size { pins: size.pins.max(12), ..size };
        let pair = Pair::new(&size);
        let mut written = BTreeMap::new();
        let deleted = interleave(pair.slow.delete("folder", "f0"), |step| {
            if step % 3 > 0 {
                return;
            }
            let id = (step % size.pins).to_string();
            let label = format!("at {step}");
            let patch = json!({"label": label, "stars": step % 7});
            block_on(pair.quick.update("pin", &id, &patch)).expect("it is changed");
            written.insert(id, label);
        });
        deleted.expect("it is deleted");
        for (id, label) in written {
            let pin = block_on(pair.quick.get("pin", &id)).expect("it is read").expect("there");
            let pin: serde_json::Value = pin.to().expect("it is a pin");
            assert_eq!(pin["label"], json!(label));
            assert!(pin["folder"].is_null() || pin["folder"] == "kept", "{pin}");
        }
        assert_clean(&pair.quick);
    });
}

/// A folder with many files is deleted, and its files are still being removed.
fn half_removed(size: &Size) -> Pair {
    let pair = Pair::new(size);
    let is_there = || block_on(pair.quick.get("folder", "f0")).expect("it is read").is_some();
    {
        let mut deletion = std::pin::pin!(pair.slow.delete("folder", "f0"));
        while is_there() {
            assert!(go_on(deletion.as_mut()).is_none(), "it is being removed");
        }
    }
    pair
}

fn left(db: &Db) -> u64 {
    let under_way = block_on(db.operations()).expect("they are read");
    let [operation] = &under_way[..] else { panic!("one is under way: {under_way:?}") };
    assert_eq!(operation.of, "folder/f0");
    operation.total.expect("it has happened") - operation.done
}

/// Creating a hidden id, or taking a hidden unique value, first removed everything else that the
/// deletion had taken.
#[test]
fn reusing_a_hidden_id_or_unique_value_removes_only_that_entity() {
    for kind in [Kind::Sets, Kind::Rows, Kind::Plain] {
        let size = Size { kind, files: 120, others: 2, pins: 16, seed: 3 };
        let pair = half_removed(&size);
        let before = left(&pair.quick);
        assert!(before > 60, "{before}");
        // It no longer exists, so nothing needs to be removed.
        let gone = block_on(pair.quick.update("file", "100", &json!({"author": "a"})));
        assert!(matches!(gone, Err(Error::NotFound { .. })), "{gone:?}");
        let pin = json!({"id": "p", "label": "p", "stars": 1, "file": "100"});
        let gone = block_on(pair.quick.create("pin", &pin));
        assert!(matches!(gone, Err(Error::TargetGone { .. })), "{gone:?}");
        assert_eq!(left(&pair.quick), before);
        let file = |size: usize| {
            json!({"id": "101", "folder": "kept", "author": "a9", "kind": "text", "size": size,
                "labels": {}})
        };
        let created = block_on(pair.quick.create("file", &file(9_101))).expect("it is free");
        let after = left(&pair.quick);
        assert!((before - 4..before).contains(&after), "{before} to {after}");
        // The new entity does not inherit it.
        let pins = block_on(pair.quick.list("pin", "on_file").by("file", "101").read());
        assert_eq!(pins.expect("it is read").items, []);
        let folder = json!({"id": "new", "name": "f1"});
        block_on(pair.quick.create("folder", &folder)).expect("the name is free");
        block_on(pair.quick.resume_deletions()).expect("it continues");
        assert_eq!(block_on(pair.quick.operations()).expect("they are read"), []);
        let kept = block_on(pair.quick.get("file", "101")).expect("it is read");
        assert_eq!(kept, Some(created));
        assert_clean(&pair.quick);
    }
}
