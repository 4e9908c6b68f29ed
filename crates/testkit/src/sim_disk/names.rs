//! The names in one simulated directory: what is visible, what is on the medium, and the changes on
//! their way there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use super::content::Content;
use crate::Random;

/// A file independent of its name: it lives while it is open, whatever becomes of its name.
pub(super) struct Inode {
    content: Mutex<Content>,
}

impl Inode {
    pub(super) fn new(content: Content) -> Arc<Inode> {
        Arc::new(Inode { content: Mutex::new(content) })
    }

    /// Locks the bytes. Lock order: the disk's own lock first.
    pub(super) fn content(&self) -> MutexGuard<'_, Content> {
        self.content.lock().expect("no operation of the simulated disk panics")
    }
}

/// Names and their files.
pub(super) type NameMap = BTreeMap<String, Arc<Inode>>;

/// One directory.
#[derive(Default)]
pub(super) struct Names {
    live: NameMap,
    durable: NameMap,
    /// Changes since the last sync, oldest first.
    pending: Vec<NameChange>,
}

enum NameChange {
    Create { name: String, inode: Arc<Inode> },
    Remove { name: String },
    Rename { from: String, to: String, inode: Arc<Inode> },
}

impl Names {
    /// Creates a directory whose names are all on the medium.
    pub(super) fn settled(names: NameMap) -> Names {
        Names { live: names.clone(), durable: names, pending: Vec::new() }
    }

    pub(super) fn live(&self) -> &NameMap {
        &self.live
    }

    pub(super) fn is_dirty(&self) -> bool {
        !self.pending.is_empty()
    }

    pub(super) fn create(&mut self, name: &str, inode: Arc<Inode>) {
        self.change(NameChange::Create { name: name.to_owned(), inode });
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.change(NameChange::Remove { name: name.to_owned() });
    }

    /// Renames; `inode` is the file that has the name `from`.
    pub(super) fn rename(&mut self, from: &str, to: &str, inode: Arc<Inode>) {
        if from != to {
            self.change(NameChange::Rename { from: from.to_owned(), to: to.to_owned(), inode });
        }
    }

    /// Writes every change to the medium.
    pub(super) fn sync(&mut self) {
        for change in self.pending.drain(..) {
            change.apply(&mut self.durable);
        }
    }

    /// Writes some changes to the medium and forgets the others.
    pub(super) fn fail_sync(&mut self, random: &mut Random) {
        self.durable = self.after_crash(random);
        self.pending.clear();
    }

    /// Returns the names as a crash at this point leaves them.
    pub(super) fn after_crash(&self, random: &mut Random) -> NameMap {
        let mut names = self.durable.clone();
        if self.pending.is_empty() {
            return names;
        }
        match random.below(4) {
            0 => {}
            1 => self.pending.iter().for_each(|change| change.apply(&mut names)),
            2 => {
                let kept = random.index(self.pending.len() + 1);
                self.pending[..kept].iter().for_each(|change| change.apply(&mut names));
            }
            _ => self.scatter(&mut names, random),
        }
        names
    }

    /// Keeps a random subset of the changes, but in order for each name: once a change is lost, so
    /// is every later one of the same name.
    fn scatter(&self, names: &mut NameMap, random: &mut Random) {
        let mut stuck = BTreeSet::new();
        for change in &self.pending {
            let touched = change.touched();
            if touched.iter().any(|name| stuck.contains(name)) || random.chance(1, 2) {
                stuck.extend(touched);
            } else {
                change.apply(names);
            }
        }
    }

    fn change(&mut self, change: NameChange) {
        change.apply(&mut self.live);
        self.pending.push(change);
    }
}

impl NameChange {
    fn apply(&self, names: &mut NameMap) {
        match self {
            NameChange::Create { name, inode } => {
                names.insert(name.clone(), inode.clone());
            }
            NameChange::Remove { name } => {
                names.remove(name);
            }
            NameChange::Rename { from, to, inode } => {
                names.remove(from);
                names.insert(to.clone(), inode.clone());
            }
        }
    }

    fn touched(&self) -> Vec<&str> {
        match self {
            NameChange::Create { name, .. } | NameChange::Remove { name } => vec![name],
            NameChange::Rename { from, to, .. } => vec![from, to],
        }
    }
}
