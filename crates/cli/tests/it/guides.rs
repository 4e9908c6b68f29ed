//! The pages of the documentation work: everything that a reader types is run, top to bottom, in one shell.
//!
//! Other tests run the READMEs (`readme.rs`), the gallery (`gallery.rs`) and the access patterns (`services.rs`).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use keyloom_testkit::readme::{self, Block};

use crate::help::commands;
use crate::process::{Folder, Serving, app, get, output};

/// The pages that tests walk, each with a test of its own.
macro_rules! walked {
    ($($name:ident $page:literal)*) => {
        $(
            #[test]
            fn $name() {
                walk($page);
            }
        )*
        const WALKED: &[&str] = &[$($page),*];
    };
}

walked! {
    the_tutorial_leads_from_an_empty_folder_to_a_deployed_service "tutorial"
    users_see_what_the_page_about_access_shows "access"
    clients_are_generated "clients"
    the_console_is_where_its_page_says "console"
    a_database_is_copied_as_the_page_shows "copying"
    what_a_deployment_needs_is_printed "deploying"
    changes_are_streamed "events"
    filters_return_what_the_page_shows "filters"
    a_query_is_followed "live"
    an_assistant_finds_its_tools "mcp"
    transactions_and_bulk_changes_work "model"
    a_workload_is_planned "planning"
    a_server_is_run "serving"
    strict_mode_shows_its_heat "strict"
    the_dynamodb_api_is_served_and_signed "wire"
    totals_are_kept_as_the_page_shows "aggregates"
    http_works_as_the_page_shows "http"
}

/// The pages whose commands other tests run; benchmarks take hours.
const RUN_ELSEWHERE: [&str; 3] = ["gallery", "services", "benchmarks"];

