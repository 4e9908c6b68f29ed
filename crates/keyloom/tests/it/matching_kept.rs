//! Posting lists and index keys for tags and facets: across changes of the model and of their
//! storage, with many writers, and when they are damaged.

use std::collections::BTreeSet;
use std::sync::Arc;

use keyloom::{
    Budget, Change, Db, Error, Filter, FindTags, ListQuery, MatchingUse, Options, Repair, Value,
    ValueCount,
};
use keyloom_store::{
    ListSets, Membership, Put, Scan, SetChange, SetName, Store, TableName, TransactWrite,
};
use keyloom_testkit::{ManualClock, SimDisk};
use pollster::block_on;
use serde_json::json;

use crate::rig::{assert_clean, each_store, engine, findings, memory_store_at, open};

const PLAIN: &str = r#"
[entity.note]
fields.text = "text"
fields.kind = "enum(memo, plan) = memo"
list.all = {}
"#;

const TAGGED: &str = r#"
[entity.note]
fields.text = "text"
fields.kind = "enum(memo, plan) = memo"
fields.tags = "tags = {}"
tags.tags.combine = [["a", "b"]]
list.all = { facets = ["kind"] }
"#;

/// A store, and its background work.
type Settling<'s> = (Arc<dyn Store>, &'s dyn Fn());

/// The texts of the entities that pass a filter.
fn texts(db: &Db, filter: Filter) -> Vec<String> {
    let page = block_on(db.list("note", "all").filter(filter).read()).expect("a page");
    let text = |item: &keyloom::Record| {
        let value: serde_json::Value = item.to().expect("it is JSON");
        value["text"].as_str().expect("a text").to_owned()
    };
    page.items.iter().map(text).collect()
}

fn keeping(model: &str, store: Arc<dyn Store>, matching: MatchingUse) -> Db {
    let clock = Arc::new(ManualClock::new());
    let options = Options { clock, matching, ..Options::default() };
    block_on(Db::open_with(model, store, options)).expect("it opens")
}

fn note(db: &Db, text: &str, tags: serde_json::Value) {
    let document = json!({ "text": text, "tags": tags });
    block_on(db.create("note", &document)).expect("it is created");
}

#[test]
fn new_tags_and_facets_find_existing_entities() {
    let of_engine = Arc::new(engine(&SimDisk::new(0)));
    let in_memory = Arc::new(memory_store_at(&ManualClock::new()));
    let stores: [Settling<'_>; 2] = [
        (in_memory, &|| {}),
        (of_engine.clone(), &|| of_engine.settle().expect("the new index is filled")),
    ];
    for (store, settle) in stores {
        let db = block_on(open(PLAIN, store.clone()));
        for text in ["one", "two", "three"] {
            block_on(db.create("note", &json!({ "text": text }))).expect("it is created");
        }
        let db = block_on(open(TAGGED, store.clone()));
        settle();
        let early = block_on(db.list("note", "all").filter(Filter::has_tag("a")).read());
        assert!(matches!(early, Err(Error::Building { .. })));
        note(&db, "four", json!({ "a": "x" }));
        block_on(db.backfill(|_| {})).expect("it is filled");
        assert_eq!(texts(&db, Filter::tag("a", "x")), ["four"]);
        assert_eq!(texts(&db, Filter::facet("kind", "memo")).len(), 4);
        assert_eq!(texts(&db, Filter::facet("kind", "plan")), Vec::<String>::new());
        assert_clean(&db);
    }
}

/// A list of all entities in order of creation shares the slot of the ordinals. It moves when its
/// definition changes or entities have no ordinals any more; other lists stay where they are.
#[test]
fn the_list_by_ordinal_can_be_redefined_and_restored() {
    let tagged = |lists: &str| TAGGED.replace("list.all = { facets = [\"kind\"] }", lists);
    let plain = |lists: &str| PLAIN.replace("list.all = {}", lists);
    let facets = "list.all = { facets = [\"kind\"] }";
    go_through(&[
        tagged("list.all = {}"),
        tagged("list.all = { order = \"text\" }"),
        tagged("list.all = {}"),
        tagged("list.all = { where = { kind = \"memo\" } }\nlist.every = {}"),
        tagged(&format!("list.every = {{}}\n{facets}")),
        tagged("list.every = {}\nlist.all = { order = \"text\" }"),
    ]);
    go_through(&[plain(facets), plain("list.all = {}"), plain(facets)]);
}

