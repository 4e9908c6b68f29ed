//! Applications: a model with routes, handlers and settings of its own.

use std::path::PathBuf;
use std::process::ExitCode;

use keyloom::events::Handlers;
use keyloom_server::{OwnPage, OwnRoute};

use crate::console::log;
use crate::environment::Environment;
use crate::serve::{Served, directory_of, serve, serve_arguments};
use crate::settings::{Setting, Settings};

/// A model that is served together with what only code can do.
#[derive(Debug)]
pub struct Application {
    /// The name of its program.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub about: &'static str,
    /// The text of its model.
    pub model: &'static str,
    /// The arguments that its program takes beside those of every one.
    pub settings: &'static [Setting],
    /// Makes what is its own, by its settings.
    pub parts: fn(&Settings) -> Result<Parts, String>,
}

/// What is an application's own.
#[derive(Debug, Default)]
pub struct Parts {
    /// The routes beside those of the model.
    pub routes: Vec<OwnRoute>,
    /// Operations of the model that are not served, because the application has its own rules for
    /// what they would do: `change_search`.
    pub closed: &'static [&'static str],
    /// What is called after changes, and what runs jobs. Without it, nothing is.
    pub handlers: Option<Handlers>,
    /// Pages for anybody to see.
    pub pages: Vec<OwnPage>,
}

impl Application {
    /// Serves it, by the arguments of this process, until the process is told to stop.
    pub fn run(self) -> ExitCode {
        crate::panics::hide_those_of_damage();
        let command = clap::Command::new(self.name).about(self.about);
        let command = command.args(self.settings.iter().map(Setting::argument));
        let words: Vec<_> = std::env::args_os().collect();
        let environment = Environment { program: self.name, words: &words };
        let arguments = environment.of_all(serve_arguments(command)).get_matches();
        exit(self.name, self.serve(self.name, &arguments, directory_of(self.name)))
    }

    /// Serves it, by arguments that include those of [`serve_arguments`], until the process is told
    /// to stop. The variables of these are named after the program, those of its own settings after
    /// the application.
    ///
    /// # Errors
    ///
    /// If a setting is wrong, the data cannot be opened or the server cannot listen.
    pub fn serve(
        &self,
        program: &str,
        arguments: &clap::ArgMatches,
        default_directory: PathBuf,
    ) -> Result<(), String> {
        let settings = Settings::of(self.name, self.settings, arguments)?;
        let parts = (self.parts)(&settings)?;
        let (name, model, url) = (self.name, self.model, settings.url);
        serve(Served { program, name, model, parts, url, default_directory }, arguments)
    }
}

/// The end of a program: its error, if there is one, goes to standard error.
pub fn exit(name: &str, result: Result<(), String>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            log(&format!("{name}: {message}"));
            ExitCode::FAILURE
        }
    }
}
