//! The stores under test. A new store is added here, and nowhere else.

use std::sync::Arc;

use keyloom_store::{Background, Engine, Options, Store};
use keyloom_testkit::{ManualClock, MemorySubject, SimDisk, Subject};

use crate::rig::DIRECTORY;

/// Creates a fresh subject.
pub(crate) type Make = fn() -> Box<dyn Subject>;

/// Every store that must pass the suite and answer histories like the memory store.
pub(crate) const STORES: &[(&str, Make)] = &[("reference", reference), ("engine", engine)];

/// The store that the others are compared with.
pub(crate) fn reference() -> Box<dyn Subject> {
    Box::new(MemorySubject::new())
}

/// The engine, on a disk in memory.
pub(crate) fn engine() -> Box<dyn Subject> {
    let (disk, clock) = (SimDisk::new(0), ManualClock::new());
    Box::new(EngineSubject::open(&disk, clock))
}

/// The engine as a subject. Background work runs only in `settle`.
pub(crate) struct EngineSubject {
    pub(crate) engine: Arc<Engine>,
    clock: ManualClock,
}

impl EngineSubject {
    pub(crate) fn open(disk: &SimDisk, clock: ManualClock) -> EngineSubject {
        let options = Options {
            background: Background::Manual,
            memory_bytes: 8 << 20,
            clock: Arc::new(clock.clone()),
            disk: Arc::new(disk.clone()),
            ..Options::default()
        };
        let engine = Engine::open(DIRECTORY, options).expect("an engine opens");
        EngineSubject { engine: Arc::new(engine), clock }
    }
}

impl Subject for EngineSubject {
    fn store(&self) -> Arc<dyn Store> {
        self.engine.clone()
    }

    fn clock(&self) -> &ManualClock {
        &self.clock
    }

    fn settle(&self) {
        self.engine.settle().expect("background work succeeds");
    }
}
