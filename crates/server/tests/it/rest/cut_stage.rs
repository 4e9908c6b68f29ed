//! What a large deletion takes from, served twice: on one address it is asked for, and stopped at any
//! call of the store; on the other one, nothing is in the way of who looks.

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

/// Files go with their folder, and so does a folder that comes next; pins lose what they refer to.
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

/// How much there is.
#[derive(Clone, Debug)]
pub(crate) struct Size {
    /// Files that go: more than one transaction takes.
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
    /// As if there had never been anything that goes.
    After,
}

/// What happens to a deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// It has come to the call of the store at which it is to be cut.
    Reached,
    /// There it was dropped.
    Dropped,
    /// It was answered with this status; 0 if the connection ended.
    Answered(u16),
}

/// What a deletion does at the call of the store at which it is to be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// It waits there until it is dropped.
    Held,
    /// It goes on.
    Running,
}

/// A store that tells when so many calls were made.
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
            // Who waits for it may have gone.
            let _ = tell.send(Event::Reached);
            if pace == Pace::Held {
                let _dropped = Dropped(tell);
                std::future::pending::<()>().await;
            }
        })
    }
}

/// Tells when it is dropped.
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
    /// With this time for the answer to a deletion.
    pub(crate) fn open(store: Arc<dyn Store>, answer_time: Duration) -> Stage {
        let (calls, cut) = (AtomicU64::new(0), Mutex::new(None));
        let gate = Arc::new(InFront(Gate { behind: store.clone(), calls, cut }));
        let (db, deleting) = serve(gate.clone(), Limits { answer_time, ..short_limits() });
        let (_, reading) = serve(store, short_limits());
        Stage { db, gate, deleting, reading }
    }

    /// All that there is, or all that is left of it.
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

    /// From now on: tells of this call of the store, which may wait.
    pub(crate) fn cut_at(&self, (at, pace): (u64, Pace), tell: &Sender<Event>) {
        self.gate.0.calls.store(0, Ordering::SeqCst);
        *self.gate.0.cut.lock().unwrap() = Some((at, pace, tell.clone()));
    }

    /// How many calls of the store it takes to delete, which is then done.
    pub(crate) fn rehearse(&self) -> u64 {
        self.gate.0.calls.store(0, Ordering::SeqCst);
        block_on(self.db.delete("folder", "f0")).unwrap();
        self.gate.0.calls.load(Ordering::SeqCst)
    }

    /// Returns when no deletion is under way any more.
    pub(crate) fn stop_deleting(&mut self) {
        self.deleting.stop();
        self.deleting.join();
        // An answer that a thread is at has the service until it is dropped, and so the store. Besides
        // it, the database has it, and the stage.
        while Arc::strong_count(&self.gate) > 2 {
            std::thread::yield_now();
        }
        *self.gate.0.cut.lock().unwrap() = None;
    }

    /// What is done in the background.
    pub(crate) fn go_on(&self) {
        block_on(self.db.resume_deletions()).unwrap();
    }

    /// Nothing is left to do.
    #[track_caller]
    pub(crate) fn assert_settled(&self) {
        assert_eq!(block_on(self.db.operations()).unwrap(), Vec::<Operation>::new());
    }

    /// Every row is what it should be.
    #[track_caller]
    pub(crate) fn assert_clean(&self) {
        let found = block_on(self.db.verify(Repair::No, |_| {})).unwrap();
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert!(found.is_empty(), "{found:#?}");
    }
}

/// The addresses on which deletions are asked for, and on which others look.
pub(crate) type Addresses = (SocketAddr, SocketAddr);

fn serve(store: Arc<dyn Store>, limits: Limits) -> (Db, Rig) {
    let clock = ManualClock::new();
    let options = Options { clock: Arc::new(clock.clone()), ..Options::default() };
    let db = block_on(Db::open_with(MODEL, store.clone(), options)).unwrap();
    let tokens = Tokens::open(store, Arc::new(clock.clone()), Arc::new(SystemEntropy));
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
