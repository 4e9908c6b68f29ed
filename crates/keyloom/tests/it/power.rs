//! Power failures at every sync of a script. Afterwards all acknowledged steps are present, the
//! step in progress is atomic, and `verify` finds nothing.

use std::path::Path;
use std::sync::Arc;

use keyloom::{Db, Error};
use keyloom_model::Layout;
use keyloom_store::{Background, Clock, Engine, MemoryStore, Options, Store};
use keyloom_testkit::{ManualClock, SimDisk};
use pollster::block_on;

use crate::contents::{Contents, Look, first_layout};
use crate::rig::{assert_clean, open};

/// How many outcomes of unsynced writes are tried for every crash.
const FATES: u64 = 2;
/// How often the script is run to its end after a crash.
const PLAY_ON_EVERY: u64 = 6;

/// One step, run on a database that is opened under a model and completely backfilled.
pub(crate) struct Step {
    pub(crate) model: &'static str,
    pub(crate) run: fn(&Db) -> Result<(), Error>,
}

/// The initial data, and the steps.
pub(crate) struct Script {
    pub(crate) model: &'static str,
    pub(crate) setup: fn(&Db),
    pub(crate) steps: Vec<Step>,
}

/// What is visible before and after each step.
struct Expected {
    before: Contents,
    after: Contents,
}

impl Script {
    /// Runs the script once for each of its syncs, with a power failure there. Returns the number
    /// of crashes.
    pub(crate) fn crash_everywhere(&self) -> usize {
        let base = self.base();
        let expected: Vec<Expected> = (0..self.steps.len()).map(|s| self.expected(s)).collect();
        (1..).take_while(|k| self.crash_at(*k, &base, &expected)).count()
    }

    /// A disk with the initial data.
    fn base(&self) -> SimDisk {
        let disk = SimDisk::new(0);
        let engine = Arc::new(engine(&disk).expect("a whole disk"));
        (self.setup)(&block_on(open(self.model, engine.clone())));
        Arc::into_inner(engine).expect("nobody else has it").close().expect("it closes");
        disk
    }

    /// The content of a store without failures before and after a step.
    fn expected(&self, step: usize) -> Expected {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::new(ManualClock::new())));
        (self.setup)(&block_on(open(self.model, store.clone())));
        for step in &self.steps[..step] {
            step.play(&store).expect("the script works");
        }
        let step_now = &self.steps[step];
        drop(step_now.open(&store));
        let before = self.look(&*store, step);
        step_now.play(&store).expect("the script works");
        Expected { before, after: self.look(&*store, step) }
    }

    /// Returns false if there are fewer syncs.
    fn crash_at(&self, k: u64, base: &SimDisk, expected: &[Expected]) -> bool {
        let disk = base.after_crash(k);
        disk.crash_at_sync(k);
        let mut done = 0;
        if let Ok(engine) = engine(&disk) {
            let store: Arc<dyn Store> = Arc::new(engine);
            done = self.steps.iter().take_while(|step| step.play(&store).is_ok()).count();
        }
        if done == self.steps.len() && !disk.crashed() {
            return false;
        }
        assert!(disk.crashed(), "step {done} failed on a whole disk");
        let step = done.min(self.steps.len() - 1);
        for fate in 0..FATES {
            let survived = disk.after_crash(k * 31 + fate);
            let play_on = (k + fate).is_multiple_of(PLAY_ON_EVERY);
            self.check(&survived, expected, (step, done), play_on);
        }
        true
    }

    /// `done` steps were acknowledged; `step` is in progress.
    fn check(
        &self,
        disk: &SimDisk,
        expected: &[Expected],
        (step, done): (usize, usize),
        play_on: bool,
    ) {
        let engine = Arc::new(engine(disk).expect("it opens after a crash"));
        let store: Arc<dyn Store> = engine.clone();
        let Expected { before, after } = &expected[step];
        if self.steps.iter().all(|step| step.model == self.model) {
            self.check_unresumed(&*store, before, after);
        }
        let db = self.steps[step].open(&store);
        engine.settle().expect("the index is filled");
        assert_clean(&db);
        let found = self.look(&*store, step);
        if done > step {
            assert_eq!(&found, after, "the last step was acknowledged");
        }
        assert!(
            &found == before || &found == after,
            "{found:#?}\nis neither\n{before:#?}\nnor\n{after:#?}"
        );
        if play_on {
            let rest = if &found == after { step + 1 } else { step };
            for step in &self.steps[rest..] {
                step.play(&store).expect("the rest works");
            }
            engine.settle().expect("the index is filled");
            let last = self.steps.len() - 1;
            assert_eq!(self.look(&*store, last), expected[last].after);
            assert_clean(&self.steps[last].open(&store));
        }
    }

    /// Before anything is resumed, a reader sees the state before or after the step.
    fn check_unresumed(&self, store: &dyn Store, before: &Contents, after: &Contents) {
        if block_on(store.list_tables()).expect("the store answers").is_empty() {
            return;
        }
        let found = self.look(store, 0);
        assert!(
            found == *before || found == *after,
            "{found:#?}\nis neither\n{before:#?}\nnor\n{after:#?}"
        );
    }

    fn look(&self, store: &dyn Store, step: usize) -> Contents {
        let layout = self.layout(step);
        let now_ms = i64::try_from(ManualClock::new().now().0).expect("a time");
        Look { store, layout: &layout, now_ms, lists: true }.contents()
    }

    /// The layout at a step: lists keep their slots.
    fn layout(&self, step: usize) -> Layout {
        let mut layout = first_layout(self.model);
        let mut text = self.model;
        for (number, step) in (2..).zip(&self.steps[..=step]) {
            if step.model != text {
                text = step.model;
                let model = keyloom_model::check(text).expect("the model has no errors");
                layout = Layout::new(model, number, &layout.slots());
            }
        }
        layout
    }
}

impl Step {
    fn play(&self, store: &Arc<dyn Store>) -> Result<(), Error> {
        let db = self.try_open(store)?;
        (self.run)(&db)
    }

    fn open(&self, store: &Arc<dyn Store>) -> Db {
        self.try_open(store).expect("the database opens")
    }

    fn try_open(&self, store: &Arc<dyn Store>) -> Result<Db, Error> {
        let clock = Arc::new(ManualClock::new());
        let options = keyloom::Options { clock, ..keyloom::Options::default() };
        block_on(async {
            let db = Db::open_with(self.model, store.clone(), options).await?;
            db.backfill(|_| {}).await?;
            Ok(db)
        })
    }
}

pub(crate) fn engine(disk: &SimDisk) -> Result<Engine, keyloom_store::Error> {
    let options = Options {
        background: Background::Manual,
        memory_bytes: 8 << 20,
        clock: Arc::new(ManualClock::new()),
        disk: Arc::new(disk.clone()),
        ..Options::default()
    };
    Engine::open(Path::new("/data"), options)
}

/// Opens a store and a database on a disk, and verifies it.
pub(crate) fn try_create(disk: &SimDisk, model: &'static str) -> Result<(), Error> {
    let store: Arc<dyn Store> = Arc::new(engine(disk)?);
    let step = Step { model, run: |_| Ok(()) };
    let db = step.try_open(&store)?;
    assert_clean(&db);
    Ok(())
}
