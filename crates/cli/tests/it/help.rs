//! Every command teaches: its help has examples, `docs/cli.md` has its help, and completions know it.

use std::fmt::Write as _;

use crate::process::{assert_written, told};

const INTRODUCTION: &str = "\
# The command line

`cargo build --release -p keyloom-cli` makes the binary `target/release/keyloom`. This page is its
help; a test keeps it so (`KEYLOOM_BLESS=1 cargo test -p keyloom-cli help` rewrites it).

```text
";

/// The names of all commands, as `--help` lists them.
pub(crate) fn commands() -> Vec<String> {
    let (_, help, _) = told(&["--help"]);
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = list.lines().filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn the_page_about_commands_is_their_help() {
    let mut page = format!("{INTRODUCTION}{}```\n", told(&["--help"]).1);
    for name in commands() {
        let (_, help, _) = told(&[&name, "--help"]);
        write!(page, "\n## keyloom {name}\n\n```text\n{help}```\n").unwrap();
    }
    assert_written("../../docs/cli.md", &page);
}

#[test]
fn every_command_has_examples() {
    assert!(commands().len() >= 9, "{:?}", commands());
    for name in commands() {
        let (_, help, _) = told(&[&name, "--help"]);
        assert!(help.contains(&format!("\n  keyloom {name}")), "{name} has no example:\n{help}");
        let widest = help.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(110), "{name}: {widest:?}");
    }
}

#[test]
fn completions_know_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (success, script, err) = told(&["completions", shell]);
        assert!(success, "{shell}: {err}");
        for name in commands() {
            assert!(script.contains(&name), "{shell} does not know {name}");
        }
    }
    assert!(!told(&["completions", "tcsh"]).0);
}
