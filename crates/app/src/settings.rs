//! Command-line arguments of an application's own. Secrets come from a file or the environment, never
//! from the command line, which other users of the machine can see.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use clap::builder::FalseyValueParser;
use clap::{Arg, ArgAction, ArgMatches, value_parser};

use crate::environment::variable;

/// An argument of an application.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// `public-url` is given as `--public-url`.
    pub name: &'static str,
    /// What it takes.
    pub takes: Takes,
    /// What it is for.
    pub help: &'static str,
}

/// What an argument takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Nothing: a flag.
    Nothing,
    /// Text, with its placeholder in the help.
    Text(&'static str),
    /// The path of a file that holds a secret. The name of the argument ends in `-file`: without
    /// `--key-file` and `PROGRAM_KEY_FILE`, the secret is read from the environment variable
    /// `PROGRAM_KEY`.
    Secret,
}

/// The arguments that were given.
#[derive(Clone, Debug)]
pub struct Settings {
    values: BTreeMap<&'static str, String>,
    flags: BTreeSet<&'static str>,
    /// The URL of the server, set once it listens.
    pub url: Arc<OnceLock<String>>,
}

impl Settings {
    /// The value of a text or secret argument, if given.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// Whether a flag was given.
    pub fn is_set(&self, name: &str) -> bool {
        self.flags.contains(name)
    }

    pub(crate) fn of(
        program: &str,
        settings: &'static [Setting],
        arguments: &ArgMatches,
    ) -> Result<Settings, String> {
        let (mut values, mut flags) = (BTreeMap::new(), BTreeSet::new());
        for setting in settings {
            let name = setting.name;
            match setting.takes {
                Takes::Nothing => {
                    // Not every command that serves an application defines its arguments.
                    let given = arguments.try_get_one::<bool>(name).ok().flatten();
                    if given == Some(&true) {
                        flags.insert(name);
                    }
                }
                Takes::Text(_) => {
                    let given = arguments.get_one::<String>(name);
                    values.extend(given.map(|value| (name, value.clone())));
                }
                Takes::Secret => {
                    values.extend(secret(program, name, arguments)?.map(|secret| (name, secret)));
                }
            }
        }
        Ok(Settings { values, flags, url: Arc::default() })
    }
}

/// Reads a secret from the file that an option names, or from the environment.
///
/// # Errors
///
/// If it cannot be read.
pub fn secret(program: &str, name: &str, arguments: &ArgMatches) -> Result<Option<String>, String> {
    let variable = variable(program, name.trim_end_matches("-file"));
    let found = match (arguments.get_one::<PathBuf>(name), std::env::var(&variable)) {
        (Some(file), _) => {
            let read = std::fs::read_to_string(file);
            read.map_err(|error| format!("cannot read {}: {error}.", file.display()))?
        }
        (None, Ok(found)) => found,
        (None, Err(std::env::VarError::NotPresent)) => return Ok(None),
        (None, Err(std::env::VarError::NotUnicode(_))) => {
            return Err(format!("the environment variable {variable} is not valid UTF-8."));
        }
    };
    Ok(Some(found.trim().to_owned()))
}

impl Setting {
    pub(crate) fn argument(&self) -> Arg {
        let named = Arg::new(self.name).help(self.help);
        match self.takes {
            Takes::Nothing => {
                // In the environment, any value but `false`, `no`, `off`, `n`, `f` and `0` sets it.
                let flag = named.long(self.name).action(ArgAction::SetTrue);
                flag.value_parser(FalseyValueParser::new())
            }
            Takes::Text(word) => named.long(self.name).value_name(word),
            Takes::Secret => {
                named.long(self.name).value_name("FILE").value_parser(value_parser!(PathBuf))
            }
        }
    }
}
