//! Unreadable parts of the tree's file, for reports.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::{Damage, Error, Failure};

use super::checked_file::Unreadable;

/// How many blocks are token_record: enough to see how bad it is.
const BLOCKS_MAX: usize = 1000;

/// The blocks of a tree's file that could not be read since it was opened.
#[derive(Debug)]
pub(crate) struct TreeDamage {
    path: PathBuf,
    /// By block number.
    found: Mutex<BTreeMap<u64, Unreadable>>,
    /// A row that no writer can have written, in a block that matches its checksum.
    malformed: Mutex<Option<Damage>>,
}

impl TreeDamage {
    pub(crate) fn new(path: &Path) -> TreeDamage {
        TreeDamage { path: path.to_owned(), found: Mutex::default(), malformed: Mutex::default() }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn note(&self, block: u64, why: Unreadable) {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if found.len() < BLOCKS_MAX {
            found.entry(block).or_insert(why);
        }
    }

    /// Records what redb or a reader of rows found.
    pub(crate) fn note_malformed(&self, error: &Error) {
        if let Error::Damaged(damage) = error {
            let mut malformed = self.malformed.lock().unwrap_or_else(PoisonError::into_inner);
            malformed.get_or_insert_with(|| (**damage).clone());
        }
    }

    /// Returns the damage that readers found. Read errors are excluded: they may be transient.
    pub(crate) fn found_damage(&self) -> Vec<Damage> {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let damaged = found.values().filter_map(|why| match why {
            Unreadable::Damaged { offset } => Some(damage_of(&self.path, *offset, why)),
            Unreadable::Io(_) => None,
        });
        let malformed = self.malformed.lock().unwrap_or_else(PoisonError::into_inner);
        damaged.chain(malformed.clone()).collect()
    }

    /// Returns the blocks that the disk could not read.
    pub(crate) fn unread(&self) -> Vec<u64> {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let unread = found.iter().filter(|(_, why)| matches!(why, Unreadable::Io(_)));
        unread.map(|(block, _)| *block).collect()
    }

    /// Runs a function that reads or writes through redb. redb panics on pages that are damaged or
    /// could not be read; this turns the panic into an error that names the block.
    pub(crate) fn guard<T>(&self, run: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        // redb keeps nothing of what a panic leaves half done: the transaction is aborted.
        let outcome = catch_unwind(AssertUnwindSafe(run));
        let outcome = outcome.unwrap_or_else(|_| Err(self.error()));
        outcome.inspect_err(|error| {
            // Otherwise the blocks themselves are recorded.
            if !self.has_found() {
                self.note_malformed(error);
            }
        })
    }

    fn has_found(&self) -> bool {
        !self.found.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    pub(crate) fn error(&self) -> Error {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let others = match found.len() {
            0 | 1 => String::new(),
            blocks => format!(" ({} more blocks too)", blocks - 1),
        };
        let (offset, what) = match found.first_key_value() {
            Some((_, Unreadable::Io(error))) => {
                let cause = std::io::Error::new(error.kind(), error.to_string());
                let (doing, path) = ("reading the tree", self.path.clone());
                return Error::Io(Arc::new(Failure { doing, path, cause }));
            }
            Some((0, Unreadable::Damaged { .. })) => {
                (0, "the tree's header is damaged, or the tree belongs to another store".to_owned())
            }
            Some((_, Unreadable::Damaged { offset })) => {
                (*offset, format!("a block does not match its checksum{others}"))
            }
            None => (0, "the tree differs from what was written".to_owned()),
        };
        let what = format!("{what}: restore from a backup");
        Error::Damaged(Arc::new(Damage { file: self.path.clone(), offset, what }))
    }
}

/// Returns the damage of a block that could not be read.
pub(crate) fn damage_of(path: &Path, offset: u64, why: &Unreadable) -> Damage {
    let what = match why {
        Unreadable::Io(error) => format!("a block cannot be read ({error})"),
        Unreadable::Damaged { offset: 0 } => {
            "the tree's header is damaged, or the tree belongs to another store".to_owned()
        }
        Unreadable::Damaged { .. } => "a block does not match its checksum".to_owned(),
    };
    Damage { file: path.to_owned(), offset, what }
}