/// What blocks can need that tests do not have, and why.
const NEEDS: [(&str, &str); 10] = [
    ("aws", "an account of Amazon Web Services"),
    ("aws-cli", "the AWS command line"),
    ("docker", "a Docker daemon"),
    ("dotnet", "a .NET SDK"),
    ("github", "a repository on GitHub"),
    ("go", "a Go toolchain"),
    ("java", "a JDK with Maven"),
    ("model", "a model of the reader's own"),
    ("registry", "packages from npm or PyPI"),
    ("systemd", "a machine that runs systemd, as root"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn walk(page: &str) {
    let folder = Folder::new(&format!("guide-{page}"));
    let text = std::fs::read_to_string(root().join(format!("docs/{page}.md"))).unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_keyloom"));
    assert!(readme::walk(&text, binary, &root(), Path::new(&folder.path(""))) > 0);
}

/// Every page: its path, and its text.
pub(crate) fn pages() -> Vec<(String, String)> {
    let of = |folder: &str| {
        let entries = std::fs::read_dir(root().join(folder)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let prefix = folder.to_owned();
        names.filter(|name| name.ends_with(".md")).map(move |name| format!("{prefix}{name}"))
    };
    let apps = ["tasks", "comments", "kitchen", "oncall"];
    let folders = apps.map(|app| format!("apps/{app}/"));
    let folders = folders.iter().map(String::as_str).chain(["", "docs/"]);
    let mut paths: Vec<String> = folders.flat_map(of).collect();
    paths.sort();
    let page = |path: String| {
        let text = std::fs::read_to_string(root().join(&path)).unwrap();
        (path, text)
    };
    paths.into_iter().map(page).collect()
}

/// Whether a test runs the commands of a page.
fn is_run(path: &str) -> bool {
    let name = path.strip_prefix("docs/").and_then(|name| name.strip_suffix(".md"));
    match name {
        Some(name) => WALKED.contains(&name) || RUN_ELSEWHERE.contains(&name),
        None => path.ends_with("README.md"),
    }
}

#[test]
fn every_command_on_a_page_is_run_or_says_what_it_needs() {
    let commands = commands();
    for (path, page) in pages() {
        for block in readme::blocks(&page) {
            let mut words = block.text.split_whitespace();
            let is_command = match (words.next(), words.next()) {
                (Some("keyloom"), Some(command)) => commands.iter().any(|other| other == command),
                (first, _) => matches!(first, Some("cargo" | "curl" | "docker" | "aws")),
            };
            let text = &block.text;
            assert!(
                block.language != "sh" || block.needs().is_some() || is_run(&path),
                "{path}: no test runs this page; name it in `walked!`:\n{text}"
            );
            assert!(
                !is_command || ["sh", "yaml"].contains(&block.language) || path == "docs/cli.md",
                "{path}: mark this block `sh`, so that it is run:\n{text}"
            );
        }
    }
}

/// The programs that examples in Rust are part of. Tests run them.
const PROGRAMS: [&str; 6] = [
    include_str!("guide_programs/events.rs"),
    include_str!("guide_programs/readme.rs"),
    include_str!("guide_programs/requests.rs"),
    include_str!("sdk_for_rust.rs"),
    include_str!("../../../build/src/lib.rs"),
    include_str!("../../../../examples/typed/tests/it/guide.rs"),
];

/// A program as one line, whatever the formatter does with lines, comments of documentation and the last comma.
fn without_layout(program: &str) -> String {
    let lines = program.lines().map(|line| line.trim().trim_start_matches("//!"));
    let text: String = lines.flat_map(str::split_whitespace).collect();
    [")", "]", "}"].iter().fold(text, |text, end| text.replace(&format!(",{end}"), end))
}

/// Languages and pages whose blocks a test checks that is not in this file, and which.
const CHECKED_ELSEWHERE: [(&str, &str, &str); 9] = [
    ("toml", "docs/access.md", "app/src/issuers.rs"),
    ("toml", "docs/gallery.md", "cli/tests/it/gallery.rs"),
    ("toml", "docs/model.md", "model/tests/it/guide.rs"),
    ("toml", "docs/services.md", "testkit/src/services.rs: it is quoted from a model"),
    ("ts", "docs/clients.md", "cli/tests/judges/generated.rs"),
    ("py", "docs/clients.md", "cli/tests/judges/generated.rs"),
    ("python", "docs/wire.md", "cli/tests/judges/clients.rs"),
    ("js", "docs/wire.md", "cli/tests/judges/clients.rs"),
    ("text", "docs/cli.md", "cli/tests/it/help.rs"),
];

/// What is wrong with a block; none if this test or another one checks it, or it says what it needs.
fn fault(path: &str, block: &Block<'_>) -> Option<&'static str> {
    let Block { language, attributes, text } = block;
    let is_elsewhere = |(of, page, _): &(&str, &str, &str)| of == language && *page == path;
    if block.needs().is_some() || CHECKED_ELSEWHERE.iter().any(is_elsewhere) {
        return None;
    }
    let is_saved = attributes.starts_with("file=");
    let is_right = match *language {
        _ if is_saved => is_run(path),
        // Each is compared with the output of the block before it.
        "sh" | "json" if *attributes != "sample" => is_run(path),
        "json" => serde_json::Deserializer::from_str(text)
            .into_iter::<serde_json::Value>()
            .all(|value| value.is_ok()),
        "rust" => {
            let example = without_layout(text);
            PROGRAMS.iter().any(|program| without_layout(program).contains(&example))
        }
        "toml" if path == "docs/planning.md" => is_workload(text),
        "toml" => keyloom_model::check(text).is_ok(),
        // Output, grammars and drawings.
        "text" => true,
        _ => false,
    };
    (!is_right).then_some(match *language {
        "rust" => "this example is not part of one of the `PROGRAMS`",
        "toml" => "this is not a model",
        "json" => "this is not JSON, or not on a page that is walked",
        _ => "no test checks it: name one in `CHECKED_ELSEWHERE`, or say what the block needs",
    })
}

/// Whether the comments can be planned for a workload.
fn is_workload(text: &str) -> bool {
    let folder = Folder::new("guide-workload");
    let file = folder.write("workload.toml", text);
    output(&["plan", &app("comments"), "--workload", &file, "--operations", "1000"]).0
}

#[test]
fn every_block_is_checked_or_says_what_it_needs() {
    let mut faults = vec![];
    for (path, page) in pages() {
        for block in readme::blocks(&page) {
            let fault = fault(&path, &block);
            faults.extend(fault.map(|fault| format!("{path}: {fault}:\n{}\n", block.text)));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    for (_, _, test) in CHECKED_ELSEWHERE {
        let (file, _) = test.split_once(':').unwrap_or((test, ""));
        assert!(root().join("crates").join(file).is_file(), "{file}");
    }
}

#[test]
fn the_page_about_testing_lists_the_blocks_that_no_test_runs() {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (path, page) in pages() {
        for need in readme::blocks(&page).iter().filter_map(Block::needs) {
            assert!(NEEDS.iter().any(|(name, _)| *name == need), "{path}: unknown need `{need}`");
            *counts.entry(need.to_owned()).or_default() += 1;
        }
    }
    let mut table = String::from("| blocks | because they need |\n|---:|---|\n");
    for (need, what) in NEEDS {
        writeln!(table, "| {} | {what} |", counts.get(need).unwrap_or(&0)).unwrap();
    }
    let testing = std::fs::read_to_string(root().join("docs/testing.md")).unwrap();
    assert!(testing.contains(&table), "docs/testing.md must have this table:\n\n{table}");
}

/// The examples of `docs/filters.md`: the requests of its tables, by the first segment of their paths, and the
/// models that have them.
const FILTERED: [(&str, &str); 4] = [
    ("tasks", include_str!("../../../../apps/tasks/model.toml")),
    ("products", include_str!("../../../../apps/comments/model.toml")),
    (
        "products",
        "[entity.product]\nfilters = [\"price\", \"seller\"]\nfields.price = \"number?\"\n\
         fields.seller = \"text?\"\nfields.season = \"tags = {}\"\n\
         fields.brand = \"text?\"\nlist.all = { path = \"/products\", facets = [\"brand\"] }\n",
    ),
    (
        "articles",
        "[entity.article]\nfields.title = \"text\"\nfields.tags = \"tags = {}\"\n\
         search.text = { fields = [\"title\"] }\nlist.all = { path = \"/articles\" }\n",
    ),
];

/// Serves each of these models from a folder of its own.
fn serve_all<'m>(folder: &Folder, models: impl IntoIterator<Item = &'m str>) -> Vec<Serving> {
    let serve = |(number, model): (usize, &str)| {
        let model = folder.write(&format!("{number}.toml"), model);
        Serving::start(&model, &["--data", &folder.path(&number.to_string())])
    };
    models.into_iter().enumerate().map(serve).collect()
}

#[test]
fn every_request_in_the_tables_about_filters_is_answered() {
    let page = include_str!("../../../../docs/filters.md");
    let folder = Folder::new("guide-filter-tables");
    let servers = serve_all(&folder, FILTERED.map(|(_, model)| model));
    let rows = page.lines().filter(|line| line.starts_with("| `GET "));
    let requests: Vec<&str> = rows
        .filter_map(|row| row.strip_prefix("| `GET ")?.split_once("` |"))
        .map(|(path, _)| path)
        .collect();
    assert!(requests.len() > 20, "{requests:?}");
    for request in requests {
        // A table cannot have a plain `|`, and readers type the other characters into a URL.
        let request = request.replace("\\|", "%7C").replace('|', "%7C").replace(' ', "%20");
        let first = request.trim_start_matches('/').split(['/', '?']).next().unwrap();
        let mut fitting = FILTERED.iter().zip(&servers).filter(|((path, _), _)| *path == first);
        let is_answered = fitting.any(|(_, server)| {
            let (head, body) = get(&server.url, &request, "");
            head.starts_with("HTTP/1.1 200")
                && body.contains("\"items\"") | body.contains("\"facets\"")
        });
        assert!(is_answered, "{request}");
    }
}

/// What `docs/model.md` shows only parts of, or only requests to.
const PARTS: &str = r#"
[entity.person]
fields.email = "text"
unique = ["email"]

[entity.contact]

[entity.search]
fields.contact = "ref contact"
fields.status = "enum(active, done)"
list.by_contact = { path = "/contacts/{contact}/searches", by = "contact" }
list.by_status = { path = "/contacts/{contact}/searches", by = ["contact", "status"] }

[entity.post]
fields.author = "ref person"
list.all = { path = "/posts" }

[entity.comment]
fields.post = "ref post"
fields.author = "ref person"
list.of_post = { path = "/posts/{post}/comments", by = "post" }

[entity.like]
fields.post = "ref post"
count.of_post = { path = "/posts/{post}/likes/count", by = "post" }

[entity.seller]
fields.name = "text"

[entity.product]
fields.name = "text"
fields.price = "number"
fields.seller = "ref seller"
list.all = { path = "/products" }

[entity.sale]
fields.shop = "text"
fields.price = "number"
count.revenue = { path = "/shops/{shop}/revenue", by = "shop", sum = "price" }

[entity.player]
fields.country = "text"
fields.score = "int"
board.best = { rank = "score", by = "country" }
"#;

#[test]
fn every_request_on_the_page_about_models_is_served() {
    let page = include_str!("../../../../docs/model.md");
    let folder = Folder::new("guide-model-requests");
    let blocks = readme::blocks(page);
    let shown = blocks.iter().filter(|block| block.language == "toml").map(|block| &*block.text);
    let whole = shown.filter(|model| keyloom_model::check(model).is_ok());
    let apps = ["tasks", "comments", "kitchen"].map(|name| std::fs::read_to_string(app(name)));
    let apps = apps.map(Result::unwrap);
    let servers = serve_all(&folder, whole.chain(apps.iter().map(String::as_str)).chain([PARTS]));
    let requests: Vec<&str> =
        page.split("GET /").skip(1).filter_map(|rest| rest.split(['`', '\n']).next()).collect();
    assert!(requests.len() > 20, "{requests:?}");
    for request in requests {
        let is_served = servers.iter().any(|server| serves(server, request));
        assert!(
            is_served,
            "GET /{request}: no model on the page serves it, no application, and not `PARTS`"
        );
    }
}

/// Whether a server without entities serves a request. In it, `{id}`, `X` and `NEXT` stand for what readers
/// have.
fn serves(server: &Serving, request: &str) -> bool {
    let request = match request {
        // Those of a user are found without saying whose, and this is no user.
        "notes" => "notes?author=ann".to_owned(),
        _ => request.replace("{id}", "1").replace("/X", "/comments").replace(' ', "%20"),
    };
    let (head, body) = get(&server.url, &format!("/{request}"), "");
    let is_missing = ["with the id `", "is not on the leaderboard", "Invalid cursor"];
    head.starts_with("HTTP/1.1 200") || is_missing.iter().any(|problem| body.contains(problem))
}

#[test]
fn every_figure_of_the_comparison_is_a_measured_one() {
    let plain = |text: &str| text.replace(',', "");
    let benchmarks = plain(include_str!("../../../../docs/benchmarks.md"));
    let comparison = plain(include_str!("../../../../docs/comparison.md"));
    let words: Vec<&str> = comparison.split_whitespace().collect();
    let is_figure = |pair: &&[&str]| {
        let unit = pair[1].trim_end_matches(['.', ',', ';', ':', ')']);
        let units = ["µs", "ms", "s", "bytes", "tasks", "comments"];
        pair[0].starts_with(|c: char| c.is_ascii_digit()) && units.contains(&unit)
    };
    let figures: Vec<&[&str]> = words.windows(2).filter(is_figure).collect();
    assert!(figures.len() > 20, "{figures:?}");
    for figure in figures {
        // Clients and comments that a workload has, not what was measured.
        let is_size = ["16", "20", "500"].contains(&figure[0]);
        assert!(is_size || benchmarks.contains(figure[0]), "{figure:?} was not measured");
    }
}

/// Every command line that starts with `keyloom`, in blocks and in the text.
fn command_lines(page: &str) -> Vec<String> {
    let blocks = readme::blocks(page);
    let blocks = blocks.iter().filter(|block| ["sh", "yaml"].contains(&block.language));
    let joined = blocks.map(|block| block.text.replace("\\\n", " ")).collect::<Vec<_>>().join("\n");
    let of_blocks = joined.lines().flat_map(|line| line.split(['|', '(', ';', '&']));
    let of_text = page.split('`').skip(1).step_by(2);
    let lines = of_blocks.chain(of_text).map(str::trim).filter(|line| line.starts_with("keyloom "));
    lines.map(str::to_owned).collect()
}

#[test]
fn every_command_and_option_that_a_page_mentions_exists() {
    let commands = commands();
    let mut helps: BTreeMap<Vec<String>, String> = BTreeMap::new();
    let (mut mentioned, mut faults) = (0, vec![]);
    // What changed names what is gone, the help is the help, and benchmarks name contenders.
    let others = ["CHANGELOG.md", "docs/cli.md", "docs/benchmarks.md"];
    for (path, page) in pages().into_iter().filter(|(path, _)| !others.contains(&path.as_str())) {
        for line in command_lines(&page) {
            let mut words = line.split_whitespace().skip(1);
            let command = words.next().unwrap().trim_end_matches([',', '.']).to_owned();
            // Such as `keyloom NAME` and `keyloom --help`.
            if command.starts_with(['-', '<']) || command.to_uppercase() == command {
                continue;
            }
            if !commands.contains(&command) {
                faults.push(format!("{path}: no command `{command}`: {line}"));
                continue;
            }
            let of_command =
                words.next().filter(|word| word.bytes().all(|c| c.is_ascii_lowercase()));
            let called = [command].into_iter().chain(of_command.map(str::to_owned)).collect();
            let help = helps.entry(called).or_insert_with_key(|called| help_of(called));
            for option in line.split_whitespace().filter(|word| word.starts_with("--")) {
                let option = option.split(['=', ',', ')', '.', '"']).next().unwrap();
                mentioned += 1;
                if option != "--help" && !help.contains(option) {
                    faults.push(format!("{path}: no option `{option}`: {line}"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(mentioned > 50, "{mentioned}");
}

/// The help of a command, and of its own command if the second word is one.
fn help_of(called: &[String]) -> String {
    let mut arguments: Vec<&str> = called.iter().map(String::as_str).collect();
    arguments.push("--help");
    let (success, help, _) = output(&arguments);
    if success { help } else { output(&[&called[0], "--help"]).1 }
}