/// Opens the same data with one model after the other, adding a note each time.
fn go_through(models: &[String]) {
    let store = Arc::new(engine(&SimDisk::new(0)));
    let mut expected = BTreeSet::new();
    for (step, model) in models.iter().enumerate() {
        let db = block_on(open(model, store.clone()));
        store.settle().expect("new indexes are filled");
        block_on(db.create("note", &json!({ "text": format!("{step}") }))).expect("it is created");
        expected.insert(format!("{step}"));
        block_on(db.backfill(|_| {})).expect("it is filled");
        let all = block_on(db.list("note", "all").read()).expect("a page");
        assert_eq!(all.items.len(), expected.len(), "{model}");
        let found = |filter| BTreeSet::from_iter(texts(&db, filter));
        if model.contains("facets") {
            assert_eq!(found(Filter::facet("kind", "memo")), expected, "{model}");
        }
        if model.contains("tags") {
            assert_eq!(found(Filter::not(Filter::has_tag("a"))), expected, "{model}");
        }
        assert_clean(&db);
    }
}

/// Two notes together write what each writes alone, even if both are added to the same set.
#[test]
fn explaining_several_changes_reports_the_writes_of_each() {
    for matching in [MatchingUse::Sets, MatchingUse::Rows] {
        let db = keeping(TAGGED, Arc::new(engine(&SimDisk::new(0))), matching);
        let create = |text: &str| {
            let document = json!({ "text": text, "tags": { "a": "x", "b": "y" } });
            Change::create("note", &document).expect("a change")
        };
        let alone = block_on(db.rehearse(vec![create("one")])).expect("it is reported");
        let both =
            block_on(db.rehearse(vec![create("one"), create("two")])).expect("it is reported");
        match matching {
            MatchingUse::Sets => assert!(alone.sets > 4, "{alone:?}"),
            // The entity, its ordinal, and one delta, however many lists it joins.
            MatchingUse::Rows => assert_eq!(alone.rows.len(), 3, "{alone:?}"),
        }
        assert_eq!((both.sets, both.rows.len()), (alone.sets * 2, alone.rows.len() * 2));
        assert_eq!(both.write_units(), alone.write_units() * 2);
    }
}

/// Entities are read in batches, and none once the budget is spent.
#[test]
fn a_filtered_page_of_large_entities_ends_when_its_budget_is_spent() {
    let model = TAGGED.replace("list.all = {", "list.all = { order = \"text\",");
    each_store(|store| {
        let db = block_on(open(&model, store));
        for n in 0..250 {
            note(&db, &format!("{n:03} {}", "x".repeat(900)), json!({ "a": "x" }));
        }
        let budget = Budget { bytes: 50_000, ..Budget::STANDARD };
        let query =
            || db.list("note", "all").filter(Filter::tag("a", "x")).limit(250).budget(budget);
        let (mut found, mut next) = (vec![], None::<String>);
        loop {
            let query = next.iter().fold(query(), |query, cursor| query.after(cursor));
            let page = block_on(query.read()).expect("a page");
            assert!(page.items.len() <= 100, "{} are more than a batch", page.items.len());
            found.extend(page.items.iter().map(|record| record.id().to_owned()));
            next = page.next;
            if next.is_none() {
                break;
            }
        }
        assert_eq!((found.len(), BTreeSet::from_iter(found).len()), (250, 250));
    });
}

#[test]
fn posting_lists_convert_between_sets_and_rows() {
    each_store(|store| {
        let db = keeping(TAGGED, store.clone(), MatchingUse::Sets);
        for n in 0..120 {
            note(
                &db,
                &format!("{n}"),
                json!({ "a": if n % 2 == 0 { "x" } else { "y" }, "b": "z" }),
            );
        }
        let both = || Filter::all([Filter::tag("a", "x"), Filter::tag("b", "z")]);
        let before = texts(&db, both());
        for matching in [MatchingUse::Rows, MatchingUse::Sets] {
            let db = keeping(TAGGED, store.clone(), matching);
            assert!(db.is_backfill_pending());
            note(&db, "late", json!({ "a": "y" }));
            block_on(db.backfill(|_| {})).expect("it is filled");
            assert_eq!(texts(&db, both()), before);
            assert_clean(&db);
            let sets = store.sets().expect("the store has sets");
            let table = TableName::new("keyloom").expect("a name");
            let list = ListSets { table, prefix: vec![], after: None, limit: 10 };
            let kept = block_on(sets.list_sets(list)).expect("they are listed");
            assert_eq!(kept.is_empty(), matching == MatchingUse::Rows);
        }
    });
}

