//! The input of an operation, and its reports while it runs.

use std::io::BufRead;
use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

/// The input of an operation.
pub type Input = Box<dyn BufRead + Send>;

/// What an operation reports before it ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Report {
    /// Its progress.
    Progress(Progress),
    /// A line of its result.
    Line(String),
    /// A problem that does not end it.
    Problem(String),
}

/// The progress of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Number of items processed.
    pub count: u64,
    /// How much of the total is done.
    pub done: u64,
    /// The total, if known.
    pub total: Option<u64>,
}

/// The input of an operation, and the receiver of its reports.
pub struct Channel<'a> {
    input: Option<Input>,
    report: &'a mut dyn FnMut(Report) -> Result<(), String>,
}

impl<'a> Channel<'a> {
    /// Creates a channel. An error of `report` ends the operation.
    pub fn new(
        input: Option<Input>,
        report: &'a mut dyn FnMut(Report) -> Result<(), String>,
    ) -> Channel<'a> {
        Channel { input, report }
    }

    pub(crate) fn take_input(&mut self) -> Option<Input> {
        self.input.take()
    }

    pub(crate) fn progress(&mut self, progress: Progress) -> Result<(), String> {
        (self.report)(Report::Progress(progress))
    }

    /// Runs `work`, reporting its progress, until it ends or the receiver is gone.
    pub(crate) fn watch<T>(
        &mut self,
        work: impl FnOnce(&mut dyn FnMut(Progress) -> ControlFlow<()>) -> Result<T, String>,
    ) -> Result<T, String> {
        let mut received = Ok(());
        let outcome = work(&mut |progress| {
            received = self.progress(progress);
            if received.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        received.and(outcome)
    }

    pub(crate) fn line(&mut self, line: String) -> Result<(), String> {
        (self.report)(Report::Line(line))
    }

    pub(crate) fn problem(&mut self, problem: String) -> Result<(), String> {
        (self.report)(Report::Problem(problem))
    }
}
