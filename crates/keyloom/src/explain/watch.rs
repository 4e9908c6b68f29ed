//! Recording what is read of a database.

use std::sync::{Arc, Mutex, PoisonError};

use keyloom_query::{Explanation, Metered};
use keyloom_store::Store;

/// Records the reads of a database.
pub(crate) struct Watch {
    pub(crate) store: Metered<dyn Store>,
    explanations: Mutex<Vec<Explanation>>,
}

impl Watch {
    pub(super) fn new(store: Arc<dyn Store>) -> Watch {
        Watch { store: Metered::new(store), explanations: Mutex::default() }
    }

    pub(crate) fn record(&self, explanation: Explanation) {
        self.explanations.lock().unwrap_or_else(PoisonError::into_inner).push(explanation);
    }

    /// How each page of a list was found.
    pub(super) fn explanations(&self) -> Vec<Explanation> {
        self.explanations.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
