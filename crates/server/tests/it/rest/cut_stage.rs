//! The data of a large deletion, served twice: on one address the deletion is requested, and stopped at any
//! call of the store; on the other one, readers are not affected.

use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use keyloom::{Db, Operation, Options, Repair, Store, SystemEntropy};
use keyloom_server::{Limits, Rest, RestOptions, Tokens};
use keyloom_store::{Background, Engine, Options as EngineOptions};
use keyloom_testkit::{Front, InFront, ManualClock, SimDisk};
use pollster::block_on;
use serde_json::{Value, json};

use crate::rig::{Rig, config, short_limits};

/// Files are deleted with their folder, and so is the next folder; pins lose their reference.
const MODEL: &str = r#"
[entity.folder]
id = "given"
fields.name = "text"
fields.next = "ref folder cascade?"
unique = ["name"]

[entity.file]
id = "given"
parent = "folder"
on_parent_delete = "cascade"
fields.author = "text"
fields.kind = "enum(text, image)"
fields.size = "int"
fields.labels = "tags"
list.by_size = { order = "-size", facets = ["kind"] }
list.of_author = { by = "author", order = "size" }
count.files = { split = ["author", "kind"], shards = 2 }
board.authors = { of = "author" }
board.largest = { rank = "size" }

[entity.pin]
id = "given"
fields.file = "ref file clear?"
fields.folder = "ref folder clear?"
fields.stars = "int"
list.all = { order = "-stars", facets = ["folder"] }
list.in_folder = { by = "folder", order = "stars" }
count.pins = { split = ["folder"] }
board.folders = { of = "folder" }
board.best = { rank = "stars", by = "folder" }
"#;

/// How much data there is.
#[derive(Clone, Debug)]
pub(crate) struct Size {
    /// Files that are deleted: more than fit into one transaction.
    pub(crate) files: usize,
    /// Files that stay.
    pub(crate) others: usize,
    pub(crate) pins: usize,
    pub(crate) shift: usize,
}

/// Which of two states is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Before,
    /// As if the deleted data had never existed.
    After,
}

/// What happened to a deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// It has reached the call of the store at which it is interrupted.
    Reached,
    /// It was dropped there.
    Dropped,
    /// It was answered with this status; 0 if the connection ended.
    Answered(u16),
}

/// What a deletion does at the call of the store at which it is interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// It waits there until it is dropped.
    Held,
    /// It continues.
    Running,
}

/// A store that reports when a number of calls were made.
struct Gate {
    behind: Arc<dyn Store>,
    calls: AtomicU64,
    cut: Mutex<Option<(u64, Pace, Sender<Event>)>>,
}

impl Front for Gate {
    fn behind(&self) -> &dyn Store {
        &*self.behind
    }

    fn before(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            let call = 1 + self.calls.fetch_add(1, Ordering::SeqCst);
            let here = self.cut.lock().unwrap().clone().filter(|(at, ..)| *at == call);
            let Some((_, pace, tell)) = here else { return };
            // The receiver may be gone.
            let _ = tell.send(Event::Reached);
            if pace == Pace::Held {
                let _dropped = Dropped(tell);
                std::future::pending::<()>().await;
            }
        })
    }
}

/// Reports when it is dropped.
struct Dropped(Sender<Event>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.send(Event::Dropped);
    }
}

/// The served model, with its data.
pub(crate) struct Stage {
    db: Db,
    gate: Arc<InFront<Gate>>,
    pub(crate) deleting: Rig,
    pub(crate) reading: Rig,
}

impl Stage {
    /// Starts with this time limit for deletions.
    pub(crate) fn open(store: Arc<dyn Store>, answer_time: Duration) -> Stage {
        let (calls, cut) = (AtomicU64::new(0), Mutex::new(None));
        let gate = Arc::new(InFront(Gate { behind: store.clone(), calls, cut }));
        let (db, deleting) = serve(gate.clone(), Limits { answer_time, ..short_limits() });
        let (_, reading) = serve(store, short_limits());
        Stage { db, gate, deleting, reading }
    }

