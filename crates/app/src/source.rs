//! Where the data of a command is: in a directory, or in a DynamoDB table.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Arg, ArgGroup, ArgMatches, value_parser};
use keyloom::{Db, MigrationPlan, SystemClock, SystemEntropy};
use keyloom_dynamodb::{Consumption, Remote, RemoteOptions};
use keyloom_server::Tokens;
use keyloom_store::{Engine, Options, Store, TableName};

use crate::directory::{self, OpenMode};

/// A store, and the table in it that holds the data.
pub struct DataSource {
    /// Its store.
    pub store: Arc<dyn Store>,
    /// The table's name.
    pub table: String,
    /// Whether a model may replace the newer one of the table.
    pub allow_older_model: bool,
}

impl DataSource {
    /// Opens its access tokens.
    ///
    /// # Errors
    ///
    /// If the store cannot be read or written, or tokens have to be moved from the table that version
    /// 0.1 shared among all databases: without them, a server would need no authentication.
    pub async fn tokens(&self) -> Result<Tokens, String> {
        self.check_tokens().await?;
        self.own_tokens().await
    }

    /// Fails if tokens have to be moved first.
    pub(crate) async fn check_tokens(&self) -> Result<(), String> {
        match Tokens::are_shared(&*self.store, &self.table).await {
            Ok(false) => Ok(()),
            Ok(true) => Err(shared_tokens(&self.table)),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Opens its access tokens and no others, to create the first one.
    pub(crate) async fn own_tokens(&self) -> Result<Tokens, String> {
        let (clock, entropy) = (Arc::new(SystemClock), Arc::new(SystemEntropy));
        let tokens = Tokens::open(self.store.clone(), &self.table, clock, entropy).await;
        tokens.map_err(|error| error.to_string())
    }

    /// Opens the database of a model.
    ///
    /// # Errors
    ///
    /// If the model has errors or does not fit the data, or the store fails.
    pub async fn database(&self, model: &str) -> Result<Db, String> {
        let db = Db::open_with(model, self.store.clone(), self.options()).await;
        db.map_err(|error| error.to_string())
    }

    /// What opening a model on it would do.
    pub(crate) async fn plan_migration(&self, model: &str) -> Result<MigrationPlan, String> {
        let plan = Db::plan_migration(model, &*self.store, &self.options()).await;
        plan.map_err(|error| error.to_string())
    }

    fn options(&self) -> keyloom::Options {
        keyloom::Options {
            table: self.table.clone(),
            allow_older_model: self.allow_older_model,
            ..keyloom::Options::default()
        }
    }
}

fn shared_tokens(table: &str) -> String {
    format!(
        "the tokens of the table {table} may be in the table keyloom.tokens, which all databases of \
         an account shared before. Now each has its own, {table}.tokens. To keep all shared tokens, run \
         `keyloom token adopt --dynamodb {table}`, and then revoke those that are not meant for this \
         database. To start with a new token, and no other, run \
         `keyloom token create --dynamodb {table} --role admin`."
    )
}

/// Open data, and how messages refer to it.
pub struct Opened {
    /// The data.
    pub source: DataSource,
    /// Its name in a sentence.
    pub name: String,
    /// The command-line option that selects it.
    pub flag: String,
    /// The engine to close at the end, if the data is in a directory.
    pub engine: Option<Arc<Engine>>,
    /// What is consumed of DynamoDB, if the data is there.
    pub consumption: Option<Arc<Consumption>>,
}

/// Adds the options that select existing data.
pub fn arguments(command: clap::Command) -> clap::Command {
    let data = Arg::new("data").long("data").value_name("DIR");
    let data = data.value_parser(value_parser!(PathBuf));
    let data = data.help("Data directory; a server that has it open runs the command");
    remote_arguments(command.arg(data))
        .group(ArgGroup::new("place").args(["data", "dynamodb"]).required(true))
}

/// Adds the options that select a table in DynamoDB.
pub fn remote_arguments(command: clap::Command) -> clap::Command {
    let of_dynamodb = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).requires("dynamodb").help(help)
    };
    let table = Arg::new("dynamodb").long("dynamodb").value_name("TABLE").conflicts_with("data");
    command
        .arg(table.help("DynamoDB table to use instead of a data directory"))
        .arg(of_dynamodb("endpoint-url", "URL", "DynamoDB endpoint [default: that of the region]"))
        .arg(of_dynamodb(
            "region",
            "REGION",
            "AWS region [default: from the environment or profile]",
        ))
        .arg(of_dynamodb("profile", "NAME", "AWS profile to use"))
}

/// Opens the data that the arguments select. A table that does not exist is created only by a
/// database that is opened in it.
///
/// # Errors
///
/// If it does not exist and is not to be created, or cannot be opened.
pub async fn open(arguments: &ArgMatches, mode: OpenMode) -> Result<Opened, String> {
    if let Some(directory) = arguments.get_one::<PathBuf>("data") {
        return Ok(in_directory(directory, directory::open(directory, mode)?));
    }
    let opened = open_remote(arguments).await?.ok_or("give --data or --dynamodb.")?;
    if mode != OpenMode::Create {
        let name = TableName::new(&opened.source.table).map_err(|invalid| invalid.to_string())?;
        // Opening a database would create a missing table.
        opened.source.store.describe_table(name).await.map_err(|error| error.to_string())?;
    }
    Ok(opened)
}

/// Opens the table or directory that the arguments select, or the default directory, and creates it
/// if it does not exist.
///
/// # Errors
///
/// If it can be neither opened nor created.
pub async fn open_or_create(
    arguments: &ArgMatches,
    default: PathBuf,
    options: Options,
) -> Result<Opened, String> {
    if let Some(opened) = open_remote(arguments).await? {
        return Ok(opened);
    }
    let data = arguments.get_one::<PathBuf>("data").cloned().unwrap_or(default);
    Ok(in_directory(&data, directory::open_or_create(&data, options)?))
}

fn in_directory(directory: &Path, engine: Arc<Engine>) -> Opened {
    let table = keyloom::Options::default().table;
    let source = DataSource { store: engine.clone(), table, allow_older_model: false };
    let name = directory.display().to_string();
    let flag = format!("--data {name}");
    Opened { source, flag, name, engine: Some(engine), consumption: None }
}

/// DynamoDB, if the arguments name a table there; the table need not exist yet.
async fn open_remote(arguments: &ArgMatches) -> Result<Option<Opened>, String> {
    // Some commands work on directories only.
    let text = |name| arguments.try_get_one::<String>(name).ok().flatten().cloned();
    let Some(table) = text("dynamodb") else { return Ok(None) };
    let options = RemoteOptions {
        region: text("region"),
        profile: text("profile"),
        endpoint: text("endpoint-url"),
        ..RemoteOptions::default()
    };
    let remote = Remote::connect(options).await.map_err(|error| error.to_string())?;
    let (name, flag) = (format!("the table {table}"), format!("--dynamodb {table}"));
    // Only servers take this option.
    let allow_older_model = arguments.try_get_one::<bool>("allow-older-model").ok().flatten();
    let allow_older_model = allow_older_model.copied().unwrap_or(false);
    let consumption = Some(remote.consumption());
    let source = DataSource { store: Arc::new(remote), table, allow_older_model };
    Ok(Some(Opened { source, name, flag, engine: None, consumption }))
}
