//! The log: events of requests and of the server itself, written to standard error.

use std::io::stderr;

use clap::{Arg, ArgMatches};
use keyloom_server::REQUEST_TARGET;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Adds the options of the log.
pub fn arguments(command: clap::Command) -> clap::Command {
    let log = Arg::new("log").long("log").value_name("WHICH").default_value("all");
    let format = Arg::new("log-format").long("log-format").value_name("FORMAT");
    command
        .arg(
            log.value_parser(["all", "failures", "nothing"])
                .help("Which requests to log to stderr\n"),
        )
        .arg(
            format
                .default_value("json")
                .value_parser(["json", "text"])
                .help("One JSON object per line, or text for people\n"),
        )
}

/// Starts logging as configured by the arguments. Only the first call in a process has an effect.
pub fn start(arguments: &ArgMatches) {
    let given = |name| arguments.get_one::<String>(name).map(String::as_str);
    let requests = match given("log") {
        Some("failures") => LevelFilter::ERROR,
        Some("nothing") => LevelFilter::OFF,
        _ => LevelFilter::INFO,
    };
    // Warnings and errors of the server itself are always logged.
    let chosen =
        Targets::new().with_default(LevelFilter::WARN).with_target(REQUEST_TARGET, requests);
    let registry = tracing_subscriber::registry().with(chosen);
    let layer = fmt::layer().with_writer(stderr).with_target(false);
    // Fails only if logging has started already.
    let _ = match given("log-format") {
        Some("text") => registry.with(layer.with_ansi(false)).try_init(),
        _ => registry.with(layer.json().flatten_event(true).with_current_span(false)).try_init(),
    };
}