#[test]
fn a_set_with_missing_or_extra_members_is_reported_and_repaired() {
    each_store(|store| {
        let db = block_on(open(TAGGED, store.clone()));
        note(&db, "one", json!({ "a": "x" }));
        note(&db, "two", json!({}));
        let table = TableName::new("keyloom").expect("a name");
        let sets = store.sets().expect("the store has sets");
        let list = ListSets { table: table.clone(), prefix: vec![], after: None, limit: 100 };
        let names = block_on(sets.list_sets(list)).expect("they are listed");
        let mut changes: Vec<SetChange> = names
            .iter()
            .flat_map(|size| {
                [(0, Membership::Out), (1, Membership::In), (9, Membership::In)].map(
                    |(ordinal, becomes)| SetChange {
                        table: table.clone(),
                        set: size.set.clone(),
                        ordinals: vec![ordinal],
                        becomes,
                    },
                )
            })
            .collect();
        let set = SetName::new(*b"nonsense").expect("a name");
        changes.push(SetChange { table, set, ordinals: vec![3], becomes: Membership::In });
        let damage = TransactWrite { sets: changes, ..TransactWrite::default() };
        block_on(store.transact_write(damage)).expect("it is damaged");
        let found = block_on(findings(&db));
        // Every set lacks the first note and has an unknown ordinal; sets of tags have the second
        // note, which has no tags.
        assert_eq!(found.len(), names.len() * 2 + 2 + 1, "{found:#?}");
        block_on(db.verify(Repair::Yes, |_| {})).expect("it is repaired");
        assert_clean(&db);
        assert_eq!(texts(&db, Filter::tag("a", "x")), ["one"]);
    });
}

#[test]
fn concurrent_writers_get_distinct_ordinals() {
    let store: Arc<dyn Store> = Arc::new(engine(&SimDisk::new(0)));
    let db = block_on(open(TAGGED, store.clone()));
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let db = db.clone();
            scope.spawn(move || {
                for n in 0..20 {
                    note(&db, &format!("{writer} {n}"), json!({ "a": format!("{}", n % 3) }));
                }
            });
        }
    });
    assert_clean(&db);
    let total = block_on(db.list("note", "all").tag("a", "1").total()).expect("a total");
    assert_eq!(total.count, 8 * 7);
    assert!(store.sets().is_some());
}

#[test]
fn tags_are_listed_with_their_counts() {
    each_store(|store| {
        let db = block_on(open(TAGGED, store.clone()));
        for tags in [json!({ "a": "x", "ab": "z" }), json!({ "a": "xy" }), json!({ "a": "x" })] {
            note(&db, "a note", tags);
        }
        assert_tags_listed(&db);
        let rows = keeping(TAGGED, store, MatchingUse::Rows);
        block_on(rows.backfill(|_| {})).expect("it is filled");
        assert_tags_listed(&rows);
    });
}

fn assert_tags_listed(db: &Db) {
    let query = |limit| db.list("note", "all").limit(limit);
    let found = |query: ListQuery, find: &FindTags| {
        let page = block_on(query.tags(find)).expect("tags are listed");
        let text = |count: &ValueCount| format!("{} {}", count.value, count.count);
        (page.counts.iter().map(text).collect::<Vec<_>>(), page.next)
    };
    let keys = FindTags::default();
    assert_eq!(found(query(9), &keys), (vec!["\"a\" 3".to_owned(), "\"ab\" 1".to_owned()], None));
    let (first, next) = found(query(1), &keys);
    assert_eq!(first, ["\"a\" 3"]);
    let after = query(1).after(next.expect("there is more"));
    assert_eq!(found(after.clone(), &keys), (vec!["\"ab\" 1".to_owned()], None));
    let values = FindTags { key: Some("a".to_owned()), ..keys };
    assert_eq!(found(query(9), &values).0, ["\"x\" 2", "\"xy\" 1"]);
    let typed = FindTags { prefix: "xy".to_owned(), ..values.clone() };
    assert_eq!(found(query(9), &typed).0, ["\"xy\" 1"]);
    let within = query(9).filter(Filter::has_tag("ab"));
    assert_eq!(found(within, &values).0, ["\"x\" 1"]);
    let error = block_on(after.tags(&values)).expect_err("a cursor of another question");
    assert!(matches!(error, Error::Cursor(_)), "{error}");
}

