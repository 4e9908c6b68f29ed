//! `keyloom demo`: an application with data to look at, and its page.

mod comments;
mod random;
mod tasks;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Arg, ArgMatches, value_parser};
use keyloom::{Entry, Existing};
use keyloom_app::directory::{close, open_or_create};
use keyloom_app::{Parts, Served, directory_of, log, pages, serve, serve_arguments};
use keyloom_model::Layout;
use keyloom_server::OwnPage;
use keyloom_store::Options;
use keyloom_value::Item;

use crate::command::Command;
use crate::import::{OnProblem, Produced, take_in};
use crate::model_file::{ModelFile, block_on, database};

pub(crate) const COMMAND: Command = Command { name: "demo", describe, run };

const EXAMPLES: &str = "\
Examples:
  keyloom demo tasks
      Make 10,000 tasks with tags in ./tasks-demo-data, and serve them. Open the address that it
      tells in a browser.

  keyloom demo comments --size 1000000 --data ./comments
      A million comments on a hundred products, with counts and a leaderboard. What is there
      already is not made again, so what was interrupted goes on.";

/// An application to look at.
struct Demo {
    name: &'static str,
    model: &'static str,
    files: &'static [(&'static str, &'static str)],
    /// One of so many entities.
    sample: fn(u64, u64) -> Entry,
}

const BASE: [(&str, &str); 2] = [
    ("base.css", include_str!("../../../apps/page/base.css")),
    ("api.js", include_str!("../../../apps/page/api.js")),
];

const DEMOS: [Demo; 2] = [
    Demo {
        name: "tasks",
        model: include_str!("../../../apps/tasks/model.toml"),
        files: &[
            BASE[0],
            BASE[1],
            ("index.html", include_str!("../../../apps/tasks/page/index.html")),
            ("page.css", include_str!("../../../apps/tasks/page/page.css")),
            ("page.js", include_str!("../../../apps/tasks/page/page.js")),
        ],
        sample: tasks::sample,
    },
    Demo {
        name: "comments",
        model: include_str!("../../../apps/comments/model.toml"),
        files: &[
            BASE[0],
            BASE[1],
            ("index.html", include_str!("../../../apps/comments/page/index.html")),
            ("page.css", include_str!("../../../apps/comments/page/page.css")),
            ("page.js", include_str!("../../../apps/comments/page/page.js")),
        ],
        sample: comments::sample,
    },
];

fn describe(command: clap::Command) -> clap::Command {
    let names = DEMOS.map(|demo| demo.name);
    let app = Arg::new("app").value_name("APP").required(true).value_parser(names);
    let size = Arg::new("size").long("size").value_name("COUNT").default_value("10000");
    let size = size.value_parser(value_parser!(u64).range(1..=1_000_000_000));
    let command = command
        .about("Fill an application with sample data and serve it, with a page for a browser")
        .arg(app.help("Which application"))
        .arg(size.help("How many tasks or comments"));
    serve_arguments(command).after_help(EXAMPLES)
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let app = arguments.get_one::<String>("app").ok_or("Name an application.")?;
    let demo = DEMOS.iter().find(|demo| demo.name == app).ok_or("Name an application.")?;
    if arguments.contains_id("dynamodb") {
        return Err("samples are kept in a directory: give --data.".to_owned());
    }
    let name = format!("{app}-demo");
    let given = arguments.get_one::<PathBuf>("data").cloned();
    let directory = given.unwrap_or_else(|| directory_of(&name));
    let size = arguments.get_one::<u64>("size").copied().unwrap_or(1);
    demo.fill(&directory, size)?;
    let parts = Parts { pages: demo.pages()?, ..Parts::default() };
    let served = Served { name: &name, model: demo.model, parts, url: Arc::default() };
    serve(served, arguments)
}

impl Demo {
    /// Makes everything that is not there yet.
    fn fill(&self, directory: &Path, size: u64) -> Result<(), String> {
        let file = ModelFile::of_text(self.name, self.model)?;
        let engine = open_or_create(directory, Options::default())?;
        let layout = Layout::new(file.model.clone(), 1, &Item::new());
        let sample = self.sample;
        block_on(async {
            let db = database(&file, &engine).await?;
            // They are made in order, so whoever has the last one has all.
            let last = sample(size - 1, size);
            let is_there =
                db.get(&last.entity, &last.id).await.map_err(|error| error.to_string())?;
            if is_there.is_some() {
                return Ok(());
            }
            log(&format!("{size} {} are made in {}.", self.name, directory.display()));
            let produced = Produced {
                total: Some(size),
                produce: Box::new(move |to| {
                    (0..size).try_for_each(|number| to.add(sample(number, size), number))
                }),
            };
            let options = (Existing::Replace, OnProblem::Stop);
            take_in(&db, &layout, produced, options).await?.outcome()
        })?;
        close(engine)
    }

    fn pages(&self) -> Result<Vec<OwnPage>, String> {
        let files = self.files.iter();
        files.map(|(name, text)| pages::page(name, text.as_bytes().to_vec())).collect()
    }
}
