//! `keyloom health`: whether a server answers, for supervisors of containers that have no other program.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, ArgMatches, value_parser};
use keyloom_app::listen;
use keyloom_server::{HttpClient, HttpClientOptions};

use crate::command::{Command, say};

pub(crate) const COMMAND: Command = Command { name: "health", describe, run };

const PATH: &str = "/healthz";

const EXAMPLES: &str = "\
Examples:
  keyloom health
      Exit with 0 if a server answers on http://127.0.0.1:8080, else with 1

  keyloom health https://db.example.com --ca ca.pem";

fn describe(command: clap::Command) -> clap::Command {
    let url = Arg::new("url").value_name("URL").default_value("http://127.0.0.1:8080");
    let ca = Arg::new("ca").long("ca").value_name("FILE").value_parser(value_parser!(PathBuf));
    let timeout = Arg::new("timeout").long("timeout").value_name("SECONDS").default_value("4");
    command
        .about("Check whether a server answers")
        .arg(url.help("Address of a server of `keyloom serve` or `keyloom demo`"))
        .arg(ca.help("Trust the certificates in this file too (PEM)"))
        .arg(timeout.value_parser(value_parser!(u64).range(1..)).help("Give up after this long"))
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
    let address = format!("{}{PATH}", url.trim_end_matches('/'));
    listen::block_on(async {
        let answer =
            HttpClient::new(options)?.get(&address).await.map_err(|error| error.to_string())?;
        match answer.is_success() {
            true => say("OK\n"),
            false => Err(format!("{address} answered with the status {}.", answer.status)),
        }
    })
}
