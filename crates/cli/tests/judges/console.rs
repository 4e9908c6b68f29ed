//! The console in a browser: every view of every service, and what an administrator does with it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use keyloom::Db;
use keyloom::events::{Failure, Handlers, Job};
use keyloom_model::IdSource;
use keyloom_store::{Engine, Options};
use keyloom_testkit::Random;
use keyloom_testkit::model::{Draft, DraftType, draft};
use keyloom_testkit::readme::Process;
use pollster::block_on;

use crate::browser::driver;
use crate::clients::{installed, succeed, suite};
use crate::process::{Folder, app, keyloom, scratch};
use crate::random_data::fill;
use crate::size::{Size, seed, size};

const GALLERY: &str = include_str!("../../../../docs/gallery.md");

#[test]
fn tasks_are_managed() {
    managed("tasks", "300", None);
}

#[test]
fn comments_are_managed_with_tokens() {
    managed("comments", "2000", None);
}

#[test]
fn the_kitchen_is_managed() {
    managed("kitchen", "2", None);
}

#[test]
fn on_call_paging_is_managed() {
    managed("oncall", "6", Some("acme"));
}

#[test]
fn a_service_with_tenants_is_managed() {
    served("saas", saas(), Some("acme"));
}

fn saas() -> &'static str {
    let (_, section) = GALLERY.split_once("\n## Multi-tenant SaaS").unwrap();
    let (_, model) = section.split_once("```toml\n").unwrap();
    model.split_once("```\n").unwrap().0
}

/// The model of on-call paging without its program, which closes most requests: ids are given, references in lists.
#[test]
fn a_service_with_given_ids_is_managed() {
    served("paging", &std::fs::read_to_string(app("oncall")).unwrap(), Some("acme"));
}

#[test]
fn a_service_with_a_text_search_is_managed() {
    let model = "[entity.article]\nfields.title = \"text\"\n\
                 search.words = { fields = [\"title\"] }\nlist.all = { path = \"/articles\" }\n";
    served("articles", model, None);
}

#[test]
fn a_service_with_unique_values_is_managed() {
    let model = "[entity.guest]\nfields.name = \"text 1..80\"\nfields.email = \"text 1..80\"\n\
                 unique = [\"name\", \"email\"]\n\
                 [entity.stay]\nfields.guest = \"ref guest cascade\"\nfields.room = \"text 1..9\"\n\
                 unique = [\"room\"]\nlist.by_guest = { path = \"/stays\", by = \"guest\" }\n\
                 board.frequent = { of = \"guest\" }\n";
    served("guests", model, None);
}

/// Models of several entities with given ids, tags and lists of references, and with random data. Those of tenants are
/// left out: who uses a console names one tenant.
#[test]
fn services_drawn_at_random_are_managed() {
    let drawn = (seed()..).map(|seed| (seed, draft(&mut Random::new(seed))));
    let varied = drawn.filter(|(_, draft)| is_varied(draft));
    let count = match size() {
        Size::Reduced => 1,
        Size::Full => 12,
    };
    for (seed, draft) in varied.take(count) {
        let name = format!("random-{seed}");
        println!("Repeat this draw with KEYLOOM_SEED={seed}.");
        let folder = Folder::new(&format!("console-{name}"));
        let data = folder.path("data");
        assert!(fill(&draft, &data, seed).len() > 3, "{name}");
        let mut command = keyloom();
        command.args(["serve", &folder.write("model.toml", draft.text()), "--data", &data]);
        used(&name, &Process::serve(command), None);
    }
}

fn is_varied(draft: &Draft) -> bool {
    let entities = &draft.entities;
    let has = |is_such: fn(&DraftType) -> bool| {
        entities.iter().flat_map(|entity| &entity.fields).any(|field| is_such(&field.of))
    };
    entities.len() > 2
        && entities.iter().all(|entity| entity.tenant.is_none())
        && entities.iter().any(|entity| entity.id_source == IdSource::Given)
        && has(|of| *of == DraftType::Tags)
        && has(is_list_of_references)
}

fn is_list_of_references(of: &DraftType) -> bool {
    matches!(of, DraftType::List(of, _) if matches!(**of, DraftType::Ref(..)))
}

