//! `keyloom demo`: an application with sample data and its page.

mod comments;
mod processes;
mod tasks;

use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, value_parser};
use keyloom::{Db, Entry, Existing};
use keyloom_app::directory::{OpenMode, close, open_or_create};
use keyloom_app::operations::{Channel, OnProblem, Produced, block_on, import_entries};
use keyloom_app::{Application, Parts, directory_of, listen, log, pages, serve_arguments, source};
use keyloom_store::Options;

use crate::command::{Command, PROGRAM, write_stdout};
use crate::import::outcome;
use crate::progress::{ProgressBar, grouped};
use processes::Cluster;

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
      interrupted run continues where it stopped.

  keyloom demo comments --processes 4
      Run four servers on one DynamoDB table behind one address, with the service's rules under
      load (`keyloom dynamodb --strict`). Comments are written and counted while one server is
      killed and all are replaced one by one by servers with a changed model.";

/// An application with sample data.
struct Demo {
    application: Application,
    /// The unit of `--size`.
    unit: &'static str,
    default_size: u64,
    /// Generates the entities of one unit from its number and the number of units.
    sample: fn(u64, u64) -> Vec<Entry>,
}

/// How many comments are generated for several processes: the table takes them at the service's pace.
const PROCESSES_SIZE: u64 = 500;

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
                        ("client.js", include_str!("../../../apps/tasks/page/client.js")),
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
                        ("client.js", include_str!("../../../apps/comments/page/client.js")),
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
    let processes = Arg::new("processes").long("processes").value_name("COUNT");
    let processes = processes.value_parser(value_parser!(u16).range(2..=16));
    let processes = processes.conflicts_with_all(["dynamodb", "model"]);
    let processes = processes
        .help("Run so many servers on one table behind one address, and replace them\nmeanwhile (comments only)");
    // Set for the servers of `--processes`: the next deployment has another model.
    let model = Arg::new("model").long("model").value_name("FILE").hide(true);
    let model = model.value_parser(value_parser!(PathBuf));
    serve_arguments(command.arg(processes).arg(model)).after_help(EXAMPLES)
}

fn run(arguments: &ArgMatches) -> Result<(), String> {
    let name = arguments.get_one::<String>("app").ok_or("name an application.")?;
    let mut demo = demo(name).ok_or_else(|| format!("unknown application `{name}`."))?;
    if let Some(file) = arguments.get_one::<PathBuf>("model") {
        let text = std::fs::read_to_string(file);
        let text = text.map_err(|error| format!("cannot read {}: {error}.", file.display()))?;
        demo.application.model = text.leak();
    }
    if let Some(processes) = arguments.get_one::<u16>("processes") {
        return demo.run_processes(name, usize::from(*processes), arguments);
    }
    let default = directory_of(&format!("{name}-demo"));
    let given = arguments.get_one::<PathBuf>("data");
    let size = arguments.get_one::<u64>("size").copied().unwrap_or(demo.default_size);
    // Fails on a port in use before any samples are generated.
    let reserved = listen::reserve(arguments)?;
    match arguments.contains_id("dynamodb") {
        true => demo.fill_table(arguments, size)?,
        false => demo.fill(given.unwrap_or(&default), size)?,
    }
    drop(reserved);
    demo.application.serve(PROGRAM, arguments, default)
}

impl Demo {
    /// Runs several servers on one table.
    fn run_processes(
        &self,
        name: &str,
        processes: usize,
        arguments: &ArgMatches,
    ) -> Result<(), String> {
        if name != "comments" {
            return Err("--processes runs the application `comments` only.".to_owned());
        }
        let default = directory_of(&format!("{name}-processes"));
        let cluster = Cluster {
            processes,
            size: arguments.get_one::<u64>("size").copied().unwrap_or(PROCESSES_SIZE),
            directory: arguments.get_one::<PathBuf>("data").cloned().unwrap_or(default),
            model: self.application.model,
            front: listen::listener(arguments)?,
        };
        cluster.run()
    }

    /// Generates the samples that do not exist yet in a table in DynamoDB.
    fn fill_table(&self, arguments: &ArgMatches, size: u64) -> Result<(), String> {
        block_on(async {
            let opened = source::open(arguments, OpenMode::Create).await?;
            let db = opened.source.database(self.application.model).await?;
            self.generate(&db, &opened.name, size).await
        })
    }

    /// Generates the samples that do not exist yet.
    fn fill(&self, directory: &Path, size: u64) -> Result<(), String> {
        let engine = open_or_create(directory, Options::default())?;
        block_on(async {
            let db = Db::open(self.application.model, engine.clone()).await;
            let db = db.map_err(|error| error.to_string())?;
            self.generate(&db, &directory.display().to_string(), size).await
        })?;
        close(engine)
    }

    async fn generate(&self, db: &Db, place: &str, size: u64) -> Result<(), String> {
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
        log(&format!("Generating {what} in {place} …"));
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
