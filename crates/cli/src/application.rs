//! Applications: a model with routes of its own, as a program that serves it.

use std::process::ExitCode;

use keyloom_server::OwnRoute;

use crate::run::exit;
use crate::serve::{self, Served};

/// A model that is served together with routes that only code can answer.
#[derive(Debug)]
pub struct Application {
    /// The name of its program.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub about: &'static str,
    /// The text of its model.
    pub model: &'static str,
    /// The routes beside those of the model.
    pub routes: Vec<OwnRoute>,
}

impl Application {
    /// Serves it, by the arguments of this process, until the process is told to stop.
    pub fn run(self) -> ExitCode {
        let command = clap::Command::new(self.name).about(self.about);
        let arguments = serve::arguments(command).get_matches();
        let served =
            Served { name: self.name, model: self.model, routes: self.routes, pages: vec![] };
        exit(self.name, serve::serve(served, &arguments))
    }
}
