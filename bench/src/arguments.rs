//! Command-line arguments.

use std::path::PathBuf;
use std::time::Duration;

use crate::Kind;

pub(crate) const HELP: &str = "\
Compare the contenders and print one table.

Usage: cargo run --release -p keyloom-bench -- [OPTIONS]

Options:
  --quick       Use fewer rows and shorter rounds: one minute instead of ten, less accurate
  --library     Compare only the library with the raw engine
  --reads       Measure only the engine's reads
  --memory MIB  Memory of each contender [default: 1024]. If the rows do not fit, most reads miss
                the cache: Keyloom then verifies checksums, and redb does not
  --rows N      Rows of 1 KB to load first [default: 200000]
  --rounds N    Rounds of each contender; the median counts [default: 5]
  --seconds S   Length of a round [default: 3]
  --dir PATH    Parent of a temporary folder for the data [default: target/bench-data, because a
                temporary directory may be in memory, where a sync is free]
  --help        Print help
";

/// The parsed command line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Arguments {
    pub(crate) mode: Mode,
    pub(crate) settings: Settings,
}

/// What to do.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Mode {
    Compare,
    /// Fill a data directory and wait to be killed: the other half of the reopen measurement.
    Fill(Fill),
    Help,
}

/// What the process to be killed writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fill {
    pub(crate) kind: Kind,
    /// Bytes of rows to put through the log.
    pub(crate) log_bytes: u64,
}

/// What to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    All,
    Reads,
    Library,
}

/// How much to measure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Settings {
    pub(crate) part: Part,
    pub(crate) rows: u64,
    /// Memory of each contender.
    pub(crate) memory_bytes: usize,
    pub(crate) rounds: usize,
    pub(crate) round: Duration,
    pub(crate) directory: PathBuf,
    /// Bytes to put when measuring checkpoints.
    pub(crate) checkpoint_bytes: u64,
    /// Sizes of the log when measuring reopening.
    pub(crate) reopen_log_bytes: Vec<u64>,
    /// The number of disk probes.
    pub(crate) disk_probes: usize,
}

const MIB: u64 = 1 << 20;

impl Settings {
    fn full() -> Settings {
        Settings {
            part: Part::All,
            rows: 200_000,
            memory_bytes: 1 << 30,
            rounds: 5,
            round: Duration::from_secs(3),
            directory: PathBuf::from("target/bench-data"),
            checkpoint_bytes: 256 * MIB,
            reopen_log_bytes: vec![4 * MIB, 16 * MIB, 48 * MIB],
            disk_probes: 1000,
        }
    }

    fn quick() -> Settings {
        Settings {
            rows: 20_000,
            rounds: 3,
            round: Duration::from_millis(500),
            checkpoint_bytes: 96 * MIB,
            reopen_log_bytes: vec![4 * MIB, 16 * MIB],
            disk_probes: 200,
            ..Settings::full()
        }
    }
}

impl Arguments {
    /// Parses the words after the program's name.
    pub(crate) fn parse(words: &[String]) -> Result<Arguments, String> {
        let is_quick = words.iter().any(|word| word == "--quick");
        let mut settings = if is_quick { Settings::quick() } else { Settings::full() };
        let mut mode = Mode::Compare;
        let mut words = words.iter();
        while let Some(option) = words.next() {
            let mut value = || words.next().ok_or(format!("{option} needs a value."));
            match option.as_str() {
                "--quick" => {}
                "--library" => settings.part = Part::Library,
                "--help" | "-h" => mode = Mode::Help,
                "--reads" => settings.part = Part::Reads,
                "--memory" => settings.memory_bytes = number::<usize>(option, value()?)? << 20,
                "--rows" => settings.rows = number(option, value()?)?,
                "--rounds" => settings.rounds = number(option, value()?)?,
                "--seconds" => settings.round = seconds(option, value()?)?,
                "--dir" => settings.directory = PathBuf::from(value()?),
                "--fill" => {
                    let kind = Kind::named(value()?).ok_or("--fill needs a contender's name.")?;
                    mode = Mode::Fill(Fill { kind, log_bytes: number(option, value()?)? });
                }
                _ => return Err(format!("Unknown option {option}.")),
            }
        }
        if settings.rows < crate::rows::PARTITION_ROWS || settings.rounds == 0 {
            return Err("Use at least 100 rows and one round.".to_owned());
        }
        Ok(Arguments { mode, settings })
    }
}

fn number<T: std::str::FromStr>(option: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{option} needs a whole number, not {text}."))
}

fn seconds(option: &str, text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|secs| Duration::try_from_secs_f64(secs).ok());
    seconds.ok_or(format!("{option} needs a number of seconds, not {text}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Arguments::parse(&words)
    }

    #[test]
    fn options_change_what_quick_or_full_set() {
        let arguments = parse("--rows 500 --seconds 0.25 --quick --dir data").unwrap();
        let expected = Settings {
            rows: 500,
            round: Duration::from_millis(250),
            directory: PathBuf::from("data"),
            ..Settings::quick()
        };
        assert_eq!(arguments, Arguments { mode: Mode::Compare, settings: expected });
    }

    #[test]
    fn invalid_arguments_are_rejected_with_a_message() {
        for line in ["--rows", "--rows many", "--seconds -1", "--fast", "--rows 5", "--fill x 1"] {
            let message = parse(line).unwrap_err();
            assert!(message.ends_with('.'), "{line}: {message}");
        }
    }
}
