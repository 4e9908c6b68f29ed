//! What an import has done, for people and for programs.

use std::fmt;
use std::time::Duration;

use keyloom::{Imported, item_to_json};
use keyloom_value::{Item, Value};

use crate::progress::grouped;

/// As many problems as are told to a program; people have seen all of them.
const PROBLEMS_MAX: usize = 1000;

/// A line that was not imported.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    pub(super) line: u64,
    pub(super) reason: String,
}

/// How many entries became what.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(super) created: u64,
    pub(super) unchanged: u64,
    pub(super) replaced: u64,
    pub(super) not_imported: u64,
    pub(super) problems: Vec<Problem>,
    pub(super) elapsed: Duration,
}

impl Tally {
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

    /// How long the import took.
    pub(crate) fn elapsed(&self) -> Duration {
        self.elapsed
    }

    pub(super) fn to_json(&self) -> String {
        let problem = |problem: &Problem| {
            Value::M(Item::from([
                ("line", Value::from(problem.line)),
                ("reason", Value::from(problem.reason.as_str())),
            ]))
        };
        item_to_json(&Item::from([
            ("created", Value::from(self.created)),
            ("unchanged", Value::from(self.unchanged)),
            ("replaced", Value::from(self.replaced)),
            ("not_imported", Value::from(self.not_imported)),
            ("problems", Value::L(self.problems.iter().map(problem).collect())),
            ("milliseconds", Value::from(self.elapsed.as_millis() as u64)),
        ]))
    }

    /// An error if something was not imported.
    pub(crate) fn outcome(&self) -> Result<(), String> {
        match self.not_imported {
            0 => Ok(()),
            1 => Err("one line was not imported: see above.".to_owned()),
            lines => Err(format!("{} lines were not imported: see above.", grouped(lines))),
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { created, unchanged, replaced, not_imported, .. } = self;
        let [created, unchanged, replaced, not_imported] =
            [created, unchanged, replaced, not_imported].map(|count| grouped(*count));
        writeln!(
            f,
            "{created} created, {unchanged} unchanged, {replaced} replaced, {not_imported} not imported."
        )
    }
}
