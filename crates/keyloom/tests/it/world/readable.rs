//! Drafts that a failing test shows as the model files they are.

use std::fmt;

use keyloom_testkit::model::Draft;

/// A draft, shown as a model file.
#[derive(Clone)]
pub(crate) struct Readable(pub(crate) Draft);

impl fmt::Debug for Readable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.text())
    }
}
