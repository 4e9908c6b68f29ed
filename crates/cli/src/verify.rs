//! `keyloom verify`: computes every row of a directory anew and compares.

use std::fs;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Arg, ArgAction, ArgMatches, value_parser};
use keyloom::{Db, Progress, Remedy, Repair};
use keyloom_store::{Engine, Options};

use crate::command::Command;

pub(crate) const COMMAND: Command = Command { name: "verify", describe, run };

const EXAMPLES: &str = "\
Examples:
  keyloom verify apps/kitchen/model.toml --data ./data
      Tell every row that is not what the model says; fail if there is one.

  keyloom verify apps/kitchen/model.toml --data ./data --repair
      Mend what can be mended; fail if something is left that needs a person.";

fn describe(command: clap::Command) -> clap::Command {
    let path = |name: &'static str| Arg::new(name).value_parser(value_parser!(PathBuf));
    command
        .about("Compute every row of a database anew, and compare")
        .arg(path("model").value_name("MODEL").required(true).help("The model file of the data"))
        .arg(
            path("data")
                .long("data")
                .value_name("DIR")
                .required(true)
                .help("The directory that holds the data; nobody else may have it open"),
        )
        .arg(
            Arg::new("repair")
                .long("repair")
                .action(ArgAction::SetTrue)
                .help("Mend what is found, as far as that needs no person"),
        )
        .after_help(EXAMPLES)
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let path = |name| arguments.get_one::<PathBuf>(name).ok_or("name a model and a directory.");
    let (model, data) = (path("model")?, path("data")?);
    let text = fs::read_to_string(model)
        .map_err(|error| format!("{} cannot be read: {error}.", model.display()))?;
    // Opening would make a directory, and there is nothing to verify in one that is new.
    if !data.is_dir() {
        return Err(format!("{} is no directory.", data.display()));
    }
    let repair = if arguments.get_flag("repair") { Repair::Yes } else { Repair::No };
    let engine = Engine::open(data, Options::default()).map_err(|error| error.to_string())?;
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(verify(&text, Arc::new(engine), repair))
}

async fn verify(text: &str, engine: Arc<Engine>, repair: Repair) -> Result<(), String> {
    let db = Db::open(text, engine).await.map_err(|error| error.to_string())?;
    let (mut from, mut left, mut mended, mut rows) = (None::<String>, 0, 0, 0);
    loop {
        let page = db.verify_page(repair, from.as_deref()).await;
        let page = page.map_err(|error| error.to_string())?;
        for finding in &page.findings {
            say(&format!("{finding}\n"))?;
            match finding.remedy {
                Remedy::Mended => mended += 1,
                Remedy::NotAsked | Remedy::NeedsPerson | Remedy::Changed => left += 1,
            }
        }
        show(page.progress);
        rows = page.progress.rows.max(rows);
        match page.next {
            None => break,
            next => from = next,
        }
    }
    say(&format!("{rows} rows verified: {mended} mended, {left} left.\n"))?;
    match (left, repair) {
        (0, _) => Ok(()),
        (_, Repair::No) => {
            Err("rows differ from what the model says: see above, or --repair.".to_owned())
        }
        (_, Repair::Yes) => {
            Err("something is left that could not be mended: see above.".to_owned())
        }
    }
}

fn say(text: &str) -> Result<(), String> {
    std::io::stdout().write_all(text.as_bytes()).map_err(|error| error.to_string())
}

/// Progress is for people who wait.
fn show(progress: Progress) {
    let mut terminal = std::io::stderr();
    if terminal.is_terminal() {
        let Progress { rows, rows_total, .. } = progress;
        let _ = write!(terminal, "\r{rows} of about {rows_total} rows\r");
    }
}
