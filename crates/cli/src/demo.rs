//! `keyloom demo`: an application with sample data and its page.

mod comments;
mod random;
mod tasks;

use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, value_parser};
use keyloom::{Db, Entry, Existing};
use keyloom_app::directory::{close, open_or_create};
use keyloom_app::operations::{Channel, OnProblem, Produced, block_on, import_entries};
use keyloom_app::{Application, Parts, directory_of, listen, log, pages, serve_arguments};
use keyloom_store::Options;

use crate::command::{Command, PROGRAM, write_stdout};
use crate::import::outcome;
use crate::progress::{ProgressBar, grouped};

pub(crate) const COMMAND: Command = Command { name: "demo", describe, run };

const EXAMPLES: &str = "\
Applications:
  tasks      Tasks with user-defined tags, filtered in any combination
  comments   Product comments with filters, statistics and a leaderboard
  kitchen    Recipes, weekly menus and shopping lists
  oncall     On-call paging with escalation; a built-in receiver stands in for
             mail, text messages, calls and webhooks

Examples:
  keyloom demo tasks
      Generate 10,000 tasks in ./tasks-demo-data, then serve them with a page at
      http://127.0.0.1:8080

  keyloom demo comments --size 1000000 --data ./comments
      Generate a million comments on a hundred products. Existing samples are kept, so an
      interrupted run continues where it stopped.";

/// An application with sample data.
struct Demo {
    application: Application,
    /// The unit of `--size`.
    unit: &'static str,
    default_size: u64,
    /// Generates the entities of one unit from its number and the number of units.
    sample: fn(u64, u64) -> Vec<Entry>,
}

const NAMES: [&str; 4] = ["tasks", "comments", "kitchen", "oncall"];

const BASE_CSS: (&str, &str) = ("base.css", include_str!("../../../apps/page/base.css"));
const API_JS: (&str, &str) = ("api.js", include_str!("../../../apps/page/api.js"));

fn demo(name: &str) -> Option<Demo> {
    match name {
        "tasks" => Some(Demo {
            application: Application {
                name: "tasks",
                about: "Tasks with user-defined tags.",
                model: include_str!("../../../apps/tasks/model.toml"),
                settings: &[],
                parts: |_| {
                    with_pages(&[
                        BASE_CSS,
                        API_JS,
                        ("index.html", include_str!("../../../apps/tasks/page/index.html")),
                        ("page.css", include_str!("../../../apps/tasks/page/page.css")),
                        ("page.js", include_str!("../../../apps/tasks/page/page.js")),
                    ])
                },
            },
            unit: "tasks",
            default_size: 10_000,
            sample: tasks::sample,
        }),
        "comments" => Some(Demo {
            application: Application {
                name: "comments",
                about: "Product comments with statistics and a leaderboard.",
                model: include_str!("../../../apps/comments/model.toml"),
                settings: &[],
                parts: |_| {
                    with_pages(&[
                        BASE_CSS,
                        API_JS,
                        ("index.html", include_str!("../../../apps/comments/page/index.html")),
                        ("page.css", include_str!("../../../apps/comments/page/page.css")),
                        ("page.js", include_str!("../../../apps/comments/page/page.js")),
                    ])
                },
            },
            unit: "comments",
            default_size: 10_000,
            sample: comments::sample,
        }),
        "kitchen" => Some(Demo {
            application: keyloom_kitchen::application(),
            unit: "menus",
            default_size: 4,
            sample: keyloom_kitchen::sample,
        }),
        "oncall" => Some(Demo {
            application: keyloom_oncall::demo(),
            unit: "contacts",
            default_size: 6,
            sample: keyloom_oncall::sample,
        }),
        _ => None,
    }
}

fn with_pages(files: &[(&str, &str)]) -> Result<Parts, String> {
    Ok(Parts { pages: pages::embedded(files)?, ..Parts::default() })
}

fn describe(command: clap::Command) -> clap::Command {
    let app = Arg::new("app").value_name("APP").required(true).value_parser(NAMES);
    let size = Arg::new("size").long("size").value_name("COUNT");
    let size = size.value_parser(value_parser!(u64).range(1..=1_000_000_000));
    let command = command
        .about("Serve an application with sample data and a page")
        .arg(app.help("Application to serve"))
        .arg(size.help(
            "Number of tasks, comments, menus or contacts to generate\n\
             [default: 10000, 10000, 4 or 6]",
        ));
    serve_arguments(command).after_help(EXAMPLES)
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let name = arguments.get_one::<String>("app").ok_or("name an application.")?;
    let demo = demo(name).ok_or_else(|| format!("unknown application `{name}`."))?;
    if arguments.contains_id("dynamodb") {
        return Err("samples need a data directory: use --data instead of --dynamodb.".to_owned());
    }
    let default = directory_of(&format!("{name}-demo"));
    let given = arguments.get_one::<PathBuf>("data");
    let size = arguments.get_one::<u64>("size").copied().unwrap_or(demo.default_size);
    // Fails on a port in use before any samples are generated.
    let reserved = listen::reserve(arguments)?;
    demo.fill(given.unwrap_or(&default), size)?;
    drop(reserved);
    demo.application.serve(PROGRAM, arguments, default)
}

impl Demo {
    /// Generates the samples that do not exist yet.
    fn fill(&self, directory: &Path, size: u64) -> Result<(), String> {
        let engine = open_or_create(directory, Options::default())?;
        block_on(async {
            let db = Db::open(self.application.model, engine.clone()).await;
            self.generate(&db.map_err(|error| error.to_string())?, directory, size).await
        })?;
        close(engine)
    }

    async fn generate(&self, db: &Db, directory: &Path, size: u64) -> Result<(), String> {
        let sample = self.sample;
        // Samples are generated in order: if the last one exists, all do.
        let last = sample(size - 1, size).pop().ok_or("no samples: --size is 0.")?;
        let of_tenant = last.tenant.map_or_else(|| db.clone(), |tenant| db.tenant(tenant));
        let found =
            of_tenant.get(&last.entity, &last.id).await.map_err(|error| error.to_string())?;
        if found.is_some() {
            return Ok(());
        }
        let what = format!("{} {}", grouped(size), self.unit);
        log(&format!("Generating {what} in {} …", directory.display()));
        let produced = Produced {
            total: Some(size),
            produce: Box::new(move |to| {
                (0..size).try_for_each(|number| {
                    let mut unit = sample(number, size).into_iter();
                    unit.try_for_each(|entry| to.add(entry, number))
                })
            }),
        };
        let options = (Existing::Replace, OnProblem::Stop);
        let mut bar = ProgressBar::new("entities");
        let mut report = |update| bar.handle(update, write_stdout);
        let summary =
            import_entries(db, produced, options, &mut Channel::new(None, &mut report)).await?;
        drop(bar);
        outcome(&summary)?;
        log(&format!("Generated {what} in {:.1} s.", summary.milliseconds as f64 / 1000.0));
        Ok(())
    }
}
