//! Backups: a copy is exactly one point in time, even with concurrent writers or a power failure,
//! and is either complete or nothing.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use keyloom_store::{
    Background, Clock, CopyProgress, DirectoryError, Disk, Engine, Error, IndexProjection,
    IndexScope, IndexSpec, KeySchema, KeyType, Moment, OpenMode, Options, Put, Read, Restore, Scan,
    Store, TableSpec, TransactAction, TransactWrite,
};
use keyloom_testkit::history::Player;
use keyloom_testkit::{ManualClock, MemorySubject, SimDisk, Subject};
use keyloom_value::{Item, Value};
use pollster::FutureExt;

use crate::copies::{
    BACK, COPY, Life, assert_same, contents, copy, disk_with_backup, histories, random_history,
    restore, step,
};
use crate::rig::{DIRECTORY, count, numbered, open, plain_table, put, repeatable, table};

/// Histories with a backup in their middle.
const HISTORIES: u32 = 24;
/// Seeds for what survives of unsynced writes, tried for every crash.
const FATES: u64 = 6;
/// Seeds for names alone, which are checked without opening anything.
const NAME_FATES: u64 = 64;

#[test]
fn a_backup_in_the_middle_of_a_history_is_that_state_and_leaves_the_store_unchanged() {
    let histories = histories(HISTORIES);
    for number in 0..histories {
        let ops = random_history(number);
        let middle = ops.len() * (number as usize + 1) / histories as usize;
        let disk = SimDisk::new(number.into());
        let source = Life::open(&disk, DIRECTORY, ManualClock::START);
        let reference = MemorySubject::new();
        let (mut right, mut left) = (Player::new(&reference), Player::new(&source));
        for op in &ops[..middle] {
            step(&mut left, &source.clock, op);
            step(&mut right, reference.clock(), op);
        }
        let made = copy(&source.engine, COPY).unwrap();
        assert_eq!(made.commit, source.commit());
        let copied = Life::open(&disk, COPY, source.clock.now());
        assert_same(&contents(&copied), &contents(&reference), "the copy");
        for op in &ops[middle..] {
            let left = step(&mut left, &source.clock, op);
            let right = step(&mut right, reference.clock(), op);
            assert!(left == right, "{op:#?}\nis {left:#?}\nand should be {right:#?}");
        }
        assert_same(&left.contents(), &right.contents(), "the store that was copied");
    }
}

#[test]
fn nothing_is_copied_over_existing_files() {
    let disk = disk_with_backup(3);
    let engine = open(&disk).unwrap();
    Disk::create_directory(&disk, "/mine".as_ref()).unwrap();
    Disk::open(&disk, "/mine/thesis.tex".as_ref(), OpenMode::Create).unwrap();
    for target in [COPY, "/mine"] {
        let before = disk.files();
        let error = copy(&engine, target).unwrap_err();
        assert!(matches!(error, Error::Directory(DirectoryError::Foreign { .. })), "{error}");
        // The backup itself is in use while it is restored.
        let error = restore(&disk, Moment::Latest, target).unwrap_err();
        assert!(
            matches!(
                error,
                Error::Directory(DirectoryError::Foreign { .. } | DirectoryError::Locked { .. })
            ),
            "{error}"
        );
        assert_eq!(disk.files(), before);
    }
    for error in [copy(&engine, DIRECTORY), restore(&disk, Moment::Latest, DIRECTORY)] {
        assert!(matches!(error, Err(Error::Directory(DirectoryError::Locked { .. }))), "{error:?}");
    }
    assert_eq!(count(&engine, &table("plain")), 6);
}

/// Creates a store with so many rows that copying them takes several commits.
fn large_store(disk: &SimDisk) -> (Engine, ManualClock) {
    let clock = ManualClock::new();
    let options = Options { clock: Arc::new(clock.clone()), ..repeatable(disk) };
    let engine = Engine::open(DIRECTORY, options).unwrap();
    let plain = plain_table(&engine);
    for first in (0..12_000).step_by(100) {
        let put = |id| TransactAction::Put(Put::new(&plain, numbered(id)));
        let actions = (first..first + 100).map(put).collect();
        engine.transact_write(TransactWrite::new(actions)).block_on().unwrap();
    }
    (engine, clock)
}