/// A job that has failed for good is shown with its error, replayed, and canceled.
#[test]
fn dead_letters_are_replayed() {
    let model = "jobs = true\n[entity.note]\nfields.text = \"text\"\nlist.all = {}\n";
    let folder = Folder::new("console-letters");
    let data = folder.path("data");
    {
        let engine = Engine::open(Path::new(&data), Options::default()).unwrap();
        let db = block_on(Db::open(model, Arc::new(engine))).unwrap();
        block_on(db.schedule(Job::new("mail").id("letter"))).unwrap();
        let fails = |_, _| async { Err(Failure::fatal("the post office is closed")) };
        block_on(db.work(&Handlers::new().job("mail", fails))).unwrap();
    }
    let mut command = keyloom();
    command.args(["serve", &folder.write("model.toml", model), "--data", &data]);
    used("letters", &Process::serve(command), None);
}

#[test]
fn tokens_are_offered_what_they_allow() {
    let folder = Folder::new("console-tokens");
    let mut command = keyloom();
    command.args(["demo", "tasks", "--size", "20", "--data", &folder.path("data")]);
    admitted("tokens", &Process::serve(command), &[]);
}

#[test]
fn tokens_of_one_tenant_are_offered_what_they_allow() {
    let model =
        format!("{}\n[entity.plan]\nfields.name = \"text 1..40\"\nlist.all = {{}}\n", saas());
    let folder = Folder::new("console-tenants");
    let mut command = keyloom();
    command.args(["serve", &folder.write("model.toml", &model), "--data", &folder.path("data")]);
    admitted("tenants", &Process::serve(command), &["acme", "globex"]);
}

fn admitted(name: &str, served: &Process, tenants: &[&str]) {
    let run = driver().join(format!("console-{name}"));
    copy_suite(&run);
    let mut node = Command::new("node");
    node.arg("console/access.mjs").arg(&served.url).args(tenants).current_dir(&run);
    succeed("The console with tokens in a browser", &mut node);
}

/// Prints how long each view takes.
#[test]
fn lists_of_any_length_are_managed() {
    let count = match size() {
        Size::Reduced => "20000",
        Size::Full => "10000000",
    };
    let folder = Folder::new("console-large");
    let (model, data) = (app("tasks"), folder.path("data"));
    let mut lines = Command::new("node");
    lines.arg(suite("console/large-data.mjs")).arg(count);
    let mut lines = lines.stdout(Stdio::piped()).spawn().unwrap();
    let mut import = keyloom();
    import.args(["import", &model, "--data", &data]).stdin(lines.stdout.take().unwrap());
    succeed("The import of the tasks", &mut import);
    assert!(lines.wait().unwrap().success());
    let mut command = keyloom();
    command.args(["serve", &model, "--data", &data]);
    let served = Process::serve(command);
    let mut node = user("large", &served, None);
    succeed("The console of many tasks in a browser", node.stdout(Stdio::inherit()));
}

#[test]
fn tables_and_their_heat_are_managed() {
    let folder = Folder::new("console-tables");
    let run = driver().join("console-dynamodb");
    copy_suite(&run);
    let serve = |data: &str, more: &[&str]| {
        let mut command = keyloom();
        command.args(["dynamodb", "--data", &folder.path(data)]);
        Process::serve({
            command.args(more);
            command
        })
    };
    let use_of = |served: &Process, key: &[&str]| {
        let mut node = Command::new("node");
        node.arg("console/dynamodb.mjs").arg(&served.url).args(key).current_dir(&run);
        succeed("The console of tables in a browser", &mut node);
    };
    use_of(&serve("open", &["--strict"]), &[]);
    let keys = folder
        .write("keys", "[default]\naws_access_key_id = AK\naws_secret_access_key = secret/+1\n");
    use_of(&serve("closed", &["--credentials", &keys]), &["AK", "secret/+1"]);
}

/// What `cargo xtask console` builds: its folder in the project, that in the folder of the build, and its files.
const BUILT: [(&str, &str, &[&str]); 5] = [
    ("crates/server/src/console", "dist", &["console.js", "dynamodb.js", "console.css"]),
    ("apps/tasks/page", "dist/apps/tasks/page", &["client.js"]),
    ("apps/comments/page", "dist/apps/comments/page", &["client.js"]),
    ("apps/kitchen/src/page", "dist/apps/kitchen/src/page", &["client.js"]),
    ("apps/oncall/src/page", "dist/apps/oncall/src/page", &["client.js"]),
];

