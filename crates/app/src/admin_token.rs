//! The first token of a server, chosen by its operator: in a container, no command can run on the data
//! before the server starts.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, value_parser};
use keyloom_server::{AdminToken, Tokens};

use crate::environment;
use crate::settings::secret;

const OPTION: &str = "admin-token-file";

pub(crate) fn argument() -> Arg {
    Arg::new(OPTION).long(OPTION).value_name("FILE").value_parser(value_parser!(PathBuf)).help(
        "File with a token from `keyloom token generate`, to be created at\n\
             start with the role admin if it does not exist",
    )
}

/// The environment variable that holds the token itself.
pub(crate) fn variable(program: &str) -> String {
    environment::variable(program, OPTION.trim_end_matches("-file"))
}

/// The configured token, if any.
pub(crate) fn named(program: &str, arguments: &ArgMatches) -> Result<Option<AdminToken>, String> {
    let text = secret(program, OPTION, arguments)?;
    // An empty variable counts as unset; an empty file is an error.
    let text = text.filter(|text| !text.is_empty() || arguments.contains_id(OPTION));
    let token = text.map(|text| AdminToken::new(&text)).transpose();
    token.map_err(|error| format!("{}: {error}", variable(program)))
}

/// Creates the configured token, unless it exists.
pub(crate) async fn ensure(tokens: &Tokens, admin: Option<&AdminToken>) -> Result<(), String> {
    match admin {
        Some(admin) => tokens.ensure_admin(admin).await.map_err(|error| error.to_string()),
        None => Ok(()),
    }
}
