//! Serving a model until the process is told to stop.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use clap::{Arg, ArgAction, ArgMatches, value_parser};
use keyloom::Db;
use keyloom::events::Handlers;
use keyloom_dynamodb::Consumption;
use keyloom_server::{AdminToken, Issuers, Limits, Rest, RestOptions, Server, Tokens};
use keyloom_store::Engine;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use crate::chores::Chores;
use crate::console::print;
use crate::damage::DamageWatch;
use crate::directory::close;
use crate::model_reload::{ModelReload, ModelSource, ModelTexts, RunningWorkers, ServedModel};
use crate::operations::{About, Data};
use crate::parts::Parts;
use crate::reload::Hangup;
use crate::source::{self, DataSource, Opened};
use crate::worker::Workers;
use crate::{admin_token, issuers, listen, logging, pages, socket};

/// A document has at most 320 KiB, and a transaction 100 of them that fit into 4 MB.
const BODY_BYTES_MAX: usize = 8 * 1024 * 1024;

/// A model to serve.
#[derive(Debug)]
pub struct Served<'a> {
    /// The program that serves it; environment variables are named after it.
    pub program: &'a str,
    /// Its name, as the API reference shows it.
    pub name: &'a str,
    /// The text of its model.
    pub model: &'a str,
    /// Where to read the model again on SIGHUP, unless it is part of the program.
    pub model_source: Option<ModelSource>,
    /// What the application adds to the model.
    pub parts: Parts,
    /// Set to the URL once the server listens.
    pub url: Arc<OnceLock<String>>,
    /// The data directory, unless the arguments select other data.
    pub default_directory: PathBuf,
}

/// Adds the options that every server takes.
pub fn serve_arguments(command: clap::Command) -> clap::Command {
    let data = Arg::new("data").long("data").value_name("DIR");
    let data = data.value_parser(value_parser!(PathBuf)).help(
        "Data directory, created if missing [default: ./NAME-data, after the\n\
         model]",
    );
    let listen = "127.0.0.1:8080";
    let command = listen::arguments(command.arg(data), listen, &default_limits());
    let command = command.arg(pages::argument()).arg(admin_token::argument());
    let command = command.arg(issuers::argument());
    let backups = Arg::new("backup-dir").long("backup-dir").value_name("DIR");
    let backups = backups.value_parser(value_parser!(PathBuf)).help(
        "Folder, created if missing, into which administrators may back up\n\
         the data from the console [default: they may not]",
    );
    let command = command.arg(backups);
    let older = Arg::new("allow-older-model").long("allow-older-model").action(ArgAction::SetTrue);
    let older = older.help("Replace the newer model that the table has by this one");
    source::remote_arguments(command).arg(older.requires("dynamodb"))
}

/// Serves until the process is told to stop.
///
/// # Errors
///
/// If the data cannot be opened or the server cannot listen.
pub fn serve(served: Served<'_>, arguments: &ArgMatches) -> Result<(), String> {
    listen::block_on(serve_until_stopped(served, arguments))
}

async fn serve_until_stopped(served: Served<'_>, arguments: &ArgMatches) -> Result<(), String> {
    logging::start(arguments);
    let hangup = Hangup::catch()?;
    // Reports a malformed token, wrong issuers and a port in use before creating anything.
    let admin = admin_token::named(served.program, arguments)?;
    let issuers = issuers::named(arguments)?;
    let reserved = listen::reserve(arguments)?;
    let (default, options) = (served.default_directory, listen::options(arguments));
    let opened = source::open_or_create(arguments, default, options).await?;
    let Opened { source, name, flag, engine, consumption } = opened;
    let _watch = engine.as_ref().map(DamageWatch::start);
    let tokens = Arc::new(open_tokens(&source, issuers, admin.as_ref()).await?);
    let db = source.database(served.model).await?;
    // The engine can be closed only by its last owner.
    drop(source);
    let is_open = tokens.is_open();
    let chores = Chores::start(&db);
    let Parts { routes, closed, handlers, pages } = served.parts;
    let checked = handlers.iter().try_for_each(|handlers| handlers.check(&db));
    checked.map_err(|error| error.to_string())?;
    let pages = [pages, pages::named(arguments)?].concat();
    let options = rest_options(served.name, engine.as_ref(), consumption, arguments)?;
    let options = RestOptions { closed, pages, ..options };
    let rest = Rest::new(db.clone(), tokens.clone(), routes, options.clone())?;
    let serve_again = Box::new(rest.reload());
    let greeting = rest.greeting();
    let config = listen::config(arguments, default_limits())?;
    if is_open && !config.listen.ip().is_loopback() {
        return Err(too_open(&flag, served.program));
    }
    drop(reserved);
    let (server, url) = listen::bind(config, rest.into()).await?;
    let _ = served.url.set(url.clone());
    let workers = start_workers(&db, handlers).await;
    let model = served.model_source.map(|source| ModelReload {
        source,
        db: db.clone(),
        serve: serve_again,
        options,
        workers: workers.clone(),
        texts: Mutex::new(ModelTexts::of(served.model)),
    });
    let model = model.map(Arc::new);
    let parts = (&server, &tokens, model.clone());
    let reloading = reload(hangup, parts, (served.program, arguments));
    let socket = engine.as_ref().and_then(|engine| {
        let about = About::new(served.name, &url);
        let (engine_of, model) = (engine.clone(), ServedModel::of(model));
        socket::listen(engine, Data::Served { db, tokens, engine: engine_of, model, about })
    });
    let stop = listen::stop_signal()?;
    print(&format!("Serving {} from {name} on {url}", served.name));
    if is_open {
        print("No tokens configured: only loopback requests are accepted, without authentication.");
    }
    print(&greeting.replace("URL", &url));
    server.run(stop).await;
    reloading.abort();
    if let Some(socket) = socket {
        socket.stop().await;
    }
    // They hold the database, which must be dropped before the engine closes.
    let _ = reloading.await;
    chores.stop().await;
    if let Some(workers) = workers.lock().await.take() {
        workers.stop().await;
    }
    print("Stopped.");
    engine.map_or(Ok(()), close)
}

