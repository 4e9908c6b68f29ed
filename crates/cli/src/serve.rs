//! `keyloom serve`: a model over HTTP.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use clap::{Arg, ArgMatches, value_parser};
use keyloom::Db;
use keyloom_server::{Limits, Log, LogLevel, Rest, RestOptions};

use crate::application::Parts;
use crate::command::Command;
use crate::model_file::{ModelFile, close};
use crate::pages;
use crate::place::{self, Opened};
use crate::serving::{self, tell};
use crate::webhooks;
use crate::worker::Workers;

pub(crate) const COMMAND: Command = Command { name: "serve", describe, run };

/// A document has at most 320 KiB, and a transaction 100 of them that fit into 4 MB.
const BODY_BYTES_MAX: usize = 8 * 1024 * 1024;
/// How often what has expired is put away.
const EXPIRE_EVERY: Duration = Duration::from_secs(30);
/// How many at a time.
const EXPIRE_LIMIT: u32 = 1000;

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

/// What is served.
pub(crate) struct Served<'a> {
    /// What it is called.
    pub(crate) name: &'a str,
    /// The text of its model.
    pub(crate) model: &'a str,
    /// What it adds to the model.
    pub(crate) parts: Parts,
    /// Takes the address under which it is served.
    pub(crate) url: Arc<OnceLock<String>>,
}

fn describe(command: clap::Command) -> clap::Command {
    let command = command.about("Serve a model over HTTP, with documentation at /docs");
    let command = command.arg(ModelFile::argument()).arg(webhooks::argument());
    arguments(command).after_help(EXAMPLES)
}

/// The arguments that do not depend on what is served.
pub(crate) fn arguments(command: clap::Command) -> clap::Command {
    let data = Arg::new("data").long("data").value_name("DIR");
    let data = data.value_parser(value_parser!(PathBuf)).help(
        "The directory that holds the data; made if it is not there.\n\
         Without it, a directory here that is named after the model",
    );
    let log = Arg::new("log").long("log").value_name("WHICH").default_value("all");
    let log = log
        .value_parser(["all", "failures", "nothing"])
        .help("Which requests are told of on standard error, in JSON\n");
    let command =
        serving::arguments(command.arg(data), "127.0.0.1:8080").arg(log).arg(pages::argument());
    place::remote_arguments(command)
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let path = arguments.get_one::<PathBuf>("model").ok_or("Name a model file.")?;
    let file = ModelFile::named(arguments)?;
    let handlers = webhooks::handlers(&file.model, arguments)?;
    let (parts, url) = (Parts { handlers, ..Parts::default() }, Arc::default());
    let served = Served { name: &name_of(path), model: &file.text, parts, url };
    serve(served, arguments)
}

/// Serves until the process is told to stop.
pub(crate) fn serve(served: Served<'_>, arguments: &ArgMatches) -> Result<(), String> {
    serving::block_on(serve_until_stopped(served, arguments))
}

async fn serve_until_stopped(served: Served<'_>, arguments: &ArgMatches) -> Result<(), String> {
    let default = directory_of(served.name);
    let opened = place::open_or_make(arguments, default, serving::options(arguments)).await?;
    let Opened { place, name, flag, engine } = opened;
    let tokens = place.tokens().await?;
    let db = place.database(served.model).await?;
    let is_open = tokens.is_open();
    let chores = tokio::spawn(chores(db.clone()));
    let Parts { routes, closed, handlers, pages } = served.parts;
    let pages = [pages, pages::named(arguments)?].concat();
    let (service, log) = (served.name.to_owned(), log(arguments));
    let options = RestOptions { name: service, log, closed, pages, ..RestOptions::default() };
    let rest = Rest::new(db.clone(), tokens, routes, options)?;
    let greeting = rest.greeting();
    let limits = Limits { body_bytes: BODY_BYTES_MAX, ..Limits::default() };
    let config = serving::config(arguments, limits)?;
    if is_open && !config.listen.ip().is_loopback() {
        return Err(format!(
            "there are no tokens, so this machine alone can be served: make one with `keyloom \
             token create {flag} --role admin`, or listen on 127.0.0.1."
        ));
    }
    let (server, url) = serving::bind(config, rest.into()).await?;
    let _ = served.url.set(url.clone());
    let workers = handlers.map(|handlers| Workers::start(&db, handlers));
    drop(db);
    let stop = serving::stop_signal()?;
    tell(&format!("Serving {} from {name} on {url}", served.name));
    if is_open {
        tell("There are no tokens: anybody on this machine is let in, and nobody else.");
    }
    tell(&greeting.replace("URL", &url));
    server.run(stop).await;
    chores.abort();
    // What it held is let go of before the engine is closed.
    let _ = chores.await;
    if let Some(workers) = workers {
        workers.stop().await;
    }
    tell("Stopped.");
    engine.map_or(Ok(()), close)
}

/// Where the data of a model is, if nothing is said.
pub(crate) fn directory_of(name: &str) -> PathBuf {
    PathBuf::from(format!("{name}-data"))
}

/// What goes on while requests are answered: rows that a changed model needs, and expiry.
async fn chores(db: Db) {
    if db.is_backfill_pending() {
        tell("The model was changed: rows are being made anew. Lists that need them answer later.");
        match db.backfill(|_| {}).await {
            Ok(()) => tell("All rows are as the model says."),
            Err(error) => complain(&format!("The rows could not be made anew: {error}")),
        }
    }
    loop {
        if let Err(error) = db.expire(EXPIRE_LIMIT).await {
            complain(&format!("What has expired could not be put away: {error}"));
        }
        tokio::time::sleep(EXPIRE_EVERY).await;
    }
}

fn log(arguments: &ArgMatches) -> Log {
    let level = match arguments.get_one::<String>("log").map(String::as_str) {
        Some("failures") => LogLevel::Failures,
        Some("nothing") => LogLevel::Nothing,
        _ => LogLevel::All,
    };
    Log { level, write: Arc::new(complain) }
}

pub(crate) fn complain(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
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
