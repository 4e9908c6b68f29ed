//! `keyloom jobs`: what is to be done later, and what could not be done.

use clap::{Arg, ArgMatches};
use keyloom::events::FeedStart;
use keyloom::{Db, Record, Value};
use keyloom_app::directory::Use;
use keyloom_app::place;
use keyloom_model::FieldType;

use crate::command::{Command, json_argument, say};
use crate::model_file::{ModelFile, block_on};

pub(crate) const COMMAND: Command = Command { name: "jobs", describe, run };

const STATES: [&str; 6] = ["waiting", "queued", "running", "done", "failed", "canceled"];
/// Read at a time.
const PAGE: u32 = 1000;

const EXAMPLES: &str = "\
Examples:
  keyloom jobs list model.toml --data ./data
      List dead letters: jobs that failed permanently, with the reason

  keyloom jobs replay model.toml --data ./data ID
      Run a failed job again; --all replays every dead letter

  keyloom jobs drop model.toml --data ./data ID
      Delete a job

  keyloom jobs resume model.toml --data ./data order.update
      Restart a consumer that has stopped because the log was trimmed past it, or because the
      data was restored from a backup

No other process may have the directory open. While a server runs, use its API as an admin:
  curl -H 'Authorization: Bearer ...' 'URL/jobs/lists/by_status?status=failed'
  curl -H 'Authorization: Bearer ...' -X POST URL/jobs/ID/replay";

fn describe(command: clap::Command) -> clap::Command {
    let verb = |name: &'static str, about: &'static str| {
        place::arguments(clap::Command::new(name).about(about).arg(ModelFile::argument()))
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
        .subcommand(verb("resume", "Restart a consumer that has lost changes").args(resumed()))
        .after_help(EXAMPLES)
}

/// Which consumer starts again, and where.
fn resumed() -> [Arg; 2] {
    let consumer = Arg::new("consumer").value_name("CONSUMER").required(true);
    let from = Arg::new("from").long("from").value_name("WHERE").default_value("oldest");
    [
        consumer.help("Handler name, or ENTITY.CHANGE for a webhook or a job"),
        from.value_parser(["oldest", "now"]).help("Where to start in the changes that are kept"),
    ]
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let (verb, arguments) = arguments.subcommand().ok_or("say what to do.")?;
    let file = ModelFile::named(arguments)?;
    if file.model.jobs().is_none() {
        return Err(
            "the model has no jobs: `jobs = true` or an entry under `on` makes some.".into()
        );
    }
    block_on(async {
        let used = if matches!(verb, "list" | "show") { Use::Read } else { Use::Change };
        let db = place::open(arguments, used).await?.database(&file.text).await?;
        act(&db, verb, arguments).await
    })
}

async fn act(db: &Db, verb: &str, arguments: &ArgMatches) -> Result<(), String> {
    let told = |error: keyloom::Error| error.to_string();
    let id = arguments.try_get_one::<String>("id").ok().flatten().map_or("", String::as_str);
    match verb {
        "list" => list(db, arguments).await,
        "show" => {
            let job = db.get("job", id).await.map_err(told)?;
            let job = job.ok_or_else(|| format!("there is no job `{id}`: `jobs list` tells."))?;
            say(&format!("{}\n", job.to_json()))
        }
        "replay" if id.is_empty() => replay_all(db).await,
        "replay" => db.replay(id).await.map_err(told).and_then(|_| say("It is run again.\n")),
        "cancel" => db.cancel(id).await.map_err(told).and_then(|_| say("It is called off.\n")),
        "resume" => resume(db, arguments).await,
        _ => db.delete("job", id).await.map_err(told).and_then(|()| say("It is dropped.\n")),
    }
}

async fn resume(db: &Db, arguments: &ArgMatches) -> Result<(), String> {
    let text = |name| arguments.get_one::<String>(name).map_or("", String::as_str);
    let from = if text("from") == "now" { FeedStart::Now } else { FeedStart::Oldest };
    db.resume(text("consumer"), from).await.map_err(|error| error.to_string())?;
    say("Resumed.\n")
}

async fn list(db: &Db, arguments: &ArgMatches) -> Result<(), String> {
    let status = arguments.get_one::<String>("status").map_or("failed", String::as_str);
    let jobs = jobs(db, status).await?;
    if arguments.get_flag("json") {
        let lines: String = jobs.iter().map(|job| format!("{}\n", job.to_json())).collect();
        return say(&lines);
    }
    if jobs.is_empty() {
        return say(&format!("No job is {status}.\n"));
    }
    let text = |job: &Record, name: &str| match (name, job.get(name)) {
        ("due", Some(due)) => FieldType::Time.show(due).as_s().unwrap_or_default().to_owned(),
        (_, Some(Value::S(text))) => text.clone(),
        (_, Some(Value::N(number))) => number.to_string(),
        (_, _) => String::new(),
    };
    let line = |job: &Record| {
        let (kind, due, attempts) = (text(job, "kind"), text(job, "due"), text(job, "attempts"));
        format!("{:<34}  {kind:<20}  {due:<24}  {attempts:>8}  {}\n", job.id(), text(job, "error"))
    };
    let (id, kind, due, attempts) = ("id", "kind", "due", "attempts");
    let head = format!("{id:<34}  {kind:<20}  {due:<24}  {attempts:>8}  error\n");
    say(&jobs.iter().map(line).fold(head, |all, line| all + &line))
}

async fn replay_all(db: &Db) -> Result<(), String> {
    let failed = jobs(db, "failed").await?;
    for job in &failed {
        db.replay(job.id()).await.map_err(|error| error.to_string())?;
    }
    say(&format!("{} are run again.\n", failed.len()))
}

/// All jobs in a state.
async fn jobs(db: &Db, status: &str) -> Result<Vec<Record>, String> {
    let mut query = db.list("job", "by_status").by("status", status).limit(PAGE);
    let mut all = vec![];
    loop {
        let page = query.clone().read().await.map_err(|error| error.to_string())?;
        all.extend(page.items);
        match page.next {
            Some(next) => query = query.after(&next),
            None => return Ok(all),
        }
    }
}
