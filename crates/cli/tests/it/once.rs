//! A request with a key happens once, also if the server is killed between the two.

use std::process::Command;

use keyloom_testkit::readme::Process;

use crate::process::{app, keyloom, scratch};

#[test]
fn a_request_is_replayed_by_a_server_that_was_killed_in_between() {
    let data = scratch("once");
    let _ = std::fs::remove_dir_all(&data);
    let ask = || {
        let mut command = keyloom();
        command.args(["serve", &app("tasks"), "--data"]).arg(&data);
        // It is killed, not stopped, when it is dropped.
        let server = Process::serve(command);
        let url = format!("{}/tasks", server.url);
        let key = ["--header", "Idempotency-Key: one", "--json", r#"{"name": "once"}"#];
        let answer = Command::new("curl").args(["--silent", &url]).args(key).output().unwrap();
        let list = Command::new("curl").args(["--silent", &url]).output().unwrap();
        (String::from_utf8(answer.stdout).unwrap(), String::from_utf8(list.stdout).unwrap())
    };
    let (first, list) = ask();
    assert!(first.contains("once"), "{first}");
    assert_eq!(ask(), (first, list));
}
