//! A request with an idempotency key is applied once, even if the server is killed before the retry.

use std::process::Command;

use keyloom_testkit::readme::Process;

use crate::process::{app, keyloom, scratch};

#[test]
fn a_request_is_replayed_by_a_server_that_was_killed_in_between() {
    let data = scratch("once");
    let _ = std::fs::remove_dir_all(&data);
    let request = || {
        let mut command = keyloom();
        command.args(["serve", &app("tasks"), "--data"]).arg(&data);
        // Dropping it kills the server.
        let server = Process::serve(command);
        let url = format!("{}/tasks", server.url);
        let key = ["--header", "Idempotency-Key: one", "--json", r#"{"name": "once"}"#];
        let answer = Command::new("curl").args(["--silent", &url]).args(key).output().unwrap();
        let list = Command::new("curl").args(["--silent", &url]).output().unwrap();
        (String::from_utf8(answer.stdout).unwrap(), String::from_utf8(list.stdout).unwrap())
    };
    let (first, list) = request();
    assert!(first.contains("once"), "{first}");
    assert_eq!(request(), (first, list));
}
