//! `keyloom dynamodb`: serves a directory to any client of Amazon DynamoDB.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Arg, ArgMatches, value_parser};
use keyloom_app::directory::close;
use keyloom_app::{listen, print};
use keyloom_dynamodb::{Endpoint, EndpointOptions};
use keyloom_server::{Credentials, DynamoDb, Limits};
use keyloom_store::{Engine, SystemClock};

use crate::command::Command;

pub(crate) const COMMAND: Command = Command { name: "dynamodb", describe, run };

const EXAMPLES: &str = "\
Examples:
  keyloom dynamodb --data ./data
      Serve the tables in ./data to this machine. Any client works with any keys:
      aws dynamodb list-tables --endpoint-url http://127.0.0.1:8000 --region us-east-1

  keyloom dynamodb --data ./data --listen 0.0.0.0:8443 --credentials keys \\
      --tls-cert cert.pem --tls-key key.pem
      Serve others too. The file `keys` is written like ~/.aws/credentials; requests must be
      signed with one of its keys.

Stop it with Ctrl-C or SIGTERM: requests under way are answered first.";

fn describe(command: clap::Command) -> clap::Command {
    let path = |name: &'static str, value: &'static str| {
        Arg::new(name).long(name).value_name(value).value_parser(value_parser!(PathBuf))
    };
    let command = command
        .about("Serve a directory to any client of Amazon DynamoDB")
        .arg(
            path("data", "DIR")
                .required(true)
                .help("The directory that holds the tables; made if it is not there"),
        )
        .arg(path("credentials", "FILE").help(
            "Let in only requests signed with a key of this file, which is\n\
             written like ~/.aws/credentials. Without it any request is let\n\
             in, and only this machine is listened to",
        ))
        .arg(
            Arg::new("region")
                .long("region")
                .value_name("NAME")
                .default_value("us-east-1")
                .help("The region that resource names say"),
        )
        .after_help(EXAMPLES);
    listen::arguments(command, "127.0.0.1:8000")
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    listen::block_on(serve(arguments))
}

async fn serve(arguments: &ArgMatches) -> Result<(), String> {
    let data = arguments.get_one::<PathBuf>("data").ok_or("Say --data.")?;
    let credentials = credentials(arguments)?;
    let is_open = credentials.is_none();
    let options = listen::options(arguments);
    let engine = Arc::new(Engine::open(data, options).map_err(|error| error.to_string())?);
    let region = arguments.get_one::<String>("region").cloned().unwrap_or_default();
    let options = EndpointOptions { region, ..EndpointOptions::default() };
    let endpoint = Endpoint::new(engine.clone(), options);
    let app = DynamoDb::new(endpoint, credentials, Arc::new(SystemClock));
    let config = listen::config(arguments, Limits::default())?;
    let (server, url) = listen::bind(config, app.into()).await?;
    let stop = listen::stop_signal()?;
    print(&format!("Listening on {url}"));
    if is_open {
        print("No --credentials: any signature is accepted, and only this machine is listened to.");
    }
    server.run(stop).await;
    print("Stopped.");
    close(engine)
}

fn credentials(arguments: &ArgMatches) -> Result<Option<Credentials>, String> {
    let Some(path) = arguments.get_one::<PathBuf>("credentials") else { return Ok(None) };
    let failed = |why: String| format!("The file {} cannot be used: {why}", path.display());
    let text = fs::read_to_string(path).map_err(|error| failed(format!("{error}.")))?;
    Credentials::parse(&text).map(Some).map_err(|error| failed(error.to_string()))
}
