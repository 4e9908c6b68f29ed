//! The commands of the READMEs work as they say, with data in a directory and in DynamoDB.

use std::path::Path;

use keyloom_testkit::readme::{self, Process};

use crate::process::{Folder, Served, app, keyloom, scratch};

const README: &str = include_str!("../../../../README.md");

#[test]
fn the_readme_works_top_to_bottom_in_one_shell() {
    let folder = Folder::new("readme-walk");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_keyloom"));
    assert!(readme::walk(README, binary, &root, Path::new(&folder.path(""))) > 15);
}

#[test]
fn the_ten_requests_of_the_readme_return_the_same_on_dynamodb() {
    let dynamodb = Served::start("readme-dynamodb");
    let mut command = keyloom();
    command.args(["serve", &app("tasks"), "--dynamodb", "tasks", "--region", "us-east-1"]);
    command.args(["--endpoint-url", &dynamodb.url]);
    // The endpoint accepts any access key.
    command.env("AWS_ACCESS_KEY_ID", "a").env("AWS_SECRET_ACCESS_KEY", "b");
    let (_, requests) = README.split_once("### Ten requests").unwrap();
    let (requests, _) = requests.split_once("kill %1").unwrap();
    assert_eq!(readme::run(requests.trim_end_matches("```sh\n"), &Process::serve(command)), 10);
}

#[test]
fn every_request_of_the_tasks_returns_what_the_readme_shows() {
    of_app("tasks", include_str!("../../../../apps/tasks/README.md"));
}

#[test]
fn every_request_of_the_comments_returns_what_the_readme_shows() {
    of_app("comments", include_str!("../../../../apps/comments/README.md"));
}

fn of_app(name: &str, readme: &str) {
    let data = scratch(&format!("readme-{name}"));
    let _ = std::fs::remove_dir_all(&data);
    let mut command = keyloom();
    command.args(["serve", &app(name), "--data"]).arg(data);
    assert!(readme::run(readme, &Process::serve(command)) >= 8);
}
