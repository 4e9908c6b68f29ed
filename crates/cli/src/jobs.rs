//! `keyloom jobs`: scheduled jobs, dead letters, and consumers that have stopped.

use clap::{Arg, ArgMatches};
use keyloom::{Item, Value, json_to_item};
use keyloom_app::operations::{JobAction, Jobs, Report, call};
use keyloom_app::source;

use crate::command::{Command, json_argument, write_stdout};
use crate::model_file::ModelFile;

pub(crate) const COMMAND: Command = Command { name: "jobs", describe, run };

const STATES: [&str; 6] = ["waiting", "queued", "running", "done", "failed", "canceled"];

const EXAMPLES: &str = "\
Examples:
  keyloom jobs list model.toml --data ./data
      List dead letters: jobs that failed permanently, with the reason

  keyloom jobs replay model.toml --data ./data ID
      Run a failed job again; --all replays every dead letter

  keyloom jobs drop model.toml --data ./data ID
      Delete a job

  keyloom jobs resume model.toml --data ./data order.update
      Restart a consumer that has stopped because the log was trimmed past its position, or
      because the data was restored from a backup";

fn describe(command: clap::Command) -> clap::Command {
    let verb = |name: &'static str, about: &'static str| {
        source::arguments(clap::Command::new(name).about(about).arg(ModelFile::argument()))
    };
    let id = || Arg::new("id").value_name("ID").required(true).help("Job id");
    let status = Arg::new("status").long("status").value_name("STATE").default_value("failed");
    let status = status.value_parser(STATES).help("State to list");
    let all = Arg::new("all").long("all").action(clap::ArgAction::SetTrue);
    let all = all.conflicts_with("id").help("All failed jobs");
    command
        .about("List, replay, cancel and delete jobs and dead letters; restart consumers")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(verb("list", "List jobs by state").arg(status).arg(json_argument()))
        .subcommand(verb("show", "Print a job as JSON").arg(id()))
        .subcommand(
            verb("replay", "Run a failed job again")
                .arg(id().required(false).required_unless_present("all"))
                .arg(all),
        )
        .subcommand(verb("cancel", "Cancel a job that has not ended").arg(id()))
        .subcommand(verb("drop", "Delete a job").arg(id()))
        .subcommand(
            verb("resume", "Restart a consumer that has lost changes").args(resume_arguments()),
        )
        .after_help(EXAMPLES)
}

/// The arguments of `resume`: the consumer, and its new position.
fn resume_arguments() -> [Arg; 2] {
    let consumer = Arg::new("consumer").value_name("CONSUMER").required(true);
    let from = Arg::new("from").long("from").value_name("WHERE").default_value("oldest");
    [
        consumer.help("Handler name, or ENTITY.CHANGE for a webhook or a job"),
        from.value_parser(["oldest", "now"])
            .help("Start at the oldest retained change, or skip to now"),
    ]
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let (verb, arguments) = arguments.subcommand().ok_or("give a subcommand.")?;
    let file = ModelFile::from_arguments(arguments)?;
    if file.model.jobs().is_none() {
        return Err("the model has no jobs: add `jobs = true` or an entry under `on`.".into());
    }
    let action = action(verb, arguments);
    let is_json = arguments.try_get_one::<bool>("json").ok().flatten().copied().unwrap_or(false);
    let mut lines = vec![];
    let jobs = Jobs { model: file.text, action };
    let count = call(arguments, jobs, None, &mut |update| {
        if let Report::Line(line) = update {
            lines.push(line);
        }
        Ok(())
    })?;
    match verb {
        "list" if !is_json => write_stdout(&table(&lines, arguments)?),
        "list" | "show" => {
            write_stdout(&lines.iter().map(|line| format!("{line}\n")).collect::<String>())
        }
        "replay" => write_stdout(&format!("Jobs queued again: {count}.\n")),
        "cancel" => write_stdout("Canceled.\n"),
        "resume" => write_stdout("Resumed.\n"),
        _ => write_stdout("Deleted.\n"),
    }
}

fn action(verb: &str, arguments: &ArgMatches) -> JobAction {
    let text = |name| arguments.try_get_one::<String>(name).ok().flatten().cloned();
    let id = text("id");
    match (verb, id) {
        ("list", _) => JobAction::List(text("status").unwrap_or_else(|| "failed".to_owned())),
        ("replay", None) => JobAction::ReplayAll,
        ("show", id) => JobAction::Show(id.unwrap_or_default()),
        ("replay", Some(id)) => JobAction::Replay(id),
        ("cancel", id) => JobAction::Cancel(id.unwrap_or_default()),
        ("resume", _) => JobAction::Resume {
            consumer: text("consumer").unwrap_or_default(),
            from_now: text("from").as_deref() == Some("now"),
        },
        (_, id) => JobAction::Drop(id.unwrap_or_default()),
    }
}

/// Formats jobs as a table.
fn table(lines: &[String], arguments: &ArgMatches) -> Result<String, String> {
    if lines.is_empty() {
        let status = arguments.get_one::<String>("status").map_or("failed", String::as_str);
        return Ok(format!("No jobs with status {status}.\n"));
    }
    let text = |job: &Item, name: &str| match job.get(name) {
        Some(Value::S(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => String::new(),
    };
    let (id, kind, due, attempts) = ("id", "kind", "due", "attempts");
    let mut table = format!("{id:<34}  {kind:<20}  {due:<24}  {attempts:>8}  error\n");
    for line in lines {
        let job = json_to_item(line.as_bytes()).map_err(|error| error.to_string())?;
        let [id, kind, due, attempts, error] =
            ["id", "kind", "due", "attempts", "error"].map(|name| text(&job, name));
        table += &format!("{id:<34}  {kind:<20}  {due:<24}  {attempts:>8}  {error}\n");
    }
    Ok(table)
}
