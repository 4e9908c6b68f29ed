//! Where the data of a command is: in a directory, or in a table of DynamoDB.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Arg, ArgGroup, ArgMatches, value_parser};
use keyloom::{Db, SystemClock, SystemEntropy};
use keyloom_dynamodb::{Remote, RemoteOptions};
use keyloom_server::Tokens;
use keyloom_store::{Engine, Options, Store, TableName};

use crate::model_file::open_existing;

/// A store that has the data, and the table that it is in.
pub(crate) struct Place {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) table: String,
}

impl Place {
    /// The tokens of whoever is let in to it.
    pub(crate) async fn tokens(&self) -> Result<Tokens, String> {
        let (clock, entropy) = (Arc::new(SystemClock), Arc::new(SystemEntropy));
        let tokens = Tokens::open(self.store.clone(), clock, entropy).await;
        tokens.map_err(|error| error.to_string())
    }

    /// The database of a model that is there.
    pub(crate) async fn database(self, model: &str) -> Result<Db, String> {
        let options = keyloom::Options { table: self.table, ..keyloom::Options::default() };
        let db = Db::open_with(model, self.store, options).await;
        db.map_err(|error| error.to_string())
    }
}

/// Data that was opened, and what to say about it.
pub(crate) struct Opened {
    pub(crate) place: Place,
    /// What people call it.
    pub(crate) name: String,
    /// How it is named on the command line.
    pub(crate) flag: String,
    /// What is to be closed at the end.
    pub(crate) engine: Option<Arc<Engine>>,
}

/// Adds the arguments that say where data is that is there.
pub(crate) fn arguments(command: clap::Command) -> clap::Command {
    let data = Arg::new("data").long("data").value_name("DIR");
    let data = data.value_parser(value_parser!(PathBuf));
    let data = data.help("The directory that holds the data; nobody else may have it open");
    remote_arguments(command.arg(data))
        .group(ArgGroup::new("place").args(["data", "dynamodb"]).required(true))
}

/// Adds the arguments that say where data is in DynamoDB.
pub(crate) fn remote_arguments(command: clap::Command) -> clap::Command {
    let of_dynamodb = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).requires("dynamodb").help(help)
    };
    let table = Arg::new("dynamodb").long("dynamodb").value_name("TABLE").conflicts_with("data");
    command
        .arg(table.help("The table in DynamoDB that holds the data, instead of a directory"))
        .arg(of_dynamodb("endpoint-url", "URL", "Where DynamoDB is, if not at Amazon's"))
        .arg(of_dynamodb(
            "region",
            "REGION",
            "Its region, if not as the environment or profile says",
        ))
        .arg(of_dynamodb("profile", "NAME", "The profile of ~/.aws to use"))
}

/// Opens what the arguments name. Data that is not there is an error: nothing is made.
pub(crate) async fn open(arguments: &ArgMatches) -> Result<Place, String> {
    if let Some(directory) = arguments.get_one::<PathBuf>("data") {
        return open_directory(directory);
    }
    let place = open_remote(arguments).await?.ok_or("name a directory or a table.")?;
    let name = TableName::new(&place.table).map_err(|invalid| invalid.to_string())?;
    // A database that is opened makes its table.
    place.store.describe_table(name).await.map_err(|error| error.to_string())?;
    Ok(place)
}

/// Opens the table in DynamoDB that the arguments name, or the directory, or the one that is meant
/// if none is named; it is made if it is not there.
pub(crate) async fn open_or_make(
    arguments: &ArgMatches,
    default: PathBuf,
    options: Options,
) -> Result<Opened, String> {
    if let Some(place) = open_remote(arguments).await? {
        let name = format!("the table {}", place.table);
        let flag = format!("--dynamodb {}", place.table);
        return Ok(Opened { place, name, flag, engine: None });
    }
    let data = arguments.get_one::<PathBuf>("data").cloned().unwrap_or(default);
    let engine = Engine::open(&data, options).map_err(|error| error.to_string())?;
    let engine = Arc::new(engine);
    let place = Place { store: engine.clone(), table: keyloom::Options::default().table };
    let name = data.display().to_string();
    Ok(Opened { place, flag: format!("--data {name}"), name, engine: Some(engine) })
}

/// DynamoDB, if the arguments name a table there; the table need not be there yet.
async fn open_remote(arguments: &ArgMatches) -> Result<Option<Place>, String> {
    let text = |name| arguments.get_one::<String>(name).cloned();
    let Some(table) = text("dynamodb") else { return Ok(None) };
    let options = RemoteOptions {
        region: text("region"),
        profile: text("profile"),
        endpoint: text("endpoint-url"),
        ..RemoteOptions::default()
    };
    let remote = Remote::connect(options).await.map_err(|error| error.to_string())?;
    Ok(Some(Place { store: Arc::new(remote), table }))
}

fn open_directory(directory: &Path) -> Result<Place, String> {
    let store = open_existing(directory)?;
    Ok(Place { store, table: keyloom::Options::default().table })
}
