//! What all servers share: listening, TLS, the engine's options, the runtime, stopping.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, value_parser};
use keyloom_server::{App, Config, Limits, Server, ServerError, TlsFiles};
use keyloom_store::{Durability, Options};
use tokio::net::TcpSocket;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::{limits, logging};

/// How long to wait for threads at the end.
const STOP_TIME: Duration = Duration::from_secs(1);

/// Adds the options of the listener and the engine.
pub fn arguments(command: clap::Command, listen: &'static str, defaults: &Limits) -> clap::Command {
    let command = limits::arguments(logging::arguments(command), defaults);
    command
        .arg(
            Arg::new("listen")
                .long("listen")
                .value_name("ADDRESS")
                .value_parser(value_parser!(SocketAddr))
                .default_value(listen)
                .help("Address to listen on; port 0 picks a free port"),
        )
        .arg(path("tls-cert").requires("tls-key").help("Serve HTTPS with this certificate (PEM)"))
        .arg(path("tls-key").requires("tls-cert").help("Private key of the certificate (PEM)"))
        .arg(
            Arg::new("cors-origin")
                .long("cors-origin")
                .value_name("ORIGIN")
                .action(ArgAction::Append)
                .value_delimiter(',')
                .help(
                    "Let pages of this origin use the API from a browser, such as\n\
                     https://app.example.com, or `*` for any; repeatable",
                ),
        )
        .arg(
            Arg::new("durability")
                .long("durability")
                .value_name("WHEN")
                .value_parser(["sync", "relaxed"])
                .default_value("sync")
                .help(
                    "When to acknowledge a write: after it is synced to disk, or\n\
                     before (a power failure can lose the last 100 ms)\n",
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
            Arg::new("retention-time")
                .long("retention-time")
                .value_name("HOURS")
                .value_parser(value_parser!(u32))
                .default_value("24")
                .help("How long to keep changes for /changes and restore, in hours"),
        )
        .arg(
            Arg::new("retention-size")
                .long("retention-size")
                .value_name("MIB")
                .value_parser(value_parser!(u32).range(32..))
                .default_value("1024")
                .help("Maximum size of the kept changes, in MiB"),
        )
}

fn path(name: &'static str) -> Arg {
    Arg::new(name).long(name).value_name("FILE").value_parser(value_parser!(PathBuf))
}

/// The engine's options.
pub fn options(arguments: &ArgMatches) -> Options {
    let durability = match arguments.get_one::<String>("durability").map(String::as_str) {
        Some("relaxed") => Durability::Relaxed,
        _ => Durability::Sync,
    };
    let memory_mib = arguments.get_one::<u32>("memory").copied().unwrap_or(256);
    let defaults = Options::default();
    let hours = arguments.get_one::<u32>("retention-time").copied().map(u64::from);
    let log_mib = arguments.get_one::<u32>("retention-size").copied().map(u64::from);
    Options {
        durability,
        memory_bytes: (memory_mib as usize) << 20,
        keep_log_secs: hours.map_or(defaults.keep_log_secs, |hours| hours * 60 * 60),
        keep_log_bytes: log_mib.map_or(defaults.keep_log_bytes, |mib| mib << 20),
        ..defaults
    }
}

/// The listener's configuration.
///
/// # Errors
///
/// If the arguments lack the options of [`arguments`].
pub fn config(arguments: &ArgMatches, defaults: Limits) -> Result<Config, String> {
    let listen = address(arguments)?;
    let file = |name| arguments.get_one::<PathBuf>(name).cloned();
    let tls = match (file("tls-cert"), file("tls-key")) {
        (Some(certificate), Some(key)) => Some(TlsFiles { certificate, key }),
        _ => None,
    };
    let origins = arguments.get_many::<String>("cors-origin").unwrap_or_default();
    let (limits, cors_origins) = (limits::limits(arguments, defaults), origins.cloned().collect());
    Ok(Config { listen, tls, limits, cors_origins })
}

/// Reserves the address to listen on for as long as the result lives, so that an address in use is
/// reported before anything else happens. It does not listen: until the server does, clients are
/// refused, as before it was started. Connections that wait here would be reset by the end of this.
///
/// # Errors
///
/// If the address cannot be bound.
pub fn reserve(arguments: &ArgMatches) -> Result<TcpSocket, String> {
    let address = address(arguments)?;
    bound(address).map_err(|cause| ServerError::Listen { address, cause }.to_string())
}

/// Listens on the address.
///
/// # Errors
///
/// If the address cannot be bound.
pub fn listener(arguments: &ArgMatches) -> Result<TcpListener, String> {
    let address = address(arguments)?;
    let bound = TcpListener::bind(address);
    bound.map_err(|cause| ServerError::Listen { address, cause }.to_string())
}

fn address(arguments: &ArgMatches) -> Result<SocketAddr, String> {
    arguments.get_one::<SocketAddr>("listen").copied().ok_or_else(|| "give --listen.".to_owned())
}

fn bound(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    // As listeners have it: closed connections do not keep the address.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

/// Binds the listener. Also returns the URL of the server.
///
/// # Errors
///
/// If the address cannot be bound, or the certificate cannot be read.
pub async fn bind(config: Config, app: App) -> Result<(Server, String), String> {
    let scheme = if config.tls.is_some() { "https" } else { "http" };
    let server = Server::bind(config, app).await.map_err(|error| error.to_string())?;
    let url = format!("{scheme}://{}", server.address());
    Ok((server, url))
}

/// Runs a server on all cores.
///
/// # Errors
///
/// Those of `work`, or if no threads can be started.
pub fn block_on(work: impl Future<Output = Result<(), String>>) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start threads: {error}."))?;
    let outcome = runtime.block_on(work);
    // A command that ignores the end must not keep the process alive.
    runtime.shutdown_timeout(STOP_TIME);
    outcome
}

/// Completes on SIGINT or SIGTERM.
///
/// # Errors
///
/// If signals cannot be caught.
pub fn stop_signal() -> Result<impl Future<Output = ()>, String> {
    let listen = |kind| signal(kind).map_err(|error| format!("cannot catch signals: {error}."));
    let mut interrupt: Signal = listen(SignalKind::interrupt())?;
    let mut terminate: Signal = listen(SignalKind::terminate())?;
    Ok(std::future::poll_fn(move |context| {
        let asked =
            interrupt.poll_recv(context).is_ready() || terminate.poll_recv(context).is_ready();
        if asked { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    }))
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    fn reserved(address: SocketAddr) -> Result<TcpSocket, String> {
        let command = arguments(clap::Command::new("test"), "127.0.0.1:8000", &Limits::default());
        let words = ["test".to_owned(), "--listen".to_owned(), address.to_string()];
        reserve(&command.get_matches_from(words))
    }

    /// A client that came while a server opened its data was connected, and then reset.
    #[test]
    fn clients_are_refused_while_an_address_is_reserved() {
        let reserved = reserved("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = reserved.local_addr().unwrap();
        let early = TcpStream::connect(address).map_err(|error| error.kind());
        assert_eq!(early.err(), Some(ErrorKind::ConnectionRefused));
        drop(reserved);
        let listener = TcpListener::bind(address).unwrap();
        assert!(TcpStream::connect(address).is_ok());
        drop(listener);
    }

    #[test]
    fn an_address_in_use_is_not_reserved() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let refused = reserved(address).err().unwrap();
        assert!(refused.contains(&address.to_string()), "{refused}");
    }
}
