//! The options of strict mode.

use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, value_parser};
use keyloom_dynamodb::StrictOptions;

/// A number that strict mode can be given.
struct Setting {
    name: &'static str,
    value: &'static str,
    help: &'static str,
    default: &'static str,
}

const SETTINGS: &[Setting] = &[
    Setting {
        name: "strict-seed",
        value: "NUMBER",
        help: "Seed of everything random",
        default: "0",
    },
    Setting {
        name: "strict-latency",
        value: "MS",
        help: "Average time of a request; a transaction takes three times that",
        default: "4",
    },
    Setting {
        name: "strict-burst",
        value: "SECONDS",
        help: "Unused capacity that a partition keeps",
        default: "300",
    },
    Setting {
        name: "strict-split",
        value: "SECONDS",
        help: "Seconds of throttling before a partition is split",
        default: "60",
    },
    Setting {
        name: "strict-lag",
        value: "MS",
        help: "The most that a global index lags",
        default: "200",
    },
    Setting {
        name: "strict-create",
        value: "SECONDS",
        help: "How long it takes to create or delete a table or index",
        default: "5",
    },
    Setting {
        name: "strict-shard",
        value: "SECONDS",
        help: "Age at which a shard of a stream closes",
        default: "14400",
    },
];

pub(super) fn arguments(command: clap::Command) -> clap::Command {
    let command = command.next_help_heading("Strict mode").arg(
        Arg::new("strict")
            .long("strict")
            .action(ArgAction::SetTrue)
            .help("Behave as the service does under load (docs/strict.md)"),
    );
    let argument = |setting: &'static Setting| {
        Arg::new(setting.name)
            .long(setting.name)
            .value_name(setting.value)
            .value_parser(value_parser!(u64))
            .default_value(setting.default)
            .help(setting.help)
    };
    let command = SETTINGS.iter().fold(command, |command, setting| command.arg(argument(setting)));
    command.next_help_heading(None)
}

/// Returns the options, if strict mode is on.
pub(super) fn options(arguments: &ArgMatches) -> Option<StrictOptions> {
    let number = |name: &str| arguments.get_one::<u64>(name).copied().unwrap_or_default();
    let mut options = StrictOptions::default();
    options.seed = number("strict-seed");
    options.latency = Duration::from_millis(number("strict-latency"));
    options.burst = Duration::from_secs(number("strict-burst"));
    options.split_after = Duration::from_secs(number("strict-split"));
    options.index_lag = Duration::from_millis(number("strict-lag"));
    options.create_time = Duration::from_secs(number("strict-create"));
    options.shard_time = Duration::from_secs(number("strict-shard").max(1));
    arguments.get_flag("strict").then_some(options)
}
