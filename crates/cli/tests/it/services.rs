//! `docs/services.md` is correct: its requests return what it shows, its quotes are in the models, its
//! tests exist, and no published access pattern is missing. The kitchen and on-call programs run
//! their own parts (`apps/*/tests/it/services.rs`).

use std::path::Path;

use keyloom_testkit::readme::Process;
use keyloom_testkit::services::{self, Service};

use crate::process::{app, fresh, keyloom};

const PAGE: &str = include_str!("../../../../docs/services.md");

/// The names of the published access patterns in their sources, in the order of the tables.
const LABELS: [(&str, &[&str]); 4] = [
    ("tasks", &["Limitations, best case", "Limitations, worst case", "Limitations, composite tag"]),
    (
        "comments",
        &["QP1", "QP2", "QP3", "QP4", "QP5", "QP6", "QP7", "AP7", "AP8", "AP9", "AP10", "AP11"],
    ),
    (
        "kitchen",
        &[
            "Create, read, change, replace and delete",
            "A menu and all its items",
            "A menu item and the details of its recipe",
            "A recipe and its list of ingredients",
            "An ingredient and its category",
            "The ingredients of a category",
            "An ingredient by its id",
            "An ingredient by its name",
            "Unique names",
            "Rename",
            "The menu of a week",
            "The shopping list",
        ],
    ),
    (
        "oncall",
        &[
            "PK = sid, SK = 'search'",
            "PK = sid",
            "PK = cid, SK = 'contact'",
            "PK = cid",
            "GSI1PK = did",
            "GSI1PK = cid",
            "GSI1PK = cid, GSI1SK < d",
            "GSI2PK = s#cid",
            "GSI2PK = s#cid, GSI1SK < d",
            "The hunt",
        ],
    ),
];

#[test]
fn every_request_of_the_tasks_returns_what_the_page_shows() {
    run("tasks");
}

#[test]
fn every_request_of_the_comments_returns_what_the_page_shows() {
    run("comments");
}

fn run(name: &str) {
    let mut command = keyloom();
    command.args(["serve", &app(name), "--data"]).arg(fresh(&format!("services-{name}")));
    services::of(PAGE, name).run(&Process::serve(command));
}

#[test]
fn every_model_line_and_test_that_the_page_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &str| std::fs::read_to_string(root.join(path)).ok();
    let services = services::all(PAGE);
    let faults: Vec<String> = services.iter().flat_map(|service| service.faults(&read)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let folders = std::fs::read_dir(root.join("apps")).unwrap().map(|entry| entry.unwrap().path());
    let models = folders.filter(|folder| folder.join("model.toml").is_file());
    assert_eq!(models.count(), services.len(), "each application has a section");
}

#[test]
fn no_published_pattern_is_missing() {
    for (name, labels) in LABELS {
        let service: Service<'_> = services::of(PAGE, name);
        let patterns = service.patterns();
        let mut names = patterns.iter().map(|pattern| pattern.name.replace("**", ""));
        for label in labels {
            // A label ends where the description begins.
            let has_label = |name: String| {
                let rest = name.strip_prefix(label);
                rest.is_some_and(|rest| rest.starts_with([' ', '<', ':', ',']) || rest.is_empty())
            };
            assert!(names.any(has_label), "{name}: no pattern `{label}`, or not in this order");
        }
    }
}
