//! Damage found while a store is open, by the scrub or by readers: the single source for reports.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{Damage, Error};

/// How many positions are token_record: enough to see how bad it is.
const POSITIONS_MAX: usize = 1000;

/// The damaged positions in a store's files.
#[derive(Debug, Default)]
pub(crate) struct FoundDamage(Mutex<Found>);

#[derive(Debug, Default)]
struct Found {
    positions: BTreeSet<(PathBuf, u64)>,
    last: Option<Arc<Damage>>,
}

impl FoundDamage {
    /// Records damage. Each position counts once.
    pub(crate) fn note(&self, damage: Damage) {
        let mut found = self.lock();
        let position = (damage.file.clone(), damage.offset);
        if found.positions.len() < POSITIONS_MAX && found.positions.insert(position) {
            found.last = Some(Arc::new(damage));
        }
    }

    /// Records the damage in a reader's error.
    pub(crate) fn note_error(&self, error: &Error) {
        if let Error::Damaged(damage) = error {
            self.note((**damage).clone());
        }
    }

    /// Forgets the damage of a file that was replaced.
    pub(crate) fn forget(&self, path: &Path) {
        self.lock().positions.retain(|(file, _)| file != path);
    }

    /// Returns how many positions are damaged, and the last damage found.
    pub(crate) fn count(&self) -> (u64, Option<Arc<Damage>>) {
        let found = self.lock();
        (found.positions.len() as u64, found.last.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Found> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
