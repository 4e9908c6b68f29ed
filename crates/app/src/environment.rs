//! Options from the environment: for the program `keyloom`, `--max-body` is also `KEYLOOM_MAX_BODY`.
//!
//! The command line takes precedence. Empty variables are ignored, and so are variables that would select
//! other data than the command line does.

use std::ffi::OsString;

use clap::{Arg, Command};

/// The options that select the data.
const DIRECTORY: &str = "data";
const TABLE: &str = "dynamodb";
const OF_TABLE: [&str; 4] = [TABLE, "endpoint-url", "region", "profile"];

/// The name and the command line of a program.
#[derive(Clone, Copy, Debug)]
pub struct Environment<'a> {
    /// Variables are named after it.
    pub program: &'a str,
    /// The words of the command line.
    pub words: &'a [OsString],
}

impl Environment<'_> {
    /// Binds every option of a command to a variable.
    pub fn of_all(&self, command: Command) -> Command {
        self.bind(command, |_| true)
    }

    /// Binds only the options that select the data. Other options may share a name with an option of a
    /// server and mean something else.
    pub fn of_source(&self, command: Command) -> Command {
        self.bind(command, |name| name == DIRECTORY || OF_TABLE.contains(&name))
    }

    fn bind(&self, command: Command, is_bound: fn(&str) -> bool) -> Command {
        // Only a DynamoDB endpoint has `--region` and no table: there the region selects no data.
        let has_table = command.get_arguments().any(|arg| arg.get_id() == TABLE);
        let command = command.mut_args(|arg| {
            let name = arg.get_long().filter(|name| is_bound(name)).map(str::to_owned);
            match name {
                Some(name) if !(has_table && self.contradicts(&name)) => self.bound(arg, &name),
                _ => arg,
            }
        });
        command.mut_subcommands(|command| self.bind(command, is_bound))
    }

    fn bound(&self, arg: Arg, name: &str) -> Arg {
        let variable = variable(self.program, name);
        let is_empty = std::env::var_os(&variable).is_some_and(|value| value.is_empty());
        if is_empty { arg } else { arg.env(variable).hide_env(true) }
    }

    /// Whether the command line selects other data than this option would.
    fn contradicts(&self, name: &str) -> bool {
        match name {
            DIRECTORY => self.is_given(TABLE),
            _ => OF_TABLE.contains(&name) && self.is_given(DIRECTORY),
        }
    }

    fn is_given(&self, option: &str) -> bool {
        let words = self.words.iter().filter_map(|word| word.to_str()?.strip_prefix("--"));
        words.map(|word| word.split('=').next().unwrap_or(word)).any(|word| word == option)
    }
}

/// The name of the environment variable of an option.
pub(crate) fn variable(program: &str, option: &str) -> String {
    format!("{program}_{option}").replace('-', "_").to_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::serve_arguments;
    use crate::source;

    /// The variables that a command reads in a program that was started with these words.
    fn variables(words: &[&str], bind: fn(&Environment<'_>, Command) -> Command) -> Vec<String> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let environment = Environment { program: "my-shop", words: &words };
        let command = bind(&environment, serve_arguments(Command::new("test")));
        let bound = command.get_arguments().filter_map(Arg::get_env);
        bound.map(|name| name.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn every_option_of_a_server_is_a_variable() {
        let found = variables(&["my-shop"], |environment, command| environment.of_all(command));
        let options = serve_arguments(Command::new("test")).get_arguments().count();
        assert_eq!(found.len(), options);
        for name in ["MY_SHOP_MAX_BODY", "MY_SHOP_LISTEN", "MY_SHOP_DATA", "MY_SHOP_TLS_CERT"] {
            assert!(found.iter().any(|found| found == name), "{name}: {found:?}");
        }
    }

    #[test]
    fn other_commands_bind_only_the_options_that_select_data_also_in_subcommands() {
        let source = |environment: &Environment<'_>, command| environment.of_source(command);
        let mut found = variables(&[], source);
        found.sort();
        let expected = ["DATA", "DYNAMODB", "ENDPOINT_URL", "PROFILE", "REGION"];
        assert_eq!(found, expected.map(|name| format!("MY_SHOP_{name}")));
        let inner = source::arguments(Command::new("inner"));
        let outer = Environment { program: "shop", words: &[] };
        let outer = outer.of_source(Command::new("outer").subcommand(inner));
        let inner = outer.find_subcommand("inner").unwrap();
        assert_eq!(inner.get_arguments().filter_map(Arg::get_env).count(), 5);
    }

    #[test]
    fn the_command_line_takes_precedence_in_selecting_data() {
        let all = |environment: &Environment<'_>, command| environment.of_all(command);
        let has = |words: &[&str], name: &str| variables(words, all).iter().any(|v| v == name);
        for words in [&["--data", "x"][..], &["--data=x"]] {
            assert!(!has(words, "MY_SHOP_DYNAMODB") && !has(words, "MY_SHOP_REGION"), "{words:?}");
            assert!(has(words, "MY_SHOP_DATA") && has(words, "MY_SHOP_MEMORY"), "{words:?}");
        }
        assert!(!has(&["--dynamodb", "x"], "MY_SHOP_DATA"));
        assert!(has(&["--dynamodb", "x"], "MY_SHOP_REGION"));
    }
}
