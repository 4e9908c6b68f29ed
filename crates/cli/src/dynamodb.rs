//! `keyloom dynamodb`: serves a data directory over the DynamoDB API.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Arg, ArgMatches, value_parser};
use keyloom_app::directory::{close, open_or_create};
use keyloom_app::operations::{About, Data};
use keyloom_app::reload::Hangup;
use keyloom_app::{DamageWatch, listen, logging, print, socket};
use keyloom_dynamodb::{Endpoint, EndpointOptions, Strict};
use keyloom_server::{Credentials, DynamoDb, Limits};
use keyloom_store::SystemClock;

use crate::command::Command;

mod strict;

pub(crate) const COMMAND: Command = Command { name: "dynamodb", describe, run };

const EXAMPLES: &str = "\
Examples:
  keyloom dynamodb --data ./data
      Serve the tables in ./data on http://127.0.0.1:8000; any access key is accepted:
      aws dynamodb list-tables --endpoint-url http://127.0.0.1:8000 --region us-east-1

  keyloom dynamodb --data ./data --listen 0.0.0.0:8443 --credentials keys \\
      --tls-cert cert.pem --tls-key key.pem
      Accept remote connections, signed with one of the access keys in the file `keys`, which
      has the format of ~/.aws/credentials

  keyloom dynamodb --data ./data --strict
      Behave as the service does under load: transactions conflict, partitions have a capacity,
      indexes lag; see where your hot partitions are on http://127.0.0.1:8000/heat

Every option is also an environment variable: --max-body is KEYLOOM_MAX_BODY.
Stop the server with Ctrl-C or SIGTERM; it finishes requests in progress. SIGHUP makes it read the
certificate and the credentials again.";

fn describe(command: clap::Command) -> clap::Command {
    let path = |name: &'static str, value: &'static str| {
        Arg::new(name).long(name).value_name(value).value_parser(value_parser!(PathBuf))
    };
    let command = command
        .about("Serve the DynamoDB API from a data directory")
        .arg(path("data", "DIR").required(true).help("Data directory, created if missing"))
        .arg(path("credentials", "FILE").help(
            "File with the accepted access keys, in the format of\n\
             ~/.aws/credentials [default: any key, loopback only]",
        ))
        .arg(
            Arg::new("region")
                .long("region")
                .value_name("NAME")
                .default_value("us-east-1")
                .help("Region in resource names (ARNs)"),
        )
        .after_help(EXAMPLES);
    let command = strict::arguments(command);
    // A line for each request costs about as much as the request.
    listen::arguments(command, "127.0.0.1:8000", &Limits::default())
        .mut_arg("log", |log| log.default_value("failures"))
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    listen::block_on(serve(arguments))
}

async fn serve(arguments: &ArgMatches) -> Result<(), String> {
    logging::start(arguments);
    let hangup = Hangup::catch()?;
    let data = arguments.get_one::<PathBuf>("data").ok_or("give --data.")?;
    let credentials = credentials(arguments)?;
    let is_open = credentials.is_none();
    // Fails on a port in use before anything is created.
    let reserved = listen::reserve(arguments)?;
    let engine = open_or_create(data, listen::options(arguments))?;
    let _watch = DamageWatch::start(&engine);
    let region = arguments.get_one::<String>("region").cloned().unwrap_or_default();
    let options = EndpointOptions { region, ..EndpointOptions::default() };
    let strict = strict::options(arguments)
        .map(|options| Arc::new(Strict::new(engine.clone(), Arc::new(SystemClock), options)));
    let endpoint = match &strict {
        Some(strict) => Endpoint::strict(strict.clone(), options),
        None => Endpoint::new(engine.clone(), options),
    };
    endpoint.recover().await?;
    let app =
        DynamoDb::new(endpoint, credentials.clone(), Arc::new(SystemClock)).on_engine(&engine);
    let config = listen::config(arguments, Limits::default())?;
    drop(reserved);
    let (server, url) = listen::bind(config, app.into()).await?;
    let (reload, arguments) = (Arc::new(server.reload()), arguments.clone());
    let reloading = hangup.reload(move || {
        let (reload, old, new) =
            (reload.clone(), credentials.clone(), self::credentials(&arguments));
        async move {
            reload().map_err(|error| error.to_string())?;
            if let (Some(old), Some(new)) = (old, new?) {
                old.replace(&new);
            }
            Ok(())
        }
    });
    let about = About::new("DynamoDB", &url);
    let socket = socket::listen(&engine, Data::Tables { engine: engine.clone(), about });
    let stop = listen::stop_signal()?;
    print(&format!("Listening on {url}"));
    if is_open {
        print("No --credentials: loopback requests only, with any access key.");
    }
    if strict.is_some() {
        print(&format!("Strict mode: see the heat of partitions on {url}/heat"));
    }
    server.run(stop).await;
    reloading.abort();
    if let Some(socket) = socket {
        socket.stop().await;
    }
    print("Stopped.");
    close(engine)
}

fn credentials(arguments: &ArgMatches) -> Result<Option<Credentials>, String> {
    let Some(path) = arguments.get_one::<PathBuf>("credentials") else { return Ok(None) };
    let failed = |why: String| format!("cannot use {}: {why}", path.display());
    let text = fs::read_to_string(path).map_err(|error| failed(format!("{error}.")))?;
    Credentials::parse(&text).map(Some).map_err(|error| failed(error.to_string()))
}