    /// Creates all data, or what remains after the deletion.
    pub(crate) fn fill(&self, size: &Size, side: Side) {
        let create = |entity: &str, document: &Value| {
            block_on(self.db.create(entity, document)).unwrap();
        };
        if side == Side::Before {
            create("folder", &json!({"id": "f0", "name": "f0"}));
            create("folder", &json!({"id": "f1", "name": "f1", "next": "f0"}));
        }
        create("folder", &json!({"id": "kept", "name": "kept"}));
        let draw = |number: usize, below: usize| (number * 7 + size.shift) % below;
        let goes = |number: usize| number < size.files;
        for number in 0..size.files + size.others {
            let folder = if goes(number) { format!("f{}", number % 2) } else { "kept".to_owned() };
            let kind = ["text", "image"][draw(number, 2)];
            let file = json!({
                "id": number.to_string(),
                "folder": folder,
                "author": format!("a{}", draw(number, 4)),
                "kind": kind,
                "size": number / 2,
                "labels": {"team": format!("t{}", draw(number, 3))},
            });
            if side == Side::Before || !goes(number) {
                create("file", &file);
            }
        }
        for number in 0..size.pins {
            let mut pin = json!({"id": number.to_string(), "stars": draw(number, 5)});
            let folder = ["f0", "f1", "kept"][draw(number + 1, 3)];
            if side == Side::Before || folder == "kept" {
                pin["folder"] = json!(folder);
            }
            let file = (number * 5) % (size.files + size.others);
            if side == Side::Before || !goes(file) {
                pin["file"] = json!(file.to_string());
            }
            create("pin", &pin);
        }
    }

    /// Reports this call of the store from now on, and holds it if required.
    pub(crate) fn cut_at(&self, (at, pace): (u64, Pace), tell: &Sender<Event>) {
        self.gate.0.calls.store(0, Ordering::SeqCst);
        *self.gate.0.cut.lock().unwrap() = Some((at, pace, tell.clone()));
    }

    /// Runs the deletion, and returns how many calls of the store it took.
    pub(crate) fn rehearse(&self) -> u64 {
        self.gate.0.calls.store(0, Ordering::SeqCst);
        block_on(self.db.delete("folder", "f0")).unwrap();
        self.gate.0.calls.load(Ordering::SeqCst)
    }

    /// Waits until no deletion is in progress.
    pub(crate) fn stop_deleting(&mut self) {
        self.deleting.stop();
        self.deleting.join();
        // A running request holds the service, and so the store. Otherwise only the database and the
        // stage hold it.
        while Arc::strong_count(&self.gate) > 2 {
            std::thread::yield_now();
        }
        *self.gate.0.cut.lock().unwrap() = None;
    }

    /// Runs the background work once.
    pub(crate) fn go_on(&self) {
        block_on(self.db.resume_deletions()).unwrap();
    }

    /// Checks that no background work is left.
    #[track_caller]
    pub(crate) fn assert_settled(&self) {
        assert_eq!(block_on(self.db.operations()).unwrap(), Vec::<Operation>::new());
    }

    /// Checks that every row is correct.
    #[track_caller]
    pub(crate) fn assert_clean(&self) {
        let found = block_on(self.db.verify(Repair::No, |_| {})).unwrap();
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert!(found.is_empty(), "{found:#?}");
    }
}

/// The addresses of deletions and of readers.
pub(crate) type Addresses = (SocketAddr, SocketAddr);

fn serve(store: Arc<dyn Store>, limits: Limits) -> (Db, Rig) {
    let clock = ManualClock::new();
    let options = Options { clock: Arc::new(clock.clone()), ..Options::default() };
    let db = block_on(Db::open_with(MODEL, store.clone(), options)).unwrap();
    let tokens = Tokens::open(store, "keyloom", Arc::new(clock.clone()), Arc::new(SystemEntropy));
    let tokens = block_on(tokens).unwrap();
    let rest = Rest::new(db.clone(), tokens, vec![], RestOptions::default()).unwrap();
    (db, Rig::serve(rest.into(), clock, config(limits, None)))
}

/// An engine on a disk in memory.
pub(crate) fn in_memory() -> Arc<dyn Store> {
    let options = EngineOptions {
        background: Background::Manual,
        disk: Arc::new(SimDisk::new(0)),
        ..EngineOptions::default()
    };
    Arc::new(Engine::open(Path::new("/data"), options).unwrap())
}

/// An engine on files.
pub(crate) fn on_files(directory: &Path) -> Arc<dyn Store> {
    Arc::new(Engine::open(directory, EngineOptions::default()).unwrap())
}
