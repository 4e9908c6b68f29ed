//! Model files, and the databases that are kept by them.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, value_parser};
use keyloom_model::{Model, ModelError, render};

/// A model file that has no errors.
pub(crate) struct ModelFile {
    pub(crate) text: String,
    pub(crate) model: Model,
}

impl ModelFile {
    /// The argument that names a model.
    pub(crate) fn argument() -> Arg {
        Arg::new("model")
            .value_name("MODEL")
            .value_parser(value_parser!(PathBuf))
            .required(true)
            .help("Model file")
    }

    /// The model that [`ModelFile::argument`] names.
    pub(crate) fn named(arguments: &ArgMatches) -> Result<ModelFile, String> {
        ModelFile::read(arguments.get_one::<PathBuf>("model").ok_or("name a model file.")?)
    }

    pub(crate) fn read(path: &Path) -> Result<ModelFile, String> {
        ModelFile::try_read(path).map_err(|unusable| unusable.told(path))
    }

    pub(crate) fn try_read(path: &Path) -> Result<ModelFile, Unusable> {
        let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
        let bytes = fs::read(path).map_err(|error| Unusable::NoText(unreadable(error)))?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let valid = error.utf8_error().valid_up_to();
            Unusable::NoText(format!("is not UTF-8, from byte {valid} on"))
        })?;
        let model = keyloom_model::check(&text).map_err(Unusable::Wrong)?;
        Ok(ModelFile { text, model })
    }
}

/// Why a file is no model.
pub(crate) enum Unusable {
    /// It has no text.
    NoText(String),
    /// The text has errors.
    Wrong(Vec<ModelError>),
}

impl Unusable {
    /// What is to be told of the file at this path.
    pub(crate) fn told(&self, path: &Path) -> String {
        let name = path.display().to_string();
        match self {
            Unusable::NoText(reason) => format!("{name} {reason}."),
            Unusable::Wrong(errors) => format!("{name} has errors.\n{}", render(errors, &name)),
        }
    }
}

/// The argument that names a data directory.
pub(crate) fn data_argument(help: &'static str) -> Arg {
    Arg::new("data")
        .long("data")
        .value_name("DIR")
        .value_parser(value_parser!(PathBuf))
        .required(true)
        .help(help)
}
