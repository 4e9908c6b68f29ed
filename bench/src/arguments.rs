//! What the user wants measured, and how long.

use std::path::PathBuf;
use std::time::Duration;

use crate::Kind;

pub(crate) const HELP: &str = "\
Measures the contenders side by side and prints one table.

Usage: cargo run --release -p keyloom-bench -- [options]

Options:
  --quick       A minute instead of ten: fewer rows, shorter rounds. For a first look only.
  --library     Only the library beside the raw engine.
  --reads       Only the engine's reads.
  --memory MIB  Memory of each contender (1024). With less than the rows take, reads find little in
                their caches: Keyloom verifies checksums then, and redb does not.
  --rows N      Rows of 1 KB loaded before anything is measured (200000).
  --rounds N    Rounds of each contender, of which the median counts (5).
  --seconds S   Length of a round (3).
  --dir PATH    Where a fresh folder for the data is made, and removed at the end
                (target/bench-data: a temporary directory may be memory, where a sync is free).
  --help        This text.
";

/// The command line, understood.
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

/// What the process that is going to be killed writes.
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
    /// Bytes to put for the measurement of checkpoints.
    pub(crate) checkpoint_bytes: u64,
    /// Sizes of the log for the measurement of reopening.
    pub(crate) reopen_log_bytes: Vec<u64>,
    /// How often the disk is probed.
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
    /// Reads the words after the program's name; the complaint is a sentence.
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
                _ => return Err(format!("There is no option {option}.")),
            }
        }
        if settings.rows < crate::rows::PARTITION_ROWS || settings.rounds == 0 {
            return Err("There must be at least 100 rows and one round.".to_owned());
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
    fn what_makes_no_sense_is_refused_with_a_sentence() {
        for line in ["--rows", "--rows many", "--seconds -1", "--fast", "--rows 5", "--fill x 1"] {
            let complaint = parse(line).unwrap_err();
            assert!(complaint.ends_with('.'), "{line}: {complaint}");
        }
    }
}
