//! `keyloom serve`: a model over HTTP.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ArgMatches;
use keyloom_app::{Parts, Served, serve, serve_arguments};

use crate::command::Command;
use crate::model_file::ModelFile;
use crate::webhooks;

pub(crate) const COMMAND: Command = Command { name: "serve", describe, run };

const EXAMPLES: &str = "\
Examples:
  keyloom serve apps/tasks/model.toml
      Serve tasks to this machine, from the directory ./tasks-data, which is made if it is not
      there. It says what to try; http://127.0.0.1:8080/docs has the rest.

  keyloom token create --data ./data --role writer
  keyloom serve apps/tasks/model.toml --data ./data --listen 0.0.0.0:8443 \\
      --tls-cert cert.pem --tls-key key.pem
      Serve others too. Whoever asks needs a token.

  keyloom serve apps/tasks/model.toml --dynamodb tasks --region eu-central-1
      Keep everything in a table of DynamoDB, which is made if it is not there.

Stop it with Ctrl-C or SIGTERM: requests under way are answered first.";

fn describe(command: clap::Command) -> clap::Command {
    let command = command.about("Serve a model over HTTP, with documentation at /docs");
    let command = command.arg(ModelFile::argument()).arg(webhooks::argument());
    serve_arguments(command).after_help(EXAMPLES)
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let path = arguments.get_one::<PathBuf>("model").ok_or("Name a model file.")?;
    let file = ModelFile::named(arguments)?;
    let handlers = webhooks::handlers(&file.model, arguments)?;
    let (parts, url) = (Parts { handlers, ..Parts::default() }, Arc::default());
    let served = Served { name: &name_of(path), model: &file.text, parts, url };
    serve(served, arguments)
}

/// `apps/tasks/model.toml` is `tasks`, and `shop.toml` is `shop`.
fn name_of(model: &Path) -> String {
    let stem = model.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let folder = model.parent().and_then(Path::file_name);
    let folder = folder.map(|folder| folder.to_string_lossy().into_owned());
    match (stem.as_deref(), folder) {
        (Some("model"), Some(folder)) => folder,
        (stem, _) => stem.unwrap_or("keyloom").to_owned(),
    }
}
