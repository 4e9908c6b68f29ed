//! Applications: a model with routes, handlers and settings of its own.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::console::log;
use crate::environment::Environment;
use crate::parts::Parts;
use crate::serve::{Served, directory_of, serve, serve_arguments};
use crate::settings::{Setting, Settings};

/// A model that is served together with code of its own.
#[derive(Debug)]
pub struct Application {
    /// The name of its program.
    pub name: &'static str,
    /// A one-sentence description.
    pub about: &'static str,
    /// The text of its model.
    pub model: &'static str,
    /// The arguments that its program takes in addition to those of every server.
    pub settings: &'static [Setting],
    /// Creates its routes, handlers and pages from its settings.
    pub parts: fn(&Settings) -> Result<Parts, String>,
}

impl Application {
    /// Serves it with the arguments of this process, until the process is told to stop.
    pub fn run(self) -> ExitCode {
        crate::panics::hide_those_of_damage();
        let command = clap::Command::new(self.name).about(self.about);
        let command = command.args(self.settings.iter().map(Setting::argument));
        let words: Vec<_> = std::env::args_os().collect();
        let environment = Environment { program: self.name, words: &words };
        let arguments = environment.of_all(serve_arguments(command)).get_matches();
        exit(self.name, self.serve(self.name, &arguments, directory_of(self.name)))
    }

    /// Serves it with arguments that include those of [`serve_arguments`], until the process is told to
    /// stop. The environment variables of these are named after the program, those of its own settings
    /// after the application.
    ///
    /// # Errors
    ///
    /// If a setting is invalid, the data cannot be opened or the server cannot listen.
    pub fn serve(
        &self,
        program: &str,
        arguments: &clap::ArgMatches,
        default_directory: PathBuf,
    ) -> Result<(), String> {
        let settings = Settings::of(self.name, self.settings, arguments)?;
        let parts = (self.parts)(&settings)?;
        let (name, model, url) = (self.name, self.model, settings.url);
        let model_source = None;
        let served = Served { program, name, model, model_source, parts, url, default_directory };
        serve(served, arguments)
    }
}

/// Turns the result of a program into its exit code. Writes an error to standard error.
pub fn exit(name: &str, result: Result<(), String>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            log(&format!("{name}: {message}"));
            ExitCode::FAILURE
        }
    }
}
