//! Where the data of a command is: in a directory, or in a table of DynamoDB.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Arg, ArgGroup, ArgMatches, value_parser};
use keyloom::Db;
use keyloom_dynamodb::{Remote, RemoteOptions};
use keyloom_store::{Read, Store, TableName};

use crate::model_file::{ModelFile, open_existing};

/// A store that has the data, and the table that it is in.
pub(crate) struct Place {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) table: String,
}

impl Place {
    /// The database of a model that is there.
    pub(crate) async fn database(self, file: &ModelFile) -> Result<Db, String> {
        let options = keyloom::Options { table: self.table, ..keyloom::Options::default() };
        let db = Db::open_with(&file.text, self.store, options).await;
        db.map_err(|error| error.to_string())
    }
}

/// Adds the arguments that say where the data is.
pub(crate) fn arguments(command: clap::Command) -> clap::Command {
    let of_dynamodb = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).requires("dynamodb").help(help)
    };
    command
        .arg(
            Arg::new("data")
                .long("data")
                .value_name("DIR")
                .value_parser(value_parser!(PathBuf))
                .help("The directory that holds the data; nobody else may have it open"),
        )
        .arg(
            Arg::new("dynamodb")
                .long("dynamodb")
                .value_name("TABLE")
                .help("The table in DynamoDB that holds the data, instead of a directory"),
        )
        .arg(of_dynamodb("endpoint-url", "URL", "Where DynamoDB is, if not at Amazon's"))
        .arg(of_dynamodb(
            "region",
            "REGION",
            "Its region, if not as the environment or profile says",
        ))
        .arg(of_dynamodb("profile", "NAME", "The profile of ~/.aws to use"))
        .group(ArgGroup::new("place").args(["data", "dynamodb"]).required(true))
}

/// Opens what the arguments name. Data that is not there is an error: nothing is made.
pub(crate) async fn open(arguments: &ArgMatches) -> Result<Place, String> {
    let text = |name| arguments.get_one::<String>(name).cloned();
    match (arguments.get_one::<PathBuf>("data"), text("dynamodb")) {
        (Some(directory), _) => open_directory(directory),
        (None, Some(table)) => {
            let options = RemoteOptions {
                region: text("region"),
                profile: text("profile"),
                endpoint: text("endpoint-url"),
                ..RemoteOptions::default()
            };
            open_table(table, options).await
        }
        (None, None) => Err("name a directory or a table.".to_owned()),
    }
}

fn open_directory(directory: &Path) -> Result<Place, String> {
    let store = open_existing(directory)?;
    Ok(Place { store, table: keyloom::Options::default().table })
}

async fn open_table(table: String, options: RemoteOptions) -> Result<Place, String> {
    let remote = Remote::connect(options).await.map_err(|error| error.to_string())?;
    let name = TableName::new(&table).map_err(|invalid| invalid.to_string())?;
    // A database that is opened makes its table.
    remote.describe_table(name).await.map_err(|error| error.to_string())?;
    Ok(Place { store: Arc::new(remote), table })
}
