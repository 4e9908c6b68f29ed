//! Arguments that name a model file or a data directory, and reading a model file.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, value_parser};
use keyloom_model::{Model, ModelError, render};
use keyloom_server::Rest;

/// A valid model file.
pub(crate) struct ModelFile {
    pub(crate) text: String,
    pub(crate) model: Model,
}

impl ModelFile {
    /// The positional argument `MODEL`.
    pub(crate) fn argument() -> Arg {
        Arg::new("model")
            .value_name("MODEL")
            .value_parser(value_parser!(PathBuf))
            .required(true)
            .help("Model file")
    }

    /// Reads the model that [`ModelFile::argument`] names.
    pub(crate) fn from_arguments(arguments: &ArgMatches) -> Result<ModelFile, String> {
        ModelFile::read(arguments.get_one::<PathBuf>("model").ok_or("name a model file.")?)
    }

    pub(crate) fn read(path: &Path) -> Result<ModelFile, String> {
        ModelFile::try_read(path).map_err(|error| error.format(path))
    }

    /// Checks that the model can be served, before any data has it.
    pub(crate) fn check_served(&self) -> Result<(), String> {
        Rest::check(&self.model, &[])
    }

    pub(crate) fn try_read(path: &Path) -> Result<ModelFile, ReadError> {
        let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
        let bytes = fs::read(path).map_err(|error| ReadError::Unreadable(unreadable(error)))?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let valid = error.utf8_error().valid_up_to();
            ReadError::Unreadable(format!("is not UTF-8 at byte {valid}"))
        })?;
        let model = keyloom_model::check(&text).map_err(ReadError::Invalid)?;
        Ok(ModelFile { text, model })
    }
}

/// Why a model file cannot be used.
pub(crate) enum ReadError {
    /// The file cannot be read as text.
    Unreadable(String),
    /// The model has errors.
    Invalid(Vec<ModelError>),
}

impl ReadError {
    /// The message for the file at `path`.
    pub(crate) fn format(&self, path: &Path) -> String {
        let name = path.display().to_string();
        match self {
            ReadError::Unreadable(reason) => format!("{name} {reason}."),
            ReadError::Invalid(errors) => format!("{name} has errors.\n{}", render(errors, &name)),
        }
    }
}

/// `--data`, the data directory.
pub(crate) fn data_argument(help: &'static str) -> Arg {
    Arg::new("data")
        .long("data")
        .value_name("DIR")
        .value_parser(value_parser!(PathBuf))
        .required(true)
        .help(help)
}