/// How a model is served, without what an application adds to it.
fn rest_options(
    name: &str,
    engine: Option<&Arc<Engine>>,
    consumption: Option<Arc<Consumption>>,
    arguments: &ArgMatches,
) -> Result<RestOptions, String> {
    Ok(RestOptions {
        name: name.to_owned(),
        engine: engine.cloned(),
        backup_folder: backup_folder(arguments, engine.is_some())?,
        consumption,
        ..RestOptions::default()
    })
}

/// The folder for backups, which only a data directory can have.
fn backup_folder(arguments: &ArgMatches, is_engine: bool) -> Result<Option<PathBuf>, String> {
    // Not every command that serves takes it.
    let folder = arguments.try_get_one::<PathBuf>("backup-dir").ok().flatten();
    match folder {
        Some(_) if !is_engine => {
            Err("--backup-dir needs a data directory: DynamoDB makes backups of its own."
                .to_owned())
        }
        folder => Ok(folder.cloned()),
    }
}

/// Opens the tokens, creates the configured one, and trusts the configured issuers.
async fn open_tokens(
    source: &DataSource,
    issuers: Option<Issuers>,
    admin: Option<&AdminToken>,
) -> Result<Tokens, String> {
    let tokens = source.tokens().await?;
    admin_token::ensure(&tokens, admin).await?;
    Ok(match issuers {
        Some(issuers) => tokens.trusting(issuers),
        None => tokens,
    })
}

async fn start_workers(db: &Db, handlers: Option<Handlers>) -> RunningWorkers {
    let workers = match handlers {
        Some(handlers) => Some(Workers::start(db, handlers).await),
        None => None,
    };
    Arc::new(Mutex::new(workers))
}

fn too_open(flag: &str, program: &str) -> String {
    format!(
        "refusing to accept remote connections without authentication. Create a token with \
         `keyloom token create {flag} --role admin`, give one from `keyloom token generate` in \
         {}, name identity providers with --issuers, or listen on 127.0.0.1.",
        admin_token::variable(program)
    )
}

/// Reads the certificate, the tokens and the model again whenever the process is told to.
fn reload(
    hangup: Hangup,
    (server, tokens, model): (&Server, &Arc<Tokens>, Option<Arc<ModelReload>>),
    (program, arguments): (&str, &ArgMatches),
) -> JoinHandle<()> {
    let (certificate, tokens) = (Arc::new(server.reload()), tokens.clone());
    let (program, arguments) = (program.to_owned(), arguments.clone());
    hangup.reload(move || {
        let (certificate, tokens, model) = (certificate.clone(), tokens.clone(), model.clone());
        let admin = admin_token::named(&program, &arguments);
        async move {
            // One failure does not prevent the other reloads.
            let certificate = certificate().map_err(|error| error.to_string());
            let known = tokens.reload().await.map_err(|error| error.to_string());
            let admin = match admin {
                Ok(admin) => admin_token::ensure(&tokens, admin.as_ref()).await,
                Err(error) => Err(error),
            };
            let model = match &model {
                Some(model) => model.run().await,
                None => Ok(()),
            };
            certificate.and(known).and(admin).and(model)
        }
    })
}

/// The default data directory of a model.
pub fn directory_of(name: &str) -> PathBuf {
    PathBuf::from(format!("{name}-data"))
}

fn default_limits() -> Limits {
    Limits { body_bytes: BODY_BYTES_MAX, ..Limits::default() }
}
