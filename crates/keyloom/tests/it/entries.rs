//! Entries: exported in an order in which they can be imported, imported once, and only for their
//! own tenant.

use std::sync::Arc;

use keyloom::{Db, Entry, Error, Existing, Imported, TenantProblem};
use keyloom_store::Store;
use keyloom_testkit::ManualClock;
use keyloom_value::{Item, Value};
use pollster::block_on;

use crate::rig::{assert_clean, each_store, memory_store_at, open};

const MODEL: &str = r#"
    [entity.child]
    parent = "parent"
    on_parent_delete = "cascade"
    fields.rank = "number"

    [entity.parent]
    tenant = "team"
    fields.team = "text"
    fields.name = "text"
    fields.when = "time = now"
    fields.mood = "text? = 'good'"
    unique = ["name"]
"#;

fn parent(team: &str, id: &str, name: &str) -> Entry {
    let fields = Item::from([("team", Value::from(team)), ("name", Value::from(name))]);
    let (entity, tenant) = ("parent".to_owned(), Some(Value::from(team)));
    Entry { entity, tenant, id: id.to_owned(), fields }
}

fn child(team: &str, id: &str, parent: &str) -> Entry {
    let rank = "0.10000000000000000000000000000000000001".parse().expect("a number");
    let fields = Item::from([("parent", Value::from(parent)), ("rank", Value::N(rank))]);
    let (entity, tenant) = ("child".to_owned(), Some(Value::from(team)));
    Entry { entity, tenant, id: id.to_owned(), fields }
}

fn exported(db: &Db, kinds: &[&str]) -> Vec<Entry> {
    block_on(async {
        let mut export = db.export(kinds).await.expect("it can be exported");
        let mut all = vec![];
        while let Some(entries) = export.next().await.expect("the store answers") {
            all.extend(entries);
        }
        assert_eq!(export.progress().rows, export.progress().rows_total);
        all
    })
}

#[test]
fn an_export_is_imported_with_its_ids_and_tenants() {
    each_store(|store| {
        let db = block_on(open(MODEL, store));
        let entries = [parent("a", "1", "x"), parent("b", "1", "x"), child("b", "1", "1")];
        let made = block_on(db.import(entries.to_vec(), Existing::Keep)).expect("it is valid");
        assert_eq!(made, [Imported::Created; 3]);
        let all = exported(&db, &[]);
        let kinds: Vec<&str> = all.iter().map(|entry| entry.entity.as_str()).collect();
        assert_eq!(kinds, ["parent", "parent", "child"]);
        let other: Arc<dyn Store> = Arc::new(memory_store_at(&ManualClock::new()));
        let other = block_on(open(MODEL, other));
        let lines: Vec<String> = all.iter().map(Entry::to_json).collect();
        let read = lines.iter().map(|line| Entry::from_json(line.as_bytes()).expect("an entry"));
        block_on(other.import(read.collect(), Existing::Keep)).expect("it is valid");
        assert_eq!(exported(&other, &[]), all);
        assert_eq!(exported(&other, &["child"]), all[2..]);
        assert_eq!(exported(&other.tenant("a"), &[]), all[..1]);
        assert_clean(&other);
    });
}

#[test]
fn existing_entities_are_kept_unless_replacement_is_requested() {
    each_store(|store| {
        let db = block_on(open(MODEL, store));
        let import = |entry: Entry, existing| block_on(db.import(vec![entry], existing));
        let first = parent("a", "1", "x");
        assert_eq!(import(first.clone(), Existing::Keep).expect("new"), [Imported::Created]);
        let again = import(first.clone(), Existing::Keep).expect("the same");
        assert_eq!(again, [Imported::Unchanged]);
        let other = parent("a", "1", "y");
        assert!(matches!(import(other.clone(), Existing::Keep), Err(Error::Exists { .. })));
        let replaced = import(other, Existing::Replace).expect("it may");
        assert_eq!(replaced, [Imported::Replaced]);
        // The name is free again.
        assert!(import(parent("a", "2", "x"), Existing::Keep).is_ok());
        let taken = import(parent("a", "3", "y"), Existing::Keep);
        assert!(matches!(taken, Err(Error::UniqueViolation { .. })), "{taken:?}");
        let gone = import(child("a", "1", "9"), Existing::Keep);
        assert!(matches!(gone, Err(Error::TargetGone { .. })), "{gone:?}");
        assert_clean(&db);
    });
}

/// Existing entries are checked and not written again, so they may exceed a transaction.
#[test]
fn repeating_a_large_import_changes_nothing() {
    each_store(|store| {
        let db = block_on(open(MODEL, store));
        let large = |n: usize| {
            let mut entry = parent("a", &format!("{n}"), &format!("{n}"));
            entry.fields.insert("mood", "x".repeat(250_000));
            entry
        };
        let entries: Vec<Entry> = (0..20).map(large).collect();
        for some in entries.chunks(5) {
            block_on(db.import(some.to_vec(), Existing::Keep)).expect("they fit");
        }
        let again = block_on(db.import(entries, Existing::Keep)).expect("nothing is written");
        assert_eq!(again, [Imported::Unchanged; 20]);
    });
}

#[test]
fn a_tenant_cannot_import_entities_of_another() {
    each_store(|store| {
        let db = block_on(open(MODEL, store));
        let import = |db: &Db, entry: Entry| block_on(db.import(vec![entry], Existing::Keep));
        let problem = |answer: Result<Vec<Imported>, Error>| match answer {
            Err(Error::Tenant { problem, .. }) => problem,
            answer => panic!("{answer:?}"),
        };
        let mine = parent("a", "1", "x");
        assert_eq!(problem(import(&db.tenant("b"), mine.clone())), TenantProblem::Other);
        let nobodys = Entry { tenant: None, ..mine.clone() };
        assert_eq!(problem(import(&db, nobodys.clone())), TenantProblem::Missing);
        let says_other = Entry { tenant: Some(Value::from("b")), ..mine };
        assert_eq!(problem(import(&db, says_other)), TenantProblem::Other);
        assert!(import(&db.tenant("a"), nobodys).is_ok());
    });
}
