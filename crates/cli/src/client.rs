//! `keyloom client`: typed clients of a model, one file each, without dependencies.
//!
//! `read` takes the OpenAPI document of the model, which the server makes from the same operations that
//! it serves, and `api` is what it finds there; `typescript` and `python` only write it down. What does
//! not depend on a model is in `runtime.ts` and `runtime.py`, which are part of each client.

mod api;
mod comment;
mod described;
mod method_names;
mod names;
mod output;
mod parameter;
mod python;
mod read;
mod schema;
mod typescript;

use std::path::PathBuf;

use clap::{Arg, ArgMatches, builder::PossibleValue, value_parser};
use keyloom_server::Rest;

use crate::chart::title;
use crate::command::{Command, write_stdout};
use crate::model_file::ModelFile;

pub(crate) const COMMAND: Command = Command { name: "client", describe, run };

const EXAMPLES: &str = "\
Examples:
  keyloom client typescript apps/tasks/model.toml --out web/src/api
      Write web/src/api/client.ts. It needs fetch and nothing else: browsers, Node.js 18, Deno

  keyloom client python apps/tasks/model.toml --out shop/api
      Write shop/api/client.py. It needs Python 3.10 and its standard library

Generate the file again after each change of the model: a query that is gone is then a type error.
A file that this command did not write is never replaced. docs/clients.md is the guide.";

fn describe(command: clap::Command) -> clap::Command {
    let languages = [
        PossibleValue::new("typescript").help("client.ts, for browsers and servers"),
        PossibleValue::new("python").help("client.py"),
    ];
    command
        .about("Generate a typed client of a model")
        .arg(
            Arg::new("language")
                .value_name("LANGUAGE")
                .value_parser(languages)
                .required(true)
                .help("Language of the client"),
        )
        .arg(ModelFile::argument())
        .arg(
            Arg::new("out")
                .long("out")
                .value_name("DIR")
                .value_parser(value_parser!(PathBuf))
                .required(true)
                .help("Folder to write the client to, created if it does not exist"),
        )
        .after_help(EXAMPLES)
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let file = ModelFile::from_arguments(arguments)?;
    let model = arguments.get_one::<PathBuf>("model").map(PathBuf::as_path);
    let name = model.map(title).unwrap_or_default();
    let document = Rest::openapi(&name, &file.model)?;
    let document = serde_json::from_str(&document).map_err(|error| error.to_string())?;
    let api = read::api(&name, &document);
    let folder = arguments.get_one::<PathBuf>("out").ok_or("name a folder with --out.")?;
    let language = arguments.get_one::<String>("language").map(String::as_str);
    let path = match language {
        Some("python") => output::write(folder, "client.py", "#", &python::write(&api))?,
        Some(_) | None => output::write(folder, "client.ts", "//", &typescript::write(&api))?,
    };
    write_stdout(&format!("{}\n", path.display()))
}