#[track_caller]
fn check_reports(reports: &[CopyProgress], made: CopyProgress) {
    assert!(reports.len() >= 3, "{reports:?}");
    let order = |report: &CopyProgress| (report.rows, report.commit, report.at);
    assert!(reports.is_sorted_by_key(order), "{reports:?}");
    assert_eq!(*reports.last().unwrap(), made);
    assert!(made.rows >= 12_000);
}

#[test]
fn copies_report_their_progress_ascending_up_to_what_they_made() {
    let disk = SimDisk::new(0);
    let (engine, clock) = large_store(&disk);
    let copied_at = clock.now();
    let mut reports = Vec::new();
    let made = engine
        .backup(COPY, &mut |report| {
            reports.push(report);
            ControlFlow::Continue(())
        })
        .unwrap();
    check_reports(&reports, made);
    assert_eq!((made.commit, made.at), (121, copied_at));
    clock.advance_ms(5000);
    (0..50).for_each(|id| put(&engine, &table("plain"), 20_000 + id).unwrap());
    reports.clear();
    let all = Restore {
        backup: COPY.into(),
        logs: vec![DIRECTORY.into()],
        to: Moment::Latest,
        target: BACK.into(),
    };
    let made = Engine::restore(&all, &repeatable(&disk), &mut |report| {
        reports.push(report);
        ControlFlow::Continue(())
    })
    .unwrap();
    check_reports(&reports, made);
    assert_eq!((made.commit, made.at), (171, clock.now()));
    let restored = Engine::open(BACK, repeatable(&disk)).unwrap();
    let described = restored.describe_table(table("plain")).block_on().unwrap();
    assert_eq!(described.items, 12_050);
}

/// Cuts the power at every sync of a copy, with different outcomes for unsynced writes: the target
/// holds nothing or everything, and copying into it again completes it.
fn check_every_crash(
    base: &SimDisk,
    target: &str,
    items: u64,
    act: impl Fn(&SimDisk) -> Result<CopyProgress, Error>,
) {
    for k in 1.. {
        let disk = base.after_crash(0);
        disk.crash_at_sync(k);
        let outcome = act(&disk);
        if !disk.crashed() {
            outcome.unwrap();
            assert!(k > 5, "a copy must use the disk");
            return;
        }
        (0..NAME_FATES).for_each(|fate| check_names(&disk.after_crash(fate), target));
        for fate in 0..FATES {
            let survived = disk.after_crash(k * 31 + fate);
            check_nothing_or_all(&survived.after_crash(0), target, items);
            check_again(&survived, target, items, &act);
        }
    }
}

/// The format file vouches for the others. Its name once became durable before the tree's, and such
/// a directory could neither be opened nor created again.
fn check_names(disk: &SimDisk, target: &str) {
    let files = disk.files();
    let is_there = |name: &str| files.contains(&Path::new(target).join(name));
    assert!(!is_there("format") || is_there("tree.redb"), "{files:?}");
}

fn check_nothing_or_all(disk: &SimDisk, target: &str, items: u64) {
    let engine = Engine::open(target, repeatable(disk)).expect("a crash leaves what opens");
    if !engine.list_tables().block_on().unwrap().is_empty() {
        assert_eq!(count(&engine, &table("plain")), items);
    }
}

fn check_again(
    disk: &SimDisk,
    target: &str,
    items: u64,
    act: impl Fn(&SimDisk) -> Result<CopyProgress, Error>,
) {
    match act(disk) {
        // The copy was finished just before the power was cut.
        Ok(_) | Err(Error::Directory(DirectoryError::Foreign { .. })) => {}
        Err(error) => panic!("cannot copy again: {error}"),
    }
    let engine = Engine::open(target, repeatable(disk)).unwrap();
    assert_eq!(count(&engine, &table("plain")), items);
}

#[test]
fn a_crash_at_every_sync_of_a_backup_leaves_nothing_or_all_of_it() {
    let base = disk_with_backup(30);
    check_every_crash(&base, "/second", 60, |disk| copy(&open(disk)?, "/second"));
}

