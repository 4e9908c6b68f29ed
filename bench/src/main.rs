//! Side-by-side measurements: the same rows, the same work, one table of ratios.
//!
//! Absolute numbers depend more on the disk than on the program, so every number is compared with
//! that of a minimal program that does the same: redb alone for reads, a log and redb for writes.
//! Rounds of all contenders alternate, and medians are compared, so that noise affects all of them.
//!
//! A contender is one implementation of [`Contender`] and one line in [`Kind`].
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool prints to the terminal"
)]

mod arguments;
mod checkpoints;
mod compare;
mod contender;
mod data_directory;
mod disk_probe;
mod entrant;
mod keyloom;
mod kind;
mod latencies;
mod library;
mod log_file;
mod log_redb;
mod measure;
mod raw_redb;
mod reopen;
mod report;
mod rows;
mod tree;

use std::env;
use std::process::ExitCode;

use arguments::{Arguments, Mode, Settings};
use contender::{Contender, Found, Outcome};
use data_directory::DataDirectory;
use keyloom::Keyloom;
use kind::Kind;
use latencies::Latencies;
use log_file::LogFile;
use log_redb::LogRedb;
use measure::{Round, Sample, Until, Work};
use raw_redb::RawRedb;
use report::{Line, Report, SpeedMeasure};
use rows::{Random, Row, RowKey, Rows};
use tree::Tree;

/// The same allocator for all contenders: one that is fast for many small allocations, as a server
/// would use.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let outcome = match Arguments::parse(&arguments) {
        Ok(Arguments { mode: Mode::Help, .. }) => {
            print!("{}", arguments::HELP);
            Ok(())
        }
        Ok(Arguments { mode: Mode::Compare, settings }) => compare::run(&settings),
        Ok(Arguments { mode: Mode::Fill(fill), settings }) => reopen::fill(&fill, &settings),
        Err(error) => Err(format!("{error}\n\n{}", arguments::HELP).into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
