//! Background operations resume after any interruption, and report their progress.

use std::collections::BTreeMap;
use std::sync::Arc;

use keyloom::{Clock, Db, Operation, OperationKind};
use keyloom_store::{Engine, Store};
use keyloom_testkit::pausing::{interleave, pausing, stop_after};
use keyloom_testkit::{ManualClock, SimDisk};
use pollster::block_on;
use serde_json::json;

use crate::contents::{first_layout, raw_rows};
use crate::power;
use crate::rig::{assert_clean, memory_store_at, open, open_at};

/// Sessions expire with everything in them; notes lose their references to them.
const SESSIONS: &str = r#"
[entity.session]
id = "given"
expires = "until"
fields.until = "time?"

[entity.page]
id = "given"
parent = "session"
on_parent_delete = "cascade"
count.pages = { by = "session" }

[entity.note]
id = "given"
fields.session = "ref session clear?"
board.sessions = { of = "session" }
"#;

/// The first has more pages than one transaction deletes.
const PAGES: [usize; 4] = [40, 2, 1, 3];

fn fill(db: &Db) {
    for (number, pages) in PAGES.into_iter().enumerate() {
        let id = format!("s{number}");
        // The start time of tests; the last session does not expire.
        let until = if number == 3 { "2030-01-01T00:00:00Z" } else { "2023-11-14T22:13:20Z" };
        block_on(db.create("session", &json!({"id": id, "until": null}))).unwrap();
        for page in 0..pages {
            let page = json!({"id": format!("{number}.{page}"), "session": id});
            block_on(db.create("page", &page)).unwrap();
        }
        block_on(db.create("note", &json!({"id": id, "session": id}))).unwrap();
        block_on(db.update("session", &id, &json!({"until": until}))).unwrap();
    }
}

/// The number of entities of each kind that have rows, visible or not.
fn kept(store: &dyn Store) -> BTreeMap<String, usize> {
    let layout = first_layout(SESSIONS);
    let mut kept = BTreeMap::new();
    for own in raw_rows(store).iter().filter_map(|row| layout.read_own(row).ok()) {
        let kind = layout.model().entity(own.image.key.entity).name.clone();
        *kept.entry(kind).or_default() += 1;
    }
    kept
}

fn put_away(db: &Db) {
    while block_on(db.expire(1_000)).expect("it continues") > 0 {}
}

fn reopened(disk: &SimDisk) -> Option<(Arc<Engine>, Db)> {
    let engine = Arc::new(power::engine(disk).ok()?);
    let options =
        keyloom::Options { clock: Arc::new(ManualClock::new()), ..keyloom::Options::default() };
    let db = block_on(Db::open_with(SESSIONS, engine.clone(), options)).ok()?;
    Some((engine, db))
}

#[test]
fn expiry_resumes_after_a_crash_at_every_sync() {
    let base = SimDisk::new(0);
    {
        let (engine, db) = reopened(&base).expect("a whole disk");
        fill(&db);
        drop(db);
        Arc::into_inner(engine).expect("nobody else has it").close().expect("it closes");
    }
    let mut crashes = 0;
    for sync in 1.. {
        let disk = base.after_crash(sync);
        disk.crash_at_sync(sync);
        if let Some((_, db)) = reopened(&disk) {
            let _ = block_on(db.expire(1_000));
        }
        if !disk.crashed() {
            break;
        }
        crashes += 1;
        let (engine, db) = reopened(&disk.after_crash(sync * 31)).expect("it opens");
        put_away(&db);
        let expected = [("note", 4), ("page", 3), ("session", 1)];
        let expected = expected.map(|(kind, count)| (kind.to_owned(), count));
        assert_eq!(kept(&*engine), BTreeMap::from(expected), "after sync {sync}");
        let sessions = block_on(db.board("sessions").read()).expect("it is read").items;
        assert_eq!(sessions.len(), 1, "after sync {sync}");
        assert_clean(&db);
    }
    assert!(crashes > 5, "{crashes}");
}

fn only(operations: Vec<Operation>) -> Operation {
    assert_eq!(operations.len(), 1, "{operations:?}");
    operations.into_iter().next().expect("there is one")
}

#[test]
fn large_deletions_and_expiry_report_their_progress() {
    let clock = ManualClock::new();
    let store: Arc<dyn Store> = Arc::new(memory_store_at(&clock));
    let quick = block_on(open_at(SESSIONS, store.clone(), &clock));
    fill(&quick);
    assert_eq!(block_on(quick.operations()).unwrap(), []);
    let slow = interleave(open_at(SESSIONS, pausing(store), &clock), |_| {});
    let began_ms = i64::try_from(clock.now().0).unwrap();
    let mut told: Vec<Operation> = vec![];
    interleave(slow.expire(1_000), |_| told.extend(block_on(slow.operations()).unwrap())).unwrap();
    assert!(told.iter().all(|operation| operation.since_ms >= began_ms), "{told:?}");
    let of = |kind: OperationKind| {
        let of_kind = told.iter().filter(|operation| operation.kind == kind);
        of_kind.map(|operation| (operation.of.as_str(), operation.done, operation.total)).collect()
    };
    let found: Vec<(&str, u64, Option<u64>)> = of(OperationKind::Deletion);
    let is_known = |(of, done, total): &(&str, u64, Option<u64>)| {
        *of == "session/s0" && (1..=42).contains(done) && total.is_none()
    };
    assert!(!found.is_empty() && found.iter().all(is_known), "{found:?}");
    let found: Vec<(&str, u64, Option<u64>)> = of(OperationKind::Clearing);
    assert_eq!(found.first(), Some(&("session/s0", 0, Some(42))));
    assert!(found.is_sorted_by_key(|(_, done, _)| done), "{found:?}");
    let found: Vec<(&str, u64, Option<u64>)> = of(OperationKind::Expiry);
    // Expiring the third session is its last step.
    assert_eq!(found.last(), Some(&("session", 2, None)));
    assert_eq!(block_on(slow.operations()).unwrap(), []);
}

/// Rewrites enough rows for several steps.
#[test]
fn a_backfill_reports_its_progress_and_resumes_there_after_a_restart() {
    let before = "[entity.thing]\nid = 'given'\nfields.size = 'int'\n";
    let after = format!("{before}list.by_size = {{ order = 'size' }}\n");
    let store: Arc<dyn Store> = Arc::new(memory_store_at(&ManualClock::new()));
    let db = block_on(open(before, store.clone()));
    for number in 0..1_200 {
        block_on(db.create("thing", &json!({"id": number.to_string(), "size": number}))).unwrap();
    }
    drop(db);
    let slow = interleave(open(&after, pausing(store.clone())), |_| {});
    let start = only(block_on(slow.operations()).unwrap());
    assert_eq!((start.kind, start.done), (OperationKind::Backfill, 0));
    for pauses in 0.. {
        stop_after(pauses, slow.backfill(|_| {}));
        if only(block_on(slow.operations()).unwrap()).done > 0 {
            break;
        }
    }
    // Another process resumes where this one stopped.
    drop(slow);
    let again = block_on(open(&after, store));
    let stopped = only(block_on(again.operations()).unwrap());
    assert_eq!((stopped.kind, stopped.of.as_str()), (OperationKind::Backfill, "model"));
    assert!(stopped.done >= 500 && stopped.total >= Some(1_200), "{stopped:?}");
    let mut steps = vec![];
    block_on(again.backfill(|progress| steps.push(progress.rows))).unwrap();
    assert!(steps.first() > Some(&stopped.done), "{steps:?} after {stopped:?}");
    assert_eq!(block_on(again.operations()).unwrap(), []);
    assert_clean(&again);
}
