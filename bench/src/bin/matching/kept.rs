//! A database in a folder, gone when this is dropped.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use keyloom::{Db, Entry, Existing};
use keyloom_store::{Engine, Options};
use pollster::block_on;

/// As many as go into one transaction.
const BATCH: u32 = 100;

pub(crate) struct Kept {
    pub(crate) db: Db,
    pub(crate) engine: Arc<Engine>,
    directory: PathBuf,
}

impl Kept {
    pub(crate) fn open(model: &str) -> Kept {
        let directory = format!("keyloom-matching-{}", std::process::id());
        let directory = std::env::temp_dir().join(directory);
        let _ = std::fs::remove_dir_all(&directory);
        let options = Options { memory_bytes: 1 << 30, ..Options::default() };
        let engine = Arc::new(Engine::open(&directory, options).expect("an engine opens"));
        let db = block_on(Db::open(model, engine.clone())).expect("the database opens");
        Kept { db, engine, directory }
    }

    /// Takes entities in as `keyloom import` does it, from so many threads.
    pub(crate) fn import(&self, count: u32, senders: u32, entry: impl Fn(u32) -> Entry + Sync) {
        let next = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..senders {
                scope.spawn(|| {
                    loop {
                        let first = next.fetch_add(BATCH, Ordering::Relaxed);
                        let entries: Vec<Entry> =
                            (first..count.min(first + BATCH)).map(&entry).collect();
                        if entries.is_empty() {
                            break;
                        }
                        block_on(self.db.import(entries, Existing::Keep)).expect("it is taken in");
                    }
                });
            }
        });
    }

    /// Brings everything to the disk, and says how many bytes it takes there.
    pub(crate) fn settle(&self) -> u64 {
        self.engine.checkpoint().expect("it is brought to the disk");
        let tree = std::fs::metadata(self.directory.join("tree.redb")).expect("there is a tree");
        // The file is made longer ahead of time; what was never written takes no room.
        tree.blocks() * 512
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // What is left over is in a folder for that.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
