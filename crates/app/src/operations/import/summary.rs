//! The result of an import.

use keyloom::Imported;
use serde::{Deserialize, Serialize};

/// Maximum number of problems in a summary; all of them are reported.
const PROBLEMS_MAX: usize = 1000;

/// A line that was not imported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Its number, from 1.
    pub line: u64,
    /// Why.
    pub reason: String,
}

/// Number of entries by result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Entities that did not exist.
    pub created: u64,
    /// Entities that existed with the same fields.
    pub unchanged: u64,
    /// Entities that existed with other fields.
    pub replaced: u64,
    /// Entries that were rejected.
    pub not_imported: u64,
    /// Why, for the first rejected entries.
    pub problems: Vec<Problem>,
    /// How long it took.
    pub milliseconds: u64,
}

impl Summary {
    pub(super) fn count(&mut self, imported: &[Imported]) {
        for one in imported {
            match one {
                Imported::Created => self.created += 1,
                Imported::Unchanged => self.unchanged += 1,
                Imported::Replaced => self.replaced += 1,
            }
        }
    }

    pub(super) fn add(&mut self, problem: Problem) {
        self.not_imported += 1;
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(problem);
        }
    }

    pub(super) fn imported(&self) -> u64 {
        self.created + self.unchanged + self.replaced
    }
}