#[test]
fn a_cursor_belongs_to_its_filter() {
    each_store(|store| {
        let db = block_on(open(TAGGED, store));
        for n in 0..5 {
            note(&db, &format!("{n}"), json!({ "a": "x", "b": "y" }));
        }
        let ask = |filter| db.list("note", "all").filter(filter).limit(2);
        let (a, b) = (Filter::tag("a", "x"), Filter::tag("b", "y"));
        let page = block_on(ask(Filter::all([a.clone(), b.clone()])).read()).expect("a page");
        let next = page.next.expect("there is more");
        // An equivalent filter is the same filter.
        let same = ask(Filter::all([b.clone(), a.clone(), b])).after(next.clone());
        assert_eq!(block_on(same.read()).expect("a page").items.len(), 2);
        for other in [a.clone(), a.not()] {
            let error = block_on(ask(other).after(next.clone()).read()).expect_err("another");
            assert!(error.to_string().contains("cursor"), "{error}");
        }
    });
}

#[test]
fn several_changes_in_one_transaction_update_their_sets() {
    each_store(|store| {
        let db = block_on(open(TAGGED, store));
        let make = |text: &str| {
            Change::create("note", &json!({ "text": text, "tags": { "a": "x" } }))
                .expect("a change")
        };
        block_on(db.transact(vec![make("one"), make("two")])).expect("they are created");
        assert_eq!(texts(&db, Filter::tag("a", "x")), ["one", "two"]);
        assert_clean(&db);
    });
}

/// A backfill adds facet index keys to rows that were written by a version without facet indexes.
#[test]
fn facet_indexes_are_built_for_existing_entities() {
    each_store(|store| {
        let db = block_on(open(TAGGED, store.clone()));
        note(&db, "one", json!({ "a": "x" }));
        note(&db, "two", json!({}));
        drop(db);
        take_places_by_facet(&*store);
        let db = block_on(open(TAGGED, store.clone()));
        let early = block_on(db.list("note", "all").filter(Filter::facet("kind", "memo")).read());
        assert!(matches!(early, Err(Error::Building { .. })));
        note(&db, "three", json!({}));
        block_on(db.backfill(|_| {})).expect("it is filled");
        assert_eq!(texts(&db, Filter::facet("kind", "memo")), ["one", "two", "three"]);
        assert_clean(&db);
    });
}

/// Earlier, no rows were rewritten, and filters searched for index keys of the new order.
#[test]
fn facets_can_change_their_order() {
    let model = |facets: &str| {
        format!(
            "[entity.note]\nfields.text = \"text\"\nfields.kind = \"enum(memo, plan) = memo\"\n\
             fields.rank = \"int 1..5\"\nlist.all = {{ order = \"text\", facets = [{facets}] }}\n"
        )
    };
    each_store(|store| {
        let db = block_on(open(&model("'kind', 'rank'"), store.clone()));
        for rank in 1..=5 {
            let document = json!({ "text": format!("{rank}"), "rank": rank });
            block_on(db.create("note", &document)).expect("it is created");
        }
        drop(db);
        let db = block_on(open(&model("'rank', 'kind'"), store));
        block_on(db.backfill(|_| {})).expect("it is filled");
        let both = Filter::all([Filter::facet("kind", "memo"), Filter::facet("rank", 3)]);
        assert_eq!(texts(&db, both), ["3"]);
        assert_clean(&db);
    });
}

/// Changes a table to what a version without facet indexes wrote.
fn take_places_by_facet(store: &dyn Store) {
    let table = TableName::new(&Options::default().table).expect("a name");
    let rows = block_on(store.scan(Scan::new(&table))).expect("all rows").items;
    let mut places = vec![];
    for row in &rows {
        let Some(Value::M(slots)) = row.get("slots") else { continue };
        let mut row = row.clone();
        let mut slots = slots.clone();
        let Some(Value::M(note)) = slots.get("note") else { continue };
        let mut note = note.clone();
        let slot = note.remove("#facets all").expect("the list has places by facet");
        places.extend(["P", "S"].map(|end| format!("L{slot}{end}")));
        slots.insert("note", Value::M(note));
        row.insert("slots", Value::M(slots));
        block_on(store.put(Put::new(&table, row))).expect("it is written");
    }
    for row in rows.iter().filter(|row| row.contains(&places[0])) {
        let mut row = row.clone();
        places.iter().for_each(|place| drop(row.remove(place)));
        block_on(store.put(Put::new(&table, row))).expect("it is written");
    }
}
