//! `keyloom status`: the state of a data directory, and which server has it open.

use clap::ArgMatches;
use indicatif::HumanBytes;
use keyloom_app::operations::{Status, StatusAnswer, Work, call};
use keyloom_model::FieldType;
use keyloom_value::Value;

use crate::command::{Command, json_argument, write_stdout};
use crate::model_file::data_argument;
use crate::progress::grouped;

pub(crate) const COMMAND: Command = Command { name: "status", describe, run };

const EXAMPLES: &str = "\
Examples:
  keyloom status --data ./data
      Print which server has the directory open, whether it accepts writes, and disk usage

  keyloom status --data ./data --json";

fn describe(command: clap::Command) -> clap::Command {
    command
        .about("Show the status of a data directory")
        .arg(data_argument("Data directory"))
        .arg(json_argument())
        .after_help(EXAMPLES)
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let status = call(arguments, Status {}, None, &mut |_| Ok(()))?;
    if arguments.get_flag("json") {
        let json = serde_json::to_string(&status).map_err(|error| error.to_string())?;
        return write_stdout(&(json + "\n"));
    }
    write_stdout(&table(&status))
}

fn table(status: &StatusAnswer) -> String {
    let server = match &status.server {
        None => "none".to_owned(),
        Some(about) => {
            let since = FieldType::Time.to_external(&Value::from(about.since));
            format!(
                "{} on {}, process {}, since {}",
                about.name,
                about.url,
                about.process,
                since.as_s().unwrap_or_default()
            )
        }
    };
    let writes = match (&status.failure, &status.server) {
        (Some(failure), _) => format!("refused: {failure}"),
        (None, Some(_)) => "accepted".to_owned(),
        (None, None) => "directory not open".to_owned(),
    };
    let [commit, synced, checkpointed, oldest] =
        [status.commit, status.synced, status.checkpointed, status.oldest].map(grouped);
    let [tree, live, log] =
        [status.tree_bytes, status.live_bytes, status.log_bytes].map(HumanBytes);
    let segments = status.log_segments;
    let free = match (status.free_bytes, status.total_bytes) {
        (Some(free), Some(total)) => format!("{} of {}", HumanBytes(free), HumanBytes(total)),
        _ => "unknown".to_owned(),
    };
    format!(
        "version    {}\n\
         server     {server}\n\
         writes     {writes}\n\
         commits    {commit}; synced up to {synced}, in the tree up to {checkpointed}\n\
         changes    retained from commit {oldest} on\n\
         disk       tree {tree}, of which {live} in rows; log {log} in {segments} files\n\
         free       {free}\n\
         damage     {}\n",
        status.version,
        match status.damages {
            0 => "none found".to_owned(),
            findings => format!("{} findings: run `keyloom scrub`", grouped(findings)),
        }
    ) + &status.background.iter().map(work).collect::<String>()
}

/// Such as `background clearing folder/42: 300 of 3,000, since …`.
fn work(work: &Work) -> String {
    let Work { kind, of, done, total, since } = work;
    let total = total.map(|total| format!(" of {}", grouped(total))).unwrap_or_default();
    let since = FieldType::Time.to_external(&Value::from(*since));
    let (done, since) = (grouped(*done), since.as_s().unwrap_or_default());
    format!("background {kind} {of}: {done}{total}, since {since}\n")
}
