//! The list of commands, and running the one that the command line names.

use std::process::ExitCode;

use keyloom_app::{Environment, exit};

use crate::command::{Command, PROGRAM};
use crate::{
    backup, chart, check, client, compact, completions, copy, demo, dynamodb, explain, export,
    health, import, infrastructure, jobs, mcp, migrate, plan, restore, scrub, serve, status, token,
    verify,
};

/// Every command, in the order of `--help`: models and plans, serving, data, backups, setup.
const COMMANDS: &[Command] = &[
    check::COMMAND,
    chart::COMMAND,
    plan::COMMAND,
    client::COMMAND,
    serve::COMMAND,
    demo::COMMAND,
    token::COMMAND,
    jobs::COMMAND,
    migrate::COMMAND,
    status::COMMAND,
    health::COMMAND,
    mcp::COMMAND,
    dynamodb::COMMAND,
    import::COMMAND,
    export::COMMAND,
    verify::COMMAND,
    scrub::COMMAND,
    explain::COMMAND,
    backup::COMMAND,
    restore::COMMAND,
    copy::COMMAND,
    compact::COMMAND,
    infrastructure::COMMAND,
    completions::COMMAND,
];

const EXAMPLES: &str = "\
Getting started:
  keyloom demo tasks                       serve an application with sample data
  keyloom check apps/tasks/model.toml      check a model; docs/model.md is the guide
  keyloom serve apps/tasks/model.toml      serve it on http://127.0.0.1:8080

Run `keyloom COMMAND --help` for options and examples.";

/// The commands that serve. Each of their options is also an environment variable.
const SERVERS: [&str; 3] = [serve::COMMAND.name, demo::COMMAND.name, dynamodb::COMMAND.name];

/// The command-line interface: all commands with their arguments.
pub(crate) fn cli() -> clap::Command {
    clap::Command::new(PROGRAM)
        .version(env!("CARGO_PKG_VERSION"))
        .about("Declare entities and queries once; serve them from one table with bounded reads.")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(
            COMMANDS.iter().map(|command| (command.describe)(clap::Command::new(command.name))),
        )
        .after_help(EXAMPLES)
}

/// Runs the binary `keyloom` with the arguments of this process.
pub fn run() -> ExitCode {
    keyloom_app::panics::hide_those_of_damage();
    let words: Vec<_> = std::env::args_os().collect();
    let environment = Environment { program: PROGRAM, words: &words };
    let matches = cli().mut_subcommands(|command| bind(&environment, command)).get_matches();
    let Some((name, arguments)) = matches.subcommand() else { return ExitCode::FAILURE };
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        return ExitCode::FAILURE;
    };
    exit(&format!("keyloom {name}"), (command.run)(arguments))
}

fn bind(environment: &Environment<'_>, command: clap::Command) -> clap::Command {
    match SERVERS.contains(&command.get_name()) {
        true => environment.of_all(command),
        false => environment.of_source(command),
    }
}