/// Nobody needs Node.js to build Keyloom: what the sources make is checked in.
#[test]
fn the_console_and_the_clients_of_pages_are_what_their_sources_make() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // The sources include a part of generated clients from beside them.
    let top = scratch("console-build");
    let folder = top.join("console");
    installed(&top, || {
        std::fs::create_dir_all(&folder).unwrap();
        for name in ["package.json", "package-lock.json", ".npmrc"] {
            std::fs::copy(root.join("console").join(name), folder.join(name)).unwrap();
        }
        let install = ["ci", "--loglevel=error", "--no-audit", "--no-fund"];
        succeed("the tools from npm", Command::new("npm").args(install).current_dir(&folder));
    });
    let _ = std::fs::remove_dir_all(folder.join("src"));
    std::fs::create_dir_all(folder.join("src/dynamodb")).unwrap();
    let files = |of: &str| {
        let entries = std::fs::read_dir(root.join(of)).unwrap();
        entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file())
    };
    let clients = "crates/cli/tests/clients-generated";
    std::fs::create_dir_all(top.join(clients)).unwrap();
    let runtime = "crates/cli/src/client/typescript/runtime.ts";
    std::fs::create_dir_all(top.join(runtime).parent().unwrap()).unwrap();
    let scripts = ["client.mjs", "pages.mjs", "package.json", "tsconfig.json"]
        .map(|name| root.join("console").join(name));
    let sources = files("console/src").chain(files("console/src/dynamodb")).chain(scripts);
    for path in sources.chain(files(clients)).chain([root.join(runtime)]) {
        std::fs::copy(&path, top.join(path.strip_prefix(&root).unwrap())).unwrap();
    }
    for task in ["check", "build"] {
        succeed("the console", Command::new("npm").args(["run", task]).current_dir(&folder));
    }
    for (included, built, names) in BUILT {
        for name in names {
            let is_same = std::fs::read(root.join(included).join(name)).unwrap()
                == std::fs::read(folder.join(built).join(name)).unwrap();
            assert!(is_same, "{included}/{name} is outdated: run `cargo xtask console`");
        }
    }
}

/// Serves an application with samples, and uses its console.
fn managed(app: &str, size: &str, tenant: Option<&str>) {
    let data = Folder::new(&format!("console-{app}"));
    let mut command = keyloom();
    let backups = data.path("backups");
    command.args([
        "demo",
        app,
        "--size",
        size,
        "--data",
        &data.path("data"),
        "--backup-dir",
        &backups,
    ]);
    used(app, &Process::serve(command), tenant);
}

/// Serves a model without data, and uses its console.
fn served(name: &str, model: &str, tenant: Option<&str>) {
    let folder = Folder::new(&format!("console-{name}"));
    let mut command = keyloom();
    command.args(["serve", &folder.write("model.toml", model), "--data", &folder.path("data")]);
    used(name, &Process::serve(command), tenant);
}

fn used(service: &str, served: &Process, tenant: Option<&str>) {
    succeed("The console in a browser", &mut user(service, served, tenant));
}

/// The command that uses the console of a service.
fn user(service: &str, served: &Process, tenant: Option<&str>) -> Command {
    let folder = driver().join(format!("console-{service}"));
    copy_suite(&folder);
    let mut node = Command::new("node");
    node.arg("console.mjs").args([service, &served.url]).args(tenant).current_dir(&folder);
    node
}

/// A folder of its own because tests run in parallel; the modules find playwright above it.
fn copy_suite(folder: &Path) {
    // Without the scripts of an earlier run, which may be gone.
    let _ = std::fs::remove_dir_all(folder.join("console"));
    std::fs::create_dir_all(folder.join("console")).unwrap();
    let steps = std::fs::read_dir(suite("console")).unwrap().map(|entry| entry.unwrap().path());
    for path in steps.chain([suite("axe.mjs"), suite("console.mjs")]) {
        let to: PathBuf = path.strip_prefix(suite("")).unwrap().into();
        std::fs::copy(&path, folder.join(to)).unwrap();
    }
}
