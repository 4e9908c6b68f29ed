//! What the README of the project says to type happens as it says, wherever the data is.

use keyloom_testkit::readme::{self, Process};

use crate::process::{Served, app, keyloom, scratch};

const README: &str = include_str!("../../../../README.md");

#[test]
fn every_request_of_the_readme_is_answered_as_it_says() {
    let data = scratch("readme");
    let _ = std::fs::remove_dir_all(&data);
    let mut command = keyloom();
    command.args(["serve", &app("tasks"), "--data"]).arg(data);
    assert!(readme::run(README, &Process::serve(command)) >= 4);
}

#[test]
fn the_same_happens_on_dynamodb() {
    let dynamodb = Served::start("readme-dynamodb");
    let mut command = keyloom();
    command.args(["serve", &app("tasks"), "--dynamodb", "tasks", "--region", "us-east-1"]);
    command.args(["--endpoint-url", &dynamodb.url]);
    // Keys of nobody, as an endpoint takes them that lets anybody in.
    command.env("AWS_ACCESS_KEY_ID", "a").env("AWS_SECRET_ACCESS_KEY", "b");
    assert!(readme::run(README, &Process::serve(command)) >= 4);
}

#[test]
fn every_request_of_the_tasks_is_answered_as_they_say() {
    of_app("tasks", include_str!("../../../../apps/tasks/README.md"));
}

#[test]
fn every_request_of_the_comments_is_answered_as_they_say() {
    of_app("comments", include_str!("../../../../apps/comments/README.md"));
}

fn of_app(name: &str, readme: &str) {
    let data = scratch(&format!("readme-{name}"));
    let _ = std::fs::remove_dir_all(&data);
    let mut command = keyloom();
    command.args(["serve", &app(name), "--data"]).arg(data);
    assert!(readme::run(readme, &Process::serve(command)) >= 8);
}
