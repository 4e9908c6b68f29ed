//! A contender in a comparison.

use crate::{Contender, Kind};

/// An opened and loaded contender.
pub(crate) struct Entrant {
    pub(crate) kind: Kind,
    pub(crate) contender: Box<dyn Contender>,
}
