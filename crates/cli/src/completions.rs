//! `keyloom completions`: shell completion scripts.

use clap::{Arg, ArgMatches, value_parser};
use clap_complete::Shell;

use crate::command::{Command, PROGRAM, write_stdout};

pub(crate) const COMMAND: Command = Command { name: "completions", describe, run };

const EXAMPLES: &str = "\
Examples:
  keyloom completions bash > ~/.local/share/bash-completion/completions/keyloom
  keyloom completions zsh > ~/.zfunc/_keyloom      # with `fpath+=~/.zfunc` before compinit
  keyloom completions fish > ~/.config/fish/completions/keyloom.fish
  keyloom completions elvish >> ~/.config/elvish/rc.elv
  keyloom completions powershell >> $PROFILE";

fn describe(command: clap::Command) -> clap::Command {
    command
        .about("Print a shell completion script")
        .arg(
            Arg::new("shell")
                .value_name("SHELL")
                .value_parser(value_parser!(Shell))
                .required(true)
                .help("Shell to generate the script for"),
        )
        .after_help(EXAMPLES)
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let shell = arguments.get_one::<Shell>("shell").copied().ok_or("name a shell.")?;
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut crate::run::cli(), PROGRAM, &mut script);
    write_stdout(&String::from_utf8_lossy(&script))
}
