//! `keyloom health`: checks whether a server responds, or is ready, for containers without curl.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, value_parser};
use keyloom_app::listen;
use keyloom_server::{HttpClient, HttpClientOptions};

use crate::command::{Command, write_stdout};

pub(crate) const COMMAND: Command = Command { name: "health", describe, run };

/// Where a server says that it is up, and that it can read and write its data.
const UP: &str = "/healthz";
const READY: &str = "/readyz";

const EXAMPLES: &str = "\
Examples:
  keyloom health
      Exit with 0 if a server responds on http://127.0.0.1:8080, else with 1

  keyloom health --ready http://127.0.0.1:8000
      Exit with 0 if the server can also read and write its data

  keyloom health https://db.example.com --ca ca.pem";

fn describe(command: clap::Command) -> clap::Command {
    let url = Arg::new("url").value_name("URL").default_value("http://127.0.0.1:8080");
    let ca = Arg::new("ca").long("ca").value_name("FILE").value_parser(value_parser!(PathBuf));
    let ready = Arg::new("ready").long("ready").action(ArgAction::SetTrue);
    let timeout = Arg::new("timeout").long("timeout").value_name("SECONDS").default_value("4");
    command
        .about("Check whether a server responds")
        .arg(url.help("URL of a `keyloom serve`, `demo` or `dynamodb` server"))
        .arg(ready.help("Also fail if the server cannot read and write its data"))
        .arg(ca.help("Additional trusted certificates (PEM)"))
        .arg(
            timeout
                .value_parser(value_parser!(u64).range(1..))
                .help("Give up after this many seconds"),
        )
        .after_help(EXAMPLES)
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let url = arguments.get_one::<String>("url").ok_or("give a URL.")?;
    let seconds = arguments.get_one::<u64>("timeout").copied().unwrap_or(4);
    let trusted = arguments.get_one::<PathBuf>("ca").cloned();
    let options = HttpClientOptions {
        time: Duration::from_secs(seconds),
        trusted,
        ..HttpClientOptions::default()
    };
    let path = if arguments.get_flag("ready") { READY } else { UP };
    let address = format!("{}{path}", url.trim_end_matches('/'));
    listen::block_on(async {
        let answer =
            HttpClient::new(options)?.get(&address).await.map_err(|error| error.to_string())?;
        match answer.is_success() {
            true => write_stdout("OK\n"),
            false => Err(format!("{address} returned status {}.", answer.status)),
        }
    })
}
