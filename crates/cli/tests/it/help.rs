//! The help of every command has examples and is in `docs/cli.md`; completions include every command.

use std::fmt::Write as _;

use crate::process::{assert_written, output};

const INTRODUCTION: &str = "\
# The command line

`cargo build --release -p keyloom-cli` builds `target/release/keyloom`. This page is the output of
`keyloom --help` and of each command's `--help`. A test keeps it current;
`KEYLOOM_BLESS=1 cargo test -p keyloom-cli help` rewrites it.

```text
";

/// The names of all commands, as `--help` lists them.
pub(crate) fn commands() -> Vec<String> {
    let (_, help, _) = output(&["--help"]);
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = list.lines().filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn the_reference_page_is_the_help_of_all_commands() {
    let mut page = format!("{INTRODUCTION}{}```\n", output(&["--help"]).1);
    for name in commands() {
        let (_, help, _) = output(&[&name, "--help"]);
        write!(page, "\n## keyloom {name}\n\n```text\n{help}```\n").unwrap();
    }
    assert_written("../../docs/cli.md", &page);
}

#[test]
fn every_command_has_examples() {
    assert!(commands().len() >= 9, "{:?}", commands());
    for name in commands() {
        let (_, help, _) = output(&[&name, "--help"]);
        assert!(help.contains(&format!("\n  keyloom {name}")), "{name} has no example:\n{help}");
        let widest = help.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(110), "{name}: {widest:?}");
    }
}

#[test]
fn completions_include_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (success, script, err) = output(&["completions", shell]);
        assert!(success, "{shell}: {err}");
        for name in commands() {
            assert!(script.contains(&name), "{shell} lacks {name}");
        }
    }
    assert!(!output(&["completions", "tcsh"]).0);
}
