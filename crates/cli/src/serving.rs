//! What every command that serves has in common: where to listen, where data is, when to stop.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Arg, ArgMatches, value_parser};
use keyloom_server::{App, Config, Limits, Server, TlsFiles};
use keyloom_store::{Durability, Options};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The arguments that say where to listen and how data is kept.
pub(crate) fn arguments(command: clap::Command, listen: &'static str) -> clap::Command {
    command
        .arg(
            Arg::new("listen")
                .long("listen")
                .value_name("ADDRESS")
                .value_parser(value_parser!(SocketAddr))
                .default_value(listen)
                .help("Where to listen; port 0 takes any that is free"),
        )
        .arg(path("tls-cert").requires("tls-key").help("Speak TLS with this certificate, in PEM"))
        .arg(path("tls-key").requires("tls-cert").help("The certificate's private key, in PEM"))
        .arg(
            Arg::new("durability")
                .long("durability")
                .value_name("WHEN")
                .value_parser(["sync", "relaxed"])
                .default_value("sync")
                .help(
                    "When a write is answered: `sync`, when it is safe on disk;\n\
                     `relaxed`, before that, and a crash of the machine may lose\n\
                     the last tenth of a second",
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
}

fn path(name: &'static str) -> Arg {
    Arg::new(name).long(name).value_name("FILE").value_parser(value_parser!(PathBuf))
}

/// How the engine is opened.
pub(crate) fn options(arguments: &ArgMatches) -> Options {
    let durability = match arguments.get_one::<String>("durability").map(String::as_str) {
        Some("relaxed") => Durability::Relaxed,
        _ => Durability::Sync,
    };
    let memory_mib = arguments.get_one::<u32>("memory").copied().unwrap_or(256);
    Options { durability, memory_bytes: (memory_mib as usize) << 20, ..Options::default() }
}

/// Where and how to listen.
pub(crate) fn config(arguments: &ArgMatches, limits: Limits) -> Result<Config, String> {
    let listen = *arguments.get_one::<SocketAddr>("listen").ok_or("Say --listen.")?;
    let file = |name| arguments.get_one::<PathBuf>(name).cloned();
    let tls = match (file("tls-cert"), file("tls-key")) {
        (Some(certificate), Some(key)) => Some(TlsFiles { certificate, key }),
        _ => None,
    };
    Ok(Config { listen, tls, limits })
}

/// A server that listens, and the address to reach it under.
pub(crate) async fn bind(config: Config, app: App) -> Result<(Server, String), String> {
    let scheme = if config.tls.is_some() { "https" } else { "http" };
    let server = Server::bind(config, app).await.map_err(|error| error.to_string())?;
    let url = format!("{scheme}://{}", server.address());
    Ok((server, url))
}

/// Runs a command that needs a runtime.
pub(crate) fn block_on(work: impl Future<Output = Result<(), String>>) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("No threads could be started: {error}."))?;
    runtime.block_on(work)
}

/// Ready when the process is asked to stop.
pub(crate) fn stop_signal() -> Result<impl Future<Output = ()>, String> {
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
pub(crate) fn tell(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
    let _ = std::io::stdout().flush();
}
