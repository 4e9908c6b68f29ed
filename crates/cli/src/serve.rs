//! `keyloom serve`: serves a model over HTTP.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ArgMatches;
use keyloom_app::pages::of_folder;
use keyloom_app::{ModelSource, Parts, Served, directory_of, serve, serve_arguments};
use keyloom_server::{OwnPage, Rest};

use crate::command::{Command, PROGRAM};
use crate::model_file::ModelFile;
use crate::webhooks;

pub(crate) const COMMAND: Command = Command { name: "serve", describe, run };

const EXAMPLES: &str = "\
Examples:
  keyloom serve apps/tasks/model.toml
      Serve the tasks application on http://127.0.0.1:8080 from ./tasks-data

  keyloom token create --data ./data --role writer
  keyloom serve apps/tasks/model.toml --data ./data --listen 0.0.0.0:8443 \\
      --tls-cert cert.pem --tls-key key.pem
      Accept remote connections; every request needs a token

  KEYLOOM_ADMIN_TOKEN=$(keyloom token generate) KEYLOOM_LISTEN=0.0.0.0:8080 \\
      keyloom serve apps/tasks/model.toml
      Options from the environment, as in a container; the token is created at start

  keyloom serve apps/tasks/model.toml --dynamodb tasks --region eu-central-1
      Store the data in a DynamoDB table, created if missing

Every option is also an environment variable: --max-body is KEYLOOM_MAX_BODY.
Stop the server with Ctrl-C or SIGTERM; it finishes requests in progress. SIGHUP makes it read the
model, the certificate and the admin token again; a model that is invalid, or that the data does not
allow, changes nothing. While it runs, commands such as `keyloom backup --data DIR` work
through the private socket in the data directory.";

fn describe(command: clap::Command) -> clap::Command {
    let command = command.about("Serve a model over HTTP, with an API reference at /docs");
    let command = command.arg(ModelFile::argument()).arg(webhooks::argument());
    serve_arguments(command).after_help(EXAMPLES)
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let path = arguments.get_one::<PathBuf>("model").ok_or("give a model file.")?;
    let file = ModelFile::from_arguments(arguments)?;
    file.check_served()?;
    let handlers = webhooks::handlers(&file.model, arguments)?;
    let pages = match arguments.contains_id("pages") {
        true => vec![],
        false => pages_beside(path)?,
    };
    let parts = Parts { handlers, pages, ..Parts::default() };
    let name = &name_of(path);
    let (model, url, default_directory) = (&file.text, Arc::default(), directory_of(name));
    let [reading, serving] = [arguments.clone(), arguments.clone()];
    let model_source = ModelSource::new(
        move || Ok(ModelFile::from_arguments(&reading)?.text),
        move |model| {
            Rest::check(model, &[])?;
            webhooks::handlers(model, &serving)
        },
    );
    let model_source = Some(model_source);
    let program = PROGRAM;
    let served = Served { program, name, model, model_source, parts, url, default_directory };
    serve(served, arguments)
}

/// The pages in the folder `page` beside a model file, if it exists.
fn pages_beside(model: &Path) -> Result<Vec<OwnPage>, String> {
    let folder = model.with_file_name("page");
    if folder.join("index.html").is_file() { of_folder(&folder) } else { Ok(vec![]) }
}

/// The name of an application: `tasks` for `apps/tasks/model.toml`, `shop` for `shop.toml`.
fn name_of(model: &Path) -> String {
    let stem = model.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let folder = model.parent().and_then(Path::file_name);
    let folder = folder.map(|folder| folder.to_string_lossy().into_owned());
    match (stem.as_deref(), folder) {
        (Some("model"), Some(folder)) => folder,
        (stem, _) => stem.unwrap_or("keyloom").to_owned(),
    }
}
