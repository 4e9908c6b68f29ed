//! `keyloom mcp`: serves a running server's data and model to assistants, over the Model Context Protocol.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Arg, ArgMatches, value_parser};
use keyloom_app::{listen, print, secret};
use keyloom_mcp::{McpListener, McpOptions, Token, serve_http, serve_stdio};

use crate::command::{Command, PROGRAM};

pub(crate) const COMMAND: Command = Command { name: "mcp", describe, run };

const EXAMPLES: &str = "\
Tools, all read-only:
  describe_model   entities, fields and declared queries with parameters and cost
  query            rows of a declared query, page by page
  explain          plan, rows read and price of a declared query
  propose          the declaration that another query needs, and its price
  check_model      errors of a model file, or a summary
  diff_model       what a new model changes for the data, and what is refused
  changes_since    changes after a position of the change feed
  verify           check derived data, part by part (admin token)

The command is a client of a running server, and can do what its token may: give it a token with the
role `reader`, of one tenant if possible. The token is in KEYLOOM_TOKEN or in a file, never an option.

Examples:
  keyloom mcp
      Serve the tools over stdio, from a server on http://127.0.0.1:8080

  keyloom mcp --url https://db.example.com --tenant acme --token-file token
      Serve those of one tenant, with the token in a file

  keyloom mcp --listen 127.0.0.1:8081
      Serve them to this machine over HTTP, at http://127.0.0.1:8081/mcp

  keyloom mcp --listen 0.0.0.0:8081
      Serve them to clients that send a token of the server, which is passed on; without KEYLOOM_TOKEN

docs/mcp.md has settings for common clients.";

fn describe(command: clap::Command) -> clap::Command {
    let text = |name, value| Arg::new(name).long(name).value_name(value);
    let file = |name| text(name, "FILE").value_parser(value_parser!(PathBuf));
    command
        .about("Serve a database to assistants, over the Model Context Protocol")
        .arg(
            text("url", "URL")
                .default_value("http://127.0.0.1:8080")
                .help("URL of the server to read from"),
        )
        .arg(
            text("tenant", "TENANT").help("Tenant whose data to read [default: that of the token]"),
        )
        .arg(file("token-file").help("File with the token to send [env: KEYLOOM_TOKEN]"))
        .arg(file("ca").help("Additional trusted certificates (PEM)"))
        .arg(
            text("listen", "ADDRESS")
                .value_parser(value_parser!(SocketAddr))
                .help("Serve streamable HTTP on this address instead of stdio"),
        )
        .after_help(EXAMPLES)
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let text = |name| arguments.get_one::<String>(name).cloned();
    let token = secret(PROGRAM, "token-file", arguments)?;
    let token = token.filter(|token| !token.is_empty());
    let options = McpOptions {
        url: text("url").ok_or("give a URL.")?,
        tenant: text("tenant"),
        token: token.as_deref().map(Token::new).transpose()?,
        trusted: arguments.get_one::<PathBuf>("ca").cloned(),
    };
    match arguments.get_one::<SocketAddr>("listen").copied() {
        None => listen::block_on(serve_stdio(options)),
        Some(address) => listen::block_on(async {
            let listener = McpListener::bind(options, address).await?;
            let stop = listen::stop_signal()?;
            print(&format!("Listening on {}", listener.url()));
            serve_http(listener, stop).await;
            Ok(())
        }),
    }
}
