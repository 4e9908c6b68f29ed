//! What is said while an operation runs.

use std::io::BufRead;
use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

/// Lines for an operation to read.
pub type Input = Box<dyn BufRead + Send>;

/// What an operation tells before it ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Told {
    /// How far it has come.
    Progress(Progress),
    /// A part of its result.
    Line(String),
    /// Something that is wrong and does not end it.
    Problem(String),
}

/// How far something has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Things done.
    pub count: u64,
    /// Parts of the whole that are behind.
    pub done: u64,
    /// Parts of the whole, if it is known.
    pub total: Option<u64>,
}

/// The ear and the voice of an operation.
pub struct Talk<'a> {
    input: Option<Input>,
    tell: &'a mut dyn FnMut(Told) -> Result<(), String>,
}

impl<'a> Talk<'a> {
    /// With what it reads, and with whoever listens: an error of theirs ends it.
    pub fn new(
        input: Option<Input>,
        tell: &'a mut dyn FnMut(Told) -> Result<(), String>,
    ) -> Talk<'a> {
        Talk { input, tell }
    }

    pub(crate) fn take_input(&mut self) -> Option<Input> {
        self.input.take()
    }

    pub(crate) fn progress(&mut self, progress: Progress) -> Result<(), String> {
        (self.tell)(Told::Progress(progress))
    }

    /// Does something that says how far it has come, until it ends or nobody listens.
    pub(crate) fn watch<T>(
        &mut self,
        work: impl FnOnce(&mut dyn FnMut(Progress) -> ControlFlow<()>) -> Result<T, String>,
    ) -> Result<T, String> {
        let mut heard = Ok(());
        let outcome = work(&mut |progress| {
            heard = self.progress(progress);
            if heard.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        heard.and(outcome)
    }

    pub(crate) fn line(&mut self, line: String) -> Result<(), String> {
        (self.tell)(Told::Line(line))
    }

    pub(crate) fn problem(&mut self, problem: String) -> Result<(), String> {
        (self.tell)(Told::Problem(problem))
    }
}
