//! Databases on every kind of store.

use std::sync::Arc;

use keyloom::events::{Handlers, Next};
use keyloom::{Clock, Db, MatchingUse, Options, Repair};
use keyloom_store::{
    Answer, Background, Engine, Error as StoreError, MemoryStore, Options as EngineOptions, Read,
    SeqNo, Sets, Store,
};
use keyloom_testkit::{Front, InFront, ManualClock, SimDisk};
use pollster::block_on;

/// Runs a test on each store.
pub(crate) fn each_store(test: impl Fn(Arc<dyn Store>)) {
    test(Arc::new(memory_store_at(&ManualClock::new())));
    test(Arc::new(engine(&SimDisk::new(0))));
}

/// A store in memory with this clock.
pub(crate) fn memory_store_at(clock: &ManualClock) -> MemoryStore {
    MemoryStore::new(Arc::new(clock.clone()))
}

/// An engine on a simulated disk.
pub(crate) fn engine(disk: &SimDisk) -> Engine {
    engine_on(disk, &ManualClock::new())
}

/// An engine with this clock, on a disk of its own.
pub(crate) fn engine_at(clock: &ManualClock) -> Engine {
    engine_on(&SimDisk::new(0), clock)
}

/// An engine with this clock, on this disk.
pub(crate) fn engine_on(disk: &SimDisk, clock: &ManualClock) -> Engine {
    let options = EngineOptions {
        background: Background::Manual,
        clock: Arc::new(clock.clone()),
        disk: Arc::new(disk.clone()),
        ..EngineOptions::default()
    };
    Engine::open(std::path::Path::new("/data"), options).expect("the engine opens")
}

/// A database whose clock stands still.
pub(crate) async fn open(model: &str, store: Arc<dyn Store>) -> Db {
    open_at(model, store, &ManualClock::new()).await
}

/// A database with a clock of the test's own.
pub(crate) async fn open_at(model: &str, store: Arc<dyn Store>, clock: &ManualClock) -> Db {
    let clock = Arc::new(clock.clone());
    // Tests go back and forth between models.
    let options = Options { clock, allow_older_model: true, ..Options::default() };
    Db::open_with(model, store, options).await.expect("the database opens")
}

/// The findings of a verification without repair.
pub(crate) async fn findings(db: &Db) -> Vec<String> {
    let found = db.verify(Repair::No, |_| {}).await.expect("the store answers");
    found.iter().map(ToString::to_string).collect()
}

/// Compares a text with the file of this name in `tests/golden`; writes the file if `KEYLOOM_BLESS`
/// is set.
#[track_caller]
pub(crate) fn assert_golden(name: &str, text: &str) {
    let path = format!("{}/tests/golden/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("KEYLOOM_BLESS").is_some() {
        std::fs::write(&path, text).expect("the file is written");
    }
    let expected = std::fs::read_to_string(&path).expect("there is such a file");
    assert!(text == expected, "tests/golden/{name}.txt differs:\n{text}");
}

/// Asserts that a verification finds nothing.
#[track_caller]
pub(crate) fn assert_clean(db: &Db) {
    let found = pollster::block_on(findings(db));
    assert!(found.is_empty(), "{found:#?}");
}

/// Works until nothing is left to do, advancing the clock as needed.
pub(crate) fn settle(db: &Db, handlers: &Handlers, clock: &ManualClock) {
    for _ in 0..1_000 {
        match block_on(db.work(handlers)).unwrap().next {
            Next::Now => {}
            Next::At(ms) => {
                let now = clock.now().0;
                clock.advance_ms(u64::try_from(ms).unwrap().saturating_sub(now).max(1));
            }
            Next::Idle => return,
        }
    }
    panic!("there is always more to do");
}

/// Folds everything that is in deltas of posting lists, where the store has no sets; also if another
/// process did before, which counts as dead after a while.
pub(crate) fn fold(db: &Db, clock: &ManualClock) {
    for _ in 0..6 {
        block_on(db.fold()).expect("it is folded");
        clock.advance_ms(11_000);
    }
}

/// Completes all deletions, also those of other processes, which count as dead after a while.
pub(crate) fn end_deletions(db: &Db, clock: &ManualClock) {
    for _ in 0..3 {
        block_on(db.resume_deletions()).expect("it continues");
        clock.advance_ms(30_000);
    }
}

/// A store without sets and additions, where a deletion of few entities is already a large one.
#[derive(Clone)]
pub(crate) struct Plain(pub(crate) Arc<dyn Store>);

impl Front for Plain {
    fn behind(&self) -> &dyn Store {
        &*self.0
    }

    fn sets(&self) -> Option<&dyn Sets> {
        None
    }

    fn adds_numbers(&self) -> bool {
        false
    }

    fn indexes_max(&self) -> usize {
        20
    }
}

/// A store without sets and additions, in memory.
pub(crate) fn plain_store(clock: &ManualClock) -> Arc<dyn Store> {
    Arc::new(InFront(Plain(Arc::new(memory_store_at(clock)))))
}

/// Opens a database whose posting lists are rows, with any model that its data fits, also one of before.
pub(crate) fn open_any(model: &str, store: &Arc<dyn Store>, clock: &ManualClock) -> Db {
    let (clock, matching) = (Arc::new(clock.clone()), MatchingUse::Rows);
    let options = Options { clock, matching, allow_older_model: true, ..Options::default() };
    block_on(Db::open_with(model, store.clone(), options)).expect("it opens")
}

/// A store like DynamoDB: no sets, no additions, no snapshots, and processes share it.
struct Shared(Arc<dyn Store>);

impl Front for Shared {
    fn behind(&self) -> &dyn Store {
        &*self.0
    }

    fn sets(&self) -> Option<&dyn Sets> {
        None
    }

    fn adds_numbers(&self) -> bool {
        false
    }

    fn opening(&self) -> Option<u64> {
        None
    }

    fn when_changed(&self, _: SeqNo) -> Option<Answer<'_, ()>> {
        None
    }

    fn snapshot(&self) -> Answer<'_, Arc<dyn Read>> {
        Box::pin(async { Err(StoreError::Unsupported { what: "snapshots" }) })
    }
}

/// A store that processes share, in memory.
pub(crate) fn shared_store(clock: &ManualClock) -> Arc<dyn Store> {
    Arc::new(InFront(Shared(Arc::new(memory_store_at(clock)))))
}
