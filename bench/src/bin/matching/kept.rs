//! A database in a folder, which is removed on drop.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use keyloom::{Db, Entry, Existing};
use keyloom_store::{Engine, Options};
use pollster::block_on;

/// Entities per transaction.
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

    /// Imports entities as `keyloom import` does, with several threads.
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
                        block_on(self.db.import(entries, Existing::Keep))
                            .expect("the import succeeds");
                    }
                });
            }
        });
    }

    /// Writes a checkpoint and returns the bytes on disk.
    pub(crate) fn settle(&self) -> u64 {
        self.engine.checkpoint().expect("the checkpoint succeeds");
        let tree = std::fs::metadata(self.directory.join("tree.redb")).expect("there is a tree");
        // The file is extended ahead of time; blocks never written take no space.
        tree.blocks() * 512
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // Leftover files are in the temporary folder.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
