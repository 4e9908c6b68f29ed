//! `keyloom plan`: what a workload costs on DynamoDB, where it is hot, and how far it can grow.
//!
//! `keyloom_app::plan` computes the plan; `terminal` and `svg` only render it.

mod difference;
mod number;
mod svg;
mod terminal;

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, value_parser};
use keyloom_app::operations::block_on;
use keyloom_app::plan::{PlanOptions, PlanReport, PlanRequest, plan};
use keyloom_model::render;
use keyloom_model::workload::Workload;

use crate::chart::title;
use crate::command::{Command, json_argument, open_output, output_argument};
use crate::model_file::ModelFile;

pub(crate) const COMMAND: Command = Command { name: "plan", describe, run };

const EXAMPLES: &str = "\
A workload file declares rates in operations a second, and how values are distributed:

  [comment]                     # an entity of the model
  creates = 200
  updates = 5
  [comment.fields]              # others are drawn by their type
  product = { values = 100_000, hottest = 0.2 }   # one product gets 20 % of all comments
  rating  = [1, 2, 3, 4, 5, 5, 5]
  body    = { bytes = 400 }
  [reads]                       # get, find.FIELDS, list.NAME, count.NAME, board.NAME
  comment.list.by_product = 300
  board.leaders = 50

The command runs a sample of it on a store in a temporary directory that counts capacity units as
DynamoDB does, scales the counts to the declared rates, and tries the shards that it proposes. It
needs no AWS account. docs/planning.md explains the result.

Examples:
  keyloom plan apps/comments/model.toml --workload apps/comments/workload.toml
      Print units, dollars, hot keys, ceilings and proposed shards

  keyloom plan apps/comments/model.toml --workload apps/comments/workload.toml --json
      Print the same as JSON

  keyloom plan apps/comments/model.toml --workload apps/comments/workload.toml --format svg -o plan.svg
      Draw ceilings, hot keys and costs

  keyloom plan model.toml --workload launch.toml --headroom 0.5 --transaction-ms 15
      Leave half of each limit free, and assume slower transactions";

fn describe(command: clap::Command) -> clap::Command {
    command
        .about("Plan capacity on DynamoDB: units, dollars, hot keys, ceilings and shards")
        .arg(ModelFile::argument())
        .arg(
            Arg::new("workload")
                .long("workload")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .required(true)
                .help("Workload file: rates and distributions of values"),
        )
        .arg(
            Arg::new("operations")
                .long("operations")
                .value_name("COUNT")
                .value_parser(value_parser!(u64).range(200..=200_000))
                .default_value("4000")
                .help("Operations of the sample: more find keys that are less hot"),
        )
        .arg(
            Arg::new("headroom")
                .long("headroom")
                .value_name("SHARE")
                .value_parser(share)
                .default_value("0.7")
                .help("Share of a limit that the workload may use, up to 1"),
        )
        .arg(
            Arg::new("transaction-ms")
                .long("transaction-ms")
                .value_name("MS")
                .value_parser(milliseconds)
                .default_value("10")
                .help("Duration of a transaction: a row takes one at a time"),
        )
        .arg(
            Arg::new("seed")
                .long("seed")
                .value_name("NUMBER")
                .value_parser(value_parser!(u64))
                .default_value("1")
                .help("Seed of the sample: the same seed gives the same plan"),
        )
        .arg(
            Arg::new("format")
                .long("format")
                .value_name("FORMAT")
                .value_parser(["terminal", "svg"])
                .default_value("terminal")
                .help("Output format"),
        )
        .arg(output_argument())
        .arg(json_argument().conflicts_with("format"))
        .after_help(EXAMPLES)
}

/// A plan, and what it is of.
struct Planned {
    title: String,
    model: String,
    options: PlanOptions,
    report: PlanReport,
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let file = ModelFile::from_arguments(arguments)?;
    let path = arguments.get_one::<PathBuf>("workload").ok_or("name a workload file.")?;
    let workload = read_workload(path, &file)?;
    let options = options(arguments);
    let request = PlanRequest { model: file.text, workload, options };
    let report = block_on(plan(&request))?;
    let title = arguments.get_one::<PathBuf>("model").map(|path| title(path)).unwrap_or_default();
    let planned = Planned { title, model: request.model, options, report };
    let format = arguments.get_one::<String>("format").map(String::as_str);
    let text = match format {
        _ if arguments.get_flag("json") => json(&planned.report)?,
        Some("svg") => svg::draw(&planned),
        Some(_) | None => terminal::draw(&planned),
    };
    let mut output = open_output(arguments.get_one::<PathBuf>("output").map(PathBuf::as_path))?;
    let written = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    written.map_err(|error| format!("cannot write the plan: {error}."))
}

fn read_workload(path: &Path, file: &ModelFile) -> Result<Workload, String> {
    let name = path.display().to_string();
    let text =
        fs::read_to_string(path).map_err(|error| format!("{name} cannot be read: {error}."))?;
    Workload::check(&text, &file.model)
        .map_err(|errors| format!("{name} has errors.\n{}", render(&errors, &name)))
}

fn options(arguments: &ArgMatches) -> PlanOptions {
    let defaults = PlanOptions::default();
    let whole = |name: &str| arguments.get_one::<u64>(name).copied();
    let number = |name: &str| arguments.get_one::<f64>(name).copied();
    PlanOptions {
        operations: whole("operations").unwrap_or(defaults.operations),
        seed: whole("seed").unwrap_or(defaults.seed),
        transaction_ms: number("transaction-ms").unwrap_or(defaults.transaction_ms),
        headroom: number("headroom").unwrap_or(defaults.headroom),
    }
}

fn json(report: &PlanReport) -> Result<String, String> {
    let json = serde_json::to_string_pretty(report);
    json.map(|json| json + "\n").map_err(|error| format!("cannot write the plan: {error}."))
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share: &f64| *share > 0.0 && *share <= 1.0);
    share.ok_or_else(|| "expected a number above 0, up to 1, such as 0.7".to_owned())
}

fn milliseconds(text: &str) -> Result<f64, String> {
    let ms = text.parse().ok().filter(|ms: &f64| (0.1..=10_000.0).contains(ms));
    ms.ok_or_else(|| "expected a number of milliseconds, such as 10".to_owned())
}
