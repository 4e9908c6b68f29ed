//! The one binary: `keyloom`. One file for each command.

mod check;
mod command;
mod dynamodb;
mod verify;

use std::io::Write;
use std::process::ExitCode;

use command::Command;

/// Answers are made of many small pieces of memory.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Every command, in the order in which `--help` lists them.
const COMMANDS: &[Command] = &[check::COMMAND, verify::COMMAND, dynamodb::COMMAND];

fn main() -> ExitCode {
    let cli = clap::Command::new("keyloom")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Entities and the questions asked of them, declared once, on one table.")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(
            COMMANDS.iter().map(|command| (command.describe)(clap::Command::new(command.name))),
        );
    let matches = cli.get_matches();
    let Some((name, arguments)) = matches.subcommand() else { return ExitCode::FAILURE };
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        return ExitCode::FAILURE;
    };
    match (command.run)(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            // There is nobody left to tell if this fails.
            let _ = writeln!(std::io::stderr(), "keyloom {name}: {message}");
            ExitCode::FAILURE
        }
    }
}