#[test]
fn a_crash_at_every_sync_of_a_restore_leaves_nothing_or_all_of_it() {
    let base = disk_with_backup(30);
    check_every_crash(&base, BACK, 50, |disk| restore(disk, Moment::Commit(51), BACK));
}

/// A table of pairs: both halves of one are written atomically.
fn pairs_table(engine: &Engine) {
    let key = KeySchema::partition("id", KeyType::N).and_sort("half", KeyType::S);
    let mut spec = TableSpec::new(table("pairs"), key);
    spec.indexes.push(IndexSpec {
        name: table("by-half"),
        scope: IndexScope::Global,
        key: KeySchema::partition("half", KeyType::S),
        projection: IndexProjection::All,
    });
    engine.create_table(spec).block_on().unwrap();
}

fn write_pair(engine: &Engine, id: u64) {
    let half = |half: &str| {
        let body = "x".repeat((id % 300) as usize);
        let attributes =
            [("id", Value::from(id)), ("half", half.into()), ("body", Value::from(body))];
        TransactAction::Put(Put::new(&table("pairs"), Item::from(attributes)))
    };
    let actions = vec![half("left"), half("right")];
    engine.transact_write(TransactWrite::new(actions)).block_on().unwrap();
}

/// Returns the number of pairs in a copy, each of which must be complete, in the index too.
fn whole_pairs(disk: &SimDisk, directory: &str) -> usize {
    let engine = Engine::open(directory, repeatable(disk)).unwrap();
    let walk = |index| {
        let mut scan = Scan { index, ..Scan::new(&table("pairs")) };
        let mut found = Vec::new();
        loop {
            let page = engine.scan(scan.clone()).block_on().unwrap();
            found.extend(page.items.into_iter().map(|item| item.to_string()));
            match page.last_key {
                Some(last) => scan.start = Some(last),
                None => break,
            }
        }
        found.sort();
        found
    };
    let items = walk(None);
    assert_eq!(items, walk(Some(table("by-half"))), "the index differs from the table");
    let count_of = |half: &str| items.iter().filter(|item| item.contains(half)).count();
    assert_eq!(count_of("left"), count_of("right"), "half a transaction");
    items.len() / 2
}

/// Backs up and restores with concurrent writers, until each was done a few times.
fn copy_beside_writers(disk: &SimDisk, engine: &Engine, written: &AtomicU64) {
    let at_least = |pairs| {
        while written.load(Ordering::Acquire) < pairs {
            thread::yield_now()
        }
    };
    let mut commit = 0;
    for round in 0..4_u64 {
        at_least(written.load(Ordering::Acquire) + 60);
        let before = written.load(Ordering::Acquire) as usize;
        let (copied, back) = (format!("/copy-{round}"), format!("/back-{round}"));
        let made = copy(engine, &copied).unwrap();
        assert!(made.commit > commit);
        commit = made.commit;
        assert!(whole_pairs(disk, &copied) >= before, "what was acknowledged is not copied");
        let later = written.load(Ordering::Acquire) as usize;
        let restore = Restore {
            backup: copied.into(),
            logs: vec![DIRECTORY.into()],
            to: Moment::Latest,
            target: back.as_str().into(),
        };
        let made = Engine::restore(&restore, &repeatable(disk), &mut |_| ControlFlow::Continue(()))
            .unwrap();
        assert!(made.commit >= commit);
        assert!(whole_pairs(disk, &back) >= later, "what was acknowledged is not restored");
    }
}

#[test]
fn copies_with_concurrent_writers_are_consistent() {
    let disk = SimDisk::new(8);
    let options = Options {
        background: Background::Threads,
        // Segments are rotated while they are read.
        log_segment_bytes: 64 << 10,
        ..repeatable(&disk)
    };
    let engine = Engine::open(DIRECTORY, options).unwrap();
    pairs_table(&engine);
    let (stop, written, next) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !stop.load(Ordering::Acquire) {
                    write_pair(&engine, next.fetch_add(1, Ordering::AcqRel));
                    written.fetch_add(1, Ordering::AcqRel);
                }
            });
        }
        let copied = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            copy_beside_writers(&disk, &engine, &written);
        }));
        // The writers must stop in any case, or a failure would look like a hang.
        stop.store(true, Ordering::Release);
        copied.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}
