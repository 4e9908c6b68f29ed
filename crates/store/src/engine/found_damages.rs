//! Damage that was found while a store is open, by the scrub or by whoever read it: the one place that
//! reports count from.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{Damage, Error};

/// Places that are told apart: enough to see how bad it is.
const PLACES_MAX: usize = 1000;

/// The damaged places of a store's files.
#[derive(Debug, Default)]
pub(crate) struct FoundDamages(Mutex<Found>);

#[derive(Debug, Default)]
struct Found {
    places: BTreeSet<(PathBuf, u64)>,
    last: Option<Arc<Damage>>,
}

impl FoundDamages {
    /// Counts a place once, whoever finds it.
    pub(crate) fn note(&self, damage: Damage) {
        let mut found = self.lock();
        let place = (damage.file.clone(), damage.offset);
        if found.places.len() < PLACES_MAX && found.places.insert(place) {
            found.last = Some(Arc::new(damage));
        }
    }

    /// The same for what a reader was told.
    pub(crate) fn note_error(&self, error: &Error) {
        if let Error::Damaged(damage) = error {
            self.note((**damage).clone());
        }
    }

    /// A file was replaced by another one, of which nothing is known.
    pub(crate) fn forget(&self, path: &Path) {
        self.lock().places.retain(|(file, _)| file != path);
    }

    /// How many places there are, and the one found last.
    pub(crate) fn count(&self) -> (u64, Option<Arc<Damage>>) {
        let found = self.lock();
        (found.places.len() as u64, found.last.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Found> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
