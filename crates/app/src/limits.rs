//! Command-line options for the limits of a server.

use std::time::Duration;

use clap::{Arg, ArgMatches, value_parser};
use keyloom_server::Limits;

const HEADING: &str = "Limits";
const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// An option that sets one of the limits.
struct LimitOption {
    name: &'static str,
    /// The placeholder of the value in the help.
    unit: &'static str,
    help: &'static str,
    get: fn(&Limits) -> u64,
    set: fn(&mut Limits, u64),
}

macro_rules! count {
    ($name:literal, $field:ident, $help:literal) => {
        count!($name, $field, "N", 1, $help)
    };
    ($name:literal, $field:ident, $unit:literal, $size:expr, $help:literal) => {
        LimitOption {
            name: $name,
            unit: $unit,
            help: $help,
            get: |limits| (limits.$field / $size) as u64,
            set: |limits, value| {
                limits.$field = usize::try_from(value).unwrap_or(usize::MAX).saturating_mul($size);
            },
        }
    };
}

macro_rules! time {
    ($name:literal, $field:ident, $help:literal) => {
        LimitOption {
            name: $name,
            unit: "SECONDS",
            help: $help,
            get: |limits| limits.$field.as_secs(),
            set: |limits, value| limits.$field = Duration::from_secs(value),
        }
    };
}

const OPTIONS: &[LimitOption] = &[
    count!("max-connections", connections, "Open connections, within the file handle limit"),
    count!(
        "max-connections-per-client",
        connections_per_client,
        "Open connections of one client address"
    ),
    count!("max-streams", streams, "Open event streams"),
    count!(
        "max-streams-per-client",
        streams_per_client,
        "Open event streams of one client address"
    ),
    count!("max-body", body_bytes, "MIB", MIB, "Size of one request body, in MiB"),
    count!("max-bodies", bodies_bytes, "MIB", MIB, "Memory for all request bodies, in MiB"),
    count!("max-head", head_bytes, "KIB", KIB, "Size of the head of a request, in KiB"),
    count!("max-headers", headers, "Headers of one request"),
    time!("idle-timeout", head_time, "Close a connection that sends no request for this long"),
    time!("body-timeout", body_time, "Give up on a request body after this long"),
    time!("answer-timeout", answer_time, "Give up on an answer after this long"),
    time!("write-timeout", write_time, "Close a connection that takes no bytes for this long"),
    time!("stop-timeout", stop_time, "When stopping, wait this long for requests in progress"),
];

/// Adds an option for each limit.
pub fn arguments(command: clap::Command, defaults: &Limits) -> clap::Command {
    OPTIONS.iter().fold(command, |command, option| {
        let default = (option.get)(defaults).to_string();
        command.arg(
            Arg::new(option.name)
                .long(option.name)
                .value_name(option.unit)
                .value_parser(value_parser!(u64).range(1..))
                .default_value(default)
                .help(option.help)
                .help_heading(HEADING),
        )
    })
}

/// The limits that were given.
pub fn limits(arguments: &ArgMatches, mut limits: Limits) -> Limits {
    for option in OPTIONS {
        if let Some(value) = arguments.get_one::<u64>(option.name) {
            (option.set)(&mut limits, *value);
        }
    }
    limits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_sets_its_limit_alone_and_defaults_change_nothing() {
        let defaults = Limits::default();
        let command = || arguments(clap::Command::new("test"), &defaults);
        let given = command().get_matches_from(["test"]);
        assert_eq!(format!("{:?}", limits(&given, defaults)), format!("{defaults:?}"));
        for option in OPTIONS {
            let given = command().get_matches_from(["test", &format!("--{}", option.name), "7"]);
            let limits = limits(&given, defaults);
            assert_eq!((option.get)(&limits), 7, "{}", option.name);
            let mut back = limits;
            (option.set)(&mut back, (option.get)(&defaults));
            assert_eq!(format!("{back:?}"), format!("{defaults:?}"), "{} alone", option.name);
        }
    }
}
