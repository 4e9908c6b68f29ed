//! `keyloom dynamodb`: serves a directory to any client of Amazon DynamoDB.

use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Arg, ArgMatches, value_parser};
use keyloom_dynamodb::{Endpoint, EndpointOptions};
use keyloom_server::{Config, Credentials, DynamoDb, Limits, Server, TlsFiles};
use keyloom_store::{Durability, Engine, Options, SystemClock};
use tokio::signal::unix::{Signal, SignalKind, signal};

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
    command
        .about("Serve a directory to any client of Amazon DynamoDB")
        .arg(path("data", "DIR").required(true).help("The directory that holds the tables; made if it is not there"))
        .arg(
            Arg::new("listen")
                .long("listen")
                .value_name("ADDRESS")
                .value_parser(value_parser!(SocketAddr))
                .default_value("127.0.0.1:8000")
                .help("Where to listen; port 0 takes any that is free"),
        )
        .arg(path("credentials", "FILE").help(
            "Let in only requests signed with a key of this file, which is written like ~/.aws/credentials. \
             Without it any request is let in, and only this machine is listened to",
        ))
        .arg(path("tls-cert", "FILE").requires("tls-key").help("Speak TLS with this certificate, in PEM"))
        .arg(path("tls-key", "FILE").requires("tls-cert").help("The certificate's private key, in PEM"))
        .arg(
            Arg::new("durability")
                .long("durability")
                .value_name("WHEN")
                .value_parser(["sync", "relaxed"])
                .default_value("sync")
                .help(
                    "When a write is answered: `sync`, when it is safe on disk; `relaxed`, before \
                     that, and a crash of the machine may lose the last tenth of a second",
                ),
        )
        .arg(
            Arg::new("memory")
                .long("memory")
                .value_name("MIB")
                .value_parser(value_parser!(u32).range(16..))
                .default_value("256")
                .help("Memory for cached and unwritten pages, in MiB"),
        )
        .arg(
            Arg::new("region")
                .long("region")
                .value_name("NAME")
                .default_value("us-east-1")
                .help("The region that resource names say"),
        )
        .after_help(EXAMPLES)
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("No threads could be started: {error}."))?;
    runtime.block_on(serve(arguments))
}

async fn serve(arguments: &ArgMatches) -> Result<(), String> {
    let text = |name: &str| arguments.get_one::<String>(name).map(String::as_str);
    let data = arguments.get_one::<PathBuf>("data").ok_or("Say --data.")?;
    let listen = arguments.get_one::<SocketAddr>("listen").ok_or("Say --listen.")?;
    let credentials = credentials(arguments)?;
    let is_open = credentials.is_none();
    let engine = Engine::open(data, options(arguments)).map_err(|error| error.to_string())?;
    let engine = Arc::new(engine);
    let region = text("region").unwrap_or_default().to_owned();
    let options = EndpointOptions { region, ..EndpointOptions::default() };
    let endpoint = Endpoint::new(engine.clone(), options);
    let app = DynamoDb::new(endpoint, credentials, Arc::new(SystemClock));
    let tls = tls(arguments);
    let scheme = if tls.is_some() { "https" } else { "http" };
    let config = Config { listen: *listen, tls, limits: Limits::default() };
    let server = Server::bind(config, app.into()).await.map_err(|error| error.to_string())?;
    let stop = stop_signal()?;
    tell(&format!("Listening on {scheme}://{}", server.address()));
    if is_open {
        tell("No --credentials: any signature is accepted, and only this machine is listened to.");
    }
    server.run(stop).await;
    tell("Stopped.");
    match Arc::try_unwrap(engine) {
        Ok(engine) => engine.close(),
        Err(engine) => engine.checkpoint(),
    }
    .map_err(|error| error.to_string())
}

fn options(arguments: &ArgMatches) -> Options {
    let durability = match arguments.get_one::<String>("durability").map(String::as_str) {
        Some("relaxed") => Durability::Relaxed,
        _ => Durability::Sync,
    };
    let memory_mib = arguments.get_one::<u32>("memory").copied().unwrap_or(256);
    Options { durability, memory_bytes: (memory_mib as usize) << 20, ..Options::default() }
}

fn credentials(arguments: &ArgMatches) -> Result<Option<Credentials>, String> {
    let Some(path) = arguments.get_one::<PathBuf>("credentials") else { return Ok(None) };
    let failed = |why: String| format!("The file {} cannot be used: {why}", path.display());
    let text = fs::read_to_string(path).map_err(|error| failed(format!("{error}.")))?;
    Credentials::parse(&text).map(Some).map_err(|error| failed(error.to_string()))
}

fn tls(arguments: &ArgMatches) -> Option<TlsFiles> {
    let certificate = arguments.get_one::<PathBuf>("tls-cert")?.clone();
    let key = arguments.get_one::<PathBuf>("tls-key")?.clone();
    Some(TlsFiles { certificate, key })
}

/// Ready when the process is asked to stop.
fn stop_signal() -> Result<impl Future<Output = ()>, String> {
    let listen = |kind| signal(kind).map_err(|error| format!("No signals: {error}."));
    let mut interrupt: Signal = listen(SignalKind::interrupt())?;
    let mut terminate: Signal = listen(SignalKind::terminate())?;
    Ok(std::future::poll_fn(move |context| {
        let asked =
            interrupt.poll_recv(context).is_ready() || terminate.poll_recv(context).is_ready();
        if asked { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    }))
}

/// Tells whoever started it. That nobody listens is no reason to stop.
fn tell(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
    let _ = std::io::stdout().flush();
}
