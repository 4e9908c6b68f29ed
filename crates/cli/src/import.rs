//! `keyloom import`: takes lines of JSON in, through the same checks as any other change.
//!
//! One thread reads and parses (`lines`); this one plans and sends (`pipeline`), many transactions
//! at a time, in the order of the lines; the store's own thread commits them in groups. What refers
//! to something that comes later waits for the end (`deferred`).

mod deferred;
mod lines;
mod pipeline;
mod producer;
mod tally;

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use clap::{Arg, ArgAction, ArgMatches, value_parser};
use keyloom::{Db, Existing};
use keyloom_app::directory::{close, open_or_create};
use keyloom_model::Layout;
use keyloom_store::Options;
use keyloom_value::Item;

use crate::command::{Command, json_argument, say};
use crate::model_file::{ModelFile, block_on, data_argument, data_directory, database};
use crate::progress::ProgressBar;

use lines::Source;
use pipeline::Pipeline;
use producer::{NobodyListens, Producer};
use tally::Tally;

pub(crate) use pipeline::OnProblem;

pub(crate) const COMMAND: Command = Command { name: "import", describe, run };

/// Batches that wait to be sent.
const WAITING_MAX: usize = 16;

const EXAMPLES: &str = "\
The input is what `keyloom export` writes, in any order. Entities keep their ids; omitted fields get
their defaults. Existing entities with equal fields are skipped, so an interrupted import can be
repeated with the same command. Existing entities that differ are errors, unless --replace is given.

Examples:
  keyloom import apps/kitchen/model.toml --data ./data kitchen.jsonl
      Stop at the first line that cannot be imported; later lines may have been imported too

  gunzip -c kitchen.gz | keyloom import apps/kitchen/model.toml --data ./data --keep-going
      Report every line that cannot be imported, and import the others";

fn describe(command: clap::Command) -> clap::Command {
    let flag = |name: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue);
    command
        .about("Import entities from JSON Lines")
        .arg(ModelFile::argument())
        .arg(data_argument("Data directory, created if missing"))
        .arg(
            Arg::new("file")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Input file [default: stdin]"),
        )
        .arg(flag("keep-going").help("Continue after lines that cannot be imported"))
        .arg(flag("replace").help("Overwrite existing entities that differ"))
        .arg(json_argument())
        .after_help(EXAMPLES)
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let file = ModelFile::named(arguments)?;
    let source = source(arguments.get_one::<PathBuf>("file").map(PathBuf::as_path))?;
    let existing = if arguments.get_flag("replace") { Existing::Replace } else { Existing::Keep };
    let on_problem =
        if arguments.get_flag("keep-going") { OnProblem::GoOn } else { OnProblem::Stop };
    let engine = open_or_create(data_directory(arguments)?, Options::default())?;
    let layout = Layout::new(file.model.clone(), 1, &Item::new());
    let tally = block_on(async {
        let db = database(&file, &engine).await?;
        let lines = source.lines;
        let produce = Box::new(move |to: &mut Producer| lines::read(lines, to));
        let produced = Produced { total: source.bytes, produce };
        take_in(&db, &layout, produced, (existing, on_problem)).await
    })?;
    close(engine)?;
    say(&if arguments.get_flag("json") { tally.to_json() + "\n" } else { tally.to_string() })?;
    tally.outcome()
}

/// Entries that are made while others are taken in.
pub(crate) struct Produced {
    /// How many parts of the whole there are, if that is known.
    pub(crate) total: Option<u64>,
    /// Makes them, in a thread of its own, until nobody listens.
    pub(crate) produce: Box<Produce>,
}

pub(crate) type Produce = dyn FnOnce(&mut Producer) -> Result<(), NobodyListens> + Send;

/// Takes entries in, whoever makes them, and tells how far it has come.
pub(crate) async fn take_in(
    db: &Db,
    layout: &Layout,
    produced: Produced,
    (existing, on_problem): (Existing, OnProblem),
) -> Result<Tally, String> {
    let bar = ProgressBar::new("entities");
    let mut pipeline = Pipeline::new(db.clone(), existing, on_problem, produced.total, bar);
    let (sender, receiver) = mpsc::sync_channel(WAITING_MAX);
    let mut producer = Producer::new(layout, sender);
    // When nobody listens any more, it ends with the next thing that it has to say.
    let producing = std::thread::Builder::new().name("make-entries".to_owned());
    let producing = producing.spawn(move || {
        let _ = (produced.produce)(&mut producer).and_then(|()| producer.finish());
    });
    let producing = producing.map_err(|error| format!("no thread could be started: {error}."))?;
    while let Ok(work) = receiver.recv() {
        pipeline.push(work).await?;
        if pipeline.is_stopped() {
            break;
        }
    }
    drop(receiver);
    // Whoever writes the lines to standard input may never end: do not wait for that.
    if !pipeline.is_stopped() {
        producing.join().map_err(|_| "making the entries failed.".to_owned())?;
    }
    pipeline.finish(layout).await
}

fn source(path: Option<&Path>) -> Result<Source, String> {
    let Some(path) = path else {
        return Ok(Source { lines: Box::new(BufReader::new(std::io::stdin())), bytes: None });
    };
    let failed = |error| format!("{} cannot be read: {error}.", path.display());
    let file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    let bytes = metadata.is_file().then_some(metadata.len());
    Ok(Source { lines: Box::new(BufReader::with_capacity(1 << 20, file)), bytes })
}
